/* Calls of the CUDA API at the time they are made: which call launches work,
 * and which waits for the device.
 *
 * Callbacks are of the driver's calls, because all others end there: those of
 * the runtime of any version, of libraries, and of compilers that use the
 * driver directly.
 */
#include <errno.h>
#include <string.h>

#include "gpu/cupti_backend.h"

typedef enum call_class {
    OTHER = 0,
    LAUNCH,     /* one record or more */
    COPY,       /* the same, and the thread is blocked */
    COPY_ASYNC, /* the same, if memory is pageable */
    MAY_LAUNCH, /* no record on most devices */
    SYNC,       /* the thread is blocked */
    FREE,       /* the same until earlier work ends; a record as for ALLOC */
    ALLOC,      /* a record if memory is recorded */
    START,      /* collection is resumed, */
    STOP,       /* or paused */
    LOAD,       /* modules are loaded, or a context is created */
    CAPTURE,    /* capture of a graph begins, */
    CAPTURED    /* or ends */
} call_class;

/* CUpti_driver_api_trace_cbid: never renumbered, only added to. */
static const uint16_t launches[] = {
    115, 116, 117, /* cuLaunch, cuLaunchGrid, cuLaunchGridAsync */
    307, 442,      /* cuLaunchKernel; the second of a pair here and below is
                    * for per-thread default streams: _ptsz, _ptds */
    477, 478,      /* cuLaunchCooperativeKernel */
    480,           /* cuLaunchCooperativeKernelMultiDevice */
    652, 653,      /* cuLaunchKernelEx */
};

static const uint16_t graph_launches[] = {514, 515}; /* cuGraphLaunch */

static const uint16_t memsets[] = {
    71,  73,  75,  77,  79,  81,  /* cuMemset*, version 1 */
    216, 218, 220, 222, 224, 226, /* cuMemset*Async */
    249, 250, 251, 252, 253, 254, /* cuMemset*_v2 */
    411, 412, 413, 414, 415, 416, 428, 429, 430, 431, 432, 433,
};

static const uint16_t copies[] = {
    43,  45,  47,  49,  51,  53,  54,  55,  56,  57,  58,       /* version 1 */
    248, 276, 278, 280, 282, 284, 285, 286, 287, 288, 290, 292, /* _v2 */
    305, 318, 320, /* cuMemcpy, Peer, 3DPeer */
    397, 398, 399, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410,
};

static const uint16_t async_copies[] = {
    60,  62,  64,  66,  67,  68,  69,  /* version 1 */
    277, 279, 281, 283, 289, 291, 293, /* _v2 */
    306, 319, 321,                     /* cuMemcpyAsync, Peer, 3DPeer */
    418, 419, 420, 421, 422, 423, 424, 425, 426,
    427, 776, 777, 778, 779, 796, 797, 798, 799, /* cuMemcpy(3D)BatchAsync */
    837, 838, 839, 840, /* cuMemcpy(3D)WithAttributesAsync, since 13.1 */
};

/* Device work by other means than kernels, copies and memsets. */
static const uint16_t may_launch[] = {
    467, 468, 716, 717, /* cuMemPrefetchAsync */
    761, 762,           /* cuMemBatchDecompressAsync, since 12.6 */
    784, 785, 791, 792, /* cuMemPrefetchBatchAsync, DiscardAndPrefetch */
};

static const uint16_t syncs[] = {
    17,  800, /* cuCtxSynchronize */
    121,      /* cuEventSynchronize */
    126, 440, /* cuStreamSynchronize */
};

/* They wait until the work that was launched before them is done. */
static const uint16_t frees[] = {
    33,  245,           /* cuMemFree */
    38,  302,           /* cuMemFreeHost, cuMemHostUnregister */
    89,  349,           /* cuArrayDestroy, cuMipmappedArrayDestroy */
    22,  680,           /* cuModuleUnload, cuLibraryUnload */
    11,  322,           /* cuCtxDestroy */
    387, 389, 544, 545, /* cuDevicePrimaryCtxRelease, Reset */
};

