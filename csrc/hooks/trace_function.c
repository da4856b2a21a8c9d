#include "hooks/trace_function.h"

#include <string.h>

#include "engine/c_functions.h"
#include "engine/code.h"
#include "engine/discovery.h"
#include "engine/engine.h"
#include "engine/overhead_audit.h"

/* The frame that the tracer is seeing, or NULL. */
static _Thread_local PyFrameObject *shown_frame;

/* The frame as we count it, or NULL. */
static lp_frame *
find_frame(const lp_recorder *rec, const PyFrameObject *frame)
{
    lp_frame *counted = rec->top;

    while (counted > rec->frames && counted->key != frame) {
        counted--;
    }
    return counted > rec->frames ? counted : NULL;
}

static bool
wants_lines(PyFrameObject *frame)
{
    PyObject *wants =
        PyObject_GetAttrString((PyObject *)frame, "f_trace_lines");
    bool yes = wants != Py_False;

    if (wants == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(wants);
    return yes;
}

static void
set_lines(PyFrameObject *frame, bool on)
{
    if (PyObject_SetAttrString((PyObject *)frame, "f_trace_lines",
                               on ? Py_True : Py_False) < 0) {
        PyErr_Clear();
    }
}

/* [GIL] Does the tracer before us want no lines of this frame? */
static bool
hides_lines(const lp_recorder *rec, const PyFrameObject *frame)
{
    const lp_frame *counted = find_frame(rec, frame);

    return counted != NULL && (counted->flags & LP_FRAME_HIDE_LINES);
}

/* [GIL] The tracer is about to see the frame: show it its own attribute. */
static void
show_f_trace_lines(const lp_recorder *rec, PyFrameObject *frame)
{
    shown_frame = frame;
    if (hides_lines(rec, frame)) {
        set_lines(frame, false);
    }
}

/* The frame has the attribute as the tracer wants it. */
static void
save_f_trace_lines(const lp_recorder *rec, PyFrameObject *frame)
{
    lp_frame *counted = find_frame(rec, frame);
    PyObject *type, *value, *traceback;

    if (counted == NULL) {
        return;
    }
    PyErr_Fetch(&type, &value, &traceback); /* the tracer may have failed */
    if (wants_lines(frame)) {
        counted->flags &= ~(uint32_t)LP_FRAME_HIDE_LINES;
    }
    else {
        set_lines(frame, true);
        counted->flags |= LP_FRAME_HIDE_LINES;
    }
    PyErr_Restore(type, value, traceback);
}

/* [GIL] It has seen it, and may have changed its mind.  What it says once it
 * has `left` is the program's: a debugger puts back what it found. */
static void
hide_f_trace_lines(const lp_recorder *rec, PyFrameObject *frame, bool left)
{
    shown_frame = NULL;
    if (!left) {
        save_f_trace_lines(rec, frame);
    }
}

void
lp_f_trace_lines_leave(const lp_recorder *rec)
{
    if (shown_frame != NULL) {
        save_f_trace_lines(rec, shown_frame);
    }
}

/* The recorder knows no Python, so it keeps any function. */
Py_tracefunc
lp_trace_other(const lp_recorder *rec)
{
    Py_tracefunc func;

    memcpy(&func, &rec->other_tracer, sizeof(func));
    return func;
}

void
lp_trace_set_other(lp_recorder *rec, Py_tracefunc other_tracer)
{
    memcpy(&rec->other_tracer, &other_tracer, sizeof(other_tracer));
}

/* The code object of a frame; borrowed: the frame holds it. */
static PyObject *
code_of(PyFrameObject *frame)
{
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);

    Py_DECREF(code);
    return code;
}

#if LP_HAVE_FRAME_EVAL

static bool
is_comprehension(PyObject *code)
{
    PyObject *name = ((PyCodeObject *)code)->co_name;

    return PyUnicode_READ_CHAR(name, 0) == '<' &&
           (PyUnicode_CompareWithASCIIString(name, "<listcomp>") == 0 ||
            PyUnicode_CompareWithASCIIString(name, "<setcomp>") == 0 ||
            PyUnicode_CompareWithASCIIString(name, "<dictcomp>") == 0);
}

/* Is it the frame that is counted, or a comprehension on its line?  Of frames
 * that are not traced we are told of such alone, but where frames take turns
 * on a thread. */
