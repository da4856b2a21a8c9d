#include "engine/engine.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#  include <link.h>
#endif

#include "engine/code_copies.h"
#include "engine/discovery.h"
#include "engine/frames.h"
#include "engine/greenlets.h"
#include "engine/tracer.h"
#include "memory/heap_session.h"
#include "record/calls.h"
#include "record/forks.h"
#include "record/greenlet_stacks.h"
#include "record/live_file.h"
#include "record/off_cpu_sampler.h"
#include "record/own_work.h"

lp_engine lp_the_engine = {
    .line_event = LP_BY_CHEAPER_EVENT,
    .room = {.max = LP_MAX_PATHS},
};

static uint32_t first_free_id; /* no code id below this one is free */

bool
lp_engine_add_code(lp_code *code)
{
    uint32_t id = first_free_id;

    lp_greenlets_notice();
    while (id < lp_the_engine.n_codes && lp_the_engine.codes[id] != NULL) {
        id++;
    }
    if (id == lp_the_engine.n_codes) {
        uint32_t wanted = id == 0 ? 64 : id * 2;
        lp_code **codes =
            realloc(lp_the_engine.codes, wanted * sizeof(lp_code *));

        if (codes == NULL) {
            PyErr_NoMemory();
            return false;
        }
        memset(codes + id, 0, (wanted - id) * sizeof(lp_code *));
        lp_the_engine.codes = codes;
        lp_the_engine.n_codes = wanted;
    }
    lp_the_engine.codes[id] = code;
    first_free_id = id + 1;
    code->layout.code_id = id;
    code->layout.serial = ++lp_the_engine.n_serials;
    return true;
}

void
lp_engine_drop_code(lp_code *code)
{
    uint32_t id = code->layout.code_id;

    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        if (id < rec->n_counters && rec->counters[id] != NULL) {
            const lp_code_counters *counters = rec->counters[id];
            const uint64_t *awaits =
                (const uint64_t *)(counters->lines + counters->n_lines);

            lp_suspended_forget(&lp_the_engine.suspended, awaits,
                                awaits + counters->n_lines);
            lp_off_cpu_forget(rec->counters[id]);
            rec->counters[id] = NULL;
        }
    }
    lp_the_engine.codes[id] = NULL;
    first_free_id = id < first_free_id ? id : first_free_id;
}

void
lp_engine_set_costs(const lp_costs *costs)
{
    lp_the_engine.costs = *costs;
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        rec->costs = *costs;
    }
}

lp_line_events
lp_engine_line_events(const lp_code *first)
{
    const lp_hook *hook = lp_the_engine.hook;
    const lp_costs *costs = &lp_the_engine.costs;
    lp_line_events events = {
        .wanted = lp_the_engine.line_event,
        .line = costs->line,
        .high_line = costs->high_line,
        .instruction = costs->by_instruction,
        .high_instruction = costs->high_by_instruction,
        .max_small_int = costs->max_small_int,
    };

    if (hook == NULL || hook->is_alone == NULL ||
        (first != NULL && !(first->flags & LP_CODE_BY_INSTRUCTION))) {
        events.wanted = LP_BY_LINE;
    }
    else if (!hook->is_alone()) {
        events.wanted = LP_BY_LINE_UNLESS_SLOW;
    }
    else if (first != NULL) {
        events.wanted = LP_BY_INSTRUCTION;
    }
    return events;
}

void
lp_engine_set_clock(const lp_clock *clock)
{
    lp_the_engine.clock = *clock;
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        rec->clock = *clock;
        lp_off_cpu_clock(rec, clock);
    }
}

void
lp_engine_sync_ranges(lp_recorder *rec)
{
    if (rec == lp_current_recorder) {
        lp_ranges_sync(rec);
    }
    else {
        lp_ranges_mark_stale(rec);
    }
}

static void
pause_stack(lp_recorder *rec, lp_ticks now, void *Py_UNUSED(unused))
{
    lp_recorder_pause(rec, now);
}

static void
pause_thread(lp_recorder *rec)
{
    bool ranged = lp_ranges_any(rec);

    lp_recorder_pause(rec, lp_clock_now(&rec->clock));
    lp_stacks_visit(rec, pause_stack, NULL);
    if (ranged) {
        lp_ranges_remove(rec, rec->frames + 1);
        /* The thread's frames get their ranges back when they continue. */
        lp_ranges_mark_stale(rec);
        lp_engine_sync_ranges(rec);
    }
}

