/* Names of API functions: those that the double calls, and similar ones. */
#include "cupti/fake_cupti.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    uint32_t cbid;
    const char *name;
} function;

/* CUPTI_DRIVER_TRACE_CBID_* */
static const function driver[] = {
    {1, "cuInit"},
    {2, "cuDriverGetVersion"},
    {3, "cuDeviceGet"},
    {4, "cuDeviceGetCount"},
    {5, "cuDeviceGetName"},
    {9, "cuDeviceGetAttribute"},
    {16, "cuCtxGetDevice"},
    {17, "cuCtxSynchronize"},
    {38, "cuMemFreeHost"},
    {115, "cuLaunch"},
    {116, "cuLaunchGrid"},
    {117, "cuLaunchGridAsync"},
    {119, "cuEventRecord"},
    {120, "cuEventQuery"},
    {121, "cuEventSynchronize"},
    {124, "cuStreamCreate"},
    {125, "cuStreamQuery"},
    {126, "cuStreamSynchronize"},
    {216, "cuMemsetD8Async"},
    {218, "cuMemsetD16Async"},
    {220, "cuMemsetD32Async"},
    {222, "cuMemsetD2D8Async"},
    {224, "cuMemsetD2D16Async"},
    {226, "cuMemsetD2D32Async"},
    {235, "cuCtxCreate_v2"},
    {243, "cuMemAlloc_v2"},
    {245, "cuMemFree_v2"},
    {248, "cuMemcpy_v2"},
    {249, "cuMemsetD8_v2"},
    {250, "cuMemsetD16_v2"},
    {251, "cuMemsetD32_v2"},
    {252, "cuMemsetD2D8_v2"},
    {253, "cuMemsetD2D16_v2"},
    {254, "cuMemsetD2D32_v2"},
    {276, "cuMemcpyHtoD_v2"},
    {277, "cuMemcpyHtoDAsync_v2"},
    {278, "cuMemcpyDtoH_v2"},
    {279, "cuMemcpyDtoHAsync_v2"},
    {280, "cuMemcpyDtoD_v2"},
    {281, "cuMemcpyDtoDAsync_v2"},
    {282, "cuMemcpyAtoH_v2"},
    {283, "cuMemcpyAtoHAsync_v2"},
    {284, "cuMemcpyAtoD_v2"},
    {285, "cuMemcpyDtoA_v2"},
    {286, "cuMemcpyAtoA_v2"},
    {287, "cuMemcpy2D_v2"},
    {288, "cuMemcpy2DUnaligned_v2"},
    {289, "cuMemcpy2DAsync_v2"},
    {290, "cuMemcpy3D_v2"},
    {291, "cuMemcpy3DAsync_v2"},
    {292, "cuMemcpyHtoA_v2"},
    {293, "cuMemcpyHtoAAsync_v2"},
    {294, "cuMemAllocHost_v2"},
    {295, "cuStreamWaitEvent"},
    {303, "cuCtxSetCurrent"},
    {304, "cuCtxGetCurrent"},
    {305, "cuMemcpy"},
    {306, "cuMemcpyAsync"},
    {307, "cuLaunchKernel"},
    {308, "cuProfilerStart"},
    {309, "cuProfilerStop"},
    {318, "cuMemcpyPeer"},
    {319, "cuMemcpyPeerAsync"},
    {322, "cuCtxDestroy_v2"},
    {323, "cuCtxPushCurrent_v2"},
    {324, "cuCtxPopCurrent_v2"},
    {371, "cuMemAllocManaged"},
    {386, "cuDevicePrimaryCtxRetain"},
    {439, "cuStreamQuery_ptsz"},
    {440, "cuStreamSynchronize_ptsz"},
    {442, "cuLaunchKernel_ptsz"},
    {467, "cuMemPrefetchAsync"},
    {477, "cuLaunchCooperativeKernel"},
    {478, "cuLaunchCooperativeKernel_ptsz"},
    {495, "cuStreamBeginCapture"},
    {497, "cuStreamEndCapture"},
    {502, "cuGraphAddKernelNode"},
    {514, "cuGraphLaunch"},
    {515, "cuGraphLaunch_ptsz"},
    {516, "cuGraphExecDestroy"},
    {517, "cuGraphDestroy"},
    {527, "cuLaunchHostFunc"},
    {539, "cuStreamBeginCapture_v2"},
    {598, "cuMemAllocAsync"},
    {600, "cuMemFreeAsync"},
    {611, "cuMemAllocFromPoolAsync"},
    {643, "cuGraphInstantiateWithFlags"},
    {652, "cuLaunchKernelEx"},
    {653, "cuLaunchKernelEx_ptsz"},
    {656, "cuGraphInstantiateWithParams"},
    {689, "cuGraphAddKernelNode_v2"},
    {716, "cuMemPrefetchAsync_v2"},
    {757, "cuCtxCreate_v4"},
    {776, "cuMemcpyBatchAsync"},
    {796, "cuMemcpyBatchAsync_v2"},
    {798, "cuMemcpy3DBatchAsync_v2"},
};

