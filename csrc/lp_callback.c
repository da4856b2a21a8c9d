#include "lp_callback.h"

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

PyObject *
lp_callback_new(vectorcallfunc call)
{
    static PyTypeObject *type; /* owned, for good */
    callback *made = NULL;

    if (type == NULL) {
        type = (PyTypeObject *)PyType_FromSpec(&callback_spec);
    }
    if (type != NULL) {
        made = PyObject_New(callback, type);
    }
    if (made != NULL) {
        made->call = call;
    }
    return (PyObject *)made;
}

#endif