/* Those of another context or device than the current one, which is their
 * first parameter; they may destroy contexts. */
static const uint16_t of_context[] = {11, 322};
static const uint16_t of_device[] = {387, 389, 544, 545};

static const uint16_t allocations[] = {
    29,  31,                      /* cuMemAlloc, AllocPitch */
    37,  39,  271, 294,           /* page-locked memory */
    243, 244,                     /* _v2 */
    371,                          /* cuMemAllocManaged */
    598, 599, 600, 601, 611, 612, /* cuMemAllocAsync, FreeAsync, FromPool */
};

/* Copies that are never between two devices. */
static const uint16_t host_copies[] = {
    43,  45,  53,  54,  60,  62,  66,  67,  /* version 1 */
    276, 277, 278, 279, 282, 283, 292, 293, /* _v2 */
    397, 398, 402, 403, 419, 420, 421, 422,
};

/* Launches and copies that may have many records of one id. */
static const uint16_t many[] = {
    480, 514, 515,                          /* a kernel a device; a graph */
    776, 777, 778, 779, 796, 797, 798, 799, /* batches of copies */
};

/* Copies and memsets by the place of their number of bytes or elements in
 * their parameters, in words of 8 bytes; the last list is of areas, with the
 * height in the next place.  Work of 0 bytes succeeds and has no record. */
static const uint16_t bytes_2[] = {
    216, 218, 220, 249, 250, 251, 411, 412, 413, 428, 429, 430, /* cuMemset */
    276, 277, 278, 279, 280, 281, 397, 398, 399, 421, 422, 423, /* HtoD, ... */
    305, 306, 408, 418, 837, 838, /* cuMemcpy(WithAttributes)(Async) */
};
static const uint16_t bytes_3[] = {
    282, 283, 284, 285, 292, 293, /* from or to an array */
    400, 401, 402, 403, 419, 420,
};
static const uint16_t bytes_4[] = {
    286, 404,           /* cuMemcpyAtoA */
    318, 319, 409, 426, /* cuMemcpyPeer(Async) */
};
static const uint16_t area_3[] = {
    222, 224, 226, 252, 253, 254,
    414, 415, 416, 431, 432, 433, /* cuMemsetD2 */
};

/* What a program loads explicitly, or the runtime for it; launches and calls
 * that free load, too. */
static const uint16_t loads[] = {
    10,  235, 645, 757, /* cuCtxCreate */
    18,  19,  20,  21,  /* cuModuleLoad */
    678, 679,           /* cuLibraryLoad */
    386, 23,            /* cuDevicePrimaryCtxRetain, cuModuleGetFunction */
    682, 683,           /* cuLibraryGetModule, cuKernelGetFunction */
    742,                /* cuFuncLoad */
};

static const uint16_t starts[] = {308}; /* cuProfilerStart */
static const uint16_t stops[] = {309};
/* cuStreamBeginCapture, its _v2 and -ToGraph, cuStreamBeginRecaptureToGraph;
 * cuStreamEndCapture */
static const uint16_t captures[] = {495, 496, 539, 540, 720, 721, 846, 847};
static const uint16_t captured[] = {497, 498};

enum { CALLS = 1024 };

typedef enum call_target { CURRENT = 0, CONTEXT, DEVICE } call_target;

#define LIST(ids) ids, sizeof(ids) / sizeof(ids[0])

static const struct {
    call_class class;
    const uint16_t *ids;
    size_t n;
} lists[] = {
    {LAUNCH, LIST(launches)},   {COPY, LIST(copies)},
    {SYNC, LIST(syncs)},        {COPY_ASYNC, LIST(async_copies)},
    {FREE, LIST(frees)},        {MAY_LAUNCH, LIST(may_launch)},
    {START, LIST(starts)},      {STOP, LIST(stops)},
    {ALLOC, LIST(allocations)}, {CAPTURE, LIST(captures)},
    {CAPTURED, LIST(captured)}, {LAUNCH, LIST(graph_launches)},
    {LAUNCH, LIST(memsets)},    {LOAD, LIST(loads)},
};

