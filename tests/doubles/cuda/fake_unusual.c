/* Workload of tests: calls that few programs make. */
#include "cuda/fake_cuda.h"

enum { PINNED = 2, DEVICE = 3 }; /* CUpti_ActivityMemoryKind */

int
fk_memset_stream(int stream, uint64_t bytes, uint64_t ns)
{
    fk_layers call;
    int result = fk_enter(&call, 51 /* cudaMemsetAsync */,
                          216 /* cuMemsetD8Async */, NULL);
    if (!result) {
        fk_work work = {.kind = FK_MEMSET,
                        .target = DEVICE,
                        .asynchronous = 1,
                        .bytes = bytes};
        fk_queue(call.context, fk_stream_of(call.context, stream), &work, ns);
    }
    return fk_leave(&call, result);
}

/* Copy so many times to the device by one call, asynchronously. */
int
fk_memcpy_batch(int stream, int count, uint64_t bytes, uint64_t ns)
{
    fk_layers call;
    int result = fk_enter(&call, 0, 796 /* cuMemcpyBatchAsync_v2 */, NULL);
    for (int i = 0; i < count && !result; i++) {
        fk_work work = {.kind = FK_MEMCPY,
                        .copy_kind = 1,
                        .source = PINNED,
                        .target = DEVICE,
                        .asynchronous = 1,
                        .bytes = bytes};
        fk_queue(call.context, fk_stream_of(call.context, stream), &work, ns);
    }
    return fk_leave(&call, result);
}

/* Destroy the context of the first device; the next call makes another. */
int
fk_primary_reset(void)
{
    fk_layers call;
    fk_pass_first(0); /* the device */
    int result =
        fk_enter(&call, 0, 545 /* cuDevicePrimaryCtxReset_v2 */, NULL);
    if (!result) {
        fk_context *context = fk_primary(0);
        if (fk_current() == context) {
            fk_pop(NULL);
        }
        fk_context_end(context);
    }
    return fk_leave(&call, result);
}
