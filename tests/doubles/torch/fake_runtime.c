/* Double of the CUDA runtime, for PyTorch on a machine without a GPU.
 *
 * Compiled with the files of fake_cuda.so, and preloaded: its functions come
 * before those of libcudart, which PyTorch's libraries import.  Here: calls,
 * devices, streams and events.  Needs the headers of CUDA 13.
 */
#include "torch/fake_runtime.h"
#include "cuda/fake_cuda.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

FK_EXPORT int cuInit(unsigned flags);
FK_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);

FK_EXPORT cudaError_t cudaProfilerStart(void);
FK_EXPORT cudaError_t cudaProfilerStop(void);

enum { NOT_SUPPORTED = 801 }; /* CUDA_ERROR_NOT_SUPPORTED */

struct CUstream_st {
    int index, priority;
    unsigned flags;
};

struct CUevent_st {
    uint64_t at; /* ns, on the clock of records; 0: not recorded */
    struct fk_graph *capturing;
    int stream;
};

static _Atomic int last_stream;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local cudaError_t last_error;

/* --- calls ----------------------------------------------------------- */

static void
initialise(void)
{
    cuInit(0);
    fk_wait_really(1);
}

void
rt_start(void)
{
    pthread_once(&once, initialise);
}

cudaError_t
rt_keep(int error)
{
    if (error && error != cudaErrorNotReady) {
        last_error = (cudaError_t)error;
    }
    return (cudaError_t)error;
}

/* Begin a call that makes none of the driver; return the error, or 0. */
int
rt_begin(fk_api_call *call, uint32_t cbid)
{
    rt_start();
    fk_begin(call, FK_RUNTIME, cbid, NULL);
    return fk_ready("");
}

cudaError_t
rt_end(fk_api_call *call, int error)
{
    return rt_keep(fk_end(call, error));
}

/* A call that has no effect but on the tool that sees it. */
cudaError_t
rt_seen(uint32_t cbid)
{
    fk_api_call call;
    int error = rt_begin(&call, cbid);
    return rt_end(&call, error);
}

cudaError_t
rt_refused(uint32_t cbid)
{
    fk_api_call call;
    rt_begin(&call, cbid);
    return rt_end(&call, cudaErrorNotSupported);
}

/* --- devices --------------------------------------------------------- */

cudaError_t
cudaGetDeviceCount(int *count)
{
    fk_api_call call;
    int error = rt_begin(&call, CBID(cudaGetDeviceCount, 3020));
    *count = error ? 0 : (int)fk_devices();
    return rt_end(&call, error);
}

cudaError_t
cudaGetDevice(int *device)
{
    fk_api_call call;
    int error = rt_begin(&call, CBID(cudaGetDevice, 3020));
    fk_context *context = fk_current();
    *device = context ? (int)context->device : 0;
    return rt_end(&call, error);
}

cudaError_t
cudaSetDevice(int device)
{
    rt_start();
    return rt_keep(fk_set_device(device));
}

cudaError_t
cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    fk_api_call call;
    int error = rt_begin(&call, CBID(cudaGetDeviceProperties, 12000));
    *prop = (struct cudaDeviceProp){
        .name = "NVIDIA H200",
        .totalGlobalMem = RT_MEMORY,
        .sharedMemPerBlock = 49152,
        .sharedMemPerBlockOptin = 232448,
        .sharedMemPerMultiprocessor = 233472,
        .reservedSharedMemPerBlock = 1024,
        .regsPerBlock = 65536,
        .regsPerMultiprocessor = 65536,
        .warpSize = 32,
        .memPitch = INT32_MAX,
        .maxThreadsPerBlock = 1024,
        .maxThreadsDim = {1024, 1024, 64},
        .maxGridSize = {INT32_MAX, 65535, 65535},
        .maxThreadsPerMultiProcessor = 2048,
        .maxBlocksPerMultiProcessor = 32,
        .major = 9,
        .multiProcessorCount = 132,
        .totalConstMem = 65536,
        .textureAlignment = 512,
        .texturePitchAlignment = 32,
        .l2CacheSize = 62914560,
        .memoryBusWidth = 6144,
        .asyncEngineCount = 3,
        .concurrentKernels = 1,
        .unifiedAddressing = 1,
        .canMapHostMemory = 1,
        .cooperativeLaunch = 1,
        .streamPrioritiesSupported = 1,
        .pciBusID = device + 1,
    };
    return rt_end(&call, error);
}

