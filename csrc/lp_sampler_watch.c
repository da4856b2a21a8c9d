/* The sampler's own thread. */
#ifdef __linux__

#  include "lp_sampler_watch.h"

#  include <fcntl.h>
#  include <linux/futex.h>
#  include <sched.h>
#  include <stdio.h>
#  include <sys/prctl.h>
#  include <sys/syscall.h>
#  include <unistd.h>

#  include "lp_open_lines.h"
#  include "lp_sampler.h"

enum {
    SHORTEST_NS = 2000000, /* from one look at all threads to the next, */
    LONGEST_NS = 16000000,
    SHARE = 150,        /* and so many times what it takes, at least */
    IDLE_NS = 50000000, /* no line open for so long: it is parked */
    OFTEN = 8,          /* a thread that stays blocked is asked so often, */
    SELDOM = 16,        /* and then at every 16th time */
    MOST_FILES = 1 << 16,
    OPEN_FILES = 512
};

/* Sleep while the state is this one, for so many ns; 0: for as long. */
static void
sleep_in(uint32_t state, lp_ns ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u),
                            .tv_nsec = (long)(ns % 1000000000u)};

    syscall(SYS_futex, &lp_sampler_state, FUTEX_WAIT_PRIVATE, state,
            ns == 0 ? NULL : &time, NULL, 0);
}

/* A table of file descriptors of its own, with nothing in it: what it opens
 * takes no number from the program, and what the program closes is closed. */
static bool
leave_files(void)
{
#  ifdef SYS_close_range
    enum { UNSHARE = 2 }; /* CLOSE_RANGE_UNSHARE */

    if (syscall(SYS_close_range, 0u, ~0u, UNSHARE) == 0) {
        return true;
    }
#  endif
    if (unshare(CLONE_FILES) != 0) {
        return false;
    }
    for (int fd = 0; fd < MOST_FILES; fd++) {
        close(fd); /* an old system's: it has no other way */
    }
    return true;
}

static int
open_file(uint32_t thread)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", thread);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* What the thread of a file is blocked in; LP_WAIT_UNSEEN when it is gone. */
static lp_cause
cause_in(const lp_sampler_view *view, int file)
{
    char text[256];
    ssize_t n = file < 0 ? -1 : pread(file, text, sizeof(text) - 1, 0);

    if (n <= 0) {
        return LP_WAIT_UNSEEN;
    }
    text[n] = '\0';
    return lp_sampler_cause(text, view->low, view->high);
}

/* What a thread is blocked in; LP_WAIT_UNSEEN when that cannot be read.  The
 * file stays open, unless there are very many. */
static lp_cause
cause_of(lp_sampler_view *view, lp_wait *wait, uint32_t thread)
{
    lp_cause cause;

    if (wait->turn == view->turn && wait->asks == thread) {
        return cause_in(view, wait->file);
    }
    if (wait->turn == view->turn) {
        close(wait->file);
        view->files--;
    }
    wait->file = open_file(thread);
    wait->asks = thread;
    wait->turn = 0;
    cause = cause_in(view, wait->file);
    if (wait->file >= 0 && view->files < OPEN_FILES) {
        wait->turn = view->turn;
        view->files++;
    }
    else if (wait->file >= 0) {
        close(wait->file);
    }
    return cause;
}

static bool
is_blind(const lp_sampler_view *view)
{
    int file = open_file(view->own);
    bool blind = cause_in(view, file) == LP_WAIT_UNSEEN;

    if (file >= 0) {
        close(file);
    }
    return blind;
}

/* Whether a thread began to wait of late, and whether any has open lines. */
typedef struct seen {
    bool fresh, open;
} seen;

/* Ask for the thread's next event to be looked at.  False when the last one
 * that we asked for is still to come: it is in the same gap. */
static bool
mark(lp_wait *wait)
{
    bool asked = __atomic_exchange_n(&wait->asked, true, __ATOMIC_RELAXED);

    if (!asked) {
        __atomic_store_n(&wait->least, 0, __ATOMIC_RELAXED);
    }
    return !asked;
}

