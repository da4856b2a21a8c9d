/* The heap type Tracer, through which a profiler in Python uses lp_tracer,
 * with plain tuples as values. */
#include "module/tracer_type.h"

#include <stdlib.h>
#include <string.h>

#include "engine/c_functions.h"
#include "engine/engine.h"
#include "engine/tracer.h"
#include "hooks/hooks.h"
#include "module/nvtx_functions.h"
#include "module/snapshot.h"
#include "module/trace_snapshot.h"
#include "record/call_tree.h"
#include "source/statement_spans.h"

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
    lp_arena_init(&self->arena);
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

/* Copy a bytes table of `size`-byte entries; the copy of None is NULL. */
static bool
copy_table(PyObject *source, size_t size, void *table, uint32_t *n)
{
    void *copy = NULL;
    char *bytes;
    Py_ssize_t length;

    if (source != Py_None) {
        if (PyBytes_AsStringAndSize(source, &bytes, &length) < 0) {
            return false;
        }
        copy = malloc((size_t)length + 1);
        if (copy == NULL) {
            PyErr_NoMemory();
            return false;
        }
        memcpy(copy, bytes, (size_t)length);
        *n = (uint32_t)((size_t)length / size);
    }
    memcpy(table, &copy, sizeof(copy));
    return true;
}

/* Fill in the tables of a code object that Python computed. */
static bool
fill_tables(lp_code *code, PyObject *const *tables)
{
    lp_layout *layout = &code->layout;
    uint32_t n_lines = layout->n_lines, n_instructions = layout->n_lines;
    uint32_t n_resumes = 0;

    if (!copy_table(tables[0], 4, &layout->statements, &n_lines) ||
        !copy_table(tables[1], 2, &layout->instructions, &n_instructions) ||
        !copy_table(tables[2], 1, &code->marks, &code->n_marks) ||
        !copy_table(tables[3], 4, &code->resumes, &n_resumes)) {
        return false;
    }
    if (n_lines != layout->n_lines || n_instructions != layout->n_lines ||
        (tables[2] != Py_None && tables[3] != Py_None &&
         n_resumes != code->n_marks)) {
        PyErr_SetString(PyExc_ValueError, "a table has the wrong length");
        return false;
    }
    if (code->marks == NULL) {
        code->n_marks = n_resumes;
    }
    return true;
}

static PyObject *
tracer_add_code(PyObject *op, PyObject *args)
{
    lp_tracer *self = (lp_tracer *)op;
    PyObject *object, *key, *tables[4];
    unsigned int first_line, n_lines, flags;
    int start, awaits;
    lp_code *code;

    if (!PyArg_ParseTuple(args, "O!OIIIpiOOOO:add_code", &PyCode_Type, &object,
                          &key, &first_line, &n_lines, &flags, &awaits, &start,
                          &tables[0], &tables[1], &tables[2], &tables[3])) {
        return NULL;
    }
    if (!self->open) {
        PyErr_SetString(PyExc_RuntimeError, "the tracer is closed");
        return NULL;
    }
    if (lp_code_find(object, self) != NULL) {
        Py_RETURN_FALSE;
    }
    code = lp_code_new(self);
    if (code == NULL) {
        return NULL;
    }
    code->layout.first_line = first_line;
    code->layout.n_lines = n_lines;
    code->layout.awaits = awaits;
    code->layout.by_instruction =
        LP_HAVE_MONITORING && (flags & LP_CODE_BY_INSTRUCTION);
    code->flags = flags;
    code->start = start;
    if (!fill_tables(code, tables)) {
        lp_code_free(code);
        return NULL;
    }
    if (lp_tracer_add(self, object, key, code) < 0) {
        return NULL;
    }
    Py_RETURN_TRUE;
}

/* Return the lines of statements in source text, a bytes object: see
 * statement_spans.h. */
static PyObject *
tracer_statement_spans(PyObject *Py_UNUSED(op), PyObject *text)
{
    lp_spans spans = {NULL, 0, 0};
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
    }
    lp_tracer_forget_slices(self);
    Py_RETURN_NONE;
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
    {"statement_spans", tracer_statement_spans, METH_O | METH_STATIC, NULL},
    {"has_code", tracer_has_code, METH_O, NULL},
    {"set_activating", tracer_set_activating, METH_O, NULL},
    {"is_activating", tracer_is_activating, METH_O, NULL},
    {"ignore", tracer_ignore, METH_O, NULL},
    {"c_functions", tracer_c_functions, METH_NOARGS, NULL},
    {"costs", tracer_costs, METH_NOARGS, NULL},
    {"set_labels", tracer_set_labels, METH_VARARGS, NULL},
    {"enable", tracer_enable, METH_NOARGS, NULL},
    {"disable", tracer_disable, METH_NOARGS, NULL},
    {"enable_by_count", tracer_count_up, METH_NOARGS, NULL},
    {"disable_by_count", tracer_count_down, METH_NOARGS, NULL},
    {"reset", tracer_reset, METH_NOARGS, NULL},
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
