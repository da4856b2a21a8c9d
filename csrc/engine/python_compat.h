/* The only includer of <Python.h>.  Every difference between versions ends
 * here, in a function with the newest name and the newest ownership rule.
 */
#ifndef LP_ENGINE_PYTHON_COMPAT_H
#define LP_ENGINE_PYTHON_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <opcode.h>

#include <stdbool.h>
#include <stdint.h>

/* sys.monitoring exists, and the frame evaluator is not replaced. */
#define LP_HAVE_MONITORING (PY_VERSION_HEX >= 0x030C0000)
/* Events of one tool alone hide those of f_trace_opcodes. */
#define LP_TOOLS_HIDE_OPCODES (PY_VERSION_HEX >= 0x030D0000)
/* Opcode events can be had for one code object, at any time. */
#define LP_HAVE_OPCODES_OF_CODE (PY_VERSION_HEX >= 0x030D0000)
/* lineprof has a frame evaluator: on versions older than sys.monitoring. */
#define LP_HAVE_FRAME_EVAL (!LP_HAVE_MONITORING)

/* The interpreter tells of code objects that are created. */
#define LP_HAVE_CODE_WATCHERS (PY_VERSION_HEX >= 0x030C0000)

/* -- code extras: a pointer of lineprof's on every code object ------------ */

static inline Py_ssize_t
lp_code_extra_request(freefunc free_extra)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyUnstable_Eval_RequestCodeExtraIndex(free_extra);
#else
    return _PyEval_RequestCodeExtraIndex(free_extra);
#endif
}

static inline void *
lp_code_extra_get(PyObject *code, Py_ssize_t index)
{
    void *extra = NULL;
#if PY_VERSION_HEX >= 0x030C0000
    PyUnstable_Code_GetExtra(code, index, &extra);
#else
    _PyCode_GetExtra(code, index, &extra);
#endif
    return extra;
}

static inline int
lp_code_extra_set(PyObject *code, Py_ssize_t index, void *extra)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyUnstable_Code_SetExtra(code, index, extra);
#else
    return _PyCode_SetExtra(code, index, extra);
#endif
}

/* -- frames, as passed to a trace function ------------------------------- */

static inline int
lp_frame_lineno(PyFrameObject *frame)
{
    return PyFrame_GetLineNumber(frame);
}

/* Byte offset of the instruction that a frame is at; negative before the first
 * one. */
static inline int
lp_frame_lasti(PyFrameObject *frame)
{
    return PyFrame_GetLasti(frame);
}

/* -- threads -------------------------------------------------------------- */

static inline PyThreadState *
lp_thread_state(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}

/* The first piece of the memory in which the running greenlet, or a thread
 * without any, has its frames: no two living greenlets have the same. NULL
 * before the first frame. */
static inline const void *
lp_thread_stack_root(PyThreadState *state)
{
    __typeof__(state->datastack_chunk) root = state->datastack_chunk;

    while (root != NULL && root->previous != NULL) {
        root = root->previous;
    }
    return root;
}

/* A key that identifies the running frame. */
static inline const void *
lp_frame_key(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return lp_thread_state()->current_frame;
#elif PY_VERSION_HEX >= 0x030C0000
    return lp_thread_state()->cframe->current_frame;
#else
    return NULL; /* a trace function gets the frame itself */
#endif
}

#if PY_VERSION_HEX >= 0x030C0000

/* True if there is a jump back to this byte offset (3.12), or a jump back
 * starts there (from 3.13 on): the offset that a line event has for an
 * iteration within one line.  A jump to END_SEND belongs to no loop: a throw()
 * ended the object that the line delegated to. */
static inline bool
lp_bytes_jump_back(const uint8_t *raw, Py_ssize_t size, Py_ssize_t offset)
{
#  if PY_VERSION_HEX >= 0x030D0000
    return offset >= size || raw[offset] == JUMP_BACKWARD;
#  else
    Py_ssize_t by = 0;

    if (offset < size && raw[offset] == END_SEND) {
        return false;
    }
    for (Py_ssize_t at = offset; at + 1 < size; at += 2) {
        by = by << 8 | raw[at + 1];
        if (raw[at] == JUMP_BACKWARD && at + 2 - 2 * by == offset) {
            return true;
        }
        by = raw[at] == EXTENDED_ARG ? by : 0;
    }
    return false;
#  endif
}

#endif

/* True if the jump back at this byte offset goes to another line: then a line
 * event there tells that control came to the jump, as to that of a `continue`
 * on the line of its `if`.  Before 3.13 events are at the target. */
