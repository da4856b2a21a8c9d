/* The calls of CUDA's driver that lineprof knows: what each of them does, and
 * the callbacks of all of them.
 *
 * Other calls end in these: those of the runtime of any version, of libraries,
 * and of compilers that use the driver directly.
 */
#include "gpu/cupti_calls.h"

#include "gpu/cupti_backend.h"

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

#define LIST(ids) ids, sizeof(ids) / sizeof(ids[0])

static const struct {
    lp_call_class class;
    const uint16_t *ids;
    size_t n;
} lists[] = {
    {LP_CALL_LAUNCH, LIST(launches)},
    {LP_CALL_COPY, LIST(copies)},
    {LP_CALL_SYNC, LIST(syncs)},
    {LP_CALL_COPY_ASYNC, LIST(async_copies)},
    {LP_CALL_FREE, LIST(frees)},
    {LP_CALL_MAY_LAUNCH, LIST(may_launch)},
    {LP_CALL_START, LIST(starts)},
    {LP_CALL_STOP, LIST(stops)},
    {LP_CALL_ALLOC, LIST(allocations)},
    {LP_CALL_CAPTURE, LIST(captures)},
    {LP_CALL_CAPTURED, LIST(captured)},
    {LP_CALL_LAUNCH, LIST(graph_launches)},
    {LP_CALL_LAUNCH, LIST(memsets)},
    {LP_CALL_LOAD, LIST(loads)},
};

static const struct {
    uint8_t place; /* and LP_SIZE_OF_AREA */
    const uint16_t *ids;
    size_t n;
} sizes[] = {
    {2, LIST(bytes_2)},
    {3, LIST(bytes_3)},
    {4, LIST(bytes_4)},
    {3 | LP_SIZE_OF_AREA, LIST(area_3)},
};

lp_cupti_call_traits lp_cupti_calls[LP_CUPTI_CALLS];

/* Data that CUPTI costs by refusing a callback of this class. */
static const lp_cupti_missing missing_of[] = {
    [LP_CALL_LAUNCH] = LP_CUPTI_NO_LAUNCHES,
    [LP_CALL_COPY] = LP_CUPTI_NO_LAUNCHES,
    [LP_CALL_COPY_ASYNC] = LP_CUPTI_NO_LAUNCHES,
    [LP_CALL_MAY_LAUNCH] = LP_CUPTI_NO_LAUNCHES,
    [LP_CALL_SYNC] = LP_CUPTI_NO_WAITS,
    [LP_CALL_FREE] = LP_CUPTI_NO_WAITS,
    [LP_CALL_ALLOC] = LP_CUPTI_NO_MEMORY_LINES,
    [LP_CALL_START] = LP_CUPTI_NO_PAUSES,
    [LP_CALL_STOP] = LP_CUPTI_NO_PAUSES,
    [LP_CALL_LOAD] = LP_CUPTI_NO_LOADS,
    [LP_CALL_CAPTURE] = LP_CUPTI_NO_CAPTURES,
    [LP_CALL_CAPTURED] = LP_CUPTI_NO_CAPTURES,
};

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
miss_call(lp_call_class class, int status)
{
    static const char function[] = "cuptiEnableCallback";

    if (status == LP_CUPTI_INVALID_PARAMETER || lp_cupti.calls) {
        return; /* (the whole domain is enabled) */
    }
    lp_cupti_miss(missing_of[class], function, status);
    if (class == LP_CALL_FREE && lp_cupti.memory) {
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
        if (lists[i].class == LP_CALL_ALLOC && !lp_cupti.memory) {
            continue;
        }
        for (size_t k = 0; k < lists[i].n; k++) {
            uint16_t id = lists[i].ids[k];

            lp_cupti_calls[id].class = (uint8_t)lists[i].class;
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
        lp_cupti_calls[many[i]].has_many = true;
    }
    for (size_t i = 0; i < sizeof(of_context) / sizeof(of_context[0]); i++) {
        lp_cupti_calls[of_context[i]].target = LP_TARGET_CONTEXT;
    }
    for (size_t i = 0; i < sizeof(of_device) / sizeof(of_device[0]); i++) {
        lp_cupti_calls[of_device[i]].target = LP_TARGET_DEVICE;
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t k = 0; k < sizes[i].n; k++) {
            lp_cupti_calls[sizes[i].ids[k]].size = sizes[i].place;
        }
    }
    enable_resources();
    return LP_CUPTI_OK;
}

static void
expect(const uint16_t *ids, size_t n, lp_has_record expected)
{
    for (size_t i = 0; i < n; i++) {
        lp_cupti_calls[ids[i]].record = (uint8_t)expected;
    }
}

void
lp_cupti_expect_records(bool whole_graphs)
{
    bool no_copies = lp_cupti_misses(LP_CUPTI_NO_COPIES);
    bool no_peers = lp_cupti_misses(LP_CUPTI_NO_PEER_COPIES);
    bool no_memsets = lp_cupti_misses(LP_CUPTI_NO_MEMSETS);
    lp_has_record copied = no_copies && no_peers   ? LP_RECORD_NO
                           : no_copies || no_peers ? LP_RECORD_MAYBE
                                                   : LP_RECORD_CERTAIN;
    bool all_work = !no_copies && !no_peers && !no_memsets;
    bool whole = whole_graphs && !lp_cupti_misses(LP_CUPTI_NO_WHOLE_GRAPHS);
    lp_has_record launched = lp_cupti_misses(LP_CUPTI_NO_GRAPHS) ? LP_RECORD_NO
                             : whole || all_work ? LP_RECORD_CERTAIN
                                                 : LP_RECORD_MAYBE;

    /* Which kind the record of a copy has is up to the addresses. */
    expect(LIST(copies), copied);
    expect(LIST(async_copies), copied);
    expect(LIST(host_copies), no_copies ? LP_RECORD_NO : LP_RECORD_CERTAIN);
    expect(LIST(memsets), no_memsets ? LP_RECORD_NO : LP_RECORD_CERTAIN);
    expect(LIST(graph_launches), launched);
}
