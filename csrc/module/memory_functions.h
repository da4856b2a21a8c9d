/* The functions of the module that measure host memory. */
#ifndef LP_MODULE_MEMORY_FUNCTIONS_H
#define LP_MODULE_MEMORY_FUNCTIONS_H

#include "engine/python_compat.h"

extern PyMethodDef lp_memory_functions[];

#endif
