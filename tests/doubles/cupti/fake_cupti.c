/* Double of libcupti: subscription, clock and activity functions.
 *
 * Knobs are environment variables, FAKE_CUPTI_*; tests/helpers/gpu_double.py
 * lists them.  Misuse that the real library answers with a crash, a deadlock
 * or wrong numbers ends the process with a message.
 */
#include "cupti/fake_cupti.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef uint64_t client_clock(void);

typedef struct { /* CUpti_ActivityUnifiedMemoryCounterConfig */
    uint32_t scope, kind, device, enable;
} migration_config;

FK_EXPORT int cuptiGetVersion(uint32_t *version);
FK_EXPORT int cuptiGetTimestamp(uint64_t *timestamp);
FK_EXPORT int cuptiGetResultString(int result, const char **text);
FK_EXPORT int cuptiGetErrorMessage(int result, const char **text);
FK_EXPORT int cuptiFinalize(void);
FK_EXPORT int cuptiActivityRegisterTimestampCallback(client_clock *clock);
FK_EXPORT int cuptiActivityRegisterCallbacks(fk_requested *requested,
                                             fk_completed *completed);
FK_EXPORT int cuptiActivityEnable(uint32_t kind);
FK_EXPORT int cuptiActivityDisable(uint32_t kind);
FK_EXPORT int cuptiActivityFlushAll(uint32_t flag);
FK_EXPORT int cuptiActivityFlushPeriod(uint32_t ms);
FK_EXPORT int fk_flush_calls(void); /* of cuptiActivityFlushAll */
FK_EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream,
                                                size_t *count);
FK_EXPORT int cuptiActivitySetAttribute(uint32_t attribute, size_t *size,
                                        void *value);
FK_EXPORT int cuptiActivityGetAttribute(uint32_t attribute, size_t *size,
                                        void *value);
FK_EXPORT int
cuptiActivityConfigureUnifiedMemoryCounter(migration_config *configs,
                                           uint32_t count);

_Thread_local int fk_inside, fk_inside_resource;
_Atomic bool fk_used;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool attached, registered, any_kind; /* under lock */
static void (*shift)(int64_t);              /* fake_cuda's; under lock */
static int (*is_initialized)(void);         /* the same */
static _Atomic(client_clock *) given_clock;
static _Atomic bool migrations; /* counters were configured */
static const char *fail;
static bool shared; /* tools without a subscription record, too */
static _Atomic int flushes;

enum { THREAD_BUFFERS = 9 };    /* CUPTI_ACTIVITY_ATTR_PER_THREAD_... */
static int thread_buffers = -1; /* as set by the client; under lock */

