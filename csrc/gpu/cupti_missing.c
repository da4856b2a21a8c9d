/* What is not recorded because CUPTI refuses a call: a sentence on each. */
#include <stdio.h>

#include "gpu/cupti_backend.h"

static const char *const sentences[LP_CUPTI_MISSING] = {
    [LP_CUPTI_NO_COPIES] = "copies are not recorded, and count as idle time",
    [LP_CUPTI_NO_PEER_COPIES] =
        "copies between devices are not recorded, and count as idle time",
    [LP_CUPTI_NO_MEMSETS] = "memsets are not recorded, and count as idle time",
    [LP_CUPTI_NO_CALLS] = "calls of CUDA's API (--gpu-api) are not recorded",
    [LP_CUPTI_NO_RUNTIME_CALLS] =
        "calls of CUDA's runtime (--gpu-api) are not recorded",
    [LP_CUPTI_NO_DRIVER_CALLS] =
        "calls of CUDA's driver (--gpu-api) are not recorded",
    [LP_CUPTI_NO_CALL_NAMES] =
        "names of calls of CUDA's API (--gpu-api) are not known",
    [LP_CUPTI_NO_CALL_THREADS] =
        "threads of calls of CUDA's API (--gpu-api) are not known",
    [LP_CUPTI_NO_MEMORY] =
        "allocations of the device (--gpu-memory) are not recorded",
    [LP_CUPTI_NO_MEMORY_LINES] =
        "lines of some allocations of the device (--gpu-memory) are not known",
    [LP_CUPTI_NO_MEMORY_SOURCES] =
        "libraries that allocate on the device (--gpu-memory) are not known",
    [LP_CUPTI_NO_WHOLE_GRAPHS] =
        "graphs (--cuda-graph graph) are recorded node by node",
    [LP_CUPTI_NO_GRAPHS] =
        "graphs (--cuda-graph graph) are not recorded, and count as idle time",
    [LP_CUPTI_NO_DEVICE_GRAPHS] =
        "graphs that the device launches are not recorded",
    [LP_CUPTI_NO_ORIGINS] =
        "lines that captured graphs (--graph-origin) are not known",
    [LP_CUPTI_NO_LAUNCHES] = "lines of the work of some calls are not known",
    [LP_CUPTI_NO_WAITS] = "waits in some calls are not recorded",
    [LP_CUPTI_NO_LOADS] = "loads of modules and contexts are not recorded",
    [LP_CUPTI_NO_CAPTURES] = "captures of graphs are not noticed, so that "
                             "work may be missing before the end",
    [LP_CUPTI_NO_PAUSES] =
        "cudaProfilerStart and cudaProfilerStop have no effect",
    [LP_CUPTI_NO_DROPPED] = "records that CUPTI drops are not counted",
};

static struct {
    const char *call; /* static string */
    int status;       /* of CUPTI; LP_CUPTI_OK: nothing is missing (atomic) */
} missing[LP_CUPTI_MISSING];

void
lp_cupti_miss(lp_cupti_missing what, const char *call, int status)
{
    if (__atomic_load_n(&missing[what].status, __ATOMIC_RELAXED) ==
        LP_CUPTI_OK) {
        __atomic_store_n(&missing[what].call, call, __ATOMIC_RELAXED);
        __atomic_store_n(&missing[what].status, status, __ATOMIC_RELEASE);
    }
}

bool
lp_cupti_misses(lp_cupti_missing what)
{
    return __atomic_load_n(&missing[what].status, __ATOMIC_ACQUIRE) !=
           LP_CUPTI_OK;
}

void
lp_cupti_miss_nothing(void)
{
    for (int i = 0; i < LP_CUPTI_MISSING; i++) {
        __atomic_store_n(&missing[i].status, LP_CUPTI_OK, __ATOMIC_RELEASE);
    }
}

void
lp_cupti_describe_missing(lp_gpu_say *say, void *context)
{
    char reason[LP_GPU_WHY / 2], text[LP_GPU_WHY];

    for (lp_cupti_missing i = 0; i < LP_CUPTI_MISSING; i++) {
        if (!lp_cupti_misses(i)) {
            continue;
        }
        if (i == LP_CUPTI_NO_WHOLE_GRAPHS && lp_cupti.beside[0] != '\0') {
            snprintf(reason, sizeof(reason), LP_CUPTI_CAME_FIRST,
                     lp_cupti.beside);
        }
        else {
            lp_cupti_say(reason, sizeof(reason), missing[i].call,
                         missing[i].status);
        }
        snprintf(text, sizeof(text), "%s: %s", sentences[i], reason);
        say(context, text);
    }
}
