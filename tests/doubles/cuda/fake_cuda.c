/* Double of libcuda.so.1: the driver functions that lineprof may call. */
#include "cuda/fake_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CU_DEVICE_ATTRIBUTE_*, with the values of an H200. */
static const struct {
    int attribute, value;
} attributes[] = {
    {1, 1024},      /* MAX_THREADS_PER_BLOCK */
    {2, 1024},      /* MAX_BLOCK_DIM_X */
    {3, 1024},      /* MAX_BLOCK_DIM_Y */
    {4, 64},        /* MAX_BLOCK_DIM_Z */
    {5, INT32_MAX}, /* MAX_GRID_DIM_X */
    {6, 65535},     /* MAX_GRID_DIM_Y */
    {7, 65535},     /* MAX_GRID_DIM_Z */
    {8, 49152},     /* MAX_SHARED_MEMORY_PER_BLOCK */
    {10, 32},       /* WARP_SIZE */
    {12, 65536},    /* MAX_REGISTERS_PER_BLOCK */
    {13, 1980000},  /* CLOCK_RATE */
    {16, 132},      /* MULTIPROCESSOR_COUNT */
    {36, 3201000},  /* MEMORY_CLOCK_RATE */
    {37, 6144},     /* GLOBAL_MEMORY_BUS_WIDTH */
    {38, 62914560}, /* L2_CACHE_SIZE */
    {39, 2048},     /* MAX_THREADS_PER_MULTIPROCESSOR */
    {75, 9},        /* COMPUTE_CAPABILITY_MAJOR, or FAKE_CUDA_CAPABILITY */
    {76, 0},        /* COMPUTE_CAPABILITY_MINOR */
    {81, 233472},   /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
    {82, 65536},    /* MAX_REGISTERS_PER_MULTIPROCESSOR */
    {97, 232448},   /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    {106, 32},      /* MAX_BLOCKS_PER_MULTIPROCESSOR */
    {111, 1024},    /* RESERVED_SHARED_MEMORY_PER_BLOCK */
};

FK_EXPORT int cuInit(unsigned flags);
FK_EXPORT int cuDriverGetVersion(int *version);
FK_EXPORT int cuDeviceGetCount(int *count);
FK_EXPORT int cuDeviceGet(int *device, int ordinal);
FK_EXPORT int cuDeviceGetName(char *name, int size, int device);
FK_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
FK_EXPORT int cuCtxGetCurrent(fk_context **context);
FK_EXPORT int cuCtxSetCurrent(fk_context *context);
FK_EXPORT int cuCtxGetDevice(int *device);
FK_EXPORT int cuCtxPushCurrent_v2(fk_context *context);
FK_EXPORT int cuCtxPopCurrent_v2(fk_context **context);
FK_EXPORT int cuCtxSynchronize(void);
FK_EXPORT int cuGetExportTable(const void **table, const void *id);
FK_EXPORT int cuGetErrorString(int error, const char **text);
FK_EXPORT int cuGetErrorName(int error, const char **text);

_Atomic bool fk_dead;
static _Atomic bool initialized;
static _Atomic int inits, synchronizes;

static struct { /* read once, when the library is loaded */
    const char *fail;
    uint32_t devices;
    int driver_version;
} knobs;

/* --- state ------------------------------------------------------------ */

static void
before_fork(void)
{
    pthread_mutex_lock(&fk_lock);
}

static void
in_parent(void)
{
    pthread_mutex_unlock(&fk_lock);
}

static void
in_child(void)
{
    pthread_mutex_unlock(&fk_lock);
    fk_dead = initialized; /* as in CUDA, which does not survive a fork */
}

__attribute__((constructor)) static void
start(void)
{
    uint64_t devices = fk_env("FAKE_CUDA_DEVICES", 2);
    uint64_t cupti = fk_env("FAKE_CUPTI_VERSION", 0);
    /* By default the driver is new enough for the emulated CUPTI. */
    uint64_t least = 13000;
    if (cupti > 130000) {
        least = cupti / 10000 * 1000 + cupti / 100 % 100 * 10;
    }
    knobs.fail = getenv("FAKE_CUDA_FAIL");
    knobs.devices = devices < FK_STREAMS ? (uint32_t)devices : FK_STREAMS;
    knobs.driver_version = (int)fk_env("FAKE_CUDA_DRIVER_VERSION", least);
    pthread_atfork(before_fork, in_parent, in_child);
}

int
fk_ready(const char *function)
{
    if (fk_dead || !initialized) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    return fk_fails(knobs.fail, function, 999);
}

uint32_t
fk_devices(void)
{
    return knobs.devices;
}

int
fk_driver_version(void)
{
    return knobs.driver_version;
}

int
fk_is_initialized(void)
{
    return initialized;
}

int
fk_cuinit_calls(void)
{
    return inits;
}

int
fk_synchronize_calls(void)
{
    return synchronizes;
}

/* --- the driver ------------------------------------------------------ */

