/* Workload of tests for the devices of the double.
 *
 * Every function is a CUDA call as programs make it: a runtime call that makes
 * a driver call, or only a driver call after fk_through(.., 0).  Each function
 * returns the result of the call, 0 for success.
 */
#include "cuda/fake_cuda.h"

#include <stdlib.h>

enum { /* callback ids of the runtime */
       CUDA_SET_DEVICE = 16,
       CUDA_MALLOC = 20,
       CUDA_FREE = 22,
       CUDA_MEMCPY = 31,
       CUDA_MEMCPY_ASYNC = 41,
       CUDA_MEMSET = 49,
       CUDA_MEMSET_ASYNC = 51,
       CUDA_STREAM_SYNCHRONIZE = 131,
       CUDA_EVENT_SYNCHRONIZE = 137,
       CUDA_MEMCPY_PEER = 160,
       CUDA_MEMCPY_PEER_ASYNC = 161,
       CUDA_DEVICE_SYNCHRONIZE = 165,
       CUDA_PROFILER_START = 171,
       CUDA_PROFILER_STOP = 172,
       CUDA_LAUNCH_KERNEL = 211,
       CUDA_LAUNCH_KERNEL_13 = 505, /* __cudaLaunchKernel */
};

enum { /* callback ids of the driver */
       CU_CTX_SYNCHRONIZE = 17,
       CU_EVENT_SYNCHRONIZE = 121,
       CU_STREAM_SYNCHRONIZE = 126,
       CU_MEMSET_ASYNC = 216, /* cuMemsetD8Async */
       CU_MEM_ALLOC = 243,
       CU_MEM_FREE = 245,
       CU_MEMSET = 249, /* cuMemsetD8_v2 */
       CU_LAUNCH_KERNEL = 307,
       CU_MEMCPY_2D_ASYNC = 289, /* cuMemcpy2DAsync_v2 */
       CU_PROFILER_START = 308,
       CU_PROFILER_STOP = 309,
};

/* By CUpti_ActivityMemcpyKind: the driver's blocking and asynchronous calls.
 */
static const struct {
    uint16_t blocking, other;
} copies[] = {
    [1] = {276, 277},  /* HtoD: cuMemcpyHtoD_v2, ...Async_v2 */
    [2] = {278, 279},  /* DtoH */
    [3] = {292, 293},  /* HtoA */
    [4] = {282, 283},  /* AtoH */
    [5] = {286, 289},  /* AtoA; 2DAsync_v2 */
    [6] = {284, 289},  /* AtoD */
    [7] = {285, 289},  /* DtoA */
    [8] = {280, 281},  /* DtoD */
    [9] = {305, 306},  /* HtoH: cuMemcpy, cuMemcpyAsync */
    [10] = {318, 319}, /* PtoP: cuMemcpyPeer, ...Async */
};

/* By the same: the place of the parameter with the number of bytes, in words.
 */
static const uint8_t places_of_size[] = {0, 2, 2, 3, 3, 4, 3, 3, 2, 2, 4};

enum { PAGEABLE = 1, PINNED = 2, DEVICE = 3 }; /* CUpti_ActivityMemoryKind */

static _Atomic int launch_cbid = CU_LAUNCH_KERNEL;
static _Atomic int runtime_cbid = -1; /* -1: by version; 0: no runtime */

/* Launch by these functions; runtime 0: all calls are only driver calls. */
void
fk_through(int launch, int runtime)
{
    launch_cbid = launch ? launch : CU_LAUNCH_KERNEL;
    runtime_cbid = runtime;
    fk_layered = runtime != 0;
}

static uint32_t
runtime_launch(void)
{
    int chosen = runtime_cbid;
    bool old = fk_driver_version() < 13000;
    return chosen >= 0 ? (uint32_t)chosen
           : old       ? CUDA_LAUNCH_KERNEL
                       : CUDA_LAUNCH_KERNEL_13;
}

/* --- contexts -------------------------------------------------------- */

FK_EXPORT int cuInit(unsigned flags);

/* Initialise CUDA and make the first device's context current. */
int
fk_init(void)
{
    int result = cuInit(0);
    fk_context *context;
    return result ? result : fk_current_or_primary(&context);
}

int
fk_set_device(int device)
{
    fk_api_call call;
    fk_begin(&call, FK_RUNTIME, CUDA_SET_DEVICE, NULL);
    int result = fk_ready("cudaSetDevice");
    if (!result && (device < 0 || device >= (int)fk_devices())) {
        result = CUDA_ERROR_INVALID_DEVICE;
    }
    if (!result) {
        fk_make_current(fk_primary((uint32_t)device));
    }
    return fk_end(&call, result);
}

/* Create a context and make it current. */
int
fk_ctx_create(int device)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 235 /* cuCtxCreate_v2 */, NULL);
    int result = fk_ready("cuCtxCreate_v2");
    fk_context *context = NULL;
    if (!result) {
        context = fk_context_new((uint32_t)device % fk_devices());
        result = fk_push(context);
    }
    fk_end(&call, result);
    return context ? (int)context->uid : 0;
}

