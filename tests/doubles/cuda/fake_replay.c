/* Replay of a trace: calls that begin and end at given times, on threads that
 * take turns, and the records of the trace as they are.
 *
 * Each beginning and each end of a call is a step.  The steps are in the order
 * of their times, and a thread keeps its turn until it comes to its next step:
 * what it does in between, it does at one time of the waiter's clock.
 */
#include "cuda/fake_cuda.h"

#include <string.h>
#include <time.h>

enum { DEPTH = 8, SECOND = 1000000000 };

static const fk_step *steps; /* borrowed, and the same for works */
static const fk_traced *works;
static uint32_t missing; /* threads that have not come yet; under turns */
static uint32_t turn;    /* number of the step that may be taken; the same */
static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;

static _Thread_local bool came, has_turn;

/* Set the steps of all threads, and the records that they refer to. */
void
fk_replay(const fk_step *all, const fk_traced *records, int threads)
{
    steps = all;
    works = records;
    missing = (uint32_t)threads;
}

/* The thread takes no further step, or waits for its next one. */
void
fk_replay_pass(void)
{
    pthread_mutex_lock(&turns);
    turn += has_turn;
    has_turn = false;
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&turns);
}

static void
await_turn(uint32_t step)
{
    fk_replay_pass();
    pthread_mutex_lock(&turns);
    missing -= !came;
    came = has_turn = true;
    pthread_cond_broadcast(&moved);
    while (missing || turn != step) {
        pthread_cond_wait(&moved, &turns);
    }
    pthread_mutex_unlock(&turns);
}

/* Have the waiter spend the time until then. */
static void
reach(uint64_t time)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
    if (time > ns) {
        fk_pass(time - ns);
    }
}

/* Have a context of this device have the id that it has in the trace. */
void
fk_replay_context(int device, uint32_t id, int is_first)
{
    fk_context *context = is_first ? fk_primary((uint32_t)device)
                                   : fk_context_new((uint32_t)device);
    fk_context *other = fk_context_of(id);
    if (other) {
        other->uid = context->uid;
    }
    context->uid = id;
}

static fk_work
work_of(const fk_traced *from)
{
    fk_work work = {.kind = from->kind,
                    .correlation = from->correlation,
                    .runtime_correlation = from->correlation,
                    .device = from->device,
                    .context = from->context,
                    .stream = from->stream,
                    .start = from->start,
                    .end = from->end,
                    .bytes = from->bytes,
                    .name = from->name ? fk_intern(from->name) : NULL,
                    .dynamic_smem = from->dynamic_smem,
                    .registers = (uint16_t)from->registers,
                    .copy_kind = (uint8_t)from->copy_kind,
                    .source = (uint8_t)from->source,
                    .target = (uint8_t)from->target,
                    .peer = from->peer};
    memcpy(work.grid, from->grid, sizeof work.grid);
    memcpy(work.block, from->block, sizeof work.block);
    return work;
}

/* Report records of the trace, from number `first` on. */
void
fk_replay_records(uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        fk_work work = work_of(&works[i]);
        work.queue =
            fk_stream_of(fk_context_of(work.context), (int)work.stream);
        pthread_mutex_lock(&fk_lock);
        work.number = ++work.queue->queued;
        if (work.end > work.queue->free_at) {
            work.queue->free_at = work.end;
        }
        pthread_mutex_unlock(&fk_lock);
        fk_tell(&work);
    }
}

/* Take a step and those that follow it on the same line of the program. */
int
fk_replay_line(uint32_t first)
{
    fk_api_call calls[DEPTH];
    size_t depth = 0;
    uint32_t at = first;
    do {
        const fk_step *step = &steps[at];
        await_turn(at);
        reach(step->time);
        if (!step->domain) {
            fk_end(&calls[--depth], CUDA_SUCCESS);
        }
        else if (depth == DEPTH) {
            fk_misuse("a trace has calls in too many others");
        }
        else {
            fk_make_current(fk_context_of(step->context));
            fk_identify(step->correlation);
            fk_begin(&calls[depth++], step->domain, step->cbid, NULL);
            fk_replay_records(step->records, step->count);
        }
        at = step->next;
    } while (at);
    return CUDA_SUCCESS;
}
