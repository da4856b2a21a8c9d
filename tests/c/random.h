/* Pseudo-random numbers, the same in every run. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

static inline uint64_t
random_next(uint64_t *state)
{
    uint64_t mixed = *state += 0x9E3779B97F4A7C15u;

    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
}

/* A number from 0 up to, not including, `n`. */
static inline uint32_t
random_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(random_next(state) % n);
}

#endif
