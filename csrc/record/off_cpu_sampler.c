#include "record/off_cpu_sampler.h"

#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#  include <fcntl.h>
#  include <limits.h>
#  include <linux/futex.h>
#  include <pthread.h>
#  include <signal.h>
#  include <stdio.h>
#  include <sys/prctl.h>
#  include <sys/syscall.h>
#  include <unistd.h>
#endif

#include "record/current_path.h"
#include "record/file_table.h"
#include "record/forks.h"
#include "record/recorder.h"

/* -- the cause, by the system call that a thread is blocked in -------------
 */

#ifdef __linux__

/* Input and output.  Some of these calls do not exist on all processors. */
static const long io_calls[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_recvmmsg,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
    SYS_accept,
    SYS_accept4,
    SYS_connect,
    SYS_shutdown,
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_pwait,
    SYS_fsync,
    SYS_fdatasync,
    SYS_sync,
    SYS_msync,
    SYS_sendfile,
    SYS_splice,
    SYS_tee,
    SYS_vmsplice,
    SYS_openat,
    SYS_close,
    SYS_fcntl,
    SYS_flock,
    SYS_ioctl,
    SYS_ftruncate,
    SYS_truncate,
    SYS_fallocate,
    SYS_getdents64,
    SYS_newfstatat,
    SYS_fstat,
    SYS_statfs,
    SYS_unlinkat,
    SYS_mkdirat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_io_getevents,
    SYS_io_submit,
#  ifdef SYS_poll
    SYS_poll,
#  endif
#  ifdef SYS_select
    SYS_select,
#  endif
#  ifdef SYS_epoll_wait
    SYS_epoll_wait,
#  endif
#  ifdef SYS_epoll_pwait2
    SYS_epoll_pwait2,
#  endif
#  ifdef SYS_open
    SYS_open,
#  endif
#  ifdef SYS_stat
    SYS_stat,
#  endif
#  ifdef SYS_lstat
    SYS_lstat,
#  endif
#  ifdef SYS_unlink
    SYS_unlink,
#  endif
#  ifdef SYS_rename
    SYS_rename,
#  endif
#  ifdef SYS_mkdir
    SYS_mkdir,
#  endif
#  ifdef SYS_renameat2
    SYS_renameat2,
#  endif
#  ifdef SYS_syncfs
    SYS_syncfs,
#  endif
#  ifdef SYS_sync_file_range
    SYS_sync_file_range,
#  endif
#  ifdef SYS_copy_file_range
    SYS_copy_file_range,
#  endif
#  ifdef SYS_preadv2
    SYS_preadv2,
#  endif
#  ifdef SYS_pwritev2
    SYS_pwritev2,
#  endif
#  ifdef SYS_statx
    SYS_statx,
#  endif
#  ifdef SYS_io_uring_enter
    SYS_io_uring_enter,
#  endif
};

static bool
is_io(long call)
{
    for (size_t i = 0; i < sizeof(io_calls) / sizeof(io_calls[0]); i++) {
        if (io_calls[i] == call) {
            return true;
        }
    }
    return false;
}

/* Return the number of descriptors that a call waits for; -1 for other calls.
 */
static long
descriptor_count(long call, unsigned long first, unsigned long second)
{
#  ifdef SYS_select
    if (call == SYS_select) {
        return (long)first;
    }
#  endif
#  ifdef SYS_poll
    if (call == SYS_poll) {
        return (long)second;
    }
#  endif
    if (call == SYS_pselect6) {
        return (long)first;
    }
    return call == SYS_ppoll ? (long)second : -1;
}

/* The text is "running"; or the number of a system call and its arguments; or
 * -1 and addresses, if the thread is blocked outside of a system call, in a
 * page fault.  See proc(5). */
