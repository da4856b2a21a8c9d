#include "engine/tracer.h"

#include <stdlib.h>

#include "engine/c_functions.h"
#include "engine/engine.h"
#include "engine/live_log.h"
#include "memory/heap_session.h"
#include "record/calls.h"
#include "record/greenlet_stacks.h"
#include "record/off_cpu_sampler.h"

void
lp_tracer_start(lp_tracer *self)
{
    if (self->active || !self->open) {
        return;
    }
    if (LP_UNLIKELY(lp_sampler_is_wanted())) {
        lp_engine_begin_sampler(); /* before a line is open */
    }
    self->active = true;
    self->stopped = false;
    lp_engine_activate();
}

/* Frames of a tracer: those of a code object, or all if `code` is NULL. */
typedef struct dropped {
    lp_tracer *tracer;
    const PyObject *code;
} dropped;

static void
drop_in_stack(lp_recorder *rec, lp_ticks now, void *arg)
{
    const dropped *what = arg;
    lp_tracer *self = what->tracer;
    const lp_frame *top = rec->top;

    self->count -=
        (Py_ssize_t)lp_recorder_drop_code(rec, self, what->code, now);
    self->open_frames -= (uint32_t)(top - rec->top);
}

/* Leave the tracer's open frames of a code object, or of all if `code` is
 * NULL, in every thread. */
static void
drop_frames(lp_tracer *self, const PyObject *code)
{
    dropped what = {self, code};

    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        bool ranged = lp_ranges_any(rec);

        if (ranged) {
            lp_ranges_remove_owner(rec, self);
        }
        drop_in_stack(rec, lp_clock_now(&rec->clock), &what);
        lp_stacks_visit(rec, drop_in_stack, &what);
        if (ranged) {
            lp_engine_sync_ranges(rec);
        }
    }
}

void
lp_tracer_ignore(lp_tracer *self, lp_code *code)
{
    PyObject *object = code->code;
    Py_ssize_t count = self->count;
    const lp_code *other;

    if (object == NULL || (code->flags & LP_CODE_IGNORED)) {
        return;
    }
    code->flags |= LP_CODE_IGNORED;
    if (self->open_frames != 0) {
        drop_frames(self, object);
    }
    if (code->flags & LP_CODE_ACTIVATES_TRACER) {
        code->flags &= ~(uint32_t)LP_CODE_ACTIVATES_TRACER;
        lp_engine_deactivate();
    }
    if (count > 0 && self->count <= 0) {
        lp_tracer_stop(self); /* only these calls had enabled it */
    }
    other = lp_code_of(object);
    while (other != NULL && (other->flags & LP_CODE_IGNORED)) {
        other = other->next;
    }
    if (other == NULL) {
        lp_the_engine.hook->unwatch(object, code->flags);
    }
}

static void
drop_lines_in_stack(lp_recorder *rec, lp_ticks now, void *arg)
{
    const dropped *what = arg;

    lp_recorder_drop_lines(rec, what->tracer, what->code, now);
}

bool
lp_tracer_count_calls(lp_tracer *self, lp_code *code)
{
    PyObject *object = code->code;
    dropped what = {self, object};

    if (object == NULL || !lp_the_engine.hook->has_calls_only ||
        lp_code_of(object) != code || code->next != NULL ||
        (code->flags & (LP_CODE_IGNORED | LP_CODE_CALLS_ONLY))) {
        return false;
    }
    code->flags |= LP_CODE_CALLS_ONLY;
    code->layout.calls_only = true;
    lp_code_use_line_events(code);
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        uint32_t id = code->layout.code_id;

        drop_lines_in_stack(rec, lp_clock_now(&rec->clock), &what);
        lp_stacks_visit(rec, drop_lines_in_stack, &what);
        if (id < rec->n_counters && rec->counters[id] != NULL) {
            lp_line_has_no_events(&rec->counters[id]->lines[0]);
        }
    }
    if (lp_the_engine.hook->watch(object) < 0) {
        PyErr_Clear();
    }
    return true;
}

