#include "gpu/cuda_driver.h"

#include "gpu/dynlib.h"

#define SYMBOL(name, field) {name, offsetof(lp_cuda_driver, field), false}
#define OPTIONAL(name, field) {name, offsetof(lp_cuda_driver, field), true}

static const lp_symbol symbols[] = {
    SYMBOL("cuDriverGetVersion", version),
    SYMBOL("cuCtxGetCurrent", current),
    SYMBOL("cuCtxPushCurrent_v2", push),
    SYMBOL("cuCtxPopCurrent_v2", pop),
    SYMBOL("cuCtxSynchronize", synchronize),
    SYMBOL("cuDeviceGet", device),
    SYMBOL("cuDeviceGetName", device_name),
    SYMBOL("cuDeviceGetAttribute", attribute),
    OPTIONAL("cuGetExportTable", has_export_table),
};

#undef SYMBOL
#undef OPTIONAL

/* CUdevice_attribute, by the names used in reports. */
static const lp_gpu_attribute attributes[] = {
    {"threads_per_block", 1},
    {"smem_per_block", 8},
    {"warp_size", 10},
    {"registers_per_block", 12},
    {"sms", 16},
    {"threads_per_sm", 39},
    {"cc_major", 75},
    {"cc_minor", 76},
    {"smem_per_sm", 81},
    {"registers_per_sm", 82},
    {"blocks_per_sm", 106},
    {"reserved_smem_per_block", 111},
};

enum { N_ATTRIBUTES = sizeof(attributes) / sizeof(attributes[0]) };

_Static_assert(N_ATTRIBUTES <= (int)LP_GPU_ATTRIBUTES, "they fit");

bool
lp_cuda_driver_open(lp_cuda_driver *cuda, const char *library, char *why,
                    size_t capacity)
{
    void *handle = lp_dynlib_open(library, why, capacity);

    return handle != NULL &&
           lp_dynlib_find(handle, symbols,
                          sizeof(symbols) / sizeof(symbols[0]), cuda, why,
                          capacity);
}

bool
lp_cuda_driver_works(const lp_cuda_driver *cuda)
{
    int version = 0;

    return cuda->has_export_table != NULL && cuda->version(&version) == 0;
}

bool
lp_cuda_driver_wait(const lp_cuda_driver *cuda, void *context)
{
    void *popped;
    int status;

    if (cuda->push(context) != 0) {
        return false;
    }
    status = cuda->synchronize();
    cuda->pop(&popped);
    return status == 0;
}

enum { CC_MAJOR = 75 };

int
lp_cuda_driver_capability(const lp_cuda_driver *cuda, uint32_t device)
{
    int handle, major = 0;

    return cuda->device(&handle, (int)device) == 0 &&
                   cuda->attribute(&major, CC_MAJOR, handle) == 0
               ? major
               : 0;
}

void
lp_cuda_driver_describe(const lp_cuda_driver *cuda, uint32_t device,
                        lp_gpu_device *description)
{
    int handle;

    description->name[0] = '\0';
    description->n_attributes = 0;
    if (cuda->device(&handle, (int)device) != 0) {
        return;
    }
    if (cuda->device_name(description->name, LP_GPU_NAME, handle) != 0) {
        description->name[0] = '\0';
    }
    description->name[LP_GPU_NAME - 1] = '\0';
    for (int i = 0; i < N_ATTRIBUTES; i++) {
        lp_gpu_attribute *next =
            &description->attributes[description->n_attributes];

        next->name = attributes[i].name;
        if (cuda->attribute(&next->value, attributes[i].value, handle) == 0) {
            description->n_attributes++;
        }
    }
}
