/* Devices of the double: contexts, streams, and the times of work.
 *
 * A stream runs its work in order: each piece begins at the max of now and the
 * end of the previous piece, or at the time set by fk_at().  No kernel runs.
 */
#include "cuda/fake_cuda.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { STACK = 32 };

pthread_mutex_t fk_lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic(const fk_tool *) tool;
static fk_context *contexts;         /* newest first; under fk_lock */
static uint32_t last_uid;            /* under fk_lock */
static uint64_t idle_ns[FK_STREAMS]; /* of each device; under fk_lock */
static fk_context *primary[FK_STREAMS];
static _Atomic(void (*)(uint64_t)) waiter;
static _Atomic bool really;

static _Thread_local fk_context *stack[STACK];
static _Thread_local int depth;
static _Thread_local uint64_t next_start; /* of fk_at(); 0: not set */

/* --- the clock ------------------------------------------------------- */

void
fk_attach(const fk_tool *attached)
{
    tool = attached;
}

const fk_tool *
fk_tool_now(void)
{
    return tool;
}

uint64_t
fk_now(void)
{
    const fk_tool *attached = tool;
    if (attached) {
        return attached->now();
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Return the current time of records in ns. */
uint64_t
fk_clock(void)
{
    return fk_now();
}

/* Shift the times of streams with the clock, so that pending work remains. */
void
fk_shift(int64_t ns)
{
    pthread_mutex_lock(&fk_lock);
    for (fk_context *context = contexts; context; context = context->next) {
        for (int i = 0; i < FK_STREAMS; i++) {
            if (context->streams[i].free_at) {
                context->streams[i].free_at += (uint64_t)ns;
            }
        }
    }
    pthread_mutex_unlock(&fk_lock);
}

/* --- contexts -------------------------------------------------------- */

static fk_context *
context_new(uint32_t device)
{
    fk_context *context = calloc(1, sizeof *context);
    if (!context) {
        abort();
    }
    context->device = device;
    context->uid = ++last_uid;
    context->alive = true;
    for (uint32_t i = 0; i < FK_STREAMS; i++) {
        context->streams[i].id = FK_FIRST_STREAM + i;
    }
    context->next = contexts;
    contexts = context;
    return context;
}

fk_context *
fk_context_new(uint32_t device)
{
    pthread_mutex_lock(&fk_lock);
    fk_context *context = context_new(device);
    pthread_mutex_unlock(&fk_lock);
    fk_resource(1 /* CUPTI_CBID_RESOURCE_CONTEXT_CREATED */, context, NULL);
    return context;
}

int
fk_has_context(void)
{
    pthread_mutex_lock(&fk_lock);
    bool found = contexts != NULL;
    pthread_mutex_unlock(&fk_lock);
    return found;
}

fk_context *
fk_context_of(uint32_t uid)
{
    pthread_mutex_lock(&fk_lock);
    fk_context *context = contexts;
    while (context && context->uid != uid) {
        context = context->next;
    }
    pthread_mutex_unlock(&fk_lock);
    return context && context->alive ? context : NULL;
}

void
fk_context_end(fk_context *context)
{
    fk_wait(context, NULL, 0, -1);
    fk_resource(2 /* CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING */, context,
                NULL);
    context->alive = false;
    pthread_mutex_lock(&fk_lock);
    if (primary[context->device] == context) {
        primary[context->device] = NULL;
    }
    pthread_mutex_unlock(&fk_lock);
}

fk_context *
fk_primary(uint32_t device)
{
    pthread_mutex_lock(&fk_lock);
    bool made = !primary[device];
    if (made) {
        primary[device] = context_new(device);
    }
    fk_context *context = primary[device];
    pthread_mutex_unlock(&fk_lock);
    if (made) {
        fk_resource(1 /* CUPTI_CBID_RESOURCE_CONTEXT_CREATED */, context,
                    NULL);
    }
    return context;
}

fk_context *
fk_current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

void
fk_make_current(fk_context *context)
{
    depth += !depth;
    stack[depth - 1] = context;
}

/* As in the runtime, a thread without a context gets the first device's. */
int
fk_current_or_primary(fk_context **context)
{
    *context = fk_current();
    if (!*context) {
        *context = fk_primary(0);
        fk_make_current(*context);
    }
    return (*context)->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

fk_stream *
fk_stream_of(fk_context *context, int stream)
{
    return &context->streams[(unsigned)stream % FK_STREAMS];
}

int
fk_push(fk_context *context)
{
    if (!context) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (!context->alive) {
        fk_misuse("a destroyed context is made current");
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (depth == STACK) {
        fk_misuse("contexts are pushed and never popped");
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

int
fk_pop(fk_context **context)
{
    if (!depth) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    depth--;
    if (context) {
        *context = stack[depth];
    }
    return CUDA_SUCCESS;
}

/* --- work ------------------------------------------------------------ */

/* Set the start of the next piece of work of this thread. */
void
fk_at(uint64_t start)
{
    next_start = start;
}

/* Add the time from the end of all work of a device to `start`; under the
 * lock. */
static void
add_idle(uint32_t device, uint64_t start)
{
    uint64_t free_at = 0;
    for (fk_context *context = contexts; context; context = context->next) {
        for (int i = 0; context->device == device && i < FK_STREAMS; i++) {
            uint64_t end = context->streams[i].free_at;
            free_at = end > free_at ? end : free_at;
        }
    }
    if (free_at && start > free_at) {
        idle_ns[device] += start - free_at;
    }
}

/* Return for how long a device was idle between its first and last work, if
 * its work began in the order of the calls. */
uint64_t
fk_idle_ns(int device)
{
    pthread_mutex_lock(&fk_lock);
    uint64_t ns = idle_ns[device];
    pthread_mutex_unlock(&fk_lock);
    return ns;
}

void
fk_queue(fk_context *context, fk_stream *stream, fk_work *work, uint64_t ns)
{
    work->device = context->device;
    work->context = context->uid;
    work->stream = stream->id;
    work->queue = stream;
    fk_correlate(work);
    uint64_t now = fk_now();
    pthread_mutex_lock(&fk_lock);
    struct fk_graph *graph = stream->capturing;
    if (!graph) {
        uint64_t free_at = stream->free_at;
        work->start = next_start ? next_start : now > free_at ? now : free_at;
        work->end = work->start + ns;
        add_idle(context->device, work->start);
        stream->free_at = work->end > free_at ? work->end : free_at;
        work->number = ++stream->queued;
    }
    pthread_mutex_unlock(&fk_lock);
    next_start = 0;
    if (graph) {
        fk_graph_add(graph, context, work, ns);
    }
    else {
        fk_tell(work);
    }
}

/* --- waiting --------------------------------------------------------- */

/* Set the function that blocking calls wait with: it advances a clock. */
void
fk_on_wait(void (*passes)(uint64_t ns))
{
    waiter = passes;
}

/* Have blocking calls sleep if no waiter is set. */
void
fk_wait_really(int on)
{
    really = on != 0;
}

void
fk_pass(uint64_t ns)
{
    void (*passes)(uint64_t) = waiter;
    if (passes) {
        passes(ns);
    }
    else if (really) {
        struct timespec left = {(time_t)(ns / 1000000000u),
                                (long)(ns % 1000000000u)};
        while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
        }
    }
}

/* Report the end of a wait to the tool. */
static void
tell_wait(fk_context *context, fk_stream *stream, uint32_t type,
          uint64_t start)
{
    fk_work work = {.kind = FK_SYNC,
                    .variety = type,
                    .device = context->device,
                    .context = context->uid,
                    .stream = stream ? stream->id : UINT32_MAX,
                    .start = start,
                    .end = fk_now()};
    fk_correlate(&work);
    fk_tell(&work);
}

void
fk_wait(fk_context *context, fk_stream *stream, uint32_t type, int64_t ns)
{
    fk_stream *first = stream ? stream : context->streams;
    fk_stream *end = stream ? stream + 1 : context->streams + FK_STREAMS;
    uint64_t queued[FK_STREAMS];
    uint64_t free_at = 0;
    pthread_mutex_lock(&fk_lock);
    for (fk_stream *one = first; one < end; one++) {
        queued[one - first] = one->queued;
        free_at = one->free_at > free_at ? one->free_at : free_at;
    }
    pthread_mutex_unlock(&fk_lock);
    uint64_t now = fk_now();
    uint64_t left = free_at > now ? free_at - now : 0;
    uint64_t passes = ns < 0 ? left : (uint64_t)ns;
    if (passes) {
        fk_pass(passes);
    }
    pthread_mutex_lock(&fk_lock);
    for (fk_stream *one = first; one < end; one++) {
        if (queued[one - first] > one->synced) {
            one->synced = queued[one - first];
        }
    }
    pthread_mutex_unlock(&fk_lock);
    if (type) {
        tell_wait(context, stream, type, now);
    }
}