void
lp_tracer_stop(lp_tracer *self)
{
    if (!self->active) {
        return;
    }
    self->active = false;
    if (self->open_frames != 0) {
        drop_frames(self, NULL);
    }
    lp_engine_deactivate();
}

/* Return the first code of this key, or NULL, with an exception if that is an
 * error. */
static lp_code *
find_canonical(const lp_tracer *self, PyObject *key)
{
    PyObject *place = PyDict_GetItemWithError(self->canonical_index, key);

    return place == NULL ? NULL : self->codes[PyLong_AsSize_t(place)];
}

static bool
reserve(lp_tracer *self)
{
    uint32_t capacity = self->capacity == 0 ? 16 : self->capacity * 2;
    lp_code **codes;

    if (self->n_codes < self->capacity) {
        return true;
    }
    codes = realloc(self->codes, capacity * sizeof(lp_code *));
    if (codes == NULL) {
        PyErr_NoMemory();
        return false;
    }
    self->codes = codes;
    self->capacity = capacity;
    return true;
}

/* Make the code that is about to be appended the canonical code of its key. */
static bool
make_canonical(lp_tracer *self, PyObject *key)
{
    PyObject *place = PyLong_FromSize_t(self->n_codes);
    bool done = place != NULL &&
                PyDict_SetItem(self->canonical_index, key, place) == 0;

    Py_XDECREF(place);
    return done;
}

static bool
append(lp_tracer *self, PyObject *key, lp_code *code, lp_code *canonical)
{
    if (!reserve(self) || PyList_Append(self->keys, key) < 0) {
        return false;
    }
    if (!lp_engine_add_code(code) ||
        (canonical == NULL && !make_canonical(self, key))) {
        PyList_SetSlice(self->keys, (Py_ssize_t)self->n_codes,
                        PyList_GET_SIZE(self->keys), NULL);
        return false;
    }
    lp_live_log_code(self, code, key);
    code->canonical = canonical == NULL ? code : canonical;
    self->codes[self->n_codes++] = code;
    return true;
}

void
lp_tracer_activate_with(lp_code *code)
{
    if (!(code->flags & LP_CODE_ACTIVATES_TRACER)) {
        code->flags |= LP_CODE_ACTIVATES_TRACER;
        /* The hook has to deliver events of such code also while no tracer is
         * active. */
        lp_engine_activate();
    }
}

int
lp_tracer_add(lp_tracer *self, PyObject *code, PyObject *key, lp_code *known)
{
    lp_code *canonical = find_canonical(self, key);
    lp_code *entry = canonical == NULL ? NULL : lp_code_take_free(canonical);
    bool enables = known->flags & LP_CODE_ACTIVATES_TRACER;

    known->flags &= ~(uint32_t)LP_CODE_ACTIVATES_TRACER;
    if (entry != NULL) {
        lp_code_take_bytecode(entry, known);
        lp_code_free(known);
    }
    else {
        entry = known;
        if (PyErr_Occurred() || !append(self, key, entry, canonical)) {
            lp_code_free(entry);
            return -1;
        }
    }
    if (lp_code_attach(entry, code) < 0) {
        return -1;
    }
    if (entry->next != NULL || lp_code_of(code) != entry) {
        /* The new tracer wants lines. */
        lp_code_of(code)->flags &= ~(uint32_t)LP_CODE_CALLS_ONLY;
        lp_code_of(code)->layout.calls_only = false;
    }
    if (enables) { /* before another thread calls it */
        lp_tracer_activate_with(entry);
    }
    return lp_the_engine.hook->watch(code);
}

void
lp_tracer_forget_slices(const lp_tracer *self)
{
    bool *forgotten = lp_the_trace_pool.used == 0
                          ? NULL
                          : calloc(lp_the_engine.n_serials + 1, sizeof(bool));

    if (forgotten == NULL) {
        return; /* no slices; or memory is out and they are kept */
    }
    for (uint32_t i = 0; i < self->n_codes; i++) {
        forgotten[self->codes[i]->layout.serial] = true;
    }
    lp_c_functions_mark(self, forgotten);
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        lp_trace_buffer_forget(&rec->slices, forgotten,
                               lp_the_engine.n_serials + 1);
    }
    free(forgotten);
}

