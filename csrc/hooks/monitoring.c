/* Events by sys.monitoring (PEP 669): local to the registered code objects, so
 * that all other code runs untouched.
 *
 * The events are set once, when a function is registered, and remain; a call
 * made while no tracer is active costs only its callbacks.
 */
#include "hooks/hooks.h"

#if LP_HAVE_MONITORING

#  include "engine/c_functions.h"
#  include "engine/discovery.h"
#  include "engine/engine.h"
#  include "hooks/monitoring_events.h"
#  include "hooks/other_tools.h"
#  include "hooks/profile_function.h"
#  include "hooks/superinstructions.h"

/* Tool ids in order of preference: 0 is for debuggers, 1 for coverage, 2 for
 * profilers of functions (cProfile and line_profiler claim it). */
static const int tool_ids[] = {4, 3, 5, 2};

static int tool_id = -1;
static PyObject *monitoring; /* owned: sys.monitoring */
/* All code had PY_START events, so that some of these may be disabled. */
static bool had_starts;
static bool is_alone; /* no other tool is there that has LINE events */

/* Return the bit of an event by name; -1 with an exception. */
static long
bit_of(const char *name)
{
    PyObject *names = PyObject_GetAttrString(monitoring, "events");
    PyObject *bit = NULL;
    long value = -1;

    if (names != NULL) {
        bit = PyObject_GetAttrString(names, name);
    }
    if (bit != NULL) {
        value = PyLong_AsLong(bit);
    }
    Py_XDECREF(names);
    Py_XDECREF(bit);
    return value;
}

static long
event_bit(const lp_monitoring_event *event)
{
    return bit_of(event->name);
}

/* Return the bits of the events that are local, or not; -1 with an exception.
 */
static long
event_mask(bool local)
{
    long mask = 0;

    for (int i = 0; i < LP_MONITORING_EVENTS && mask >= 0; i++) {
        if (lp_monitoring_events[i].local == local &&
            (lp_c_functions_on || !lp_monitoring_events[i].c_functions) &&
            !lp_monitoring_events[i].by_instruction) {
            long bit = event_bit(&lp_monitoring_events[i]);

            mask = bit < 0 ? -1 : mask | bit;
        }
    }
    return mask;
}

/* Check and drop the result of a call of sys.monitoring.  0 or -1. */
static int
check_result(PyObject *answer)
{
    if (answer == NULL) {
        return -1;
    }
    Py_DECREF(answer);
    return 0;
}

