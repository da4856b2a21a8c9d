/* The heap type Tracer, through which a profiler in Python uses lp_tracer,
 * with plain tuples as values. */
#include "module/tracer_type.h"

#include "bytecode/statement_spans.h"
#include "engine/c_functions.h"
#include "engine/engine.h"
#include "engine/tracer.h"
#include "hooks/hooks.h"
#include "module/nvtx_functions.h"
#include "module/snapshot.h"
#include "module/trace_snapshot.h"
#include "record/calls.h"
#include "record/greenlet_stacks.h"
#include "record/live_file.h"

static PyObject *
tracer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    const char *name, *clock_name = "auto";
    const lp_hook *hook;
    PyObject *clock = Py_None;
    lp_tracer *self;

    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "Tracer() takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "s|Os:Tracer", &name, &clock, &clock_name)) {
        return NULL;
    }
    hook = lp_hook_find(name);
    if (hook == NULL) {
        PyErr_Format(PyExc_ValueError, "this Python has no '%s'", name);
        return NULL;
    }
    self = (lp_tracer *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    lp_arena_init(&self->arena, LP_BLOCK_COUNTERS, false);
    self->keys = PyList_New(0);
    self->canonical_index = PyDict_New();
    if (self->keys == NULL || self->canonical_index == NULL ||
        lp_engine_acquire(hook, clock, clock_name, PyType_GetModule(type)) <
            0) {
        Py_DECREF(self);
        return NULL;
    }
    self->open = true;
    return (PyObject *)self;
}

static int
tracer_traverse(PyObject *op, visitproc visit, void *arg)
{
    lp_tracer *self = (lp_tracer *)op;

    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->keys);
    Py_VISIT(self->canonical_index);
    return 0;
}

static void
tracer_dealloc(PyObject *op)
{
    lp_tracer *self = (lp_tracer *)op;
    PyTypeObject *type = Py_TYPE(op);

    PyObject_GC_UnTrack(op);
    lp_tracer_close(self);
    Py_XDECREF(self->keys);
    Py_XDECREF(self->canonical_index);
    type->tp_free(op);
    Py_DECREF(type); /* heap types are owned by their instances */
}

/* Values of add_code(); lineprof/bytecode/code_tables.py has the same. */
enum { NOT_ADDED, ADDED, ADDED_UNREAD, INVALID_LINES };

/* Build the tables of a code object from the arguments of a method: the spans
 * of statements, bytes or None, and the opcodes.  `done` is false if the code
 * has no valid lines.  0 or -1 with an exception. */