static bool
is_counted(const lp_frame *counted, PyFrameObject *frame)
{
    bool found = counted->key == frame;

    if (!found && !lp_the_engine.greenlets &&
        !lp_trace_is_on(lp_thread_state())) {
        return true;
    }
    Py_INCREF(frame);
    while (!found && frame != NULL && is_comprehension(code_of(frame))) {
        PyFrameObject *back = PyFrame_GetBack(frame);

        Py_DECREF(frame);
        frame = back;
        found = counted->key == frame;
    }
    Py_XDECREF(frame);
    return found;
}

/* As a profile function, which alone is told of calls of C. */
static int
on_c_call(PyObject *Py_UNUSED(obj), PyFrameObject *frame, int what,
          PyObject *arg)
{
    lp_recorder *rec = lp_current_recorder;

    if (rec == NULL) {
        return 0;
    }
    if (what == PyTrace_C_CALL) {
        if (is_counted(rec->top, frame) && !lp_c_functions_is(rec->top) &&
            rec->top != rec->frames) {
            lp_c_functions_enter(rec, arg, lp_clock_now(&rec->clock));
        }
    }
    else if (what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION) {
        if (lp_c_functions_is(rec->top) && is_counted(rec->top - 1, frame)) {
            lp_c_functions_leave(rec, lp_clock_now(&rec->clock));
        }
    }
    return 0;
}

/* Unless the program profiles itself just now. */
static void
profile_c_calls(PyThreadState *state, bool on)
{
    if (on && lp_c_functions_on && state->c_profilefunc == NULL) {
        state->c_profilefunc = on_c_call;
    }
    else if (!on && state->c_profilefunc == on_c_call) {
        state->c_profilefunc = NULL;
    }
}

bool
lp_trace_is_profiling(PyThreadState *state)
{
    return state->c_profilefunc == on_c_call;
}

void
lp_trace_profile(PyThreadState *state)
{
    profile_c_calls(state, true);
    lp_thread_set_trace(state, state->c_tracefunc);
}

void
lp_trace_pause(PyThreadState *state, lp_recorder *rec, PyObject *code)
{
    bool profiling = lp_trace_is_profiling(state) && is_comprehension(code);

    if (lp_trace_is_on(state)) {
        lp_trace_uninstall(state, rec);
    }
    else {
        profile_c_calls(state, false);
        lp_thread_set_trace(state, state->c_tracefunc);
    }
    if (profiling) {
        lp_trace_profile(state);
    }
}

void
lp_trace_resume(PyThreadState *state, lp_recorder *rec, bool was_on)
{
    if (!was_on) {
        lp_trace_profile(state);
    }
    else if (!lp_trace_is_on(state)) {
        lp_trace_install(state, rec);
    }
}

#else

static void
profile_c_calls(PyThreadState *Py_UNUSED(state), bool Py_UNUSED(on))
{
}

#endif

void
lp_trace_install(PyThreadState *state, lp_recorder *rec)
{
    lp_trace_set_other(rec, state->c_tracefunc);
    profile_c_calls(state, true);
    lp_thread_set_trace(state, lp_trace_function);
}

void
lp_trace_uninstall(PyThreadState *state, lp_recorder *rec)
{
    profile_c_calls(state, false);
    lp_thread_set_trace(state, lp_trace_other(rec));
    rec->other_tracer = NULL;
}

/* Pass the event on to who traced this thread before.  It may replace itself
 * meanwhile, or fail and be taken off: then it is the newcomer's turn, after
 * ours. */
static int
call_other_tracer(lp_recorder *rec, PyObject *obj, PyFrameObject *frame,
                  int what, PyObject *arg)
{
    PyThreadState *state = lp_thread_state();
    int result;

    if (what == PyTrace_LINE && hides_lines(rec, frame)) {
        return 0;
    }
    show_f_trace_lines(rec, frame);
    result = lp_trace_other(rec)(obj, frame, what, arg);
    if (!lp_trace_is_on(state)) {
        lp_trace_install(state, rec);
    }
    hide_f_trace_lines(rec, frame, result == 0 && rec->other_tracer == NULL);
    return result;
}

/* A generator's or coroutine's step. */
static void
on_resume(lp_recorder *rec, lp_code *code, PyFrameObject *frame)
{
    int offset = lp_frame_lasti(frame);
    lp_frame *entered = lp_engine_enter(rec, code, LP_RESUMED,
                                        (uint32_t)lp_frame_lineno(frame),
                                        frame, lp_clock_now(&rec->clock));

    if (entered != NULL) {
        entered->offset = offset;
    }
}

