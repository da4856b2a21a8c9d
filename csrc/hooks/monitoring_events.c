/* Callbacks of sys.monitoring (PEP 669).  They never raise, because that would
 * end up in the program, except for an exception that is meant for the
 * program.
 */
#include "hooks/monitoring_events.h"

#include "engine/c_functions.h"
#include "engine/discovery.h"
#include "engine/frames.h"
#include "engine/greenlets.h"
#include "engine/overhead_audit.h"
#include "hooks/superinstructions.h"
#include "memory/heap_path.h"

#if LP_HAVE_MONITORING

#  include <stddef.h>
#  include <structmember.h>

typedef struct callback {
    PyObject_HEAD
    vectorcallfunc call;
} callback;

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

/* Create a callable of a C function: of a type of its own with a vectorcall
 * slot, the cheapest callable of the interpreter.  New reference, or NULL with
 * an exception. */
static PyObject *
new_callback(vectorcallfunc call)
{
    static PyTypeObject *type; /* owned until the process ends */
    callback *new_object = NULL;

    if (type == NULL) {
        type = (PyTypeObject *)PyType_FromSpec(&callback_spec);
    }
    if (type != NULL) {
        new_object = PyObject_New(callback, type);
    }
    if (new_object != NULL) {
        new_object->call = call;
    }
    return (PyObject *)new_object;
}

/* The return value that disables an event at its location. */
static PyObject *disable; /* owned: sys.monitoring.DISABLE */

/* Numbers above this one are objects that the interpreter makes for an event.
 */
enum { MAX_SMALL_INT = 256 };

/* A number of an event is no memory of the program. */
LP_INLINE void
forget_number(PyObject *number)
{
    if (LP_UNLIKELY(LP_READ(lp_the_heap.on)) &&
        lp_small_int(number) > MAX_SMALL_INT) {
        lp_heap_forget(number);
    }
}

#  if PY_VERSION_HEX >= 0x030E0000

/* Nor is the list of copies of the code that are out of date, which it makes
 * and frees when it changes the events of a code object.  If it had no freed
 * list to take, it keeps this one. */
static LP_NOINLINE void
forget_list(void)
{
    enum { BEFORE = 2 * sizeof(uintptr_t) }; /* of the collector of garbage */
    size_t bytes = 0;
    char *block = lp_heap_newest(&bytes);

    if (block != NULL && bytes == BEFORE + sizeof(PyListObject)) {
        PyObject *list = (PyObject *)(void *)(block + BEFORE);

        if (Py_TYPE(list) == &PyList_Type && Py_REFCNT(list) == 0) {
            lp_heap_forget(block);
        }
    }
}

#  endif

/* Nor is a table that it makes of a code object when the code first runs. */
LP_INLINE void
forget_table(PyObject *code)
{
    if (LP_UNLIKELY(LP_READ(lp_the_heap.on))) {
        void *tables[LP_MAX_EVENT_TABLES];

#  if PY_VERSION_HEX >= 0x030E0000
        forget_list();
#  endif
        lp_code_event_tables(code, tables);
        lp_heap_forget(tables[0]); /* the others are made by lineprof's work */
    }
}

static PyObject *
return_none(void)
{
    Py_RETURN_NONE;
}

static PyObject *
keep_or_disable(bool keep)
{
    PyObject *answer = keep ? Py_None : disable;

    Py_INCREF(answer);
    return answer;
}

/* A call starts.  DISABLE if no tracer counts it. */
static PyObject *
start(lp_recorder *rec, PyObject *object)
{
    lp_code *code = lp_code_of(object);

    forget_table(object);
    if (code == NULL) {
        code = lp_discovery_ask(object, PyEval_GetGlobals());
        if (code == NULL) {
#  if LP_EVENTS_UNDO_SUPERINSTRUCTIONS
            lp_superinstructions_note(object);
#  endif
            return keep_or_disable(lp_discovery_is_undecided());
        }
    }
    if (LP_UNLIKELY(lp_code_is_ignored(code)) ||
        (code->flags & LP_CODE_CALLED_BY_INSTRUCTION)) {
        return keep_or_disable(false);
    }
    if (rec != NULL) {
        lp_engine_enter(rec, code, LP_CALLED, 0, lp_frame_key(), 0);
    }
    return return_none();
}

