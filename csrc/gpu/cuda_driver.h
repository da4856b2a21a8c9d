/* The few functions of the CUDA driver that lineprof calls.
 *
 * cuInit is never called, because a process that forks after cuInit cannot use
 * CUDA in the child.  Before the program's own cuInit most of these functions
 * return CUDA_ERROR_NOT_INITIALIZED.
 */
#ifndef LP_GPU_CUDA_DRIVER_H
#define LP_GPU_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/backend.h"

typedef struct lp_cuda_driver {
    int (*version)(int *version);
    int (*current)(void **context);
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*synchronize)(void);
    int (*device)(int *device, int ordinal);
    int (*device_name)(char *name, int capacity, int device);
    int (*attribute)(int *value, int attribute, int device);
    void *has_export_table; /* NULL in a library that is no real driver */
} lp_cuda_driver;

/* Load the driver; false with the reason in `why`. */
bool lp_cuda_driver_open(lp_cuda_driver *cuda, const char *library, char *why,
                         size_t capacity);

/* False for a library that only has the name of the driver, such as a stub to
 * link with, and for a driver without its kernel module. */
bool lp_cuda_driver_works(const lp_cuda_driver *cuda);

/* Wait for all work of a context; false on an error. */
bool lp_cuda_driver_wait(const lp_cuda_driver *cuda, void *context);

/* Return the major number of a device's compute capability; 0 if there is no
 * such device, or CUDA is not initialised. */
int lp_cuda_driver_capability(const lp_cuda_driver *cuda, uint32_t device);

void lp_cuda_driver_describe(const lp_cuda_driver *cuda, uint32_t device,
                             lp_gpu_device *description);

#endif