void
lp_engine_pause_here(bool paused)
{
    __atomic_store_n(&lp_the_engine.paused, paused, __ATOMIC_RELAXED);
    if (paused && lp_current_recorder != NULL) {
        lp_recorder_mark(lp_current_recorder);
    }
}

static void
resume_stack(lp_recorder *rec, lp_ticks now, void *Py_UNUSED(unused))
{
    lp_recorder_resume_calls(rec, now);
}

void
lp_engine_pause(bool paused)
{
    __atomic_store_n(&lp_the_engine.paused, paused, __ATOMIC_RELAXED);
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        if (paused) {
            pause_thread(rec);
        }
        else {
            lp_recorder_resume_calls(rec, lp_clock_now(&rec->clock));
            lp_stacks_visit(rec, resume_stack, NULL);
        }
    }
}

/* True if collection is off.  If a call that could not end the thread's lines
 * switched it off, they end now.  Once collection is on again, the frame and
 * those that share it continue. */
static bool
is_still_paused(lp_recorder *rec, lp_frame *frame, lp_ticks *now)
{
    bool shared = true;

    if (lp_the_engine.paused) {
        if (frame->line != NULL) {
            pause_thread(rec);
        }
        return true;
    }
    for (; shared; frame--) {
        shared = frame->flags & LP_FRAME_SHARED;
        frame->flags &= ~(uint32_t)LP_FRAME_PAUSED;
        if (LP_UNLIKELY(frame->flags & LP_FRAME_INHERITED)) {
            lp_recorder_return_to(rec, frame, *now);
            *now = lp_clock_now(&rec->clock); /* clocks may have been read */
        }
    }
    return false;
}

/* Enter the frame for one tracer. */
static lp_frame *
enter_for_tracer(lp_recorder *rec, lp_code *code, lp_entry entry,
                 uint32_t line, lp_ticks now)
{
    lp_tracer *tracer = code->tracer;
    /* A frame with LP_LATE was either running when its tracer was stopped, or
     * resumed by 3.11 without an event. */
    bool enables = (code->flags & LP_CODE_ACTIVATES_TRACER) &&
                   (entry != LP_LATE || !tracer->stopped);
    lp_code_counters *counters;
    lp_frame *frame;

    if (LP_UNLIKELY(lp_the_engine.paused || (code->flags & LP_CODE_IGNORED))) {
        return NULL;
    }
    if (enables) {
        lp_tracer_count_up(tracer);
    }
    if (!tracer->active) {
        return NULL;
    }
    counters = code->layout.code_id < rec->n_counters
                   ? rec->counters[code->layout.code_id]
                   : NULL;
    if (LP_UNLIKELY(counters == NULL)) {
        lp_threads_name(rec);
        code->layout.switches = lp_the_engine.greenlets;
        counters = lp_recorder_counters(rec, &tracer->arena, &code->layout);
    }
    frame =
        lp_recorder_enter(rec, code->code, counters, code->layout.first_line);
    if (LP_UNLIKELY(frame == NULL)) {
        if (enables) {
            lp_tracer_count_down(tracer);
        }
        return NULL;
    }
    lp_engine_begin_frame(rec, code, frame, entry, line, now);
    if (enables) {
        frame->flags |= LP_FRAME_ACTIVATES_TRACER;
    }
    return frame;
}

/* Give the top frame and those that share it their ranges, if frames were
 * `entered`, and bring the tool's stack up to date. */
static void
assign_ranges(lp_recorder *rec, bool entered)
{
    for (lp_frame *frame = rec->top; entered; frame--) {
        const lp_code *code = lp_the_engine.codes[frame->counters->code_id];

        if (code->labels != NULL) {
            lp_ranges_assign(frame, code->labels, lp_the_engine.ranges);
        }
        entered = frame->flags & LP_FRAME_SHARED;
    }
    lp_ranges_sync(rec);
}

/* This process was forked without a handler of forks. */
static void
part(void)
{
    lp_live_forked();
    lp_heap_part();
}

