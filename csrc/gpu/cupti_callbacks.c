/* Calls of the CUDA API at the time they are made: which call launches work,
 * and which waits for the device.
 */
#include <errno.h>
#include <string.h>

#include "gpu/cupti_backend.h"
#include "gpu/cupti_calls.h"

static _Thread_local struct {
    bool internal;         /* calls are lineprof's own */
    uint32_t nodes;        /* graph nodes created by this thread */
    uint32_t nodes_before; /* and before the current call */
    uint32_t timed;        /* calls in progress whose start time is known */
    lp_ticks began;        /* start of the current call; 0 if unknown */
    bool loaded;           /* it has loaded a module or created a context */
    uint32_t runtime;      /* id of the runtime's call in progress, or 0; only
                              if records have the ids of these */
} here;

void
lp_cupti_internal_calls(bool internal)
{
    here.internal = internal;
}

static bool
launches_work(lp_call_class class)
{
    return class == LP_CALL_LAUNCH || class == LP_CALL_COPY ||
           class == LP_CALL_COPY_ASYNC;
}

/* True for a copy or memset of 0 bytes. */
static bool
is_empty(uint32_t id, const lp_cupti_call *call)
{
    const uint64_t *words = call->parameters;
    uint32_t place = lp_cupti_calls[id].size & (LP_SIZE_OF_AREA - 1);

    if (place == 0 || words == NULL) {
        return false;
    }
    return words[place] == 0 ||
           ((lp_cupti_calls[id].size & LP_SIZE_OF_AREA) != 0 &&
            words[place + 1] == 0);
}

static bool
is_timed(lp_call_class class)
{
    return class == LP_CALL_COPY || class == LP_CALL_COPY_ASYNC ||
           class == LP_CALL_SYNC || class == LP_CALL_FREE;
}

enum { GRAPH_LAUNCH = 514, GRAPH_LAUNCH_PTSZ = 515 };

/* The id that a driver call's records have. */
static uint32_t
id_of(const lp_cupti_call *call)
{
    return LP_UNLIKELY(here.runtime != 0) ? here.runtime : call->correlation;
}

/* The outermost call of the runtime begins or ends. */
static void
on_runtime_call(const lp_cupti_call *call)
{
    if (call->site == LP_CUPTI_API_ENTER) {
        here.runtime = here.runtime != 0 ? here.runtime : call->correlation;
    }
    else if (here.runtime == call->correlation) {
        here.runtime = 0;
    }
}

/* A call that frees begins: it waits for the work of its context or device. */
static uint64_t
begin_free(uint32_t id, const lp_cupti_call *call, lp_ticks now)
{
    const lp_gpu_host *host = &lp_cupti.host;
    const void *parameters = call->parameters;
    lp_free_call free_call = {.start = now,
                              .start_ns = lp_clock_monotonic(),
                              .path = host->path(),
                              .context = call->context_id,
                              .device = LP_ANY_DEVICE};
    const void *context;
    uint32_t device;

    if (parameters != NULL && lp_cupti_calls[id].target == LP_TARGET_CONTEXT) {
        context = *(void *const *)parameters;
        if (context != NULL && context != call->context) {
            free_call.context = lp_cupti_context_id(context);
        }
    }
    if (parameters != NULL && lp_cupti_calls[id].target == LP_TARGET_DEVICE) {
        device = *(const uint32_t *)parameters;
        free_call.device = device < LP_DEVICES ? device : LP_ANY_DEVICE;
        free_call.context = 0;
    }
    return lp_free_calls_begin(&host->activity->frees, &free_call);
}

static void
begin_call(uint32_t id, const lp_cupti_call *call, lp_call_class class,
           bool runtime)
{
    const lp_gpu_host *host = &lp_cupti.host;
    bool has_time = launches_work(class) || class == LP_CALL_MAY_LAUNCH ||
                    class == LP_CALL_LOAD || is_timed(class);
    lp_ticks now = has_time ? host->now() : 0;

    here.began = now;
    here.loaded = false;

    if (launches_work(class) || class == LP_CALL_MAY_LAUNCH ||
        class == LP_CALL_ALLOC || (class == LP_CALL_FREE && lp_cupti.memory) ||
        lp_cupti.calls) {
        bool expected = launches_work(class) &&
                        lp_cupti_calls[id].record == LP_RECORD_CERTAIN;
        uint32_t flags = expected ? LP_CORRELATION_EXPECTED : 0;

        if (LP_UNLIKELY(here.runtime != 0) && lp_cupti.calls) {
            /* Records of calls have ids of their own. */
            lp_activity_begin_call(host->activity, call->correlation,
                                   host->path(),
                                   runtime ? LP_CORRELATION_RUNTIME : 0);
        }
        if (!runtime || here.runtime == 0) {
            lp_activity_begin_launch(host->activity, id_of(call), host->path(),
                                     runtime ? LP_CORRELATION_RUNTIME : flags,
                                     now);
        }
        here.nodes_before = here.nodes;
    }
    if (is_timed(class) && call->scratch != NULL) {
        here.timed++;
        *call->scratch =
            class == LP_CALL_FREE ? begin_free(id, call, now) : now;
    }
}

