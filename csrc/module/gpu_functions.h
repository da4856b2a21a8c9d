/* Functions of the module that concern devices. */
#ifndef LP_MODULE_GPU_FUNCTIONS_H
#define LP_MODULE_GPU_FUNCTIONS_H

#include "engine/python_compat.h"

extern PyMethodDef lp_gpu_functions[];

#endif
