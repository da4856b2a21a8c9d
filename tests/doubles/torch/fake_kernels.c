/* Kernels and graphs of the CUDA runtime's double: kernels compute nothing,
 * and are work of the double with PyTorch's name of it.
 */
#include "cuda/fake_cuda.h"
#include "torch/fake_runtime.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    KERNELS = 1 << 18,     /* places in the table; PyTorch has some 40,000 */
    RESIDENT = 132 * 2048, /* threads */
    CLOCK_MHZ = 1980,
};

typedef struct registered {
    const void *_Atomic function;
    const char *name;
} registered;

static registered kernels[KERNELS];
static _Thread_local enum cudaStreamCaptureMode capture_mode;
static _Thread_local struct {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configuration;

/* --- kernels --------------------------------------------------------- */

static registered *
kernel_of(const void *function)
{
    size_t place = ((uintptr_t)function >> 4) * 0x9E3779B97F4A7C15u >> 46;
    for (size_t i = 0; i < KERNELS; i++) {
        registered *one = &kernels[(place + i) % KERNELS];
        const void *there = one->function;
        if (!there || there == function) {
            return one;
        }
    }
    abort(); /* the table is full */
}

FK_EXPORT void **__cudaRegisterFatBinary(void *binary);
FK_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
FK_EXPORT void __cudaUnregisterFatBinary(void **handle);
FK_EXPORT char __cudaInitModule(void **handle);
FK_EXPORT void __cudaRegisterVar(void **handle, char *host, char *address,
                                 const char *name, int external, size_t size,
                                 int constant, int global);
FK_EXPORT void __cudaRegisterFunction(void **handle, const char *function,
                                      char *device_function,
                                      const char *device_name, int limit,
                                      void *thread_id, void *block_id,
                                      void *block, void *grid, int *warp);
FK_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block,
                                               size_t shared,
                                               cudaStream_t stream);
FK_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block,
                                                 size_t *shared, void *stream);
FK_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *found,
                                      const void *function);
FK_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid,
                                         dim3 block, void **arguments,
                                         size_t shared, cudaStream_t stream);

void **
__cudaRegisterFatBinary(void *binary)
{
    (void)binary;
    static void *handle;
    return &handle;
}

void
__cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void
__cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

char
__cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

void
__cudaRegisterVar(void **handle, char *host, char *address, const char *name,
                  int external, size_t size, int constant, int global)
{
    (void)handle;
    (void)host;
    (void)address;
    (void)name;
    (void)external;
    (void)size;
    (void)constant;
    (void)global;
}

/* Called while libraries are loaded, by one thread at a time. */
void
__cudaRegisterFunction(void **handle, const char *function,
                       char *device_function, const char *device_name,
                       int limit, void *thread_id, void *block_id, void *block,
                       void *grid, int *warp)
{
    (void)handle;
    (void)device_function;
    (void)limit;
    (void)thread_id;
    (void)block_id;
    (void)block;
    (void)grid;
    (void)warp;
    registered *one = kernel_of(function);
    one->name = device_name;
    one->function = function;
}

unsigned
__cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                            cudaStream_t stream)
{
    configuration.grid = grid;
    configuration.block = block;
    configuration.shared = shared;
    configuration.stream = stream;
    return 0;
}

cudaError_t
__cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                           void *stream)
{
    *grid = configuration.grid;
    *block = configuration.block;
    *shared = configuration.shared;
    *(cudaStream_t *)stream = configuration.stream;
    return cudaSuccess;
}

cudaError_t
__cudaGetKernel(cudaKernel_t *found, const void *function)
{
    *found = (cudaKernel_t)(uintptr_t)function;
    return cudaSuccess;
}

cudaError_t
rt_run(const char *name, cudaStream_t stream, uint64_t ns, dim3 grid,
       dim3 block, size_t shared)
{
    rt_start();
    uint64_t blocks_run = (uint64_t)grid.x * grid.y * grid.z;
    uint64_t threads = blocks_run * block.x * block.y * block.z;
    ns = ns ? ns : 1500 + 1000 * (threads / RESIDENT);
    return rt_keep(fk_launch_config(
        name, rt_index_of(stream), ns, (int)grid.x, (int)grid.y, (int)grid.z,
        (int)block.x, (int)block.y, (int)block.z, 32, 0, (int)shared));
}

cudaError_t
cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                 size_t shared, cudaStream_t stream)
{
    const registered *one = kernel_of(function);
    const char *name = one->name ? one->name : "unknown";
    uint64_t ns = 0;
    if (strstr(name, "spin_kernel")) { /* torch.cuda._sleep(cycles) */
        ns = *(const uint64_t *)arguments[0] * 1000 / CLOCK_MHZ;
    }
    return rt_run(name, stream, ns, grid, block, shared);
}

cudaError_t
__cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                   void **arguments, size_t shared, cudaStream_t stream)
{
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t
cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
                            void **arguments, size_t shared,
                            cudaStream_t stream)
{
    return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

cudaError_t
cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                    void **arguments)
{
    return cudaLaunchKernel(function, config->gridDim, config->blockDim,
                            arguments, config->dynamicSmemBytes,
                            config->stream);
}

