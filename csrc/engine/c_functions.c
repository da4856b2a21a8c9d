#include "engine/c_functions.h"

#include <stdlib.h>

#include "engine/live_log.h"
#include "record/calls.h"
#include "record/own_work.h"

/* Kinds of classes of callables.  All objects of the class are one C function;
 * or each object is one, such as a ufunc, which has a name of its own; or none
 * is, because the class has a __call__ in Python. */
typedef enum lp_callee_kind {
    LP_BY_CLASS,
    LP_BY_NAME,
    LP_NOT_C
} lp_callee_kind;

/* Return an attribute that is a string, or NULL. */
static PyObject *
string_attribute(PyObject *object, const char *attribute)
{
    PyObject *text = PyObject_GetAttrString(object, attribute);

    if (text != NULL && !PyUnicode_Check(text)) {
        Py_CLEAR(text);
    }
    PyErr_Clear();
    return text;
}

/* True if an attribute lookup on the object runs no code of the program. */
static bool
is_plain(PyObject *object)
{
    return PyType_Check(object)
               ? Py_TYPE(object) == &PyType_Type
               : Py_TYPE(object)->tp_getattro == PyObject_GenericGetAttr;
}

/* True if an attribute lookup on the class runs no code of the program.
 * (Cython's functions have a metaclass in C.) */
static bool
is_plain_class(PyObject *type)
{
    return Py_TYPE(type)->tp_getattro == PyType_Type.tp_getattro;
}

/* Return the qualified name with the module's: "builtins.len", "list.append".
 * A new string, or NULL when memory is out. */
static PyObject *
callee_name(PyObject *object)
{
    PyObject *name = NULL, *module = NULL, *full;

    if (is_plain(object)) {
        name = string_attribute(object, "__qualname__");
        module = string_attribute(object, "__module__");
        if (name == NULL) {
            name = string_attribute(object, "__name__");
        }
    }
    if (name == NULL) {
        const PyTypeObject *type =
            PyType_Check(object) ? (PyTypeObject *)object : Py_TYPE(object);

        name = PyUnicode_FromString(type->tp_name);
    }
    full = name == NULL || module == NULL
               ? name
               : PyUnicode_FromFormat("%U.%U", module, name);
    if (full != name) {
        Py_XDECREF(name);
    }
    Py_XDECREF(module);
    PyErr_Clear();
    return full;
}

/* Return the kind of the class of a callable. */
static lp_callee_kind
callee_kind(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    PyObject *call, *name = NULL;
    lp_callee_kind found = LP_BY_CLASS;

    if (!is_plain_class(type)) {
        return found;
    }
    call = PyObject_GetAttrString(type, "__call__");
    if (call != NULL && PyFunction_Check(call)) {
        found = LP_NOT_C;
    }
    else if (is_plain(object)) {
        name = string_attribute(object, "__name__");
        found = name != NULL ? LP_BY_NAME : LP_BY_CLASS;
    }
    PyErr_Clear();
    Py_XDECREF(call);
    Py_XDECREF(name);
    return found;
}

enum {
    MIN_CAPACITY = 64, /* a power of two */
    MAX_ENTRIES = 1 << 14
};

bool lp_c_functions_on;
uint32_t lp_c_functions_cost;

typedef struct c_function {
    const void *identity;
    PyObject *reference; /* owned: the object, so that its address is not
                            reused, or a weak reference to it; NULL if the
                            address is never reused */
    bool weak;
    lp_callee_kind kind;
    lp_code *code;  /* owned; NULL unless LP_BY_CLASS */
    PyObject *name; /* owned */
} c_function;

typedef struct lp_c_functions {
    c_function *table; /* owned hash table */
    uint32_t used, capacity;
} lp_c_functions;

/* -- the table -------------------------------------------------------------
 */

static c_function *
find_slot(const lp_c_functions *self, const void *identity)
{
    uint32_t mask = self->capacity - 1;
    uint64_t mixed = (uint64_t)(uintptr_t)identity * 0x9E3779B97F4A7C15u;
    uint32_t at = (uint32_t)(mixed >> 32) & mask;

    while (self->table[at].identity != NULL &&
           self->table[at].identity != identity) {
        at = (at + 1) & mask;
    }
    return &self->table[at];
}

