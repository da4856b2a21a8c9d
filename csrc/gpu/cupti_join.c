/* The check that the ids of records are those of the driver's calls, and what
 * is done if they are not.
 *
 * Everything that is charged to a line depends on it.  If the first records of
 * a device have ids of no call, CUPTI gives them the ids of the runtime's
 * calls: from then on these are seen, too, and a call of the driver inside one
 * has its id.  The path is that of the driver's call, so nothing else changes.
 *
 * The runtime's calls are enabled by a flush, or by a thread of its own: a
 * callback that delivers records must not wait for CUPTI's locks.
 */
#include "gpu/cupti_backend.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "gpu/side_thread.h"

enum { PATIENCE = 5 /* max time to wait for the thread, s */ };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool begun, busy; /* busy: a thread is enabling the runtime's calls */
} enabling = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
              false};

static bool
begin(void)
{
    bool first;

    pthread_mutex_lock(&enabling.lock);
    first = !enabling.begun;
    enabling.begun = true;
    enabling.busy = enabling.busy || first;
    pthread_mutex_unlock(&enabling.lock);
    return first;
}

/* End what `begin` began; if not `done`, the next flush does it. */
static void
end(bool done)
{
    pthread_mutex_lock(&enabling.lock);
    enabling.begun = done;
    enabling.busy = false;
    pthread_cond_broadcast(&enabling.done);
    pthread_mutex_unlock(&enabling.lock);
}

static void *
enable(void *unused)
{
    (void)unused;
    if (lp_cupti_is_open() &&
        lp_cupti.api.enable_domain(1, lp_cupti.subscriber,
                                   LP_CUPTI_DOMAIN_RUNTIME_API) ==
            LP_CUPTI_OK) {
        __atomic_store_n(&lp_cupti.by_runtime, true, __ATOMIC_RELEASE);
    }
    end(true);
    return NULL;
}

void
lp_cupti_join_by_runtime(void)
{
    if (begin() && !lp_side_thread_start(enable)) {
        end(false);
    }
}

bool
lp_cupti_join_is_settled(void)
{
    struct timespec until;
    int status = 0;
    bool settled;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    pthread_mutex_lock(&enabling.lock);
    while (enabling.busy && status != ETIMEDOUT) {
        status =
            pthread_cond_timedwait(&enabling.done, &enabling.lock, &until);
    }
    settled = !enabling.busy;
    pthread_mutex_unlock(&enabling.lock);
    return settled;
}

void
lp_cupti_check_join(void)
{
    lp_activity *activity = lp_cupti.host.activity;
    bool fails;

    pthread_mutex_lock(&activity->lock);
    fails = lp_activity_join_fails(activity);
    pthread_mutex_unlock(&activity->lock);
    if (fails && begin()) {
        enable(NULL);
    }
    lp_cupti_join_is_settled();
}

bool
lp_cupti_describe_join(char text[LP_GPU_WHY])
{
    lp_activity *activity = lp_cupti.host.activity;
    uint64_t lineless, joined;

    pthread_mutex_lock(&activity->lock);
    lineless = activity->join == LP_JOIN_FAILS ? activity->lineless : 0;
    joined = activity->joined;
    pthread_mutex_unlock(&activity->lock);
    if (lineless == 0) {
        return false;
    }
    snprintf(text, LP_GPU_WHY,
             "%llu records of the GPU have ids of no call, and belong to no "
             "line%s",
             (unsigned long long)lineless,
             joined > 0 ? "; later ones are found by the runtime's calls"
                        : "");
    return true;
}
