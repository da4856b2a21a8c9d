#include "engine/overhead_audit.h"

#include "engine/c_stack.h"
#include "engine/engine.h"
#include "engine/python_call.h"

static PyObject *audit_callable; /* owned; NULL while the audit is off */
static uint64_t interval;        /* in ticks * LP_COST_ONE */

static uint64_t
next_time(const lp_recorder *rec)
{
    return audit_callable == NULL ? LP_OVERHEAD_AUDIT_NEVER
                                  : rec->cost + interval;
}

static void
set_interval(uint64_t ns)
{
    double one = (double)lp_clock_scale(&lp_the_engine.clock) / 4294967296.0;

    interval = (uint64_t)((double)ns / one * (double)LP_COST_ONE);
}

int
lp_overhead_audit_set(PyObject *callable, uint64_t ns)
{
    PyObject *before = audit_callable;

    if (callable != Py_None && lp_the_engine.hook == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "there is no tracer");
        return -1;
    }
    audit_callable = callable == Py_None ? NULL : callable;
    Py_XINCREF(audit_callable);
    if (audit_callable != NULL) {
        set_interval(ns);
    }
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        rec->audit_at = next_time(rec);
    }
    Py_XDECREF(before); /* last, because it may run code of the program */
    return 0;
}

void
lp_overhead_audit_begin(lp_recorder *rec)
{
    rec->audit_at = next_time(rec);
}

/* Call the callable, which may return the next interval. */
static void
call_audit(void)
{
    PyObject *callable = audit_callable, *answer;

    Py_INCREF(callable); /* the callable may end the audit */
    answer = PyObject_CallFunctionObjArgs(callable, NULL);
    Py_DECREF(callable);
    if (answer != NULL && PyLong_Check(answer)) {
        unsigned long long ns = PyLong_AsUnsignedLongLong(answer);

        if (!PyErr_Occurred()) {
            set_interval(ns);
        }
    }
    Py_XDECREF(answer);
}

bool
lp_overhead_audit_now(lp_recorder *rec)
{
    lp_python_call call;

    rec->audit_at =
        LP_OVERHEAD_AUDIT_NEVER; /* not again while the callable runs */
    if (audit_callable == NULL) {
        return true;
    }
    /* A pending signal belongs to the program: its handler runs now, as it
     * would without lineprof. */
    if (PyErr_CheckSignals() < 0) {
        rec->audit_at = rec->cost;
        return false;
    }
    if (audit_callable != NULL && !lp_c_stack_is_full()) {
        lp_python_call_begin(&call);
        call_audit();
        lp_python_call_end(&call);
    }
    rec->audit_at = next_time(rec);
    return true;
}