static bool
reserve(lp_c_functions *self)
{
    lp_c_functions larger = *self;

    if (self->used < self->capacity / 2) {
        return true;
    }
    larger.capacity = self->capacity == 0 ? MIN_CAPACITY : self->capacity * 2;
    larger.table = calloc(larger.capacity, sizeof(c_function));
    if (larger.table == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < self->capacity; i++) {
        if (self->table[i].identity != NULL) {
            *find_slot(&larger, self->table[i].identity) = self->table[i];
        }
    }
    free(self->table);
    *self = larger;
    return true;
}

/* Create a code whose only line is 0, which no code object has. */
static lp_code *
make_code(lp_tracer *tracer)
{
    lp_code *code = lp_code_new(tracer);

    if (code != NULL) {
        code->layout.n_lines = 1;
        if (!lp_engine_add_code(code)) {
            lp_code_free(code);
            code = NULL;
        }
    }
    PyErr_Clear();
    return code;
}

/* Create a reference that shows whether an object is still alive.  The
 * program's own objects are not kept alive: the definition of a method bound
 * to one exists as long as the method's class. */
static PyObject *
new_reference(PyObject *object, bool *weak)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *self =
        PyCFunction_Check(object) ? PyCFunction_GET_SELF(object) : NULL;

    *weak = self == NULL && type->tp_weaklistoffset > 0;
    if (self != NULL && !PyModule_Check(self) && !PyCapsule_CheckExact(self)) {
        return NULL;
    }
    if (*weak) {
        return PyWeakref_NewRef(object, NULL);
    }
    Py_INCREF(object);
    return object;
}

/* True if another object is now at the address of the entry's object. */
static bool
is_stale(const c_function *entry, const PyObject *object)
{
    return entry->weak &&
           ((PyWeakReference *)entry->reference)->wr_object != object;
}

/* Add an entry for `identity`, or replace the entry of an object that is gone.
 */
static c_function *
add(lp_tracer *tracer, const void *identity, PyObject *object,
    PyObject *called)
{
    lp_c_functions *self = tracer->c_functions;
    lp_callee_kind kind = called == NULL ? LP_BY_CLASS : callee_kind(called);
    c_function new_entry = {.identity = identity, .kind = kind};
    c_function *found;

    if (self->used >= MAX_ENTRIES) {
        return NULL;
    }
    /* Creating a weak reference may run code of the program. */
    new_entry.reference = new_reference(object, &new_entry.weak);
    new_entry.name = kind == LP_BY_CLASS ? callee_name(object) : NULL;
    PyErr_Clear();
    if ((new_entry.weak && new_entry.reference == NULL) || !reserve(self) ||
        (kind == LP_BY_CLASS &&
         (new_entry.code = make_code(tracer)) == NULL)) {
        Py_XDECREF(new_entry.reference);
        Py_XDECREF(new_entry.name);
        return NULL;
    }
    if (new_entry.code != NULL && new_entry.name != NULL) {
        lp_live_log_code(tracer, new_entry.code, new_entry.name);
    }
    found = find_slot(self, identity);
    if (found->identity != NULL) { /* keep the counts of the old entry */
        found->identity =
            found->code != NULL ? (void *)found->code : found->reference;
        found = find_slot(self, identity);
    }
    *found = new_entry;
    self->used++;
    return found;
}

/* Return the entry of `identity`, which identifies `object`: the callable, or
 * the class of `called`.  NULL if memory is out or the table is full. */
static c_function *
entry(lp_tracer *tracer, const void *identity, PyObject *object,
      PyObject *called)
{
    lp_c_functions *self = tracer->c_functions;
    c_function *found;

    if (self == NULL) {
        self = tracer->c_functions = calloc(1, sizeof(*self));
    }
    if (self == NULL || !reserve(self)) {
        return NULL;
    }
    found = find_slot(self, identity);
    if (found->identity == NULL || is_stale(found, object)) {
        found = add(tracer, identity, object, called);
    }
    return found;
}

/* Return the code of a callable, identified as the header says. */
static lp_code *
find_code(lp_tracer *tracer, PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);
    const void *identity = callable;
    c_function *found;

    if (PyCFunction_Check(callable)) {
        identity = ((PyCFunctionObject *)callable)->m_ml;
    }
    else if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type) {
        identity = ((PyMethodDescrObject *)callable)->d_method;
    }
    else if (!PyType_Check(callable)) {
        /* (The class itself may be called also, and then has another entry.)
         */
        found =
            entry(tracer, (const char *)type + 1, (PyObject *)type, callable);
        if (found == NULL || found->kind != LP_BY_NAME) {
            return found == NULL ? NULL : found->code;
        }
    }
    found = entry(tracer, identity, callable, NULL);
    return found == NULL ? NULL : found->code;
}

