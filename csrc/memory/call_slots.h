/* Slots of a loaded object: the places in memory through which it calls
 * functions of given names, and its pointers to them.
 *
 * The loader fills slots as the object's relocations say; others may write to
 * them, too: values are read atomically.
 */
#ifndef LP_MEMORY_CALL_SLOTS_H
#define LP_MEMORY_CALL_SLOTS_H

#include "memory/symbol_patches.h"

#if LP_HAVE_ELF_OBJECTS

enum {
    LP_MAX_PATCHES = 64,
    LP_MAX_WANTED = 96, /* symbols of an object, some in two versions */
};

/* The functions to be patched. */
typedef struct lp_patched_functions {
    const lp_symbol_patch *patches; /* borrowed; NULL: restored */
    size_t n;
    void *first[LP_MAX_PATCHES]; /* what the loader binds a name to; NULL: it
                                  * is left alone */
    void *alias[LP_MAX_PATCHES]; /* the program's own stub, which other objects
                                  * call through, or NULL; see find_aliases()
                                  * in functions_below.c */
} lp_patched_functions;

/* The symbols of an object that are functions to be patched. */
typedef struct lp_call_slots {
    const lp_elf_object *object;           /* borrowed */
    const lp_patched_functions *functions; /* borrowed */
    struct {
        uint64_t symbol; /* number of it */
        size_t which;    /* of the patches */
    } wanted[LP_MAX_WANTED];
    size_t n_wanted;
    uint64_t filter; /* bits of the numbers' low bits */
} lp_call_slots;

/* A place from which an object calls one of the functions. */
typedef struct lp_call_slot {
    void **place;
    void *function;   /* what it calls */
    size_t which;     /* of the patches */
    bool is_variable; /* of the object, which may put anything there */
} lp_call_slot;

/* A walk over all slots of an object, from {.slots = ...}. */
typedef struct lp_slot_walk {
    const lp_call_slots *slots; /* borrowed */
    size_t table, next;
} lp_slot_walk;

/* Find the object's symbols of the functions: its relocations, of which there
 * may be a million, have their numbers. */
void lp_call_slots_find(lp_call_slots *slots, const lp_elf_object *object,
                        const lp_patched_functions *functions);

/* The next slot of one of the functions; false at the end. */
bool lp_slot_walk_next(lp_slot_walk *walk, lp_call_slot *found);

#endif
#endif
