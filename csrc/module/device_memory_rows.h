/* Memory of devices in a snapshot, as Python has it. */
#ifndef LP_MODULE_DEVICE_MEMORY_ROWS_H
#define LP_MODULE_DEVICE_MEMORY_ROWS_H

#include "engine/python_compat.h"

#include "gpu/device_memory.h"

/* [GIL] Return a new dict of lists, see _GpuMemory in _core.pyi; None if the
 * memory is not recorded, NULL with an exception set on failure. */
PyObject *lp_device_memory_rows(const lp_device_memory *memory);

#endif
