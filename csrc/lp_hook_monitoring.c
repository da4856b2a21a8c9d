/* Events by sys.monitoring (PEP 669): local to the registered code objects,
 * so that all other code runs untouched.
 *
 * They are set once, when a function is registered, and stay; a call made
 * while nothing counts costs its callbacks and no more.  Callbacks are
 * objects of a type of our own with a vectorcall slot, the cheapest callable
 * that the interpreter knows.  They never raise: an error would end up in the
 * program.
 */
#include "lp_hook_monitoring.h"

#if LP_HAVE_MONITORING

#  include <stddef.h>
#  include <structmember.h>

#  include "lp_engine.h"

typedef struct callback {
    PyObject_HEAD
    vectorcallfunc call;
} callback;

/* Tool ids in order of preference: 0 is for debuggers, 1 for coverage, 2 for
 * profilers of functions (cProfile and line_profiler claim it). */
static const int tool_ids[] = {4, 3, 5, 2};

static int tool_id = -1;
static PyObject *disable;    /* owned: sys.monitoring.DISABLE */
static PyObject *monitoring; /* owned: sys.monitoring */

static PyObject *
none(void)
{
    Py_RETURN_NONE;
}

static PyObject *
on_start(PyObject *Py_UNUSED(self), PyObject *const *args,
         size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    lp_recorder *rec = lp_engine_recorder();
    lp_code *code = lp_code_of(args[0]);

    if (rec != NULL && code != NULL) {
        lp_engine_enter(rec, code, LP_CALLED, 0, lp_frame_key(), 0);
    }
    return none();
}

static PyObject *
on_resume(PyObject *Py_UNUSED(self), PyObject *const *args,
          size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    lp_recorder *rec = lp_engine_recorder();
    lp_code *code = lp_code_of(args[0]);

    if (rec != NULL && code != NULL) {
        uint32_t at = (uint32_t)lp_small_int(args[1]) / 2;
        uint32_t line = code->resumes != NULL && at < code->n_marks
                            ? code->resumes[at]
                            : 0;

        lp_engine_enter(rec, code, LP_RESUMED, line, lp_frame_key(),
                        lp_clock_now(&rec->clock));
    }
    return none();
}

static inline void
leave(PyObject *code, bool suspended)
{
    lp_recorder *rec = lp_here;
    lp_ticks now;
    lp_frame *top;

    if (rec == NULL || rec->top == rec->frames) {
        return;
    }
    now = lp_clock_now(&rec->clock);
    top = rec->top;
    if (top->code == code && !(top->flags & LP_FRAME_STRICT)) {
        lp_engine_leave(rec, code, top->key, suspended, now);
    }
    else {
        lp_engine_leave(rec, code, lp_frame_key(), suspended, now);
    }
}

static PyObject *
on_leave(PyObject *Py_UNUSED(self), PyObject *const *args,
         size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    leave(args[0], false);
    return none();
}

static PyObject *
on_yield(PyObject *Py_UNUSED(self), PyObject *const *args,
         size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    leave(args[0], true);
    return none();
}

static void
line_slow(PyObject *code, uint32_t line, lp_ticks now)
{
    lp_recorder *rec = lp_engine_recorder();

    if (rec != NULL) {
        lp_engine_line(rec, code, lp_frame_key(), line, LP_STEP, now);
    }
}

static PyObject *
on_line(PyObject *Py_UNUSED(self), PyObject *const *args,
        size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    lp_recorder *rec = lp_here;
    uint32_t line = (uint32_t)lp_small_int(args[1]);

    if (LP_LIKELY(rec != NULL)) {
        lp_ticks now = lp_clock_now(&rec->clock);
        lp_frame *frame = rec->top;

        if (LP_LIKELY(frame->code == args[0] &&
                      !(frame->flags & LP_FRAME_SLOW))) {
            lp_recorder_line(rec, frame, line - frame->first_line, now,
                             LP_STEP);
        }
        else {
            line_slow(args[0], line, now);
        }
    }
    else {
        line_slow(args[0], line, lp_clock_now(&lp_process.clock));
    }
    return none();
}