/* 0; or -1 with an exception, which ends the call. */
static int
on_call(lp_recorder *rec, PyFrameObject *frame)
{
    int result = lp_overhead_audit(rec) ? 0 : -1;
    lp_code *code = lp_code_of(code_of(frame));

    if (code == NULL && LP_UNLIKELY(lp_discovery_on)) {
        code = lp_discovery_ask(code_of(frame));
    }
    if (code == NULL) {
        return result;
    }
    if ((code->flags & LP_CODE_GENERATOR) &&
        lp_frame_lasti(frame) > code->start) {
        on_resume(rec, code, frame);
    }
    else {
        lp_engine_enter(rec, code, LP_CALLED, 0, frame, 0);
    }
    return result;
}

static void
on_return(lp_recorder *rec, PyFrameObject *frame, lp_ticks now)
{
    if (LP_UNLIKELY(lp_c_functions_is(rec->top)) &&
        lp_engine_frame(rec, code_of(frame), frame) != NULL) {
        lp_c_functions_end(rec, now); /* (Others may end in what C called.) */
    }
    if (rec->top != rec->frames || rec->unpopped != 0) {
        PyObject *object = code_of(frame);
        const lp_code *code = lp_code_of(object);

        /* Whether a step ends by a yield or for good is not told: what is
         * kept of a frame that is gone is overwritten one day. */
        lp_engine_leave(rec, object, frame,
                        code != NULL && (code->flags & LP_CODE_GENERATOR),
                        now);
    }
#if LP_HAVE_FRAME_EVAL
    if (LP_UNLIKELY(rec->trace_reason == LP_TRACE_RUNNING_FRAMES)) {
        lp_trace_threads_check(rec, frame);
    }
#endif
}

/* Does the event name the line that is open?  A jump on its own line is told
 * of from where it starts. */
static bool
is_open_line(const lp_frame *top, PyFrameObject *frame)
{
    uint32_t offset = (uint32_t)lp_frame_lineno(frame) - top->first_line;

    return top->line == top->lines + offset;
}

/* How control came to where the frame is.  A comprehension's loop is also
 * come to from above, when it begins: only a way back is a turn. */
static lp_line_entry
find_line_entry(const lp_code *code, lp_frame *top, PyFrameObject *frame)
{
    int offset = lp_frame_lasti(frame);
    lp_line_entry line_entry = lp_code_line_entry(code, offset);

    if (top->key == frame) {
        if (line_entry == LP_LINE_COMPREHENSION && offset > top->offset &&
            !is_open_line(top, frame) &&
            !lp_code_has_no_line_event(code, offset)) {
            line_entry = LP_LINE_FORWARD;
        }
        top->offset = offset;
    }
    return line_entry;
}

/* Another event of the line that is open, of which the tables say nothing: may
 * it be a loop's turn?  Before 3.12 no other is told of. */
static bool
may_be_iteration(const lp_code *code, int offset)
{
    if (!LP_HAVE_MONITORING) {
        return true;
    }
    return code->marks == NULL && lp_jumped_back(code->code, offset);
}

/* The frame that runs counts no more since it began: from here on it is like
 * one that never did, which the evaluator would not have traced.  Who called
 * it is traced again when it returns. */
static void
stop_tracing_frame(lp_recorder *rec)
{
    if (LP_HAVE_FRAME_EVAL && rec->trace_reason == LP_TRACE_PROFILED_ONLY &&
        rec->other_tracer == NULL) {
        lp_trace_uninstall(lp_thread_state(), rec);
    }
}

/* Another event of the same line, or of the same statement: how control came
 * there is told by where it is. */
static void
on_line_slow(lp_recorder *rec, PyFrameObject *frame, uint32_t line,
             lp_ticks now)
{
    PyObject *object = code_of(frame);
    lp_code *code = lp_code_of(object);
    lp_line_entry line_entry;

    if (code == NULL) {
        return;
    }
    if (LP_UNLIKELY(lp_code_is_ignored(code))) {
        stop_tracing_frame(rec);
        return;
    }
    if (LP_UNLIKELY(lp_c_functions_is(rec->top)) &&
        lp_engine_frame(rec, object, frame) != NULL) {
        lp_c_functions_end(rec, now);
    }
    line_entry = find_line_entry(code, rec->top, frame);
    if (rec->top->key == frame && is_open_line(rec->top, frame) &&
        (line_entry == LP_LINE_COMPREHENSION ||
         (line_entry == LP_LINE_FORWARD &&
          !may_be_iteration(code, lp_frame_lasti(frame))))) {
        lp_engine_same_line(rec->top);
        return;
    }
    lp_engine_line(rec, object, frame, line, line_entry, now);
}