lp_cause
lp_sampler_cause(const char *text, uintptr_t low, uintptr_t high)
{
    char *end;
    long call = strtol(text, &end, 10);
    unsigned long first = strtoul(end, &end, 16);
    unsigned long second = strtoul(end, &end, 16);

    if (strncmp(text, "running", 7) == 0) {
        return LP_WAIT_RUNNABLE;
    }
    if (call == SYS_futex) {
        return first >= low && first < high ? LP_WAIT_GIL : LP_WAIT_LOCK;
    }
    if (call == SYS_clock_nanosleep || call == SYS_nanosleep ||
        descriptor_count(call, first, second) == 0) {
        return LP_WAIT_SLEEP;
    }
    return call == -1 || is_io(call) ? LP_WAIT_IO : LP_WAIT_OTHER;
}

#else

lp_cause
lp_sampler_cause(const char *text, uintptr_t low, uintptr_t high)
{
    (void)text;
    (void)low;
    (void)high;
    return LP_WAIT_UNSEEN;
}

#endif

uint32_t lp_sampler_state = LP_SAMPLER_OFF;
uint32_t lp_sampler_waited;

bool
lp_sampler_is_unavailable(void)
{
    uint32_t state = __atomic_load_n(&lp_sampler_state, __ATOMIC_RELAXED);

    return state == LP_SAMPLER_UNAVAILABLE || state == LP_SAMPLER_OFF;
}

#ifdef __linux__

/* -- the sampling thread ---------------------------------------------------
 */

/* The watched recorders, and the data of the sampler's own thread. */
typedef struct sampler_view {
    lp_recorder *const *recorders;
    uintptr_t low, high; /* address range of the GIL */
    uint32_t native_id;  /* thread id of the operating system */
    /* number of sampling threads so far, this one included */
    uint32_t run_number;
    uint32_t files; /* files it has open */
} sampler_view;

/* Change the state; true if it was `from`. */
static bool
change_state(uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&lp_sampler_state, &from, to, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

enum {
    MIN_PERIOD_NS =
        2000000, /* min and max time between samples of all threads, */
    MAX_PERIOD_NS = 16000000,
    SHARE = 150, /* and min ratio of the time between samples to the time of a
                    sample */
    IDLE_NS =
        50000000, /* time without open lines after which the sampler sleeps */
    MAX_REPEATS = 8,      /* samples of a thread blocked in the same cause, */
    REPEAT_INTERVAL = 16, /* after which it is sampled only every 16th time */
    MAX_OPEN_FILES = 512
};

/* Sleep while the state is `state`, for so many ns; 0 for no limit. */
static void
sleep_in_state(uint32_t state, lp_ns ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u),
                            .tv_nsec = (long)(ns % 1000000000u)};

    syscall(SYS_futex, &lp_sampler_state, FUTEX_WAIT_PRIVATE, state,
            ns == 0 ? NULL : &time, NULL, 0);
}

/* Wake those who wait for a change of the state. */
static void
wake_all(void)
{
    syscall(SYS_futex, &lp_sampler_state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL,
            NULL, 0);
}

static int
open_file(uint32_t thread)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", thread);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Return the cause of the thread of an open file; LP_WAIT_UNSEEN if the thread
 * has ended. */
static lp_cause
read_cause(const sampler_view *view, int file)
{
    char text[256];
    ssize_t n = file < 0 ? -1 : pread(file, text, sizeof(text) - 1, 0);

    if (n <= 0) {
        return LP_WAIT_UNSEEN;
    }
    text[n] = '\0';
    return lp_sampler_cause(text, view->low, view->high);
}

/* Return the cause of a thread; LP_WAIT_UNSEEN if it cannot be read.  The file
 * stays open, unless very many are. */
static lp_cause
find_cause(sampler_view *view, lp_off_cpu *wait, uint32_t thread)
{
    lp_cause cause;

    if (wait->file_run == view->run_number && wait->file_thread == thread) {
        return read_cause(view, wait->file);
    }
    if (wait->file_run == view->run_number) {
        close(wait->file);
        view->files--;
    }
    wait->file = open_file(thread);
    wait->file_thread = thread;
    wait->file_run = 0;
    cause = read_cause(view, wait->file);
    if (wait->file >= 0 && view->files < MAX_OPEN_FILES) {
        wait->file_run = view->run_number;
        view->files++;
    }
    else if (wait->file >= 0) {
        close(wait->file);
    }
    return cause;
}

