/* Functions of subscribers by cuptiSubscribe_v2, and those whose presence
 * tells clients the release of CUPTI.
 *
 * FAKE_CUPTI_SYMBOLS=130200 defines those of CUDA 13.2, 130300 of 13.3 and
 * 130400 of 13.4 and 13.5.  Several subscribers are possible from 13.3 on,
 * unless FAKE_CUPTI_SEVERAL=0: the driver is too old for them.
 */
#include "cupti/fake_cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { /* CUpti_SubscriberParams; up to holder_size as of 13.0 */
    size_t size;
    const char *name;
    char *holder;
    size_t holder_size;
    uint8_t several;
    uint8_t padding[7];
} subscriber_parameters;

enum { FIRST_SIZE = offsetof(subscriber_parameters, several) };

FK_EXPORT int cuptiSubscribe_v2(void **subscriber, fk_callback *callback,
                                void *userdata,
                                subscriber_parameters *parameters);
FK_EXPORT int cuptiActivityRegisterCallbacks_v2(void *subscriber,
                                                fk_requested_v2 *requested,
                                                fk_completed_v2 *completed);
FK_EXPORT int cuptiActivityEnable_v2(void *subscriber, uint32_t kind,
                                     void *config);
FK_EXPORT int cuptiActivityDisable_v2(void *subscriber, uint32_t kind,
                                      void *config);
FK_EXPORT int cuptiActivityGetEnabledKinds(void *subscriber, uint32_t *kinds,
                                           uint32_t *size, uint32_t *count);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- subscriptions ------------------------------------------------------ */

static void
tell_holder(subscriber_parameters *parameters, const char *name)
{
    if (parameters && parameters->holder && name && *name) {
        snprintf(parameters->holder, parameters->holder_size, "%s", name);
    }
}

/* Return whether a subscriber who wants this can be had, beside those who are
 * there; tells the first one's name. */
static int
may_subscribe(bool several, subscriber_parameters *parameters)
{
    const fk_client *first = fk_client_first();
    bool possible =
        fk_release_now()->version >= 130300 && fk_env("FAKE_CUPTI_SEVERAL", 1);
    int taken = (int)fk_env("FAKE_CUPTI_SUBSCRIBE_RC", 0);
    if (taken) {
        if (taken == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
            tell_holder(parameters, getenv("FAKE_CUPTI_HOLDER"));
        }
        return taken;
    }
    if (first) {
        tell_holder(parameters, first->name);
    }
    bool agreed = !first || (first->several && several);
    return fk_global.subscribed || !agreed || (several && !possible)
               ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
               : CUPTI_SUCCESS;
}

int
cuptiSubscribe_v2(void **subscriber, fk_callback *callback, void *userdata,
                  subscriber_parameters *parameters)
{
    int result = fk_check_driver("cuptiSubscribe_v2");
    fk_outside_callbacks("cuptiSubscribe_v2");
    if (result) {
        return result;
    }
    if (!subscriber || !callback ||
        (parameters && parameters->size < FIRST_SIZE)) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    bool several =
        parameters && parameters->size > FIRST_SIZE && parameters->several;
    pthread_mutex_lock(&lock);
    result = may_subscribe(several, parameters);
    if (!result) {
        fk_client *made = fk_client_add();
        made->several = several;
        made->callback = callback;
        made->userdata = userdata;
        if (parameters && parameters->name) {
            snprintf(made->name, sizeof made->name, "CUPTI for %s",
                     parameters->name);
        }
        if (fk_env("FAKE_CUPTI_OWN_NAME", 0) && !fk_client_first()) {
            tell_holder(parameters, made->name);
        }
        made->subscribed = true;
        *subscriber = made;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* --- activities of a subscriber ------------------------------------------ */

int
cuptiActivityRegisterCallbacks_v2(void *subscriber, fk_requested_v2 *requested,
                                  fk_completed_v2 *completed)
{
    fk_client *client;
    int result = fk_check_scoped("cuptiActivityRegisterCallbacks_v2",
                                 subscriber, &client);
    fk_outside_callbacks("cuptiActivityRegisterCallbacks_v2");
    if (!result && (!requested || !completed)) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        fk_worker_register_v2(client, requested, completed);
    }
    return result;
}

int
cuptiActivityEnable_v2(void *subscriber, uint32_t kind, void *config)
{
    fk_client *client;
    int result =
        fk_check_scoped("cuptiActivityEnable_v2", subscriber, &client);
    if (!fk_inside_resource) {
        fk_outside_callbacks("cuptiActivityEnable_v2");
    }
    if (!result && config) {
        return CUPTI_ERROR_NOT_SUPPORTED; /* it is not emulated */
    }
    return result ? result
                  : fk_enable_kind("cuptiActivityEnable_v2", client, kind);
}

int
cuptiActivityDisable_v2(void *subscriber, uint32_t kind, void *config)
{
    fk_client *client;
    int result =
        fk_check_scoped("cuptiActivityDisable_v2", subscriber, &client);
    (void)config;
    return result ? result
                  : fk_disable_kind("cuptiActivityDisable_v2", client, kind);
}

static bool
is_enabled(const fk_client *client, uint32_t kind)
{
    fk_client *each;
    bool found = client && client->kinds[kind];
    for (uint32_t i = 0; !client && (each = fk_client_at(i)); i++) {
        found = found || each->kinds[kind];
    }
    return found;
}

/* List the enabled kinds of a subscriber, or, for NULL, of anybody. */
int
cuptiActivityGetEnabledKinds(void *subscriber, uint32_t *kinds, uint32_t *size,
                             uint32_t *count)
{
    int result = fk_check_driver("cuptiActivityGetEnabledKinds");
    if (!result && subscriber) {
        result =
            fk_check_subscriber("cuptiActivityGetEnabledKinds", subscriber);
    }
    if (result) {
        return result;
    }
    if (!count || (kinds && !size)) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    *count = 0;
    for (uint32_t kind = 1; kind < FK_KINDS; kind++) {
        if (!is_enabled(subscriber, kind)) {
            continue;
        }
        if (kinds && *count < *size) {
            kinds[*count] = kind;
        }
        ++*count;
    }
    return CUPTI_SUCCESS;
}

#if FAKE_CUPTI_SYMBOLS >= 130300
FK_EXPORT int cuptiIsTracingSessionRunning(uint8_t *running);
FK_EXPORT int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer,
                                            size_t valid, uint8_t **record);