enum { AREA = 128 };

static const struct {
    uint8_t place; /* and AREA */
    const uint16_t *ids;
    size_t n;
} sizes[] = {
    {2, LIST(bytes_2)},
    {3, LIST(bytes_3)},
    {4, LIST(bytes_4)},
    {3 | AREA, LIST(area_3)},
};

/* Whether a call that launches work has a record: not if CUPTI refuses those
 * of its kind, and maybe if the kind is not known. */
typedef enum has_record { CERTAINLY = 0, MAYBE, NO } has_record;

static uint8_t class_of[CALLS];  /* by the id of a driver call */
static bool has_many[CALLS];     /* the same: may have many records */
static uint8_t size_of[CALLS];   /* the same: place of the size, or 0 */
static uint8_t record_of[CALLS]; /* the same: has_record */
static uint8_t target_of[CALLS]; /* the same: call_target */

/* Data that CUPTI costs by refusing a callback of this class. */
static const lp_cupti_missing missing_of[] = {
    [LAUNCH] = LP_CUPTI_NO_LAUNCHES,     [COPY] = LP_CUPTI_NO_LAUNCHES,
    [COPY_ASYNC] = LP_CUPTI_NO_LAUNCHES, [MAY_LAUNCH] = LP_CUPTI_NO_LAUNCHES,
    [SYNC] = LP_CUPTI_NO_WAITS,          [FREE] = LP_CUPTI_NO_WAITS,
    [ALLOC] = LP_CUPTI_NO_MEMORY_LINES,  [START] = LP_CUPTI_NO_PAUSES,
    [STOP] = LP_CUPTI_NO_PAUSES,         [LOAD] = LP_CUPTI_NO_LOADS,
    [CAPTURE] = LP_CUPTI_NO_CAPTURES,    [CAPTURED] = LP_CUPTI_NO_CAPTURES,
};

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

/* Enable callbacks of all calls, or of none but those enabled later. */
static void
enable_all_calls(void)
{
    static const uint32_t domains[] = {LP_CUPTI_DOMAIN_DRIVER_API,
                                       LP_CUPTI_DOMAIN_RUNTIME_API};
    const lp_cupti_functions *api = &lp_cupti.api;
    size_t n = sizeof(domains) / sizeof(domains[0]), i = 0;
    int status = LP_CUPTI_OK;

    while (i < n && status == LP_CUPTI_OK) {
        status = api->enable_domain(1, lp_cupti.subscriber, domains[i]);
        i += status == LP_CUPTI_OK;
    }
    lp_cupti.calls = i == n;
    if (!lp_cupti.calls) {
        lp_cupti_miss(LP_CUPTI_NO_CALLS, "cuptiEnableDomain", status);
    }
    while (i < n && i-- > 0) {
        api->enable_domain(0, lp_cupti.subscriber, domains[i]);
    }
}

/* CUPTI refuses the callback of a call of the driver.  One that is newer than
 * the library is no loss: the driver is as old, and has no such call. */
static void
miss_call(call_class class, int status)
{
    static const char function[] = "cuptiEnableCallback";

    if (status == LP_CUPTI_INVALID_PARAMETER || lp_cupti.calls) {
        return; /* (the whole domain is enabled) */
    }
    lp_cupti_miss(missing_of[class], function, status);
    if (class == FREE && lp_cupti.memory) {
        lp_cupti_miss(LP_CUPTI_NO_MEMORY_LINES, function, status);
    }
}

static int
enable_resource(uint32_t id)
{
    return lp_cupti.api.enable_callback(1, lp_cupti.subscriber,
                                        LP_CUPTI_DOMAIN_RESOURCE, id);
}