static bool
is_unavailable(const sampler_view *view)
{
    int file = open_file(view->native_id);
    bool unavailable = read_cause(view, file) == LP_WAIT_UNSEEN;

    if (file >= 0) {
        close(file);
    }
    return unavailable;
}

/* Result of a sample of all threads: whether a thread began to wait recently,
 * and whether any has open lines. */
typedef struct sample_result {
    bool recent_wait, open;
} sample_result;

/* Request a reading of the clocks at the thread's next event.  False if the
 * previous request is still pending, because then the thread is in the same
 * gap. */
static bool
request_reading(lp_off_cpu *wait)
{
    bool reading_requested =
        __atomic_exchange_n(&wait->reading_requested, true, __ATOMIC_RELAXED);

    if (!reading_requested) {
        __atomic_store_n(&wait->min, 0, __ATOMIC_RELAXED);
    }
    return !reading_requested;
}

static void
sample_thread(sampler_view *view, lp_recorder *rec, lp_ns now, lp_ns period,
              sample_result *found)
{
    lp_off_cpu *wait = &rec->wait;
    uint32_t thread = __atomic_load_n(&wait->thread, __ATOMIC_RELAXED);
    lp_ns weight;
    lp_cause cause;

    if (thread == 0 || !lp_current_path_any(rec) ||
        __atomic_load_n(&rec->finished, __ATOMIC_RELAXED) ||
        __atomic_load_n(&wait->threshold, __ATOMIC_RELAXED) == LP_WAIT_NEVER) {
        return;
    }
    found->open = true;
    if (request_reading(wait)) {
        wait->repeats = 0;
        wait->sampled_at = now > period ? now - period : 0;
    }
    else if (wait->repeats > MAX_REPEATS &&
             ++wait->repeats % REPEAT_INTERVAL != 0) {
        return;
    }
    cause = find_cause(view, wait, thread);
    if (cause == LP_WAIT_UNSEEN ||
        !__atomic_load_n(&wait->reading_requested, __ATOMIC_RELAXED)) {
        return; /* the thread has ended, or is in another gap by now */
    }
    wait->repeats = cause == wait->last_cause && cause != LP_WAIT_RUNNABLE
                        ? wait->repeats + 1
                        : 0;
    wait->last_cause = cause;
    weight = now - wait->sampled_at;
    wait->sampled_at = now;
    __atomic_fetch_add(&wait->samples[cause], weight, __ATOMIC_RELAXED);
    found->recent_wait |=
        cause != LP_WAIT_RUNNABLE && wait->repeats <= MAX_REPEATS;
}

static sample_result
sample_threads(sampler_view *view, lp_ns now, lp_ns period)
{
    sample_result found = {false, false};
    lp_recorder *rec = __atomic_load_n(view->recorders, __ATOMIC_ACQUIRE);

    while (rec != NULL) {
        sample_thread(view, rec, now, period, &found);
        rec = __atomic_load_n(&rec->next, __ATOMIC_ACQUIRE);
    }
    return found;
}

static bool
any_open(const sampler_view *view)
{
    lp_recorder *rec = __atomic_load_n(view->recorders, __ATOMIC_ACQUIRE);

    while (rec != NULL && !lp_current_path_any(rec)) {
        rec = __atomic_load_n(&rec->next, __ATOMIC_ACQUIRE);
    }
    return rec != NULL;
}

/* Processor time of this thread: on a busy machine a sample may be interrupted
 * for long, which costs the program nothing. */
static lp_ns
cpu_time(void)
{
    struct timespec time = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (lp_ns)time.tv_sec * 1000000000u + (lp_ns)time.tv_nsec;
}

