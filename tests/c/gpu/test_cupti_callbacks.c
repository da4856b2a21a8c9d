/* Callbacks of CUPTI that come while the session is closed and open. */
#include <pthread.h>

#include "check.h"
#include "gpu/cupti_backend.h"
#include "gpu/own_paths.h"

enum { SYNCHRONIZE = 17, LOAD_DATA = 19 /* cuModuleLoadData */ };

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
    waited = lp_call_paths_at(activity.paths, path);
    CHECK(waited->waits == 1 && waited->wait_ticks == 100);
    set_open(false);
    scratch = 0; /* of another call */
    callback(&call, LP_CUPTI_API_ENTER);
    now += 100;
    set_open(true);
    callback(&call, LP_CUPTI_API_EXIT);
    CHECK(waited->waits == 1 && waited->wait_ticks == 100);
}

static void *
load_while_recording_opens(void *result)
{
    uint64_t scratch = 0;
    lp_cupti_call call = {
        .site = LP_CUPTI_API_EXIT, .result = result, .scratch = &scratch};
    lp_cupti_resource module = {0};

    set_open(true);
    lp_cupti_on_callback(NULL, LP_CUPTI_DOMAIN_RESOURCE,
                         LP_CUPTI_RESOURCE_MODULE_LOADED, &module);
    lp_cupti_on_callback(NULL, LP_CUPTI_DOMAIN_DRIVER_API, LOAD_DATA, &call);
    return NULL;
}

/* Its thread has not made a call before. */
static void
a_call_under_way_when_recording_opens_is_no_load(void)
{
    pthread_t thread;
    int result = 0;

    now += 1000000;
    CHECK(pthread_create(&thread, NULL, load_while_recording_opens, &result) ==
          0);
    pthread_join(thread, NULL);
    for (uint32_t i = 0; i < LP_LOAD_TIMES; i++) {
        CHECK(lp_load_times_at(&activity.loads, i).calls == 0);
    }
}

/* Launch work by a driver call with these parameters, which succeeds; true if
 * a record is expected. */
static bool
expects_a_record(uint32_t id, const uint64_t *parameters)
{
    static uint32_t correlation;
    uint64_t scratch = 0, before;
    int result = 0;
    lp_cupti_call call = {.site = LP_CUPTI_API_ENTER,
                          .parameters = parameters,
                          .result = &result,
                          .scratch = &scratch,
                          .correlation = ++correlation};

    set_open(true);
    before = lp_correlation_outstanding(&activity.correlations);
    lp_cupti_on_callback(NULL, LP_CUPTI_DOMAIN_DRIVER_API, id, &call);
    call.site = LP_CUPTI_API_EXIT;
    lp_cupti_on_callback(NULL, LP_CUPTI_DOMAIN_DRIVER_API, id, &call);
    return lp_correlation_outstanding(&activity.correlations) > before;
}

static void
work_of_no_bytes_expects_no_record(void)
{
    static const struct {
        uint32_t id, place; /* and the place of the size in the parameters */
    } calls[] = {
        {276, 2}, /* cuMemcpyHtoD_v2 */
        {421, 2}, /* cuMemcpyHtoDAsync_v2_ptsz */
        {837, 2}, /* cuMemcpyWithAttributesAsync */
        {249, 2}, /* cuMemsetD8_v2 */
        {403, 3}, /* cuMemcpyAtoH_v2_ptds */
        {404, 4}, /* cuMemcpyAtoA_v2_ptds */
        {319, 4}, /* cuMemcpyPeerAsync */
        {224, 3}, /* cuMemsetD2D16Async, by its width, */
        {431, 4}, /* cuMemsetD2D8Async_ptsz, by its height */
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        uint64_t words[8] = {1, 1, 1, 1, 1, 1, 1, 1}, zeros[8] = {0};

        CHECK(expects_a_record(calls[i].id, words));
        CHECK(expects_a_record(calls[i].id, NULL));
        words[calls[i].place] = 0;
        CHECK(!expects_a_record(calls[i].id, words));
        zeros[calls[i].place] = 1; /* only half the size of an area */
        CHECK(expects_a_record(calls[i].id, zeros) ==
              (calls[i].id != 224 && calls[i].id != 431));
    }
}

static void
other_launches_expect_a_record_whatever_their_parameters(void)
{
    const uint64_t zeros[8] = {0};

    CHECK(expects_a_record(307, zeros)); /* cuLaunchKernel */
    CHECK(expects_a_record(287, zeros)); /* cuMemcpy2D_v2: a pointer */
    CHECK(expects_a_record(43, zeros));  /* cuMemcpyHtoD, of 32 bits */
}

int
main(void)
{
    CHECK(lp_activity_init(&activity, own_paths(), 0));
    path = lp_call_paths_root(activity.paths, 0, false);
    lp_cupti.host = (lp_gpu_host){
        .activity = &activity, .path = read_path, .now = read_now};
    lp_cupti.api.enable_callback = enable_callback;
    CHECK(lp_cupti_enable_calls() == LP_CUPTI_OK);
    a_call_under_way_when_recording_reopens_adds_no_wait();
    a_call_under_way_when_recording_opens_is_no_load();
    work_of_no_bytes_expects_no_record();
    other_launches_expect_a_record_whatever_their_parameters();
    lp_activity_free(&activity);
    return check_failures;
}
