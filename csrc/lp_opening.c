#include "lp_opening.h"

#include <string.h>
#include <unistd.h>

#include "lp_discover.h"
#include "lp_waits.h"

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
choose_hook(const char *name, PyObject *module)
{
    const lp_hook *hook = lp_hook_find(name);

    if (lp_process.hook != NULL) {
        if (hook == lp_process.hook) {
            return 0;
        }
        PyErr_Format(PyExc_RuntimeError,
                     "another profiler of this process uses '%s'",
                     lp_process.hook->name);
        return -1;
    }
    if (hook == NULL) {
        PyErr_Format(PyExc_ValueError, "this Python has no '%s'", name);
        return -1;
    }
    if (lp_code_open() < 0 || hook->open(module) < 0) {
        return -1;
    }
    lp_process.hook = hook;
    return 0;
}

int
lp_opening_open(const char *hook, PyObject *clock, const char *clock_name,
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
lp_opening_close(void)
{
    take_turn();
    if (--lp_process.tracers == 0) {
        (void)lp_discover_set(Py_None);
        lp_process.hook->close();
        lp_process.hook = NULL;
        lp_waits_close();
    }
    give_turn();
}