int
fk_ctx_destroy(int uid)
{
    fk_api_call call;
    fk_context *context = fk_context_of((uint32_t)uid);
    fk_pass_first((uintptr_t)context);
    fk_begin(&call, FK_DRIVER, 322 /* cuCtxDestroy_v2 */, NULL);
    int result = fk_ready("cuCtxDestroy_v2");
    if (!result && !context) {
        result = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (!result) {
        fk_context_end(context);
        if (fk_current() == context) {
            fk_pop(NULL);
        }
    }
    return fk_end(&call, result);
}

/* --- kernels --------------------------------------------------------- */

static int
launch(fk_work *work, int stream, uint64_t ns)
{
    fk_layers call;
    work->kind = FK_KERNEL;
    int result =
        fk_enter(&call, runtime_launch(), (uint32_t)launch_cbid, work->name);
    if (!result) {
        fk_queue(call.context, fk_stream_of(call.context, stream), work, ns);
    }
    return fk_leave(&call, result);
}

/* Run a kernel of 64 blocks of 256 threads for `ns`. */
int
fk_launch(const char *name, int stream, uint64_t ns)
{
    return fk_launch_config(name, stream, ns, 64, 1, 1, 256, 1, 1, 32, 0, 0);
}

int
fk_launch_config(const char *name, int stream, uint64_t ns, int gx, int gy,
                 int gz, int bx, int by, int bz, int registers,
                 int static_smem, int dynamic_smem)
{
    fk_work work = {.name = fk_intern(name),
                    .grid = {gx, gy, gz},
                    .block = {bx, by, bz},
                    .registers = (uint16_t)registers,
                    .static_smem = (uint32_t)static_smem,
                    .dynamic_smem = (uint32_t)dynamic_smem};
    return launch(&work, stream, ns);
}

/* Make a launch that fails with this error. */
int
fk_launch_failing(const char *name, int stream, int result)
{
    (void)stream;
    fk_layers call;
    fk_enter(&call, runtime_launch(), (uint32_t)launch_cbid, fk_intern(name));
    return fk_leave(&call, result);
}

int
fk_launch_many(const char *name, uint64_t count, uint64_t ns)
{
    const char *kept = fk_intern(name);
    int result = CUDA_SUCCESS;
    for (uint64_t i = 0; i < count && !result; i++) {
        fk_work work = {.name = kept,
                        .grid = {64, 1, 1},
                        .block = {256, 1, 1},
                        .registers = 32};
        result = launch(&work, 0, ns);
    }
    return result;
}

/* --- copies ---------------------------------------------------------- */

/* Copy on the first stream; direction is CUPTI's: 1 HtoD, 2 DtoH, 8 DtoD, ...
 *
 * An asynchronous copy from the device to pageable memory also blocks, as on a
 * real device.
 */
int
fk_memcpy(int direction, uint64_t bytes, uint64_t ns, int blocking, int source,
          int target)
{
    return fk_memcpy_stream(0, direction, bytes, ns, blocking, source, target);
}

int
fk_memcpy_stream(int stream, int direction, uint64_t bytes, uint64_t ns,
                 int blocking, int source, int target)
{
    if (direction < 1 || direction > 10) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool peer = direction == 10;
    uint32_t runtime = blocking ? (peer ? CUDA_MEMCPY_PEER : CUDA_MEMCPY)
                       : peer   ? CUDA_MEMCPY_PEER_ASYNC
                                : CUDA_MEMCPY_ASYNC;
    uint32_t driver =
        blocking ? copies[direction].blocking : copies[direction].other;
    fk_layers call;
    bool in_struct = driver == CU_MEMCPY_2D_ASYNC;
    fk_pass_parameters(
        (fk_parameter){in_struct ? 0 : places_of_size[direction], bytes},
        (fk_parameter){0});
    int result = fk_enter(&call, runtime, driver, NULL);
    if (!result) {
        fk_work work = {.kind = peer ? FK_PEER_COPY : FK_MEMCPY,
                        .copy_kind = (uint8_t)direction,
                        .source = (uint8_t)source,
                        .target = (uint8_t)target,
                        .asynchronous = !blocking,
                        .peer = (call.context->device + peer) % fk_devices(),
                        .bytes = bytes};
        fk_stream *queue = fk_stream_of(call.context, stream);
        bool captured = queue->capturing;
        fk_queue(call.context, queue, &work, ns);
        if (!captured && (blocking || target == PAGEABLE)) {
            fk_wait(call.context, queue, 0, -1);
        }
    }
    return fk_leave(&call, result);
}

int
fk_memset(uint64_t bytes, uint64_t ns, int blocking)
{
    fk_layers call;
    fk_pass_parameters((fk_parameter){2, bytes}, (fk_parameter){0});
    int result = fk_enter(&call, blocking ? CUDA_MEMSET : CUDA_MEMSET_ASYNC,
                          blocking ? CU_MEMSET : CU_MEMSET_ASYNC, NULL);
    if (!result) {
        fk_work work = {.kind = FK_MEMSET,
                        .target = DEVICE,
                        .asynchronous = !blocking,
                        .bytes = bytes};
        fk_queue(call.context, call.context->streams, &work, ns);
        if (blocking) {
            fk_wait(call.context, call.context->streams, 0, -1);
        }
    }
    return fk_leave(&call, result);
}

/* Wait for 0 the context, 1 a stream, 2 an event at the end of a stream.
 *
 * The waiter gets ns, or the remaining time of the work if ns is below 0.
 */
int
fk_sync(int what, int stream, int64_t ns)
{
    static const struct {
        uint32_t runtime, driver, type;
    } ways[] = {
        {CUDA_DEVICE_SYNCHRONIZE, CU_CTX_SYNCHRONIZE, FK_WAIT_CONTEXT},
        {CUDA_STREAM_SYNCHRONIZE, CU_STREAM_SYNCHRONIZE, FK_WAIT_STREAM},
        {CUDA_EVENT_SYNCHRONIZE, CU_EVENT_SYNCHRONIZE, FK_WAIT_EVENT},
    };
    if (what < 0 || what > 2) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    fk_layers call;
    int result = fk_enter(&call, ways[what].runtime, ways[what].driver, NULL);
    if (!result) {
        fk_stream *queue = what ? fk_stream_of(call.context, stream) : NULL;
        fk_wait(call.context, queue, ways[what].type, ns);
    }
    return fk_leave(&call, result);
}
