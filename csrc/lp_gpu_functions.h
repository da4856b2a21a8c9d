/* The module's functions about devices. */
#ifndef LP_GPU_FUNCTIONS_H
#define LP_GPU_FUNCTIONS_H

#include "lp_python.h"

extern PyMethodDef lp_gpu_functions[];

#endif