static void
close_code(lp_code *code)
{
    PyObject *object = code->code;

    if (object != NULL) {
        lp_code_detach(code);
        if (lp_code_of(object) == NULL) {
            lp_the_engine.hook->unwatch(object, code->flags);
        }
    }
    if (code->flags & LP_CODE_ACTIVATES_TRACER) {
        lp_engine_deactivate();
    }
    lp_engine_drop_code(code);
    lp_code_free(code);
}

static lp_arena retired;

/* Keep the memory of an arena until lp_tracer_free_retired(). */
static void
retire(lp_arena *arena)
{
    lp_block **end = &retired.first;

    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = arena->first;
    lp_arena_init(arena, arena->kind, arena->is_live);
}

/* True if a thread may be in a hook of the heap that reads a line: up to a
 * second after the end. */
static bool
may_be_read(void)
{
    const lp_clock *clock = &lp_the_engine.clock;
    double ticks;

    if (!lp_heap_was_on() || lp_heap_is_on()) {
        return lp_heap_is_on();
    }
    ticks = (double)(lp_clock_now(clock) - lp_heap_until());
    return ticks * (double)lp_clock_scale(clock) / 4294967296.0 < 1e9;
}

void
lp_tracer_free_retired(void)
{
    lp_arena_free(&retired);
}

void
lp_tracer_close(lp_tracer *self)
{
    if (!self->open) {
        return;
    }
    lp_tracer_stop(self);
    lp_tracer_forget_slices(self);
    self->open = false;
    for (uint32_t i = 0; i < self->n_codes; i++) {
        close_code(self->codes[i]);
    }
    lp_c_functions_close(self);
    free(self->codes);
    self->codes = NULL;
    self->n_codes = self->capacity = 0;
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        lp_calls_drop(rec, self);
    }
    if (may_be_read()) {
        retire(&self->arena);
    }
    else {
        lp_tracer_free_retired();
        lp_arena_free(&self->arena);
    }
    lp_engine_release();
}

/* True if the frame above shares this one. */
static bool
is_below_shared(const lp_recorder *rec, const lp_frame *frame)
{
    return frame < rec->top && (frame[1].flags & LP_FRAME_SHARED);
}

/* True if the tracer counts this frame, or one below that it shares. */
static bool
is_counted(const lp_frame *frame, const lp_tracer *tracer)
{
    while (frame->owner != tracer && (frame->flags & LP_FRAME_SHARED)) {
        frame--;
    }
    return frame->owner == tracer;
}

static void
attach_frame(lp_recorder *rec, const lp_frame *frame, lp_tracer *tracer,
             const lp_code *code)
{
    lp_code_counters *counters =
        lp_recorder_counters(rec, &tracer->arena, &code->layout);
    lp_frame *shared = lp_recorder_insert(rec, frame, counters);

    if (shared != NULL) {
        shared->owner = tracer;
        lp_code_give_starts(code, shared);
        tracer->open_frames++;
    }
}

static void
attach_to_stack(lp_recorder *rec, lp_ticks Py_UNUSED(now), void *arg)
{
    lp_tracer *tracer = arg;

    /* By index, because the array of frames may be reallocated. */
    for (size_t i = 1; i <= (size_t)(rec->top - rec->frames); i++) {
        const lp_frame *frame = rec->frames + i;
        const lp_code *code;

        if (is_below_shared(rec, frame) || is_counted(frame, tracer) ||
            (frame->flags & LP_FRAME_C_FUNCTION)) {
            continue;
        }
        code = lp_code_find((PyObject *)(uintptr_t)frame->code, tracer);
        if (code != NULL) {
            attach_frame(rec, frame, tracer, code);
            i++; /* skip the shared frame */
        }
    }
}

void
lp_tracer_attach_running_frames(lp_tracer *tracer)
{
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        attach_to_stack(rec, 0, tracer);
        lp_stacks_visit(rec, attach_to_stack, tracer);
    }
}
