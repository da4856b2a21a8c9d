/* Functions of the C library that are replaced in all loaded objects, and in
 * those loaded later: the slots through which an object calls them, and its
 * pointers to them, are pointed to hooks.
 *
 * A slot is patched only while it holds the function that most objects call,
 * which is then the function below the hook: the C library's, that of a
 * replacement of malloc, or the hook of another tool that patched before us.
 * Other values are left alone, and so is an object that has one.  Restoring
 * looks at every slot of every object that is loaded by then, so that nothing
 * is written to one that was unloaded, or that somebody else has patched.
 *
 * Never patched: the C library and the loader, the object of these functions,
 * the objects that define a function below a hook, run-times of sanitizers,
 * and CUPTI.
 *
 * A hook can be called at any time afterwards, by a thread that was about to
 * or through a copy of a slot: hooks stay valid, and pass through.
 *
 * One set of patches at a time, by one thread at a time: [GIL].
 */
#ifndef LP_MEMORY_SYMBOL_PATCHES_H
#define LP_MEMORY_SYMBOL_PATCHES_H

#include <stdbool.h>
#include <stddef.h>

#include "elf/elf_object.h"

typedef struct lp_symbol_patch {
    const char *name;
    void *hook;
    void **below;      /* where to put the function below, before any patch */
    bool beside_first; /* only if the object that defines the first name of
                        * the set defines this one too */
} lp_symbol_patch;

typedef struct lp_patch_counts {
    size_t patched;          /* slots that hold a hook */
    size_t lost;             /* slots whose hook somebody else replaced */
    size_t refused;          /* objects that could not be patched, */
    char first_refused[128]; /* and the file name of one of them */
} lp_patch_counts;

#if LP_HAVE_ELF_OBJECTS

/* [GIL] Patch all objects.  `patches` are borrowed until they are restored;
 * at most 64.  False if there was no slot to patch. */
bool lp_patches_apply(const lp_symbol_patch *patches, size_t n);

/* [ANY] Patch the objects that were loaded since.  Waits for nobody who could
 * wait for the caller, but not for signal handlers: it takes the loader's
 * locks, as dlsym() does. */
void lp_patches_follow(void);

/* [GIL] Restore the functions below, in slots that still hold our hooks; in a
 * forked child they may stay.  Idempotent. */
void lp_patches_restore(void);

/* [GIL] Counts, as they are now or were when the patches were restored. */
lp_patch_counts lp_patches_count(void);

/* Around a fork: no thread should hold the loader's locks
 * for us then, as glibc frees only one of them in the child. */
void lp_patches_before_fork(void);

void lp_patches_after_fork(void);

void lp_patches_after_fork_in_child(void);

/* [ANY] True in a forked child that had patches, until it is told that it has
 * loaded an object, for which the loader locks its list. */
bool lp_patches_list_may_be_locked(void);

void lp_patches_list_is_free(void);

#endif
#endif
