/* All that the ledger holds, for Python: see _core.pyi for the shape. */
#ifndef LP_GPU_SNAPSHOT_H
#define LP_GPU_SNAPSHOT_H

#include "lp_python.h"

/* [GIL] New dict, or None where no device is recorded; NULL with an
 * exception. */
PyObject *lp_gpu_snapshot_take(void);

#endif
