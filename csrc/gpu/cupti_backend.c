/* The session with CUPTI: opened once, flushed, closed, and never finalized,
 * because that would unload the library while other threads use it; it remains
 * mapped.
 *
 * A flush waits for the device, then for CUPTI's records.  A separate thread
 * waits for the device, so that a kernel that never ends cannot block the
 * program forever; and none does while a graph is being captured, because that
 * would make the capture fail.
 */
#include "gpu/cupti_backend.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "gpu/dynlib.h"

enum {
    DEVICE_SECONDS = 20, /* max time to wait for the device, once: less than a
                            batch system leaves between SIGTERM and SIGKILL */
    POLL_NS = 2000000,   /* between two polls of the records */
    MAX_POLLS = 150,     /* max polls without a new record */
    FINAL_POLLS = 8
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

    lp_cupti_internal_calls(true);
    if (lp_cupti.cuda.current(&context) == 0) {
        lp_cupti_add_context(context);
    }
    lp_cupti_internal_calls(false);
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
    lp_cupti_internal_calls(true);
    for (int i = 0; i < LP_CUPTI_CONTEXTS && !is_capturing(); i++) {
        void *context =
            __atomic_load_n(&lp_cupti.contexts[i], __ATOMIC_ACQUIRE);

        if (context != NULL) {
            lp_cuda_driver_wait(&lp_cupti.cuda, context);
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

/* Start a thread that waits; under the lock.  Signals are blocked, because the
 * program's are for its own threads. */
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
        status = ETIMEDOUT; /* an earlier wait has timed out */
    }
    else {
        start_waiting();
    }
    while (waiter.busy && status != ETIMEDOUT) {
        status = pthread_cond_timedwait(&waiter.done, &waiter.lock, &until);
    }
    pthread_mutex_unlock(&waiter.lock);
}

/* Wait for expected records.  They may come after the flushing call has
 * returned, and some calls that seem to launch work never have one. */
static void
wait_for_records(void)
{
    static uint64_t abandoned;
    const lp_correlation *correlations = &lp_cupti.host.activity->correlations;
    struct timespec pause = {.tv_nsec = POLL_NS};
    uint64_t outstanding = 0, min = UINT64_MAX;

    for (int polls = 0; polls < MAX_POLLS; polls++) {
        lp_cupti.api.flush_all(0);
        outstanding = lp_correlation_outstanding(correlations);
        /* Records abandoned by an earlier flush may have come since, and
         * others be expected: a small number is not enough to stop while it is
         * still falling. */
        if (outstanding == 0 ||
            (outstanding <= abandoned && outstanding >= min)) {
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

lp_cupti_session lp_cupti;

#define SYMBOL(name, field, optional)                                         \
    {"cupti" name, offsetof(lp_cupti_functions, field), optional}

static const lp_symbol symbols[] = {
    SYMBOL("GetVersion", get_version, false),
    SYMBOL("GetResultString", get_result_string, false),
    SYMBOL("GetTimestamp", get_timestamp, false),
    SYMBOL("Subscribe", subscribe, false),
    SYMBOL("Unsubscribe", unsubscribe, false),
    SYMBOL("EnableCallback", enable_callback, false),
    SYMBOL("EnableDomain", enable_domain, false),
    SYMBOL("ActivityRegisterCallbacks", register_callbacks, false),
    SYMBOL("ActivityEnable", enable, false),
    SYMBOL("ActivityDisable", disable, false),
    SYMBOL("ActivityGetNextRecord", get_next_record, false),
    SYMBOL("ActivityGetNumDroppedRecords", get_dropped, false),
    SYMBOL("ActivityFlushAll", flush_all, false),
    SYMBOL("ActivityRegisterTimestampCallback", register_timestamp, true),
    SYMBOL("SetThreadIdType", set_thread_id_type, true),
    SYMBOL("GetGraphNodeId", get_graph_node_id, true),
    SYMBOL("GetCallbackName", get_callback_name, true),
    SYMBOL("ActivityConfigureUnifiedMemoryCounter", configure_uvm, true),
    SYMBOL("ActivityEnable_v2", has_enable_v2, true),
    SYMBOL("ActivityGetNextRecord_v2", has_next_record_v2, true),
};

#undef SYMBOL

enum { CUDA_13_2 = 13020 /* in the form of cuDriverGetVersion */ };

/* Number of destroyed contexts: a new one may have the same address. */
static uint32_t dropped_contexts;

void
lp_cupti_add_context(void *context)
{
    static _Thread_local void *last;
    static _Thread_local uint32_t last_dropped;
    uint32_t dropped_now =
        __atomic_load_n(&dropped_contexts, __ATOMIC_ACQUIRE);

    if (context == NULL || (context == last && dropped_now == last_dropped)) {
        return;
    }
    last = context;
    last_dropped = dropped_now;
    for (int i = 0; i < LP_CUPTI_CONTEXTS; i++) {
        void *there = NULL;

        if (__atomic_compare_exchange_n(&lp_cupti.contexts[i], &there, context,
                                        false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE) ||
            there == context) {
            return;
        }
    }
}

void
lp_cupti_drop_context(void *context)
{
    for (int i = 0; i < LP_CUPTI_CONTEXTS; i++) {
        void *there = context;

        __atomic_compare_exchange_n(&lp_cupti.contexts[i], &there, NULL, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
    __atomic_fetch_add(&dropped_contexts, 1, __ATOMIC_ACQ_REL);
}

/* Write which call failed and CUPTI's text for the status, with its number in
 * brackets at the end. */
static bool
failed(char why[LP_GPU_WHY], const char *call, int status)
{
    const char *text = NULL;

    if (lp_cupti.api.get_result_string(status, &text) != LP_CUPTI_OK ||
        text == NULL) {
        text = "an error";
    }
    snprintf(why, LP_GPU_WHY, "%s says %s (%d)", call, text, status);
    return false;
}

/* Load one library; false if it does not exist or lacks a needed function.
 * None of its functions is called before that is known. */
static bool
load(const char *name, char why[LP_GPU_WHY])
{
    lp_cupti_functions *api = &lp_cupti.api;
    void *library = lp_dynlib_open(name, why, LP_GPU_WHY);
    int driver = 0;

    if (library == NULL ||
        !lp_dynlib_find(library, symbols, sizeof(symbols) / sizeof(symbols[0]),
                        api, why, LP_GPU_WHY)) {
        return false;
    }
    /* CUPTI 13.2 recurses until its stack overflows, even in cuptiGetVersion,
     * if the driver does not work or is older. */
    if (api->has_enable_v2 != NULL && api->has_next_record_v2 == NULL &&
        (lp_cupti.cuda.version(&driver) != 0 || driver < CUDA_13_2)) {
        snprintf(why, LP_GPU_WHY, "the driver %s",
                 driver == 0 ? "does not work" : "is too old for CUPTI 13.2");
        return false;
    }
    return true;
}

/* Have CUPTI use the clock of lineprof's lines, or measure the offset between
 * the two.  Must precede enabling any kind of record. */
static bool
align_clocks(char why[LP_GPU_WHY])
{
    const lp_cupti_functions *api = &lp_cupti.api;
    lp_ns before, after;
    uint64_t stamp;
    int status;

    lp_cupti.offset = 0;
    if (api->register_timestamp != NULL &&
        api->register_timestamp(lp_clock_monotonic) == LP_CUPTI_OK) {
        return true;
    }
    before = lp_clock_monotonic();
    status = api->get_timestamp(&stamp);
    after = lp_clock_monotonic();
    if (status != LP_CUPTI_OK) {
        return failed(why, "cuptiGetTimestamp", status);
    }
    lp_cupti.offset = (int64_t)(before + (after - before) / 2 - stamp);
    return true;
}

static void
enable_migrations(void)
{
    lp_cupti_uvm_config configs[] = {
        {LP_CUPTI_UVM_ALL_DEVICES, LP_CUPTI_UVM_BYTES_HTOD, 0, 1},
        {LP_CUPTI_UVM_ALL_DEVICES, LP_CUPTI_UVM_BYTES_DTOH, 0, 1},
        {LP_CUPTI_UVM_ALL_DEVICES, LP_CUPTI_UVM_BYTES_DTOD, 0, 1},
    };
    const lp_cupti_functions *api = &lp_cupti.api;

    /* Devices without these counters have no migrations in the report. */
    if (api->configure_uvm != NULL &&
        api->configure_uvm(configs, 3) == LP_CUPTI_OK) {
        api->enable(LP_CUPTI_UNIFIED_MEMORY_COUNTER);
    }
}

/* Enable the kinds of records; false, with none enabled, if CUPTI rejects one.
 */
static bool
enable_kinds(const lp_gpu_options *options, char why[LP_GPU_WHY])
{
    const struct {
        uint32_t kind;
        bool wanted;
    } kinds[] = {
        {LP_CUPTI_CONCURRENT_KERNEL, true},
        {LP_CUPTI_MEMCPY, true},
        {LP_CUPTI_MEMCPY2, true},
        {LP_CUPTI_MEMSET, true},
        {LP_CUPTI_RUNTIME, options->calls},
        {LP_CUPTI_DRIVER, options->calls},
        {LP_CUPTI_MEMORY2, options->memory},
        {LP_CUPTI_GRAPH_TRACE, options->whole_graphs},
    };
    const lp_cupti_functions *api = &lp_cupti.api;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        int status = kinds[i].wanted ? api->enable(kinds[i].kind) : 0;

        if (status != LP_CUPTI_OK) {
            while (i-- > 0) {
                api->disable(kinds[i].kind);
            }
            return failed(why, "cuptiActivityEnable", status);
        }
    }
    if (options->migrations) {
        enable_migrations();
    }
    return true;
}

/* Set CUPTI's clock, thread ids and buffer callbacks: once, however often the
 * session subscribes. */
static bool
prepare(char why[LP_GPU_WHY])
{
    static int (*prepared)(lp_cupti_requested, lp_cupti_completed);
    const lp_cupti_functions *api = &lp_cupti.api;
    int status;

    if (prepared == api->register_callbacks) {
        return true;
    }
    if (!align_clocks(why)) {
        return false;
    }
    if (api->set_thread_id_type != NULL) {
        api->set_thread_id_type(LP_CUPTI_THREAD_ID_SYSTEM);
    }
    status =
        api->register_callbacks(lp_cupti_on_requested, lp_cupti_on_completed);
    if (status != LP_CUPTI_OK) {
        return failed(why, "cuptiActivityRegisterCallbacks", status);
    }
    prepared = api->register_callbacks;
    return true;
}

/* Subscribe to CUPTI and enable callbacks and records.  `*taken` is set if
 * another tool is subscribed, whose settings were not touched. */
static bool
subscribe(const lp_gpu_options *options, bool *taken, char why[LP_GPU_WHY])
{
    const lp_cupti_functions *api = &lp_cupti.api;
    int status = api->get_version(&lp_cupti.version);

    if (status != LP_CUPTI_OK) {
        return failed(why, "cuptiGetVersion", status);
    }
    status = api->subscribe(&lp_cupti.subscriber, lp_cupti_on_callback, NULL);
    if (status != LP_CUPTI_OK) {
        *taken = status == LP_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
        return failed(why, "cuptiSubscribe", status);
    }
    if (prepare(why)) {
        status = lp_cupti_enable_calls();
        if (status != LP_CUPTI_OK) {
            failed(why, "cuptiEnableCallback", status);
        }
        else if (enable_kinds(options, why)) {
            return true;
        }
    }
    api->unsubscribe(lp_cupti.subscriber);
    return false;
}

/* Runs in a forked child: CUPTI's threads do not exist and its locks may be
 * held. */
static void
forked(void)
{
    lp_cupti_state open = LP_CUPTI_OPEN;

    __atomic_compare_exchange_n(&lp_cupti.state, &open, LP_CUPTI_FORKED, false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static bool
open_session(const lp_gpu_host *host, const lp_gpu_options *options,
             char why[LP_GPU_WHY])
{
    char reason[LP_GPU_WHY];
    bool taken = false;

    lp_cupti.host = *host;
    lp_cupti.calls = options->calls;
    lp_cupti.memory = options->memory;
    why[0] = '\0';
    if (!lp_cuda_driver_open(&lp_cupti.cuda, options->driver, why,
                             LP_GPU_WHY)) {
        return false;
    }
    /* A second copy of CUPTI would disturb another tool that uses one. */
    for (const char *const *name = options->libraries; *name != NULL && !taken;
         name++) {
        /* Callbacks may come as soon as it is subscribed. */
        __atomic_store_n(&lp_cupti.state, LP_CUPTI_OPEN, __ATOMIC_RELEASE);
        if (load(*name, reason) && subscribe(options, &taken, reason)) {
            pthread_atfork(NULL, NULL, forked);
            lp_cupti_add_current_context();
            return true;
        }
        __atomic_store_n(&lp_cupti.state, LP_CUPTI_CLOSED, __ATOMIC_RELEASE);
        /* Otherwise keep the first reason: the best library comes first. */
        if (why[0] == '\0' || taken) {
            memcpy(why, reason, LP_GPU_WHY);
        }
    }
    if (why[0] == '\0') {
        snprintf(why, LP_GPU_WHY, "no libcupti was found");
    }
    return false;
}

static void
close_session(void)
{
    if (!lp_cupti_is_open()) {
        return;
    }
    __atomic_store_n(&lp_cupti.state, LP_CUPTI_CLOSED, __ATOMIC_RELEASE);
    lp_cupti.api.unsubscribe(lp_cupti.subscriber);
}

static uint32_t
version(void)
{
    return lp_cupti.version;
}

static uint64_t
dropped(void)
{
    return __atomic_load_n(&lp_cupti.dropped, __ATOMIC_RELAXED);
}

static const char *
call_name(lp_activity_kind kind, uint32_t call)
{
    const char *name = NULL;
    uint32_t domain = kind == LP_RUNTIME_CALL ? LP_CUPTI_DOMAIN_RUNTIME_API
                                              : LP_CUPTI_DOMAIN_DRIVER_API;

    if (lp_cupti.api.get_callback_name == NULL ||
        lp_cupti.api.get_callback_name(domain, call, &name) != LP_CUPTI_OK) {
        return NULL;
    }
    return name;
}

static void
describe(uint32_t device, lp_gpu_device *description)
{
    lp_cupti_internal_calls(true);
    lp_cuda_driver_describe(&lp_cupti.cuda, device, description);
    lp_cupti_internal_calls(false);
}

const lp_gpu_backend lp_gpu_cupti = {
    .name = "cupti",
    .open = open_session,
    .flush = lp_cupti_flush,
    .close = close_session,
    .version = version,
    .dropped = dropped,
    .call_name = call_name,
    .describe = describe,
};
