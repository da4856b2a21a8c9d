#include "engine/engine.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#  include <link.h>
#endif

#include "engine/discovery.h"
#include "engine/tracer.h"
#include "record/call_tree.h"
#include "record/off_cpu_sampler.h"

lp_engine lp_process;

static uint32_t least_id; /* no code id below it is free */

bool
lp_engine_add_code(lp_code *code)
{
    uint32_t id = least_id;

    while (id < lp_process.n_codes && lp_process.codes[id] != NULL) {
        id++;
    }
    if (id == lp_process.n_codes) {
        uint32_t wanted = id == 0 ? 64 : id * 2;
        lp_code **codes =
            realloc(lp_process.codes, wanted * sizeof(lp_code *));

        if (codes == NULL) {
            PyErr_NoMemory();
            return false;
        }
        memset(codes + id, 0, (wanted - id) * sizeof(lp_code *));
        lp_process.codes = codes;
        lp_process.n_codes = wanted;
    }
    lp_process.codes[id] = code;
    least_id = id + 1;
    code->layout.code_id = id;
    code->layout.serial = ++lp_process.serials;
    return true;
}

void
lp_engine_drop_code(lp_code *code)
{
    uint32_t id = code->layout.code_id;

    for (lp_recorder *rec = lp_process.recorders; rec != NULL;
         rec = rec->next) {
        if (id < rec->n_counts && rec->counts[id] != NULL) {
            const lp_counts *counts = rec->counts[id];
            const uint64_t *awaits =
                (const uint64_t *)(counts->lines + counts->n_lines);

            lp_parked_forget(&lp_process.parked, awaits,
                             awaits + counts->n_lines);
            lp_wait_forget(rec->counts[id]);
            rec->counts[id] = NULL;
        }
    }
    lp_process.codes[id] = NULL;
    least_id = id < least_id ? id : least_id;
}

void
lp_engine_set_costs(const lp_costs *costs)
{
    lp_process.costs = *costs;
    for (lp_recorder *rec = lp_process.recorders; rec != NULL;
         rec = rec->next) {
        rec->costs = *costs;
    }
}

void
lp_engine_set_clock(const lp_clock *clock)
{
    lp_process.clock = *clock;
    for (lp_recorder *rec = lp_process.recorders; rec != NULL;
         rec = rec->next) {
        rec->clock = *clock;
        lp_wait_clock(rec, clock);
    }
}

void
lp_engine_settle_ranges(lp_recorder *rec)
{
    if (rec == lp_here) {
        lp_ranges_settle(rec);
    }
    else {
        lp_ranges_owe(rec);
    }
}

static void
pause_thread(lp_recorder *rec)
{
    bool ranged = lp_ranges_any(rec);

    lp_recorder_pause(rec, lp_clock_now(&rec->clock));
    if (ranged) {
        lp_ranges_off(rec, rec->frames + 1);
        lp_ranges_owe(rec); /* its frames have ranges again when they go on */
        lp_engine_settle_ranges(rec);
    }
}

void
lp_engine_pause_here(bool paused)
{
    __atomic_store_n(&lp_process.paused, paused, __ATOMIC_RELAXED);
    if (paused && lp_here != NULL) {
        lp_recorder_mark(lp_here);
    }
}

void
lp_engine_pause(bool paused)
{
    __atomic_store_n(&lp_process.paused, paused, __ATOMIC_RELAXED);
    for (lp_recorder *rec = lp_process.recorders; paused && rec != NULL;
         rec = rec->next) {
        pause_thread(rec);
    }
}

/* Is collection off?  The thread's lines end now where it was switched off by
 * a call that could not do that.  Once it is on again, the frame and its
 * twins go on. */
static bool
stays_paused(lp_recorder *rec, lp_frame *frame)
{
    bool twin = true;

    if (lp_process.paused) {
        if (frame->line != NULL) {
            pause_thread(rec);
        }
        return true;
    }
    for (; twin; frame--) {
        twin = frame->flags & LP_FRAME_TWIN;
        frame->flags &= ~(uint32_t)LP_FRAME_PAUSED;
    }
    return false;
}

