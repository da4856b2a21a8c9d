/* Kinds of records, buffer callbacks and flushes, by the calls without a
 * version, and what the calls of both families share.
 */
#include "cupti/fake_cupti.h"

#include <string.h>

typedef struct { /* CUpti_ActivityUnifiedMemoryCounterConfig */
    uint32_t scope, kind, device, enable;
} migration_config;

FK_EXPORT int cuptiActivityRegisterTimestampCallback(fk_clock *clock);
FK_EXPORT int cuptiActivityRegisterCallbacks(fk_requested *requested,
                                             fk_completed *completed);
FK_EXPORT int cuptiActivityEnable(uint32_t kind);
FK_EXPORT int cuptiActivityDisable(uint32_t kind);
FK_EXPORT int cuptiActivityFlushAll(uint32_t flag);
FK_EXPORT int cuptiActivityFlushPeriod(uint32_t ms);
FK_EXPORT int fk_flush_calls(void); /* of cuptiActivityFlushAll */
FK_EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream,
                                                size_t *count);
FK_EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                         uint8_t **record);
FK_EXPORT int
cuptiActivityConfigureUnifiedMemoryCounter(migration_config *configs,
                                           uint32_t count);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool any_kind; /* ever, by the calls without a version; under lock */
static _Atomic bool migrations; /* counters were configured */
static _Atomic int flushes;

int
cuptiActivityRegisterTimestampCallback(fk_clock *clock)
{
    int result = fk_check_driver("cuptiActivityRegisterTimestampCallback");
    fk_outside_callbacks("cuptiActivityRegisterTimestampCallback");
    if (!result && !clock) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        result = fk_check_global();
    }
    if (result) {
        return result;
    }
    pthread_mutex_lock(&lock);
    if (any_kind && !fk_shared()) {
        fk_misuse("a kind was enabled before the clock was registered");
    }
    pthread_mutex_unlock(&lock);
    fk_give_clock(&fk_global, clock);
    return CUPTI_SUCCESS;
}

int
cuptiActivityRegisterCallbacks(fk_requested *requested,
                               fk_completed *completed)
{
    int result = fk_check_call("cuptiActivityRegisterCallbacks");
    fk_outside_callbacks("cuptiActivityRegisterCallbacks");
    if (!result && fk_release_now()->version >= 130300) {
        result = fk_check_driver("cuptiActivityRegisterCallbacks");
    }
    if (!result && (!requested || !completed)) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        result = fk_check_global();
    }
    if (result) {
        return result;
    }
    pthread_mutex_lock(&lock);
    if (fk_global.registered && !fk_shared()) {
        fk_misuse("the buffer callbacks were registered twice");
    }
    else {
        fk_worker_register(&fk_global, requested, completed);
    }
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

/* Enable a kind of a client that may use the function. */
int
fk_enable_kind(const char *function, fk_client *client, uint32_t kind)
{
    int result = fk_check_number(function, kind);
    if (!result && (!kind || kind >= fk_release_now()->kinds)) {
        result = CUPTI_ERROR_INVALID_KIND;
    }
    bool kernels = kind == FK_KERNEL || kind == FK_KERNEL_SERIAL;
    if (!result && kernels &&
        client->kinds[FK_KERNEL + FK_KERNEL_SERIAL - kind]) {
        result = CUPTI_ERROR_NOT_COMPATIBLE;
    }
    if (!result && kind == FK_GRAPH && !fk_may_trace_graphs(client)) {
        result = CUPTI_ERROR_NOT_COMPATIBLE;
    }
    if (!result && kind == FK_MIGRATION && !migrations) {
        fk_misuse("migrations are enabled, but no counter is configured");
    }
    if (!result && !client->registered) {
        fk_misuse("a kind is enabled before the buffer callbacks are");
    }
    if (!result) {
        client->kinds[kind] = 1;
    }
    return result;
}

int
cuptiActivityEnable(uint32_t kind)
{
    int result = fk_check_driver("cuptiActivityEnable");
    if (!fk_inside_resource) {
        fk_outside_callbacks("cuptiActivityEnable");
    }
    if (!result) {
        result = fk_check_global();
    }
    if (!result) {
        result = fk_enable_kind("cuptiActivityEnable", &fk_global, kind);
    }
    pthread_mutex_lock(&lock);
    any_kind = any_kind || !result;
    pthread_mutex_unlock(&lock);
    return result;
}

int
fk_disable_kind(const char *function, fk_client *client, uint32_t kind)
{
    fk_outside_callbacks(function);
    if (!kind || kind >= fk_release_now()->kinds) {
        return CUPTI_ERROR_INVALID_KIND;
    }
    client->kinds[kind] = 0;
    return CUPTI_SUCCESS;
}

int
cuptiActivityDisable(uint32_t kind)
{
    int result = fk_check_driver("cuptiActivityDisable");
    if (!result) {
        result = fk_check_global();
    }
    return result ? result
                  : fk_disable_kind("cuptiActivityDisable", &fk_global, kind);
}

int
fk_flush_calls(void)
{
    return flushes;
}

static bool
anybody_registered(void)
{
    fk_client *client;
    for (uint32_t i = 0; (client = fk_client_at(i)); i++) {
        if (client->registered && fk_client_is_in_use(client)) {
            return true;
        }
    }
    return false;
}

/* Everybody's buffers, with one flag. */
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
    if (!anybody_registered()) {
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
        result = fk_check_global();
    }
    if (!result) {
        *count = fk_worker_dropped(&fk_global);
    }
    return result;
}

/* Iterate over a completed buffer, as is possible in all releases.
 *
 * record: NULL for the first record, else the previous one.
 */
int
fk_next_record(uint8_t *buffer, size_t valid, uint8_t **record)
{
    uint8_t *next = buffer;
    uint32_t kind;
    if (*record) {
        if (*record < buffer || *record >= buffer + valid) {
            fk_misuse(
                "cuptiActivityGetNextRecord: a record of another buffer");
        }
        memcpy(&kind, *record, sizeof kind);
        next = *record + fk_record_size(kind);
    }
    if (next >= buffer + valid) {
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    memcpy(&kind, next, sizeof kind);
    size_t size = fk_record_size(kind);
    if (!size || size > (size_t)(buffer + valid - next)) {
        return CUPTI_ERROR_INVALID_KIND;
    }
    *record = next;
    return CUPTI_SUCCESS;
}

int
cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record)
{
    int result = fk_check_call("cuptiActivityGetNextRecord");
    if (result) {
        return result;
    }
    if (!buffer || !record) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    const fk_client *owner = fk_buffers_owner(buffer);
    if (owner && owner->versioned) {
        return CUPTI_ERROR_NOT_COMPATIBLE;
    }
    return fk_next_record(buffer, valid, record);
}

int
cuptiActivityConfigureUnifiedMemoryCounter(migration_config *configs,
                                           uint32_t count)
{
    int result = fk_check_driver("cuptiActivityConfigureUnifiedMemoryCounter");
    if (!result && (!configs || !count)) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result && !fk_driver_is_initialized()) {
        result = CUPTI_ERROR_NOT_INITIALIZED;
    }
    for (uint32_t i = 0; !result && i < count; i++) {
        migrations = migrations || configs[i].enable;
    }
    return result;
}
