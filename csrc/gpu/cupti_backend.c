/* The session with CUPTI: opened once, closed, and never finalized, because
 * that would unload the library while other threads use it; it remains mapped.
 */
#include "gpu/cupti_backend.h"

#include <stdio.h>
#include <string.h>

#include "gpu/child_exit.h"
#include "gpu/dynlib.h"

lp_cupti_session lp_cupti;

int
lp_cupti_measure_offset(void)
{
    uint64_t stamp = 0;
    lp_ns before = lp_clock_monotonic(), after;
    int status = lp_cupti_get_timestamp(&stamp);

    after = lp_clock_monotonic();
    if (status == LP_CUPTI_OK) {
        __atomic_store_n(&lp_cupti.offset,
                         (int64_t)(before + (after - before) / 2 - stamp),
                         __ATOMIC_RELAXED);
    }
    return status;
}

#define SYMBOL(name, field, optional)                                         \
    {"cupti" name, offsetof(lp_cupti_functions, field), optional}

static const lp_symbol symbols[] = {
    SYMBOL("GetVersion", get_version, false),
    SYMBOL("GetResultString", get_result_string, false),
    SYMBOL("GetTimestamp", get_timestamp, false),
    SYMBOL("Subscribe", subscribe, false),
    SYMBOL("Subscribe_v2", subscribe_v2, true),
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
    SYMBOL("ActivitySetAttribute", set_attribute, true),
    SYMBOL("ActivityGetAttribute", get_attribute, true),
    SYMBOL("ActivityEnableRuntimeApi", enable_runtime_record, true),
    SYMBOL("ActivityEnableDriverApi", enable_driver_record, true),
    SYMBOL("IsTracingSessionRunning", is_session_running, true),
    SYMBOL("ActivityGetEnabledKinds", get_enabled_kinds, true),
    SYMBOL("GetGraphExecId", get_graph_exec_id, true),
    SYMBOL("ActivityEnableDeviceGraph", enable_device_graphs, true),
    SYMBOL("ActivityEnableAllocationSource", enable_memory_source, true),
    SYMBOL("ActivityEnableHWTrace", enable_hardware_clock, true),
    SYMBOL("ActivityRegisterCallbacks_v2", register_callbacks_v2, true),
    SYMBOL("ActivityEnable_v2", enable_v2, true),
    SYMBOL("ActivityDisable_v2", disable_v2, true),
    SYMBOL("ActivitySetAttribute_v2", set_attribute_v2, true),
    SYMBOL("ActivityGetAttribute_v2", get_attribute_v2, true),
    SYMBOL("GetTimestamp_v2", get_timestamp_v2, true),
    SYMBOL("ActivityGetNextRecord_v2", get_next_record_v2, true),
    SYMBOL("ActivityGetNumDroppedRecords_v2", get_dropped_v2, true),
    SYMBOL("ActivityEnableRuntimeApi_v2", enable_runtime_record_v2, true),
    SYMBOL("ActivityEnableDriverApi_v2", enable_driver_record_v2, true),
};

#undef SYMBOL

void
lp_cupti_say(char *text, size_t size, const char *call, int status)
{
    const char *word = NULL;

    if (lp_cupti.api.get_result_string(status, &word) != LP_CUPTI_OK ||
        word == NULL) {
        word = "an error";
    }
    snprintf(text, size, "%s says %s (%d)", call, word, status);
}

bool
lp_cupti_failed(char why[LP_GPU_WHY], const char *call, int status)
{
    lp_cupti_say(why, LP_GPU_WHY, call, status);
    return false;
}

/* Load one library; false if it does not exist or lacks a needed function.
 * None of its functions is called before that is known. */
static bool
load(const char *name, char why[LP_GPU_WHY])
{
    lp_cupti_functions *api = &lp_cupti.api;
    void *library = lp_cupti_fits_driver(name, why)
                        ? lp_dynlib_open(name, why, LP_GPU_WHY)
                        : NULL;

    if (library == NULL ||
        !lp_dynlib_find(library, symbols, sizeof(symbols) / sizeof(symbols[0]),
                        api, why, LP_GPU_WHY)) {
        return false;
    }
    /* CUPTI 13.2 recurses until its stack overflows, even in cuptiGetVersion,
     * if the driver does not work.  With an older driver that works it returns
     * a status, or records: all of CUDA 13 runs on the first driver for it. */
    if (api->enable_v2 != NULL && api->get_next_record_v2 == NULL &&
        !lp_cuda_driver_works(&lp_cupti.cuda)) {
        snprintf(why, LP_GPU_WHY, "the driver does not work");
        return false;
    }
    return true;
}

/* Have CUPTI use the clock of lineprof's lines, or measure the offset between
 * the two.  Must precede enabling any kind of record. */
static int
align_clocks(void)
{
    lp_cupti.offset = 0;
    return lp_cupti_set_clock(lp_clock_monotonic) == LP_CUPTI_OK
               ? LP_CUPTI_OK
               : lp_cupti_measure_offset();
}

/* Set CUPTI's clock, thread ids and buffer callbacks: those of the process
 * once, however often the session subscribes.  `*call` is what fails. */