lp_frame *
lp_engine_enter_slow(lp_recorder *rec, lp_code *code, lp_entry entry,
                     uint32_t line, const void *key, lp_ticks now)
{
    const lp_suspended_frame *suspended = NULL;
    bool shared = false;

    if (LP_UNLIKELY(*lp_live_same_process == 0)) {
        part();
    }
    if (LP_UNLIKELY(lp_code_is_ignored(code))) {
        return NULL;
    }
    if (LP_UNLIKELY(lp_the_engine.greenlets)) {
        lp_greenlets_listen();
        if (lp_greenlets_check(rec)) {
            now = lp_clock_now(&rec->clock);
        }
    }
    rec->cost += lp_engine_entry_cost(rec, code, entry);
    if (entry != LP_CALLED && lp_layout_keeps_state(&code->layout)) {
        suspended = lp_suspended_resume(&lp_the_engine.suspended, key,
                                        code->code, now);
    }
    for (lp_code *next; code != NULL; code = next) {
        lp_frame *frame;

        next = code->next;
        frame = enter_for_tracer(rec, code, entry, line, now);
        if (frame == NULL) {
            continue;
        }
        frame->key = key;
        if (LP_UNLIKELY(suspended != NULL)) {
            frame->hit_mask = suspended->hit_mask;
            frame->last_hit = suspended->last_hit;
            if (entry == LP_LATE && suspended->line < frame->n_lines) {
                /* 3.11 resumes a frame without an event if the object that the
                 * frame delegated to ends by a throw(). */
                lp_recorder_open(rec, frame, frame->lines + suspended->line,
                                 now);
            }
        }
        if (shared) {
            frame->flags |= LP_FRAME_SHARED;
        }
        if (LP_UNLIKELY(lp_the_engine.greenlets)) {
            frame->flags |= LP_FRAME_GREENLET;
        }
        shared = true;
    }
    if (LP_UNLIKELY(lp_the_engine.ranges != LP_RANGES_OFF ||
                    rec->unpopped != 0)) {
        assign_ranges(rec, shared);
    }
    return shared ? rec->top : NULL;
}

lp_frame *
lp_engine_frame(lp_recorder *rec, PyObject *code, const void *key)
{
    lp_frame *frame = rec->top;

    while (frame > rec->frames && (frame->code != code || frame->key != key)) {
        frame--;
    }
    return frame > rec->frames ? frame : NULL;
}

/* Suspend the frame: from now on its line's time is await time. */
static void
suspend(const lp_frame *frame, lp_ticks now)
{
    uint64_t *awaits = frame->counters->awaits & LP_AWAITS
                           ? lp_code_counters_awaits(frame->counters)
                           : NULL;
    const lp_line *line = frame->line;

    if (line != NULL && (awaits != NULL || line->statement != 0)) {
        lp_suspended_frame suspended = {
            .key = frame->key,
            .code = frame->code,
            .line = (uint32_t)(line - frame->lines),
            .hit_mask = frame->hit_mask,
            .last_hit = frame->last_hit,
            .awaits = awaits != NULL ? awaits + (line - frame->lines) : NULL,
            .since = now,
        };

        if (frame->key != NULL) {
            lp_suspended_add(&lp_the_engine.suspended, suspended);
        }
    }
}

static void
leave_frame(lp_recorder *rec, lp_frame *frame, bool suspended, lp_ticks now)
{
    lp_tracer *tracer = frame->owner;
    bool enables = frame->flags & LP_FRAME_ACTIVATES_TRACER;

    if (LP_UNLIKELY(lp_ranges_any(rec))) {
        lp_ranges_remove(rec, frame);
    }
    lp_recorder_leave(rec, frame, suspended, now);
    if (LP_UNLIKELY(lp_ranges_any(rec))) {
        lp_ranges_sync(rec);
    }
    tracer->open_frames--;
    if (enables) {
        lp_tracer_count_down(tracer);
    }
}

/* Return the open frame of `code` and `key`, which has an event, or NULL. One
 * below others may be a sign of greenlets. */
static lp_frame *
frame_of_event(lp_recorder *rec, PyObject *code, const void *key)
{
    lp_frame *frame = lp_engine_frame(rec, code, key);

    if (LP_UNLIKELY(frame != NULL && frame != rec->top &&
                    !lp_the_engine.greenlets)) {
        lp_greenlets_notice();
        if (lp_the_engine.greenlets) {
            frame = lp_engine_frame(rec, code, key);
        }
    }
    return frame;
}

