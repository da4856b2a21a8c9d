#include "lp_sampler.h"

uint32_t lp_sampler_state = LP_SAMPLER_OFF;
uint32_t lp_sampler_waited;

bool
lp_sampler_is_blind(void)
{
    uint32_t state = __atomic_load_n(&lp_sampler_state, __ATOMIC_RELAXED);

    return state == LP_SAMPLER_BLIND || state == LP_SAMPLER_OFF;
}

#ifdef __linux__

#  include <linux/futex.h>
#  include <pthread.h>
#  include <signal.h>
#  include <sys/syscall.h>
#  include <unistd.h>

#  include "lp_sampler_watch.h"

enum { STACK_BYTES = 256 << 10, MOST_MOMENTS = 10000 };

static struct {
    lp_sampler_view view;
    bool allowed;
    bool running; /* there is a thread to be joined */
    pthread_t thread;
    uint32_t forking; /* the thread that forks */
} sampler;

/* Held by who begins or ends the thread, and while the process forks. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
set_state(uint32_t state)
{
    __atomic_store_n(&lp_sampler_state, state, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &lp_sampler_state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL,
            0);
}

bool
lp_sampler_change(uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&lp_sampler_state, &from, to, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void *
run(void *view)
{
    lp_sampler_watch(view);
    return NULL;
}

/* Who counts the threads of the process still sees one that was joined, for
 * some microseconds. */
static void
wait_until_gone(uint32_t thread)
{
    const struct timespec moment = {0, 10000};

    for (int i = 0; i < MOST_MOMENTS; i++) {
        if (syscall(SYS_tgkill, getpid(), thread, 0) != 0) {
            return;
        }
        nanosleep(&moment, NULL);
    }
}

/* [gate] */
static void
end(void)
{
    if (sampler.running) {
        set_state(LP_SAMPLER_ENDING);
        pthread_join(sampler.thread, NULL);
        wait_until_gone(sampler.view.own);
        sampler.running = false;
    }
    __atomic_store_n(&lp_sampler_state, LP_SAMPLER_OFF, __ATOMIC_SEQ_CST);
}

/* [gate] A thread that takes no signals: they are the program's. */
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
lp_sampler_begin(void)
{
    if (lp_sampler_change(LP_SAMPLER_PARKED, LP_SAMPLER_AWAKE)) {
        set_state(LP_SAMPLER_AWAKE);
        return;
    }
    if (pthread_mutex_trylock(&gate) != 0) {
        return; /* at the next look */
    }
    if (!sampler.running &&
        lp_sampler_change(LP_SAMPLER_WANTED, LP_SAMPLER_AWAKE)) {
        sampler.running = create();
        if (!sampler.running) {
            set_state(LP_SAMPLER_BLIND);
        }
    }
    pthread_mutex_unlock(&gate);
}

static void
before_fork(void)
{
    pthread_mutex_lock(&gate);
    sampler.forking = (uint32_t)syscall(SYS_gettid);
    end();
}

static void
after_fork(void)
{
    __atomic_store_n(&lp_sampler_state,
                     sampler.allowed ? LP_SAMPLER_WANTED : LP_SAMPLER_OFF,
                     __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&gate);
}

/* In the child its one thread has another number, and the others are gone.
 * The child finds itself alone, as it would without us: no thread comes back
 * there, and what its lines wait for stays unseen. */
static void
after_fork_child(void)
{
    lp_recorder *rec =
        sampler.view.recorders == NULL ? NULL : *sampler.view.recorders;

    for (; rec != NULL; rec = rec->next) {
        bool own = rec->wait.thread == sampler.forking;

        rec->wait.thread = 0;
        if (own) {
            lp_wait_attach(rec);
        }
    }
    sampler.allowed = false;
    after_fork();
}

static void
heed_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_child);
}

void
lp_sampler_allow(lp_recorder *const *recorders, uintptr_t low, uintptr_t high)
{
    pthread_once(&once, heed_forks);
    pthread_mutex_lock(&gate);
    sampler.view.recorders = recorders;
    sampler.view.low = low;
    sampler.view.high = high;
    if (!sampler.allowed) {
        sampler.allowed = true;
        __atomic_store_n(&lp_sampler_state, LP_SAMPLER_WANTED,
                         __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&gate);
}

void
lp_sampler_forbid(void)
{
    pthread_mutex_lock(&gate);
    sampler.allowed = false;
    end();
    pthread_mutex_unlock(&gate);
}

#else

void
lp_sampler_allow(struct lp_recorder *const *recorders, uintptr_t low,
                 uintptr_t high)
{
    (void)recorders;
    (void)low;
    (void)high;
}

void
lp_sampler_forbid(void)
{
}

void
lp_sampler_begin(void)
{
}

#endif
