/* The flush of CUPTI's records: waits for the device, then for the records.
 *
 * A separate thread waits for the device, so that a kernel that never ends
 * cannot block the program forever; and none does while a graph is being
 * captured, because that would make the capture fail.
 */
#include "gpu/cupti_backend.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "gpu/side_thread.h"

enum {
    DEVICE_SECONDS = 20, /* max time to wait for the device, once: less than a
                            batch system leaves between SIGTERM and SIGKILL */
    POLL_NS = 2000000,   /* between two polls of the records */
    MAX_POLLS = 150,     /* max polls without a new record */
    SHORT_POLLS = 20,    /* the same, if the last such wait was in vain */
    FINAL_POLLS = 8,
    QUIET_POLLS = 30 /* number of polls without a new record of a graph after
                        which all of them have come: more than two rounds of
                        CUPTI's thread */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool busy;     /* a thread waits for the device */
    bool finished; /* by the last wait, the device has finished */
} waiter = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};

/* The program has ended, and any capture with it (atomic). */
static bool ended;

static bool
is_capturing(void)
{
    if (lp_cupti_misses(LP_CUPTI_NO_CAPTURES)) { /* one may never end */
        return !__atomic_load_n(&ended, __ATOMIC_ACQUIRE) &&
               (lp_cupti.nodes_unknown ||
                __atomic_load_n(&lp_cupti.captured, __ATOMIC_ACQUIRE));
    }
    return __atomic_load_n(&lp_cupti.captures, __ATOMIC_ACQUIRE) != 0;
}

static _Thread_local bool failed_to_wait; /* for one of the contexts */

static bool
wait_for_context(void *context)
{
    if (is_capturing()) {
        return false;
    }
    if (!lp_cuda_driver_wait(&lp_cupti.cuda, context)) {
        failed_to_wait = true;
    }
    return true;
}

static void *
wait_for_contexts(void *unused)
{
    bool visited;

    (void)unused;
    lp_cupti_internal_calls(true);
    visited = lp_cupti_visit_contexts(wait_for_context);
    pthread_mutex_lock(&waiter.lock);
    waiter.busy = false;
    waiter.finished = visited && !failed_to_wait;
    pthread_cond_broadcast(&waiter.done);
    pthread_mutex_unlock(&waiter.lock);
    return NULL;
}

static bool
stop_visiting(void *context)
{
    (void)context;
    return false;
}

static bool
has_context(void)
{
    return !lp_cupti_visit_contexts(stop_visiting);
}

