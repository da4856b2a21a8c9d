#include "lp_tracer.h"

#include <stdlib.h>

void
lp_tracer_start(lp_tracer *self)
{
    if (self->active || !self->open) {
        return;
    }
    self->active = true;
    self->stopped = false;
    lp_engine_listen();
}

/* Close our frames that still run, in every thread. */
static void
drop_frames(lp_tracer *self)
{
    for (lp_recorder *rec = lp_process.recorders; rec != NULL;
         rec = rec->next) {
        self->count -= (Py_ssize_t)lp_recorder_drop(
            rec, self, lp_clock_now(&rec->clock));
    }
    self->open_frames = 0;
}

void
lp_tracer_stop(lp_tracer *self)
{
    if (!self->active) {
        return;
    }
    self->active = false;
    if (self->open_frames != 0) {
        drop_frames(self);
    }
    lp_engine_hush();
}

/* The code object that had these counters died, and this is it again: a
 * function in a loop of exec, a cell that is run once more. */
static lp_code *
find_retired(lp_tracer *self, PyObject *key)
{
    PyObject *place = PyDict_GetItemWithError(self->places, key);
    lp_code *code;

    if (place == NULL) {
        return NULL;
    }
    code = self->codes[PyLong_AsSize_t(place)];
    return code->code == NULL ? code : NULL;
}

static int
append(lp_tracer *self, PyObject *key, lp_code *code)
{
    PyObject *place;
    int failed;

    if (self->n_codes == self->room) {
        uint32_t room = self->room == 0 ? 16 : self->room * 2;
        lp_code **codes = realloc(self->codes, room * sizeof(lp_code *));

        if (codes == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        self->codes = codes;
        self->room = room;
    }
    place = PyLong_FromSize_t(self->n_codes);
    if (place == NULL) {
        return -1;
    }
    failed = PyDict_SetItem(self->places, key, place);
    Py_DECREF(place);
    if (failed || PyList_Append(self->keys, key) < 0) {
        return -1;
    }
    if (!lp_engine_add_code(code)) {
        PyList_SetSlice(self->keys, (Py_ssize_t)self->n_codes,
                        PyList_GET_SIZE(self->keys), NULL);
        return -1;
    }
    self->codes[self->n_codes++] = code;
    return 0;
}

int
lp_tracer_add(lp_tracer *self, PyObject *code, PyObject *key, lp_code *known)
{
    lp_code *entry = find_retired(self, key);

    if (entry != NULL) {
        lp_code_free(known);
    }
    else if (PyErr_Occurred()) {
        lp_code_free(known);
        return -1;
    }
    else {
        entry = known;
        if (append(self, key, entry) < 0) {
            lp_code_free(entry);
            return -1;
        }
    }
    if (lp_code_attach(entry, code) < 0) {
        return -1;
    }
    return lp_process.hook->watch(code);
}

static void
close_code(lp_code *code)
{
    PyObject *object = code->code;

    if (object != NULL) {
        lp_code_detach(code);
        if (lp_code_of(object) == NULL) {
            lp_process.hook->unwatch(object);
        }
    }
    if (code->flags & LP_CODE_ENABLES) {
        lp_engine_hush();
    }
    lp_engine_drop_code(code);
    lp_code_free(code);
}

void
lp_tracer_close(lp_tracer *self)
{
    if (!self->open) {
        return;
    }
    lp_tracer_stop(self);
    self->open = false;
    for (uint32_t i = 0; i < self->n_codes; i++) {
        close_code(self->codes[i]);
    }
    free(self->codes);
    self->codes = NULL;
    self->n_codes = self->room = 0;
    lp_blocks_free(&self->blocks);
    if (--lp_process.tracers == 0) {
        lp_process.hook->close();
        lp_process.hook = NULL;
    }
}