void
lp_engine_leave_frame(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    leave_frame(rec, frame, false, now);
}

void
lp_engine_leave(lp_recorder *rec, PyObject *code, const void *key,
                bool suspended, lp_ticks now)
{
    lp_frame *frame = frame_of_event(rec, code, key);
    bool shared = frame != NULL;

    if (LP_UNLIKELY(*lp_live_same_process == 0)) {
        part();
    }
    if (LP_UNLIKELY(!shared && rec->unpopped != 0)) {
        lp_ranges_sync(rec);
    }
    while (shared) {
        shared = frame->flags & LP_FRAME_SHARED;
        if (suspended && !shared) {
            suspend(frame, now);
        }
        leave_frame(rec, frame, suspended, now);
        frame--;
    }
}

void
lp_engine_leave_to(lp_recorder *rec, Py_ssize_t depth, lp_ticks now)
{
    while (rec->top - rec->frames > depth) {
        leave_frame(rec, rec->top, false, now);
    }
}

void
lp_engine_line(lp_recorder *rec, PyObject *code, const void *key,
               uint32_t line, lp_line_entry line_entry, lp_ticks now)
{
    lp_frame *frame;
    bool shared, ranged = false;

    if (lp_greenlets_check(rec)) {
        now = lp_clock_now(&rec->clock);
    }
    frame = frame_of_event(rec, code, key);
    if (frame == NULL) {
        lp_code *first = lp_code_of(code);

        frame = first == NULL
                    ? NULL
                    : lp_engine_enter(rec, first, LP_LATE, 0, key, now);
        if (frame == NULL) {
            return;
        }
        now = lp_clock_now(&rec->clock); /* without the time in which the
                                            counters were created */
    }
    if (LP_UNLIKELY(frame->flags & LP_FRAME_PAUSED) &&
        is_still_paused(rec, frame, &now)) {
        if (rec->unpopped != 0) {
            lp_ranges_sync(rec);
        }
        return;
    }
    if (frame->flags & (LP_FRAME_LOOP_BACK | LP_FRAME_COMPREHENSION)) {
        line_entry = frame->flags & LP_FRAME_LOOP_BACK ? LP_LINE_LOOP_BACK
                                                       : LP_LINE_COMPREHENSION;
        frame->flags &=
            ~(uint32_t)(LP_FRAME_LOOP_BACK | LP_FRAME_COMPREHENSION);
    }
    do {
        lp_recorder_line(rec, frame, line - frame->first_line, now,
                         line_entry);
        ranged |=
            (frame->flags & (LP_FRAME_LINES | LP_FRAME_RANGES_STALE)) != 0;
        frame->flags &= ~(uint32_t)LP_FRAME_RANGES_STALE;
        shared = frame->flags & LP_FRAME_SHARED;
        frame--;
    } while (shared);
    if (LP_UNLIKELY(ranged)) {
        lp_ranges_line(rec, frame + 1);
    }
}

/* Upper bound of the size (bytes) of an interpreter's state, in all versions.
 */
enum { MAX_STATE_SIZE = 512 << 10 };

/* Find the memory range of _PyRuntime.  The GIL lies in it, in 3.12 and later
 * that of the main interpreter. */
