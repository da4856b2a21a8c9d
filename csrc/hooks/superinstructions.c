/* Superinstructions: `LOAD_FAST a; LOAD_FAST b` as one instruction, for
 * example, which does the work of the next one too and skips it.
 *
 * Python 3.12 replaces the first of such two instructions when it creates a
 * code object (_PyCode_Quicken in Python/specialize.c has the same pairs).  As
 * soon as any tool has an event of sys.monitoring in that code, it puts the
 * plain instruction back, and leaves it there when the event has gone: loops
 * over local variables then take some 4 % longer for as long as the process
 * lives.
 */
#include "hooks/superinstructions.h"

#if LP_EVENTS_UNDO_SUPERINSTRUCTIONS

#  include <opcode.h>

enum { TURN = 1000 }; /* code objects, which take some 2 ms */

/* Return the superinstruction for two instructions, 0 if there is none. */
static unsigned char
joined(unsigned char first, unsigned char second)
{
    switch (first << 8 | second) {
    case LOAD_CONST << 8 | LOAD_FAST:
        return LOAD_CONST__LOAD_FAST;
    case LOAD_FAST << 8 | LOAD_CONST:
        return LOAD_FAST__LOAD_CONST;
    case LOAD_FAST << 8 | LOAD_FAST:
        return LOAD_FAST__LOAD_FAST;
    case STORE_FAST << 8 | LOAD_FAST:
        return STORE_FAST__LOAD_FAST;
    case STORE_FAST << 8 | STORE_FAST:
        return STORE_FAST__STORE_FAST;
    default:
        return 0;
    }
}

/* Join the instructions of a code object again, but those with events. */
static void
join(PyCodeObject *code)
{
    /* The instructions as they were compiled; in place of caches are zeros. */
    PyObject *compiled = PyCode_GetCode(code);

    if (compiled == NULL) {
        PyErr_Clear();
        return;
    }
    const unsigned char *plain = (unsigned char *)PyBytes_AS_STRING(compiled);
    unsigned char *present = (unsigned char *)code->co_code_adaptive;

    for (Py_ssize_t i = 2; i < PyBytes_GET_SIZE(compiled); i += 2) {
        unsigned char one = joined(plain[i - 2], plain[i]);

        /* An instruction with an event differs from the compiled one. */
        if (one != 0 && present[i - 2] == plain[i - 2] &&
            present[i] == plain[i]) {
            present[i - 2] = one;
        }
    }
    Py_DECREF(compiled);
}

static PyObject *noted; /* owned: weak references by address; NULL: none */

void
lp_superinstructions_note(PyObject *code)
{
    PyObject *address =
        PyLong_FromVoidPtr(code); /* code compares by content */
    PyObject *reference = PyWeakref_NewRef(code, NULL);

    if (noted == NULL) {
        noted = PyDict_New();
    }
    if (address == NULL || reference == NULL || noted == NULL ||
        PyDict_SetItem(noted, address, reference) < 0) {
        PyErr_Clear(); /* that code stays a little slower */
    }
    Py_XDECREF(address);
    Py_XDECREF(reference);
}

void
lp_superinstructions_restore(int (*reset)(PyObject *code))
{
    PyObject *references = noted, *address, *reference;
    Py_ssize_t place = 0, done = 0;

    noted = NULL;
    while (references != NULL && !_Py_IsFinalizing() &&
           PyDict_Next(references, &place, &address, &reference)) {
        PyObject *code = PyWeakref_GetObject(reference);

        if (PyCode_Check(code)) { /* else it has gone */
            Py_INCREF(code);
            if (reset(code) == 0) {
                join((PyCodeObject *)code);
            }
            PyErr_Clear();
            Py_DECREF(code);
        }
        if (++done % TURN == 0) { /* no thread waits for long */
            Py_BEGIN_ALLOW_THREADS
            Py_END_ALLOW_THREADS
        }
    }
    Py_XDECREF(references);
}

#endif
