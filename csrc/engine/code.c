#include "engine/code.h"

#include <stdlib.h>

#include "memory/heap.h"

/* Code-extra indices of lineprof, of the first lp_code and of the lp_mark:
 * requested once per process, because the interpreter never takes them back.
 */
static Py_ssize_t extra_index = -1;
static Py_ssize_t mark_index = -1;

static lp_mark *marks; /* those of all code objects that have one */
static bool keeps_all; /* see lp_code_keep_all() */

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

/* The interpreter frees the code object. */
static void
free_mark(void *extra)
{
    lp_mark *mark = extra;

    if (mark == NULL) {
        return;
    }
    *mark->link = mark->next;
    if (mark->next != NULL) {
        mark->next->link = mark->link;
    }
    free(mark);
}

int
lp_code_open(void)
{
    if (extra_index < 0) {
        extra_index = lp_code_extra_request(retire);
    }
    if (mark_index < 0) {
        mark_index = lp_code_extra_request(free_mark);
    }
    if (extra_index < 0 || mark_index < 0) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the interpreter has no room left for a word on its "
                        "code objects");
        return -1;
    }
    return 0;
}

lp_mark *
lp_code_mark(PyObject *code)
{
    return lp_code_extra_get(code, mark_index);
}

lp_mark *
lp_code_add_mark(PyObject *code)
{
    lp_mark *mark = lp_code_mark(code);

    if (mark != NULL) {
        return mark;
    }
    mark = calloc(1, sizeof(*mark));
    if (mark == NULL || lp_code_extra_set(code, mark_index, mark) < 0) {
        free(mark);
        PyErr_NoMemory();
        return NULL;
    }
    mark->code = code;
    mark->next = marks;
    mark->link = &marks;
    if (marks != NULL) {
        marks->link = &mark->next;
    }
    marks = mark;
    if (keeps_all) {
        Py_INCREF(code);
    }
    return mark;
}