FK_EXPORT int cuptiActivityGetNumDroppedRecords_v2(void *subscriber,
                                                   void *context,
                                                   uint32_t stream,
                                                   size_t *count);
FK_EXPORT int cuptiGetTimestamp_v2(void *subscriber, uint64_t *timestamp);
FK_EXPORT int cuptiActivityEnableDriverApi_v2(void *subscriber, uint32_t cbid,
                                              uint8_t enable);
FK_EXPORT int cuptiActivityEnableRuntimeApi_v2(void *subscriber, uint32_t cbid,
                                               uint8_t enable);

/* Whether CUPTI is in use, by any call of anybody, whether or not something is
 * recorded.  Headers of 13.2 declare the function, which only 13.3 has. */
int
cuptiIsTracingSessionRunning(uint8_t *running)
{
    bool used = fk_used;
    int result = fk_check_driver("cuptiIsTracingSessionRunning");
    fk_used = used;
    if (!result && !running) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        *running = used;
    }
    return result;
}

int
cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid,
                              uint8_t **record)
{
    int result = fk_check_call("cuptiActivityGetNextRecord_v2");
    if (!result && (!subscriber || !buffer || !record)) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (result) {
        return result;
    }
    const fk_client *owner = fk_buffers_owner(buffer);
    if (owner != subscriber) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!owner->subscribed) {
        fk_misuse("a record is read after its subscriber was unsubscribed");
    }
    return fk_next_record(buffer, valid, record);
}

int
cuptiActivityGetNumDroppedRecords_v2(void *subscriber, void *context,
                                     uint32_t stream, size_t *count)
{
    fk_client *client;
    int result = fk_check_scoped("cuptiActivityGetNumDroppedRecords_v2",
                                 subscriber, &client);
    (void)context, (void)stream;
    if (!result && !count) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        *count = fk_worker_dropped(client);
    }
    return result;
}

/* The clock of the library in 13.3, that of the subscriber from 13.4 on. */
int
cuptiGetTimestamp_v2(void *subscriber, uint64_t *timestamp)
{
    int result = fk_check_driver("cuptiGetTimestamp_v2");
    if (!result && (!subscriber || !timestamp)) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        result = fk_check_subscriber("cuptiGetTimestamp_v2", subscriber);
    }
    if (result) {
        return result;
    }
    const fk_client *client = subscriber;
    fk_clock *clock = client->clock;
    bool own = fk_release_now()->version >= 130400;
    *timestamp = own && clock ? clock() : fk_cupti_own_clock();
    return CUPTI_SUCCESS;
}

static int
enable_record(const char *function, void *subscriber, uint32_t domain,
              uint32_t cbid, uint8_t enable)
{
    fk_client *client;
    int result = fk_check_scoped(function, subscriber, &client);
    return result ? result : fk_enable_record(client, domain, cbid, enable);
}

int
cuptiActivityEnableDriverApi_v2(void *subscriber, uint32_t cbid,
                                uint8_t enable)
{
    return enable_record("cuptiActivityEnableDriverApi_v2", subscriber,
                         FK_DRIVER, cbid, enable);
}

int
cuptiActivityEnableRuntimeApi_v2(void *subscriber, uint32_t cbid,
                                 uint8_t enable)
{
    return enable_record("cuptiActivityEnableRuntimeApi_v2", subscriber,
                         FK_RUNTIME, cbid, enable);
}
#endif

#if FAKE_CUPTI_SYMBOLS >= 130400
FK_EXPORT int cuptiClockControlLock(fk_context *context, int mode);

int
cuptiClockControlLock(fk_context *context, int mode)
{
    (void)context, (void)mode;
    return CUPTI_ERROR_NOT_SUPPORTED;
}
#endif
