#include "engine/python_call.h"

#include <pthread.h>

#include "engine/engine.h"

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
    if (rec != NULL) { /* the caller's line did not run in the meantime */
        rec->cost +=
            (lp_clock_now(&lp_the_engine.clock) - self->began) * LP_COST_ONE;
    }
}