/* True for CUDA_ERROR_STREAM_CAPTURE_INVALIDATED to _ISOLATION, with which the
 * capture has also ended. */
static bool
is_capture_error(int status)
{
    return status >= 901 && status <= 905;
}

/* Never negative: a capture may have begun before the session. */
static void
end_capture(void)
{
    uint32_t n = __atomic_load_n(&lp_cupti.captures, __ATOMIC_ACQUIRE);

    while (n != 0 &&
           !__atomic_compare_exchange_n(&lp_cupti.captures, &n, n - 1, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
}

static void
end_wait(const lp_cupti_call *call, lp_call_class class, bool loaded)
{
    const lp_gpu_host *host = &lp_cupti.host;
    lp_ticks now = host->now(), ticks = now - *call->scratch;
    uint32_t path;

    if (class == LP_CALL_FREE) {
        lp_activity_end_free(host->activity, *call->scratch, now, loaded);
        return;
    }
    path = host->path();
    if (class == LP_CALL_COPY_ASYNC) {
        lp_activity_add_copy_wait(host->activity, id_of(call), ticks);
    }
    else {
        lp_activity_add_wait(host->activity, path, ticks);
    }
    lp_activity_log_wait(host->activity, path, *call->scratch, ticks);
}

/* True if the current call may be captured, and CUPTI does not tell. */
static bool
may_be_captured(void)
{
    return lp_cupti.nodes_unknown &&
           (__atomic_load_n(&lp_cupti.captures, __ATOMIC_ACQUIRE) != 0 ||
            lp_cupti_misses(LP_CUPTI_NO_CAPTURES));
}

/* A graph was launched: those that it launches belong to the same lines. */
static void
on_graph_launch(const lp_cupti_call *call)
{
    const uint64_t *words = call->parameters;
    void *graph;
    uint32_t id = 0;

    if (words == NULL) {
        return;
    }
    memcpy(&graph, words, sizeof(graph));
    if (graph != NULL &&
        lp_cupti.api.get_graph_exec_id(graph, &id) == LP_CUPTI_OK) {
        lp_activity_launch_graph(lp_cupti.host.activity, id,
                                 lp_cupti.host.path());
    }
}

static void
end_call(uint32_t id, const lp_cupti_call *call, lp_call_class class)
{
    const lp_gpu_host *host = &lp_cupti.host;
    int status = call->result != NULL ? *(const int *)call->result : 0;
    bool loaded = here.loaded;

    /* A failed call launches no work, and its context may be gone; during
     * capture a call creates nodes. */
    if (launches_work(class)) {
        bool none = status != 0 || here.nodes != here.nodes_before ||
                    is_empty(id, call);

        if (none || LP_UNLIKELY(may_be_captured())) {
            lp_correlation_unexpect(&host->activity->correlations,
                                    id_of(call));
        }
        if (!none) {
            lp_cupti_add_context(call->context, call->context_id);
            if (lp_cupti.device_graphs &&
                (id == GRAPH_LAUNCH || id == GRAPH_LAUNCH_PTSZ)) {
                on_graph_launch(call);
            }
        }
    }
    /* (A call that began before the session has no start time.) */
    if (is_timed(class) && call->scratch != NULL && here.timed != 0) {
        here.timed--;
        end_wait(call, class, loaded);
    }
    if (LP_UNLIKELY(loaded)) {
        here.loaded = false;
        /* (Other calls are waits.) */
        if ((class == LP_CALL_LAUNCH || class == LP_CALL_MAY_LAUNCH ||
             class == LP_CALL_LOAD) &&
            here.began != 0) {
            lp_activity_add_load(host->activity, host->path(),
                                 host->now() - here.began);
        }
    }
    here.began = 0;
    if ((class == LP_CALL_START || class == LP_CALL_STOP) && status == 0) {
        host->collect(class == LP_CALL_START);
    }
    if (class == LP_CALL_CAPTURE && status == 0) {
        __atomic_fetch_add(&lp_cupti.captures, 1, __ATOMIC_ACQ_REL);
    }
    if (class == LP_CALL_CAPTURED &&
        (status == 0 || is_capture_error(status))) {
        end_capture();
    }
}

/* True for a call whose records are not all expected. */
static bool
may_have_more(uint32_t id)
{
    return lp_cupti_calls[id].has_many ||
           lp_cupti_calls[id].record == LP_RECORD_MAYBE ||
           lp_cupti.nodes_unknown;
}

static void
on_call(uint32_t domain, uint32_t id, const lp_cupti_call *call)
{
    bool runtime = domain == LP_CUPTI_DOMAIN_RUNTIME_API;
    lp_call_class class = runtime || id >= LP_CUPTI_CALLS
                              ? LP_CALL_OTHER
                              : (lp_call_class)lp_cupti_calls[id].class;

    if (here.internal) {
        if (lp_cupti.calls && call->site == LP_CUPTI_API_ENTER) {
            lp_correlation_insert(&lp_cupti.host.activity->correlations,
                                  call->correlation, LP_NO_PATH,
                                  LP_CORRELATION_IGNORED);
        }
        return;
    }
    if (runtime && __atomic_load_n(&lp_cupti.by_runtime, __ATOMIC_ACQUIRE)) {
        on_runtime_call(call);
    }
    if (call->site == LP_CUPTI_API_ENTER) {
        begin_call(id, call, class, runtime);
        /* (Once it is known for whose work a call that frees waits.) */
        if (LP_UNLIKELY(class == LP_CALL_FREE && lp_cupti.ends_unknown &&
                        lp_cupti_calls[id].target != LP_TARGET_CURRENT)) {
            lp_cupti_drop_all_contexts();
        }
    }
    else {
        end_call(id, call, class);
        if ((launches_work(class) && may_have_more(id)) ||
            ((class == LP_CALL_ALLOC || class == LP_CALL_FREE) &&
             lp_cupti.memory)) {
            __atomic_store_n(&lp_cupti.many, true, __ATOMIC_RELEASE);
        }
    }
}

/* A graph node was captured, or copied when the graph was instantiated: its
 * work is charged to the path of its capture. */
static void
on_graph_node(uint32_t id, const lp_cupti_graph_node *data)
{
    const lp_gpu_host *host = &lp_cupti.host;
    uint64_t node = 0, original = 0;
    uint32_t path;
    int status;

    here.nodes += id == LP_CUPTI_RESOURCE_GRAPHNODE_CREATED;
    __atomic_store_n(&lp_cupti.captured, true, __ATOMIC_RELEASE);
    if (lp_cupti.api.get_graph_node_id == NULL) {
        return;
    }
    status = lp_cupti.api.get_graph_node_id(data->node, &node);
    if (status != LP_CUPTI_OK) {
        lp_cupti_miss(LP_CUPTI_NO_ORIGINS, "cuptiGetGraphNodeId", status);
        return;
    }
    if (id == LP_CUPTI_RESOURCE_GRAPHNODE_CREATED) {
        path = host->path();
    }
    else if (lp_cupti.api.get_graph_node_id(data->original, &original) !=
                 LP_CUPTI_OK ||
             !lp_graph_nodes_find(&host->activity->graph_nodes, original,
                                  &path)) {
        return;
    }
    lp_graph_nodes_insert(&host->activity->graph_nodes, node, path);
}

static void
on_resource(uint32_t id, const lp_cupti_resource *resource)
{
    if (id == LP_CUPTI_RESOURCE_MODULE_LOADED) {
        here.loaded = true;
    }
    else if (id == LP_CUPTI_RESOURCE_CU_INIT_FINISHED) {
        lp_cupti_cuda_is_ready();
    }
    else if (id == LP_CUPTI_RESOURCE_CONTEXT_CREATED) {
        here.loaded = true;
        lp_cupti_add_context(resource->context, 0);
        lp_cupti_cuda_is_ready();
    }
    else if (id == LP_CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING) {
        lp_cupti_drop_context(resource->context);
    }
    else if (resource->descriptor != NULL) {
        on_graph_node(id, resource->descriptor);
    }
}

void
lp_cupti_on_callback(void *unused, uint32_t domain, uint32_t id,
                     const void *data)
{
    int before = errno; /* of the program, which makes this call */

    (void)unused;
    if (!lp_cupti_is_open() || data == NULL) {
        return;
    }
    if (domain == LP_CUPTI_DOMAIN_RESOURCE) {
        on_resource(id, data);
    }
    else if (domain == LP_CUPTI_DOMAIN_STATE) {
        lp_cupti_on_state(data);
    }
    else if (domain == LP_CUPTI_DOMAIN_DRIVER_API ||
             domain == LP_CUPTI_DOMAIN_RUNTIME_API) {
        on_call(domain, id, data);
    }
    errno = before;
}
