#include "module/live_functions.h"

#include <errno.h>
#include <string.h>

#include "arithmetic/call_times.h"
#include "engine/engine.h"
#include "memory/sites_reader.h"
#include "module/snapshot.h"
#include "record/live_file.h"
#include "record/live_reader.h"

/* -- writing ---------------------------------------------------------------
 */

static PyObject *
none_or_error(int error, PyObject *path)
{
    if (error == 0) {
        Py_RETURN_NONE;
    }
    errno = error;
    return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
}

static PyObject *
live_open(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *path, *result;
    const char *name;
    lp_clock clock;

    if (!PyArg_ParseTuple(args, "O&s:live_open", PyUnicode_FSConverter, &path,
                          &name)) {
        return NULL;
    }
    (void)lp_clock_open(&clock, name);
    result =
        none_or_error(lp_live_open(PyBytes_AS_STRING(path), &clock), path);
    Py_DECREF(path);
    return result;
}

static PyObject *
live_move(PyObject *Py_UNUSED(module), PyObject *name)
{
    PyObject *path, *result;
    int error;

    if (!PyUnicode_FSConverter(name, &path)) {
        return NULL;
    }
    error = lp_live_move(PyBytes_AS_STRING(path), &lp_the_engine.clock);
    if (error == 0) {
        lp_heap_outlive();
    }
    result = none_or_error(error, path);
    Py_DECREF(path);
    return result;
}

static PyObject *
live_note(PyObject *Py_UNUSED(module), PyObject *data)
{
    if (!PyBytes_Check(data)) {
        PyErr_SetString(PyExc_TypeError, "bytes are needed");
        return NULL;
    }
    lp_live_log(LP_LIVE_NOTE, 0, NULL, 0, PyBytes_AS_STRING(data),
                (size_t)PyBytes_GET_SIZE(data));
    Py_RETURN_NONE;
}

static PyObject *
live_is_complete(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(lp_live_is_complete());
}

static PyObject *
live_unwatch_signals(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    lp_live_unwatch_signals();
    Py_RETURN_NONE;
}

static PyObject *
live_close(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *reason;
    int is_removed;

    if (!PyArg_ParseTuple(args, "sp:live_close", &reason, &is_removed)) {
        return NULL;
    }
    lp_live_close(reason, is_removed != 0);
    Py_RETURN_NONE;
}

/* -- reading ---------------------------------------------------------------
 */

/* Put a new item into a list, which exists.  0, or -1 with an exception. */
static int
append_owned(PyObject *list, PyObject *item)
{
    int failed = item == NULL || PyList_Append(list, item) < 0;

    Py_XDECREF(item);
    return failed ? -1 : 0;
}

static PyObject *
header_of(const lp_live_copy *copy, lp_live_end end)
{
    const lp_live_header *header = copy->header;
    size_t reason = strnlen(header->reason, LP_LIVE_REASON);

    return Py_BuildValue(
        "{sKsKsKsKsKsIsIsIsOsKsKsIsN}", "pid", (unsigned long long)header->pid,
        "unix_ns", (unsigned long long)header->unix_ns, "mono_ns",
        (unsigned long long)header->mono_ns, "ticks",
        (unsigned long long)header->ticks, "scale",
        (unsigned long long)header->scale, "cost_one", header->cost_one,
        "signal", header->signal, "state", header->state, "incomplete",
        header->incomplete ? Py_True : Py_False, "last",
        (unsigned long long)end.last, "cost", (unsigned long long)end.cost,
        "threads", end.threads, "reason",
        PyUnicode_DecodeUTF8(header->reason, (Py_ssize_t)reason, "replace"));
}

