#include "hooks/trace_function.h"

#include <string.h>

#include "engine/c_functions.h"
#include "engine/code.h"
#include "engine/discovery.h"
#include "engine/engine.h"
#include "engine/frames.h"
#include "engine/greenlets.h"
#include "engine/overhead_audit.h"
#include "gpu/nvtx_ranges.h"
#include "hooks/frame_eval.h"
#include "memory/heap_path.h"
#include "record/greenlet_stacks.h"

/* The frame whose event the other tracer is getting, or NULL. */
static _Thread_local PyFrameObject *shown_frame;

/* Return the recorder's frame of a Python frame, or NULL. */
static lp_frame *
find_frame(const lp_recorder *rec, const PyFrameObject *frame)
{
    lp_frame *counted = rec->top;

    while (counted > rec->frames && counted->key != frame) {
        counted--;
    }
    return counted > rec->frames ? counted : NULL;
}

/* Return an attribute of a frame that says which events its tracer wants. */
static bool
get_wish(PyFrameObject *frame, const char *name)
{
    PyObject *wants = PyObject_GetAttrString((PyObject *)frame, name);
    bool yes = wants == Py_True;

    if (wants == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(wants);
    return yes;
}

static void
set_wish(PyFrameObject *frame, const char *name, bool on)
{
    if (PyObject_SetAttrString((PyObject *)frame, name,
                               on ? Py_True : Py_False) < 0) {
        PyErr_Clear();
    }
}

/* [GIL] True if the other tracer does not want these events of this frame:
 * `flag` is LP_FRAME_HIDE_.... */
static bool
hides(const lp_recorder *rec, const PyFrameObject *frame, uint32_t flag)
{
    const lp_frame *counted = find_frame(rec, frame);

    return counted != NULL && (counted->flags & flag);
}

/* [GIL] The other tracer is about to get the frame: give the attributes the
 * values which that tracer set. */
static void
show_wishes(const lp_recorder *rec, PyFrameObject *frame)
{
    shown_frame = frame;
    if (hides(rec, frame, LP_FRAME_HIDE_LINES)) {
        set_wish(frame, "f_trace_lines", false);
    }
    if (hides(rec, frame, LP_FRAME_HIDE_OPCODES)) {
        set_wish(frame, "f_trace_opcodes", false);
    }
}

/* The opcode events of a frame are lineprof's, if no other tracer wants them.
 */
static void
want_opcodes(lp_frame *counted, PyFrameObject *frame)
{
    if (!get_wish(frame, "f_trace_opcodes")) {
        set_wish(frame, "f_trace_opcodes", true);
        counted->flags |= LP_FRAME_HIDE_OPCODES;
    }
    else {
        counted->flags &= ~(uint32_t)LP_FRAME_HIDE_OPCODES;
    }
}

/* Save the attributes, which have the values that the other tracer set, and
 * keep them true. */
static void
save_wishes(const lp_recorder *rec, PyFrameObject *frame)
{
    lp_frame *counted = find_frame(rec, frame);
    PyObject *type, *value, *traceback;

    if (counted == NULL) {
        return;
    }
    /* The other tracer may have raised. */
    PyErr_Fetch(&type, &value, &traceback);
    if (get_wish(frame, "f_trace_lines")) {
        counted->flags &= ~(uint32_t)LP_FRAME_HIDE_LINES;
    }
    else {
        set_wish(frame, "f_trace_lines", true);
        counted->flags |= LP_FRAME_HIDE_LINES;
    }
    if (LP_HAVE_OPCODES_OF_CODE && counted->n_starts != 0) {
        want_opcodes(counted, frame);
    }
    PyErr_Restore(type, value, traceback);
}

/* [GIL] The other tracer has got the frame, and may have set its attributes.
 * If that tracer has `left`, the values are the program's: a debugger restores
 * what it found. */
static void
hide_wishes(const lp_recorder *rec, PyFrameObject *frame, bool left)
{
    shown_frame = NULL;
    if (!left) {
        save_wishes(rec, frame);
    }
}

void
lp_frame_wishes_leave(const lp_recorder *rec)
{
    if (shown_frame != NULL) {
        save_wishes(rec, shown_frame);
    }
}

/* The recorder knows no Python types, so it keeps a pointer to any function.
 */
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

/* Return the code object of a frame; borrowed, because the frame owns it. */
static PyObject *
code_of(PyFrameObject *frame)
{
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);

    Py_DECREF(code);
    return code;
}