int
cuInit(unsigned flags)
{
    (void)flags;
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 1 /* cuInit */, NULL);
    inits++;
    int result = fk_dead ? CUDA_ERROR_NOT_INITIALIZED
                         : fk_fails(knobs.fail, "cuInit", 999);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!result && !initialized && visible && !*visible) {
        result = CUDA_ERROR_NO_DEVICE;
    }
    if (!result && !initialized) {
        initialized = true;
        fk_resource(5 /* CUPTI_CBID_RESOURCE_CU_INIT_FINISHED */, NULL, NULL);
    }
    return fk_end(&call, result);
}

int
fk_capability(void)
{
    return (int)fk_env("FAKE_CUDA_CAPABILITY", 9);
}

int
cuDriverGetVersion(int *version)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 2 /* cuDriverGetVersion */, NULL);
    int result = fk_fails(knobs.fail, "cuDriverGetVersion", 999);
    *version = result ? 0 : fk_driver_version();
    return fk_end(&call, result);
}

int
cuDeviceGetCount(int *count)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 4 /* cuDeviceGetCount */, NULL);
    int result = fk_ready("cuDeviceGetCount");
    if (!result) {
        *count = (int)fk_devices();
    }
    return fk_end(&call, result);
}

/* Return whether this device exists. */
static int
ready_for(const char *function, int device)
{
    int result = fk_ready(function);
    bool there = device >= 0 && device < (int)fk_devices();
    return result || there ? result : CUDA_ERROR_INVALID_DEVICE;
}

int
cuDeviceGet(int *device, int ordinal)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 3 /* cuDeviceGet */, NULL);
    int result = ready_for("cuDeviceGet", ordinal);
    if (!result) {
        *device = ordinal;
    }
    return fk_end(&call, result);
}

int
cuDeviceGetName(char *name, int size, int device)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 5 /* cuDeviceGetName */, NULL);
    int result = ready_for("cuDeviceGetName", device);
    if (!result) {
        snprintf(name, (size_t)size, "NVIDIA H200");
    }
    return fk_end(&call, result);
}

int
cuDeviceGetAttribute(int *value, int attribute, int device)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 9 /* cuDeviceGetAttribute */, NULL);
    int result = ready_for("cuDeviceGetAttribute", device);
    size_t count = sizeof attributes / sizeof *attributes;
    size_t i = 0;
    while (i < count && attributes[i].attribute != attribute) {
        i++;
    }
    if (!result && i == count) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (!result) {
        *value = attribute == 75 ? fk_capability() : attributes[i].value;
    }
    return fk_end(&call, result);
}

int
cuCtxGetCurrent(fk_context **context)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 304 /* cuCtxGetCurrent */, NULL);
    int result = fk_ready("cuCtxGetCurrent");
    if (!result) {
        *context = fk_current();
    }
    return fk_end(&call, result);
}

int
cuCtxSetCurrent(fk_context *context)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 303 /* cuCtxSetCurrent */, NULL);
    int result = fk_ready("cuCtxSetCurrent");
    if (!result) {
        fk_make_current(context);
    }
    return fk_end(&call, result);
}

int
cuCtxGetDevice(int *device)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 16 /* cuCtxGetDevice */, NULL);
    int result = fk_ready("cuCtxGetDevice");
    fk_context *context = fk_current();
    if (!result && !context) {
        result = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (!result) {
        *device = (int)context->device;
    }
    return fk_end(&call, result);
}

int
cuCtxPushCurrent_v2(fk_context *context)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 323 /* cuCtxPushCurrent_v2 */, NULL);
    int result = fk_ready("cuCtxPushCurrent_v2");
    return fk_end(&call, result ? result : fk_push(context));
}

int
cuCtxPopCurrent_v2(fk_context **context)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 324 /* cuCtxPopCurrent_v2 */, NULL);
    int result = fk_ready("cuCtxPopCurrent_v2");
    return fk_end(&call, result ? result : fk_pop(context));
}

int
cuCtxSynchronize(void)
{
    fk_api_call call;
    fk_begin(&call, FK_DRIVER, 17 /* cuCtxSynchronize */, NULL);
    synchronizes++;
    int result = fk_ready("cuCtxSynchronize");
    fk_context *context = fk_current();
    if (!result && (!context || !context->alive)) {
        result = context ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                         : CUDA_ERROR_INVALID_CONTEXT;
    }
    if (!result) {
        fk_wait(context, NULL, FK_WAIT_CONTEXT, -1);
    }
    return fk_end(&call, result);
}

/* Functions between NVIDIA's libraries: a real driver has some. */
int
cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

int
cuGetErrorString(int error, const char **text)
{
    *text = error ? "an error of the double" : "no error";
    return CUDA_SUCCESS;
}

int
cuGetErrorName(int error, const char **text)
{
    *text = error ? "CUDA_ERROR_OF_THE_DOUBLE" : "CUDA_SUCCESS";
    return CUDA_SUCCESS;
}