static PyObject *
keep_or_drop(bool keep)
{
    PyObject *answer = keep ? Py_None : disable;

    Py_INCREF(answer);
    return answer;
}

/* A jump.  Most are of no interest, ever, and are switched off for good; two
 * kinds are: one that goes round on its own line, for which there is no line
 * event, and one back to the start of a statement of several lines. */
static PyObject *
on_jump(PyObject *Py_UNUSED(self), PyObject *const *args,
        size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    long from = lp_small_int(args[1]), to = lp_small_int(args[2]);
    lp_code *code = lp_code_of(args[0]);
    lp_recorder *rec = lp_here;
    lp_frame *frame;
    lp_step step;
    int line;

    if (to > from || code == NULL) {
        return keep_or_drop(code == NULL);
    }
    step = lp_code_step(code, (int)to);
    line = PyCode_Addr2Line((PyCodeObject *)args[0], (int)to);
    if (line == PyCode_Addr2Line((PyCodeObject *)args[0], (int)from)) {
        if (step != LP_WITHIN && rec != NULL) {
            lp_engine_line(rec, args[0], lp_frame_key(), (uint32_t)line, step,
                           lp_clock_now(&rec->clock));
        }
        return keep_or_drop(step != LP_WITHIN);
    }
    if (step == LP_STEP) {
        return keep_or_drop(false);
    }
    frame = rec != NULL ? lp_engine_frame(rec, args[0], lp_frame_key()) : NULL;
    if (frame != NULL) {
        /* The line event of where it goes comes next. */
        frame->flags |= step == LP_AGAIN ? LP_FRAME_AGAIN : LP_FRAME_WITHIN;
    }
    return keep_or_drop(true);
}

/* An event, what answers it, and whether it can be had for single code
 * objects. */
static const struct event {
    const char *name;
    vectorcallfunc call;
    bool local;
} events[] = {
    {"LINE", on_line, true},         {"PY_START", on_start, true},
    {"PY_RESUME", on_resume, true},  {"PY_RETURN", on_leave, true},
    {"PY_YIELD", on_yield, true},    {"JUMP", on_jump, true},
    {"PY_UNWIND", on_leave, false}, {"PY_THROW", on_resume, false},
};

enum { N_EVENTS = sizeof(events) / sizeof(events[0]) };

static PyObject *callbacks[N_EVENTS]; /* owned */

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(callback, call), READONLY,
     NULL},
    {NULL, 0, 0, 0, NULL},
};

static void
callback_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    type->tp_free(op);
    Py_DECREF(type); /* heap types are owned by their instances */
}

static PyType_Slot callback_slots[] = {
    {Py_tp_dealloc, callback_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, callback_members},
    {0, NULL},
};