static void
on_line(lp_recorder *rec, PyFrameObject *frame, lp_ticks now)
{
    uint32_t line = (uint32_t)lp_frame_lineno(frame);
    lp_frame *top = rec->top;
    uint32_t offset = line - top->first_line;

    if (LP_LIKELY(
            top->key == frame &&
            !(top->flags & (LP_FRAME_SLOW | LP_FRAME_HAS_COMPREHENSION)) &&
            offset < top->n_lines)) {
        const lp_line *to = top->lines + offset;

        if (LP_LIKELY(to != top->line && to->statement == 0)) {
            lp_recorder_line(rec, top, offset, now, LP_LINE_FORWARD);
            return;
        }
    }
    on_line_slow(rec, frame, line, now);
}

int
lp_trace_function(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg)
{
    lp_recorder *rec = lp_current_recorder;
    lp_ticks now;

    if (LP_UNLIKELY(rec == NULL)) {
        rec = lp_threads_here();
        if (rec == NULL) {
            return 0;
        }
    }
    now = lp_clock_now(&rec->clock);
    if (LP_LIKELY(what == PyTrace_LINE)) {
        on_line(rec, frame, now);
    }
    else if (what == PyTrace_CALL) {
        if (on_call(rec, frame) < 0) {
            return -1;
        }
    }
    else if (what == PyTrace_RETURN) {
        if (LP_UNLIKELY(rec->other_tracer != NULL)) {
            show_f_trace_lines(rec, frame); /* it is not counted below */
        }
        on_return(rec, frame, now);
    }
    if (LP_LIKELY(rec->other_tracer == NULL)) {
        return 0;
    }
    return call_other_tracer(rec, obj, frame, what, arg);
}

#if LP_HAVE_FRAME_EVAL

/* Does this frame, or one that waits for it, run registered code?  Takes the
 * reference. */
static bool
runs_registered(PyFrameObject *frame)
{
    bool found = false;

    while (frame != NULL && !found) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyFrameObject *back = PyFrame_GetBack(frame);

        found = lp_code_of((PyObject *)code) != NULL;
        Py_DECREF(code);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    return found;
}

static PyThreadState *
next_thread(PyThreadState *state)
{
    return state == NULL
               ? PyInterpreterState_ThreadHead(PyInterpreterState_Get())
               : PyThreadState_Next(state);
}

static void
trace_thread_because(PyThreadState *state, lp_trace_reason why)
{
    PyThreadState *current = PyThreadState_Get();
    lp_recorder *rec =
        state == current ? lp_threads_here() : lp_threads_of(state->thread_id);

    if (rec == NULL) {
        return;
    }
    rec->trace_reason = why;
    lp_trace_install(state, rec);
}

void
lp_trace_threads_running(void)
{
    for (PyThreadState *state = next_thread(NULL); state != NULL;
         state = next_thread(state)) {
        if (!lp_trace_is_on(state) &&
            runs_registered(PyThreadState_GetFrame(state))) {
            trace_thread_because(state, LP_TRACE_RUNNING_FRAMES);
        }
    }
}

void
lp_trace_threads_all(void)
{
    for (PyThreadState *state = next_thread(NULL); state != NULL;
         state = next_thread(state)) {
        if (!lp_trace_is_on(state)) {
            trace_thread_because(state, LP_TRACE_ALL_CALLS);
        }
    }
}

void
lp_trace_threads_end(PyThreadState *state, lp_recorder *rec)
{
    if (rec->trace_reason == LP_TRACE_ALL_CALLS && rec->top == rec->frames &&
        lp_trace_is_on(state)) {
        rec->trace_reason = LP_TRACE_PROFILED_ONLY;
        lp_trace_uninstall(state, rec);
    }
}

void
lp_trace_threads_check(lp_recorder *rec, PyFrameObject *frame)
{
    if (rec->trace_reason == LP_TRACE_RUNNING_FRAMES &&
        rec->top == rec->frames && !runs_registered(PyFrame_GetBack(frame))) {
        rec->trace_reason = LP_TRACE_PROFILED_ONLY;
        lp_trace_uninstall(lp_thread_state(), rec);
    }
}

#endif
