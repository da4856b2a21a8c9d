/* Functions below hooks: those that most objects call before any is patched,
 * as the C library's, those of a replacement of malloc, or the hooks of
 * another tool.
 */
#ifndef LP_MEMORY_FUNCTIONS_BELOW_H
#define LP_MEMORY_FUNCTIONS_BELOW_H

#include "memory/call_slots.h"

#if LP_HAVE_ELF_OBJECTS

/* [GIL] Set `first` and `alias` of the functions, and what is below each hook,
 * which stays a function once it was one: a thread may be about to call a hook
 * of the last time. */
void lp_functions_below_find(lp_patched_functions *functions);

/* True for objects that are never patched, as those that define a function
 * below a hook. */
bool lp_functions_below_exclude(const lp_patched_functions *functions,
                                const lp_elf_object *object);

#endif
#endif
