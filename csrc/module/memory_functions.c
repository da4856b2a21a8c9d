#include "module/memory_functions.h"

#include <stdio.h>

#include "engine/engine.h"
#include "engine/tracer.h"
#include "hooks/python_allocators.h"
#include "memory/curve.h"
#include "memory/heap.h"
#include "memory/heap_session.h"
#include "memory/malloc_hooks.h"
#include "memory/pages.h"
#include "module/lists.h"

typedef unsigned long long ull;

static bool is_native;   /* extension modules' blocks are counted */
static long long sample; /* as given to memory_start() */
static bool was_started; /* there are numbers */

/* Return why memory cannot be measured now; NULL if it can. */
static const char *
reason(void)
{
#ifndef __linux__
    return "memory is measured on Linux only";
#else
    if (lp_the_engine.clock.name == NULL) {
        return "no tracer has started the clock yet";
    }
    if (lp_heap_is_on()) {
        return "another profiler of this process measures memory";
    }
    return NULL;
#endif
}

/* memory_start(sample, native) */
static PyObject *
memory_start(PyObject *Py_UNUSED(module), PyObject *args)
{
    lp_call_paths *paths;
    const char *why;
    long long interval;
    int native;

    if (!PyArg_ParseTuple(args, "Lp:memory_start", &interval, &native)) {
        return NULL;
    }
    why = reason();
    if (why != NULL) {
        PyErr_SetString(PyExc_RuntimeError, why);
        return NULL;
    }
    lp_tracer_free_retired();
    paths = lp_call_paths_of_process();
    if (paths == NULL ||
        !lp_heap_start(paths, &lp_the_engine.clock,
                       interval > 0 ? (uint64_t)interval : 0)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "there is no memory for the tables of live blocks; "
                        "ulimit -v and -d have to leave 512 MiB");
        return NULL;
    }
    was_started = true;
    sample = interval;
    lp_python_allocators_on();
    is_native = native && lp_malloc_hooks_on();
    lp_heap_note_native(is_native);
    Py_RETURN_NONE;
}

static PyObject *
memory_stop(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (lp_heap_is_on()) {
        lp_malloc_hooks_off();
        lp_heap_stop();
        lp_python_allocators_off();
    }
    Py_RETURN_NONE;
}

static void
add_sum(lp_heap_sum *to, lp_heap_sum sum)
{
    to->allocs += sum.allocs;
    to->alloc_bytes += sum.alloc_bytes;
    to->freed_bytes += sum.freed_bytes;
    to->temp_bytes += sum.temp_bytes;
    to->peak_bytes += sum.peak_bytes;
}

/* True if no line is open on the path: there is one for each thread. */
static bool
is_outside(uint32_t path)
{
    const lp_call_paths *paths = lp_call_paths_of_process();

    return lp_call_paths_at(paths, path)->serial == 0;
}

static int
append_sum(PyObject *list, uint32_t path, lp_heap_sum sum)
{
    if (sum.allocs == 0 && sum.freed_bytes == 0 && sum.peak_bytes == 0) {
        return 0;
    }
    return lp_append(list,
                     Py_BuildValue("(IKKKKK)", path, (ull)sum.allocs,
                                   (ull)sum.alloc_bytes, (ull)sum.freed_bytes,
                                   (ull)sum.temp_bytes, (ull)sum.peak_bytes));
}

/* Return the numbers of the paths that have any; those outside of lines are
 * one, LP_NO_PATH.  `total` becomes their sum. */
static PyObject *
make_sums(uint32_t n, lp_heap_sum *total)
{
    PyObject *list = PyList_New(0);
    lp_heap_sum outside = {0};

    for (uint32_t i = 0; list != NULL && i < n; i++) {
        lp_heap_sum sum = lp_heap_sum_of(i);

        add_sum(total, sum);
        if (is_outside(i)) {
            add_sum(&outside, sum);
        }
        else if (append_sum(list, i, sum) < 0) {
            Py_CLEAR(list);
        }
    }
    if (list != NULL && append_sum(list, LP_NO_PATH, outside) < 0) {
        Py_CLEAR(list);
    }
    return list;
}