static PyType_Spec callback_spec = {
    .name = "lineprof._core.Callback",
    .basicsize = sizeof(callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = callback_slots,
};

/* The bit of an event; -1 with an exception. */
static long
event_bit(const struct event *event)
{
    PyObject *names = PyObject_GetAttrString(monitoring, "events");
    PyObject *bit = NULL;
    long value = -1;

    if (names != NULL) {
        bit = PyObject_GetAttrString(names, event->name);
    }
    if (bit != NULL) {
        value = PyLong_AsLong(bit);
    }
    Py_XDECREF(names);
    Py_XDECREF(bit);
    return value;
}

/* The bits of the events that are (not) local; -1 with an exception. */
static long
event_mask(bool local)
{
    long mask = 0;

    for (int i = 0; i < N_EVENTS && mask >= 0; i++) {
        if (events[i].local == local) {
            long bit = event_bit(&events[i]);

            mask = bit < 0 ? -1 : mask | bit;
        }
    }
    return mask;
}

/* Call a function of sys.monitoring for its effect.  0 or -1. */
static int
ask(PyObject *answer)
{
    if (answer == NULL) {
        return -1;
    }
    Py_DECREF(answer);
    return 0;
}

/* Make the callbacks; they are kept, for a process has few moments at which
 * nothing can call them. */
static int
make_callbacks(void)
{
    PyTypeObject *type;

    if (callbacks[0] != NULL) {
        return 0;
    }
    type = (PyTypeObject *)PyType_FromSpec(&callback_spec);
    for (int i = N_EVENTS - 1; i >= 0 && type != NULL; i--) {
        callback *made = PyObject_New(callback, type);

        if (made == NULL) {
            break;
        }
        made->call = events[i].call;
        callbacks[i] = (PyObject *)made;
    }
    Py_XDECREF(type);
    return callbacks[0] == NULL ? -1 : 0;
}

static int
register_all(bool on)
{
    for (int i = 0; i < N_EVENTS; i++) {
        long bit = event_bit(&events[i]);

        if (bit < 0 ||
            ask(PyObject_CallMethod(monitoring, "register_callback", "ilO",
                                    tool_id, bit,
                                    on ? callbacks[i] : Py_None)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Take the first tool id that is free. */
static int
take_tool_id(void)
{
    for (size_t i = 0; i < sizeof(tool_ids) / sizeof(tool_ids[0]); i++) {
        PyObject *answer = PyObject_CallMethod(monitoring, "use_tool_id", "is",
                                               tool_ids[i], "lineprof");

        if (answer != NULL) {
            Py_DECREF(answer);
            tool_id = tool_ids[i];
            return 0;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError)) {
            return -1;
        }
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError,
                    "other tools hold every tool id of sys.monitoring that a "
                    "profiler may take");
    return -1;
}

static void
monitoring_close(void)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    if (tool_id >= 0) {
        if (ask(PyObject_CallMethod(monitoring, "set_events", "ii", tool_id,
                                    0)) < 0 ||
            register_all(false) < 0 ||
            ask(PyObject_CallMethod(monitoring, "free_tool_id", "i",
                                    tool_id)) < 0) {
            PyErr_Clear(); /* the interpreter is going away */
        }
        tool_id = -1;
    }
    Py_CLEAR(disable);
    Py_CLEAR(monitoring);
    PyErr_Restore(type, value, traceback);
}

static int
monitoring_open(PyObject *Py_UNUSED(module))
{
    long mask;

    monitoring = PySys_GetObject("monitoring"); /* borrowed */
    if (monitoring == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is not there");
        return -1;
    }
    Py_INCREF(monitoring);
    disable = PyObject_GetAttrString(monitoring, "DISABLE");
    if (disable == NULL || make_callbacks() < 0 || take_tool_id() < 0 ||
        register_all(true) < 0) {
        monitoring_close();
        return -1;
    }
    mask = event_mask(false);
    if (mask < 0 || ask(PyObject_CallMethod(monitoring, "set_events", "il",
                                            tool_id, mask)) < 0) {
        monitoring_close();
        return -1;
    }
    return 0;
}

static int
set_local(PyObject *code, long mask)
{
    return ask(PyObject_CallMethod(monitoring, "set_local_events", "iOl",
                                   tool_id, code, mask));
}

static int
monitoring_watch(PyObject *code)
{
    long mask = event_mask(true);

    return mask < 0 ? -1 : set_local(code, mask);
}

static void
monitoring_unwatch(PyObject *code)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    if (set_local(code, 0) < 0) {
        PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
}

const lp_hook lp_hook_monitoring = {
    .name = "monitoring",
    .open = monitoring_open,
    .close = monitoring_close,
    .watch = monitoring_watch,
    .unwatch = monitoring_unwatch,
    .how = "sys.monitoring tells of the registered functions alone, so all "
           "other code runs at its own speed",
};

#endif