cudaError_t
cudaFuncGetAttributes(struct cudaFuncAttributes *found, const void *function)
{
    (void)function;
    *found = (struct cudaFuncAttributes){.maxThreadsPerBlock = 1024,
                                         .numRegs = 32,
                                         .binaryVersion = 90,
                                         .ptxVersion = 90};
    return rt_seen(CBID(cudaFuncGetAttributes, 3020));
}

cudaError_t
cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute,
                     int value)
{
    (void)function;
    (void)attribute;
    (void)value;
    return rt_seen(CBID(cudaFuncSetAttribute, 9000));
}

cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *found, const void *function, int block, size_t shared, unsigned flags)
{
    (void)function;
    (void)shared;
    (void)flags;
    *found = 2048 / (block > 0 ? block : 1);
    return rt_seen(
        CBID(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000));
}

cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *found, const void *function,
                                              int block, size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        found, function, block, shared, 0);
}

/* --- graphs ---------------------------------------------------------- */

cudaError_t
cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    enum cudaStreamCaptureMode before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return rt_seen(CBID(cudaThreadExchangeStreamCaptureMode, 10010));
}

cudaError_t
cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)mode;
    return rt_keep(fk_graph_capture_begin(rt_index_of(stream)));
}

cudaError_t
cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    fk_context *context;
    fk_current_or_primary(&context);
    struct fk_graph *captured = rt_queue_of(stream)->capturing;
    int id = fk_graph_end(rt_index_of(stream));
    pthread_mutex_lock(&fk_lock); /* those that joined it by an event */
    for (int i = 0; i < FK_STREAMS; i++) {
        fk_stream *one = fk_stream_of(context, i);
        one->capturing = one->capturing == captured ? NULL : one->capturing;
    }
    pthread_mutex_unlock(&fk_lock);
    *graph = (cudaGraph_t)(uintptr_t)id;
    return id ? cudaSuccess : rt_keep(cudaErrorStreamCaptureInvalidated);
}

cudaError_t
cudaStreamIsCapturing(cudaStream_t stream,
                      enum cudaStreamCaptureStatus *status)
{
    *status = rt_is_capturing(stream) ? cudaStreamCaptureStatusActive
                                      : cudaStreamCaptureStatusNone;
    return rt_seen(CBID(cudaStreamIsCapturing, 10000));
}

cudaError_t
cudaStreamGetCaptureInfo(cudaStream_t stream,
                         enum cudaStreamCaptureStatus *status,
                         unsigned long long *id, cudaGraph_t *graph,
                         const cudaGraphNode_t **dependencies,
                         const cudaGraphEdgeData **edges, size_t *count)
{
    struct fk_graph *captured = rt_queue_of(stream)->capturing;
    *status =
        captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    if (id) {
        *id = (uintptr_t)captured;
    }
    if (graph) {
        *graph = (cudaGraph_t)captured;
    }
    if (dependencies) {
        *dependencies = NULL;
    }
    if (edges) {
        *edges = NULL;
    }
    if (count) {
        *count = 0;
    }
    return rt_seen(CBID(cudaStreamGetCaptureInfo, 10010));
}

cudaError_t
cudaGraphInstantiateWithFlags(cudaGraphExec_t *made, cudaGraph_t graph,
                              unsigned long long flags)
{
    (void)flags;
    int id = fk_graph_instantiate((int)(uintptr_t)graph);
    *made = (cudaGraphExec_t)(uintptr_t)id;
    return id ? cudaSuccess : rt_keep(cudaErrorInvalidValue);
}

cudaError_t
cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    return rt_keep(
        fk_graph_launch((int)(uintptr_t)graph, rt_index_of(stream)));
}

cudaError_t
cudaGraphDestroy(cudaGraph_t graph)
{
    return rt_keep(fk_graph_destroy((int)(uintptr_t)graph));
}

cudaError_t
cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    return rt_keep(fk_graph_destroy((int)(uintptr_t)graph));
}

/* PyTorch asks whether there is a node. */
cudaError_t
cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    (void)graph;
    if (!nodes) {
        *count = 1;
    }
    return rt_seen(CBID(cudaGraphGetNodes, 10000));
}

cudaError_t
cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *found,
                             cudaGraphEdgeData *edges, size_t *count)
{
    (void)node;
    (void)found;
    (void)edges;
    *count = 0;
    return rt_seen(CBID(cudaGraphNodeGetDependencies, 10000));
}

cudaError_t
cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags)
{
    (void)graph;
    (void)path;
    (void)flags;
    return rt_refused(CBID(cudaGraphDebugDotPrint, 11030));
}

/* --- other processes: refused ---------------------------------------- */

cudaError_t
cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *at)
{
    (void)handle;
    (void)at;
    return rt_refused(CBID(cudaIpcGetMemHandle, 4010));
}

cudaError_t
cudaIpcOpenMemHandle(void **at, cudaIpcMemHandle_t handle, unsigned flags)
{
    (void)at;
    (void)handle;
    (void)flags;
    return rt_refused(CBID(cudaIpcOpenMemHandle, 4010));
}

cudaError_t
cudaIpcCloseMemHandle(void *at)
{
    (void)at;
    return rt_refused(CBID(cudaIpcCloseMemHandle, 4010));
}

cudaError_t
cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    (void)handle;
    (void)event;
    return rt_refused(CBID(cudaIpcGetEventHandle, 4010));
}

cudaError_t
cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    (void)event;
    (void)handle;
    return rt_refused(CBID(cudaIpcOpenEventHandle, 4010));
}