static lp_ns
next_period(lp_ns period, lp_ns took, bool recent_wait)
{
    period = recent_wait ? MIN_PERIOD_NS : period + period / 8;
    period = period > MAX_PERIOD_NS ? MAX_PERIOD_NS : period;
    return period < took * SHARE ? took * SHARE : period;
}

static void
run_sampler(sampler_view *view)
{
    lp_ns period = MIN_PERIOD_NS, last = lp_clock_monotonic(), idle = 0;

    for (;;) {
        uint32_t state = __atomic_load_n(&lp_sampler_state, __ATOMIC_ACQUIRE);
        lp_ns now = lp_clock_monotonic(), start;
        sample_result found;

        if (state != LP_SAMPLER_AWAKE) {
            if (state != LP_SAMPLER_ASLEEP) {
                return;
            }
            sleep_in_state(LP_SAMPLER_ASLEEP, 0);
            last = lp_clock_monotonic();
            period = MIN_PERIOD_NS;
            continue;
        }
        start = cpu_time();
        found = sample_threads(view, now, now - last);
        found.recent_wait |=
            __atomic_exchange_n(&lp_sampler_waited, 0, __ATOMIC_RELAXED) != 0;
        last = now;
        idle = found.open ? 0 : idle + period;
        if (idle > IDLE_NS &&
            change_state(LP_SAMPLER_AWAKE, LP_SAMPLER_ASLEEP)) {
            idle = 0;
            if (any_open(view)) {
                change_state(LP_SAMPLER_ASLEEP, LP_SAMPLER_AWAKE);
            }
            continue;
        }
        period = next_period(period, cpu_time() - start, found.recent_wait);
        sleep_in_state(LP_SAMPLER_AWAKE, period);
    }
}

/* Run the sampling thread until it is to end or cannot read causes. */
static void
run_thread(sampler_view *view)
{
    bool available;

    prctl(PR_SET_NAME, "lineprof", 0, 0, 0);
    view->native_id = (uint32_t)syscall(SYS_gettid);
    view->run_number++;
    view->files = 0;
    /* Its files take no numbers from the program, and files that the program
     * closes are closed. */
    available = lp_file_table_begin_empty() && !is_unavailable(view);
    change_state(LP_SAMPLER_STARTING,
                 available ? LP_SAMPLER_AWAKE : LP_SAMPLER_UNAVAILABLE);
    wake_all();
    if (available) {
        run_sampler(view);
    }
}

/* -- start and end of the thread -------------------------------------------
 */

enum {
    STACK_BYTES = 256 << 10,
    MAX_POLLS = 10000,
    MAX_STARTS = 10, /* periods for which the program waits for the thread, */
    START_NS = 10000000 /* of so many ns: on a busy machine it is slow to come;
                           a signal ends a period */
};

static struct {
    sampler_view view;
    bool allowed;
    bool running; /* there is a thread to be joined */
    pthread_t thread;
    uint32_t forking; /* the thread that forks */
} sampler;

/* Held while the thread is started or ended, and while the process forks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void
set_state(uint32_t state)
{
    __atomic_store_n(&lp_sampler_state, state, __ATOMIC_SEQ_CST);
    wake_all();
}

static void *
run(void *view)
{
    run_thread(view);
    return NULL;
}

/* Wait until a joined thread is gone: for some microseconds it still counts as
 * a thread of the process. */
static void
wait_until_gone(uint32_t thread)
{
    const struct timespec moment = {0, 10000};

    for (int i = 0; i < MAX_POLLS; i++) {
        if (syscall(SYS_tgkill, getpid(), thread, 0) != 0) {
            return;
        }
        nanosleep(&moment, NULL);
    }
}

/* [lock] */
static void
end(void)
{
    if (sampler.running) {
        set_state(LP_SAMPLER_ENDING);
        pthread_join(sampler.thread, NULL);
        wait_until_gone(sampler.view.native_id);
        sampler.running = false;
    }
    __atomic_store_n(&lp_sampler_state, LP_SAMPLER_OFF, __ATOMIC_SEQ_CST);
}

/* [lock] Create the thread with all signals blocked, because signals are meant
 * for the program. */
