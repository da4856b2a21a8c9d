#include "lp_stack.h"

#include <pthread.h>
#include <stddef.h>

_Thread_local uintptr_t lp_stack_floor;

void
lp_stack_measure(void)
{
    lp_stack_floor = 1; /* never low, where it can't be told */
#ifdef __linux__
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        lp_stack_floor = (uintptr_t)low + bytes / 2;
    }
    pthread_attr_destroy(&attributes);
#endif
}