static int
register_all(bool on)
{
    for (int i = 0; i < LP_MONITORING_EVENTS; i++) {
        long bit = event_bit(&lp_monitoring_events[i]);

        if (bit < 0 ||
            check_result(PyObject_CallMethod(
                monitoring, "register_callback", "ilO", tool_id, bit,
                on ? lp_monitoring_callback(i) : Py_None)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Take the first free tool id; -1 with an exception. */
static int
take_tool_id(void)
{
    for (size_t i = 0; i < sizeof(tool_ids) / sizeof(tool_ids[0]); i++) {
        if (lp_other_tools_use_id(tool_ids[i]) == 0) {
            return tool_ids[i];
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

static int
free_tool_id(int id)
{
    return check_result(
        PyObject_CallMethod(monitoring, "free_tool_id", "i", id));
}

/* Set the events of all code. */
static int
set_global(long mask)
{
    return check_result(
        PyObject_CallMethod(monitoring, "set_events", "il", tool_id, mask));
}

static int
set_local(int id, PyObject *code, long mask)
{
    return check_result(PyObject_CallMethod(monitoring, "set_local_events",
                                            "iOl", id, code, mask));
}

#  if LP_EVENTS_UNDO_SUPERINSTRUCTIONS

/* Have the interpreter remove what is left of our events in a code object: it
 * looks when a tool changes its events.  0, or -1 with an exception. */
static int
reset_local(PyObject *code)
{
    long start = bit_of("PY_START");

    return start < 0 || set_local(tool_id, code, start) < 0
               ? -1
               : set_local(tool_id, code, 0);
}

#  endif

static void
monitoring_close(void)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    lp_other_tools_close();
    if (tool_id >= 0) {
        if (set_global(0) < 0 || register_all(false) < 0) {
            PyErr_Clear(); /* the interpreter is shutting down */
        }
#  if LP_EVENTS_UNDO_SUPERINSTRUCTIONS
        lp_superinstructions_restore(reset_local);
#  endif
        if (free_tool_id(tool_id) < 0) {
            PyErr_Clear();
        }
        tool_id = -1;
    }
    Py_CLEAR(monitoring);
    lp_profile_function_close();
    PyErr_Restore(type, value, traceback);
}

/* Enable again the events, of every tool, that a callback disabled with
 * DISABLE. */
static int
restart(void)
{
    return check_result(
        PyObject_CallMethod(monitoring, "restart_events", NULL));
}

static int
monitoring_watch_all(bool all)
{
    long mask = event_mask(false), start = bit_of("PY_START");

    if (mask < 0 || start < 0 || set_global(all ? mask | start : mask) < 0) {
        return -1;
    }
    had_starts |= all;
    /* Code objects that an earlier round did not want have to report their
     * start again. */
    return all ? restart() : 0;
}

/* Keep opcode events of other tools alive.  A debugger that asks for opcodes
 * in a frame, as pdb does to stop where it was called, would get none: the
 * interpreter records which tool wants which instruction once there are two
 * tools, and by then has forgotten the first.  So the code gets events of two
 * tools from the start, for a moment.  Without a second tool id, the debugger
 * gets no opcodes. */
static void
keep_opcode_events(PyObject *code)
{
    int other = take_tool_id();

    if (other >= 0) {
        long both = bit_of("LINE") | bit_of("INSTRUCTION");

        if (both >= 0 && set_local(other, code, both) == 0) {
            set_local(other, code, 0);
        }
        PyErr_Clear();
        free_tool_id(other);
    }
    PyErr_Clear();
}

/* True (1) if the tool has any of these events of a code object; -1 with an
 * exception. */
static int
has_local(int id, PyObject *code, long mask)
{
    PyObject *answer =
        PyObject_CallMethod(monitoring, "get_local_events", "iO", id, code);
    long bits = answer == NULL ? -1 : PyLong_AsLong(answer);

    Py_XDECREF(answer);
    return bits < 0 ? -1 : (bits & mask) != 0;
}

/* Set INSTRUCTION events: in place of LINE events, and of PY_START events if
 * they tell of calls; or beside LINE events, for the starts that have none.
 * The interpreter records which tool wants them once any
 * event of the code has two tools, and forgets which tool did before: so
 * another tool id shares some of the events while they are set.  False with no
 * exception if that is not possible. */
static bool
watch_instructions(PyObject *code, const lp_code *known, long lines)
{
    long line = bit_of("LINE"), instruction = bit_of("INSTRUCTION");
    long shared = bit_of("PY_RETURN");
    long ours = lines | instruction;
    int other, had = has_local(tool_id, code, instruction);
    bool done;

    if (known->flags & LP_CODE_BY_INSTRUCTION) {
        ours &= ~line;
    }
    if (known->flags & LP_CODE_CALLED_BY_INSTRUCTION) {
        ours &= ~bit_of("PY_START");
    }
    done = had > 0 && set_local(tool_id, code, ours) == 0;
    if (had == 0 && (other = take_tool_id()) >= 0) {
        done = set_local(tool_id, code, ours & ~instruction) == 0 &&
               set_local(other, code, line | instruction | shared) == 0 &&
               set_local(tool_id, code, ours) == 0 &&
               set_local(other, code, 0) == 0;
        PyErr_Clear();
        free_tool_id(other);
    }
    PyErr_Clear();
    return done;
}

static int
monitoring_watch(PyObject *code)
{
    lp_code *known = lp_code_of(code);
    long mask = event_mask(true);
    bool by_instruction = (known->flags & LP_CODE_BY_INSTRUCTION) &&
                          !(known->flags & LP_CODE_CALLS_ONLY) &&
                          (is_alone || (known->flags & LP_CODE_IS_FAR)) &&
                          mask >= 0;
    bool has_instructions = false;

    if (by_instruction && !is_alone) {
        lp_code_use_start_events(known);
    }
    if (by_instruction) {
        has_instructions = watch_instructions(code, known, mask);
    }
    if (!has_instructions) {
        lp_code_use_line_events(known);
        if ((known->flags & LP_CODE_HAS_HIDDEN_STARTS) &&
            !(known->flags & LP_CODE_CALLS_ONLY) && mask >= 0) {
            has_instructions = watch_instructions(code, known, mask);
            if (!has_instructions) {
                lp_code_miss_hidden_starts(known);
            }
        }
    }
    if (mask >= 0 && (known->flags & LP_CODE_CALLS_ONLY)) {
        mask &= ~(bit_of("LINE") | bit_of("JUMP"));
    }
    if (mask < 0 ||
        (!has_instructions && set_local(tool_id, code, mask) < 0)) {
        return -1;
    }
    if (had_starts &&
        (!lp_discovery_is_asking() || (known->flags & LP_CODE_CALLS_ONLY)) &&
        restart() < 0) {
        return -1; /* its start may have been disabled before */
    }
    if (LP_TOOLS_HIDE_OPCODES && !has_instructions) {
        keep_opcode_events(code);
    }
    return 0;
}

static void
monitoring_unwatch(PyObject *code, uint32_t Py_UNUSED(flags))
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    if (set_local(tool_id, code, 0) < 0) {
        PyErr_Clear();
    }
#  if LP_EVENTS_UNDO_SUPERINSTRUCTIONS
    lp_superinstructions_note(code);
#  endif
    PyErr_Restore(type, value, traceback);
}

/* Another tool comes: from now on no line, or at least no call, may depend on
 * an INSTRUCTION event, see other_tools.h. */
static void
use_line_events(void)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    is_alone = false;
    for (uint32_t i = 0; i < lp_the_engine.n_codes; i++) {
        const lp_code *code = lp_the_engine.codes[i];

        if (code != NULL && code->code != NULL &&
            (code->flags & LP_CODE_BY_INSTRUCTION) &&
            !(code->flags & LP_CODE_IGNORED) &&
            monitoring_watch(code->code) < 0) {
            PyErr_Clear();
        }
    }
    PyErr_Restore(type, value, traceback);
}

static int
monitoring_open(PyObject *Py_UNUSED(module))
{
    int others;
    long mask;

    monitoring = PySys_GetObject("monitoring"); /* borrowed */
    if (monitoring == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is not there");
        return -1;
    }
    Py_INCREF(monitoring);
    others = lp_other_tools_open(monitoring, use_line_events);
    is_alone = others == 0;
    if (others < 0 || lp_monitoring_events_open(monitoring) < 0 ||
        (tool_id = take_tool_id()) < 0 || register_all(true) < 0) {
        monitoring_close();
        return -1;
    }
    mask = event_mask(false);
    if (mask < 0 || set_global(mask) < 0) {
        monitoring_close();
        return -1;
    }
    return 0;
}

static bool
monitoring_is_alone(void)
{
    return is_alone;
}

const lp_hook lp_hook_monitoring = {
    .name = "monitoring",
    .open = monitoring_open,
    .close = monitoring_close,
    .watch = monitoring_watch,
    .unwatch = monitoring_unwatch,
    .watch_all = monitoring_watch_all,
    .how = "sys.monitoring tells of the registered functions alone, so all "
           "other code runs at its own speed",
    .is_alone = monitoring_is_alone,
    .has_calls_only = true,
};

#endif
