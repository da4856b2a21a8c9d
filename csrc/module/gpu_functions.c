#include "module/gpu_functions.h"

#include "engine/engine.h"
#include "engine/gpu_session.h"
#include "gpu/activity.h"
#include "module/device_memory_rows.h"
#include "module/lists.h"

typedef unsigned long long ull;

static PyObject *
make_sum(const lp_sum *sum, uint32_t name)
{
    const lp_sum_key *key = &sum->key;

    return Py_BuildValue(
        "(IIIIIKKKKK)", key->path, key->origin, (unsigned int)key->kind, name,
        (unsigned int)key->device, (ull)sum->count, (ull)sum->ns,
        (ull)sum->min, (ull)sum->max, (ull)sum->bytes);
}

/* Append waits, which are stored in their paths. */
static int
append_waits(PyObject *list, const lp_activity *activity,
             const lp_activity_snapshot *copy)
{
    for (uint32_t i = 0; i < copy->n_paths; i++) {
        const lp_call_path *path = lp_call_paths_at(activity->paths, i);
        lp_sum sum = {
            .key = {.path = i, .kind = LP_WAIT},
            .count = __atomic_load_n(&path->waits, __ATOMIC_RELAXED),
            .ns = __atomic_load_n(&path->wait_ticks, __ATOMIC_RELAXED),
            .max = __atomic_load_n(&path->max_wait_ticks, __ATOMIC_RELAXED),
        };

        if (sum.count != 0 && lp_append(list, make_sum(&sum, 0)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Append loads, which have a table of their own. */
static int
append_loads(PyObject *list, const lp_activity *activity,
             const lp_activity_snapshot *copy)
{
    for (uint32_t i = 0; i < LP_LOAD_TIMES; i++) {
        lp_load_time load = lp_load_times_at(&activity->loads, i);
        lp_sum sum = {.key = {.path = load.path, .kind = LP_LOAD},
                      .count = load.calls,
                      .ns = load.ticks,
                      .max = load.ticks};

        if (load.calls != 0 && load.path < copy->n_paths &&
            lp_append(list, make_sum(&sum, 0)) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
make_sums(const lp_activity *activity, lp_activity_snapshot *copy)
{
    const lp_gpu_backend *backend = lp_the_gpu_session.backend;
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < copy->n_sums; i++) {
        const lp_sum *sum = &copy->sums[i];
        uint32_t name =
            lp_names_of(&copy->names, backend, sum->key.kind, sum->key.name);

        if (lp_append(list, make_sum(sum, name)) < 0) {
            Py_CLEAR(list);
        }
    }
    if (list != NULL && (append_waits(list, activity, copy) < 0 ||
                         append_loads(list, activity, copy) < 0)) {
        Py_CLEAR(list);
    }
    return list;
}

static PyObject *
make_names(const lp_names *names)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list != NULL && i < names->n; i++) {
        const char *text = names->strings[i];
        PyObject *name = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text),
                                              "backslashreplace");

        if (lp_append(list, name) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *
make_launches(lp_activity *activity, const lp_activity_snapshot *copy)
{
    PyObject *list = PyList_New(0);

    if (list != NULL && copy->n_launches == 0 &&
        lp_append(list, Py_BuildValue("(iiiiiiIii)", 0, 0, 0, 0, 0, 0, 0, 0,
                                      0)) < 0) {
        Py_CLEAR(list);
    }
    for (uint32_t i = 0; list != NULL && i < copy->n_launches; i++) {
        lp_launch launch;

        pthread_mutex_lock(&activity->lock);
        launch = activity->timeline.launches[i];
        pthread_mutex_unlock(&activity->lock);
        if (lp_append(list, Py_BuildValue("(iiiiiiIii)", launch.grid[0],
                                          launch.grid[1], launch.grid[2],
                                          launch.block[0], launch.block[1],
                                          launch.block[2], launch.registers,
                                          launch.static_smem,
                                          launch.dynamic_smem)) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* Replace names numbered by kind by numbers in the common list of names. */
static void
replace_names(PyObject *names, PyObject *kinds, lp_activity_snapshot *copy)
{
    uint32_t *name = (uint32_t *)(void *)PyBytes_AS_STRING(names);
    const unsigned char *kind = (unsigned char *)PyBytes_AS_STRING(kinds);

    for (size_t i = 0; i < copy->n_events; i++) {
        name[i] = lp_names_of(&copy->names, lp_the_gpu_session.backend,
                              kind[i], name[i]);
    }
}

static PyObject *
make_column(lp_activity *activity, const lp_activity_snapshot *copy,
            int column)
{
    size_t size = copy->n_events * lp_columns[column].size;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);

    if (bytes != NULL) {
        pthread_mutex_lock(&activity->lock);
        lp_event_timeline_column(&activity->timeline, column, copy->n_events,
                                 (unsigned char *)PyBytes_AS_STRING(bytes));
        pthread_mutex_unlock(&activity->lock);
    }
    return bytes;
}

/* Convert a column of ticks to ns; 0 stays. */
static void
convert_ticks(PyObject *column, uint64_t scale)
{
    uint64_t *values = (uint64_t *)(void *)PyBytes_AS_STRING(column);
    const lp_clock *clock = &lp_the_engine.clock;
    size_t n = (size_t)PyBytes_GET_SIZE(column) / sizeof(*values);

    for (size_t i = 0; i < n; i++) {
        if (values[i] != 0) {
            values[i] = lp_clock_to_ns(clock, values[i], scale);
        }
    }
}

/* Return the columns of the log of waits: path, start, ns.  An entry that is
 * not written yet keeps its place, so that earlier snapshots can be
 * subtracted: it has no path and no length. */
static PyObject *
make_waits(const lp_activity *activity, uint64_t n, uint64_t scale)
{
    Py_ssize_t count = (Py_ssize_t)n;
    PyObject *paths = PyBytes_FromStringAndSize(NULL, count * 4);
    PyObject *starts = PyBytes_FromStringAndSize(NULL, count * 8);
    PyObject *lengths = PyBytes_FromStringAndSize(NULL, count * 8);
    const lp_clock *clock = &lp_the_engine.clock;
    uint64_t *start, *ns;
    uint32_t *path;

    if (paths == NULL || starts == NULL || lengths == NULL) {
        Py_XDECREF(paths);
        Py_XDECREF(starts);
        Py_XDECREF(lengths);
        return NULL;
    }
    path = (uint32_t *)(void *)PyBytes_AS_STRING(paths);
    start = (uint64_t *)(void *)PyBytes_AS_STRING(starts);
    ns = (uint64_t *)(void *)PyBytes_AS_STRING(lengths);
    for (uint64_t i = 0; i < n; i++) {
        lp_logged_wait wait = lp_wait_log_at(&activity->waits, i);
        lp_ticks end = wait.start + wait.ticks;

        if (wait.start == 0) {
            path[i] = LP_NO_PATH;
            start[i] = lp_the_gpu_session.opened;
            ns[i] = 0;
            continue;
        }
        path[i] = wait.path;
        start[i] = lp_clock_to_ns(clock, wait.start, scale);
        ns[i] = lp_clock_to_ns(clock, end, scale) - start[i];
    }
    return Py_BuildValue("{sNsNsN}", "path", paths, "start", starts, "ns",
                         lengths);
}

/* Return from when on the timeline or the log of waits lacks something: ns, 0
 * if nothing is left out. */
static lp_ns
cut_of(const lp_activity *activity, const lp_activity_snapshot *copy,
       uint64_t scale)
{
    lp_ticks ticks = __atomic_load_n(&activity->waits.cut, __ATOMIC_RELAXED);
    lp_ns ns;

    if (ticks == UINT64_MAX) {
        return copy->cut;
    }
    ns = lp_clock_to_ns(&lp_the_engine.clock, ticks, scale);
    return copy->cut != 0 && copy->cut < ns ? copy->cut : ns;
}

static PyObject *
make_events(lp_activity *activity, lp_activity_snapshot *copy, uint64_t scale)
{
    PyObject *dict = PyDict_New();

    for (int i = 0; dict != NULL && i < LP_COLUMNS; i++) {
        PyObject *bytes = make_column(activity, copy, i);

        if (bytes == NULL ||
            PyDict_SetItemString(dict, lp_columns[i].name, bytes) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(bytes);
    }
    if (dict != NULL) {
        replace_names(PyDict_GetItemString(dict, "name"),
                      PyDict_GetItemString(dict, "kind"), copy);
        convert_ticks(PyDict_GetItemString(dict, "launched"), scale);
    }
    return dict;
}

static PyObject *
make_attributes(const lp_gpu_device *device)
{
    PyObject *dict = PyDict_New();

    for (int i = 0; dict != NULL && i < device->n_attributes; i++) {
        PyObject *value = PyLong_FromLong(device->attributes[i].value);

        if (value == NULL ||
            PyDict_SetItemString(dict, device->attributes[i].name, value) <
                0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *
make_devices(const lp_activity_snapshot *copy)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list != NULL && i < LP_DEVICES; i++) {
        lp_gpu_device device;

        if (!copy->active[i]) {
            continue;
        }
        lp_the_gpu_session.backend->describe(i, &device);
        if (lp_append(list, Py_BuildValue("(IsKNN)", i, device.name,
                                          (ull)copy->busy[i],
                                          PyBool_FromLong(!copy->inexact[i]),
                                          make_attributes(&device))) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* gpu_snapshot() -> all records, see _core.pyi; None if no device is recorded.
 */
static PyObject *
gpu_snapshot(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const lp_gpu_session *devices = &lp_the_gpu_session;
    const lp_gpu_backend *backend = devices->backend;
    lp_activity_snapshot copy;
    lp_gpu_other_tools others;
    PyObject *sums, *events, *result;
    uint64_t scale;

    if (backend == NULL) {
        Py_RETURN_NONE;
    }
    if (!lp_activity_snapshot_take(&copy, devices->activity)) {
        return PyErr_NoMemory();
    }
    others = backend->other_tools();
    /* Once: each measurement of it may give a slightly different one. */
    scale = lp_clock_scale(&lp_the_engine.clock);
    /* First the calls that may add names. */
    sums = make_sums(devices->activity, &copy);
    events = make_events(devices->activity, &copy, scale);
    result = Py_BuildValue(
        "{sNsNsNsNsNsNsNsNsKsKsKsKsKsKsKsKsKsKsKsssI}", "paths",
        lp_path_list(devices->activity->paths, copy.n_paths), "sums", sums,
        "events", events, "names", make_names(&copy.names), "launches",
        make_launches(devices->activity, &copy), "devices",
        make_devices(&copy), "waits",
        make_waits(devices->activity, copy.n_waits, scale), "memory",
        lp_device_memory_rows(&copy.memory), "cut_ns",
        (ull)cut_of(devices->activity, &copy, scale), "origin_ns",
        (ull)devices->opened, "dropped", (ull)backend->dropped(), "invalid",
        (ull)copy.invalid, "outstanding", (ull)copy.outstanding, "left_out",
        (ull)copy.left_out, "realigned", (ull)copy.realigned, "undated",
        (ull)copy.undated, "unfinished", (ull)copy.unfinished,
        "foreign_buffers", (ull)others.buffers, "taken", (ull)others.taken,
        "backend", backend->name, "version", (unsigned int)backend->version());
    lp_activity_snapshot_free(&copy);
    return result;
}

enum { MAX_LIBRARIES = 32 };

/* Read the strings of a tuple into a NULL-terminated array; borrowed.  False
 * with an exception. */
static bool
read_strings(PyObject *tuple, const char *strings[MAX_LIBRARIES + 1])
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);

    if (n > MAX_LIBRARIES) {
        n = MAX_LIBRARIES;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        strings[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, i));
        if (strings[i] == NULL) {
            return false;
        }
    }
    strings[n] = NULL;
    return true;
}

/* gpu_open(backend, driver, libraries, clients, recorded, calls, memory,
 * migrations, whole_graphs, hardware_clock, events) -> (opened, reason or way)
 */
static PyObject *
gpu_open(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *backend, *libraries[MAX_LIBRARIES + 1];
    const char *clients[MAX_LIBRARIES + 1];
    int recorded, calls, memory, migrations, whole_graphs, hardware_clock;
    lp_gpu_options options;
    PyObject *tuple, *others;
    Py_ssize_t events;
    char why[LP_GPU_WHY] = "";
    bool opened;

    if (!PyArg_ParseTuple(
            args, "ssO!O!ppppppn:gpu_open", &backend, &options.driver,
            &PyTuple_Type, &tuple, &PyTuple_Type, &others, &recorded, &calls,
            &memory, &migrations, &whole_graphs, &hardware_clock, &events) ||
        !read_strings(tuple, libraries) || !read_strings(others, clients)) {
        return NULL;
    }
    if (lp_the_engine.clock.name == NULL) {
        PyErr_SetString(PyExc_RuntimeError,
                        "no tracer has started the clock yet");
        return NULL;
    }
    options.libraries = libraries;
    options.clients = clients;
    options.recorded = recorded;
    options.calls = calls;
    options.memory = memory;
    options.migrations = migrations;
    options.whole_graphs = whole_graphs;
    options.hardware_clock = hardware_clock;
    opened = lp_the_gpu_session.backend != NULL ||
             lp_gpu_session_open(backend, &options,
                                 events > 0 ? (size_t)events : 0, why);
    return Py_BuildValue("(NN)", PyBool_FromLong(opened),
                         PyUnicode_DecodeFSDefault(why));
}

static PyObject *
gpu_is_open(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(lp_the_gpu_session.backend != NULL);
}

/* True if this process was forked from one that records a device. */
static PyObject *
gpu_forked(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(lp_the_gpu_session.forked);
}

/* gpu_flush(last=False) */
static PyObject *
gpu_flush(PyObject *Py_UNUSED(module), PyObject *args)
{
    int last = 0;

    if (!PyArg_ParseTuple(args, "|p:gpu_flush", &last)) {
        return NULL;
    }
    lp_gpu_session_flush(last);
    Py_RETURN_NONE;
}

/* The memory of devices that is allocated from now on has a peak of its own:
 * return the number of this start. */
static PyObject *
gpu_memory_start(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    lp_activity *activity = lp_the_gpu_session.activity;
    uint32_t start = 0;

    if (activity != NULL) {
        pthread_mutex_lock(&activity->lock);
        start =
            lp_device_memory_start(&activity->memory, lp_clock_monotonic());
        pthread_mutex_unlock(&activity->lock);
    }
    return PyLong_FromUnsignedLong(start);
}

static PyObject *
gpu_deliver(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    lp_gpu_session_deliver();
    Py_RETURN_NONE;
}

/* Pause or resume collection of lines and of device activity. */
static PyObject *
collect(PyObject *Py_UNUSED(module), PyObject *on)
{
    int wanted = PyObject_IsTrue(on);

    if (wanted < 0) {
        return NULL;
    }
    lp_gpu_session_collect(wanted);
    lp_engine_pause(!wanted);
    Py_RETURN_NONE;
}

static PyObject *
collecting(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(!lp_the_engine.paused);
}

/* Number of calls that could not be charged to a call path. */
static PyObject *
gpu_lost(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const lp_activity *activity = lp_the_gpu_session.activity;
    uint64_t lost = 0;

    if (activity != NULL) {
        lost = __atomic_load_n(&activity->paths->lost, __ATOMIC_RELAXED) +
               __atomic_load_n(&activity->correlations.lost, __ATOMIC_RELAXED);
    }
    return PyLong_FromUnsignedLongLong(lost);
}

/* Append a sentence to a list, which becomes NULL if that fails. */
static void
append_sentence(void *list, const char *sentence)
{
    PyObject **to = list;

    if (*to != NULL &&
        lp_append(*to, PyUnicode_DecodeFSDefault(sentence)) < 0) {
        Py_CLEAR(*to);
    }
}

static void
note_loads(const lp_activity *activity, PyObject **list)
{
    uint64_t calls =
        __atomic_load_n(&activity->loads.left_out, __ATOMIC_RELAXED);
    char text[LP_GPU_WHY];

    if (calls > 0) {
        snprintf(text, sizeof(text),
                 "%llu calls loaded modules beyond the first %d call paths "
                 "that did: their time is not in Load",
                 (unsigned long long)calls, LP_LOAD_TIMES);
        append_sentence(list, text);
    }
}

/* Sentences on what could not be recorded. */
static PyObject *
gpu_notes(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const lp_gpu_backend *backend = lp_the_gpu_session.backend;
    const lp_activity *activity = lp_the_gpu_session.activity;
    PyObject *list = PyList_New(0);

    if (backend != NULL) {
        backend->notes(append_sentence, &list);
    }
    if (activity != NULL) {
        note_loads(activity, &list);
    }
    return list;
}

static PyObject *
gpu_close(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    lp_gpu_session_close();
    Py_RETURN_NONE;
}

PyMethodDef lp_gpu_functions[] = {
    {"gpu_open", gpu_open, METH_VARARGS, NULL},
    {"gpu_is_open", gpu_is_open, METH_NOARGS, NULL},
    {"gpu_forked", gpu_forked, METH_NOARGS, NULL},
    {"gpu_flush", gpu_flush, METH_VARARGS, NULL},
    {"gpu_memory_start", gpu_memory_start, METH_NOARGS, NULL},
    {"gpu_deliver", gpu_deliver, METH_NOARGS, NULL},
    {"gpu_snapshot", gpu_snapshot, METH_NOARGS, NULL},
    {"collect", collect, METH_O, NULL},
    {"collecting", collecting, METH_NOARGS, NULL},
    {"gpu_lost", gpu_lost, METH_NOARGS, NULL},
    {"gpu_notes", gpu_notes, METH_NOARGS, NULL},
    {"gpu_close", gpu_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