/* CUPTI_RUNTIME_TRACE_CBID_* */
static const function runtime[] = {
    {3, "cudaGetDeviceCount_v3020"},
    {10, "cudaGetLastError_v3020"},
    {11, "cudaPeekAtLastError_v3020"},
    {16, "cudaSetDevice_v3020"},
    {17, "cudaGetDevice_v3020"},
    {20, "cudaMalloc_v3020"},
    {22, "cudaFree_v3020"},
    {25, "cudaMallocHost_v3020"},
    {26, "cudaFreeHost_v3020"},
    {31, "cudaMemcpy_v3020"},
    {32, "cudaMemcpy2D_v3020"},
    {39, "cudaMemcpyToSymbol_v3020"},
    {40, "cudaMemcpyFromSymbol_v3020"},
    {41, "cudaMemcpyAsync_v3020"},
    {44, "cudaMemcpy2DAsync_v3020"},
    {49, "cudaMemset_v3020"},
    {51, "cudaMemsetAsync_v3020"},
    {131, "cudaStreamSynchronize_v3020"},
    {132, "cudaStreamQuery_v3020"},
    {135, "cudaEventRecord_v3020"},
    {137, "cudaEventSynchronize_v3020"},
    {138, "cudaEventQuery_v3020"},
    {144, "cudaMemcpy3D_v3020"},
    {145, "cudaMemcpy3DAsync_v3020"},
    {147, "cudaStreamWaitEvent_v3020"},
    {160, "cudaMemcpyPeer_v4000"},
    {161, "cudaMemcpyPeerAsync_v4000"},
    {165, "cudaDeviceSynchronize_v3020"},
    {171, "cudaProfilerStart_v4000"},
    {172, "cudaProfilerStop_v4000"},
    {206, "cudaMallocManaged_v6000"},
    {211, "cudaLaunchKernel_v7000"},
    {214, "cudaLaunchKernel_ptsz_v7000"},
    {269, "cudaLaunchCooperativeKernel_v9000"},
    {270, "cudaLaunchCooperativeKernel_ptsz_v9000"},
    {284, "cudaLaunchHostFunc_v10000"},
    {310, "cudaGraphInstantiate_v10000"},
    {311, "cudaGraphLaunch_v10000"},
    {313, "cudaGraphExecDestroy_v10000"},
    {314, "cudaGraphDestroy_v10000"},
    {315, "cudaStreamBeginCapture_v10000"},
    {319, "cudaStreamEndCapture_v10000"},
    {373, "cudaMallocAsync_v11020"},
    {375, "cudaFreeAsync_v11020"},
    {418, "cudaGraphInstantiateWithFlags_v11040"},
    {430, "cudaLaunchKernelExC_v11060"},
    {431, "cudaLaunchKernelExC_ptsz_v11060"},
    {443, "cudaGraphInstantiate_v12000"},
    {505, "__cudaLaunchKernel_v13000"},
    {506, "__cudaLaunchKernel_ptsz_v13000"},
};

FK_EXPORT int cuptiGetCallbackName(uint32_t domain, uint32_t cbid,
                                   const char **name);

static char callback_names[FK_DOMAINS][FK_CBIDS][48]; /* without versions */
static const char *full_names[FK_DOMAINS][FK_CBIDS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Add a table without versions: cudaMalloc_v3020 is cudaMalloc in callbacks.
 */
static void
fill(uint32_t domain, const function *table, size_t count, bool versions)
{
    for (uint32_t cbid = 0; cbid < FK_CBIDS; cbid++) {
        snprintf(callback_names[domain][cbid], sizeof **callback_names,
                 "%sFunction%u", versions ? "cuda" : "cu", cbid);
    }
    for (size_t i = 0; i < count; i++) {
        char *name = callback_names[domain][table[i].cbid];
        snprintf(name, sizeof **callback_names, "%s", table[i].name);
        full_names[domain][table[i].cbid] = table[i].name;
        char *version = versions ? strrchr(name, 'v') : NULL;
        if (version && version > name && version[-1] == '_') {
            version[-1] = '\0';
        }
    }
}

static void
fill_all(void)
{
    fill(FK_DRIVER, driver, sizeof driver / sizeof *driver, false);
    fill(FK_RUNTIME, runtime, sizeof runtime / sizeof *runtime, true);
}

const char *
fk_function_name(uint32_t domain, uint32_t cbid)
{
    pthread_once(&once, fill_all);
    return callback_names[domain % FK_DOMAINS][cbid % FK_CBIDS];
}

int
cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
    int result = fk_check_call("cuptiGetCallbackName");
    if (result) {
        return result;
    }
    pthread_once(&once, fill_all);
    bool there = domain < FK_DOMAINS && cbid < FK_CBIDS;
    if (!name || !there || !full_names[domain][cbid]) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    *name = full_names[domain][cbid];
    return CUPTI_SUCCESS;
}