static PyObject *
resume(lp_recorder *rec, PyObject *object, uint32_t at)
{
    lp_code *code = lp_code_of(object);

    forget_table(object);

    if (rec != NULL && code != NULL) {
        uint32_t line = code->resumes != NULL && at < code->n_marks
                            ? code->resumes[at]
                            : 0;

        lp_engine_enter(rec, code, LP_RESUMED, line, lp_frame_key(),
                        lp_clock_now(&rec->clock));
    }
    return return_none();
}

/* An exception that was raised before makes the frame end at once. */
static PyObject *
result_or_raise(PyObject *answer, bool ok)
{
    if (LP_UNLIKELY(!ok)) {
        Py_CLEAR(answer);
    }
    return answer;
}

static PyObject *
on_start(PyObject *Py_UNUSED(self), PyObject *const *args,
         size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    lp_recorder *rec = lp_threads_here();
    bool ok;

    forget_number(args[1]);
    ok = LP_UNLIKELY(rec == NULL) || lp_overhead_audit(rec);
    return result_or_raise(start(rec, args[0]), ok);
}

static PyObject *
on_resume(PyObject *Py_UNUSED(self), PyObject *const *args,
          size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    lp_recorder *rec = lp_threads_here();
    uint32_t at = (uint32_t)lp_small_int(args[1]) / 2;
    bool ok;

    forget_number(args[1]);
    ok = LP_UNLIKELY(rec == NULL) || lp_overhead_audit(rec);
    return result_or_raise(resume(rec, args[0], at), ok);
}

static LP_NOINLINE PyObject *
leave_slow(PyObject *code, bool suspended)
{
    lp_recorder *rec = lp_current_recorder;
    const void *key = lp_frame_key();
    lp_ticks now;

    if (rec != NULL && LP_UNLIKELY(lp_the_engine.greenlets) &&
        lp_code_of(code) != NULL) {
        lp_greenlets_check(rec); /* (Any frame may end by an exception.) */
    }
    if (rec == NULL || (rec->top == rec->frames && rec->unpopped == 0)) {
        return return_none();
    }
    now = lp_clock_now(&rec->clock);
    if (LP_UNLIKELY(lp_c_functions_is(rec->top)) &&
        lp_engine_frame(rec, code, key) != NULL) {
        /* (Frames that the C function called may also end.) */
        lp_c_functions_end(rec, now);
    }
    lp_engine_leave(rec, code, key, suspended, now);
    return return_none();
}

/* The running frame of `code` ends, or is suspended. */
LP_INLINE PyObject *
leave(PyObject *code, bool suspended)
{
    lp_recorder *rec = lp_current_recorder;

    if (LP_LIKELY(rec != NULL && rec->top->code == code) &&
        lp_engine_leave_top(rec, code, suspended, lp_clock_now(&rec->clock))) {
        return return_none();
    }
    return leave_slow(code, suspended);
}

static PyObject *
on_leave(PyObject *Py_UNUSED(self), PyObject *const *args,
         size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    forget_number(args[1]);
    return leave(args[0], false);
}

/* An exception ends the frame, perhaps before it came to its first line. */
static PyObject *
on_unwind(PyObject *Py_UNUSED(self), PyObject *const *args,
          size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    forget_number(args[1]);
    return leave_slow(args[0], false);
}

static PyObject *
on_yield(PyObject *Py_UNUSED(self), PyObject *const *args,
         size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    forget_number(args[1]);
    return leave(args[0], true);
}

/* A line event.  Some lines have two: `a() or b()` in 3.12, or one that an
 * exception was thrown into.  A loop within one line has JUMP events, and no
 * line events. */