/* Contexts are also found by their launches. */
static void
enable_resources(void)
{
    int ready = enable_resource(LP_CUPTI_RESOURCE_CU_INIT_FINISHED);
    int created = enable_resource(LP_CUPTI_RESOURCE_CONTEXT_CREATED);
    int node = enable_resource(LP_CUPTI_RESOURCE_GRAPHNODE_CREATED);
    int cloned = enable_resource(LP_CUPTI_RESOURCE_GRAPHNODE_CLONED);
    int module = enable_resource(LP_CUPTI_RESOURCE_MODULE_LOADED);
    int load = created != LP_CUPTI_OK ? created : module;

    lp_cupti.init_status = created == LP_CUPTI_OK ? LP_CUPTI_OK : ready;
    lp_cupti.ends_unknown =
        enable_resource(LP_CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING) !=
        LP_CUPTI_OK;
    if (load != LP_CUPTI_OK) {
        lp_cupti_miss(LP_CUPTI_NO_LOADS, "cuptiEnableCallback", load);
    }
    lp_cupti.nodes_unknown = node != LP_CUPTI_OK;
    if (node != LP_CUPTI_OK) {
        lp_cupti_miss(LP_CUPTI_NO_ORIGINS, "cuptiEnableCallback", node);
    }
    if (cloned != LP_CUPTI_OK && lp_cupti.version < LP_RELEASE_13_4) {
        lp_cupti_miss(LP_CUPTI_NO_ORIGINS, "cuptiEnableCallback", cloned);
    }
}

int
lp_cupti_enable_calls(void)
{
    const lp_cupti_functions *api = &lp_cupti.api;
    void *subscriber = lp_cupti.subscriber;
    size_t enabled = 0;
    int status = 0;

    if (lp_cupti.calls) {
        enable_all_calls();
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (lists[i].class == ALLOC && !lp_cupti.memory) {
            continue;
        }
        for (size_t k = 0; k < lists[i].n; k++) {
            uint16_t id = lists[i].ids[k];

            class_of[id] = (uint8_t)lists[i].class;
            /* CUPTI rejects a call that is newer than the library. */
            status = api->enable_callback(1, subscriber,
                                          LP_CUPTI_DOMAIN_DRIVER_API, id);
            enabled += status == LP_CUPTI_OK;
            if (status != LP_CUPTI_OK) {
                miss_call(lists[i].class, status);
            }
        }
    }
    if (enabled == 0) {
        return status;
    }
    for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
        has_many[many[i]] = true;
    }
    for (size_t i = 0; i < sizeof(of_context) / sizeof(of_context[0]); i++) {
        target_of[of_context[i]] = CONTEXT;
    }
    for (size_t i = 0; i < sizeof(of_device) / sizeof(of_device[0]); i++) {
        target_of[of_device[i]] = DEVICE;
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t k = 0; k < sizes[i].n; k++) {
            size_of[sizes[i].ids[k]] = sizes[i].place;
        }
    }
    enable_resources();
    return LP_CUPTI_OK;
}

static void
expect(const uint16_t *ids, size_t n, has_record expected)
{
    for (size_t i = 0; i < n; i++) {
        record_of[ids[i]] = (uint8_t)expected;
    }
}

void
lp_cupti_expect_records(bool whole_graphs)
{
    bool no_copies = lp_cupti_misses(LP_CUPTI_NO_COPIES);
    bool no_peers = lp_cupti_misses(LP_CUPTI_NO_PEER_COPIES);
    bool no_memsets = lp_cupti_misses(LP_CUPTI_NO_MEMSETS);
    has_record copied = no_copies && no_peers   ? NO
                        : no_copies || no_peers ? MAYBE
                                                : CERTAINLY;
    bool all_work = !no_copies && !no_peers && !no_memsets;
    bool whole = whole_graphs && !lp_cupti_misses(LP_CUPTI_NO_WHOLE_GRAPHS);
    has_record launched = lp_cupti_misses(LP_CUPTI_NO_GRAPHS) ? NO
                          : whole || all_work                 ? CERTAINLY
                                                              : MAYBE;

    /* Which kind the record of a copy has is up to the addresses. */
    expect(LIST(copies), copied);
    expect(LIST(async_copies), copied);
    expect(LIST(host_copies), no_copies ? NO : CERTAINLY);
    expect(LIST(memsets), no_memsets ? NO : CERTAINLY);
    expect(LIST(graph_launches), launched);
}