/* Return a list by the number of a thread. */
static PyObject *
threads_of(const lp_live_copy *copy)
{
    const lp_recorder *rec = NULL;
    PyObject *list = PyList_New(0);

    while (list != NULL && (rec = lp_live_copy_recorder(copy, rec)) != NULL) {
        PyObject *item;

        while (rec->number < copy->n_threads &&
               PyList_GET_SIZE(list) <= (Py_ssize_t)rec->number) {
            if (PyList_Append(list, Py_None) < 0) {
                Py_DECREF(list);
                return NULL;
            }
        }
        item = Py_BuildValue(
            "(KN)", (unsigned long long)rec->native_id,
            PyUnicode_DecodeUTF8(
                rec->name, (Py_ssize_t)strnlen(rec->name, sizeof(rec->name)),
                "replace"));
        if (item == NULL || (rec->number < copy->n_threads &&
                             PyList_SetItem(list, (Py_ssize_t)rec->number,
                                            Py_NewRef(item)) < 0)) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}

/* Return (calls, total, total_cost, recursed, lines). */
static PyObject *
counts_of(lp_code_counters *counters, uint32_t first_line)
{
    PyObject *lines = lp_snapshot_lines(counters, first_line);

    return lines == NULL
               ? NULL
               : Py_BuildValue("(KKKiN)", (unsigned long long)counters->calls,
                               (unsigned long long)counters->total,
                               (unsigned long long)counters->total_cost,
                               counters->recursed != 0, lines);
}

/* Return the list of the counts of each code object, by serial. */
static PyObject *
all_counts(const lp_live_copy *copy)
{
    lp_code_counters *counters = NULL;
    PyObject *found = PyDict_New();
    uint32_t first_line;

    while (found != NULL &&
           (counters = lp_live_copy_counters(copy, counters)) != NULL) {
        PyObject *serial, *list;

        if (!lp_live_copy_first_line(copy, counters->serial, &first_line)) {
            continue;
        }
        serial = PyLong_FromUnsignedLong(counters->serial);
        list = serial == NULL ? NULL : PyDict_GetItemWithError(found, serial);
        if (serial != NULL && list == NULL && !PyErr_Occurred()) {
            list = PyList_New(0);
            if (list != NULL && PyDict_SetItem(found, serial, list) < 0) {
                Py_CLEAR(list);
            }
            Py_XDECREF(list); /* the dict has it */
        }
        if (list == NULL ||
            append_owned(list, counts_of(counters, first_line)) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(serial);
    }
    return found;
}

/* Return a text of the file; None if it is damaged. */
static PyObject *
decoded(const char *text, size_t bytes)
{
    PyObject *found =
        PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "surrogatepass");

    if (found == NULL && !PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
        found = Py_NewRef(Py_None);
    }
    return found;
}

/* Take the counts of a code object, whose serial no other has: a new reference
 * to a list. */
static PyObject *
counts_by_serial(PyObject *counts, uint32_t serial)
{
    PyObject *number = PyLong_FromUnsignedLong(serial), *list = NULL;

    if (number != NULL) {
        list = Py_XNewRef(PyDict_GetItemWithError(counts, number));
        if (list != NULL && PyDict_DelItem(counts, number) < 0) {
            Py_CLEAR(list);
        }
        Py_DECREF(number);
    }
    return list == NULL && !PyErr_Occurred() ? PyList_New(0) : list;
}

/* Return (tracer, serial, file, line, name, counts). */
static PyObject *
code_of(const lp_live_record *record, const lp_live_code *code,
        PyObject *counts)
{
    const char *text = (const char *)(code + 1);
    size_t bytes = record->bytes - sizeof(*code);
    size_t file_bytes = code->file_bytes < bytes ? code->file_bytes : bytes;

    return Py_BuildValue(
        "(KINkNN)", (unsigned long long)record->tracer, code->serial,
        file_bytes == 0 ? Py_NewRef(Py_None) : decoded(text, file_bytes),
        (unsigned long)code->line,
        decoded(text + file_bytes, bytes - file_bytes),
        counts_by_serial(counts, code->serial));
}

/* Return a list of all code objects. */
static PyObject *
codes_of(const lp_live_copy *copy, PyObject *counts)
{
    const lp_live_record *record = NULL;
    PyObject *codes = PyList_New(0);

    while (codes != NULL &&
           (record = lp_live_copy_record(copy, record)) != NULL) {
        const lp_live_code *code = lp_live_record_code(record);

        if (code != NULL &&
            append_owned(codes, code_of(record, code, counts)) < 0) {
            Py_CLEAR(codes);
        }
    }
    return codes;
}

/* Return the packed call tree. */
static PyObject *
calls_of(const lp_live_copy *copy)
{
    PyObject *packed = PyBytes_FromStringAndSize(
        NULL, (Py_ssize_t)copy->n_nodes * (Py_ssize_t)sizeof(lp_call_row));
    const lp_node *node = NULL;
    unsigned long long merged = 0;
    lp_call_row *to;

    if (packed == NULL) {
        return NULL;
    }
    to = (lp_call_row *)(void *)PyBytes_AS_STRING(packed);
    while ((node = lp_live_copy_node(copy, node)) != NULL) {
        const lp_code_counters *counters = lp_live_copy_callee(copy, node);
        int64_t parent = lp_live_copy_parent(copy, node);

        *to = (lp_call_row){
            .parent = parent < 0 ? LP_NO_NODE : (Py_ssize_t)parent,
            .line = lp_live_copy_line(copy, node),
            .serial = counters == NULL ? 0 : counters->serial,
            .thread = counters == NULL ? -1 : (Py_ssize_t)counters->thread,
            .kind = node->kind,
        };
        merged += node->kind == LP_NODE_MERGED ? node->calls : 0;
        lp_snapshot_node(to++, node);
    }
    return Py_BuildValue("(KN)", merged, packed);
}

typedef struct wait_list {
    const lp_live_copy *copy;
    PyObject *rows;
} wait_list;

/* Append the rows of a line, as lp_live_taker. */
static int
append_waits(void *arg, const lp_code_counters *counters,
             const lp_off_cpu_line *line)
{
    const wait_list *list = arg;
    uint32_t first_line;

    if (!lp_live_copy_first_line(list->copy, counters->serial, &first_line)) {
        return 0;
    }
    return lp_snapshot_add_wait(list->rows, line, counters->serial, first_line,
                                (Py_ssize_t)counters->thread);
}

static PyObject *
waits_of(const lp_live_copy *copy)
{
    wait_list list = {copy, PyList_New(0)};
    lp_code_counters *counters = NULL;
    uint64_t left = copy->n_waits; /* no two counters have the same */
    int failed = list.rows == NULL ? -1 : 0;

    while (failed == 0 &&
           (counters = lp_live_copy_counters(copy, counters)) != NULL) {
        const lp_off_cpu_lines *waits = lp_live_copy_waits(copy, counters);
        uint32_t n = waits == NULL || waits->n > left ? 0 : waits->n;

        left -= n;
        for (uint32_t i = 0; failed == 0 && i < n; i++) {
            failed = append_waits(&list, counters, &waits->lines[i]);
        }
    }
    if (failed < 0 || lp_live_copy_owed(copy, append_waits, &list) < 0) {
        Py_CLEAR(list.rows);
    }
    return list.rows;
}

/* Return a list of all notes. */
static PyObject *
notes_of(const lp_live_copy *copy)
{
    const lp_live_record *record = NULL;
    PyObject *notes = PyList_New(0);

    while (notes != NULL &&
           (record = lp_live_copy_record(copy, record)) != NULL) {
        if (record->kind == LP_LIVE_NOTE &&
            append_owned(notes, PyBytes_FromStringAndSize(
                                    (const char *)record->data,
                                    (Py_ssize_t)record->bytes)) < 0) {
            Py_CLEAR(notes);
        }
    }
    return notes;
}

/* Append (serial, line, thread, ticks), as lp_live_open_taker. */
static int
append_open_line(void *arg, const lp_recorder *rec,
                 const lp_code_counters *counters, uint64_t offset,
                 lp_ticks opened)
{
    const wait_list *list = arg;
    uint32_t first_line;

    if (!lp_live_copy_first_line(list->copy, counters->serial, &first_line)) {
        return 0;
    }
    return append_owned(
        list->rows, Py_BuildValue("(IKIK)", counters->serial,
                                  (unsigned long long)(first_line + offset),
                                  rec->number, (unsigned long long)opened));
}

static PyObject *
open_lines_of(const lp_live_copy *copy)
{
    wait_list list = {copy, PyList_New(0)};

    if (list.rows != NULL &&
        lp_live_copy_open_lines(copy, append_open_line, &list) < 0) {
        Py_CLEAR(list.rows);
    }
    return list.rows;
}

/* Return a list of all call paths. */
static PyObject *
paths_of(const lp_sites_copy *sites)
{
    PyObject *list = PyList_New((Py_ssize_t)sites->n);

    for (uint32_t i = 0; list != NULL && i < sites->n; i++) {
        lp_call_path path = lp_sites_copy_path(sites, i);
        PyObject *item =
            Py_BuildValue("(III)", path.parent, path.serial, path.line);

        if (item == NULL) {
            Py_CLEAR(list);
        }
        else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
        }
    }
    return list;
}