/* Return true if the device has finished all work. */
static bool
wait_for_device(void)
{
    struct timespec until;
    int status = 0;
    bool finished;

    if (!has_context() || is_capturing()) {
        return false;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DEVICE_SECONDS;
    pthread_mutex_lock(&waiter.lock);
    if (waiter.busy) {
        status = ETIMEDOUT; /* an earlier wait has timed out */
    }
    else {
        waiter.finished = false;
        waiter.busy = lp_side_thread_start(wait_for_contexts);
    }
    while (waiter.busy && status != ETIMEDOUT) {
        status = pthread_cond_timedwait(&waiter.done, &waiter.lock, &until);
    }
    finished = !waiter.busy && waiter.finished;
    pthread_mutex_unlock(&waiter.lock);
    return finished;
}

/* Wait for expected records.  They may come after the flushing call has
 * returned, and some calls that seem to launch work never have one: a flush
 * after one that waited in vain, unless it is the last, soon leaves the
 * records to the next. */
static void
wait_for_records(bool last)
{
    static uint64_t abandoned;
    static bool in_vain;
    const lp_correlation *correlations = &lp_cupti.host.activity->correlations;
    struct timespec pause = {.tv_nsec = POLL_NS};
    uint64_t outstanding = 0, min = UINT64_MAX;
    int max_polls = in_vain && !last ? SHORT_POLLS : MAX_POLLS;

    in_vain = true;
    for (int polls = 0; polls < max_polls; polls++) {
        lp_cupti.api.flush_all(0);
        outstanding = lp_correlation_outstanding(correlations);
        if (outstanding < abandoned) {
            max_polls = MAX_POLLS; /* some of the abandoned have come */
        }
        /* Records abandoned by an earlier flush may have come since, and
         * others be expected: a small number is not enough to stop while it is
         * still falling. */
        if (outstanding == 0 ||
            (outstanding <= abandoned && outstanding >= min)) {
            in_vain = outstanding != 0;
            break;
        }
        if (outstanding < min) {
            min = outstanding;
            polls = 0;
        }
        nanosleep(&pause, NULL);
    }
    abandoned = outstanding;
    /* API calls have records that are not counted as expected; wait for those.
     */
    for (int i = 0;
         lp_cupti.calls && i < FINAL_POLLS &&
         __atomic_load_n(&lp_cupti.buffers_out, __ATOMIC_ACQUIRE) > 0;
         i++) {
        nanosleep(&pause, NULL);
    }
}

/* Wait for the other records of calls that have many, like launches of graphs:
 * only the first of each is expected, because their number is unknown; and for
 * those of memory, none of which is.  Records of later work do not count, so
 * that a thread that goes on launching cannot keep this one waiting. */
static void
wait_for_more_records(void)
{
    struct timespec pause = {.tv_nsec = POLL_NS};

    for (int polls = 0; polls < QUIET_POLLS; polls++) {
        uint64_t before = __atomic_load_n(&lp_cupti.earlier, __ATOMIC_ACQUIRE);

        lp_cupti.api.flush_all(0);
        nanosleep(&pause, NULL);
        if (__atomic_load_n(&lp_cupti.earlier, __ATOMIC_ACQUIRE) != before) {
            polls = 0;
        }
    }
}

/* Get the buffers that CUPTI keeps because a record in them is incomplete.  An
 * incomplete record comes without times, and never again: so would those of
 * other tools, if there can be several.  CUPTI does not tell whether there
 * are. */
static void
get_unfinished_records(void)
{
    const lp_correlation *correlations = &lp_cupti.host.activity->correlations;
    struct timespec pause = {.tv_nsec = POLL_NS};

    __atomic_store_n(&lp_cupti.forced, true, __ATOMIC_RELEASE);
    lp_cupti.api.flush_all(LP_CUPTI_FLUSH_FORCED);
    for (int polls = 0;
         polls < QUIET_POLLS && lp_correlation_outstanding(correlations) > 0;
         polls++) {
        nanosleep(&pause, NULL);
    }
}

void
lp_cupti_deliver(void)
{
    if (lp_cupti_is_open()) {
        lp_cupti.api.flush_all(0);
    }
}

void
lp_cupti_flush(bool last)
{
    lp_correlation_tail before;
    bool done, many;

    if (!lp_cupti_is_open()) {
        return;
    }
    if (lp_cupti.offset != 0) {
        lp_cupti_measure_offset(); /* the clocks drift apart */
    }
    __atomic_store_n(&ended, last, __ATOMIC_RELEASE);
    before =
        lp_correlation_since_newest(&lp_cupti.host.activity->correlations);
    lp_cupti_add_current_context();
    done = wait_for_device();
    many = __atomic_exchange_n(&lp_cupti.many, false, __ATOMIC_ACQ_REL);
    if (many && !done) { /* its records may come much later */
        __atomic_store_n(&lp_cupti.many, true, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&lp_cupti.flushed, lp_clock_monotonic(),
                     __ATOMIC_RELEASE);
    wait_for_records(last);
    if (many) {
        wait_for_more_records();
    }
    if (last && !lp_cupti.forced && !lp_cupti.several &&
        lp_correlation_outstanding(&lp_cupti.host.activity->correlations) >
            0) {
        get_unfinished_records();
    }
    lp_cupti_check_join();
    /* Also if no buffer came: all of its records may have been dropped. */
    lp_cupti_count_dropped(NULL, 0);
    lp_cupti_check_records(&before, done);
}
