/* The module lineprof._core: its functions, and PyInit__core. */
#include "engine/c_functions.h"
#include "engine/c_stack.h"
#include "engine/code_copies.h"
#include "engine/discovery.h"
#include "engine/engine.h"
#include "engine/greenlets.h"
#include "engine/overhead_audit.h"
#include "engine/python_call.h"
#include "engine/python_compat.h"
#include "hooks/hooks.h"
#include "hooks/profile_function.h"
#include "module/call_times_functions.h"
#include "module/changed_names.h"
#include "module/gpu_functions.h"
#include "module/line_records.h"
#include "module/live_functions.h"
#include "module/memory_functions.h"
#include "module/nvtx_functions.h"
#include "module/prepared_call.h"
#include "module/signal_functions.h"
#include "module/slice_functions.h"
#include "module/snapshot.h"
#include "module/trace_snapshot.h"
#include "module/tracer_type.h"
#include "record/file_table.h"
#include "record/off_cpu_sampler.h"
#include "record/own_work.h"

#include <sys/mman.h>
#include <sys/resource.h>

#ifdef __linux__
#  include <pthread.h>
#endif

typedef struct lp_state {
    PyObject *tracer_type; /* owned */
} lp_state;

/* Return (name, description) of each hook, best first. */
static PyObject *
module_hooks(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);

    if (list == NULL) {
        return NULL;
    }
    for (const lp_hook *const *hook = lp_hook_all(); *hook != NULL; hook++) {
        PyObject *pair = Py_BuildValue("(ss)", (*hook)->name, (*hook)->how);
        int failed = pair == NULL || PyList_Append(list, pair) < 0;

        Py_XDECREF(pair);
        if (failed) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

/* Return (name, reason) of the clock in use. */
static PyObject *
module_clock(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return Py_BuildValue("(ss)", lp_the_engine.clock.name,
                         lp_the_engine.clock.reason);
}

static PyObject *
module_hook(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (lp_the_engine.hook == NULL) {
        Py_RETURN_NONE;
    }
    return PyUnicode_FromString(lp_the_engine.hook->name);
}

static PyObject *
no_clock(void)
{
    PyErr_SetString(PyExc_RuntimeError, "no tracer has started the clock yet");
    return NULL;
}

static PyObject *
module_ticks(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (lp_the_engine.clock.name == NULL) {
        return no_clock();
    }
    return PyLong_FromUnsignedLongLong(lp_clock_now(&lp_the_engine.clock));
}

static PyObject *
module_scale(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (lp_the_engine.clock.name == NULL) {
        return no_clock();
    }
    return PyLong_FromUnsignedLongLong(lp_clock_scale(&lp_the_engine.clock));
}

static PyObject *
module_displaced(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const lp_hook *hook = lp_the_engine.hook;
    bool can_be = hook != NULL && hook->displaced != NULL;

    return PyLong_FromUnsignedLongLong(can_be ? hook->displaced() : 0);
}

static PyObject *
module_skipped(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return Py_BuildValue("(KK)",
                         (unsigned long long)lp_the_skipped_calls.calls,
                         (unsigned long long)lp_the_skipped_calls.depth);
}

static PyObject *
module_lost(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    uint64_t lost = 0;

    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        lost += rec->lost;
    }
    return PyLong_FromUnsignedLongLong(lost);
}

static PyObject *
module_cost(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    uint64_t cost = 0;

    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        cost += rec->cost;
    }
    return PyLong_FromUnsignedLongLong(cost);
}

static PyObject *
module_set_costs(PyObject *Py_UNUSED(module), PyObject *args)
{
    lp_costs costs;

    if (!PyArg_ParseTuple(
            args, "IIIIIIIIIIIIIIIIIII:set_costs", &costs.line,
            &costs.high_line, &costs.by_instruction,
            &costs.high_by_instruction, &costs.instruction, &costs.specialized,
            &costs.call, &costs.call_by_instruction, &costs.start,
            &costs.start_by_instruction, &costs.resume, &costs.consumed,
            &costs.consumed_by_instruction, &costs.jump,
            &costs.jump_by_instruction, &costs.awaited, &costs.plain_call,
            &costs.plain_inner, &costs.max_small_int)) {
        return NULL;
    }
    lp_engine_set_costs(&costs);
    lp_engine_watch_waits();
    Py_RETURN_NONE;
}

