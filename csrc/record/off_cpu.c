#include "record/off_cpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record/off_cpu_sampler.h"
#include "record/own_work.h"
#include "record/recorder.h"

void
lp_off_cpu_free(lp_off_cpu *wait)
{
    if (!wait->is_live) {
        free(wait->pending);
    }
}

void
lp_off_cpu_forget(lp_code_counters *counters)
{
    if (!counters->is_live) {
        free(counters->waits);
    }
    counters->waits = NULL;
}

void
lp_off_cpu_add(lp_waited *to, const lp_waited *from)
{
    for (int i = 0; i < LP_WAIT_CAUSES; i++) {
        to->ns[i] += from->ns[i];
    }
    to->unsure += from->unsure;
}

/* The waits of counters and recorders that are in the live file: so are they.
 * [GIL] */
static lp_arena live_waits = {.kind = LP_BLOCK_WAITS, .is_live = true};

/* Return memory of `bytes` bytes with the `used` first ones of `old`; NULL if
 * memory is out.  (A few lines of a program wait, so the room of the old
 * memory in the live file is not missed.) */
static void *
reallocate(void *old, size_t used, size_t bytes, bool is_live)
{
    void *memory;

    if (!is_live) {
        return realloc(old, bytes);
    }
    memory = lp_arena_alloc(&live_waits,
                            (bytes + LP_RECORD_BYTES - 1) / LP_RECORD_BYTES);
    if (memory != NULL && used != 0) {
        memcpy(memory, old, used);
    }
    return memory;
}

/* Return the counters' waits with room for one more, or NULL if memory is out.
 */
static lp_off_cpu_lines *
reserve(lp_code_counters *counters)
{
    lp_off_cpu_lines *waits = counters->waits;
    uint32_t capacity = waits == NULL ? 4 : waits->capacity * 2;
    uint32_t n = waits == NULL ? 0 : waits->n;

    if (waits != NULL && n < waits->capacity) {
        return waits;
    }
    waits = reallocate(
        waits,
        waits == NULL ? 0 : sizeof(*waits) + n * sizeof(waits->lines[0]),
        sizeof(*waits) + capacity * sizeof(waits->lines[0]),
        counters->is_live);
    if (waits != NULL) {
        waits->n = n;
        waits->capacity = capacity;
        counters->waits = waits;
    }
    return waits;
}

/* Return the waits of a line, added if needed; NULL if memory is out. */
static lp_off_cpu_line *
find_line(lp_code_counters *counters, uint64_t offset)
{
    lp_off_cpu_lines *waits = reserve(counters);
    uint32_t low = 0, high;

    if (waits == NULL) {
        return NULL;
    }
    high = waits->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (waits->lines[middle].offset < offset) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    if (low == waits->n || waits->lines[low].offset != offset) {
        memmove(waits->lines + low + 1, waits->lines + low,
                (waits->n - low) * sizeof(waits->lines[0]));
        waits->lines[low] = (lp_off_cpu_line){.offset = offset};
        waits->n++;
    }
    return &waits->lines[low];
}

static void
charge_line(const lp_frame *frame, const lp_waited *waited)
{
    lp_off_cpu_line *to =
        find_line(frame->counters, (uint64_t)(frame->line - frame->lines));

    if (to != NULL) {
        lp_off_cpu_add(&to->waited, waited);
    }
}

static void
charge_self(const lp_recorder *rec, uint64_t depth, uint64_t waited,
            uint64_t system)
{
    const lp_frame *frame = rec->frames + depth;
    bool in_c = (frame->flags & LP_FRAME_C_FUNCTION) != 0;
    lp_off_cpu_line *to;

    while (
        frame > rec->frames &&
        (frame->line == NULL || (frame->flags & LP_FRAME_C_FUNCTION) != 0)) {
        frame--;
    }
    if (frame == rec->frames || (waited == 0 && system == 0)) {
        return;
    }
    to = find_line(frame->counters, (uint64_t)(frame->line - frame->lines));
    if (to != NULL) {
        to->self[in_c ? LP_SELF_C_WAIT : LP_SELF_WAIT] += waited;
        to->self[in_c ? LP_SELF_C_SYSTEM : LP_SELF_SYSTEM] += system;
    }
}