cudaError_t
cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    fk_api_call call;
    int error = rt_begin(&call, CBID(cudaDeviceGetAttribute, 5000));
    if (!error && cuDeviceGetAttribute(value, (int)attribute, device)) {
        *value = 0;
    }
    return rt_end(&call, error);
}

cudaError_t
cudaDeviceGetPCIBusId(char *id, int length, int device)
{
    fk_api_call call;
    int error = rt_begin(&call, CBID(cudaDeviceGetPCIBusId, 4010));
    char text[] = "0000:01:00.0";
    text[6] += (char)device;
    strncpy(id, text, (size_t)length);
    return rt_end(&call, error);
}

cudaError_t
cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return rt_seen(CBID(cudaDeviceGetStreamPriorityRange, 5050));
}

cudaError_t
cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer;
    return rt_seen(CBID(cudaDeviceCanAccessPeer, 4000));
}

cudaError_t
cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)peer;
    (void)flags;
    return rt_seen(CBID(cudaDeviceEnablePeerAccess, 4000));
}

cudaError_t
cudaDriverGetVersion(int *version)
{
    *version = fk_driver_version();
    return rt_seen(CBID(cudaDriverGetVersion, 3020));
}

cudaError_t
cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return rt_seen(CBID(cudaRuntimeGetVersion, 3020));
}

cudaError_t
cudaProfilerStart(void)
{
    return rt_keep(fk_profiler_start());
}

cudaError_t
cudaProfilerStop(void)
{
    return rt_keep(fk_profiler_stop());
}

/* --- errors ---------------------------------------------------------- */

cudaError_t
cudaGetLastError(void)
{
    cudaError_t error = last_error;
    rt_seen(CBID(cudaGetLastError, 3020));
    last_error = cudaSuccess;
    return error;
}

cudaError_t
cudaPeekAtLastError(void)
{
    cudaError_t error = last_error;
    rt_seen(CBID(cudaPeekAtLastError, 3020));
    return error;
}

const char *
cudaGetErrorName(cudaError_t error)
{
    return error ? "cudaErrorOfTheDouble" : "cudaSuccess";
}

const char *
cudaGetErrorString(cudaError_t error)
{
    return error ? "an error of the double" : "no error";
}

/* --- the driver's functions by name ---------------------------------- */

static int
unsupported(void)
{
    return NOT_SUPPORTED;
}

cudaError_t
cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
                                 unsigned version, unsigned long long flags,
                                 enum cudaDriverEntryPointQueryResult *status)
{
    (void)version;
    (void)flags;
    *function = dlsym(RTLD_DEFAULT, symbol);
    if (!*function) {
        *function = (void *)(uintptr_t)unsupported;
    }
    if (status) {
        *status = cudaDriverEntryPointSuccess;
    }
    return rt_seen(CBID(cudaGetDriverEntryPointByVersion, 12050));
}

/* --- streams --------------------------------------------------------- */

/* Streams beyond those of the double share them. */
int
rt_index_of(cudaStream_t stream)
{
    uintptr_t number = (uintptr_t)stream;
    return number <= 2 ? 0 : stream->index; /* legacy, per thread */
}

fk_stream *
rt_queue_of(cudaStream_t stream)
{
    fk_context *context;
    rt_start();
    fk_current_or_primary(&context);
    return fk_stream_of(context, rt_index_of(stream));
}

bool
rt_is_capturing(cudaStream_t stream)
{
    return rt_queue_of(stream)->capturing != NULL;
}

cudaError_t
cudaStreamCreateWithPriority(cudaStream_t *made, unsigned flags, int priority)
{
    struct CUstream_st *stream = malloc(sizeof *stream);
    if (!stream) {
        abort();
    }
    int number = last_stream++;
    *stream =
        (struct CUstream_st){1 + number % (FK_STREAMS - 1), priority, flags};
    *made = stream;
    return rt_seen(CBID(cudaStreamCreateWithPriority, 5050));
}

