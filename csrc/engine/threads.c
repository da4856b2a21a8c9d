#include "engine/threads.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/overhead_audit.h"
#include "record/greenlet_stacks.h"
#include "record/own_work.h"

/* Return an item of a dict by name; borrowed, NULL without an exception. */
static PyObject *
dict_item(PyObject *dict, const char *name)
{
    return dict != NULL && PyDict_Check(dict)
               ? PyDict_GetItemString(dict, name)
               : NULL;
}

/* Find the thread's name in threading._active, which maps thread ids to Thread
 * objects.  Only dicts are read, so that no code of the program runs.
 * Borrowed. */
static PyObject *
find_name(PyObject *number)
{
    PyObject *module = dict_item(PyImport_GetModuleDict(), "threading");
    PyObject *active, *thread, **dict;

    if (module == NULL || !PyModule_Check(module)) {
        return NULL;
    }
    active = dict_item(PyModule_GetDict(module), "_active");
    thread = active != NULL && PyDict_Check(active)
                 ? PyDict_GetItemWithError(active, number)
                 : NULL;
    dict = thread != NULL ? _PyObject_GetDictPtr(thread) : NULL;
    return dict != NULL ? dict_item(*dict, "_name") : NULL;
}

/* Copy the text, truncated between characters, not inside one. */
static void
copy_truncated(char *name, size_t bytes, const char *text, size_t length)
{
    if (length >= bytes) {
        length = bytes - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) {
            length--;
        }
    }
    memcpy(name, text, length);
    name[length] = '\0';
}

/* Write the name of the thread with this Python thread id, in UTF-8 and
 * truncated to fit; empty if the thread has none.  Runs no Python and keeps
 * the current exception. */
static void
write_name(uint64_t python_thread, char *name, size_t bytes)
{
    PyObject *type, *value, *traceback, *number, *found = NULL;
    const char *text = NULL;
    Py_ssize_t length = 0;

    name[0] = '\0';
    lp_memory_of_thread.own_work++; /* no line allocates what follows */
    PyErr_Fetch(&type, &value, &traceback);
    number = PyLong_FromUnsignedLongLong(python_thread);
    if (number != NULL) {
        found = find_name(number);
    }
    if (found != NULL && PyUnicode_Check(found)) {
        text = PyUnicode_AsUTF8AndSize(found, &length);
    }
    if (text != NULL) {
        copy_truncated(name, bytes, text, (size_t)length);
    }
    Py_XDECREF(number);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    lp_memory_of_thread.own_work--;
}

#ifdef __linux__
#  include <sys/syscall.h>
#endif

/* Number of recorders from which on a new thread reuses the recorder, and so
 * the counters, of a thread that has ended, so that short-lived threads cost
 * no memory. */
enum { MAX_RECORDERS = 256 };

static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;

/* Runs at the end of a thread, without Python. */
static void
thread_ended(void *arg)
{
    lp_recorder *rec = arg;

    /* Another thread may be given the recorder now; what this one still frees
     * it frees as a thread without one. */
    lp_memory_of_thread.thread = NULL;
    lp_memory_of_thread.has_ended = true;
    __atomic_store_n(&rec->finished, 1, __ATOMIC_RELEASE);
}

static void
make_exit_key(void)
{
    pthread_key_create(&exit_key, thread_ended);
}

static uint64_t
native_id(void)
{
#ifdef __linux__
    return (uint64_t)syscall(SYS_gettid);
#else
    return (uint64_t)(uintptr_t)pthread_self();
#endif
}

static lp_recorder *
find_recorder(uint64_t python_thread)
{
    lp_recorder *rec = lp_the_engine.recorders;

    while (rec != NULL &&
           (rec->python_thread != python_thread ||
            __atomic_load_n(&rec->finished, __ATOMIC_ACQUIRE))) {
        rec = rec->next;
    }
    return rec;
}

static lp_recorder *
reuse_finished(void)
{
    lp_recorder *rec = lp_the_engine.recorders;

    if (lp_the_engine.n_recorders < MAX_RECORDERS) {
        return NULL;
    }
    while (rec != NULL &&
           (rec->top != rec->frames || lp_stacks_any(rec) ||
            !__atomic_load_n(&rec->finished, __ATOMIC_ACQUIRE))) {
        rec = rec->next;
    }
    if (rec != NULL) {
        rec->other_tracer = NULL;
        rec->native_id = 0;
        rec->stack_key = NULL;
        rec->unpopped = 0; /* the tool dropped its ranges with the thread */
        __atomic_store_n(&rec->finished, 0, __ATOMIC_RELEASE);
    }
    return rec;
}

/* Append the recorder at the end, so that numbers of recorders stay valid
 * while the list is read. */
static void
append(lp_recorder *rec)
{
    lp_recorder **end = &lp_the_engine.recorders;

    while (*end != NULL) {
        end = &(*end)->next;
    }
    rec->number = lp_the_engine.n_recorders++;
    /* Other threads may be reading the list. */
    __atomic_store_n(end, rec, __ATOMIC_RELEASE);
}

lp_recorder *
lp_threads_of(uint64_t python_thread)
{
    lp_recorder *rec = find_recorder(python_thread);

    if (rec == NULL) {
        rec = reuse_finished();
    }
    if (rec == NULL) {
        rec = lp_recorder_new(&lp_the_engine.clock, &lp_the_engine.costs);
        if (rec == NULL) {
            return NULL;
        }
        rec->room = &lp_the_engine.room;
        append(rec);
    }
    lp_overhead_audit_begin(rec);
    rec->python_thread = python_thread;
    return rec;
}

void
lp_threads_name(lp_recorder *rec)
{
    if (rec->name[0] == '\0') {
        write_name(rec->python_thread, rec->name, sizeof(rec->name));
    }
}

lp_recorder *
lp_threads_here(void)
{
    lp_recorder *rec = lp_current_recorder;

    if (LP_LIKELY(rec != NULL)) {
        return rec;
    }
    rec = lp_threads_of((uint64_t)PyThread_get_thread_ident());
    if (rec == NULL) {
        return NULL;
    }
    rec->native_id = native_id();
    lp_off_cpu_attach(rec);
    write_name(rec->python_thread, rec->name, sizeof(rec->name));
    pthread_once(&exit_key_once, make_exit_key);
    pthread_setspecific(exit_key, rec);
    lp_current_recorder = rec;
    return rec;
}