/* -- pending waits ---------------------------------------------------------
 */

static uint64_t
open_depth(const lp_recorder *rec, const lp_frame *frame)
{
    while (frame > rec->frames && frame->line == NULL) {
        frame--;
    }
    return (uint64_t)(frame - rec->frames);
}

static void
push(lp_off_cpu *wait, uint64_t depth, const lp_waited *waited)
{
    lp_off_cpu_pending *top;

    if (depth == 0) {
        return;
    }
    if (wait->n_pending != 0) {
        top = &wait->pending[wait->n_pending - 1];
        if (top->depth >= depth) {
            lp_off_cpu_add(&top->waited, waited);
            return;
        }
    }
    if (wait->n_pending == wait->capacity) {
        uint32_t capacity = wait->capacity == 0 ? 8 : wait->capacity * 2;

        top = reallocate(wait->pending, wait->n_pending * sizeof(*top),
                         capacity * sizeof(*top), wait->is_live);
        if (top == NULL) {
            return;
        }
        wait->pending = top;
        wait->capacity = capacity;
    }
    top = &wait->pending[wait->n_pending++];
    top->depth = depth;
    top->waited = *waited;
}

static bool
pop(lp_off_cpu *wait, uint64_t depth, lp_waited *waited)
{
    bool any = false;

    while (wait->n_pending != 0 &&
           wait->pending[wait->n_pending - 1].depth >= depth) {
        lp_off_cpu_add(waited, &wait->pending[--wait->n_pending].waited);
        any = true;
    }
    return any;
}

void
lp_off_cpu_spread(lp_recorder *rec)
{
    lp_waited waited = {.unsure = 0};
    bool any = false;

    for (lp_frame *frame = rec->wait.n_pending != 0 ? rec->top : rec->frames;
         frame > rec->frames; frame--) {
        any |= pop(&rec->wait, (uint64_t)(frame - rec->frames), &waited);
        if (any && frame->line != NULL) {
            charge_line(frame, &waited);
        }
    }
    rec->wait.n_pending = 0;
}

void
lp_off_cpu_split(lp_waited *waited, uint64_t off_ns, uint64_t gap_ns,
                 uint64_t voluntary, uint64_t involuntary,
                 const uint64_t *samples)
{
    uint64_t running = samples[LP_WAIT_RUNNABLE], blocked = 0, left = off_ns;

    *waited = (lp_waited){.unsure = 0};
    for (int i = 0; i < LP_WAIT_CAUSES; i++) {
        blocked += i == LP_WAIT_RUNNABLE ? 0 : samples[i];
    }
    if (voluntary == 0) {
        waited->ns[LP_WAIT_RUNNABLE] = off_ns;
        return;
    }
    if (involuntary != 0 && running != 0) {
        /* Part of the time in which it was sampled as not blocked was spent
         * waiting for a processor. */
        double part = (double)blocked / (double)(blocked + running);
        uint64_t max = (uint64_t)((double)gap_ns * part);

        left = max < off_ns ? max : off_ns;
        waited->ns[LP_WAIT_RUNNABLE] = off_ns - left;
    }
    if (blocked == 0) {
        waited->ns[LP_WAIT_UNSEEN] = left;
        return;
    }
    for (int i = 0; i < LP_WAIT_CAUSES; i++) {
        if (i != LP_WAIT_RUNNABLE && samples[i] != 0) {
            uint64_t part = (uint64_t)((double)left * (double)samples[i] /
                                       (double)blocked);

            waited->ns[i] = part;
            off_ns -= part;
        }
    }
    /* The remainder of rounding: no more than some ns. */
    waited->ns[LP_WAIT_OTHER] += off_ns - waited->ns[LP_WAIT_RUNNABLE];
}

#ifdef __linux__
#  include <sys/syscall.h>
#endif

bool lp_off_cpu_split_on;