#undef LIST

static bool
launches_work(call_class class)
{
    return class == LAUNCH || class == COPY || class == COPY_ASYNC;
}

/* True for a copy or memset of 0 bytes. */
static bool
is_empty(uint32_t id, const lp_cupti_call *call)
{
    const uint64_t *words = call->parameters;
    uint32_t place = size_of[id] & (AREA - 1);

    if (place == 0 || words == NULL) {
        return false;
    }
    return words[place] == 0 ||
           ((size_of[id] & AREA) != 0 && words[place + 1] == 0);
}

static bool
is_timed(call_class class)
{
    return class == COPY || class == COPY_ASYNC || class == SYNC ||
           class == FREE;
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

    if (parameters != NULL && target_of[id] == CONTEXT) {
        context = *(void *const *)parameters;
        if (context != NULL && context != call->context) {
            free_call.context = lp_cupti_context_id(context);
        }
    }
    if (parameters != NULL && target_of[id] == DEVICE) {
        device = *(const uint32_t *)parameters;
        free_call.device = device < LP_DEVICES ? device : LP_ANY_DEVICE;
        free_call.context = 0;
    }
    return lp_free_calls_begin(&host->activity->frees, &free_call);
}

static void
begin_call(uint32_t id, const lp_cupti_call *call, call_class class,
           bool runtime)
{
    const lp_gpu_host *host = &lp_cupti.host;
    bool has_time = launches_work(class) || class == MAY_LAUNCH ||
                    class == LOAD || is_timed(class);
    lp_ticks now = has_time ? host->now() : 0;

    here.began = now;
    here.loaded = false;

    if (launches_work(class) || class == MAY_LAUNCH || class == ALLOC ||
        (class == FREE && lp_cupti.memory) || lp_cupti.calls) {
        bool expected = launches_work(class) && record_of[id] == CERTAINLY;
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
        *call->scratch = class == FREE ? begin_free(id, call, now) : now;
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
end_wait(const lp_cupti_call *call, call_class class, bool loaded)
{
    const lp_gpu_host *host = &lp_cupti.host;
    lp_ticks now = host->now(), ticks = now - *call->scratch;
    uint32_t path;

    if (class == FREE) {
        lp_activity_end_free(host->activity, *call->scratch, now, loaded);
        return;
    }
    path = host->path();
    if (class == COPY_ASYNC) {
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
end_call(uint32_t id, const lp_cupti_call *call, call_class class)
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
        if ((class == LAUNCH || class == MAY_LAUNCH || class == LOAD) &&
            here.began != 0) {
            lp_activity_add_load(host->activity, host->path(),
                                 host->now() - here.began);
        }
    }
    here.began = 0;
    if ((class == START || class == STOP) && status == 0) {
        host->collect(class == START);
    }
    if (class == CAPTURE && status == 0) {
        __atomic_fetch_add(&lp_cupti.captures, 1, __ATOMIC_ACQ_REL);
    }
    if (class == CAPTURED && (status == 0 || is_capture_error(status))) {
        end_capture();
    }
}

/* True for a call whose records are not all expected. */
static bool
may_have_more(uint32_t id)
{
    return has_many[id] || record_of[id] == MAYBE || lp_cupti.nodes_unknown;
}

static void
on_call(uint32_t domain, uint32_t id, const lp_cupti_call *call)
{
    bool runtime = domain == LP_CUPTI_DOMAIN_RUNTIME_API;
    call_class class =
        runtime || id >= CALLS ? OTHER : (call_class)class_of[id];

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
        if (LP_UNLIKELY(class == FREE && lp_cupti.ends_unknown &&
                        target_of[id] != CURRENT)) {
            lp_cupti_drop_all_contexts();
        }
    }
    else {
        end_call(id, call, class);
        if ((launches_work(class) && may_have_more(id)) ||
            ((class == ALLOC || class == FREE) && lp_cupti.memory)) {
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