static LP_NOINLINE PyObject *
line_slow(PyObject *code, uint32_t line)
{
    enum {
        NEED_EVENT = LP_FRAME_LOOP_BACK | LP_FRAME_COMPREHENSION |
        LP_FRAME_PAUSED
    };
    lp_recorder *rec = lp_threads_here();
    const void *key = lp_frame_key();
    lp_frame *frame;
    lp_ticks now;

    if (rec == NULL) {
        return return_none();
    }
    lp_greenlets_check(rec);
    now = lp_clock_now(&rec->clock);
    frame = lp_engine_frame(rec, code, key);
    if (frame != NULL && lp_c_functions_is(rec->top)) {
        lp_c_functions_end(rec, now);
    }
    if (frame != NULL && !(frame->flags & NEED_EVENT) &&
        frame->line == frame->lines + (line - frame->first_line)) {
        lp_engine_same_line(frame);
        return return_none();
    }
    lp_engine_line(rec, code, key, line, LP_LINE_FORWARD, now);
    return return_none();
}

/* The top frame comes to the line at `offset` from its first line. */
static LP_NOINLINE PyObject *
top_line(lp_recorder *rec, lp_frame *frame, uint32_t offset, lp_ticks now)
{
    if (frame->line == frame->lines + offset) {
        lp_engine_same_line(frame);
    }
    else {
        lp_recorder_line(rec, frame, offset, now, LP_LINE_FORWARD);
    }
    return return_none();
}

static LP_NOINLINE PyObject *
top_line_by_other_clock(lp_recorder *rec, lp_frame *frame, uint32_t offset)
{
    lp_ticks now = rec->clock.read();

    return lp_recorder_plain_line(rec, frame, offset, now)
               ? return_none()
               : top_line(rec, frame, offset, now);
}

/* The same in the usual case, which calls nothing. */
LP_INLINE PyObject *
usual_line(lp_recorder *rec, lp_frame *frame, uint32_t offset)
{
    lp_ticks now;

    if (LP_UNLIKELY(!rec->clock.counter)) {
        return top_line_by_other_clock(rec, frame, offset);
    }
    now = lp_clock_counter();
    return lp_recorder_plain_line(rec, frame, offset, now)
               ? return_none()
               : top_line(rec, frame, offset, now);
}

static PyObject *
on_line(PyObject *Py_UNUSED(self), PyObject *const *args,
        size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    lp_recorder *rec = lp_current_recorder;
    uint32_t line = (uint32_t)lp_small_int(args[1]);

    forget_number(args[1]);
    if (LP_UNLIKELY(rec == NULL || rec->top->code != args[0] ||
                    (rec->top->flags & LP_FRAME_SLOW))) {
        return line_slow(args[0], line);
    }
    return usual_line(rec, rec->top, line - rec->top->first_line);
}

/* An instruction with LP_START_OF_CALL: a call has come to its first line. */
static PyObject *
start_by_instruction(PyObject *object, lp_code *code, uint32_t line)
{
    lp_recorder *rec = lp_threads_here();
    const void *key = lp_frame_key();
    lp_frame *frame;

    if (LP_UNLIKELY(rec == NULL)) {
        return return_none();
    }
    if (LP_UNLIKELY(rec->cost >= rec->audit_at)) {
        if (!lp_overhead_audit_now(rec)) {
            return NULL;
        }
        /* The audit may have closed the tracer, and changed the code. */
        code = lp_code_of(object);
    }
    if (LP_UNLIKELY(code == NULL || lp_code_is_ignored(code))) {
        return keep_or_disable(false);
    }
    lp_greenlets_check(rec);
    if (LP_UNLIKELY(rec->top->code == object && rec->top->key == key)) {
        return line_slow(object, line); /* a debugger jumped there */
    }
    forget_table(object);
    frame = lp_engine_enter(rec, code, LP_CALLED, 0, key, 0);
    if (LP_LIKELY(frame != NULL && !(code->flags & LP_CODE_CALLS_ONLY))) {
        lp_ticks now = lp_clock_now(&rec->clock);

        if (LP_UNLIKELY(frame->flags & LP_FRAME_SLOW)) {
            lp_engine_line(rec, object, key, line, LP_LINE_FORWARD, now);
        }
        else {
            lp_recorder_first_line(rec, frame, line - frame->first_line, now);
        }
    }
    return return_none();
}

/* An instruction with LP_START_REPEATS: another turn of a loop within its
 * line, whose event costs about what a JUMP event does. */