bool
lp_off_cpu_is_measured(const lp_clock *clock)
{
    const char *wanted = getenv("LINEPROF_WAITS");

    /* A test's clock has no relation to processor time. */
    return clock->name != NULL && strcmp(clock->name, "given") != 0 &&
           (wanted == NULL || strcmp(wanted, "off") != 0);
}

/* Used until the frequency of the counter has been measured. */
enum { INITIAL_THRESHOLD = LP_HAVE_COUNTER ? 3 * LP_WAIT_NS : LP_WAIT_NS };

#define READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define WRITE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

void
lp_off_cpu_clock(lp_recorder *rec, const lp_clock *clock)
{
    lp_off_cpu *wait = &rec->wait;

    WRITE(wait->threshold,
          lp_off_cpu_is_measured(clock)
              ? (lp_ticks)(clock->counter ? INITIAL_THRESHOLD : LP_WAIT_NS)
              : LP_WAIT_NEVER);
    wait->exact = !clock->counter;
    wait->read = false;
    wait->n_pending = 0;
    lp_off_cpu_watch(rec);
}

void
lp_off_cpu_watch(lp_recorder *rec)
{
    lp_ticks min = rec->wait.threshold, elapsed = rec->min_line_ticks;

    if (min != LP_WAIT_NEVER) {
        min++;
    }
    WRITE(rec->wait.min, elapsed < min ? elapsed : min);
}

void
lp_off_cpu_attach(lp_recorder *rec)
{
    rec->wait.read = false;
#ifdef __linux__
    WRITE(rec->wait.thread, (uint32_t)syscall(SYS_gettid));
#endif
}

/* -- clocks ----------------------------------------------------------------
 */

static lp_ns
to_ns(struct timespec time)
{
    return (lp_ns)time.tv_sec * 1000000000u + (lp_ns)time.tv_nsec;
}

/* Return the processor time of the recorder's thread, which need not be this
 * one; 0 if unknown. */
static lp_ns
processor_ns(const lp_off_cpu *wait, bool own_thread)
{
    struct timespec time = {0, 0};

    if (wait->clock != NULL) {
        return wait->clock();
    }
    if (own_thread) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return to_ns(time);
    }
#ifdef __linux__
    /* The clock id that pthread_getcpuclockid makes; fails if the thread has
     * ended. */
    if (wait->thread == 0 ||
        clock_gettime((clockid_t)(~wait->thread << 3 | 6), &time) != 0) {
        return 0;
    }
#endif
    return to_ns(time);
}

/* Read the voluntary and involuntary context switches of this thread, and its
 * time in the kernel, since the last call, if the system has them. */
static void
read_usage(lp_off_cpu *wait, uint64_t *voluntary, uint64_t *involuntary,
           lp_ns *system)
{
#ifdef RUSAGE_THREAD
    struct rusage usage;
    lp_ns kernel;

    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        *voluntary = (uint64_t)usage.ru_nvcsw - wait->voluntary;
        *involuntary = (uint64_t)usage.ru_nivcsw - wait->involuntary;
        wait->voluntary += *voluntary;
        wait->involuntary += *involuntary;
        kernel = (lp_ns)usage.ru_stime.tv_sec * 1000000000u +
                 (lp_ns)usage.ru_stime.tv_usec * 1000u;
        /* (A forked child starts from 0.) */
        *system = kernel > wait->system ? kernel - wait->system : 0;
        wait->system = kernel;
        return;
    }
#endif
    (void)wait;
    *voluntary = *involuntary = 1;
    *system = 0;
}

static void
take_samples(lp_off_cpu *wait, uint64_t *samples)
{
    for (int i = 0; i < LP_WAIT_CAUSES; i++) {
        samples[i] =
            __atomic_exchange_n(&wait->samples[i], 0, __ATOMIC_RELAXED);
    }
}

/* -- reading the clocks ----------------------------------------------------
 */

/* The length of a tick in ns, from the clock's start to `ticks`, when the time
 * was `wall`. */
static double
ns_per_tick(const lp_clock *clock, lp_ticks ticks, lp_ns wall)
{
    if (!clock->counter || ticks <= clock->ticks0) {
        return 1.0;
    }
    return (double)(wall - clock->ns0) / (double)(ticks - clock->ticks0);
}