static void
look_at(lp_sampler_view *view, lp_recorder *rec, lp_ns now, lp_ns period,
        seen *found)
{
    lp_wait *wait = &rec->wait;
    uint32_t thread = __atomic_load_n(&wait->thread, __ATOMIC_RELAXED);
    lp_ns weight;
    lp_cause cause;

    if (thread == 0 || !lp_open_lines_any(rec) ||
        __atomic_load_n(&rec->finished, __ATOMIC_RELAXED) ||
        __atomic_load_n(&wait->threshold, __ATOMIC_RELAXED) == LP_WAIT_NEVER) {
        return;
    }
    found->open = true;
    if (mark(wait)) {
        wait->quiet = 0;
        wait->sampled = now > period ? now - period : 0;
    }
    else if (wait->quiet > OFTEN && ++wait->quiet % SELDOM != 0) {
        return;
    }
    cause = cause_of(view, wait, thread);
    if (cause == LP_WAIT_UNSEEN ||
        !__atomic_load_n(&wait->asked, __ATOMIC_RELAXED)) {
        return; /* it is gone, or in another gap by now */
    }
    wait->quiet =
        cause == wait->seen && cause != LP_WAIT_READY ? wait->quiet + 1 : 0;
    wait->seen = cause;
    weight = now - wait->sampled;
    wait->sampled = now;
    __atomic_fetch_add(&wait->samples[cause], weight, __ATOMIC_RELAXED);
    found->fresh |= cause != LP_WAIT_READY && wait->quiet <= OFTEN;
}

static seen
look_at_all(lp_sampler_view *view, lp_ns now, lp_ns period)
{
    seen found = {false, false};
    lp_recorder *rec = __atomic_load_n(view->recorders, __ATOMIC_ACQUIRE);

    while (rec != NULL) {
        look_at(view, rec, now, period, &found);
        rec = __atomic_load_n(&rec->next, __ATOMIC_ACQUIRE);
    }
    return found;
}

static bool
any_open(const lp_sampler_view *view)
{
    lp_recorder *rec = __atomic_load_n(view->recorders, __ATOMIC_ACQUIRE);

    while (rec != NULL && !lp_open_lines_any(rec)) {
        rec = __atomic_load_n(&rec->next, __ATOMIC_ACQUIRE);
    }
    return rec != NULL;
}

/* Processor time of this thread: on a busy machine a look may be interrupted
 * for long, and that costs nobody anything. */
static lp_ns
spent(void)
{
    struct timespec time = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (lp_ns)time.tv_sec * 1000000000u + (lp_ns)time.tv_nsec;
}

static lp_ns
next_period(lp_ns period, lp_ns took, bool fresh)
{
    period = fresh ? SHORTEST_NS : period + period / 8;
    period = period > LONGEST_NS ? LONGEST_NS : period;
    return period < took * SHARE ? took * SHARE : period;
}

static void
watch(lp_sampler_view *view)
{
    lp_ns period = SHORTEST_NS, last = lp_clock_monotonic(), idle = 0;

    for (;;) {
        uint32_t state = __atomic_load_n(&lp_sampler_state, __ATOMIC_ACQUIRE);
        lp_ns now = lp_clock_monotonic(), before;
        seen found;

        if (state != LP_SAMPLER_AWAKE) {
            if (state != LP_SAMPLER_PARKED) {
                return;
            }
            sleep_in(LP_SAMPLER_PARKED, 0);
            last = lp_clock_monotonic();
            period = SHORTEST_NS;
            continue;
        }
        before = spent();
        found = look_at_all(view, now, now - last);
        found.fresh |=
            __atomic_exchange_n(&lp_sampler_waited, 0, __ATOMIC_RELAXED) != 0;
        last = now;
        idle = found.open ? 0 : idle + period;
        if (idle > IDLE_NS &&
            lp_sampler_change(LP_SAMPLER_AWAKE, LP_SAMPLER_PARKED)) {
            idle = 0;
            if (any_open(view)) {
                lp_sampler_change(LP_SAMPLER_PARKED, LP_SAMPLER_AWAKE);
            }
            continue;
        }
        period = next_period(period, spent() - before, found.fresh);
        sleep_in(LP_SAMPLER_AWAKE, period);
    }
}

void
lp_sampler_watch(lp_sampler_view *view)
{
    prctl(PR_SET_NAME, "lineprof", 0, 0, 0);
    view->own = (uint32_t)syscall(SYS_gettid);
    view->turn++;
    view->files = 0;
    if (leave_files() && !is_blind(view)) {
        watch(view);
    }
    else {
        lp_sampler_change(LP_SAMPLER_AWAKE, LP_SAMPLER_BLIND);
    }
}

#endif
