/* The backend for NVIDIA's devices, by CUPTI's callbacks and activity
 * records. */
#ifndef LP_GPU_CUPTI_H
#define LP_GPU_CUPTI_H

#include "lp_gpu.h"

extern const lp_gpu_backend lp_gpu_cupti;

#endif