static int
read_tables(lp_code_tables *tables, PyObject *code, PyObject *spans,
            PyObject *opcodes, const lp_line_events *events, bool *done)
{
    const void *items = NULL, *table = PyBytes_AS_STRING(opcodes);
    size_t n_spans = 0;
    lp_tables_result result;

    *tables = (lp_code_tables){0};
    if ((spans != Py_None && !PyBytes_Check(spans)) ||
        PyBytes_GET_SIZE(opcodes) != sizeof(lp_opcodes)) {
        PyErr_SetString(PyExc_ValueError, "a table has the wrong length");
        return -1;
    }
    if (spans != Py_None) {
        items = PyBytes_AS_STRING(spans);
        n_spans = (size_t)PyBytes_GET_SIZE(spans) / sizeof(lp_line_span);
    }
    result = lp_code_read(tables, code, items, n_spans, table, events);
    *done = result == LP_TABLES_DONE;
    if (result == LP_TABLES_NO_MEMORY) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static PyObject *
add_code(lp_tracer *self, PyObject *object, PyObject *key, bool activates,
         lp_code_tables *tables)
{
    bool unread = tables->is_unread;
    lp_code *code = lp_code_new(self);

    if (code == NULL) {
        return NULL;
    }
    code->flags = activates ? LP_CODE_ACTIVATES_TRACER : 0;
    lp_code_take_tables(code, object, tables);
    if (lp_tracer_add(self, object, key, code) < 0) {
        return NULL;
    }
    return PyLong_FromLong(unread ? ADDED_UNREAD : ADDED);
}

static PyObject *
tracer_add_code(PyObject *op, PyObject *args)
{
    lp_tracer *self = (lp_tracer *)op;
    PyObject *object, *key, *spans, *opcodes, *answer = NULL;
    lp_line_events events;
    lp_code_tables tables;
    int activates;
    bool done;

    if (!PyArg_ParseTuple(args, "O!OpOS:add_code", &PyCode_Type, &object, &key,
                          &activates, &spans, &opcodes)) {
        return NULL;
    }
    if (!self->open) {
        PyErr_SetString(PyExc_RuntimeError, "the tracer is closed");
        return NULL;
    }
    if (lp_code_find(object, self) != NULL) {
        return PyLong_FromLong(NOT_ADDED);
    }
    events = lp_engine_line_events(lp_code_of(object));
    if (read_tables(&tables, object, spans, opcodes, &events, &done) == 0) {
        answer = done ? add_code(self, object, key, activates, &tables)
                      : PyLong_FromLong(INVALID_LINES);
    }
    lp_code_tables_clear(&tables);
    return answer;
}

static PyObject *
packed_or_none(const void *table, size_t bytes)
{
    if (table == NULL) {
        Py_RETURN_NONE;
    }
    return PyBytes_FromStringAndSize(table, (Py_ssize_t)bytes);
}

/* Return the tables of a code object, with an lp_line_event: for tests. */
static PyObject *
tracer_code_tables(PyObject *Py_UNUSED(op), PyObject *args)
{
    PyObject *code, *spans, *opcodes, *answer = NULL;
    lp_line_events events = {.wanted = LP_BY_LINE};
    lp_code_tables tables;
    int event;
    bool done;

    if (!PyArg_ParseTuple(args, "O!OSi:code_tables", &PyCode_Type, &code,
                          &spans, &opcodes, &event)) {
        return NULL;
    }
    events.wanted = (lp_line_event)event;
    if (read_tables(&tables, code, spans, opcodes, &events, &done) == 0) {
        size_t n_lines = tables.n_lines, n = tables.n_instructions;

        answer = !done ? Py_NewRef(Py_None)
                       : Py_BuildValue(
                             "{sIsIsisNsNsNsNsNsNsNsN}", "first_line",
                             tables.first_line, "n_lines", tables.n_lines,
                             "start", (int)tables.start, "is_far",
                             PyBool_FromLong(tables.is_far), "is_unread",
                             PyBool_FromLong(tables.is_unread), "statements",
                             packed_or_none(tables.statements, 4 * n_lines),
                             "instructions",
                             packed_or_none(tables.instructions, 2 * n_lines),
                             "specialized",
                             packed_or_none(tables.specialized, 2 * n_lines),
                             "marks", packed_or_none(tables.marks, n),
                             "resumes", packed_or_none(tables.resumes, 4 * n),
                             "starts", packed_or_none(tables.starts, 4 * n));
    }
    lp_code_tables_clear(&tables);
    return answer;
}

/* Return the lines of statements in source text, a bytes object: see
 * statement_spans.h. */
static PyObject *
tracer_statement_spans(PyObject *Py_UNUSED(op), PyObject *text)
{
    lp_line_spans spans = {NULL, 0, 0};
    PyObject *packed = NULL;

    if (!PyBytes_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "bytes are needed");
        return NULL;
    }
    if (lp_spans_find(&spans, PyBytes_AS_STRING(text),
                      (size_t)PyBytes_GET_SIZE(text))) {
        packed = PyBytes_FromStringAndSize(
            (const char *)spans.items,
            (Py_ssize_t)(spans.n * sizeof(*spans.items)));
    }
    else {
        PyErr_NoMemory();
    }
    lp_spans_clear(&spans);
    return packed;
}

