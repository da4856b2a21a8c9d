/* The C functions of memory that extension modules call: malloc and its
 * family, new and delete, anonymous mappings.
 *
 * operator new of a C++ library calls malloc, and is counted there; only a
 * replacement of malloc that brings its own is counted itself.  Not seen are
 * calls inside of the C library (strdup, getline), of pointers to functions
 * that were copied before, or found by dlsym(), and what an allocator inside
 * of a library makes of its mappings: those mappings count.  Arrow, if it is
 * loaded meanwhile, is told to use malloc.
 */
#ifndef LP_MEMORY_MALLOC_HOOKS_H
#define LP_MEMORY_MALLOC_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

/* [GIL] Count what loaded modules allocate, and those loaded from now on.
 * False if that is not possible here. */
bool lp_malloc_hooks_on(void);

/* [GIL] Idempotent. */
void lp_malloc_hooks_off(void);

/* [GIL] A sentence on what is not counted, number i from 0 on, or NULL: of
 * the hooks that are on, or were on last.  Borrowed until the next call. */
const char *lp_malloc_hooks_note(size_t i);

#endif