/* One frame for one tracer. */
static lp_frame *
enter_for(lp_recorder *rec, lp_code *code, lp_entry entry, uint32_t line,
          lp_ticks now)
{
    lp_tracer *tracer = code->tracer;
    /* A frame that is seen late was either running when its tracer was told
     * to stop, or 3.11 took it up again without an event. */
    bool enables = (code->flags & LP_CODE_ENABLES) &&
                   (entry != LP_LATE || !tracer->stopped);
    lp_counts *counts;
    lp_frame *frame;

    if (LP_UNLIKELY(lp_process.paused || (code->flags & LP_CODE_IGNORED))) {
        return NULL;
    }
    if (enables) {
        lp_tracer_count_up(tracer);
    }
    if (!tracer->active) {
        return NULL;
    }
    counts = code->layout.code_id < rec->n_counts
                 ? rec->counts[code->layout.code_id]
                 : NULL;
    if (LP_UNLIKELY(counts == NULL)) {
        lp_threads_name(rec);
        counts = lp_recorder_counts(rec, &tracer->blocks, &code->layout);
    }
    frame =
        lp_recorder_enter(rec, code->code, counts, code->layout.first_line);
    if (LP_UNLIKELY(frame == NULL)) {
        if (enables) {
            lp_tracer_count_down(tracer);
        }
        return NULL;
    }
    frame->owner = tracer;
    tracer->open_frames++;
    if (enables) {
        frame->flags |= LP_FRAME_ENABLES;
    }
    frame->flags |= lp_code_frame_flags(code);
    if (entry == LP_CALLED) {
        lp_calls_called(rec, frame);
        return frame;
    }
    (void)lp_calls_enter(rec, frame);
    counts->resumes++;
    if (entry == LP_RESUMED && line - frame->first_line < frame->n_lines) {
        lp_recorder_open(rec, frame, frame->lines + (line - frame->first_line),
                         now);
    }
    return frame;
}

/* Is there anything to keep of its frames while they are suspended? */
static bool
is_parked(const lp_layout *layout)
{
    return layout->awaits || layout->statements != NULL;
}

/* Somebody listens to ranges, or did: the top frame and its twins are some,
 * if `entered`. */
static void
give_ranges(lp_recorder *rec, bool entered)
{
    for (lp_frame *frame = rec->top; entered; frame--) {
        const lp_code *code = lp_process.codes[frame->counts->code_id];

        if (code->labels != NULL) {
            lp_ranges_give(frame, code->labels, lp_process.ranges);
        }
        entered = frame->flags & LP_FRAME_TWIN;
    }
    lp_ranges_settle(rec);
}