cudaError_t
cudaStreamCreate(cudaStream_t *made)
{
    return cudaStreamCreateWithPriority(made, 0, 0);
}

cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return rt_seen(CBID(cudaStreamDestroy, 5050));
}

cudaError_t
cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    *priority = (uintptr_t)stream <= 2 ? 0 : stream->priority;
    return rt_seen(CBID(cudaStreamGetPriority, 5050));
}

cudaError_t
cudaStreamQuery(cudaStream_t stream)
{
    fk_api_call call;
    int error = rt_begin(&call, CBID(cudaStreamQuery, 3020));
    bool busy = !error && rt_queue_of(stream)->free_at > fk_now();
    return rt_end(&call, busy ? cudaErrorNotReady : error);
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
    rt_start();
    return rt_keep(fk_sync(1, rt_index_of(stream), -1));
}

cudaError_t
cudaDeviceSynchronize(void)
{
    rt_start();
    return rt_keep(fk_sync(0, 0, -1));
}

/* The function is called at once, and not after the work of the stream. */
cudaError_t
cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    if (!rt_is_capturing(stream)) {
        function(data);
    }
    return rt_seen(CBID(cudaLaunchHostFunc, 10000));
}

cudaError_t
cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                      void *data, unsigned flags)
{
    (void)flags;
    callback(stream, cudaSuccess, data);
    return rt_seen(CBID(cudaStreamAddCallback, 5000));
}

/* --- events ---------------------------------------------------------- */

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *made, unsigned flags)
{
    (void)flags;
    *made = calloc(1, sizeof **made);
    if (!*made) {
        abort();
    }
    return rt_seen(CBID(cudaEventCreateWithFlags, 3020));
}

cudaError_t
cudaEventCreate(cudaEvent_t *made)
{
    return cudaEventCreateWithFlags(made, 0);
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return rt_seen(CBID(cudaEventDestroy, 3020));
}

static cudaError_t
record(cudaEvent_t event, cudaStream_t stream, uint32_t runtime)
{
    fk_layers call;
    rt_start();
    int error =
        fk_enter(&call, runtime, CUPTI_DRIVER_TRACE_CBID_cuEventRecord, NULL);
    if (!error) {
        fk_stream *queue = rt_queue_of(stream);
        uint64_t now = fk_now();
        pthread_mutex_lock(&fk_lock);
        event->at = queue->free_at > now ? queue->free_at : now;
        event->capturing = queue->capturing;
        event->stream = rt_index_of(stream);
        pthread_mutex_unlock(&fk_lock);
    }
    return rt_keep(fk_leave(&call, error));
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return record(event, stream, CBID(cudaEventRecord, 3020));
}

cudaError_t
cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                         unsigned flags)
{
    (void)flags;
    return record(event, stream, CBID(cudaEventRecordWithFlags, 11010));
}

cudaError_t
cudaEventQuery(cudaEvent_t event)
{
    fk_api_call call;
    int error = rt_begin(&call, CBID(cudaEventQuery, 3020));
    return rt_end(&call, error                  ? error
                         : event->at > fk_now() ? cudaErrorNotReady
                                                : cudaSuccess);
}

cudaError_t
cudaEventSynchronize(cudaEvent_t event)
{
    uint64_t now = fk_now();
    int64_t ns = event->at > now ? (int64_t)(event->at - now) : 0;
    return rt_keep(fk_sync(2, event->stream, ns));
}

cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t finish)
{
    *ms = (float)((double)(int64_t)(finish->at - start->at) / 1e6);
    return rt_seen(CBID(cudaEventElapsedTime, 3020));
}

cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    fk_layers call;
    rt_start();
    int error = fk_enter(&call, CBID(cudaStreamWaitEvent, 3020),
                         CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent, NULL);
    if (!error) {
        fk_stream *queue = rt_queue_of(stream);
        pthread_mutex_lock(&fk_lock);
        if (event->capturing) {
            queue->capturing = event->capturing;
        }
        else if (event->at > queue->free_at) {
            queue->free_at = event->at;
        }
        pthread_mutex_unlock(&fk_lock);
    }
    return rt_keep(fk_leave(&call, error));
}