void
lp_code_keep_all(void)
{
    for (lp_mark *mark = marks; mark != NULL && !keeps_all;
         mark = mark->next) {
        Py_INCREF(mark->code);
    }
    keeps_all = true;
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
        if (lp_code_add_mark(code) == NULL ||
            lp_code_extra_set(code, extra_index, self) < 0) {
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

void
lp_code_forget_events(PyObject *code)
{
    void *blocks[LP_EVENT_BLOCKS];

    lp_event_blocks(code, blocks);
    for (int i = 0; i < LP_EVENT_BLOCKS; i++) {
        lp_heap_forget(blocks[i]);
    }
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
    free(self->starts);
    free(self->labels);
    free(self);
}

/* Comprehensions with a code object of their own are not folded. */
static bool
has_no_statements(PyObject *name)
{
    static const char *const names[] = {"<genexpr>", "<listcomp>", "<setcomp>",
                                        "<dictcomp>", NULL};

    for (const char *const *at = names; *at != NULL; at++) {
        if (PyUnicode_CompareWithASCIIString(name, *at) == 0) {
            return true;
        }
    }
    return false;
}

enum {
    AWAITS = CO_COROUTINE | CO_ASYNC_GENERATOR,
    IN_STEPS = CO_GENERATOR | AWAITS
};

lp_tables_result
lp_code_read(lp_code_tables *tables, PyObject *code, const lp_line_span *spans,
             size_t n_spans, const lp_opcodes *opcodes,
             const lp_line_events *events)
{
    PyCodeObject *object = (PyCodeObject *)code;
    PyObject *raw = PyCode_GetCode(object); /* new */
    PyObject *lines = object->co_linetable;
    PyObject *handlers = object->co_exceptiontable;
    lp_tables_result result;
    lp_code_source source = {
        .first_line = object->co_firstlineno,
        .in_steps = (object->co_flags & IN_STEPS) != 0,
        .spans = spans,
        .n_spans = has_no_statements(object->co_name) ? 0 : n_spans,
    };

    *tables = (lp_code_tables){0};
    if (raw == NULL) {
        PyErr_Clear();
        return LP_TABLES_NO_MEMORY;
    }
    source.code = (const uint8_t *)PyBytes_AS_STRING(raw);
    source.n_code = (size_t)PyBytes_GET_SIZE(raw);
    source.lines = (const uint8_t *)PyBytes_AS_STRING(lines);
    source.n_lines = (size_t)PyBytes_GET_SIZE(lines);
    source.handlers = (const uint8_t *)PyBytes_AS_STRING(handlers);
    source.n_handlers = (size_t)PyBytes_GET_SIZE(handlers);
    if (PyUnicode_CompareWithASCIIString(object->co_name, "<lambda>") == 0) {
        source.kind = LP_STATEMENT_IS_ALL;
    }
    result = lp_code_tables_build(tables, &source, opcodes, events);
    Py_DECREF(raw);
    return result;
}

void
lp_code_take_tables(lp_code *self, PyObject *code, lp_code_tables *tables)
{
    int flags = ((PyCodeObject *)code)->co_flags;
    lp_layout *layout = &self->layout;

    layout->first_line = tables->first_line;
    layout->n_lines = tables->n_lines;
    layout->awaits = (flags & AWAITS) != 0;
    layout->by_instruction = tables->by_instruction;
    layout->statements = tables->statements;
    layout->instructions = tables->instructions;
    layout->specialized = tables->specialized;
    layout->high = tables->high;
    layout->has_code = tables->has_code;
    self->start = tables->start;
    self->n_marks = tables->n_instructions;
    self->marks = tables->marks;
    self->resumes = tables->resumes;
    self->starts = tables->starts;
    self->flags |=
        (flags & IN_STEPS ? LP_CODE_GENERATOR : 0u) |
        (tables->has_comprehension ? LP_CODE_HAS_COMPREHENSION : 0u) |
        (tables->is_far ? LP_CODE_IS_FAR : 0u) |
        (tables->by_instruction ? LP_CODE_BY_INSTRUCTION : 0u) |
        (tables->has_hidden_starts ? LP_CODE_HAS_HIDDEN_STARTS : 0u) |
        ((flags & CO_COROUTINE) && layout->instructions != NULL
             ? LP_CODE_AWAITED_SLOWLY
             : 0u) |
        (tables->has_start_of_call ? LP_CODE_CALLED_BY_INSTRUCTION : 0u);
    *tables = (lp_code_tables){0};
}

void
lp_code_use_line_events(lp_code *first)
{
    uint32_t bits = LP_CODE_BY_INSTRUCTION | LP_CODE_CALLED_BY_INSTRUCTION;

    /* (Open frames still refer to its starts.) */
    for (lp_code *self = first; self != NULL; self = self->next) {
        self->layout.by_instruction = false;
        self->flags &= ~bits;
        if (self->flags & LP_CODE_HAS_HIDDEN_STARTS) {
            lp_keep_hidden_starts(self->starts, self->n_marks);
        }
    }
}

void
lp_code_miss_hidden_starts(lp_code *first)
{
    for (lp_code *self = first; self != NULL; self = self->next) {
        self->flags &= ~(uint32_t)LP_CODE_HAS_HIDDEN_STARTS;
    }
}

void
lp_code_use_start_events(lp_code *first)
{
    for (lp_code *self = first; self != NULL; self = self->next) {
        self->flags &= ~(uint32_t)LP_CODE_CALLED_BY_INSTRUCTION;
    }
}

void
lp_code_take_bytecode(lp_code *self, lp_code *other)
{
    uint32_t bits = LP_CODE_BY_INSTRUCTION | LP_CODE_CALLED_BY_INSTRUCTION |
                    LP_CODE_IS_FAR | LP_CODE_HAS_HIDDEN_STARTS;

    free(self->marks);
    free(self->resumes);
    free(self->starts);
    free(self->layout.high);
    self->start = other->start;
    self->n_marks = other->n_marks;
    self->marks = other->marks;
    self->resumes = other->resumes;
    self->starts = other->starts;
    self->layout.high = other->layout.high;
    self->layout.by_instruction = other->layout.by_instruction;
    self->flags = (self->flags & ~bits) | (other->flags & bits);
    other->marks = other->layout.high = NULL;
    other->resumes = other->starts = NULL;
    if (self->layout.first_line != other->layout.first_line ||
        self->layout.n_lines != other->layout.n_lines) {
        /* The starts are of other lines. */
        self->flags &= ~(uint32_t)LP_CODE_HAS_HIDDEN_STARTS;
        lp_code_use_line_events(self);
    }
}
