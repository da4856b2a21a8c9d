/* Other tools that use CUPTI in the same process.
 *
 * A tool may record activity without a subscription, as PyTorch's profiler
 * does from 2.15 on.  CUPTI has one pair of buffer callbacks and one set of
 * enabled kinds: a tool that registers its callbacks gets lineprof's records,
 * and one that disables its kinds ends them for lineprof, too.  Neither is
 * reported, so it is concluded from launches without records.
 */
#include "gpu/cupti_backend.h"

#include <time.h>

enum {
    /* Some calls have no record, such as launches of empty graphs: fewer
     * missing records than these are no sign of another tool. */
    MIN_MISSING = 100,
    POLL_NS = 10000000, /* between two polls of CUPTI's records */
    MAX_POLLS = 100     /* CUPTI may be late; so much patience once */
};

bool
lp_cupti_is_recorded(void)
{
    const lp_cupti_functions *api = &lp_cupti.api;
    uint8_t in_use = 0;
    uint32_t kinds = 0;

    /* CUPTI is in use from anybody's first call on, whether or not something
     * is recorded: the enabled kinds tell. */
    return api->is_session_running != NULL && api->get_enabled_kinds != NULL &&
           api->is_session_running(&in_use) == LP_CUPTI_OK && in_use != 0 &&
           api->get_enabled_kinds(NULL, NULL, NULL, &kinds) == LP_CUPTI_OK &&
           kinds != 0;
}

/* True if records came that could not be charged to their calls. */
static bool
has_strange_records(void)
{
    lp_activity *activity = lp_cupti.host.activity;
    bool strange;

    pthread_mutex_lock(&activity->lock);
    strange = activity->unknown != 0;
    pthread_mutex_unlock(&activity->lock);
    return strange;
}

/* True if CUPTI works, but brings no record although it has time to. */
static bool
brings_no_record(void)
{
    const lp_correlation *correlations = &lp_cupti.host.activity->correlations;
    struct timespec pause = {.tv_nsec = POLL_NS};
    lp_correlation_tail before = lp_correlation_since_newest(correlations);
    uint64_t dropped = __atomic_load_n(&lp_cupti.dropped, __ATOMIC_RELAXED);

    if (before.expected < MIN_MISSING + dropped || has_strange_records()) {
        return false;
    }
    for (int polls = 0; polls < MAX_POLLS; polls++) {
        if (lp_cupti.api.flush_all(0) != LP_CUPTI_OK ||
            lp_correlation_since_newest(correlations).expected <
                before.expected) {
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return !has_strange_records();
}

void
lp_cupti_check_records(const lp_correlation_tail *before, bool done)
{
    const lp_correlation *correlations = &lp_cupti.host.activity->correlations;
    lp_correlation_tail tail = lp_correlation_since_newest(correlations);
    bool stopped = __atomic_load_n(&correlations->stopped, __ATOMIC_ACQUIRE);
    uint64_t taken = __atomic_load_n(&lp_cupti.taken, __ATOMIC_RELAXED);

    /* With the device done, and nothing launched during the flush, CUPTI has
     * nothing to wait for.  Records that come later change the verdict. */
    if (taken != 0) {
        taken = tail.expected < taken ? 0 : tail.expected;
    }
    else if ((stopped || (done && tail.mark == before->mark)) &&
             brings_no_record()) {
        taken = tail.expected;
    }
    __atomic_store_n(&lp_cupti.taken, taken, __ATOMIC_RELAXED);
}
