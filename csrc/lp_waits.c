#include "lp_waits.h"

#include <dlfcn.h>
#ifdef __GLIBC__
#  include <link.h>
#endif

#include "lp_sampler.h"

/* Where the interpreter's state is as large as any has been. */
enum { LARGEST = 512 << 10 };

/* The interpreter's lock is in its state: on a main interpreter, of 3.12 and
 * later too. */
static void
find_state(uintptr_t *low, uintptr_t *high)
{
    void *state = dlsym(RTLD_DEFAULT, "_PyRuntime");
    uintptr_t size = LARGEST;
#ifdef __GLIBC__
    Dl_info info;
    ElfW(Sym) *symbol = NULL;

    if (state != NULL &&
        dladdr1(state, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 &&
        symbol != NULL && info.dli_saddr == state) {
        size = (uintptr_t)symbol->st_size;
    }
#endif
    *low = (uintptr_t)state;
    *high = state == NULL ? 0 : *low + size;
}

void
lp_waits_open(void)
{
    uintptr_t low, high;

    if (lp_process.tracers == 0 || lp_process.costs.line == 0) {
        lp_waits_close();
        return;
    }
    find_state(&low, &high);
    lp_sampler_allow(&lp_process.recorders, low, high);
}

void
lp_waits_close(void)
{
    lp_sampler_forbid(); /* it needs no lock of ours: that takes no time */
}

/* Append what was waited on one line for one cause; after these come what the
 * line was itself, see lp_own. */
static int
append(PyObject *list, const lp_code *code, const lp_wait_line *line,
       Py_ssize_t thread, int cause)
{
    uint64_t ns = cause < LP_WAIT_CAUSES ? line->waited.ns[cause]
                                         : line->own[cause - LP_WAIT_CAUSES];
    PyObject *row;
    int failed;

    if (ns == 0) {
        return 0;
    }
    row = Py_BuildValue("(IInik)", code->layout.serial,
                        code->layout.first_line + (unsigned int)line->offset,
                        thread, cause, (unsigned long)ns);
    if (row == NULL) {
        return -1;
    }
    failed = PyList_Append(list, row);
    Py_DECREF(row);
    return failed;
}

static int
append_lines(PyObject *list, const lp_code *code, const lp_wait_lines *waits,
             Py_ssize_t thread)
{
    for (uint32_t i = 0; waits != NULL && i < waits->n; i++) {
        for (int cause = 0; cause < LP_WAIT_CAUSES + LP_OWN_PARTS; cause++) {
            if (append(list, code, &waits->lines[i], thread, cause) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

PyObject *
lp_waits_take(const lp_tracer *tracer)
{
    PyObject *list = PyList_New(0);
    Py_ssize_t thread = 0;

    if (list == NULL) {
        return NULL;
    }
    for (lp_recorder *rec = lp_process.recorders; rec != NULL;
         rec = rec->next, thread++) {
        for (uint32_t i = 0; i < tracer->n_codes; i++) {
            const lp_code *code = tracer->codes[i];
            uint32_t id = code->layout.code_id;

            if (id < rec->n_counts && rec->counts[id] != NULL &&
                append_lines(list, code, rec->counts[id]->waits, thread) < 0) {
                Py_DECREF(list);
                return NULL;
            }
        }
    }
    return list;
}

PyObject *
lp_waits_blind(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(lp_sampler_is_blind());
}