static PyObject *
tracer_has_code(PyObject *op, PyObject *code)
{
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "a code object is needed");
        return NULL;
    }
    return PyBool_FromLong(lp_code_find(code, (lp_tracer *)op) != NULL);
}

/* From now on the tracer is enabled for as long as this code runs. */
static PyObject *
tracer_set_activating(PyObject *op, PyObject *code)
{
    lp_code *entry =
        PyCode_Check(code) ? lp_code_find(code, (lp_tracer *)op) : NULL;

    if (entry == NULL) {
        PyErr_SetString(PyExc_ValueError,
                        "a registered code object is needed");
        return NULL;
    }
    lp_tracer_activate_with(entry);
    Py_RETURN_NONE;
}

static PyObject *
tracer_is_activating(PyObject *op, PyObject *code)
{
    const lp_code *entry =
        PyCode_Check(code) ? lp_code_find(code, (lp_tracer *)op) : NULL;

    return PyBool_FromLong(entry != NULL &&
                           (entry->flags & LP_CODE_ACTIVATES_TRACER));
}

/* From now on this code is not counted; its counts are kept. */
static PyObject *
tracer_ignore(PyObject *op, PyObject *code)
{
    lp_code *entry =
        PyCode_Check(code) ? lp_code_find(code, (lp_tracer *)op) : NULL;

    if (entry != NULL) {
        lp_tracer_ignore((lp_tracer *)op, entry);
    }
    Py_RETURN_NONE;
}

/* From now on calls of this code are counted without its lines, if that is
 * possible: returns whether it is. */
static PyObject *
tracer_count_calls(PyObject *op, PyObject *code)
{
    lp_code *entry =
        PyCode_Check(code) ? lp_code_find(code, (lp_tracer *)op) : NULL;

    return PyBool_FromLong(entry != NULL &&
                           lp_tracer_count_calls((lp_tracer *)op, entry));
}

/* Set the labels of the ranges of a registered code object. */
static PyObject *
tracer_set_labels(PyObject *op, PyObject *args)
{
    PyObject *object, *function, *lines;
    lp_code *code;

    if (!PyArg_ParseTuple(args, "O!SO!:set_labels", &PyCode_Type, &object,
                          &function, &PyList_Type, &lines)) {
        return NULL;
    }
    code = lp_code_find(object, (lp_tracer *)op);
    if (code == NULL) {
        PyErr_SetString(PyExc_ValueError,
                        "a registered code object is needed");
        return NULL;
    }
    return lp_nvtx_label(code, function, lines);
}

static PyObject *
tracer_enable(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    lp_tracer *self = (lp_tracer *)op;

    if (!self->active) {
        lp_tracer_start(self);
        lp_tracer_attach_running_frames(self);
    }
    if (self->active && lp_the_engine.hook->scan_running_frames != NULL) {
        lp_the_engine.hook->scan_running_frames();
    }
    Py_RETURN_NONE;
}

static PyObject *
tracer_disable(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    lp_tracer *self = (lp_tracer *)op;

    self->stopped = true;
    lp_tracer_stop(self);
    Py_RETURN_NONE;
}

static PyObject *
tracer_count_up(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    lp_tracer *self = (lp_tracer *)op;

    if (self->count++ == 0) {
        return tracer_enable(op, NULL);
    }
    Py_RETURN_NONE;
}

static PyObject *
tracer_count_down(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    lp_tracer_count_down((lp_tracer *)op);
    Py_RETURN_NONE;
}

/* Return the names of C functions, by their serials in a snapshot. */
static PyObject *
tracer_c_functions(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    return lp_c_functions_names((lp_tracer *)op);
}