/* Return the numbers of the paths that have any. */
static PyObject *
sums_of(const lp_sites_copy *sites)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list != NULL && i < sites->n; i++) {
        lp_heap_sum sum = lp_sites_copy_sum(sites, i);

        if ((sum.allocs != 0 || sum.freed_bytes != 0 || sum.peak_bytes != 0) &&
            append_owned(
                list,
                Py_BuildValue("(IKKKKK)", i, (unsigned long long)sum.allocs,
                              (unsigned long long)sum.alloc_bytes,
                              (unsigned long long)sum.freed_bytes,
                              (unsigned long long)sum.temp_bytes,
                              (unsigned long long)sum.peak_bytes)) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* Return the memory; None if it was not measured. */
static PyObject *
memory_of(const lp_live_copy *copy)
{
    lp_sites_copy sites;
    const lp_heap_numbers *numbers;

    lp_sites_copy_open(&sites, copy);
    numbers = sites.numbers;
    if (numbers == NULL) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("{sNsNsKsKsKsKsOsO}", "paths", paths_of(&sites),
                         "sums", sums_of(&sites), "start",
                         (unsigned long long)numbers->start, "peak_at",
                         (unsigned long long)sites.peak_at, "lost",
                         (unsigned long long)numbers->lost, "sample",
                         (unsigned long long)numbers->sample, "incomplete",
                         numbers->incomplete ? Py_True : Py_False, "native",
                         numbers->native ? Py_True : Py_False);
}

static PyObject *
contents(const lp_live_copy *copy, lp_ticks now)
{
    PyObject *counts, *codes = NULL, *result = NULL;
    PyObject *header = header_of(copy, lp_live_copy_settle(copy, now));
    PyObject *threads = threads_of(copy), *calls = calls_of(copy);
    PyObject *waits = waits_of(copy), *notes = notes_of(copy);
    PyObject *open_lines = open_lines_of(copy), *memory = memory_of(copy);

    counts = all_counts(copy);
    codes = counts == NULL ? NULL : codes_of(copy, counts);
    if (header != NULL && threads != NULL && calls != NULL && waits != NULL &&
        notes != NULL && codes != NULL && open_lines != NULL &&
        memory != NULL) {
        result = PyTuple_Pack(8, header, threads, codes, calls, waits, notes,
                              open_lines, memory);
    }
    Py_XDECREF(header);
    Py_XDECREF(threads);
    Py_XDECREF(calls);
    Py_XDECREF(waits);
    Py_XDECREF(notes);
    Py_XDECREF(counts);
    Py_XDECREF(codes);
    Py_XDECREF(open_lines);
    Py_XDECREF(memory);
    return result;
}

/* A second copy of the file of a process that runs, and a time; or nothing. */
typedef struct second_copy {
    Py_buffer buffer; /* obj is NULL without a copy */
    unsigned long long now;
} second_copy;

/* Return what `read` makes of a file in a buffer. */
static PyObject *
with_copy(PyObject *data, const second_copy *second,
          PyObject *(*read)(const lp_live_copy *, lp_ticks))
{
    Py_buffer buffer;
    lp_live_copy copy;
    PyObject *result = NULL;

    if (PyObject_GetBuffer(data, &buffer, PyBUF_WRITABLE) < 0) {
        return NULL;
    }
    if ((uintptr_t)buffer.buf % sizeof(uint64_t) != 0) {
        PyErr_SetString(PyExc_ValueError, "the buffer is not aligned");
        PyBuffer_Release(&buffer);
        return NULL;
    }
    switch (lp_live_copy_open(&copy, buffer.buf, (size_t)buffer.len)) {
    case LP_LIVE_READ:
        if (second->buffer.obj != NULL) {
            lp_live_copy_compare(&copy, second->buffer.buf,
                                 (size_t)second->buffer.len);
        }
        result = read(&copy, second->now);
        break;
    case LP_LIVE_NO_MEMORY:
        PyErr_NoMemory();
        break;
    case LP_LIVE_FOREIGN:
        PyErr_SetString(PyExc_ValueError, "not a live file");
        break;
    case LP_LIVE_OTHER_BUILD:
        PyErr_SetString(PyExc_NotImplementedError,
                        "another version of lineprof wrote this file");
        break;
    }
    lp_live_copy_close(&copy);
    PyBuffer_Release(&buffer);
    return result;
}

static PyObject *
live_read(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *data, *later = Py_None, *result;
    second_copy second = {.now = 0};

    if (!PyArg_ParseTuple(args, "O|OK:live_read", &data, &later,
                          &second.now) ||
        (later != Py_None &&
         PyObject_GetBuffer(later, &second.buffer, PyBUF_SIMPLE) < 0)) {
        return NULL;
    }
    result = with_copy(data, &second, contents);
    if (second.buffer.obj != NULL) {
        PyBuffer_Release(&second.buffer);
    }
    return result;
}

static PyObject *
state_and_notes_of(const lp_live_copy *copy, lp_ticks Py_UNUSED(now))
{
    PyObject *notes = notes_of(copy);

    return notes == NULL ? NULL
                         : Py_BuildValue("(IN)", copy->header->state, notes);
}

static PyObject *
live_notes(PyObject *Py_UNUSED(module), PyObject *data)
{
    second_copy none = {.now = 0};

    return with_copy(data, &none, state_and_notes_of);
}

static PyObject *
live_clock(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *name;
    lp_clock clock;

    if (!PyArg_ParseTuple(args, "s:live_clock", &name)) {
        return NULL;
    }
    (void)lp_clock_open(&clock, name);
    if (strcmp(clock.name, name) != 0) {
        PyErr_SetString(PyExc_ValueError, "this system has no such clock");
        return NULL;
    }
    return Py_BuildValue("(KK)", (unsigned long long)clock.ticks0,
                         (unsigned long long)clock.ns0);
}

PyMethodDef lp_live_functions[] = {
    {"live_open", live_open, METH_VARARGS, NULL},
    {"live_move", live_move, METH_O, NULL},
    {"live_note", live_note, METH_O, NULL},
    {"live_is_complete", live_is_complete, METH_NOARGS, NULL},
    {"live_unwatch_signals", live_unwatch_signals, METH_NOARGS, NULL},
    {"live_close", live_close, METH_VARARGS, NULL},
    {"live_read", live_read, METH_VARARGS, NULL},
    {"live_notes", live_notes, METH_O, NULL},
    {"live_clock", live_clock, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