/* The same as lp_greenlets_check, for an event of any frame: only one of
 * profiled code tells that another greenlet's lines are open. */
static bool
has_other_greenlet(lp_recorder *rec, PyFrameObject *frame)
{
    return LP_UNLIKELY(lp_the_engine.greenlets) &&
           lp_code_of(code_of(frame)) != NULL && lp_greenlets_check(rec);
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

/* True if the frame is the counted one, or a comprehension on its line.  While
 * the thread is not traced, only such comprehensions run with the profile
 * function, unless greenlets switch frames on the thread. */
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

/* Profile function, because only profile functions get C calls. */
static int
on_c_call(PyObject *Py_UNUSED(obj), PyFrameObject *frame, int what,
          PyObject *arg)
{
    lp_recorder *rec = lp_current_recorder;

    if (rec == NULL) {
        return 0;
    }
    has_other_greenlet(rec, frame);
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

/* Set or clear the profile function, unless the program has one of its own. */
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

/* Pass the event to the other tracer.  That tracer may set another trace
 * function in the call, or raise and be removed: then the new function is
 * called after lineprof's from now on. */
static int
call_other_tracer(lp_recorder *rec, PyObject *obj, PyFrameObject *frame,
                  int what, PyObject *arg)
{
    PyThreadState *state = lp_thread_state();
    int result;

    if ((what == PyTrace_LINE && hides(rec, frame, LP_FRAME_HIDE_LINES)) ||
        (what == PyTrace_OPCODE && hides(rec, frame, LP_FRAME_HIDE_OPCODES))) {
        return 0;
    }
    show_wishes(rec, frame);
    result = lp_trace_other(rec)(obj, frame, what, arg);
    if (!lp_trace_is_on(state)) {
        lp_trace_install(state, rec);
    }
    hide_wishes(rec, frame, result == 0 && rec->other_tracer == NULL);
    return result;
}

/* The frame was entered: have its opcode events, if they are needed. */
static void
entered_frame(const lp_recorder *rec, const lp_code *code,
              PyFrameObject *frame)
{
    lp_frame *counted;

    if (LP_HAVE_OPCODES_OF_CODE &&
        LP_UNLIKELY(code->flags & LP_CODE_HAS_HIDDEN_STARTS)) {
        counted = find_frame(rec, frame);
        if (counted != NULL) {
            want_opcodes(counted, frame);
        }
    }
}

/* A generator or coroutine is resumed. */
static void
on_resume(lp_recorder *rec, lp_code *code, PyFrameObject *frame)
{
    int offset = lp_frame_lasti(frame);
    lp_frame *entered = lp_engine_enter(rec, code, LP_RESUMED,
                                        (uint32_t)lp_frame_lineno(frame),
                                        frame, lp_clock_now(&rec->clock));

    if (entered != NULL) {
        entered->offset = offset;
        entered_frame(rec, code, frame);
    }
}

/* Return 0; or -1 with an exception, which ends the call. */
static int
on_call(lp_recorder *rec, PyFrameObject *frame)
{
    int result = lp_overhead_audit(rec) ? 0 : -1;
    lp_code *code = lp_code_of(code_of(frame));

#if LP_HAVE_FRAME_EVAL
    lp_frame_eval_called();
#endif
    if (code == NULL && LP_UNLIKELY(lp_discovery_on)) {
        code = lp_discovery_ask(code_of(frame), PyEval_GetGlobals());
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
        entered_frame(rec, code, frame);
    }
    return result;
}

static void
on_return(lp_recorder *rec, PyFrameObject *frame, lp_ticks now)
{
    if (has_other_greenlet(rec, frame)) {
        now = lp_clock_now(&rec->clock);
    }
    if (LP_UNLIKELY(lp_c_functions_is(rec->top)) &&
        lp_engine_frame(rec, code_of(frame), frame) != NULL) {
        /* (Frames that the C function called may also end.) */
        lp_c_functions_end(rec, now);
    }
    if (rec->top != rec->frames || rec->unpopped != 0) {
        PyObject *object = code_of(frame);
        const lp_code *code = lp_code_of(object);

        /* The event is the same for a yield and for the end.  State kept of a
         * frame that has ended is overwritten later. */
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

enum { LONG_SEARCH = 64 }; /* lines; a shorter search is faster than a table */

/* Return the line that the frame is at.  From 3.12 on the interpreter searches
 * its line table from the start, which takes long in long functions. */
static uint32_t
line_of(const lp_frame *top, PyFrameObject *frame)
{
    if (LP_HAVE_MONITORING && top->key == frame &&
        top->n_lines > LONG_SEARCH) {
        const lp_code *code = lp_code_of(code_of(frame));
        uint32_t at = (uint32_t)lp_frame_lasti(frame) / 2;

        if (code != NULL && code->resumes != NULL && at < code->n_marks &&
            code->resumes[at] != 0) {
            return code->resumes[at];
        }
    }
    return (uint32_t)lp_frame_lineno(frame);
}

/* True if the event is of the line that is open.  A jump to its own line has
 * its event at the start of the jump. */
static bool
is_open_line(const lp_frame *top, PyFrameObject *frame)
{
    uint32_t offset = line_of(top, frame) - top->first_line;

    return top->line == top->lines + offset;
}

/* Return the lp_line_entry of the frame's position, a byte offset.  A loop is
 * also entered from above, when it begins, and so is an instruction that jumps
 * back: only the jump is an iteration. */
static lp_line_entry
find_line_entry(const lp_code *code, lp_frame *top, PyFrameObject *frame,
                int offset)
{
    lp_line_entry line_entry = lp_code_line_entry(code, offset);

    if (top->key == frame) {
        if (line_entry != LP_LINE_FORWARD && offset > top->offset &&
            !is_open_line(top, frame) &&
            !lp_code_has_no_line_event(code, offset)) {
            line_entry = LP_LINE_FORWARD;
        }
        top->offset = offset;
    }
    return line_entry;
}

/* True if another event of the open line, which the code tables do not
 * describe, may be an iteration of a loop.  Before 3.12 the tables describe
 * all loops, unless the bytecode is unknown. */
static bool
may_be_iteration(const lp_code *code, int offset)
{
    return code->marks == NULL &&
           (!LP_HAVE_MONITORING || lp_jumped_back(code->code, offset));
}

/* The running frame is no longer counted: trace it no further, as the
 * evaluator would not have traced it.  Its caller is traced again when the
 * frame returns. */
static void
stop_tracing_frame(lp_recorder *rec)
{
    if (LP_HAVE_FRAME_EVAL && rec->trace_reason == LP_TRACE_PROFILED_ONLY &&
        rec->other_tracer == NULL) {
        lp_trace_uninstall(lp_thread_state(), rec);
    }
}

/* An event of the same line or statement, for which the position decides how
 * control came there. */
static void
on_line_slow(lp_recorder *rec, PyFrameObject *frame, uint32_t line,
             lp_ticks now)
{
    PyObject *object = code_of(frame);
    lp_code *code = lp_code_of(object);
    lp_line_entry line_entry;
    bool is_same, was_known;
    int offset;

    if (code == NULL) {
        return;
    }
    if (LP_UNLIKELY(lp_code_is_ignored(code))) {
        stop_tracing_frame(rec);
        return;
    }
    if (lp_greenlets_check(rec)) {
        now = lp_clock_now(&rec->clock);
    }
    if (LP_UNLIKELY(lp_c_functions_is(rec->top)) &&
        lp_engine_frame(rec, object, frame) != NULL) {
        lp_c_functions_end(rec, now);
    }
    offset = lp_frame_lasti(frame);
    if (LP_UNLIKELY(lp_code_is_no_execution(code, offset))) {
        if (rec->top->key == frame && rec->top->line != NULL) {
            lp_engine_same_line(rec->top);
        }
        return;
    }
    line_entry = find_line_entry(code, rec->top, frame, offset);
    is_same = rec->top->key == frame && is_open_line(rec->top, frame);
    if (is_same &&
        (line_entry == LP_LINE_COMPREHENSION ||
         (line_entry == LP_LINE_FORWARD && !may_be_iteration(code, offset)) ||
         lp_jumps_to_other_line(object, offset))) {
        lp_engine_same_line(rec->top);
        return;
    }
    was_known = rec->top->key == frame;
    lp_engine_line(rec, object, frame, line, line_entry, now);
    if (!was_known) {
        entered_frame(rec, code, frame);
    }
    if (is_same) {
        lp_engine_charge_jump(rec, code);
    }
}

static void
on_line(lp_recorder *rec, PyFrameObject *frame, lp_ticks now)
{
    lp_frame *top = rec->top;
    uint32_t line = line_of(top, frame);
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

/* An instruction of a frame with hidden starts: the others have LINE events.
 */
static void
on_opcode(lp_recorder *rec, PyFrameObject *frame, lp_ticks now)
{
    lp_frame *counted = find_frame(rec, frame);
    uint32_t at = (uint32_t)lp_frame_lasti(frame) / 2;

    if (counted == NULL || at >= counted->n_starts ||
        !(counted->starts[at] & LP_START_HIDDEN)) {
        return;
    }
    if (counted->starts[at] & LP_START_REPEATS) {
        lp_engine_line(rec, code_of(frame), frame,
                       counted->first_line +
                           lp_start_line(counted->starts[at]) - 1,
                       LP_LINE_LOOP_BACK, now);
    }
    else {
        on_line(rec, frame, now);
    }
}

int
lp_trace_opcodes(PyObject *code, bool on)
{
    PyObject *globals = PyDict_New(), *any = NULL;
    PyFrameObject *frame = NULL;
    int result = -1;

    /* The interpreter has such a switch for a frame only, which is one of its
     * code, and is ignored in a frame that has no trace function. */
    if (globals != NULL) {
        frame = PyFrame_New(PyThreadState_Get(), (PyCodeObject *)code, globals,
                            NULL);
    }
    if (frame != NULL) {
        any = (PyObject *)frame;
        result = PyObject_SetAttrString(any, "f_trace", Py_True);
    }
    if (result == 0) {
        result = PyObject_SetAttrString(any, "f_trace_opcodes",
                                        on ? Py_True : Py_False);
    }
    Py_XDECREF(any);
    Py_XDECREF(globals);
    return result;
}

/* The block of an object that the collector of garbage knows. */
static void *
block_of(void *object)
{
    return (char *)object - 2 * sizeof(uintptr_t);
}

/* The interpreter, and perhaps the caller of the trace function. */
enum { MAX_REFERENCES = 4 };

/* True if it is the number that the interpreter made for an event of the
 * frame: its line, or the offset of a call or return.  It may be a block of
 * the program where a number was before: that has no small count. */
static bool
is_number_of(PyObject *number, PyFrameObject *frame)
{
    return Py_TYPE(number) == &PyLong_Type && Py_REFCNT(number) > 0 &&
           Py_REFCNT(number) <= MAX_REFERENCES &&
           (lp_small_int(number) == lp_frame_lasti(frame) ||
            lp_small_int(number) == lp_frame_lineno(frame));
}

/* Tables of its code that the interpreter made for the first event. */
static void
forget_tables(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame); /* owned */
    void *tables[LP_MAX_EVENT_TABLES];
    size_t n = lp_code_event_tables((PyObject *)code, tables);

    for (size_t i = 0; i < n; i++) {
        lp_heap_forget(tables[i]);
    }
    Py_DECREF(code);
}

/* What the interpreter made for an event is no memory of the program: the
 * frame object, tables of its code, what is told of an exception, and from
 * 3.12 on a number. */
static LP_NOINLINE void
forget_objects(PyFrameObject *frame, int what, PyObject *arg)
{
    size_t bytes = 0;
    PyObject *newest;

    if (what == PyTrace_EXCEPTION) {
        lp_heap_forget(block_of(arg));
        return;
    }
    if (what == PyTrace_CALL) {
        lp_heap_forget(block_of(frame));
        forget_tables(frame);
    }
    newest = LP_HAVE_MONITORING ? lp_heap_newest(&bytes) : NULL;
    /* A larger block is none, and may be a mapping that is gone. */
    if (newest != NULL && bytes >= sizeof(PyObject) + sizeof(uintptr_t) &&
        bytes <= sizeof(PyLongObject) && is_number_of(newest, frame)) {
        lp_heap_forget(newest);
    }
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
    if (LP_UNLIKELY(LP_READ(lp_the_heap.on))) {
        forget_objects(frame, what, arg);
    }
    now = lp_clock_now(&rec->clock);
    if (LP_LIKELY(what == PyTrace_LINE)) {
        on_line(rec, frame, now);
    }
    else if (what == PyTrace_OPCODE) {
        on_opcode(rec, frame, now);
    }
    else if (what == PyTrace_CALL) {
        if (on_call(rec, frame) < 0) {
            return -1;
        }
    }
    else if (what == PyTrace_RETURN) {
        if (LP_UNLIKELY(rec->other_tracer != NULL)) {
            show_wishes(rec, frame); /* on_return() removes the frame */
        }
        on_return(rec, frame, now);
    }
    if (LP_LIKELY(rec->other_tracer == NULL)) {
        return 0;
    }
    return call_other_tracer(rec, obj, frame, what, arg);
}

#if LP_HAVE_FRAME_EVAL

/* True if this frame or one of its callers runs registered code.  Takes the
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
trace_thread_for(PyThreadState *state, lp_trace_reason why)
{
    PyThreadState *current = PyThreadState_Get();
    lp_recorder *rec =
        state == current ? lp_threads_here() : lp_threads_of(state->thread_id);

    if (rec == NULL) {
        return;
    }
    if (!lp_trace_is_on(state)) {
        rec->trace_reason = why;
        lp_trace_install(state, rec);
    }
    else if (rec->trace_reason == LP_TRACE_PROFILED_ONLY) {
        rec->trace_reason = why;
    }
}

void
lp_trace_threads_running(void)
{
    for (PyThreadState *state = next_thread(NULL); state != NULL;
         state = next_thread(state)) {
        /* A thread that is traced already, for a profiled call alone, is to
         * stay so after that call, for its caller. */
        if (runs_registered(PyThreadState_GetFrame(state))) {
            trace_thread_for(state, LP_TRACE_RUNNING_FRAMES);
        }
    }
}

void
lp_trace_threads_all(void)
{
    for (PyThreadState *state = next_thread(NULL); state != NULL;
         state = next_thread(state)) {
        if (!lp_trace_is_on(state)) {
            trace_thread_for(state, LP_TRACE_ALL_CALLS);
        }
    }
}

void
lp_trace_threads_none(void)
{
    for (PyThreadState *state = next_thread(NULL); state != NULL;
         state = next_thread(state)) {
        lp_recorder *rec =
            lp_trace_is_on(state) ? lp_threads_of(state->thread_id) : NULL;

        if (rec != NULL) {
            rec->trace_reason = LP_TRACE_PROFILED_ONLY;
            if (!lp_ranges_any(
                    rec)) { /* its next event pops them, and stops */
                lp_trace_uninstall(state, rec);
            }
        }
    }
}

void
lp_trace_threads_end(PyThreadState *state, lp_recorder *rec)
{
    if (rec->trace_reason == LP_TRACE_ALL_CALLS && rec->top == rec->frames &&
        !lp_stacks_any(rec) && lp_trace_is_on(state)) {
        rec->trace_reason = LP_TRACE_PROFILED_ONLY;
        lp_trace_uninstall(state, rec);
    }
}

void
lp_trace_threads_check(lp_recorder *rec, PyFrameObject *frame)
{
    if (rec->trace_reason == LP_TRACE_RUNNING_FRAMES &&
        rec->top == rec->frames && !lp_stacks_any(rec) &&
        !runs_registered(PyFrame_GetBack(frame))) {
        rec->trace_reason = LP_TRACE_PROFILED_ONLY;
        lp_trace_uninstall(lp_thread_state(), rec);
    }
}

#endif
