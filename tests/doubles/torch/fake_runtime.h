/* Shared by the files of PyTorch's double. */
#ifndef FAKE_RUNTIME_H
#define FAKE_RUNTIME_H

#include "cuda/fake_cuda.h"

#include <cuda_runtime_api.h>

#define CBID(name, version) CUPTI_RUNTIME_TRACE_CBID_##name##_v##version
#define RT_MEMORY (139ull << 30) /* bytes of a device */

void rt_start(void);            /* initialise CUDA, once */
cudaError_t rt_keep(int error); /* for cudaGetLastError(); returns it */

/* Begin a call that makes none of the driver; return the error, or 0. */
int rt_begin(fk_api_call *call, uint32_t cbid);
cudaError_t rt_end(fk_api_call *call, int error);
cudaError_t rt_seen(uint32_t cbid); /* no effect, but a tool sees it */
cudaError_t rt_refused(uint32_t cbid);

int rt_index_of(cudaStream_t stream);
fk_stream *rt_queue_of(cudaStream_t stream);
bool rt_is_capturing(cudaStream_t stream);
int rt_kind_of(const void *at); /* of memory: CUpti_ActivityMemoryKind */

/* Have a kernel run for `ns`, or, if that is 0, as its threads need. */
cudaError_t rt_run(const char *name, cudaStream_t stream, uint64_t ns,
                   dim3 grid, dim3 block, size_t shared);

#endif
