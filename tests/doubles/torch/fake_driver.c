/* Functions of the driver that PyTorch and Triton call beside the runtime. */
#include "cuda/fake_cuda.h"
#include "torch/fake_runtime.h"

/* Names of both: those of the double's own errors come first. */
#define CUDA_SUCCESS DRIVER_SUCCESS
#define CUDA_ERROR_INVALID_VALUE DRIVER_ERROR_INVALID_VALUE
#define CUDA_ERROR_NOT_INITIALIZED DRIVER_ERROR_NOT_INITIALIZED
#define CUDA_ERROR_NO_DEVICE DRIVER_ERROR_NO_DEVICE
#define CUDA_ERROR_INVALID_DEVICE DRIVER_ERROR_INVALID_DEVICE
#define CUDA_ERROR_INVALID_CONTEXT DRIVER_ERROR_INVALID_CONTEXT
#define CUDA_ERROR_INVALID_HANDLE DRIVER_ERROR_INVALID_HANDLE
#define CUDA_ERROR_CONTEXT_IS_DESTROYED DRIVER_ERROR_CONTEXT_IS_DESTROYED
#include <cuda.h>
#include <cupti_driver_cbid.h>

#include <stdlib.h>
#include <string.h>

#define DRIVER_CBID(name) CUPTI_DRIVER_TRACE_CBID_##name

struct CUfunc_st {
    char *name;
};

static CUresult
seen(uint32_t cbid)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, cbid, NULL);
    return (CUresult)fk_end(&call, fk_ready(""));
}

CUresult
cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    (void)device;
    *flags = 0;
    *active = fk_has_context();
    return seen(DRIVER_CBID(cuDevicePrimaryCtxGetState));
}

CUresult
cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = (CUcontext)fk_primary((uint32_t)device);
    return seen(DRIVER_CBID(cuDevicePrimaryCtxRetain));
}

CUresult
cuCtxGetLimit(size_t *value, CUlimit limit)
{
    (void)limit;
    *value = 1 << 20;
    return seen(DRIVER_CBID(cuCtxGetLimit));
}

CUresult
cuCtxSetLimit(CUlimit limit, size_t value)
{
    (void)limit;
    (void)value;
    return seen(DRIVER_CBID(cuCtxSetLimit));
}

/* --- modules --------------------------------------------------------- */

CUresult
cuModuleLoadData(CUmodule *module, const void *image)
{
    (void)image;
    *module = (CUmodule)(uintptr_t)1;
    fk_own_time(0, 1);
    return seen(DRIVER_CBID(cuModuleLoadData));
}

CUresult
cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                   CUjit_option *options, void **values)
{
    (void)count;
    (void)options;
    (void)values;
    return cuModuleLoadData(module, image);
}

CUresult
cuModuleLoad(CUmodule *module, const char *file)
{
    return cuModuleLoadData(module, file);
}

CUresult
cuModuleUnload(CUmodule module)
{
    (void)module;
    return seen(DRIVER_CBID(cuModuleUnload));
}

CUresult
cuModuleGetFunction(CUfunction *made, CUmodule module, const char *name)
{
    (void)module;
    *made = malloc(sizeof **made);
    if (!*made || !((*made)->name = strdup(name))) {
        abort();
    }
    return seen(DRIVER_CBID(cuModuleGetFunction));
}

CUresult
cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                   CUfunction function)
{
    (void)function;
    *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS                ? 32
             : attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
                                                                    : 0;
    return seen(DRIVER_CBID(cuFuncGetAttribute));
}

CUresult
cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                   int value)
{
    (void)function;
    (void)attribute;
    (void)value;
    return seen(DRIVER_CBID(cuFuncSetAttribute));
}

CUresult
cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
    (void)function;
    (void)config;
    return seen(DRIVER_CBID(cuFuncSetCacheConfig));
}

CUresult
cuOccupancyMaxActiveBlocksPerMultiprocessor(int *found, CUfunction function,
                                            int block, size_t shared)
{
    (void)function;
    (void)shared;
    *found = 2048 / (block > 0 ? block : 1);
    return seen(DRIVER_CBID(cuOccupancyMaxActiveBlocksPerMultiprocessor));
}

CUresult
cuOccupancyMaxActiveClusters(int *found, CUfunction function,
                             const CUlaunchConfig *config)
{
    (void)function;
    (void)config;
    *found = 132;
    return seen(DRIVER_CBID(cuOccupancyMaxActiveClusters));
}

/* --- launches -------------------------------------------------------- */

CUresult
cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
               unsigned bx, unsigned by, unsigned bz, unsigned shared,
               CUstream stream, void **parameters, void **extra)
{
    (void)parameters;
    (void)extra;
    dim3 grid = {gx, gy, gz}, block = {bx, by, bz};
    fk_as(DRIVER_CBID(cuLaunchKernel));
    return (CUresult)rt_run(function->name, stream, 0, grid, block, shared);
}

CUresult
cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy,
                          unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, CUstream stream, void **parameters)
{
    return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream,
                          parameters, NULL);
}

CUresult
cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                 void **parameters, void **extra)
{
    (void)parameters;
    (void)extra;
    dim3 grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
    dim3 block = {config->blockDimX, config->blockDimY, config->blockDimZ};
    fk_as(DRIVER_CBID(cuLaunchKernelEx));
    return (CUresult)rt_run(function->name, config->hStream, 0, grid, block,
                            config->sharedMemBytes);
}

/* --- memory ---------------------------------------------------------- */

CUresult
cuPointerGetAttribute(void *value, CUpointer_attribute attribute,
                      CUdeviceptr at)
{
    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER) {
        *(CUdeviceptr *)value = at;
    }
    else {
        *(int *)value = 0;
    }
    return seen(DRIVER_CBID(cuPointerGetAttribute));
}

/* --- refused --------------------------------------------------------- */

CUresult
cuLinkCreate_v2(unsigned count, CUjit_option *options, void **values,
                CUlinkState *state)
{
    (void)count;
    (void)options;
    (void)values;
    (void)state;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data,
                 size_t size, const char *name, unsigned count,
                 CUjit_option *options, void **values)
{
    (void)state;
    (void)type;
    (void)data;
    (void)size;
    (void)name;
    (void)count;
    (void)options;
    (void)values;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
    (void)state;
    (void)image;
    (void)size;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type,
                       cuuint32_t rank, void *at, const cuuint64_t *size,
                       const cuuint64_t *strides, const cuuint32_t *box,
                       const cuuint32_t *steps,
                       CUtensorMapInterleave interleave,
                       CUtensorMapSwizzle swizzle,
                       CUtensorMapL2promotion promotion,
                       CUtensorMapFloatOOBfill fill)
{
    (void)map;
    (void)type;
    (void)rank;
    (void)at;
    (void)size;
    (void)strides;
    (void)box;
    (void)steps;
    (void)interleave;
    (void)swizzle;
    (void)promotion;
    (void)fill;
    return CUDA_ERROR_NOT_SUPPORTED;
}
