/* The last records: wait for the device, then for CUPTI.
 *
 * The device is waited for on a thread of our own, so that a kernel that
 * never ends holds nobody up for ever; and not at all while a graph is being
 * captured, which would fail of it.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "lp_cupti.h"

enum {
    DEVICE_SECONDS = 20, /* to wait for the device, once: less than a batch
                          * system leaves between SIGTERM and SIGKILL */
    POLL_NS = 2000000,   /* between two looks at what has come */
    PATIENCE = 150,      /* looks without a record more */
    LAST_LOOKS = 8
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool busy; /* a thread waits for the device */
} waiter = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

void
lp_cupti_add_current_context(void)
{
    void *context = NULL;

    lp_cupti_own_calls(true);
    if (lp_cupti.cuda.current(&context) == 0) {
        lp_cupti_add_context(context);
    }
    lp_cupti_own_calls(false);
}

static bool
is_capturing(void)
{
    return __atomic_load_n(&lp_cupti.captures, __ATOMIC_ACQUIRE) != 0;
}

static void *
wait_for_contexts(void *unused)
{
    (void)unused;
    lp_cupti_own_calls(true);
    for (int i = 0; i < LP_CUPTI_CONTEXTS && !is_capturing(); i++) {
        void *context =
            __atomic_load_n(&lp_cupti.contexts[i], __ATOMIC_ACQUIRE);

        if (context != NULL) {
            lp_cuda_wait(&lp_cupti.cuda, context);
        }
    }
    pthread_mutex_lock(&waiter.lock);
    waiter.busy = false;
    pthread_cond_broadcast(&waiter.done);
    pthread_mutex_unlock(&waiter.lock);
    return NULL;
}

static bool
has_context(void)
{
    for (int i = 0; i < LP_CUPTI_CONTEXTS; i++) {
        if (__atomic_load_n(&lp_cupti.contexts[i], __ATOMIC_ACQUIRE) != NULL) {
            return true;
        }
    }
    return false;
}

/* Under the lock.  The program's signals are for its own threads. */
static void
start_waiting(void)
{
    pthread_t thread;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    waiter.busy = pthread_create(&thread, NULL, wait_for_contexts, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (waiter.busy) {
        pthread_detach(thread);
    }
}

static void
wait_for_device(void)
{
    struct timespec until;
    int status = 0;

    if (!has_context() || is_capturing()) {
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DEVICE_SECONDS;
    pthread_mutex_lock(&waiter.lock);
    if (waiter.busy) {
        status = ETIMEDOUT; /* an earlier one has waited in vain */
    }
    else {
        start_waiting();
    }
    while (waiter.busy && status != ETIMEDOUT) {
        status = pthread_cond_timedwait(&waiter.done, &waiter.lock, &until);
    }
    pthread_mutex_unlock(&waiter.lock);
}

/* Records may come after the call that flushes has returned, and some calls
 * that look as if they gave work never bring one. */
static void
wait_for_records(void)
{
    static uint64_t hopeless;
    const lp_corr *corr = &lp_cupti.host.ledger->corr;
    struct timespec pause = {.tv_nsec = POLL_NS};
    uint64_t outstanding = 0, least = UINT64_MAX;

    for (int looks = 0; looks < PATIENCE; looks++) {
        lp_cupti.api.flush_all(0);
        outstanding = lp_corr_outstanding(corr);
        /* Those that were given up may have come since, and others be due:
         * few are not enough, if they still get fewer. */
        if (outstanding == 0 ||
            (outstanding <= hopeless && outstanding >= least)) {
            break;
        }
        if (outstanding < least) {
            least = outstanding;
            looks = 0;
        }
        nanosleep(&pause, NULL);
    }
    hopeless = outstanding;
    /* Calls leave records that nobody counts; let those come. */
    for (int i = 0; lp_cupti.calls && i < LAST_LOOKS &&
                    __atomic_load_n(&lp_cupti.given, __ATOMIC_ACQUIRE) > 0;
         i++) {
        nanosleep(&pause, NULL);
    }
}

void
lp_cupti_flush(void)
{
    if (!lp_cupti_is_open()) {
        return;
    }
    lp_cupti_add_current_context();
    wait_for_device();
    wait_for_records();
}
