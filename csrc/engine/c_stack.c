#include "engine/c_stack.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/resource.h>

enum {
    RESERVE = 128 << 10, /* what Python code of lineprof may need */
    MIN_DEEP = 32 << 10, /* small stacks are deep later */
    SHARE_DEEP = 8,      /* an 8th of 8 MB is about 1,000 Python calls */
    EIGHTHS_SHORT = 2,
    SHARE_FULL = 4 /* the reserve is no more than a 4th */
};

_Thread_local lp_c_stack lp_current_c_stack;
lp_c_stack_skipped lp_the_skipped_calls;

#ifdef __linux__

/* Soft limit of the main thread's stack when the thread's was measured. */
static _Thread_local rlim_t measured_limit;

static rlim_t
stack_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_STACK, &limit) == 0 ? limit.rlim_cur : 0;
}

static uintptr_t
smaller(uintptr_t a, uintptr_t b)
{
    return a < b ? a : b;
}

#endif

void
lp_c_stack_skip(uint64_t depth)
{
    lp_c_stack_skipped *all = &lp_the_skipped_calls;

    if (all->calls++ == 0 || depth < all->depth) {
        all->depth = depth;
    }
}

void
lp_c_stack_measure(void)
{
    lp_c_stack *self = &lp_current_c_stack;

    *self = (lp_c_stack){.low = 1}; /* unknown */
#ifdef __linux__
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;

    measured_limit = stack_limit();
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        uintptr_t used = bytes / SHARE_DEEP;

        if (used < MIN_DEEP) {
            used = smaller(MIN_DEEP, bytes / 2);
        }
        self->low = (uintptr_t)low;
        self->deep = bytes - used;
        self->shortage =
            smaller(bytes - bytes / 8 * EIGHTHS_SHORT, self->deep);
        self->full = smaller(RESERVE, bytes / SHARE_FULL);
    }
    pthread_attr_destroy(&attributes);
#endif
}

static bool
looks_full(void)
{
    return (uintptr_t)__builtin_frame_address(0) - lp_current_c_stack.low <
           lp_current_c_stack.full;
}

bool
lp_c_stack_is_full(void)
{
    if (lp_current_c_stack.low == 0) {
        lp_c_stack_measure();
    }
#ifdef __linux__
    if (looks_full() && stack_limit() != measured_limit) {
        lp_c_stack_measure(); /* the program has raised the limit */
    }
#endif
    return looks_full();
}