static PyObject *
repeat_line(lp_code *code, PyObject *object, uint32_t line)
{
    lp_recorder *rec = lp_threads_here();
    lp_frame *frame =
        rec != NULL ? lp_engine_frame(rec, object, lp_frame_key()) : NULL;
    PyObject *answer;

    if (frame == NULL) {
        return line_slow(object, line);
    }
    frame->flags |= LP_FRAME_LOOP_BACK;
    answer = line_slow(object, line);
    lp_engine_charge_jump(rec, code);
    return answer;
}

static LP_NOINLINE PyObject *
instruction_slow(PyObject *object, uint32_t at)
{
    lp_code *code = lp_code_of(object);
    bool known = code != NULL && (code->flags & LP_CODE_HAS_STARTS);
    uint32_t start = known && at < code->n_marks ? code->starts[at] : 0;
    uint32_t line;

    if (start == 0) {
        return keep_or_disable(false);
    }
    line = code->layout.first_line + lp_start_line(start) - 1;
    if (start & LP_START_REPEATS) {
        return repeat_line(code, object, line);
    }
    return (start & LP_START_OF_CALL) &&
                   (code->flags & LP_CODE_CALLED_BY_INSTRUCTION)
               ? start_by_instruction(object, code, line)
               : line_slow(object, line);
}

/* For code with LP_CODE_HAS_STARTS: only instructions where a line may begin
 * matter. */
static PyObject *
on_instruction(PyObject *Py_UNUSED(self), PyObject *const *args,
               size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    lp_recorder *rec = lp_current_recorder;
    uint32_t at = (uint32_t)lp_small_int(args[1]) / 2;
    uint32_t offset;
    lp_frame *frame;

    forget_number(args[1]);
    if (LP_UNLIKELY(rec == NULL)) {
        return instruction_slow(args[0], at);
    }
    frame = rec->top;
    if (LP_UNLIKELY(frame->code != args[0] || at >= frame->n_starts ||
                    (frame->flags & LP_FRAME_SLOW))) {
        return instruction_slow(args[0], at);
    }
    /* Large if no line begins here, or if the start has a bit. */
    offset = frame->starts[at] - 1;
    if (LP_UNLIKELY(offset >= LP_START_REPEATS - 1)) {
        if (!(frame->starts[at] & LP_START_HIDDEN) ||
            (frame->starts[at] & LP_START_REPEATS)) {
            return instruction_slow(args[0], at);
        }
        offset = lp_start_line(frame->starts[at]) - 1;
    }
    return usual_line(rec, frame, offset);
}

/* Return the line of an instruction by its byte offset.  The interpreter would
 * search its whole table. */
static uint32_t
line_at(const lp_code *code, PyObject *object, long offset)
{
    uint32_t at = (uint32_t)offset / 2;

    if (LP_LIKELY(code->resumes != NULL && at < code->n_marks)) {
        return code->resumes[at];
    }
    return (uint32_t)PyCode_Addr2Line((PyCodeObject *)object, (int)offset);
}

/* True if the line belongs to no multi-line statement, so that its event is a
 * hit. */
static bool
is_simple(const lp_code *code, uint32_t line)
{
    const lp_layout *layout = &code->layout;
    uint32_t offset = line - layout->first_line;

    return layout->statements == NULL || offset >= layout->n_lines ||
           layout->statements[offset] == 0;
}

/* A jump.  Most jumps never matter and are disabled; two kinds do: a jump to
 * the same line, which has no LINE event, and a jump back to the start of a
 * multi-line statement. */