__attribute__((constructor)) static void
start(void)
{
    fail = getenv("FAKE_CUPTI_FAIL");
    shared = fk_env("FAKE_CUPTI_SHARED", 0);
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

bool
fk_any_kind(void)
{
    pthread_mutex_lock(&lock);
    bool any = any_kind;
    pthread_mutex_unlock(&lock);
    return any;
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
    client_clock *clock = given_clock;
    return clock ? clock() : fk_cupti_own_clock();
}

int
cuptiGetTimestamp(uint64_t *timestamp)
{
    int result = fk_check_call("cuptiGetTimestamp");
    if (!result && fk_release_now()->version >= 130300) {
        result = fk_check_driver("cuptiGetTimestamp");
    }
    if (!result) {
        *timestamp = fk_cupti_now();
    }
    return result;
}

int
cuptiActivityRegisterTimestampCallback(client_clock *clock)
{
    int result = fk_check_driver("cuptiActivityRegisterTimestampCallback");
    fk_outside_callbacks("cuptiActivityRegisterTimestampCallback");
    if (result) {
        return result;
    }
    if (!clock) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    pthread_mutex_lock(&lock);
    if (any_kind && !shared) {
        fk_misuse("a kind was enabled before the clock was registered");
    }
    uint64_t before = fk_cupti_now();
    given_clock = clock;
    shift((int64_t)(clock() - before));
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

/* --- activities ------------------------------------------------------ */

int
cuptiActivityRegisterCallbacks(fk_requested *requested,
                               fk_completed *completed)
{
    int result = fk_check_call("cuptiActivityRegisterCallbacks");
    fk_outside_callbacks("cuptiActivityRegisterCallbacks");
    if (!result && fk_release_now()->version >= 130300) {
        result = fk_check_driver("cuptiActivityRegisterCallbacks");
    }
    if (result) {
        return result;
    }
    if (!requested || !completed) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    pthread_mutex_lock(&lock);
    if (registered && shared) {
        fk_worker_replace(requested, completed);
    }
    else if (registered) {
        fk_misuse("the buffer callbacks were registered twice");
    }
    else {
        fk_worker_start(requested, completed);
    }
    registered = true;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

int
cuptiActivityEnable(uint32_t kind)
{
    int result = fk_check_driver("cuptiActivityEnable");
    if (!fk_inside_resource) {
        fk_outside_callbacks("cuptiActivityEnable");
    }
    if (!result) {
        result = fk_check_number("cuptiActivityEnable", kind);
    }
    if (!result && (!kind || kind >= fk_release_now()->kinds)) {
        result = CUPTI_ERROR_INVALID_KIND;
    }
    bool kernels = kind == FK_KERNEL || kind == FK_KERNEL_SERIAL;
    if (!result && kernels && fk_kinds[FK_KERNEL + FK_KERNEL_SERIAL - kind]) {
        result = CUPTI_ERROR_NOT_COMPATIBLE;
    }
    if (!result && kind == FK_MIGRATION && !migrations) {
        fk_misuse("migrations are enabled, but no counter is configured");
    }
    pthread_mutex_lock(&lock);
    if (!result && !registered) {
        fk_misuse("a kind is enabled before the buffer callbacks are");
    }
    any_kind = any_kind || !result;
    pthread_mutex_unlock(&lock);
    if (!result) {
        fk_kinds[kind] = 1;
    }
    return result;
}

int
cuptiActivityDisable(uint32_t kind)
{
    int result = fk_check_driver("cuptiActivityDisable");
    fk_outside_callbacks("cuptiActivityDisable");
    if (!result && (!kind || kind >= fk_release_now()->kinds)) {
        result = CUPTI_ERROR_INVALID_KIND;
    }
    if (!result) {
        fk_kinds[kind] = 0;
    }
    return result;
}

int
fk_flush_calls(void)
{
    return flushes;
}

int
cuptiActivityFlushAll(uint32_t flag)
{
    flushes++;
    if (fk_fork_hangs("flush")) {
        fk_fork_wait();
    }
    int result = fk_check_driver("cuptiActivityFlushAll");
    fk_outside_callbacks("cuptiActivityFlushAll");
    if (result) {
        return result;
    }
    pthread_mutex_lock(&lock);
    bool ready = registered;
    pthread_mutex_unlock(&lock);
    if (!ready) {
        return CUPTI_ERROR_INVALID_OPERATION;
    }
    fk_worker_flush(flag & 1); /* CUPTI_ACTIVITY_FLAG_FLUSH_FORCED */
    return CUPTI_SUCCESS;
}

int
cuptiActivityFlushPeriod(uint32_t ms)
{
    int result = fk_check_driver("cuptiActivityFlushPeriod");
    if (!result) {
        fk_worker_period(ms);
    }
    return result;
}

int
cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream,
                                  size_t *count)
{
    (void)context;
    (void)stream;
    int result = fk_check_driver("cuptiActivityGetNumDroppedRecords");
    if (!result && !count) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        *count = fk_worker_dropped();
    }
    return result;
}

/* Most attributes are accepted and have no effect.  That of buffers for each
 * thread exists since 12.3, and is on since 13.0 unless it is set. */
static int
check_attribute(const char *function, uint32_t attribute, const size_t *size,
                const void *value)
{
    uint32_t version = fk_release_now()->version;
    int result = fk_check_driver(function);
    bool known = fk_is_newer_attribute(attribute)
                     ? version >= 130200
                     : attribute != THREAD_BUFFERS || version >= 21;
    if (!result) {
        result = fk_check_number(function, attribute);
    }
    bool fits = size && value && *size > 0;
    return result || (known && fits) ? result : CUPTI_ERROR_INVALID_PARAMETER;
}

int
cuptiActivitySetAttribute(uint32_t attribute, size_t *size, void *value)
{
    int result =
        check_attribute("cuptiActivitySetAttribute", attribute, size, value);
    if (!result && fk_is_newer_attribute(attribute)) {
        return fk_set_newer(attribute, *(uint8_t *)value);
    }
    if (result || attribute != THREAD_BUFFERS) {
        return result;
    }
    pthread_mutex_lock(&lock);
    if (registered && !shared) {
        fk_misuse("buffers for each thread are set after their callbacks");
    }
    thread_buffers = *(uint8_t *)value;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

int
cuptiActivityGetAttribute(uint32_t attribute, size_t *size, void *value)
{
    int result =
        check_attribute("cuptiActivityGetAttribute", attribute, size, value);
    if (result || attribute != THREAD_BUFFERS) {
        return result ? result : CUPTI_ERROR_INVALID_PARAMETER;
    }
    pthread_mutex_lock(&lock);
    *(uint8_t *)value = thread_buffers >= 0
                            ? (uint8_t)thread_buffers
                            : fk_release_now()->version >= 130000;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

int
cuptiActivityConfigureUnifiedMemoryCounter(migration_config *configs,
                                           uint32_t count)
{
    int result = fk_check_driver("cuptiActivityConfigureUnifiedMemoryCounter");
    if (!result && (!configs || !count)) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result && !is_initialized()) {
        result = CUPTI_ERROR_NOT_INITIALIZED;
    }
    for (uint32_t i = 0; !result && i < count; i++) {
        migrations = migrations || configs[i].enable;
    }
    return result;
}
