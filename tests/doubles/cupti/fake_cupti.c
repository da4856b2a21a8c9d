/* Double of libcupti: the connection to the driver, versions and clocks.
 *
 * Knobs are environment variables, FAKE_CUPTI_*; tests/helpers/gpu_double.py
 * lists them.  Misuse that the real library answers with a crash, a deadlock
 * or wrong numbers ends the process with a message.
 */
#include "cupti/fake_cupti.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

FK_EXPORT int cuptiGetVersion(uint32_t *version);
FK_EXPORT int cuptiGetTimestamp(uint64_t *timestamp);
FK_EXPORT int cuptiGetResultString(int result, const char **text);
FK_EXPORT int cuptiGetErrorMessage(int result, const char **text);
FK_EXPORT int cuptiFinalize(void);

enum { READINGS = 5 };

_Thread_local int fk_inside, fk_inside_resource;
_Atomic bool fk_used;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool attached;                   /* under lock */
static void (*shift)(int64_t);          /* fake_cuda's; under lock */
static int (*is_initialized)(void);     /* the same */
static _Atomic(fk_clock *) given_clock; /* the first; of the device */
static const char *fail;
static bool shared;   /* tools without a subscription record, too */
static bool in_ticks; /* the clock that is given may count other than ns */
static uint64_t given_at, given_ticks; /* by both clocks */

__attribute__((constructor)) static void
start(void)
{
    fail = getenv("FAKE_CUPTI_FAIL");
    shared = fk_env("FAKE_CUPTI_SHARED", 0);
    const char *clock = getenv("FAKE_CUPTI_CLOCK");
    in_ticks = clock && !strcmp(clock, "ticks");
}

/* --- connection to the driver ------------------------------------------ */

int
fk_check_call(const char *function)
{
    if (fk_forked) {
        fk_misuse("%s in a forked child", function);
        return CUPTI_ERROR_NOT_INITIALIZED;
    }
    fk_used = true;
    return fail ? fk_fails(fail, function, CUPTI_ERROR_UNKNOWN) : 0;
}

/* The same for "function/number". */
int
fk_check_number(const char *function, uint32_t number)
{
    char name[64];
    snprintf(name, sizeof(name), "%s/%u", function, (unsigned)number);
    return fail ? fk_fails(fail, name, CUPTI_ERROR_UNKNOWN) : 0;
}

