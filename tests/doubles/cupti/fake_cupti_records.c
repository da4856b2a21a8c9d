/* Activity records in the layout of each release of CUPTI.
 *
 * Only fields with the same place in all releases have values: other fields,
 * and those appended by newer releases, are garbage, so that no client can
 * rely on them.
 */
#include "cupti/fake_cupti.h"

#include <string.h>
#include <unistd.h>

enum { GARBAGE = 0xA5 };

static void
put8(uint8_t *at, size_t offset, uint64_t value)
{
    at[offset] = (uint8_t)value;
}

static void
put16(uint8_t *at, size_t offset, uint64_t value)
{
    uint16_t narrow = (uint16_t)value;
    memcpy(at + offset, &narrow, sizeof narrow);
}

static void
put32(uint8_t *at, size_t offset, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    memcpy(at + offset, &narrow, sizeof narrow);
}

static void
put64(uint8_t *at, size_t offset, uint64_t value)
{
    memcpy(at + offset, &value, sizeof value);
}

size_t
fk_record_size(uint32_t kind)
{
    const fk_release *release = fk_release_now();
    switch (kind) {
    case FK_KERNEL:
    case FK_KERNEL_SERIAL:
        return release->kernel;
    case FK_MEMCPY:
        return release->copy;
    case FK_MEMSET:
        return release->memset;
    case FK_PEER_COPY:
        return 96;
    case FK_API_DRIVER:
    case FK_API_RUNTIME:
        return 40;
    case FK_MIGRATION:
        return release->migration;
    case FK_SYNC:
        return release->wait;
    case FK_MEMORY:
        return release->memory;
    case FK_GRAPH:
        return release->graph;
    case FK_DEVICE_GRAPH:
        return release->version >= 26 ? 56 : 0;
    default:
        return 0;
    }
}

/* CUpti_ActivityKernel4 to 13 */
static void
write_kernel(uint8_t *at, const fk_work *work, const char *name)
{
    put16(at, 6, work->registers);
    put64(at, 16, work->start);
    put64(at, 24, work->end);
    put64(at, 32, work->end); /* completed */
    put32(at, 40, work->device);
    put32(at, 44, work->context);
    put32(at, 48, work->stream);
    for (size_t i = 0; i < 3; i++) {
        put32(at, 52 + 4 * i, (uint32_t)work->grid[i]);
        put32(at, 64 + 4 * i, (uint32_t)work->block[i]);
    }
    put32(at, 76, work->static_smem);
    put32(at, 80, work->dynamic_smem);
    put32(at, 92, work->correlation);
    put64(at, 104, (uintptr_t)name);
    put64(at, 120, 0); /* queued, submitted: not enabled */
    put64(at, 128, 0);
    put64(at, 144, work->node);
    put32(at, 156, work->graph);
    if (fk_release_now()->kernel >= 216) { /* isDeviceLaunched */
        put8(at, 208, work->by_device);
    }
    if (fk_release_now()->kernel >= 248) { /* sourceGraphId, ...NodeId */
        put32(at, 232, work->graph);
        put64(at, 240, work->original);
    }
}

/* CUpti_ActivityMemcpy4 to 7; MemcpyPtoP4 differs from byte 44 on */
static void
write_copy(uint8_t *at, const fk_work *work)
{
    put8(at, 4, work->copy_kind);
    put8(at, 5, work->source);
    put8(at, 6, work->target);
    put8(at, 7, work->asynchronous);
    put64(at, 8, work->bytes);
    put64(at, 16, work->start);
    put64(at, 24, work->end);
    put32(at, 32, work->device);
    put32(at, 36, work->context);
    put32(at, 40, work->stream);
    if (work->kind == FK_PEER_COPY) {
        put32(at, 44, work->device);
        put32(at, 52, work->peer);
        put32(at, 60, work->correlation);
        put64(at, 72, work->node);
        put32(at, 80, work->graph);
        return;
    }
    put32(at, 44, work->correlation);
    put32(at, 48, work->runtime_correlation);
    put64(at, 64, work->node);
    put32(at, 72, work->graph);
    if (fk_release_now()->copy >= 96) {
        put8(at, 84, work->by_device);
    }
    if (fk_release_now()->copy >= 112) { /* as in a kernel's record */
        put32(at, 96, work->graph);
        put64(at, 104, work->original);
    }
}