static inline bool
lp_jumps_to_other_line(PyObject *code, Py_ssize_t offset)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *bytes = PyCode_GetCode((PyCodeObject *)code);
    bool yes = false;

    if (bytes != NULL && offset >= 0 && offset < PyBytes_GET_SIZE(bytes)) {
        const uint8_t *raw = (const uint8_t *)PyBytes_AS_STRING(bytes);
        Py_ssize_t by = raw[offset + 1], at = offset;

        for (int shift = 8;
             at >= 2 && raw[at - 2] == EXTENDED_ARG && shift < 32;
             shift += 8) {
            at -= 2;
            by |= (Py_ssize_t)raw[at + 1] << shift;
        }
        at = offset + 4 - 2 * by; /* it has one cache entry */
        yes = raw[offset] == JUMP_BACKWARD && at >= 0 &&
              PyCode_Addr2Line((PyCodeObject *)code, (int)at) !=
                  PyCode_Addr2Line((PyCodeObject *)code, (int)offset);
    }
    if (bytes == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(bytes);
    return yes;
#else
    (void)code;
    (void)offset;
    return false;
#endif
}

/* What the interpreter allocates for events of a code object, at its next call
 * after a tool wants some; in 3.11 also the room for our mark.  NULL: it has
 * not, or does not tell (3.15). */
enum { LP_EVENT_BLOCKS = 6 };

static inline void
lp_event_blocks(PyObject *code, void *blocks[LP_EVENT_BLOCKS])
{
    for (int i = 0; i < LP_EVENT_BLOCKS; i++) {
        blocks[i] = NULL;
    }
#if PY_VERSION_HEX >= 0x030C0000
    blocks[0] = ((PyCodeObject *)code)->_co_monitoring;
#elif PY_VERSION_HEX >= 0x030B0000
    blocks[0] = ((PyCodeObject *)code)->_co_linearray;
    blocks[1] = ((PyCodeObject *)code)->co_extra;
#endif
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030F0000
    if (blocks[0] != NULL) {
        PyCodeObject *self = (PyCodeObject *)code;

        blocks[1] = self->_co_monitoring->tools;
        blocks[2] = self->_co_monitoring->lines;
        blocks[3] = self->_co_monitoring->line_tools;
        blocks[4] = self->_co_monitoring->per_instruction_opcodes;
        blocks[5] = self->_co_monitoring->per_instruction_tools;
    }
#else
    (void)code;
#endif
}

/* True if a line event at this byte offset may be the result of a jump back.
 */
static inline bool
lp_jumped_back(PyObject *code, Py_ssize_t offset)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *raw = PyCode_GetCode((PyCodeObject *)code);
    bool yes = raw == NULL || offset < 0 ||
               lp_bytes_jump_back((const uint8_t *)PyBytes_AS_STRING(raw),
                                  PyBytes_GET_SIZE(raw), offset);

    if (raw == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(raw);
    return yes;
#else
    (void)code;
    (void)offset;
    return true;
#endif
}

/* True while a trace function runs in this thread. */
static inline bool
lp_thread_is_tracing(PyThreadState *state)
{
    return state->tracing != 0;
}

/* Ignore events while lineprof calls Python: no trace function gets them.
 * From 3.12 on callbacks always run in that state. */
static inline void
lp_thread_ignore_events(bool ignore)
{
#if LP_HAVE_FRAME_EVAL
    PyThreadState *state = lp_thread_state();

    if (ignore) {
        PyThreadState_EnterTracing(state);
    }
    else {
        PyThreadState_LeaveTracing(state);
    }
#else
    (void)ignore;
#endif
}

/* Make `func` the thread's trace function and keep its object: lineprof's
 * function and the other tracer's, which replace each other, are called with
 * the same object. */
static inline void
lp_thread_set_trace(PyThreadState *state, Py_tracefunc func)
{
#if LP_HAVE_FRAME_EVAL
    state->c_tracefunc = func;
    state->cframe->use_tracing =
        func != NULL || state->c_profilefunc != NULL ? 255 : 0;
#else
    PyObject *object = state->c_traceobj;

    Py_XINCREF(object); /* PyEval_SetTrace drops it first */
    PyEval_SetTrace(func, object);
    Py_XDECREF(object);
#endif
}

#if LP_HAVE_FRAME_EVAL
/* -- PEP 523: the function that evaluates every frame --------------------- */

typedef struct _PyInterpreterFrame lp_raw_frame;

/* The first members of the frame of 3.11, a frozen branch;
 * lp_frame_eval_check() compares the code with that of PyFrame_GetCode before
 * use. */
struct lp_raw_frame_head {
    void *function;
    PyObject *globals;
    void *builtins, *locals;
    PyObject *code;
};

static inline PyObject *
lp_raw_frame_code(lp_raw_frame *frame)
{
    return ((struct lp_raw_frame_head *)(void *)frame)->code;
}

static inline PyObject *
lp_raw_frame_globals(lp_raw_frame *frame)
{
    return ((struct lp_raw_frame_head *)(void *)frame)->globals;
}

static inline lp_raw_frame *
lp_raw_frame_current(PyThreadState *state)
{
    return state->cframe->current_frame;
}
#endif

/* -- numbers -------------------------------------------------------------- */

/* The value of a small int that is not negative: line numbers and offsets are
 * passed to callbacks as such. */
static inline long
lp_small_int(PyObject *number)
{
#if PY_VERSION_HEX >= 0x030C0000
    return (long)((PyLongObject *)number)->long_value.ob_digit[0];
#else
    return PyLong_AsLong(number);
#endif
}

#endif