lp_frame *
lp_engine_enter(lp_recorder *rec, lp_code *code, lp_entry entry, uint32_t line,
                const void *key, lp_ticks now)
{
    const lp_parked_frame *parked = NULL;
    bool twin = false;

    if (LP_UNLIKELY(lp_code_is_ignored(code))) {
        return NULL;
    }
    rec->cost += entry == LP_CALLED ? rec->costs.call : rec->costs.resume;
    if (entry != LP_CALLED && is_parked(&code->layout)) {
        parked = lp_parked_end(&lp_process.parked, key, code->code, now);
    }
    for (lp_code *next; code != NULL; code = next) {
        lp_frame *frame;

        next = code->next;
        frame = enter_for(rec, code, entry, line, now);
        if (frame == NULL) {
            continue;
        }
        frame->key = key;
        if (LP_UNLIKELY(parked != NULL)) {
            frame->seen = parked->seen;
            frame->furthest = parked->furthest;
            if (entry == LP_LATE && parked->line < frame->n_lines) {
                /* 3.11 takes a frame up again without an event where what it
                 * delegated to ends by a throw. */
                lp_recorder_open(rec, frame, frame->lines + parked->line, now);
            }
        }
        if (twin) {
            frame->flags |= LP_FRAME_TWIN;
        }
        if (LP_UNLIKELY(lp_process.strict)) {
            frame->flags |= LP_FRAME_STRICT;
        }
        twin = true;
    }
    if (LP_UNLIKELY(lp_process.ranges != LP_RANGES_OFF || rec->owed != 0)) {
        give_ranges(rec, twin);
    }
    return twin ? rec->top : NULL;
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

/* The frame is suspended: from now on its line's time is await time. */
static void
park(const lp_frame *frame, lp_ticks now)
{
    uint64_t *awaits = lp_counts_awaits(frame->counts);
    const lp_line *line = frame->line;

    if (line != NULL && (awaits != NULL || line->statement != 0)) {
        lp_parked_frame parked = {
            .key = frame->key,
            .code = frame->code,
            .line = (uint32_t)(line - frame->lines),
            .seen = frame->seen,
            .furthest = frame->furthest,
            .awaits = awaits != NULL ? awaits + (line - frame->lines) : NULL,
            .since = now,
        };

        if (frame->key != NULL) {
            lp_parked_add(&lp_process.parked, parked);
        }
    }
}

static void
leave_frame(lp_recorder *rec, lp_frame *frame, bool suspended, lp_ticks now)
{
    lp_tracer *tracer = frame->owner;
    bool enables = frame->flags & LP_FRAME_ENABLES;

    if (LP_UNLIKELY(lp_ranges_any(rec))) {
        lp_ranges_off(rec, frame);
    }
    lp_recorder_leave(rec, frame, suspended, now);
    if (LP_UNLIKELY(lp_ranges_any(rec))) {
        lp_ranges_settle(rec);
    }
    tracer->open_frames--;
    if (enables) {
        lp_tracer_count_down(tracer);
    }
}

void
lp_engine_leave(lp_recorder *rec, PyObject *code, const void *key,
                bool suspended, lp_ticks now)
{
    lp_frame *frame = lp_engine_frame(rec, code, key);
    bool twin = frame != NULL;

    if (LP_UNLIKELY(!twin && rec->owed != 0)) {
        lp_ranges_settle(rec);
    }
    while (twin) {
        twin = frame->flags & LP_FRAME_TWIN;
        if (suspended && !twin) {
            park(frame, now);
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
               uint32_t line, lp_step step, lp_ticks now)
{
    lp_frame *frame = lp_engine_frame(rec, code, key);
    bool twin, ranged = false;

    if (frame == NULL) {
        lp_code *first = lp_code_of(code);

        frame = first == NULL
                    ? NULL
                    : lp_engine_enter(rec, first, LP_LATE, 0, key, now);
        if (frame == NULL) {
            return;
        }
        now = lp_clock_now(&rec->clock); /* its counters had to be made */
    }
    if (LP_UNLIKELY(frame->flags & LP_FRAME_PAUSED) &&
        stays_paused(rec, frame)) {
        if (rec->owed != 0) {
            lp_ranges_settle(rec);
        }
        return;
    }
    if (frame->flags & (LP_FRAME_AGAIN | LP_FRAME_WITHIN)) {
        step = frame->flags & LP_FRAME_AGAIN ? LP_AGAIN : LP_WITHIN;
        frame->flags &= ~(uint32_t)(LP_FRAME_AGAIN | LP_FRAME_WITHIN);
    }
    do {
        lp_recorder_line(rec, frame, line - frame->first_line, now, step);
        ranged |= (frame->flags & (LP_FRAME_LINES | LP_FRAME_OWES)) != 0;
        frame->flags &= ~(uint32_t)LP_FRAME_OWES;
        twin = frame->flags & LP_FRAME_TWIN;
        frame--;
    } while (twin);
    rec->wait.left = now; /* frames may take turns */
    if (LP_UNLIKELY(ranged)) {
        lp_ranges_line(rec, frame + 1);
    }
}

/* Where the interpreter's state is as large as any has been. */
enum { LARGEST = 512 << 10 };

/* The interpreter's lock is in its state: on a main interpreter, of 3.12 and
 * later too. */
static void
find_state(uintptr_t *low, uintptr_t *high)
{
    void *state = dlsym(RTLD_DEFAULT, "_PyRuntime");
    uintptr_t size = LARGEST;
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

    if (lp_process.tracers == 0 || lp_process.costs.line == 0) {
        lp_engine_unwatch_waits();
        return;
    }
    find_state(&low, &high);
    lp_sampler_allow(&lp_process.recorders, low, high);
}

void
lp_engine_unwatch_waits(void)
{
    lp_sampler_forbid(); /* it needs no lock of ours: that takes no time */
}

enum { WAIT_US = 50 };

/* Whose turn it is; nobody's while the depth is 0. */
static struct {
    unsigned long thread;
    pid_t process; /* the thread is not there in a forked child */
    int depth;     /* one may close a tracer while it opens one */
} turn;

static void
take_turn(void)
{
    unsigned long own = PyThread_get_thread_ident();
    pid_t process = getpid();

    while (turn.depth != 0 && turn.thread != own && turn.process == process) {
        Py_BEGIN_ALLOW_THREADS
        usleep(WAIT_US);
        Py_END_ALLOW_THREADS
    }
    if (turn.process != process) {
        turn.depth = 0;
    }
    turn.thread = own;
    turn.process = process;
    turn.depth++;
}

static void
give_turn(void)
{
    turn.depth--;
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
        lp_clock_give(&clock, clock.read);
    }
    lp_engine_set_clock(&clock);
    return 0;
}

static int
choose_hook(const lp_hook *hook, PyObject *module)
{
    if (lp_process.hook != NULL) {
        if (hook == lp_process.hook) {
            return 0;
        }
        PyErr_Format(PyExc_RuntimeError,
                     "another profiler of this process uses '%s'",
                     lp_process.hook->name);
        return -1;
    }
    if (lp_code_open() < 0 || hook->open(module) < 0) {
        return -1;
    }
    lp_process.hook = hook;
    return 0;
}

int
lp_engine_acquire(const lp_hook *hook, PyObject *clock, const char *clock_name,
                  PyObject *module)
{
    int result = 0;

    take_turn();
    if (lp_process.tracers == 0 || clock != Py_None) {
        result = choose_clock(clock, clock_name);
    }
    if (result == 0) {
        result = choose_hook(hook, module);
    }
    lp_process.tracers += result == 0;
    give_turn();
    return result;
}

void
lp_engine_release(void)
{
    take_turn();
    if (--lp_process.tracers == 0) {
        (void)lp_discover_set(Py_None);
        lp_process.hook->close();
        lp_process.hook = NULL;
        lp_engine_unwatch_waits();
    }
    give_turn();
}
