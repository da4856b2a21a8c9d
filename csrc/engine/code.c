#include "engine/code.h"

#include <stdlib.h>

/* Code-extra index of lineprof: requested once per process, because the
 * interpreter never takes it back. */
static Py_ssize_t extra_index = -1;

/* The interpreter frees the code object: keep the counters for the next code
 * object of the same key. */
static void
retire(void *extra)
{
    for (lp_code *self = extra; self != NULL;) {
        lp_code *next = self->next;

        self->code = NULL;
        self->next = NULL;
        if (self->canonical != NULL) {
            self->next_free = self->canonical->free_list;
            self->canonical->free_list = self;
        }
        self = next;
    }
}

lp_code *
lp_code_take_free(lp_code *canonical)
{
    lp_code *self = canonical->free_list;

    if (self != NULL) {
        canonical->free_list = self->next_free;
        self->next_free = NULL;
    }
    return self;
}

int
lp_code_open(void)
{
    if (extra_index < 0) {
        extra_index = lp_code_extra_request(retire);
    }
    if (extra_index < 0) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the interpreter has no room left for a word on its "
                        "code objects");
        return -1;
    }
    return 0;
}

lp_code *
lp_code_of(PyObject *code)
{
    return lp_code_extra_get(code, extra_index);
}

lp_code *
lp_code_find(PyObject *code, const struct lp_tracer *tracer)
{
    lp_code *self = lp_code_of(code);

    while (self != NULL && self->tracer != tracer) {
        self = self->next;
    }
    return self;
}

int
lp_code_attach(lp_code *self, PyObject *code)
{
    lp_code *first = lp_code_of(code);

    /* The interpreter calls retire() on the extra that this call replaces. */
    if (first == NULL) {
        if (lp_code_extra_set(code, extra_index, self) < 0) {
            return -1;
        }
    }
    else {
        self->next = first->next;
        first->next = self;
    }
    self->code = code;
    return 0;
}

void
lp_code_detach(lp_code *self)
{
    PyObject *code = self->code;
    lp_code *first;

    self->canonical = NULL; /* not for the free list */
    if (code == NULL) {
        return;
    }
    first = lp_code_of(code);
    if (first == self) {
        lp_code *rest = self->next;

        /* Some versions call retire() on the replaced extra, some do not. */
        self->next = NULL;
        lp_code_extra_set(code, extra_index, rest);
    }
    else {
        while (first->next != self) {
            first = first->next;
        }
        first->next = self->next;
    }
    self->code = NULL;
    self->next = NULL;
}

lp_code *
lp_code_new(struct lp_tracer *tracer)
{
    lp_code *self = calloc(1, sizeof(*self));

    if (self == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    self->tracer = tracer;
    return self;
}

void
lp_code_free(lp_code *self)
{
    if (self == NULL) {
        return;
    }
    lp_code_detach(self);
    lp_layout_clear(&self->layout);
    free(self->marks);
    free(self->resumes);
    free(self->labels);
    free(self);
}