/* CUpti_ActivityMemset4, 5 */
static void
write_memset(uint8_t *at, const fk_work *work)
{
    put32(at, 4, 0); /* value */
    put64(at, 8, work->bytes);
    put64(at, 16, work->start);
    put64(at, 24, work->end);
    put32(at, 32, work->device);
    put32(at, 36, work->context);
    put32(at, 40, work->stream);
    put32(at, 44, work->correlation);
    put16(at, 48, work->asynchronous);
    put16(at, 50, work->target);
    put64(at, 64, work->node);
    put32(at, 72, work->graph);
    if (fk_release_now()->version >= 130000) {
        put8(at, 84, work->by_device);
    }
    if (fk_release_now()->memset >= 104) {
        put32(at, 88, work->graph);
        put64(at, 96, work->original);
    }
}

/* CUpti_ActivityAPI; the thread is in peer, the result in address */
static void
write_api(uint8_t *at, const fk_work *work)
{
    put32(at, 4, work->variety);
    put64(at, 8, work->start);
    put64(at, 16, work->end);
    put32(at, 24, (uint32_t)getpid());
    put32(at, 28, work->peer);
    put32(at, 32, work->correlation);
    put32(at, 36, work->address);
}

/* CUpti_ActivityUnifiedMemoryCounter2, 3 */
static void
write_migration(uint8_t *at, const fk_work *work)
{
    bool up = work->variety == 1;
    put32(at, 4, work->variety);
    put64(at, 8, work->bytes);
    put64(at, 16, work->start);
    put64(at, 24, work->end);
    put64(at, 32, work->address);
    put32(at, 40, up ? UINT32_MAX : work->device); /* UINT32_MAX: the host */
    put32(at, 44, up ? work->device : UINT32_MAX);
    put32(at, 48, 0); /* stream */
    put32(at, 52, (uint32_t)getpid());
    put32(at, 56, 0); /* flags */
}

/* CUpti_ActivityMemory2 to 4 */
static void
write_memory(uint8_t *at, const fk_work *work)
{
    put32(at, 4, work->variety);
    put32(at, 8, work->target);
    put32(at, 12, work->correlation);
    put64(at, 16, work->address);
    put64(at, 24, work->bytes);
    put64(at, 32, work->start);
    put32(at, 48, (uint32_t)getpid());
    put32(at, 52, work->device);
    put32(at, 56, work->context);
    put64(at, 64, 0);               /* name */
    put32(at, 72, work->pool != 0); /* isAsync */
    put32(at, 80, work->pool != 0); /* ..._POOL_TYPE_LOCAL or _INVALID */
    put64(at, 88, work->pool);
    if (work->client->attributes[FK_ALLOCATION_SOURCE] == 1 + true &&
        fk_release_now()->memory >= 128) {
        put64(at, 120, (uintptr_t)work->name); /* source */
    }
}

/* CUpti_ActivitySynchronization, 2 */
static void
write_wait(uint8_t *at, const fk_work *work)
{
    put32(at, 4, work->variety);
    put64(at, 8, work->start);
    put64(at, 16, work->end);
    put32(at, 24, work->correlation);
    put32(at, 28, work->context);
    put32(at, 32, work->stream);
    put32(at, 36, 0); /* cudaEventId */
}

/* CUpti_ActivityGraphTrace, 2 */
static void
write_graph(uint8_t *at, const fk_work *work)
{
    put32(at, 4, work->correlation);
    put64(at, 8, work->start);
    put64(at, 16, work->end);
    put32(at, 24, work->device);
    put32(at, 28, work->graph);
    put32(at, 32, work->context);
    put32(at, 36, work->stream);
}

/* CUpti_ActivityDeviceGraphTrace */
static void
write_device_graph(uint8_t *at, const fk_work *work)
{
    put32(at, 4, work->device);
    put64(at, 8, work->start);
    put64(at, 16, work->end);
    put32(at, 24, work->graph);
    put32(at, 28, work->launcher);
    put32(at, 32, 1); /* fire and forget */
    put32(at, 36, work->context);
    put64(at, 40, work->stream);
}

void
fk_record_write(uint8_t *at, const fk_work *work, const char *name)
{
    memset(at, GARBAGE, fk_record_size(work->kind));
    put32(at, 0, work->kind);
    switch (work->kind) {
    case FK_MEMCPY:
    case FK_PEER_COPY:
        write_copy(at, work);
        break;
    case FK_MEMSET:
        write_memset(at, work);
        break;
    case FK_API_DRIVER:
    case FK_API_RUNTIME:
        write_api(at, work);
        break;
    case FK_MIGRATION:
        write_migration(at, work);
        break;
    case FK_MEMORY:
        write_memory(at, work);
        break;
    case FK_SYNC:
        write_wait(at, work);
        break;
    case FK_GRAPH:
        write_graph(at, work);
        break;
    case FK_DEVICE_GRAPH:
        write_device_graph(at, work);
        break;
    default:
        write_kernel(at, work, name);
    }
}
