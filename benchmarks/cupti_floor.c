/* The floor of recording with CUPTI: the subscription, the kinds of records
 * and the callbacks of lineprof, with callbacks that do nothing.
 *
 *   cc -std=c11 -O2 -D_GNU_SOURCE -shared -fPIC benchmarks/cupti_floor.c \
 *      -ldl -o cupti_floor.so
 *
 * A program loads it with ctypes and calls floor_open(path of libcupti), which
 * returns 0, CUPTI's status, or -1 if the library cannot be used.  A loop of
 * launches then costs at least what it costs under any profiler that uses
 * CUPTI: lineprof's part is the rest.  floor_records() is the number of
 * records that have come; floor_close() flushes and unsubscribes.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../csrc/gpu/cupti_abi.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int floor_open(const char *library);
EXPORT int floor_close(void);
EXPORT unsigned long floor_records(void);

enum { BUFFER_BYTES = 2 << 20, ALIGNMENT = 64 };

/* Driver calls that launch work, as in cupti_callbacks.c; without copies. */
static const uint32_t launches[] = {115, 116, 117, 307, 442, 477,
                                    478, 480, 514, 515, 652, 653};

static const uint32_t kinds[] = {LP_CUPTI_CONCURRENT_KERNEL, LP_CUPTI_MEMCPY,
                                 LP_CUPTI_MEMCPY2, LP_CUPTI_MEMSET};

enum {
    N_LAUNCHES = sizeof(launches) / sizeof(launches[0]),
    N_KINDS = sizeof(kinds) / sizeof(kinds[0])
};

typedef void (*callback_fn)(void *, uint32_t, uint32_t, const void *);
typedef void (*requested_fn)(uint8_t **, size_t *, size_t *);
typedef void (*completed_fn)(void *, uint32_t, uint8_t *, size_t, size_t);

static struct {
    int (*subscribe)(void **, callback_fn, void *);
    int (*unsubscribe)(void *);
    int (*enable_callback)(uint32_t, void *, uint32_t, uint32_t);
    int (*register_callbacks)(requested_fn, completed_fn);
    int (*register_clock)(uint64_t (*)(void));
    int (*set_attribute)(uint32_t, size_t *, void *);
    int (*enable)(uint32_t);
    int (*flush)(uint32_t);
    int (*next_record)(uint8_t *, size_t, void **);
} cupti;

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(name, field) {"cupti" name, offsetof(__typeof__(cupti), field)}
    SYMBOL("Subscribe", subscribe),
    SYMBOL("Unsubscribe", unsubscribe),
    SYMBOL("EnableCallback", enable_callback),
    SYMBOL("ActivityRegisterCallbacks", register_callbacks),
    SYMBOL("ActivityRegisterTimestampCallback", register_clock),
    SYMBOL("ActivitySetAttribute", set_attribute),
    SYMBOL("ActivityEnable", enable),
    SYMBOL("ActivityFlushAll", flush),
    SYMBOL("ActivityGetNextRecord", next_record),
#undef SYMBOL
};

static void *subscriber;
static unsigned long records; /* atomic */

static bool
load(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *found = handle != NULL ? dlsym(handle, symbols[i].name) : NULL;

        if (found == NULL) {
            return false;
        }
        memcpy((char *)&cupti + symbols[i].offset, &found, sizeof(found));
    }
    return true;
}

static void
on_callback(void *unused, uint32_t domain, uint32_t id, const void *data)
{
    (void)unused;
    (void)domain;
    (void)id;
    (void)data;
}

static void
on_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *size = BUFFER_BYTES;
    *max_records = 0;
    *buffer = aligned_alloc(ALIGNMENT, BUFFER_BYTES);
}

static void
on_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
             size_t valid)
{
    void *record = NULL;

    (void)context;
    (void)stream;
    (void)size;
    while (valid > 0 &&
           cupti.next_record(buffer, valid, &record) == LP_CUPTI_OK) {
        __atomic_fetch_add(&records, 1, __ATOMIC_RELAXED);
    }
    free(buffer);
}

static uint64_t
monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int
floor_open(const char *library)
{
    uint8_t per_thread = 1;
    size_t size = sizeof(per_thread);
    int status;

    if (!load(library)) {
        return -1;
    }
    status = cupti.subscribe(&subscriber, on_callback, NULL);
    if (status != LP_CUPTI_OK) {
        return status;
    }
    cupti.register_clock(monotonic);
    cupti.set_attribute(LP_CUPTI_ATTR_PER_THREAD_BUFFERS, &size, &per_thread);
    status = cupti.register_callbacks(on_requested, on_completed);
    for (int i = 0; status == LP_CUPTI_OK && i < N_LAUNCHES; i++) {
        /* A call that is newer than the library is rejected. */
        cupti.enable_callback(1, subscriber, LP_CUPTI_DOMAIN_DRIVER_API,
                              launches[i]);
    }
    for (int i = 0; status == LP_CUPTI_OK && i < N_KINDS; i++) {
        status = cupti.enable(kinds[i]);
    }
    return status;
}

unsigned long
floor_records(void)
{
    return __atomic_load_n(&records, __ATOMIC_RELAXED);
}

int
floor_close(void)
{
    int status = cupti.flush(0);

    /* Kinds remain enabled: CUPTI 13.0 hangs in disabling one. */
    cupti.unsubscribe(subscriber);
    return status;
}