static int
prepare(const char **call)
{
    static int (*prepared)(lp_cupti_requested, lp_cupti_completed);
    const lp_cupti_functions *api = &lp_cupti.api;
    int status;

    if (!lp_cupti.several && prepared == api->register_callbacks) {
        return LP_CUPTI_OK;
    }
    prepared = NULL; /* (the offset changes) */
    *call = LP_CUPTI_NAMED("cuptiGetTimestamp");
    status = align_clocks();
    if (status == LP_CUPTI_OK) {
        lp_cupti_use_thread_ids();
        lp_cupti_use_thread_buffers();
        *call = LP_CUPTI_NAMED("cuptiActivityRegisterCallbacks");
        status = lp_cupti_register_callbacks();
    }
    if (status == LP_CUPTI_OK && !lp_cupti.several) {
        prepared = api->register_callbacks;
    }
    return status;
}

/* Enable callbacks and records.  `*call` is what fails. */
static int
enable(const lp_gpu_options *options, const char **call)
{
    int status = prepare(call);

    if (status == LP_CUPTI_OK) {
        *call = "cuptiEnableCallback";
        status = lp_cupti_enable_calls();
    }
    if (status == LP_CUPTI_OK) {
        *call = LP_CUPTI_NAMED("cuptiActivityEnable");
        status = lp_cupti_enable_kinds(options);
    }
    if (status == LP_CUPTI_OK && lp_cupti.calls) {
        lp_cupti_skip_queries();
    }
    return status;
}

/* Subscribe to CUPTI and enable callbacks and records.  `*taken` is set if
 * another tool is subscribed, whose settings were not touched. */
static bool
subscribe(const lp_gpu_options *options, bool *taken, char why[LP_GPU_WHY])
{
    const lp_cupti_functions *api = &lp_cupti.api;
    const char *call;
    int status;

    lp_cupti.version = 0;
    status = api->get_version(&lp_cupti.version);
    if (status != LP_CUPTI_OK) {
        lp_cupti.version = 0;
        lp_cupti_failed(why, "cuptiGetVersion", status);
        lp_cupti_explain(why, status);
        return false;
    }
    lp_cupti_watch_forks();
    if (!lp_cupti_subscribe(options, taken, why)) {
        return false;
    }
    status = enable(options, &call);
    if (status == LP_CUPTI_NOT_COMPATIBLE && lp_cupti_can_turn(taken)) {
        api->unsubscribe(lp_cupti.subscriber);
        if (!lp_cupti_turn(taken, why)) {
            return false;
        }
        lp_cupti_miss_nothing();
        lp_cupti.calls = options->calls;
        status = enable(options, &call);
    }
    if (status == LP_CUPTI_OK) {
        return true;
    }
    api->unsubscribe(lp_cupti.subscriber);
    return lp_cupti_failed(why, call,
                           *taken ? LP_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                                  : status);
}

static bool
open_session(const lp_gpu_host *host, const lp_gpu_options *options,
             char why[LP_GPU_WHY])
{
    char reason[LP_GPU_WHY];
    bool taken = false;

    lp_cupti.host = *host;
    lp_cupti.opened = lp_clock_monotonic();
    __atomic_store_n(&lp_cupti.migrations, LP_CUPTI_MIGRATIONS_OFF,
                     __ATOMIC_RELEASE);
    why[0] = '\0';
    if (!lp_cuda_driver_open(&lp_cupti.cuda, options->driver, why,
                             LP_GPU_WHY)) {
        return false;
    }
    /* A second copy of CUPTI would disturb another tool that uses one. */
    for (const char *const *name = options->libraries; *name != NULL && !taken;
         name++) {
        lp_cupti_miss_nothing();
        lp_cupti.calls = options->calls;
        lp_cupti.memory = options->memory;
        /* Callbacks may come as soon as it is subscribed. */
        __atomic_store_n(&lp_cupti.state, LP_CUPTI_OPEN, __ATOMIC_RELEASE);
        if (load(*name, reason) && subscribe(options, &taken, reason)) {
            lp_cupti_add_current_context();
            lp_cupti_describe_subscription(why);
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

/* Only at the process's exit, after the last flush: the kinds remain enabled,
 * because CUPTI 13.0 hangs in disabling that of kernels. */
static void
close_session(void)
{
    if (lp_cupti_is_forked()) {
        lp_child_exit_watch();
    }
    if (!lp_cupti_is_open()) {
        return;
    }
    __atomic_store_n(&lp_cupti.state, LP_CUPTI_CLOSED, __ATOMIC_SEQ_CST);
    if (lp_cupti_join_is_settled() && lp_cupti_reading_is_done()) {
        lp_cupti.api.unsubscribe(lp_cupti.subscriber);
    }
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

static void
notes(lp_gpu_say *say, void *context)
{
    static bool (*const describe_one[])(char *) = {
        lp_cupti_describe_graphs, lp_cupti_describe_migrations,
        lp_cupti_describe_join, lp_cupti_describe_old_client,
        lp_cupti_describe_clock};
    char text[LP_GPU_WHY];

    for (size_t i = 0; i < sizeof(describe_one) / sizeof(describe_one[0]);
         i++) {
        if (describe_one[i](text)) {
            say(context, text);
        }
    }
    lp_cupti_describe_missing(say, context);
}

static lp_gpu_other_tools
other_tools(void)
{
    return (lp_gpu_other_tools){
        .buffers = __atomic_load_n(&lp_cupti.foreign, __ATOMIC_RELAXED),
        .taken = __atomic_load_n(&lp_cupti.taken, __ATOMIC_RELAXED),
    };
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
    .deliver = lp_cupti_deliver,
    .close = close_session,
    .version = version,
    .dropped = dropped,
    .other_tools = other_tools,
    .call_name = call_name,
    .describe = describe,
    .notes = notes,
};
