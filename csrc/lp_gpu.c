#include "lp_gpu.h"

#include <string.h>

#include "lp_gpu_cupti.h"

static const lp_gpu_backend *const backends[] = {&lp_gpu_cupti};

const lp_gpu_backend *
lp_gpu_find(const char *name)
{
    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
        if (strcmp(backends[i]->name, name) == 0) {
            return backends[i];
        }
    }
    return NULL;
}
