#include "engine/gpu_session.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/engine.h"
#include "engine/python_compat.h"
#include "engine/threads.h"
#include "gpu/backend.h"
#include "gpu/cupti_backend.h"
#include "record/current_path.h"

static const lp_gpu_backend *const backends[] = {&lp_gpu_cupti};

/* Return the backend of this name, or NULL. */
static const lp_gpu_backend *
find_backend(const char *name)
{
    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
        if (strcmp(backends[i]->name, name) == 0) {
            return backends[i];
        }
    }
    return NULL;
}

/* Return the recorder of the only thread with open lines, or NULL. */
static const lp_recorder *
only_thread_with_lines(void)
{
    const lp_recorder *found = NULL;
    const lp_recorder *rec =
        __atomic_load_n(&lp_the_engine.recorders, __ATOMIC_ACQUIRE);

    while (rec != NULL) {
        if (lp_current_path_any(rec) &&
            !__atomic_load_n(&rec->finished, __ATOMIC_RELAXED)) {
            if (found != NULL) {
                return NULL;
            }
            found = rec;
        }
        rec = __atomic_load_n(&rec->next, __ATOMIC_ACQUIRE);
    }
    return found;
}

uint32_t
lp_gpu_session_current_path(lp_call_paths *paths)
{
    static _Thread_local lp_adopted_path adopted;
    const lp_recorder *other;

    if (lp_current_recorder != NULL &&
        lp_current_path_any(lp_current_recorder)) {
        return lp_current_path(lp_current_recorder, paths);
    }
    other = only_thread_with_lines();
    return other == NULL ? LP_NO_PATH
                         : lp_current_path_of_thread(other, paths, &adopted);
}

lp_gpu_session lp_the_gpu_session;

static uint32_t
path_here(void)
{
    return lp_gpu_session_current_path(lp_the_gpu_session.activity->paths);
}

static lp_ticks
ticks_now(void)
{
    return lp_clock_now(&lp_the_engine.clock);
}

void
lp_gpu_session_collect(bool on)
{
    if (lp_the_gpu_session.activity != NULL) {
        __atomic_store_n(&lp_the_gpu_session.activity->paused, !on,
                         __ATOMIC_RELAXED);
    }
}

/* Pause or resume collection, as a call of the device's API by the program
 * asks. */
static void
collect_here(bool on)
{
    lp_gpu_session_collect(on);
    lp_engine_pause_here(!on);
}

static bool opening; /* [GIL] true while a thread opens a backend with the GIL
                        released */

/* Runs in a forked child.  The activity remains as it is, with its locks. */
static void
forked(void)
{
    if (opening) {
        opening = false; /* the opening thread does not exist here */
        lp_the_gpu_session.forked = true;
    }
    if (lp_the_gpu_session.backend != NULL) {
        lp_the_gpu_session.inherited = lp_the_gpu_session.backend;
        lp_the_gpu_session.backend = NULL;
        lp_the_gpu_session.activity = NULL;
        lp_the_gpu_session.forked = true;
    }
}

static lp_activity *
new_activity(size_t events)
{
    lp_call_paths *paths = lp_call_paths_of_process();
    lp_activity *activity = paths == NULL ? NULL : malloc(sizeof(*activity));

    if (activity != NULL && !lp_activity_init(activity, paths, events)) {
        free(activity);
        activity = NULL;
    }
    return activity;
}

/* Wait for another thread that is opening a backend. */
static void
wait_for_opening(void)
{
    struct timespec pause = {.tv_nsec = 1000000};

    while (opening) {
        Py_BEGIN_ALLOW_THREADS
        nanosleep(&pause, NULL);
        Py_END_ALLOW_THREADS
    }
}

/* Open the backend with all signals blocked, so that the threads that the
 * vendor's library starts leave the program's signals to the program: a signal
 * that the program blocks to wait for it would otherwise end the process. */
static bool
open_backend(const lp_gpu_backend *backend, const lp_gpu_options *options,
             char why[LP_GPU_WHY])
{
    lp_gpu_session *devices = &lp_the_gpu_session;
    lp_gpu_host host = {.activity = devices->activity,
                        .path = path_here,
                        .now = ticks_now,
                        .collect = collect_here};
    sigset_t all, before;
    bool opened;

    devices->opened = lp_clock_monotonic();
    opening = true;
    Py_BEGIN_ALLOW_THREADS
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    opened = backend->open(&host, options, why);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    Py_END_ALLOW_THREADS
    opening = false;
    if (opened) {
        devices->backend = backend;
    }
    return opened;
}

bool
lp_gpu_session_open(const char *name, const lp_gpu_options *options,
                    size_t events, char why[LP_GPU_WHY])
{
    lp_gpu_session *devices = &lp_the_gpu_session;
    const lp_gpu_backend *backend = find_backend(name);

    if (backend == NULL) {
        snprintf(why, LP_GPU_WHY, "there is no backend of that name");
        return false;
    }
    wait_for_opening();
    if (devices->backend != NULL) {
        return true;
    }
    if (devices->forked) {
        snprintf(why, LP_GPU_WHY,
                 "this process was forked from one that "
                 "records the device");
        return false;
    }
    if (devices->activity == NULL) {
        devices->activity = new_activity(events);
        lp_gpu_session_collect(!lp_the_engine.paused);
        pthread_atfork(NULL, NULL, forked);
    }
    if (devices->activity == NULL) {
        snprintf(why, LP_GPU_WHY, "memory is out");
        return false;
    }
    return open_backend(backend, options, why);
}

/* The lock of the backend's flush, which one thread at a time may call.  A
 * forked child has no backend, and never takes the lock. */
static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER;

void
lp_gpu_session_flush(bool last)
{
    const lp_gpu_backend *backend = lp_the_gpu_session.backend;

    if (backend != NULL) {
        Py_BEGIN_ALLOW_THREADS
        pthread_mutex_lock(&flushing);
        backend->flush(last);
        pthread_mutex_unlock(&flushing);
        Py_END_ALLOW_THREADS
    }
}

void
lp_gpu_session_deliver(void)
{
    const lp_gpu_backend *backend = lp_the_gpu_session.backend;

    if (backend == NULL) {
        return;
    }
    Py_BEGIN_ALLOW_THREADS
    if (pthread_mutex_trylock(&flushing) == 0) { /* else a flush does it */
        backend->deliver();
        pthread_mutex_unlock(&flushing);
    }
    Py_END_ALLOW_THREADS
}

void
lp_gpu_session_close(void)
{
    const lp_gpu_session *devices = &lp_the_gpu_session;
    const lp_gpu_backend *backend =
        devices->forked ? devices->inherited : devices->backend;

    if (backend != NULL) {
        Py_BEGIN_ALLOW_THREADS
        backend->close();
        Py_END_ALLOW_THREADS
    }
}
