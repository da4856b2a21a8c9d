#include "lp_threads.h"

#include <pthread.h>
#include <unistd.h>

#ifdef __linux__
#  include <sys/syscall.h>
#endif

#include "lp_audit.h"
#include "lp_engine.h"
#include "lp_thread_name.h"

/* So many threads are told apart; later ones go on with the counters of a
 * thread that has ended, so that short-lived threads cost no memory. */
enum { SEPARATE_THREADS = 256 };

_Thread_local lp_recorder *lp_here;

static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;

/* Runs at a thread's end, without Python. */
static void
thread_ended(void *arg)
{
    lp_recorder *rec = arg;

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
    lp_recorder *rec = lp_process.recorders;

    while (rec != NULL &&
           (rec->python_thread != python_thread ||
            __atomic_load_n(&rec->finished, __ATOMIC_ACQUIRE))) {
        rec = rec->next;
    }
    return rec;
}

static lp_recorder *
take_finished(void)
{
    lp_recorder *rec = lp_process.recorders;

    if (lp_process.n_recorders < SEPARATE_THREADS) {
        return NULL;
    }
    while (rec != NULL &&
           (rec->top != rec->frames ||
            !__atomic_load_n(&rec->finished, __ATOMIC_ACQUIRE))) {
        rec = rec->next;
    }
    if (rec != NULL) {
        rec->before = NULL;
        rec->native_id = 0;
        rec->owed = 0; /* its ranges went with the thread */
        __atomic_store_n(&rec->finished, 0, __ATOMIC_RELEASE);
    }
    return rec;
}

/* At the end: a list that is being read keeps its numbering. */
static void
append(lp_recorder *rec)
{
    lp_recorder **end = &lp_process.recorders;

    while (*end != NULL) {
        end = &(*end)->next;
    }
    rec->number = lp_process.n_recorders++;
    __atomic_store_n(end, rec, __ATOMIC_RELEASE); /* others may be reading */
}

lp_recorder *
lp_threads_of(uint64_t python_thread)
{
    lp_recorder *rec = find_recorder(python_thread);

    if (rec == NULL) {
        rec = take_finished();
    }
    if (rec == NULL) {
        rec = lp_recorder_new(&lp_process.clock, &lp_process.costs);
        if (rec == NULL) {
            return NULL;
        }
        append(rec);
    }
    lp_audit_begin(rec);
    rec->python_thread = python_thread;
    return rec;
}

void
lp_threads_name(lp_recorder *rec)
{
    if (rec->name[0] == '\0') {
        lp_thread_name(rec->python_thread, rec->name, sizeof(rec->name));
    }
}

lp_recorder *
lp_threads_here(void)
{
    lp_recorder *rec = lp_here;

    if (LP_LIKELY(rec != NULL)) {
        return rec;
    }
    rec = lp_threads_of((uint64_t)PyThread_get_thread_ident());
    if (rec == NULL) {
        return NULL;
    }
    rec->native_id = native_id();
    lp_wait_attach(rec);
    lp_thread_name(rec->python_thread, rec->name, sizeof(rec->name));
    pthread_once(&exit_key_once, make_exit_key);
    pthread_setspecific(exit_key, rec);
    lp_here = rec;
    return rec;
}