static void
find_gil(uintptr_t *low, uintptr_t *high)
{
    void *state = dlsym(RTLD_DEFAULT, "_PyRuntime");
    uintptr_t size = MAX_STATE_SIZE;
#ifdef __GLIBC__
    Dl_info info;
    ElfW(Sym) *symbol = NULL;

    if (state != NULL &&
        dladdr1(state, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 &&
        symbol != NULL && info.dli_saddr == state) {
        size = (uintptr_t)symbol->st_size;
    }
#endif
    *low = (uintptr_t)state;
    *high = state == NULL ? 0 : *low + size;
}

void
lp_engine_watch_waits(void)
{
    uintptr_t low, high;

    if (lp_the_engine.tracers == 0 || lp_the_engine.costs.line == 0 ||
        !lp_off_cpu_is_measured(&lp_the_engine.clock)) {
        lp_engine_unwatch_waits();
        return;
    }
    find_gil(&low, &high);
    lp_sampler_start(&lp_the_engine.recorders, low, high);
    if (lp_the_engine.active != 0 && lp_sampler_is_wanted()) {
        lp_engine_begin_sampler();
    }
}

void
lp_engine_begin_sampler(void)
{
    lp_own_work work;

    lp_own_work_begin(&work, lp_current_recorder);
    lp_sampler_begin();
    lp_own_work_end(&work);
}

void
lp_engine_unwatch_waits(void)
{
    lp_sampler_stop(); /* quick, because the sampler's thread needs no GIL */
}

enum { WAIT_US = 50 };

/* The lock of opening and closing tracers: a thread that waits for it releases
 * the GIL.  Free while the depth is 0. */
static struct {
    unsigned long thread;
    pid_t process; /* the thread does not exist in a forked child */
    int depth;     /* a thread may close a tracer while it opens one */
} engine_lock;

static void
lock_engine(void)
{
    unsigned long current = PyThread_get_thread_ident();
    pid_t process = getpid();

    while (engine_lock.depth != 0 && engine_lock.thread != current &&
           engine_lock.process == process) {
        Py_BEGIN_ALLOW_THREADS
        usleep(WAIT_US);
        Py_END_ALLOW_THREADS
    }
    if (engine_lock.process != process) {
        engine_lock.depth = 0;
    }
    engine_lock.thread = current;
    engine_lock.process = process;
    engine_lock.depth++;
}

static void
unlock_engine(void)
{
    engine_lock.depth--;
}

static int
choose_clock(PyObject *given, const char *name)
{
    lp_clock clock;

    if (given == Py_None) {
        if (!lp_clock_open(&clock, name)) {
            PyErr_Format(PyExc_ValueError, "no clock '%s' here: %s", name,
                         clock.reason);
            return -1;
        }
    }
    else {
        void *read = PyCapsule_GetPointer(given, "lineprof.clock");

        if (read == NULL) {
            return -1;
        }
        memcpy(&clock.read, &read, sizeof(read));
        lp_clock_set_source(&clock, clock.read);
    }
    lp_engine_set_clock(&clock);
    return 0;
}

static void
inherit_stack(lp_recorder *rec, lp_ticks now, void *Py_UNUSED(arg))
{
    lp_recorder_inherit(rec, now);
}

/* Follow a fork, in the child, which has this thread alone.  A child that was
 * not made by Python may be in any state, and runs none. */
static void
begin_in_child(void)
{
    lp_ticks now;

    if (lp_the_engine.clock.name == NULL || !PyGILState_Check()) {
        return;
    }
    now = lp_clock_now(&lp_the_engine.clock);
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        if (rec != lp_current_recorder) {
            __atomic_store_n(&rec->finished, 1, __ATOMIC_RELEASE);
        }
        lp_recorder_inherit(rec, now);
        lp_stacks_visit(rec, inherit_stack, NULL);
        lp_stacks_restart(rec, now);
    }
    lp_suspended_restart(&lp_the_engine.suspended, now);
}

static int
choose_hook(const lp_hook *hook, PyObject *module)
{
    if (lp_the_engine.hook != NULL) {
        if (hook == lp_the_engine.hook) {
            return 0;
        }
        PyErr_Format(PyExc_RuntimeError,
                     "another profiler of this process uses '%s'",
                     lp_the_engine.hook->name);
        return -1;
    }
    if (lp_code_open() < 0 || hook->open(module) < 0) {
        return -1;
    }
    lp_forks_call_in_child(begin_in_child);
    lp_the_engine.hook = hook;
    return 0;
}

int
lp_engine_acquire(const lp_hook *hook, PyObject *clock, const char *clock_name,
                  PyObject *module)
{
    int result = 0;

    lock_engine();
    if (lp_the_engine.tracers == 0 || clock != Py_None) {
        result = choose_clock(clock, clock_name);
    }
    if (result == 0) {
        result = choose_hook(hook, module);
    }
    lp_the_engine.tracers += result == 0;
    unlock_engine();
    return result;
}

void
lp_engine_release(void)
{
    lock_engine();
    if (--lp_the_engine.tracers == 0) {
        (void)lp_discovery_set(Py_None);
        lp_copies_end();
        lp_the_engine.hook->close();
        lp_the_engine.hook = NULL;
        lp_greenlets_unlisten();
        lp_engine_unwatch_waits();
    }
    unlock_engine();
}
