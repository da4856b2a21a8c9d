#include "engine/python_call.h"

#include <pthread.h>

#include "engine/engine.h"

static lp_python_call_totals totals;

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
    lp_own_work_begin(&self->work, lp_current_recorder);
    block_signals(&self->signals);
    PyErr_Fetch(&self->type, &self->value, &self->traceback);
    lp_thread_ignore_events(true);
}

void
lp_python_call_end(lp_python_call *self)
{
    lp_own_time took;

    lp_thread_ignore_events(false);
    PyErr_Clear();
    PyErr_Restore(self->type, self->value, self->traceback);
    pthread_sigmask(SIG_SETMASK, &self->signals, NULL);
    took = lp_own_work_end(&self->work);
    totals.cpu_ns += took.cpu_ns;
    totals.ticks += took.cost;
}

lp_python_call_totals
lp_python_calls(void)
{
    return totals;
}
