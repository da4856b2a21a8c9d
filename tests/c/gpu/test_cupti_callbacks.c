/* Callbacks of CUPTI that come while the session is closed and open. */
#include "check.h"
#include "gpu/cupti_backend.h"

enum { SYNCHRONIZE = 17 }; /* cuCtxSynchronize */

static lp_activity activity;
static uint32_t path;
static lp_ticks now;

static lp_ticks
read_now(void)
{
    return now;
}

static uint32_t
read_path(void)
{
    return path;
}

static int
enable_callback(uint32_t on, void *subscriber, uint32_t domain, uint32_t id)
{
    (void)on;
    (void)subscriber;
    (void)domain;
    (void)id;
    return LP_CUPTI_OK;
}

static void
callback(lp_cupti_call *call, uint32_t site)
{
    call->site = site;
    lp_cupti_on_callback(NULL, LP_CUPTI_DOMAIN_DRIVER_API, SYNCHRONIZE, call);
}

static void
set_open(bool open)
{
    __atomic_store_n(&lp_cupti.state, open ? LP_CUPTI_OPEN : LP_CUPTI_CLOSED,
                     __ATOMIC_RELEASE);
}

/* Opening may fail after callbacks have come, and succeed later. */
static void
a_call_under_way_when_recording_reopens_adds_no_wait(void)
{
    uint64_t scratch = 0;
    int result = 0;
    lp_cupti_call call = {.scratch = &scratch, .result = &result};
    const lp_call_path *waited;

    set_open(true);
    callback(&call, LP_CUPTI_API_ENTER);
    now += 100;
    callback(&call, LP_CUPTI_API_EXIT);
    waited = lp_call_paths_at(&activity.paths, path);
    CHECK(waited->waits == 1 && waited->wait_ticks == 100);
    set_open(false);
    scratch = 0; /* of another call */
    callback(&call, LP_CUPTI_API_ENTER);
    now += 100;
    set_open(true);
    callback(&call, LP_CUPTI_API_EXIT);
    CHECK(waited->waits == 1 && waited->wait_ticks == 100);
}

int
main(void)
{
    CHECK(lp_activity_init(&activity, 0));
    path = lp_call_paths_root(&activity.paths, 0, false);
    lp_cupti.host = (lp_gpu_host){
        .activity = &activity, .path = read_path, .now = read_now};
    lp_cupti.api.enable_callback = enable_callback;
    CHECK(lp_cupti_enable_calls() == LP_CUPTI_OK);
    a_call_under_way_when_recording_reopens_adds_no_wait();
    lp_activity_free(&activity);
    return check_failures;
}