/* Set the exact threshold once the clock has run long enough to know its
 * frequency. */
static void
measure_threshold(lp_off_cpu *wait, const lp_clock *clock, lp_ns wall,
                  double tick_ns)
{
    if (wait->n_pending == 0 && wall - clock->ns0 > 1000000) {
        WRITE(wait->threshold, (lp_ticks)((double)LP_WAIT_NS / tick_ns));
        wait->exact = true;
    }
}

/* Read the clocks at the end of a gap, and record the wait of the frames up to
 * `depth`. */
static void
read_clocks(lp_recorder *rec, uint64_t depth, lp_ticks gap, lp_ticks now,
            bool own_thread)
{
    lp_off_cpu *wait = &rec->wait;
    lp_ns wall = now, cpu;
    lp_ticks ticks = now;
    uint64_t samples[LP_WAIT_CAUSES], voluntary = 1, involuntary = 1;
    uint64_t gap_ns, passed, used, off, before, sure;
    lp_ns system = 0;
    double tick_ns;

    if (rec->clock.counter) {
        /* Not `now`: the thread may have been preempted since. */
        lp_clock_pair(&rec->clock, &ticks, &wall);
    }
    cpu = processor_ns(wait, own_thread);
    tick_ns = ns_per_tick(&rec->clock, ticks, wall);
    gap_ns = (uint64_t)((double)gap * tick_ns);
    passed = wall - wait->wall;
    used = cpu - wait->cpu;
    if (cpu == 0 && !own_thread) {
        return; /* its thread has ended */
    }
    take_samples(wait, samples);
    off = wait->read && cpu >= wait->cpu && passed > used ? passed - used : 0;
    if (own_thread &&
        (off > LP_WAIT_NOISE_NS || !wait->read || lp_off_cpu_split_on)) {
        read_usage(wait, &voluntary, &involuntary, &system);
    }
    /* Short lines before the gap may also have waited. */
    before = passed > gap_ns ? passed - gap_ns : 0;
    sure = off > before ? off - before : 0;
    off = off < gap_ns ? off : gap_ns;
    if (lp_off_cpu_split_on && wait->read && depth != 0 &&
        wait->threshold < gap) {
        /* Since the last reading there were also short lines. */
        double part = passed > gap_ns ? (double)gap_ns / (double)passed : 1.0;

        charge_self(rec, depth, off > LP_WAIT_NOISE_NS ? off : 0,
                    (uint64_t)((double)system * part));
    }
    wait->read = true;
    wait->read_at = now;
    wait->wall = wall;
    wait->cpu = cpu;
    if (off > LP_WAIT_NOISE_NS && depth != 0 && gap > wait->threshold) {
        lp_waited waited;

        lp_off_cpu_split(&waited, off, gap_ns, voluntary, involuntary,
                         samples);
        waited.unsure = off > sure ? off - sure : 0;
        push(wait, depth, &waited);
        if (waited.ns[LP_WAIT_RUNNABLE] < off) {
            WRITE(lp_sampler_waited, 1);
        }
    }
    if (!wait->exact) {
        measure_threshold(wait, &rec->clock, wall, tick_ns);
        lp_off_cpu_watch(rec);
    }
}

/* Measure the gap from the last event to `*now`; returns how many ticks that
 * took.
 *
 * A thread that is preempted meanwhile, which is likely where it wakes the
 * sampler, was so because of its gap: `*now` becomes the time when it was
 * back, and the time until then is part of the gap. */
