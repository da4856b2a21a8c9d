/* Memory of the CUDA runtime's double: memory of the host, so that copies and
 * memsets are made, and made at once.
 */
#include "cuda/fake_cuda.h"
#include "torch/fake_runtime.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGEABLE = 1, PINNED = 2, DEVICE = 3 }; /* CUpti_ActivityMemoryKind */

typedef struct block {
    struct block *next;
    uintptr_t at;
    size_t bytes;
    int kind;
} block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block *blocks;       /* of the device, or pinned; under the lock */
static size_t device_bytes; /* under the lock */

/* --- memory ---------------------------------------------------------- */

static void
add_block(void *at, size_t bytes, int kind)
{
    block *made = malloc(sizeof *made);
    if (!made) {
        abort();
    }
    pthread_mutex_lock(&lock);
    *made = (block){blocks, (uintptr_t)at, bytes, kind};
    blocks = made;
    device_bytes += kind == DEVICE ? bytes : 0;
    pthread_mutex_unlock(&lock);
}

/* Return the kind of memory at an address. */
int
rt_kind_of(const void *at)
{
    pthread_mutex_lock(&lock);
    block *one = blocks;
    while (one && (uintptr_t)at - one->at >= one->bytes) {
        one = one->next;
    }
    int kind = one ? one->kind : PAGEABLE;
    pthread_mutex_unlock(&lock);
    return kind;
}

/* Remove a block; return its size, 0 if there is none at the address. */
static size_t
remove_block(const void *at)
{
    size_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (block **link = &blocks; *link; link = &(*link)->next) {
        block *one = *link;
        if (one->at == (uintptr_t)at) {
            *link = one->next;
            bytes = one->bytes;
            device_bytes -= one->kind == DEVICE ? bytes : 0;
            free(one);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* Return memory that takes none until it is written to; NULL on failure. */
static void *
mapped(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static cudaError_t
allocate(void **at, size_t bytes, uint32_t runtime, uint32_t driver,
         uint64_t pool)
{
    rt_start();
    *at = NULL;
    if (!bytes) {
        return cudaSuccess;
    }
    void *made = bytes < RT_MEMORY ? mapped(bytes) : NULL;
    if (!made) {
        return rt_keep(cudaErrorMemoryAllocation);
    }
    if (!fk_allocate(runtime, driver, (uintptr_t)made, bytes, DEVICE, pool)) {
        munmap(made, bytes);
        return rt_keep(cudaErrorInitializationError);
    }
    add_block(made, bytes, DEVICE);
    *at = made;
    return cudaSuccess;
}

static cudaError_t
release(void *at, uint32_t runtime, uint32_t driver, bool waits)
{
    if (!at) {
        return rt_seen(runtime);
    }
    int error = fk_release(runtime, driver, (uintptr_t)at, waits);
    size_t bytes = error ? 0 : remove_block(at);
    if (bytes) {
        munmap(at, bytes);
    }
    return rt_keep(error);
}

cudaError_t
cudaMalloc(void **at, size_t bytes)
{
    return allocate(at, bytes, CBID(cudaMalloc, 3020), 243, 0);
}

cudaError_t
cudaFree(void *at)
{
    return release(at, CBID(cudaFree, 3020), 245, true);
}

cudaError_t
cudaMallocAsync(void **at, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    return allocate(at, bytes, CBID(cudaMallocAsync, 11020),
                    CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, 1);
}

cudaError_t
cudaFreeAsync(void *at, cudaStream_t stream)
{
    (void)stream;
    return release(at, CBID(cudaFreeAsync, 11020),
                   CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync, false);
}

cudaError_t
cudaHostAlloc(void **at, size_t bytes, unsigned flags)
{
    (void)flags;
    *at = mapped(bytes);
    if (*at) {
        add_block(*at, bytes, PINNED);
    }
    return rt_seen(CBID(cudaHostAlloc, 3020));
}

cudaError_t
cudaFreeHost(void *at)
{
    size_t bytes = remove_block(at);
    if (bytes) {
        munmap(at, bytes);
    }
    return rt_seen(CBID(cudaFreeHost, 3020));
}

cudaError_t
cudaHostRegister(void *at, size_t bytes, unsigned flags)
{
    (void)flags;
    add_block(at, bytes, PINNED);
    return rt_seen(CBID(cudaHostRegister, 4000));
}

cudaError_t
cudaHostUnregister(void *at)
{
    remove_block(at);
    return rt_seen(CBID(cudaHostUnregister, 4000));
}

cudaError_t
cudaPointerGetAttributes(struct cudaPointerAttributes *found, const void *at)
{
    int kind = rt_kind_of(at);
    *found = (struct cudaPointerAttributes){
        .type = kind == DEVICE   ? cudaMemoryTypeDevice
                : kind == PINNED ? cudaMemoryTypeHost
                                 : cudaMemoryTypeUnregistered,
        .devicePointer = kind == PAGEABLE ? NULL : (void *)(uintptr_t)at,
        .hostPointer = kind == PINNED ? (void *)(uintptr_t)at : NULL,
    };
    return rt_seen(CBID(cudaPointerGetAttributes, 4000));
}

cudaError_t
cudaMemGetInfo(size_t *left, size_t *total)
{
    pthread_mutex_lock(&lock);
    *left = RT_MEMORY - device_bytes;
    pthread_mutex_unlock(&lock);
    *total = RT_MEMORY;
    return rt_seen(CBID(cudaMemGetInfo, 3020));
}

cudaError_t
cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    (void)device;
    *pool = (cudaMemPool_t)(uintptr_t)1;
    return rt_seen(CBID(cudaDeviceGetDefaultMemPool, 11020));
}

cudaError_t
cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                        void *value)
{
    (void)pool;
    (void)attribute;
    pthread_mutex_lock(&lock);
    *(uint64_t *)value = device_bytes;
    pthread_mutex_unlock(&lock);
    return rt_seen(CBID(cudaMemPoolGetAttribute, 11020));
}

cudaError_t
cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                        void *value)
{
    (void)pool;
    (void)attribute;
    (void)value;
    return rt_seen(CBID(cudaMemPoolSetAttribute, 11020));
}

cudaError_t
cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list,
                     size_t count)
{
    (void)pool;
    (void)list;
    (void)count;
    return rt_seen(CBID(cudaMemPoolSetAccess, 11020));
}

