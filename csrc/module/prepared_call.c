#include "module/prepared_call.h"

#include <stdlib.h>

#include "memory/heap.h"

#define PLAIN "plain"
#define PREPARE "prepare"
#define NOTE "note"
#define DEF "def"

/* Drop the exception that is set, which is ours: the program is not to see it.
 * False if it is to propagate: a signal's handler raised it, as
 * KeyboardInterrupt. */
static bool
is_ours(void)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return false;
    }
    PyErr_Clear();
    return true;
}

/* The arguments for `plain`, new references; as they came if `prepare` has
 * failed.  False if its exception is to propagate. */
static bool
prepared_arguments(PyObject *prepare, PyObject **args, PyObject **keywords)
{
    PyObject *pair = NULL;
    PyObject *positional = NULL, *named = NULL;

    if (prepare != NULL) {
        lp_heap_quiet();
        pair = PyObject_Call(prepare, *args, *keywords);
        lp_heap_audible();
    }
    if (pair == NULL && PyErr_Occurred() && !is_ours()) {
        return false;
    }
    if (pair != NULL && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2) {
        positional = PyTuple_GET_ITEM(pair, 0);
        named = PyTuple_GET_ITEM(pair, 1);
    }
    if (positional != NULL && PyTuple_Check(positional) &&
        PyDict_Check(named)) {
        *args = positional;
        *keywords = named;
    }
    Py_INCREF(*args);
    Py_XINCREF(*keywords);
    Py_XDECREF(pair);
    return true;
}

/* Tell `note` of the result of a call with these arguments.  False if its
 * exception is to propagate. */
static bool
tell(PyObject *note, PyObject *result, PyObject *args)
{
    PyObject *answer;

    if (note == NULL || note == Py_None) {
        return true;
    }
    lp_heap_quiet();
    answer = PyObject_CallFunctionObjArgs(note, result, args, NULL);
    lp_heap_audible();
    Py_XDECREF(answer);
    return answer != NULL || is_ours();
}

/* `self` is a module, as that of each built-in function, with the three. */
static PyObject *
call(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *plain = PyObject_GetAttrString(self, PLAIN);
    PyObject *prepare =
        plain == NULL ? NULL : PyObject_GetAttrString(self, PREPARE);
    PyObject *note =
        prepare == NULL ? NULL : PyObject_GetAttrString(self, NOTE);
    PyObject *result = NULL;

    if (plain != NULL && prepared_arguments(prepare, &args, &keywords)) {
        result = PyObject_Call(plain, args, keywords);
        if (result != NULL && !tell(note, result, args)) {
            Py_CLEAR(result);
        }
        Py_DECREF(args);
        Py_XDECREF(keywords);
    }
    Py_XDECREF(note);
    Py_XDECREF(prepare);
    Py_XDECREF(plain);
    return result;
}

static void
free_def(PyObject *capsule)
{
    free(PyCapsule_GetPointer(capsule, DEF));
}

/* A new capsule with the definition of a function that shows the name, the
 * documentation and the signature of `plain`, which owns their texts. */
static PyObject *
new_def(PyObject *plain)
{
    PyMethodDef *def = malloc(sizeof *def);
    PyObject *capsule;

    if (def == NULL) {
        return PyErr_NoMemory();
    }
    *def = (PyMethodDef){
        .ml_name = "function",
        .ml_meth = (PyCFunction)(void (*)(void))call,
        .ml_flags = METH_VARARGS | METH_KEYWORDS,
    };
    if (PyCFunction_Check(plain)) {
        const PyMethodDef *shown = ((PyCFunctionObject *)plain)->m_ml;

        def->ml_name = shown->ml_name;
        def->ml_doc = shown->ml_doc;
    }
    capsule = PyCapsule_New(def, DEF, free_def);
    if (capsule == NULL) {
        free(def);
    }
    return capsule;
}

PyObject *
lp_prepared_call(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *plain, *prepare, *note = Py_None; /* borrowed */
    PyObject *home = NULL, *self = NULL, *def = NULL, *function = NULL;

    if (!PyArg_ParseTuple(args, "OO|O", &plain, &prepare, &note)) {
        return NULL;
    }
    home = PyObject_GetAttrString(plain, "__module__");
    self = PyModule_New("posix");
    def = new_def(plain);
    if (home == NULL || self == NULL || def == NULL ||
        PyModule_AddObjectRef(self, PLAIN, plain) < 0 ||
        PyModule_AddObjectRef(self, PREPARE, prepare) < 0 ||
        PyModule_AddObjectRef(self, NOTE, note) < 0 ||
        PyModule_AddObjectRef(self, DEF, def) < 0) {
        goto done;
    }
    function = PyCFunction_NewEx(PyCapsule_GetPointer(def, DEF), self, home);
done:
    Py_XDECREF(def);
    Py_XDECREF(self);
    Py_XDECREF(home);
    return function;
}