static lp_ticks
measure_gap(lp_recorder *rec, const lp_frame *frame, lp_ticks *now)
{
    lp_off_cpu *wait = &rec->wait;
    lp_ticks last = frame->since, begun, end;
    bool reading_requested = READ(wait->reading_requested);

    last = last < wait->last_leave ? wait->last_leave : last;
    /* A frame without an open line has an old `since`: the gap is not longer
     * than the time since the last reading, so that a short one is not read.
     */
    last = last < wait->read_at ? wait->read_at : last;
    WRITE(wait->reading_requested, false);
    lp_off_cpu_watch(rec);
    if (*now < last ||
        (*now - last <= wait->threshold && !reading_requested)) {
        return 0;
    }
    begun = lp_clock_now(&rec->clock);
    if (begun > *now && begun - *now > wait->threshold) {
        /* The thread was preempted after the event had read the clock: the gap
         * up to that reading is too short to hold the wait. */
        *now = begun;
    }
    read_clocks(rec, open_depth(rec, frame), *now - last, *now, true);
    lp_sampler_wake();
    end = lp_clock_now(&rec->clock);
    if (end > *now && end - *now > wait->threshold) {
        last = *now;
        *now = begun = end;
        read_clocks(rec, open_depth(rec, frame), *now - last, *now, true);
        end = lp_clock_now(&rec->clock);
    }
    return end - begun;
}

/* Charge the reading as cost, not as time of the open lines.  Time beyond the
 * maximum of a reading is theirs, because then the thread was preempted. */
static void
add_cost(lp_recorder *rec, lp_ticks ticks)
{
    if (ticks > rec->wait.threshold) {
        ticks = rec->wait.threshold;
    }
    rec->cost += ticks * LP_COST_ONE;
    rec->wait.cost += ticks * LP_COST_ONE;
}

lp_ticks
lp_off_cpu_begin_sampler(lp_recorder *rec, lp_ticks now)
{
    lp_own_work work;
    lp_own_time took;

    lp_own_work_begin(&work, rec);
    lp_sampler_begin();
    took = lp_own_work_end(&work);
    rec->wait.cost += took.cost * LP_COST_ONE;
    return now + took.hidden;
}

lp_ticks
lp_off_cpu_before(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    lp_ticks ticks = measure_gap(rec, frame - 1, &now);

    lp_recorder_begin(rec, frame, now); /* before the cost, which is its own */
    add_cost(rec, ticks);
    if (LP_UNLIKELY(lp_sampler_is_wanted())) {
        now = lp_off_cpu_begin_sampler(rec, now);
        frame->first = frame->began = now;
    }
    return now;
}

lp_line_wait
lp_off_cpu_charge(lp_recorder *rec, lp_frame *frame, lp_ticks *now)
{
    lp_line_wait sum = {0, 0};

    /* The top frame, unless greenlets switch frames. */
    add_cost(rec, measure_gap(rec, frame, now));
    if (rec->wait.n_pending == 0) {
        return sum;
    }
    if (frame == rec->top) {
        uint64_t depth = (uint64_t)(frame - rec->frames);
        lp_waited waited = {.unsure = 0};

        if (pop(&rec->wait, depth, &waited)) {
            charge_line(frame, &waited);
            push(&rec->wait, open_depth(rec, frame - 1), &waited);
        }
        for (int i = 0; i < LP_WAIT_CAUSES; i++) {
            sum.ns += waited.ns[i];
        }
        sum.unsure = waited.unsure;
    }
    else {
        lp_off_cpu_spread(rec);   /* a shared frame, or greenlets */
        sum.ns = LP_WAIT_UNKNOWN; /* it has a part of what was spread */
    }
    return sum;
}

lp_ticks
lp_off_cpu_left(lp_recorder *rec, lp_ticks now)
{
    lp_ticks last = rec->top->since, left = rec->wait.last_leave;

    if (now - (last > left ? last : left) >= READ(rec->wait.min)) {
        add_cost(rec, measure_gap(rec, rec->top, &now));
    }
    lp_off_cpu_spread(rec);
    return now;
}

void
lp_off_cpu_settle(lp_recorder *rec, lp_ticks now)
{
    lp_off_cpu *wait = &rec->wait;
    uint64_t depth = open_depth(rec, rec->top);
    lp_ticks last = rec->frames[depth].since;

    last = last < wait->last_leave ? wait->last_leave : last;
    last = last < wait->read_at ? wait->read_at : last;
    if (depth != 0 && wait->read && now > last &&
        now - last > wait->threshold) {
        read_clocks(rec, depth, now - last, now, false);
    }
    lp_off_cpu_spread(rec);
}
