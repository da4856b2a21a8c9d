/* Samples of blocks: each byte has the same chance to be hit, and a block
 * counts if one of its bytes is, for as many bytes as it stands for.
 */
#ifndef LP_MEMORY_SAMPLING_H
#define LP_MEMORY_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lp_sample {
    uint64_t bytes; /* that the block stands for, */
    uint64_t blocks;
} lp_sample;

/* [ANY] True if this thread's block counts. */
bool lp_sample_block(size_t bytes, lp_sample *sample);

#endif