static void *
open_driver(void)
{
    const char *path = getenv("LINEPROF_CUDA");
    return path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* Return whether the driver is more than a library with its name. */
static bool
driver_works(void)
{
    void *driver = open_driver();
    int (*version)(int *) = NULL;
    int number;
    if (driver && dlsym(driver, "cuGetExportTable")) {
        *(void **)&version = dlsym(driver, "cuDriverGetVersion");
    }
    return version && !version(&number);
}

/* Min cuDriverGetVersion(): CUDA 13 runs on all of its drivers. */
static int
needed_driver(void)
{
    int cuda = fk_release_now()->cuda;
    return cuda > 13000 ? 13000 : cuda;
}

/* Find the driver as the real library does, and attach to it. */
static bool
attach(void)
{
    if (attached) {
        return true;
    }
    void *driver = open_driver();
    if (!driver) {
        return false;
    }
    void (*take)(const fk_tool *);
    int (*version)(void);
    *(void **)&take = dlsym(driver, "fk_attach");
    *(void **)&shift = dlsym(driver, "fk_shift");
    *(void **)&is_initialized = dlsym(driver, "fk_is_initialized");
    *(void **)&version = dlsym(driver, "fk_driver_version");
    if (!take || !shift || !version || version() < needed_driver()) {
        return false;
    }
    take(&fk_cupti_tool);
    attached = true;
    return true;
}

int
fk_driver(const char *function)
{
    void *driver = open_driver();
    int (*call)(void) = NULL;
    if (driver) {
        *(void **)&call = dlsym(driver, function);
    }
    return call ? call() : 0;
}

static bool
has_driver(void)
{
    pthread_mutex_lock(&lock);
    bool found = attach();
    pthread_mutex_unlock(&lock);
    return found;
}

/* Result of all functions if the driver is missing or older than CUPTI. */
int
fk_check_driver(const char *function)
{
    int result = fk_check_call(function);
    if (result || has_driver()) {
        return result;
    }
    return fk_release_now()->version < 130000 ? CUPTI_ERROR_NOT_INITIALIZED
                                              : CUPTI_ERROR_UNKNOWN;
}

bool
fk_driver_is_initialized(void)
{
    return has_driver() && is_initialized();
}

bool
fk_shared(void)
{
    return shared;
}

void
fk_outside_callbacks(const char *function)
{
    if (fk_inside) {
        fk_misuse("%s from inside a callback of CUPTI's", function);
    }
}

/* --- versions and results ---------------------------------------------- */

int
cuptiGetVersion(uint32_t *version)
{
    uint32_t mine = fk_release_now()->version;
    bool early = mine < 130300; /* no driver is needed for the number */
    if (early && mine >= 130200 && !driver_works()) {
        fk_misuse("cuptiGetVersion of CUDA 13.2 without a driver: it would "
                  "overflow its stack");
    }
    bool driver = early || has_driver();
    int result = fk_check_call("cuptiGetVersion");
    if (!result && !driver) {
        result = CUPTI_ERROR_UNKNOWN;
    }
    *version = result ? 0 : mine;
    return result;
}

int
cuptiGetResultString(int result, const char **text)
{
    *text = result == 0    ? "CUPTI_SUCCESS"
            : result == 14 ? "CUPTI_ERROR_NOT_COMPATIBLE"
            : result == 15 ? "CUPTI_ERROR_NOT_INITIALIZED"
            : result == 27 ? "CUPTI_ERROR_NOT_SUPPORTED"
            : result == 29 ? "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE"
            : result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
            : result == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                           : "CUPTI_ERROR_UNKNOWN";
    return fk_check_call("cuptiGetResultString");
}

int
cuptiGetErrorMessage(int result, const char **text)
{
    *text = result ? "an error of the double" : "no error";
    return fk_check_call("cuptiGetErrorMessage");
}

/* Misuse in a process with other tools, so that clients must not call it. */
int
cuptiFinalize(void)
{
    fk_misuse("cuptiFinalize was called");
    return CUPTI_SUCCESS;
}

/* --- the clock ------------------------------------------------------- */

uint64_t
fk_cupti_own_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t
fk_cupti_now(void)
{
    fk_clock *clock = in_ticks ? NULL : given_clock;
    return clock ? clock() : fk_cupti_own_clock();
}

/* Read both clocks, one as soon after the other as they ever were. */
static void
read_clocks(fk_clock *clock, uint64_t *own, uint64_t *ticks)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = fk_cupti_own_clock(), read = clock();
        uint64_t took = fk_cupti_own_clock() - before;
        if (took < least) {
            least = took;
            *own = before;
            *ticks = read;
        }
    }
}

int
cuptiGetTimestamp(uint64_t *timestamp)
{
    int result = fk_check_call("cuptiGetTimestamp");
    if (!result && fk_release_now()->version >= 130300) {
        result = fk_check_driver("cuptiGetTimestamp");
    }
    if (!result) {
        fk_clock *clock = given_clock;
        *timestamp = clock ? clock() : fk_cupti_own_clock();
    }
    return result;
}

/* The first clock that a client without a version gives, or the only one that
 * a subscriber gives, is that of the device. */
void
fk_give_clock(fk_client *client, fk_clock *clock)
{
    pthread_mutex_lock(&lock);
    client->clock = clock;
    if (clock && (!given_clock || client == &fk_global)) {
        uint64_t before = fk_cupti_now();
        given_clock = clock;
        if (in_ticks) {
            read_clocks(clock, &given_at, &given_ticks);
        }
        else {
            shift((int64_t)(clock() - before));
        }
    }
    pthread_mutex_unlock(&lock);
}

/* Set the times of a record by the clock that was given, which need not count
 * ns. */
static void
set_in_ticks(fk_clock *clock, fk_work *work)
{
    uint64_t own = 0, ticks = 0;
    read_clocks(clock, &own, &ticks);
    long double rate = own > given_at ? (long double)(ticks - given_ticks) /
                                            (long double)(own - given_at)
                                      : 1;
    long double since = (long double)(int64_t)(work->start - given_at);
    long double took = (long double)(work->end - work->start);
    work->start = given_ticks + (uint64_t)(int64_t)(rate * since);
    work->end = work->start + (uint64_t)(rate * took);
}

/* Set the times of a record by the clock of its client. */
void
fk_set_times(const fk_client *client, fk_work *work, uint64_t advance)
{
    fk_clock *clock = given_clock;
    if (in_ticks && clock && client == &fk_global) {
        set_in_ticks(clock, work);
        return;
    }
    work->start += advance;
    work->end += advance;
}

uint64_t
fk_shift_of(const fk_client *client)
{
    fk_clock *mine = client->clock, *device = given_clock;
    if (client == &fk_global || mine == device) {
        return 0;
    }
    return (mine ? mine() : fk_cupti_own_clock()) - fk_cupti_now();
}
