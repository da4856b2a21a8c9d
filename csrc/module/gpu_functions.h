/* The module's functions about devices. */
#ifndef LP_MODULE_GPU_FUNCTIONS_H
#define LP_MODULE_GPU_FUNCTIONS_H

#include "engine/python_compat.h"

extern PyMethodDef lp_gpu_functions[];

#endif
