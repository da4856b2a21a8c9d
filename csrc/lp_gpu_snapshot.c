#include "lp_gpu_snapshot.h"

#include "lp_devices.h"
#include "lp_ledger_copy.h"

typedef unsigned long long ull;

/* Append a new object to a list, and let go of it; 0 or -1. */
static int
append(PyObject *list, PyObject *item)
{
    int failed = item == NULL ? -1 : PyList_Append(list, item);

    Py_XDECREF(item);
    return failed;
}

static PyObject *
make_paths(const lp_ledger *ledger, const lp_ledger_copy *copy)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list != NULL && i < copy->n_paths; i++) {
        const lp_path *path = lp_paths_at(&ledger->paths, i);

        if (append(list, Py_BuildValue("(III)", path->parent, path->serial,
                                       path->line)) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *
make_sum(const lp_sum *sum, uint32_t name)
{
    const lp_sum_key *key = &sum->key;

    return Py_BuildValue(
        "(IIIIIKKKKK)", key->path, key->origin, (unsigned int)key->kind, name,
        (unsigned int)key->device, (ull)sum->count, (ull)sum->ns,
        (ull)sum->least, (ull)sum->most, (ull)sum->bytes);
}

/* Waits are kept with their paths. */
static int
append_waits(PyObject *list, const lp_ledger *ledger,
             const lp_ledger_copy *copy)
{
    for (uint32_t i = 0; i < copy->n_paths; i++) {
        const lp_path *path = lp_paths_at(&ledger->paths, i);
        lp_sum sum = {
            .key = {.path = i, .kind = LP_WAIT},
            .count = __atomic_load_n(&path->waits, __ATOMIC_RELAXED),
            .ns = __atomic_load_n(&path->wait_ticks, __ATOMIC_RELAXED),
            .most = __atomic_load_n(&path->wait_most, __ATOMIC_RELAXED),
        };

        if (sum.count != 0 && append(list, make_sum(&sum, 0)) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
make_sums(const lp_ledger *ledger, lp_ledger_copy *copy)
{
    const lp_gpu_backend *backend = lp_process_devices.backend;
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < copy->n_sums; i++) {
        const lp_sum *sum = &copy->sums[i];
        uint32_t name =
            lp_names_of(&copy->names, backend, sum->key.kind, sum->key.name);

        if (append(list, make_sum(sum, name)) < 0) {
            Py_CLEAR(list);
        }
    }
    if (list != NULL && append_waits(list, ledger, copy) < 0) {
        Py_CLEAR(list);
    }
    return list;
}

static PyObject *
make_names(const lp_names *names)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list != NULL && i < names->n; i++) {
        const char *text = names->texts[i];
        PyObject *name = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text),
                                              "backslashreplace");

        if (append(list, name) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *
make_launches(lp_ledger *ledger, const lp_ledger_copy *copy)
{
    PyObject *list = PyList_New(0);

    if (list != NULL && copy->n_launches == 0 &&
        append(list, Py_BuildValue("(iiiiiiIii)", 0, 0, 0, 0, 0, 0, 0, 0, 0)) <
            0) {
        Py_CLEAR(list);
    }
    for (uint32_t i = 0; list != NULL && i < copy->n_launches; i++) {
        lp_launch launch;

        pthread_mutex_lock(&ledger->lock);
        launch = ledger->timeline.launches[i];
        pthread_mutex_unlock(&ledger->lock);
        if (append(list, Py_BuildValue(
                             "(iiiiiiIii)", launch.grid[0], launch.grid[1],
                             launch.grid[2], launch.block[0], launch.block[1],
                             launch.block[2], launch.registers,
                             launch.static_smem, launch.dynamic_smem)) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* Names by kind become names by number. */
static void
translate(PyObject *names, PyObject *kinds, lp_ledger_copy *copy)
{
    uint32_t *name = (uint32_t *)(void *)PyBytes_AS_STRING(names);
    const unsigned char *kind = (unsigned char *)PyBytes_AS_STRING(kinds);

    for (size_t i = 0; i < copy->n_events; i++) {
        name[i] = lp_names_of(&copy->names, lp_process_devices.backend,
                              kind[i], name[i]);
    }
}

static PyObject *
make_column(lp_ledger *ledger, const lp_ledger_copy *copy, int column)
{
    size_t size = copy->n_events * lp_columns[column].size;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);

    if (bytes != NULL) {
        pthread_mutex_lock(&ledger->lock);
        lp_timeline_column(&ledger->timeline, column, copy->n_events,
                           (unsigned char *)PyBytes_AS_STRING(bytes));
        pthread_mutex_unlock(&ledger->lock);
    }
    return bytes;
}

static PyObject *
make_events(lp_ledger *ledger, lp_ledger_copy *copy)
{
    PyObject *dict = PyDict_New();

    for (int i = 0; dict != NULL && i < LP_COLUMNS; i++) {
        PyObject *bytes = make_column(ledger, copy, i);

        if (bytes == NULL ||
            PyDict_SetItemString(dict, lp_columns[i].name, bytes) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(bytes);
    }
    if (dict != NULL) {
        translate(PyDict_GetItemString(dict, "name"),
                  PyDict_GetItemString(dict, "kind"), copy);
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
make_devices(const lp_ledger_copy *copy)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list != NULL && i < LP_DEVICES; i++) {
        lp_gpu_device device;

        if (!copy->seen[i]) {
            continue;
        }
        lp_process_devices.backend->describe(i, &device);
        if (append(list,
                   Py_BuildValue("(IsKNN)", i, device.name, (ull)copy->busy[i],
                                 PyBool_FromLong(!copy->inexact[i]),
                                 make_attributes(&device))) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyObject *
lp_gpu_snapshot_take(void)
{
    const lp_devices *devices = &lp_process_devices;
    const lp_gpu_backend *backend = devices->backend;
    lp_ledger_copy copy;
    PyObject *sums, *events, *result;

    if (backend == NULL) {
        Py_RETURN_NONE;
    }
    if (!lp_ledger_copy_take(&copy, devices->ledger)) {
        return PyErr_NoMemory();
    }
    /* First what may add names. */
    sums = make_sums(devices->ledger, &copy);
    events = make_events(devices->ledger, &copy);
    result = Py_BuildValue(
        "{sNsNsNsNsNsNsKsKsKsKsKsssI}", "paths",
        make_paths(devices->ledger, &copy), "sums", sums, "events", events,
        "names", make_names(&copy.names), "launches",
        make_launches(devices->ledger, &copy), "devices", make_devices(&copy),
        "origin_ns", (ull)devices->opened, "dropped", (ull)backend->dropped(),
        "invalid", (ull)copy.invalid, "outstanding", (ull)copy.outstanding,
        "left_out", (ull)copy.left_out, "backend", backend->name, "version",
        (unsigned int)backend->version());
    lp_ledger_copy_free(&copy);
    return result;
}
