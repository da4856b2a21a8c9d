#include "module/signal_functions.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#  include <sys/syscall.h>

/* (The old glibc has no name for this member.) */
#  ifndef sigev_notify_thread_id
#    define sigev_notify_thread_id _sigev_un._tid
#  endif

/* Distances (ns) at which a signal is sent again.  On an idle machine the call
 * blocks some us after the signal; on a busy one, perhaps much later.  (Each
 * interrupts the system call that the main thread is in, so they are few.) */
static const long distances[] = {20000000, 100000000, 500000000};

enum { N_DISTANCES = sizeof(distances) / sizeof(distances[0]) };

static struct {
    timer_t timer; /* sends the signal to the main thread */
    bool has_timer;
    pid_t pid;           /* to which the timer belongs */
    void (*before)(int); /* Python's handler */
    atomic_int sent;     /* times that it was sent again */
} repeated[NSIG];

/* Let the timer send the signal after `wait` ns, or never if that is 0. */
static void
arm(int number, long wait)
{
    struct itimerspec when = {.it_value = {.tv_nsec = wait}};

    (void)timer_settime(repeated[number].timer, 0, &when, NULL);
}

/* (Of these functions a handler may call timer_settime and getpid.) */
static void
arrived(int number)
{
    int error = errno, sent;

    repeated[number].before(number);
    sent = atomic_load(&repeated[number].sent);
    /* (A child of vfork has the memory of its parent, but no timers.) */
    if (sent < N_DISTANCES && repeated[number].pid == getpid()) {
        atomic_store(&repeated[number].sent, sent + 1);
        arm(number, distances[sent]);
    }
    errno = error;
}

static int
new_timer(int number)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = number};

    if (repeated[number].has_timer && repeated[number].pid == getpid()) {
        return 0;
    }
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &event, &repeated[number].timer) != 0) {
        return -1;
    }
    repeated[number].pid = getpid();
    repeated[number].has_timer = true;
    return 0;
}

static int
repeat(int number)
{
    struct sigaction action;

    if (sigaction(number, NULL, &action) != 0 || new_timer(number) != 0) {
        return -1;
    }
    if ((action.sa_flags & SA_SIGINFO) || action.sa_handler == arrived ||
        action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
        return 0; /* not Python's */
    }
    repeated[number].before = action.sa_handler;
    atomic_store(&repeated[number].sent, 0);
    action.sa_handler = arrived;
    return sigaction(number, &action, NULL);
}

static void
all_handled(void)
{
    for (int number = 1; number < NSIG; number++) {
        if (repeated[number].has_timer && repeated[number].pid == getpid()) {
            atomic_store(&repeated[number].sent, N_DISTANCES);
            arm(number, 0);
        }
    }
}
#else
static int
repeat(int Py_UNUSED(number))
{
    return 0;
}

static void
all_handled(void)
{
}
#endif

static PyObject *
repeat_signal(PyObject *Py_UNUSED(module), PyObject *argument)
{
    long number = PyLong_AsLong(argument);

    if (number == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (number < 1 || number >= NSIG) {
        return PyErr_Format(PyExc_ValueError, "no signal: %ld", number);
    }
    if (repeat((int)number) != 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_RETURN_NONE;
}

static PyObject *
signal_handled(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    all_handled();
    Py_RETURN_NONE;
}

PyMethodDef lp_signal_functions[] = {
    {"repeat_signal", repeat_signal, METH_O, NULL},
    {"signal_handled", signal_handled, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