/* True if INSTRUCTION events may tell of lines. */
static PyObject *
module_has_instructions(PyObject *Py_UNUSED(module),
                        PyObject *Py_UNUSED(ignored))
{
    const lp_hook *hook = lp_the_engine.hook;

    return PyBool_FromLong(hook != NULL && hook->is_alone != NULL &&
                           hook->is_alone());
}

/* Choose the events that tell of the lines of code registered from now on. */
static PyObject *
module_set_line_event(PyObject *Py_UNUSED(module), PyObject *name)
{
    static const char *const names[] = {
        [LP_BY_LINE_UNLESS_SLOW] = "line",
        [LP_BY_INSTRUCTION] = "instruction",
        [LP_BY_CHEAPER_EVENT] = "cheaper",
    };

    for (int i = LP_BY_LINE_UNLESS_SLOW; i <= LP_BY_CHEAPER_EVENT; i++) {
        if (PyUnicode_Check(name) &&
            PyUnicode_CompareWithASCIIString(name, names[i]) == 0) {
            lp_the_engine.line_event = (lp_line_event)i;
            Py_RETURN_NONE;
        }
    }
    PyErr_Format(PyExc_ValueError, "no event %R", name);
    return NULL;
}

/* Return (tracer, activating) of each tracer that watches a code object. */
static PyObject *
module_tracers_of(PyObject *Py_UNUSED(module), PyObject *code)
{
    PyObject *list = PyList_New(0);
    const lp_code *self;

    if (list == NULL || !PyCode_Check(code)) {
        return list;
    }
    /* The code-extra index exists only after the first tracer. */
    self = lp_the_engine.tracers == 0 ? NULL : lp_code_of(code);
    for (; self != NULL; self = self->next) {
        PyObject *pair =
            Py_BuildValue("(Oi)", (PyObject *)self->tracer,
                          (self->flags & LP_CODE_ACTIVATES_TRACER) != 0);
        int failed = pair == NULL || PyList_Append(list, pair) < 0;

        Py_XDECREF(pair);
        if (failed) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

/* A pending call: call `arg`, which is owned, and drop what it raises, because
 * that would be raised in the program. */
static int
call_now(void *arg)
{
    PyObject *callable = arg, *answer = PyObject_CallNoArgs(callable);

    if (answer == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(answer);
    Py_DECREF(callable);
    return 0;
}

/* call_soon(callable): have the main thread call it between two of its next
 * instructions. */
static PyObject *
module_call_soon(PyObject *Py_UNUSED(module), PyObject *callable)
{
    if (Py_AddPendingCall(call_now, Py_NewRef(callable)) < 0) {
        Py_DECREF(callable);
        PyErr_SetString(PyExc_RuntimeError, "too many calls wait");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* unmap(address, size): unmap whole pages of this process, which a client that
 * attaches to it has mapped for the text that it ran. */
static PyObject *
module_unmap(PyObject *Py_UNUSED(module), PyObject *args)
{
    unsigned long long address, size;

    if (!PyArg_ParseTuple(args, "KK:unmap", &address, &size)) {
        return NULL;
    }
    if (munmap((void *)(uintptr_t)address, (size_t)size) != 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_RETURN_NONE;
}

/* The interpreter is about to end: see lp_code_keep_all(). */
static PyObject *
module_keep_codes(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    lp_code_keep_all();
    Py_RETURN_NONE;
}

#ifdef __linux__
enum { LP_ENOUGH_DESCRIPTORS = 64 };

/* A callable, to be called by another thread. */
typedef struct lp_task {
    PyObject *callable; /* borrowed */
    bool called;
    PyObject *type, *value, *traceback; /* owned; the exception, or NULL */
} lp_task;

static void *
call_with_own_descriptors(void *argument)
{
    lp_task *task = argument;
    PyGILState_STATE state;
    PyObject *result;

    if (!lp_file_table_begin_copy()) {
        return NULL;
    }
    task->called = true;
    state = PyGILState_Ensure();
    result = PyObject_CallNoArgs(task->callable);
    if (result == NULL) {
        PyErr_Fetch(&task->type, &task->value, &task->traceback);
    }
    Py_XDECREF(result);
    PyGILState_Release(state);
    return NULL;
}

/* Allow descriptors up to a number that is enough for a profile, if the
 * program has lowered its limit: to the hard limit, or with privileges above
 * it.  The limit is one of the process.  False if it stays as it is. */
static bool
raise_limit(struct rlimit *before, struct rlimit *raised)
{
    if (getrlimit(RLIMIT_NOFILE, before) != 0 ||
        before->rlim_cur >= LP_ENOUGH_DESCRIPTORS) {
        return false;
    }
    *raised = (struct rlimit){LP_ENOUGH_DESCRIPTORS, before->rlim_max};
    if (before->rlim_max < LP_ENOUGH_DESCRIPTORS) {
        raised->rlim_max = LP_ENOUGH_DESCRIPTORS;
        if (setrlimit(RLIMIT_NOFILE, raised) == 0) {
            return true;
        }
        *raised = (struct rlimit){before->rlim_max, before->rlim_max};
    }
    return setrlimit(RLIMIT_NOFILE, raised) == 0;
}

/* Put the limit back, unless the program has changed it meanwhile. */
static void
restore_limit(const struct rlimit *before, const struct rlimit *raised)
{
    struct rlimit now;

    if (getrlimit(RLIMIT_NOFILE, &now) == 0 &&
        now.rlim_cur == raised->rlim_cur && now.rlim_max == raised->rlim_max) {
        setrlimit(RLIMIT_NOFILE, before);
    }
}
#endif

/* Call a Python callable on another thread, whose table of file descriptors is
 * its own: what it closes stays open for all other threads.  Meanwhile the
 * limit of descriptors is no lower than LP_ENOUGH_DESCRIPTORS, if the process
 * may raise it.  False, without a call, if the system has no such tables.  The
 * thread is not one of Python's, which cannot be started any more once the
 * interpreter of 3.12 is ending. */
static PyObject *
module_call_with_own_descriptors(PyObject *Py_UNUSED(module),
                                 PyObject *callable)
{
#ifdef __linux__
    lp_task task = {.callable = callable};
    struct rlimit before, raised;
    pthread_t thread;
    bool started, is_raised = raise_limit(&before, &raised);

    Py_BEGIN_ALLOW_THREADS;
    started =
        pthread_create(&thread, NULL, call_with_own_descriptors, &task) == 0;
    if (started) {
        pthread_join(thread, NULL);
    }
    Py_END_ALLOW_THREADS;
    if (is_raised) {
        restore_limit(&before, &raised);
    }
    if (task.type != NULL) {
        PyErr_Restore(task.type, task.value, task.traceback);
        return NULL;
    }
    return PyBool_FromLong(task.called);
#else
    (void)callable;
    Py_RETURN_FALSE;
#endif
}

/* The off-CPU sampler is not there until a line of the program begins: some
 * system calls want a process with one thread. */
static PyObject *
module_pause_sampler(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    lp_own_work work;

    lp_own_work_begin(&work, lp_current_recorder);
    lp_sampler_pause();
    lp_own_work_end(&work);
    Py_RETURN_NONE;
}

/* Greenlets may switch frames of one thread from now on, if the program has
 * imported them. */
static PyObject *
module_notice_greenlets(PyObject *Py_UNUSED(module),
                        PyObject *Py_UNUSED(ignored))
{
    lp_greenlets_notice();
    Py_RETURN_NONE;
}

/* True if greenlets switched frames, so that the callers of these are a guess.
 */
static PyObject *
module_frames_switched(PyObject *Py_UNUSED(module),
                       PyObject *Py_UNUSED(ignored))
{
    uint64_t unordered_leaves = 0;

    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        unordered_leaves += rec->unordered_leaves;
    }
    return PyBool_FromLong(lp_the_engine.greenlets && unordered_leaves != 0);
}

/* Set whether C functions are callees, for functions registered from now on,
 * and the cost of the events of one call of a C function. */
static PyObject *
module_c_functions(PyObject *Py_UNUSED(module), PyObject *args)
{
    int on;

    if (!PyArg_ParseTuple(args, "pI:c_functions", &on, &lp_c_functions_cost)) {
        return NULL;
    }
    if (on && lp_profile_function_open() < 0) {
        return NULL;
    }
    lp_c_functions_on = on;
    Py_RETURN_NONE;
}

/* Set whether lines have their own time in the kernel and in waits; None asks.
 */
static PyObject *
module_split_times(PyObject *Py_UNUSED(module), PyObject *on)
{
    if (on != Py_None) {
        lp_off_cpu_split_on = PyObject_IsTrue(on) == 1;
    }
    return PyBool_FromLong(lp_off_cpu_split_on);
}

/* Offer copies by value of code objects to a callable: see code_copies.h. */
static PyObject *
module_code_copies(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *adopt, *names, *mark;

    if (!PyArg_ParseTuple(args, "OO!U:code_copies", &adopt, &PySet_Type,
                          &names, &mark)) {
        return NULL;
    }
    lp_copies_begin(adopt, names, mark);
    Py_RETURN_NONE;
}

/* Offer copies also while no other code is registered: see code_copies.h. */
static PyObject *
module_await_code_copies(PyObject *Py_UNUSED(module),
                         PyObject *Py_UNUSED(args))
{
    if (lp_copies_await() < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Offer unregistered code objects to this callable; None stops that. */
static PyObject *
module_discover(PyObject *Py_UNUSED(module), PyObject *decide)
{
    if (lp_discovery_set(decide) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Return what calls of Python from hooks took, which are those of discovery
 * and of audits: the ticks that are part of `cost`, and processor time in ns.
 */
static PyObject *
module_python_calls(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    lp_python_call_totals totals = lp_python_calls();

    return Py_BuildValue("KK", (unsigned long long)totals.ticks,
                         (unsigned long long)totals.cpu_ns);
}

static PyObject *
module_is_discovering(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    return PyBool_FromLong(lp_discovery_on);
}

/* Return how many code objects discovery left out. */
static PyObject *
module_left_out(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    return PyLong_FromUnsignedLongLong(lp_discovery_left_out());
}

static PyObject *
module_missed_calls(PyObject *Py_UNUSED(module), PyObject *code)
{
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "not a code object");
        return NULL;
    }
    return PyLong_FromUnsignedLong(lp_discovery_missed_calls(code));
}

/* Call `callable` each time that a thread's events have cost another `ns`. */
static PyObject *
module_audit(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *callable;
    unsigned long long ns;

    if (!PyArg_ParseTuple(args, "OK", &callable, &ns) ||
        lp_overhead_audit_set(callable, ns) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"hooks", module_hooks, METH_NOARGS, NULL},
    {"hook", module_hook, METH_NOARGS, NULL},
    {"clock", module_clock, METH_NOARGS, NULL},
    {"ticks", module_ticks, METH_NOARGS, NULL},
    {"scale", module_scale, METH_NOARGS, NULL},
    {"line_records", lp_line_records, METH_VARARGS, NULL},
    {"lost", module_lost, METH_NOARGS, NULL},
    {"skipped", module_skipped, METH_NOARGS, NULL},
    {"hook_displaced", module_displaced, METH_NOARGS, NULL},
    {"call_times", lp_call_times_of, METH_VARARGS, NULL},
    {"cost", module_cost, METH_NOARGS, NULL},
    {"set_costs", module_set_costs, METH_VARARGS, NULL},
    {"has_instructions", module_has_instructions, METH_NOARGS, NULL},
    {"set_line_event", module_set_line_event, METH_O, NULL},
    {"tracers_of", module_tracers_of, METH_O, NULL},
    {"keep_codes", module_keep_codes, METH_NOARGS, NULL},
    {"call_soon", module_call_soon, METH_O, NULL},
    {"unmap", module_unmap, METH_VARARGS, NULL},
    {"c_functions", module_c_functions, METH_VARARGS, NULL},
    {"call_with_own_descriptors", module_call_with_own_descriptors, METH_O,
     NULL},
    {"pause_sampler", module_pause_sampler, METH_NOARGS, NULL},
    {"prepared_call", lp_prepared_call, METH_VARARGS, NULL},
    {"changed_names", lp_changed_names, METH_VARARGS, NULL},
    {"split_times", module_split_times, METH_O, NULL},
    {"await_code_copies", module_await_code_copies, METH_NOARGS, NULL},
    {"code_copies", module_code_copies, METH_VARARGS, NULL},
    {"discover", module_discover, METH_O, NULL},
    {"python_calls", module_python_calls, METH_NOARGS, NULL},
    {"is_discovering", module_is_discovering, METH_NOARGS, NULL},
    {"left_out", module_left_out, METH_NOARGS, NULL},
    {"missed_calls", module_missed_calls, METH_O, NULL},
    {"overhead_audit", module_audit, METH_VARARGS, NULL},
    {"frames_switched", module_frames_switched, METH_NOARGS, NULL},
    {"notice_greenlets", module_notice_greenlets, METH_NOARGS, NULL},
    {"trace_start", lp_trace_start, METH_VARARGS, NULL},
    {"trace_full", lp_trace_full, METH_NOARGS, NULL},
    {"monotonic_ns", lp_trace_monotonic_ns, METH_VARARGS, NULL},
    {"count_slices", lp_count_slices, METH_VARARGS, NULL},
    {"select_slices", lp_select_slices, METH_VARARGS, NULL},
    {"idle_sums", lp_idle_sums, METH_VARARGS, NULL},
    {"off_cpu_unavailable", lp_snapshot_waits_unavailable, METH_NOARGS, NULL},
    {"nvtx_open", lp_nvtx_open, METH_O, NULL},
    {"nvtx_mode", lp_nvtx_mode, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* The engine is one for the process, and so is its code-extra index, which
 * belongs to one interpreter.  Subinterpreters with a GIL of their own are
 * refused by the slot below, the others only here. */
static int
refuse_subinterpreter(void)
{
    if (PyInterpreterState_Get() == PyInterpreterState_Main()) {
        return 0;
    }
    PyErr_SetString(PyExc_ImportError,
                    "lineprof cannot profile in a subinterpreter: make the "
                    "LineProfiler in the main interpreter");
    return -1;
}

static int
module_exec(PyObject *module)
{
    lp_state *state = PyModule_GetState(module);

    if (refuse_subinterpreter() < 0) {
        return -1;
    }
    state->tracer_type =
        PyType_FromModuleAndSpec(module, &lp_tracer_spec, NULL);
    if (state->tracer_type == NULL ||
        PyModule_AddType(module, (PyTypeObject *)state->tracer_type) < 0 ||
        PyModule_AddFunctions(module, lp_gpu_functions) < 0 ||
        PyModule_AddFunctions(module, lp_live_functions) < 0 ||
        PyModule_AddFunctions(module, lp_memory_functions) < 0 ||
        PyModule_AddFunctions(module, lp_signal_functions) < 0) {
        return -1;
    }
    return PyModule_AddIntConstant(module, "COST_ONE", LP_COST_ONE);
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    lp_state *state = PyModule_GetState(module);

    Py_VISIT(state->tracer_type);
    return 0;
}

static int
module_clear(PyObject *module)
{
    lp_state *state = PyModule_GetState(module);

    Py_CLEAR(state->tracer_type);
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,      .m_name = "lineprof._core",
    .m_size = sizeof(lp_state), .m_methods = methods,
    .m_slots = slots,           .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC
PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