/* -- calls -----------------------------------------------------------------
 */

void
lp_c_functions_enter(lp_recorder *rec, PyObject *callable, lp_ticks now)
{
    lp_tracer *tracer = rec->top->owner;
    lp_code_counters *counters = NULL;
    lp_code *code;
    lp_frame *frame;

    if (rec->top->line == NULL || !tracer->active) {
        return;
    }
    code = find_code(tracer, callable);
    if (code == NULL) {
        return;
    }
    if (code->layout.code_id < rec->n_counters) {
        counters = rec->counters[code->layout.code_id];
    }
    if (LP_UNLIKELY(counters == NULL)) {
        lp_ticks later;

        counters = lp_recorder_counters(rec, &tracer->arena, &code->layout);
        later = lp_clock_now(&rec->clock); /* creating counters took time */
        lp_own_work_was_short(rec, later - now);
        now = later;
    }
    rec->cost += lp_c_functions_cost / 2;
    frame = lp_recorder_enter(rec, code, counters, 0);
    if (frame == NULL) {
        return;
    }
    frame->owner = tracer;
    frame->flags |= LP_FRAME_C_FUNCTION;
    tracer->open_frames++;
    lp_calls_called(rec, frame);
    lp_recorder_line(rec, frame, 0, now, LP_LINE_FORWARD);
}

void
lp_c_functions_leave(lp_recorder *rec, lp_ticks now)
{
    if (lp_c_functions_is(rec->top)) {
        lp_tracer *tracer = rec->top->owner;

        rec->cost += lp_c_functions_cost - lp_c_functions_cost / 2;
        lp_recorder_leave(rec, rec->top, false, now);
        tracer->open_frames--;
    }
}

void
lp_c_functions_end(lp_recorder *rec, lp_ticks now)
{
    while (lp_c_functions_is(rec->top)) {
        lp_c_functions_leave(rec, now);
    }
}

/* -- all C functions of a tracer -------------------------------------------
 */

PyObject *
lp_c_functions_names(const lp_tracer *tracer)
{
    const lp_c_functions *self = tracer->c_functions;
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list != NULL && self != NULL && i < self->capacity;
         i++) {
        const c_function *function = &self->table[i];
        PyObject *row;

        if (function->identity == NULL || function->code == NULL ||
            function->name == NULL) {
            continue;
        }
        row = Py_BuildValue("(IO)", function->code->layout.serial,
                            function->name);
        if (row == NULL || PyList_Append(list, row) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

void
lp_c_functions_mark(const lp_tracer *tracer, bool *marked)
{
    const lp_c_functions *self = tracer->c_functions;

    for (uint32_t i = 0; self != NULL && i < self->capacity; i++) {
        if (self->table[i].code != NULL) {
            marked[self->table[i].code->layout.serial] = true;
        }
    }
}

void
lp_c_functions_reset(lp_tracer *tracer)
{
    const lp_c_functions *self = tracer->c_functions;

    for (uint32_t i = 0; self != NULL && i < self->capacity; i++) {
        const lp_code *code = self->table[i].code;

        for (lp_recorder *rec = lp_the_engine.recorders;
             code != NULL && rec != NULL; rec = rec->next) {
            uint32_t id = code->layout.code_id;

            if (id < rec->n_counters && rec->counters[id] != NULL) {
                lp_code_counters_reset(rec->counters[id]);
            }
        }
    }
}

void
lp_c_functions_close(lp_tracer *tracer)
{
    lp_c_functions *self = tracer->c_functions;

    if (self == NULL) {
        return;
    }
    tracer->c_functions = NULL;
    for (uint32_t i = 0; i < self->capacity; i++) {
        if (self->table[i].code != NULL) {
            lp_engine_drop_code(self->table[i].code);
            lp_code_free(self->table[i].code);
        }
        Py_XDECREF(self->table[i].name);
        Py_XDECREF(self->table[i].reference);
    }
    free(self->table);
    free(self);
}