cudaError_t
cudaMemPoolTrimTo(cudaMemPool_t pool, size_t least)
{
    (void)pool;
    (void)least;
    return rt_seen(CBID(cudaMemPoolTrimTo, 11020));
}

/* --- copies ---------------------------------------------------------- */

static int
direction_of(int source, int target)
{
    return source == DEVICE ? (target == DEVICE ? 8 : 2)
                            : (target == DEVICE ? 1 : 9);
}

static uint64_t
copy_ns(int direction, size_t bytes)
{
    return 1000 + bytes / (direction == 8 ? 2000 : 50); /* 2 TB/s; 50 GB/s */
}

static cudaError_t
copy(void *target, const void *source, size_t bytes, cudaStream_t stream,
     bool blocking)
{
    rt_start();
    int from = rt_kind_of(source), to = rt_kind_of(target);
    int direction = direction_of(from, to);
    if (!rt_is_capturing(stream)) {
        memmove(target, source, bytes);
    }
    return rt_keep(fk_memcpy_stream(rt_index_of(stream), direction, bytes,
                                    copy_ns(direction, bytes), blocking, from,
                                    to));
}

cudaError_t
cudaMemcpyAsync(void *target, const void *source, size_t bytes,
                enum cudaMemcpyKind kind, cudaStream_t stream)
{
    (void)kind;
    return copy(target, source, bytes, stream, false);
}

cudaError_t
cudaMemcpy(void *target, const void *source, size_t bytes,
           enum cudaMemcpyKind kind)
{
    (void)kind;
    return copy(target, source, bytes, NULL, true);
}

cudaError_t
cudaMemcpyPeerAsync(void *target, int to, const void *source, int from,
                    size_t bytes, cudaStream_t stream)
{
    (void)to;
    (void)from;
    return copy(target, source, bytes, stream, false);
}

cudaError_t
cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source,
                  size_t source_pitch, size_t width, size_t height,
                  enum cudaMemcpyKind kind, cudaStream_t stream)
{
    (void)kind;
    int from = rt_kind_of(source), to = rt_kind_of(target);
    int direction = direction_of(from, to);
    for (size_t i = 0; i < height && !rt_is_capturing(stream); i++) {
        memmove((char *)target + i * target_pitch,
                (const char *)source + i * source_pitch, width);
    }
    return rt_keep(
        fk_memcpy_stream(rt_index_of(stream), direction, width * height,
                         copy_ns(direction, width * height), 0, from, to));
}

cudaError_t
cudaMemcpyToSymbol(const void *symbol, const void *source, size_t bytes,
                   size_t offset, enum cudaMemcpyKind kind)
{
    (void)symbol;
    (void)source;
    (void)offset;
    (void)kind;
    return rt_keep(
        fk_memcpy(1, bytes, copy_ns(1, bytes), 1, PAGEABLE, DEVICE));
}

cudaError_t
cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream)
{
    rt_start();
    if (!rt_is_capturing(stream)) {
        memset(at, value, bytes);
    }
    return rt_keep(
        fk_memset_stream(rt_index_of(stream), bytes, 1000 + bytes / 2000));
}

cudaError_t
cudaMemset(void *at, int value, size_t bytes)
{
    return cudaMemsetAsync(at, value, bytes, NULL);
}

cudaError_t
cudaGetSymbolAddress(void **at, const void *symbol)
{
    *at = (void *)(uintptr_t)symbol;
    return rt_seen(CBID(cudaGetSymbolAddress, 3020));
}