static PyObject *
tracer_reset(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    lp_tracer *self = (lp_tracer *)op;

    lp_c_functions_reset(self);
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        lp_off_cpu_settle(rec, lp_clock_now(&rec->clock));
        for (uint32_t i = 0; i < self->n_codes; i++) {
            uint32_t id = self->codes[i]->layout.code_id;

            if (id < rec->n_counters && rec->counters[id] != NULL) {
                lp_code_counters_reset(rec->counters[id]);
                lp_off_cpu_forget(rec->counters[id]);
            }
        }
        lp_calls_reset(rec, self);
        lp_recorder_restart(rec, self, lp_clock_now(&rec->clock));
        lp_stacks_restart(rec, lp_clock_now(&rec->clock));
    }
    lp_tracer_forget_slices(self);
    Py_RETURN_NONE;
}

/* From now on counters are in the live file of this process; returns whether
 * there is one. */
static PyObject *
tracer_record_live(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    lp_tracer *self = (lp_tracer *)op;

    self->arena.is_live = lp_live_is_open();
    return PyBool_FromLong(self->arena.is_live);
}

/* Return the number by which the live file knows this tracer. */
static PyObject *
get_live_number(PyObject *op, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong((uint64_t)(uintptr_t)op);
}

static PyObject *
tracer_snapshot(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    return lp_snapshot_take((lp_tracer *)op);
}

static PyObject *
tracer_costs(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    return lp_costs_snapshot((lp_tracer *)op);
}

static PyObject *
tracer_off_cpu(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    return lp_snapshot_waits((lp_tracer *)op);
}

static PyObject *
tracer_close(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    lp_tracer_close((lp_tracer *)op);
    Py_RETURN_NONE;
}

static PyObject *
get_active(PyObject *op, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((lp_tracer *)op)->active);
}

static PyObject *
get_count(PyObject *op, void *Py_UNUSED(closure))
{
    return PyLong_FromSsize_t(((lp_tracer *)op)->count);
}

static PyObject *
get_ranged(PyObject *Py_UNUSED(op), void *Py_UNUSED(closure))
{
    return PyBool_FromLong(lp_the_engine.ranges != LP_RANGES_OFF);
}

static PyMethodDef methods[] = {
    {"add_code", tracer_add_code, METH_VARARGS, NULL},
    {"code_tables", tracer_code_tables, METH_VARARGS | METH_STATIC, NULL},
    {"statement_spans", tracer_statement_spans, METH_O | METH_STATIC, NULL},
    {"has_code", tracer_has_code, METH_O, NULL},
    {"set_activating", tracer_set_activating, METH_O, NULL},
    {"is_activating", tracer_is_activating, METH_O, NULL},
    {"count_calls", tracer_count_calls, METH_O, NULL},
    {"ignore", tracer_ignore, METH_O, NULL},
    {"c_functions", tracer_c_functions, METH_NOARGS, NULL},
    {"costs", tracer_costs, METH_NOARGS, NULL},
    {"set_labels", tracer_set_labels, METH_VARARGS, NULL},
    {"enable", tracer_enable, METH_NOARGS, NULL},
    {"disable", tracer_disable, METH_NOARGS, NULL},
    {"enable_by_count", tracer_count_up, METH_NOARGS, NULL},
    {"disable_by_count", tracer_count_down, METH_NOARGS, NULL},
    {"reset", tracer_reset, METH_NOARGS, NULL},
    {"record_live", tracer_record_live, METH_NOARGS, NULL},
    {"snapshot", tracer_snapshot, METH_NOARGS, NULL},
    {"trace_windows", lp_trace_windows, METH_VARARGS, NULL},
    {"trace_slices", lp_trace_columns, METH_VARARGS, NULL},
    {"off_cpu", tracer_off_cpu, METH_NOARGS, NULL},
    {"close", tracer_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"active", get_active, NULL, NULL, NULL},
    {"enable_count", get_count, NULL, NULL, NULL},
    {"live_number", get_live_number, NULL, NULL, NULL},
    {"has_nvtx_ranges", get_ranged, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, tracer_new},
    {Py_tp_dealloc, tracer_dealloc},
    {Py_tp_traverse, tracer_traverse},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

PyType_Spec lp_tracer_spec = {
    .name = "lineprof._core.Tracer",
    .basicsize = sizeof(lp_tracer),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
