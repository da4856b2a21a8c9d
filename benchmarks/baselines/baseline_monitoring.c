/* Baseline for sys.monitoring, its cheapest callback: an object of its own
 * type whose vectorcall slot returns None.  (A builtin function takes up to 3
 * ns more.) */

#include <Python.h>
#include <stddef.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
} callback;

static PyObject *
do_nothing(PyObject *Py_UNUSED(self), PyObject *const *Py_UNUSED(args),
           size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
    Py_RETURN_NONE;
}

static PyObject *
callback_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
             PyObject *Py_UNUSED(kwargs))
{
    callback *self = (callback *)type->tp_alloc(type, 0);

    if (self != NULL) {
        self->vectorcall = do_nothing;
    }
    return (PyObject *)self;
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(callback, vectorcall),
     READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, callback_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "baseline_monitoring.Callback",
    .basicsize = sizeof(callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = slots,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "baseline_monitoring",
    .m_size = 0,
};

PyMODINIT_FUNC PyInit_baseline_monitoring(void);

PyMODINIT_FUNC
PyInit_baseline_monitoring(void)
{
    PyObject *self = PyModule_Create(&module);
    PyObject *type = self == NULL ? NULL : PyType_FromSpec(&spec);

    if (type == NULL || PyModule_AddObject(self, "Callback", type) < 0) {
        Py_XDECREF(type);
        Py_XDECREF(self);
        return NULL;
    }
    return self;
}