static PyObject *
on_jump(PyObject *Py_UNUSED(self), PyObject *const *args,
        size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    long from = lp_small_int(args[1]), to = lp_small_int(args[2]);
    lp_code *code = lp_code_of(args[0]);
    lp_recorder *rec = lp_current_recorder;
    lp_frame *frame;
    lp_line_entry line_entry;
    uint32_t line;

    forget_number(args[1]);
    forget_number(args[2]);
    if (to > from || code == NULL) {
        return keep_or_disable(code == NULL);
    }
    line_entry = lp_code_line_entry(code, (int)to);
    line = line_at(code, args[0], to);
    if (line == line_at(code, args[0], from)) {
        bool counts = line_entry != LP_LINE_COMPREHENSION ||
                      lp_code_has_no_line_event(code, (int)from);

        if (line_entry == LP_LINE_FORWARD && code->marks != NULL) {
            /* Not of a loop: the end of an exception handler. */
            return keep_or_disable(false);
        }
        if (counts && rec != NULL) {
            lp_engine_line(rec, args[0], lp_frame_key(), line, line_entry,
                           lp_clock_now(&rec->clock));
            lp_engine_charge_jump(rec, code);
        }
        return keep_or_disable(counts);
    }
    if (line_entry == LP_LINE_FORWARD ||
        (line_entry == LP_LINE_LOOP_BACK && is_simple(code, line))) {
        return keep_or_disable(false);
    }
    if (rec != NULL) {
        lp_greenlets_check(rec);
    }
    frame = rec != NULL ? lp_engine_frame(rec, args[0], lp_frame_key()) : NULL;
    if (frame != NULL) {
        /* The LINE event of its target comes next. */
        frame->flags |= line_entry == LP_LINE_LOOP_BACK
                            ? LP_FRAME_LOOP_BACK
                            : LP_FRAME_COMPREHENSION;
    }
    return keep_or_disable(true);
}

/* A call: if the callable is not a Python function, an event of its end
 * follows. */
static PyObject *
on_call(PyObject *Py_UNUSED(self), PyObject *const *args,
        size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    lp_recorder *rec = lp_current_recorder;
    PyObject *callable =
        PyMethod_Check(args[2]) ? PyMethod_GET_FUNCTION(args[2]) : args[2];

    forget_number(args[1]);
    if (rec != NULL) {
        lp_greenlets_check(rec);
    }
    if (!PyFunction_Check(callable) && rec != NULL &&
        rec->top->code == args[0]) {
        lp_c_functions_enter(rec, callable, lp_clock_now(&rec->clock));
    }
    return return_none();
}

static PyObject *
on_call_end(PyObject *Py_UNUSED(self), PyObject *const *args,
            size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    lp_recorder *rec = lp_current_recorder;

    forget_number(args[1]);
    if (rec != NULL) {
        lp_greenlets_check(rec);
    }
    /* A callable that was not counted may end calls inside a counted one. */
    if (rec != NULL && lp_c_functions_is(rec->top) &&
        rec->top[-1].code == args[0]) {
        lp_c_functions_leave(rec, lp_clock_now(&rec->clock));
    }
    return return_none();
}

const lp_monitoring_event lp_monitoring_events[LP_MONITORING_EVENTS] = {
    {"LINE", on_line, .local = true},
    {"INSTRUCTION", on_instruction, .local = true, .by_instruction = true},
    {"PY_START", on_start, .local = true},
    {"PY_RESUME", on_resume, .local = true},
    {"PY_RETURN", on_leave, .local = true},
    {"PY_YIELD", on_yield, .local = true},
    {"JUMP", on_jump, .local = true},
    {"PY_UNWIND", on_unwind, .local = false},
    {"PY_THROW", on_resume, .local = false},
    {"CALL", on_call, .local = true, .c_functions = true},
    {"C_RETURN", on_call_end, .local = true, .c_functions = true},
    {"C_RAISE", on_call_end, .local = true, .c_functions = true},
};

static PyObject *callbacks[LP_MONITORING_EVENTS]; /* owned */

/* Create the callbacks, which are never freed, because a process has few
 * moments at which no thread can call them. */
static int
make_callbacks(void)
{
    for (int i = LP_MONITORING_EVENTS - 1; i >= 0; i--) {
        callbacks[i] = new_callback(lp_monitoring_events[i].call);
        if (callbacks[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

int
lp_monitoring_events_open(PyObject *monitoring)
{
    if (disable == NULL) {
        disable = PyObject_GetAttrString(monitoring, "DISABLE");
    }
    if (disable == NULL || (callbacks[0] == NULL && make_callbacks() < 0)) {
        return -1;
    }
    return 0;
}

PyObject *
lp_monitoring_callback(int event)
{
    return callbacks[event];
}

#endif
