#include "engine/python_call.h"

#include <pthread.h>
#include <time.h>

#include "engine/engine.h"

static lp_python_call_totals totals;

static uint64_t
thread_cpu_ns(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Block signals, but those that the thread itself causes, which cannot wait.
 */
static void
block_signals(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGTRAP);
    sigdelset(&all, SIGABRT);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

void
lp_python_call_begin(lp_python_call *self)
{
    self->began = lp_clock_now(&lp_the_engine.clock);
    self->began_cpu_ns = thread_cpu_ns();
    block_signals(&self->signals);
    PyErr_Fetch(&self->type, &self->value, &self->traceback);
    lp_thread_ignore_events(true);
}

void
lp_python_call_end(lp_python_call *self)
{
    lp_recorder *rec = lp_current_recorder;

    lp_thread_ignore_events(false);
    PyErr_Clear();
    PyErr_Restore(self->type, self->value, self->traceback);
    pthread_sigmask(SIG_SETMASK, &self->signals, NULL);
    totals.cpu_ns += thread_cpu_ns() - self->began_cpu_ns;
    if (rec != NULL) { /* the caller's line did not run in the meantime */
        lp_ticks ticks = lp_clock_now(&lp_the_engine.clock) - self->began;

        rec->cost += ticks * LP_COST_ONE;
        totals.ticks += ticks;
    }
}

lp_python_call_totals
lp_python_calls(void)
{
    return totals;
}