static bool
create(void)
{
    pthread_attr_t attr;
    sigset_t all, before;
    bool made;

    if (pthread_attr_init(&attr) != 0) {
        return false;
    }
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    made = pthread_create(&sampler.thread, &attr, run, &sampler.view) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return made;
}

void
lp_sampler_wake_up(void)
{
    if (change_state(LP_SAMPLER_ASLEEP, LP_SAMPLER_AWAKE)) {
        wake_all();
    }
}

static bool
is_starting(void)
{
    return __atomic_load_n(&lp_sampler_state, __ATOMIC_ACQUIRE) ==
           LP_SAMPLER_STARTING;
}

/* The thread's start takes a processor, which may be the one of this thread:
 * it is over before a line is open, or continues. */
void
lp_sampler_begin(void)
{
    if (pthread_mutex_trylock(&lock) != 0) {
        return; /* try again when clocks are next read */
    }
    if (!sampler.running &&
        change_state(LP_SAMPLER_WANTED, LP_SAMPLER_STARTING)) {
        sampler.running = create();
        if (!sampler.running) {
            set_state(LP_SAMPLER_UNAVAILABLE);
        }
        for (int i = 0; i < MAX_STARTS && is_starting(); i++) {
            sleep_in_state(LP_SAMPLER_STARTING, START_NS);
        }
    }
    pthread_mutex_unlock(&lock);
}

void
lp_sampler_pause(void)
{
    pthread_mutex_lock(&lock);
    if (sampler.running) {
        end();
        set_state(sampler.allowed ? LP_SAMPLER_WANTED : LP_SAMPLER_OFF);
    }
    pthread_mutex_unlock(&lock);
}

void
lp_sampler_before_fork(void)
{
    pthread_mutex_lock(&lock);
    sampler.forking = (uint32_t)syscall(SYS_gettid);
    end();
}

void
lp_sampler_after_fork(void)
{
    __atomic_store_n(&lp_sampler_state,
                     sampler.allowed ? LP_SAMPLER_WANTED : LP_SAMPLER_OFF,
                     __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&lock);
}

/* In the child the only thread has another thread id, and the others do not
 * exist.  No sampler starts in the child, which is to have one thread, as
 * without lineprof; causes of waits there are unknown. */
void
lp_sampler_after_fork_in_child(void)
{
    lp_recorder *rec =
        sampler.view.recorders == NULL ? NULL : *sampler.view.recorders;

    for (; rec != NULL; rec = rec->next) {
        bool forked = rec->wait.thread == sampler.forking;

        rec->wait.thread = 0;
        if (forked) {
            lp_off_cpu_attach(rec);
        }
    }
    sampler.allowed = false;
    lp_sampler_after_fork();
}

void
lp_sampler_start(lp_recorder *const *recorders, uintptr_t low, uintptr_t high)
{
    lp_forks_watch();
    pthread_mutex_lock(&lock);
    if (!sampler.allowed) { /* so no sampling thread reads the view */
        sampler.view.recorders = recorders;
        sampler.view.low = low;
        sampler.view.high = high;
        sampler.allowed = true;
        __atomic_store_n(&lp_sampler_state, LP_SAMPLER_WANTED,
                         __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&lock);
}

void
lp_sampler_stop(void)
{
    pthread_mutex_lock(&lock);
    sampler.allowed = false;
    end();
    pthread_mutex_unlock(&lock);
}

#else

void
lp_sampler_start(struct lp_recorder *const *recorders, uintptr_t low,
                 uintptr_t high)
{
    (void)recorders;
    (void)low;
    (void)high;
}

void
lp_sampler_stop(void)
{
}

void
lp_sampler_begin(void)
{
}

void
lp_sampler_wake_up(void)
{
}

void
lp_sampler_pause(void)
{
}

void
lp_sampler_before_fork(void)
{
}

void
lp_sampler_after_fork(void)
{
}

void
lp_sampler_after_fork_in_child(void)
{
}

#endif
