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

/* By its name, or NULL. */
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

/* The only thread on which lines are open, or NULL. */
static const lp_recorder *
only_open(void)
{
    const lp_recorder *found = NULL;
    const lp_recorder *rec =
        __atomic_load_n(&lp_process.recorders, __ATOMIC_ACQUIRE);

    while (rec != NULL) {
        if (lp_open_lines_any(rec) &&
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
lp_charged_path(lp_paths *paths)
{
    static _Thread_local lp_other_lines adopted;
    const lp_recorder *other;

    if (lp_here != NULL && lp_open_lines_any(lp_here)) {
        return lp_open_lines_path(lp_here, paths);
    }
    other = only_open();
    return other == NULL ? LP_NO_PATH
                         : lp_open_lines_of_other(other, paths, &adopted);
}

lp_devices lp_process_devices;

static uint32_t
path_here(void)
{
    return lp_charged_path(&lp_process_devices.ledger->paths);
}

static lp_ticks
ticks_now(void)
{
    return lp_clock_now(&lp_process.clock);
}

void
lp_devices_collect(bool on)
{
    if (lp_process_devices.ledger != NULL) {
        __atomic_store_n(&lp_process_devices.ledger->paused, !on,
                         __ATOMIC_RELAXED);
    }
}

/* As the program asks for it, in a call of the device's API. */
static void
collect_here(bool on)
{
    lp_devices_collect(on);
    lp_engine_pause_here(!on);
}

static bool opening; /* [GIL] a thread is at it, without the lock */

/* In a forked child.  The ledger stays as it is, locks and all. */
static void
forked(void)
{
    if (opening) {
        opening = false; /* that thread is not here */
        lp_process_devices.forked = true;
    }
    if (lp_process_devices.backend != NULL) {
        lp_process_devices.backend = NULL;
        lp_process_devices.ledger = NULL;
        lp_process_devices.forked = true;
    }
}

static lp_ledger *
new_ledger(size_t events)
{
    lp_ledger *ledger = malloc(sizeof(*ledger));

    if (ledger != NULL && !lp_ledger_init(ledger, events)) {
        free(ledger);
        ledger = NULL;
    }
    return ledger;
}

/* Wait for another thread that is at it. */
static void
await_opening(void)
{
    struct timespec pause = {.tv_nsec = 1000000};

    while (opening) {
        Py_BEGIN_ALLOW_THREADS
        nanosleep(&pause, NULL);
        Py_END_ALLOW_THREADS
    }
}

/* Threads that a tool starts meanwhile leave the program's signals to it: one
 * that it blocks, to wait for it, would else end the process. */
static bool
open_backend(const lp_gpu_backend *backend, const lp_gpu_options *options,
             char why[LP_GPU_WHY])
{
    lp_devices *devices = &lp_process_devices;
    lp_gpu_host host = {.ledger = devices->ledger,
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
lp_devices_open(const char *name, const lp_gpu_options *options, size_t events,
                char why[LP_GPU_WHY])
{
    lp_devices *devices = &lp_process_devices;
    const lp_gpu_backend *backend = find_backend(name);

    if (backend == NULL) {
        snprintf(why, LP_GPU_WHY, "there is no backend of that name");
        return false;
    }
    await_opening();
    if (devices->backend != NULL) {
        return true;
    }
    if (devices->forked) {
        snprintf(why, LP_GPU_WHY,
                 "this process was forked from one that "
                 "records the device");
        return false;
    }
    if (devices->ledger == NULL) {
        devices->ledger = new_ledger(events);
        lp_devices_collect(!lp_process.paused);
        pthread_atfork(NULL, NULL, forked);
    }
    if (devices->ledger == NULL) {
        snprintf(why, LP_GPU_WHY, "memory is out");
        return false;
    }
    return open_backend(backend, options, why);
}

void
lp_devices_flush(void)
{
    const lp_gpu_backend *backend = lp_process_devices.backend;

    if (backend != NULL) {
        Py_BEGIN_ALLOW_THREADS
        backend->flush();
        Py_END_ALLOW_THREADS
    }
}

void
lp_devices_close(void)
{
    const lp_gpu_backend *backend = lp_process_devices.backend;

    if (backend != NULL) {
        Py_BEGIN_ALLOW_THREADS
        backend->close();
        Py_END_ALLOW_THREADS
    }
}
