#include "lp_mute.h"

/* The frame that the tracer is seeing, or NULL. */
static _Thread_local PyFrameObject *seen;

/* The frame as we count it, or NULL. */
static lp_frame *
find(const lp_recorder *rec, const PyFrameObject *frame)
{
    lp_frame *counted = rec->top;

    while (counted > rec->frames && counted->key != frame) {
        counted--;
    }
    return counted > rec->frames ? counted : NULL;
}

static bool
wants_lines(PyFrameObject *frame)
{
    PyObject *wants =
        PyObject_GetAttrString((PyObject *)frame, "f_trace_lines");
    bool yes = wants != Py_False;

    if (wants == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(wants);
    return yes;
}

static void
set_lines(PyFrameObject *frame, bool on)
{
    if (PyObject_SetAttrString((PyObject *)frame, "f_trace_lines",
                               on ? Py_True : Py_False) < 0) {
        PyErr_Clear();
    }
}

bool
lp_mute_is_on(const lp_recorder *rec, const PyFrameObject *frame)
{
    const lp_frame *counted = find(rec, frame);

    return counted != NULL && (counted->flags & LP_FRAME_MUTE);
}

void
lp_mute_show(const lp_recorder *rec, PyFrameObject *frame)
{
    seen = frame;
    if (lp_mute_is_on(rec, frame)) {
        set_lines(frame, false);
    }
}

/* The frame has the attribute as the tracer wants it. */
static void
update(const lp_recorder *rec, PyFrameObject *frame)
{
    lp_frame *counted = find(rec, frame);
    PyObject *type, *value, *traceback;

    if (counted == NULL) {
        return;
    }
    PyErr_Fetch(&type, &value, &traceback); /* the tracer may have failed */
    if (wants_lines(frame)) {
        counted->flags &= ~(uint32_t)LP_FRAME_MUTE;
    }
    else {
        set_lines(frame, true);
        counted->flags |= LP_FRAME_MUTE;
    }
    PyErr_Restore(type, value, traceback);
}

void
lp_mute_update(const lp_recorder *rec, PyFrameObject *frame, bool left)
{
    seen = NULL;
    if (!left) {
        update(rec, frame);
    }
}

void
lp_mute_leave(const lp_recorder *rec)
{
    if (seen != NULL) {
        update(rec, seen);
    }
}
