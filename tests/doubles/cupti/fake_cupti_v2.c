/* Functions whose presence tells clients the release of CUPTI.
 *
 * FAKE_CUPTI_SYMBOLS=130200 defines those of CUDA 13.2, 130300 of 13.3 and
 * 130400 of 13.4; calls of them fail, but for those that ask for other tools.
 * cuptiSubscribe_v2 tells who holds CUPTI: FAKE_CUPTI_HOLDER.
 */
#include "cupti/fake_cupti.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct { /* CUpti_SubscriberParams, as of 13.0 */
    size_t size;
    const char *name;
    char *holder;
    size_t holder_size;
} subscriber_parameters;

FK_EXPORT int cuptiSubscribe_v2(void **subscriber, void *callback,
                                void *userdata,
                                subscriber_parameters *parameters);
FK_EXPORT int cuptiActivityEnable_v2(void *subscriber, uint32_t kind,
                                     void *config);
FK_EXPORT int cuptiActivityGetEnabledKinds(void *subscriber, uint32_t *kinds,
                                           uint32_t *size, uint32_t *count);

int
cuptiSubscribe_v2(void **subscriber, void *callback, void *userdata,
                  subscriber_parameters *parameters)
{
    int result = fk_check_driver("cuptiSubscribe_v2");
    const char *holder = getenv("FAKE_CUPTI_HOLDER");
    (void)userdata;
    fk_outside_callbacks("cuptiSubscribe_v2");
    if (result) {
        return result;
    }
    if (!subscriber || !callback ||
        (parameters && parameters->size < sizeof *parameters)) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (fk_env("FAKE_CUPTI_SUBSCRIBE_RC", 0) !=
        CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        return CUPTI_ERROR_NOT_SUPPORTED;
    }
    if (parameters && parameters->holder && holder) {
        snprintf(parameters->holder, parameters->holder_size, "%s", holder);
    }
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

int
cuptiActivityEnable_v2(void *subscriber, uint32_t kind, void *config)
{
    (void)subscriber, (void)kind, (void)config;
    return CUPTI_ERROR_NOT_SUPPORTED;
}

/* Count the enabled kinds of all tools. */
int
cuptiActivityGetEnabledKinds(void *subscriber, uint32_t *kinds, uint32_t *size,
                             uint32_t *count)
{
    int result = fk_check_driver("cuptiActivityGetEnabledKinds");
    if (result) {
        return result;
    }
    if (!count || subscriber || kinds || size) {
        return CUPTI_ERROR_INVALID_PARAMETER; /* lists are not emulated */
    }
    *count = 0;
    for (size_t kind = 0; kind < FK_KINDS; kind++) {
        *count += fk_kinds[kind] != 0;
    }
    return CUPTI_SUCCESS;
}

#if FAKE_CUPTI_SYMBOLS >= 130300
FK_EXPORT int cuptiIsTracingSessionRunning(uint8_t *running);

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

FK_EXPORT int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer,
                                            size_t valid, void **record);

int
cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid,
                              void **record)
{
    (void)subscriber, (void)buffer, (void)valid, (void)record;
    return CUPTI_ERROR_NOT_SUPPORTED;
}
#endif

#if FAKE_CUPTI_SYMBOLS >= 130400
FK_EXPORT int cuptiClockControlLock(void *parameters);

int
cuptiClockControlLock(void *parameters)
{
    (void)parameters;
    return CUPTI_ERROR_NOT_SUPPORTED;
}
#endif