static PyObject *
make_moment(const lp_moment *moment, uint64_t scale)
{
    PyObject *paths = PyList_New(0);
    uint64_t outside = 0;

    for (uint32_t i = 0; paths != NULL && i < moment->n; i++) {
        if (is_outside(moment->paths[i])) {
            outside += moment->bytes[i];
        }
        else if (lp_append(paths, Py_BuildValue("(IK)", moment->paths[i],
                                                (ull)moment->bytes[i])) < 0) {
            Py_CLEAR(paths);
        }
    }
    if (paths != NULL && outside != 0 &&
        lp_append(paths, Py_BuildValue("(IK)", (unsigned int)LP_NO_PATH,
                                       (ull)outside)) < 0) {
        Py_CLEAR(paths);
    }
    return Py_BuildValue(
        "(KKN)", (ull)lp_clock_to_ns(&lp_the_engine.clock, moment->at, scale),
        (ull)moment->live, paths);
}

static PyObject *
make_curve(uint64_t scale)
{
    size_t bytes = LP_MOMENTS * sizeof(lp_moment);
    lp_moment *moments = lp_pages_map(bytes), now;
    PyObject *list = moments == NULL ? PyErr_NoMemory() : PyList_New(0);
    uint32_t n = moments == NULL ? 0 : lp_curve_copy(moments);

    for (uint32_t i = 0; list != NULL && i < n; i++) {
        if (lp_append(list, make_moment(&moments[i], scale)) < 0) {
            Py_CLEAR(list);
        }
    }
    if (list != NULL && n < LP_MOMENTS) {
        lp_moment_take(&now, lp_heap_until());
        if (lp_append(list, make_moment(&now, scale)) < 0) {
            Py_CLEAR(list);
        }
    }
    if (moments != NULL) {
        lp_pages_unmap(moments, bytes);
    }
    return list;
}

/* Sentences on what could not be measured. */
static PyObject *
make_notes(void)
{
    PyObject *list = PyList_New(0);
    const char *note = lp_python_allocators_note();
    uint32_t lost = lp_call_paths_of_process()->lost;

    if (list != NULL && note != NULL &&
        lp_append(list, PyUnicode_FromString(note)) < 0) {
        Py_CLEAR(list);
    }
    for (size_t i = 0;
         list != NULL && (note = lp_malloc_hooks_note(i)) != NULL; i++) {
        if (lp_append(list, PyUnicode_FromString(note)) < 0) {
            Py_CLEAR(list);
        }
    }
    if (list != NULL && lost != 0 &&
        lp_append(list, PyUnicode_FromString(
                            "there was no room for all call paths: the memory "
                            "of some is on the lines that called them")) < 0) {
        Py_CLEAR(list);
    }
    return list;
}

static PyObject *
snapshot(void)
{
    lp_heap_sum total = {0};
    uint32_t n = lp_heap_paths();
    uint64_t scale = lp_clock_scale(&lp_the_engine.clock);
    PyObject *sums;

    lp_heap_settle();
    sums = make_sums(n, &total);
    return Py_BuildValue(
        "{sNsNsKsKsKsNsKsKsLsNsN}", "paths",
        lp_path_list(lp_call_paths_of_process(), n), "sums", sums,
        "peak_bytes", (ull)total.peak_bytes, "peak_ns",
        (ull)(lp_heap_peak_at() == 0
                  ? 0
                  : lp_clock_to_ns(&lp_the_engine.clock, lp_heap_peak_at(),
                                   scale)),
        "live_bytes", (ull)(total.alloc_bytes - total.freed_bytes), "curve",
        make_curve(scale), "side_bytes", (ull)lp_heap_side_bytes(), "lost",
        (ull)lp_heap_lost(), "sample", sample, "native",
        PyBool_FromLong(is_native), "notes", make_notes());
}

/* memory_snapshot() -> all numbers, see _core.pyi; None if there are none. */
static PyObject *
memory_snapshot(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *result;

    if (!was_started) {
        Py_RETURN_NONE;
    }
    lp_heap_quiet();
    result = snapshot();
    lp_heap_audible();
    return result;
}

/* memory_quiet(on): from True to False, blocks that this thread allocates are
 * lineprof's own.  Nests. */
static PyObject *
memory_quiet(PyObject *Py_UNUSED(module), PyObject *on)
{
    if (on == Py_True) {
        lp_heap_quiet();
    }
    else {
        lp_heap_audible();
    }
    Py_RETURN_NONE;
}

PyMethodDef lp_memory_functions[] = {
    {"memory_start", memory_start, METH_VARARGS, NULL},
    {"memory_quiet", memory_quiet, METH_O, NULL},
    {"memory_stop", memory_stop, METH_NOARGS, NULL},
    {"memory_snapshot", memory_snapshot, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
