/* CUPTI in a child that was forked while the session was open: CUPTI's thread
 * does not exist and its locks may be held, so that none of its functions can
 * be called.  It still calls lineprof's callbacks if the child uses CUDA. */
#include <pthread.h>
#include <stdlib.h>

#include "gpu/child_exit.h"
#include "gpu/cupti_backend.h"

enum { BUFFER_BYTES = 1 << 20, ALIGNMENT = 64 };

static void
forked(void)
{
    lp_cupti_state open = LP_CUPTI_OPEN;

    if (__atomic_compare_exchange_n(&lp_cupti.state, &open, LP_CUPTI_FORKED,
                                    false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        lp_child_exit_watch();
    }
}

void
lp_cupti_watch_forks(void)
{
    static bool watching;

    lp_child_exit_add((uintptr_t)lp_cupti.cuda.version);
    lp_child_exit_add((uintptr_t)lp_cupti.api.subscribe);
    if (!watching) {
        watching = pthread_atfork(NULL, NULL, forked) == 0;
    }
}

bool
lp_cupti_is_forked(void)
{
    return __atomic_load_n(&lp_cupti.state, __ATOMIC_ACQUIRE) ==
           LP_CUPTI_FORKED;
}

uint8_t *
lp_cupti_child_buffer(size_t *size)
{
    static uint8_t *only; /* atomic; never freed */
    uint8_t *buffer = __atomic_load_n(&only, __ATOMIC_ACQUIRE);
    void *made;

    if (buffer == NULL &&
        posix_memalign(&made, ALIGNMENT, BUFFER_BYTES) == 0) {
        if (__atomic_compare_exchange_n(&only, &buffer, made, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            buffer = made;
        }
        else {
            free(made); /* another thread was faster */
        }
    }
    *size = buffer == NULL ? 0 : BUFFER_BYTES;
    return buffer;
}
