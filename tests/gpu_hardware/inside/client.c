/* A tool that records kernels with CUPTI, in one of the ways that tools have.
 *
 * It has one pair of buffer callbacks and counts kernels.  Each call of CUPTI
 * that it makes is in a log, with its status, for the reader of the results.
 * A buffer that is not of this tool is counted, not read and not freed.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20, MAX = 256, KERNEL = 10, NAME = 64, MISSING = -2 };
enum { DRIVER_CALLS = 1, LAUNCH = 307 };

/* The ways: cuptiSubscribe; cuptiSubscribe_v2 without others, as of 13.0;
 * cuptiSubscribe_v2 with others, and _v2 of all else; no subscription. */
enum { SUBSCRIBED, NAMED, SEVERAL, RECORDS };

typedef struct { /* CUpti_SubscriberParams; of 13.0 without the last two */
    size_t size;
    const char *name;
    char *holder;
    size_t holder_size;
    uint8_t several;
    uint8_t padding[7];
} parameters;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *out[MAX]; /* handed out and not given back; under lock */
static int kernels, foreign, calls;
static void *library, *subscriber;
static int way;
static char holder[NAME], written[4096];
static size_t used;

/* Note a call and its status. */
static int
note(const char *name, int status)
{
    used += (size_t)snprintf(written + used, sizeof written - used, "%s%s %d",
                             used != 0 ? ", " : "", name, status);
    used = used < sizeof written ? used : sizeof written - 1;
    return status;
}

static void *
find(const char *name)
{
    return dlsym(library, name);
}

/* Call a function of CUPTI, or note that there is none. */
#define CALL(name, type, ...)                                                 \
    (find("cupti" name) == NULL                                               \
         ? note(name, MISSING)                                                \
         : note(name, ((int(*) type)find("cupti" name))(__VA_ARGS__)))

static void
on_call(void *unused, uint32_t domain, uint32_t id, const void *data)
{
    (void)unused, (void)domain, (void)id, (void)data;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

static void
give(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = aligned_alloc(64, BYTES);
    *size = *buffer != NULL ? BYTES : 0;
    *records = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX; i++) {
        if (out[i] == NULL) {
            out[i] = *buffer;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

static void
take(uint8_t *buffer, size_t valid)
{
    int (*next)(uint8_t *, size_t, uint8_t **);
    int (*next_v2)(void *, uint8_t *, size_t, uint8_t **);
    uint8_t *record = NULL;
    bool ours = false;

    *(void **)&next = find("cuptiActivityGetNextRecord");
    *(void **)&next_v2 = find("cuptiActivityGetNextRecord_v2");
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX && !ours; i++) {
        if (out[i] == buffer) {
            out[i] = NULL;
            ours = true;
        }
    }
    foreign += !ours;
    pthread_mutex_unlock(&lock);
    if (!ours) {
        return;
    }
    while ((way == SEVERAL ? next_v2(subscriber, buffer, valid, &record)
                           : next(buffer, valid, &record)) == 0) {
        uint32_t kind;

        memcpy(&kind, record, sizeof kind);
        __atomic_fetch_add(&kernels, kind == KERNEL, __ATOMIC_RELAXED);
    }
    free(buffer);
}

static void
on_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
             size_t valid)
{
    (void)context, (void)stream, (void)size;
    take(buffer, valid);
}

static void
on_requested_v2(uint8_t **buffer, size_t *size, size_t *records, void *info)
{
    (void)info;
    give(buffer, size, records);
}

static void
on_completed_v2(uint8_t *buffer, size_t size, size_t valid, void *info)
{
    (void)size, (void)info;
    take(buffer, valid);
}

static int
subscribe(void)
{
    parameters wanted = {
        .size = way == SEVERAL ? sizeof wanted : offsetof(parameters, several),
        .name = "the lab",
        .holder = holder,
        .holder_size = sizeof holder,
        .several = way == SEVERAL};
    int status = 0;

    if (way == SUBSCRIBED) {
        status = CALL("Subscribe", (void **, void *, void *), &subscriber,
                      (void *)on_call, NULL);
    }
    else if (way != RECORDS) {
        status = CALL("Subscribe_v2", (void **, void *, void *, parameters *),
                      &subscriber, (void *)on_call, NULL, &wanted);
    }
    if (status != 0) {
        subscriber = NULL;
    }
    else if (way != RECORDS) {
        status = CALL("EnableCallback", (uint32_t, void *, uint32_t, uint32_t),
                      1, subscriber, DRIVER_CALLS, LAUNCH);
    }
    return status;
}

/* End the subscription, if there is one. */
static int
unsubscribe(void)
{
    int status = 0;

    if (subscriber != NULL) {
        status = CALL("Unsubscribe", (void *), subscriber);
        subscriber = NULL;
    }
    return status;
}

/* Record with this libcupti from now on; 0, or the first bad status, and then
 * nothing is left behind. */
int
client_open(const char *path, int chosen)
{
    int status;

    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return note("dlopen", -1);
    }
    way = chosen;
    holder[0] = '\0';
    subscriber = NULL;
    status = subscribe();
    if (status != 0) {
        unsubscribe();
        return status;
    }
    status = way == SEVERAL
                 ? CALL("ActivityRegisterCallbacks_v2",
                        (void *, void *, void *), subscriber,
                        (void *)on_requested_v2, (void *)on_completed_v2)
                 : CALL("ActivityRegisterCallbacks", (void *, void *),
                        (void *)give, (void *)on_completed);
    if (status == 0) {
        status = way == SEVERAL
                     ? CALL("ActivityEnable_v2", (void *, uint32_t, void *),
                            subscriber, KERNEL, NULL)
                     : CALL("ActivityEnable", (uint32_t), KERNEL);
    }
    if (status != 0) {
        unsubscribe();
    }
    return status;
}

/* Let CUPTI bring records. */
int
client_flush(void)
{
    int (*flush)(uint32_t);

    *(void **)&flush = find("cuptiActivityFlushAll");
    return flush(0);
}

/* Record no more; 0, or the first bad status. */
int
client_close(void)
{
    int status = way == SEVERAL
                     ? CALL("ActivityDisable_v2", (void *, uint32_t, void *),
                            subscriber, KERNEL, NULL)
                     : CALL("ActivityDisable", (uint32_t), KERNEL);
    int last = unsubscribe();

    return status != 0 ? status : last;
}

/* 0: kernels, 1: callbacks of launches, 2: buffers of others. */
int
client_count(int which)
{
    const int *number = which == 0 ? &kernels : which == 1 ? &calls : &foreign;

    return __atomic_load_n(number, __ATOMIC_RELAXED);
}

const char *
client_holder(void)
{
    return holder;
}

/* The calls since the last time, and their status; MISSING: CUPTI has none. */
const char *
client_log(void)
{
    static char said[sizeof written];

    memcpy(said, written, sizeof said);
    written[0] = '\0';
    used = 0;
    return said;
}
