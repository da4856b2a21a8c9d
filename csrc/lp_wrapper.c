#include "lp_wrapper.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

#include "lp_module.h"

typedef struct lp_wrapper {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *func;    /* owned */
    lp_tracer *tracer; /* owned */
    PyObject *dict;    /* owned: what was set on the wrapper itself */
    PyObject *weakrefs;
} lp_wrapper;

static PyObject *
call_counted(PyObject *op, PyObject *const *args, size_t nargsf,
             PyObject *kwnames)
{
    lp_wrapper *self = (lp_wrapper *)op;
    lp_tracer *tracer = self->tracer;
    PyObject *result;

    if (lp_here != NULL) {
        lp_here->cost += lp_here->costs.wrapper;
    }
    lp_tracer_count_up(tracer);
    Py_INCREF(tracer); /* the call may drop the last reference to us */
    result = PyObject_Vectorcall(self->func, args, nargsf, kwnames);
    lp_tracer_count_down(tracer);
    Py_DECREF(tracer);
    return result;
}

/* A generator or coroutine is only made by the call; its own steps enable
 * the tracer. */
static PyObject *
call_through(PyObject *op, PyObject *const *args, size_t nargsf,
             PyObject *kwnames)
{
    return PyObject_Vectorcall(((lp_wrapper *)op)->func, args, nargsf,
                               kwnames);
}

static bool
runs_in_steps(PyObject *func)
{
    PyCodeObject *code;

    if (!PyFunction_Check(func)) {
        return false;
    }
    code = (PyCodeObject *)PyFunction_GET_CODE(func);
    return code->co_flags &
           (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);
}

PyObject *
lp_wrapper_new(lp_tracer *tracer, PyObject *func)
{
    PyTypeObject *type = lp_module_wrapper_type(Py_TYPE(tracer));
    lp_wrapper *self;

    if (type == NULL) {
        return NULL;
    }
    self = (lp_wrapper *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->call = runs_in_steps(func) ? call_through : call_counted;
    Py_INCREF(func);
    self->func = func;
    Py_INCREF(tracer);
    self->tracer = tracer;
    return (PyObject *)self;
}

static int
wrapper_traverse(PyObject *op, visitproc visit, void *arg)
{
    lp_wrapper *self = (lp_wrapper *)op;

    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->func);
    Py_VISIT(self->tracer);
    Py_VISIT(self->dict);
    return 0;
}

static int
wrapper_clear(PyObject *op)
{
    Py_CLEAR(((lp_wrapper *)op)->dict);
    return 0;
}

static void
wrapper_dealloc(PyObject *op)
{
    lp_wrapper *self = (lp_wrapper *)op;
    PyTypeObject *type = Py_TYPE(op);

    PyObject_GC_UnTrack(op);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs(op);
    }
    Py_XDECREF(self->func);
    Py_XDECREF(self->tracer);
    Py_XDECREF(self->dict);
    type->tp_free(op);
    Py_DECREF(type); /* heap types are owned by their instances */
}

/* As a method: bound like the function would be. */
static PyObject *
wrapper_bind(PyObject *op, PyObject *object, PyObject *Py_UNUSED(type))
{
    if (object == NULL || object == Py_None) {
        Py_INCREF(op);
        return op;
    }
    return PyMethod_New(op, object);
}

/* The names that every type answers for itself: here the function must. */
static bool
is_of_function(const char *name)
{
    static const char *const names[] = {"__doc__", "__module__", NULL};

    for (const char *const *known = names; *known != NULL; known++) {
        if (strcmp(name, *known) == 0) {
            return true;
        }
    }
    return false;
}

static PyObject *
wrapper_getattro(PyObject *op, PyObject *name)
{
    lp_wrapper *self = (lp_wrapper *)op;
    PyObject *value = NULL;
    const char *text = PyUnicode_AsUTF8(name);

    if (text == NULL) {
        return NULL;
    }
    if (self->dict != NULL) {
        value = PyDict_GetItemWithError(self->dict, name);
        if (value != NULL || PyErr_Occurred()) {
            Py_XINCREF(value);
            return value;
        }
    }
    if (!is_of_function(text)) {
        value = PyObject_GenericGetAttr(op, name);
        if (value != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
            return value;
        }
        PyErr_Clear();
    }
    return PyObject_GetAttr(self->func, name);
}

static PyObject *
wrapper_repr(PyObject *op)
{
    return PyObject_Repr(((lp_wrapper *)op)->func);
}

/* isinstance() and inspect see the kind that is wrapped. */
static PyObject *
get_class(PyObject *op, void *Py_UNUSED(closure))
{
    PyObject *type = (PyObject *)Py_TYPE(((lp_wrapper *)op)->func);

    Py_INCREF(type);
    return type;
}

/* Pickled and copied by name, as functions are. */
static PyObject *
wrapper_reduce(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    return PyObject_GetAttrString(op, "__qualname__");
}

static PyObject *
wrapper_tracer(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    PyObject *tracer = (PyObject *)((lp_wrapper *)op)->tracer;

    Py_INCREF(tracer);
    return tracer;
}

static PyMethodDef methods[] = {
    {"__reduce__", wrapper_reduce, METH_NOARGS, NULL},
    {"_lineprof_tracer", wrapper_tracer, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(lp_wrapper, func), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(lp_wrapper, call), READONLY,
     NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(lp_wrapper, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(lp_wrapper, weakrefs),
     READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"__class__", get_class, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, wrapper_dealloc},
    {Py_tp_traverse, wrapper_traverse},
    {Py_tp_clear, wrapper_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, wrapper_bind},
    {Py_tp_getattro, wrapper_getattro},
    {Py_tp_repr, wrapper_repr},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, getset},
    {0, NULL},
};

#ifdef Py_TPFLAGS_HAVE_VECTORCALL
#  define LP_VECTORCALL Py_TPFLAGS_HAVE_VECTORCALL
#else
#  define LP_VECTORCALL _Py_TPFLAGS_HAVE_VECTORCALL
#endif

PyType_Spec lp_wrapper_spec = {
    .name = "lineprof._core.Wrapper",
    .basicsize = sizeof(lp_wrapper),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | LP_VECTORCALL |
             Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
