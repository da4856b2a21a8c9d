#include "module/device_memory_rows.h"

#include "module/lists.h"

typedef unsigned long long ull;

/* Return the bytes of a sum at the peak in each view; 0 where it is not seen.
 */
static PyObject *
make_parts(const lp_device_memory *memory, const lp_memory_sum *sum)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < LP_MEMORY_VIEWS; i++) {
        bool seen = memory->starts[i].number <= sum->start;
        uint64_t bytes = seen ? lp_device_memory_at_peak(memory, sum, i) : 0;

        if (lp_append(list, PyLong_FromUnsignedLongLong(bytes)) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *
make_sums(const lp_device_memory *memory)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < memory->n_sums; i++) {
        const lp_memory_sum *sum = &memory->sums[i];
        const lp_memory_space *space = &memory->spaces[sum->space];

        if (lp_append(list,
                      Py_BuildValue("(IIIIKKKKN)", sum->path,
                                    (unsigned int)space->device,
                                    (unsigned int)space->memory, sum->start,
                                    (ull)sum->allocs, (ull)sum->alloc_bytes,
                                    (ull)sum->frees, (ull)sum->freed_bytes,
                                    make_parts(memory, sum))) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* Return the peaks of each space in each view that has any. */
static PyObject *
make_peaks(const lp_device_memory *memory)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < memory->n_spaces; i++) {
        const lp_memory_space *space = &memory->spaces[i];

        for (size_t k = 0; list != NULL && k < LP_MEMORY_VIEWS; k++) {
            if (space->views[k].peaks != 0 &&
                lp_append(list,
                          Py_BuildValue("(nIIKK)", (Py_ssize_t)k,
                                        (unsigned int)space->device,
                                        (unsigned int)space->memory,
                                        (ull)space->views[k].peak,
                                        (ull)space->views[k].peak_time)) < 0) {
                Py_CLEAR(list);
            }
        }
    }
    return list;
}

/* Return the number of each view's start, and when that was. */
static PyObject *
make_starts(const lp_device_memory *memory)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0;
         list != NULL && i < LP_MEMORY_VIEWS && i < memory->n_starts; i++) {
        if (lp_append(list, Py_BuildValue("(IK)", memory->starts[i].number,
                                          (ull)memory->starts[i].since)) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyObject *
lp_device_memory_rows(const lp_device_memory *memory)
{
    if (!memory->recorded) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue(
        "{sNsNsNsKsKsKsKsK}", "sums", make_sums(memory), "peaks",
        make_peaks(memory), "starts", make_starts(memory), "unknown_frees",
        (ull)memory->unknown_frees, "unknown_bytes",
        (ull)memory->unknown_bytes, "late", (ull)memory->late, "lost",
        (ull)memory->lost, "side_bytes", (ull)lp_device_memory_bytes(memory));
}
