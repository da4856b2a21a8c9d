/* More of the workload: memory, migrations, native threads, any call. */
#include "cuda/fake_cuda.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct allocation {
    struct allocation *next;
    uint64_t address, bytes, pool;
    uint8_t memory; /* CUpti_ActivityMemoryKind */
} allocation;

typedef struct native_thread {
    struct native_thread *next;
    pthread_t thread;
    fk_context *context; /* of the thread that starts it */
    const char *name;    /* from fk_intern() */
    uint64_t ns;
    int count, result;
} native_thread;

static allocation *allocations; /* under fk_lock */
static uint64_t next_address = 0x7f0000000000;
static native_thread *running; /* under fk_lock */

/* --- memory ---------------------------------------------------------- */

static const char *_Atomic library; /* that allocates */

enum { DEVICE = 3 }; /* CUpti_ActivityMemoryKind */

static void
tell_memory(fk_context *context, uint32_t operation, const allocation *memory)
{
    fk_work work = {.kind = FK_MEMORY,
                    .variety = operation,
                    .target = memory->memory,
                    .device = context->device,
                    .context = context->uid,
                    .address = memory->address,
                    .bytes = memory->bytes,
                    .name = library,
                    .pool = memory->pool,
                    .start = fk_now()};
    work.end = work.start;
    fk_correlate(&work);
    fk_tell(&work);
}

static allocation *
take(uint64_t address)
{
    pthread_mutex_lock(&fk_lock);
    allocation **link = &allocations;
    while (*link && (*link)->address != address) {
        link = &(*link)->next;
    }
    allocation *found = *link;
    if (found) {
        *link = found->next;
    }
    pthread_mutex_unlock(&fk_lock);
    return found;
}

void
fk_allocator(const char *path)
{
    library = fk_intern(path);
}

/* Return an address, 0 on failure. */
uint64_t
fk_malloc(uint64_t bytes)
{
    return fk_malloc_at(0, bytes, DEVICE, 0);
}

/* The same at an address, or a new one, of a kind of memory
 * (CUpti_ActivityMemoryKind), from a pool unless that is 0. */
uint64_t
fk_malloc_at(uint64_t address, uint64_t bytes, int kind, uint64_t pool)
{
    return fk_allocate(20 /* cudaMalloc */, 243 /* cuMemAlloc_v2 */, address,
                       bytes, kind, pool);
}

uint64_t
fk_allocate(uint32_t runtime, uint32_t driver, uint64_t address,
            uint64_t bytes, int kind, uint64_t pool)
{
    fk_layers call;
    int result = fk_enter(&call, runtime, driver, NULL);
    allocation *memory = result ? NULL : malloc(sizeof *memory);
    if (memory) {
        pthread_mutex_lock(&fk_lock);
        *memory = (allocation){.next = allocations,
                               .address = address ? address : next_address,
                               .bytes = bytes,
                               .pool = pool,
                               .memory = (uint8_t)kind};
        next_address += (bytes + 511) / 512 * 512;
        allocations = memory;
        pthread_mutex_unlock(&fk_lock);
        tell_memory(call.context, 1 /* ..._TYPE_ALLOCATION */, memory);
    }
    fk_leave(&call, result);
    return memory ? memory->address : 0;
}

int
fk_free(uint64_t address)
{
    return fk_release(22 /* cudaFree */, 245 /* cuMemFree_v2 */, address,
                      true);
}

int
fk_release(uint32_t runtime, uint32_t driver, uint64_t address, bool waits)
{
    fk_layers call;
    int result = fk_enter(&call, runtime, driver, NULL);
    allocation *memory = result ? NULL : take(address);
    if (memory) {
        if (waits) {
            fk_wait(call.context, NULL, 0, -1);
        }
        tell_memory(call.context, 2 /* ..._TYPE_RELEASE */, memory);
    }
    else {
        result = result ? result : CUDA_ERROR_INVALID_VALUE;
    }
    free(memory);
    return fk_leave(&call, result);
}

/* Migrate managed memory without a call; direction: 1 HtoD, 2 DtoH. */
int
fk_managed_migration(int direction, uint64_t bytes, uint64_t ns)
{
    fk_context *context;
    int result = fk_ready("");
    result = result ? result : fk_current_or_primary(&context);
    if (!result) {
        fk_work work = {.kind = FK_MIGRATION,
                        .variety = (uint32_t)direction,
                        .device = context->device,
                        .context = context->uid,
                        .address = 0x7fff00000000,
                        .bytes = bytes,
                        .start = fk_now()};
        work.end = work.start + ns;
        fk_tell(&work);
    }
    return result;
}

/* --- threads without Python ------------------------------------------ */

static void *
run_native(void *argument)
{
    native_thread *self = argument;
    fk_make_current(self->context);
    self->result = fk_launch_many(self->name, (uint64_t)self->count, self->ns);
    return NULL;
}

/* Start a thread that launches `count` kernels; fk_native_join() waits. */
int
fk_launch_from_native_thread_async(const char *name, uint64_t ns, int count)
{
    native_thread *made = malloc(sizeof *made);
    if (!made) {
        abort();
    }
    *made = (native_thread){.context = fk_current(),
                            .name = fk_intern(name),
                            .ns = ns,
                            .count = count};
    if (pthread_create(&made->thread, NULL, run_native, made)) {
        abort();
    }
    pthread_mutex_lock(&fk_lock);
    made->next = running;
    running = made;
    pthread_mutex_unlock(&fk_lock);
    return CUDA_SUCCESS;
}

/* Join all native threads; return the result of the first that failed. */
int
fk_native_join(void)
{
    pthread_mutex_lock(&fk_lock);
    native_thread *one = running;
    running = NULL;
    pthread_mutex_unlock(&fk_lock);
    int result = CUDA_SUCCESS;
    while (one) {
        native_thread *next = one->next;
        pthread_join(one->thread, NULL);
        result = result ? result : one->result;
        free(one);
        one = next;
    }
    return result;
}

int
fk_launch_from_native_thread(const char *name, uint64_t ns, int count)
{
    fk_launch_from_native_thread_async(name, ns, count);
    return fk_native_join();
}

/* --- calls ----------------------------------------------------------- */

int
fk_profiler_start(void)
{
    fk_layers call;
    return fk_leave(&call, fk_enter(&call, 171 /* cudaProfilerStart */,
                                    308 /* cuProfilerStart */, NULL));
}

int
fk_profiler_stop(void)
{
    fk_layers call;
    return fk_leave(&call, fk_enter(&call, 172 /* cudaProfilerStop */,
                                    309 /* cuProfilerStop */, NULL));
}

/* Call any function, which has no effect except that a tool sees the call. */
int
fk_call(int domain, int cbid)
{
    return fk_call_result(domain, cbid, CUDA_SUCCESS);
}

int
fk_call_result(int domain, int cbid, int result)
{
    fk_api_call call;
    if (domain == FK_DRIVER &&
        (cbid == 11 || cbid == 322)) { /* cuCtxDestroy */
        fk_pass_first((uintptr_t)fk_current());
    }
    fk_begin(&call, (uint32_t)domain, (uint32_t)cbid, NULL);
    return fk_end(&call, result);
}
