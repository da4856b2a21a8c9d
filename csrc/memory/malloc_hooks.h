/* The C functions of memory that extension modules call.
 */
#ifndef LP_MEMORY_MALLOC_HOOKS_H
#define LP_MEMORY_MALLOC_HOOKS_H

#include <stdbool.h>

/* [GIL] Count what loaded modules allocate, and those loaded from now on.
 * False if that is not possible here. */
bool lp_malloc_hooks_on(void);

/* [GIL] Idempotent. */
void lp_malloc_hooks_off(void);

#endif
