/* Attributes of activities: those of a client, and those of everybody.
 *
 * Without a version they are accepted and have no effect.  That of buffers for
 * each thread exists since 12.3, and is on since 13.0 unless it is set.
 */
#include "cupti/fake_cupti.h"

#include <string.h>

FK_EXPORT int cuptiActivitySetAttribute(uint32_t attribute, size_t *size,
                                        void *value);
FK_EXPORT int cuptiActivityGetAttribute(uint32_t attribute, size_t *size,
                                        void *value);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int thread_buffers = -1; /* as set without a version; under lock */
static int graphs = -1;         /* as a whole, for all; locked once set */

/* --- without a version -------------------------------------------------- */

static int
check_attribute(const char *function, uint32_t attribute, const size_t *size,
                const void *value)
{
    uint32_t version = fk_release_now()->version;
    int result = fk_check_driver(function);
    bool known = fk_is_newer_attribute(attribute)
                     ? version >= 130200
                     : attribute != FK_THREAD_BUFFERS || version >= 21;
    bool fits = size && value && *size > 0;
    if (!result && fk_several()) {
        return CUPTI_ERROR_NOT_SUPPORTED;
    }
    if (!result) {
        result = fk_check_number(function, attribute);
    }
    return result || (known && fits) ? result : CUPTI_ERROR_INVALID_PARAMETER;
}

int
cuptiActivitySetAttribute(uint32_t attribute, size_t *size, void *value)
{
    int result =
        check_attribute("cuptiActivitySetAttribute", attribute, size, value);
    if (!result && fk_is_newer_attribute(attribute)) {
        return fk_set_newer(&fk_global, attribute, *(uint8_t *)value);
    }
    if (result || attribute != FK_THREAD_BUFFERS) {
        return result;
    }
    if (fk_global.registered && !fk_shared()) {
        fk_misuse("buffers for each thread are set after their callbacks");
    }
    pthread_mutex_lock(&lock);
    thread_buffers = *(uint8_t *)value;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

int
cuptiActivityGetAttribute(uint32_t attribute, size_t *size, void *value)
{
    int result =
        check_attribute("cuptiActivityGetAttribute", attribute, size, value);
    if (result || attribute != FK_THREAD_BUFFERS) {
        return result ? result : CUPTI_ERROR_INVALID_PARAMETER;
    }
    pthread_mutex_lock(&lock);
    *(uint8_t *)value = thread_buffers >= 0
                            ? (uint8_t)thread_buffers
                            : fk_release_now()->version >= 130000;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

/* --- graphs ---------------------------------------------------------------
 */

/* Among several, a graph is one record for all, or none. */
bool
fk_graphs_as_a_whole(const fk_client *client)
{
    return client->several ? graphs == 1 : client->kinds[FK_GRAPH];
}

bool
fk_may_trace_graphs(const fk_client *client)
{
    return !client->several || graphs == 1;
}

#ifdef FAKE_CUPTI_SYMBOLS

/* --- of a subscriber ---------------------------------------------------- */

FK_EXPORT int cuptiActivitySetAttribute_v2(void *subscriber,
                                           uint32_t attribute, size_t *size,
                                           void *value);
FK_EXPORT int cuptiActivityGetAttribute_v2(void *subscriber,
                                           uint32_t attribute, size_t *size,
                                           void *value);

static uint32_t
attributes_of_release(void)
{
    return fk_release_now()->version >= 130500 ? FK_ATTRIBUTES
                                               : FK_ATTRIBUTES - 1;
}

static size_t
size_of(uint32_t attribute)
{
    return attribute == FK_CLOCK || attribute < 9 || attribute == 10 ||
                   attribute == 24
               ? 8
           : attribute == FK_THREAD_IDS ? 4
                                        : 1;
}

static bool
is_of_everybody(uint32_t attribute)
{
    return attribute == FK_SUBSCRIBER_STATE || attribute == FK_HARDWARE ||
           attribute == FK_GRAPHS_AS_A_WHOLE;
}

static int
check_attribute_v2(const char *function, void *subscriber, uint32_t attribute,
                   const size_t *size, const void *value, fk_client **client)
{
    int result = fk_check_driver(function);
    *client = NULL;
    if (!result && (!size || !value || attribute >= attributes_of_release())) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result && *size < size_of(attribute)) {
        result = CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    }
    if (!result && (subscriber || !is_of_everybody(attribute))) {
        result = fk_check_scoped(function, subscriber, client);
    }
    return result ? result : fk_check_number(function, attribute);
}

static int
set_for_everybody(uint32_t attribute, const uint8_t *value)
{
    int result = CUPTI_SUCCESS;
    if (attribute == FK_SUBSCRIBER_STATE) {
        return CUPTI_ERROR_INVALID_PARAMETER; /* it is read only */
    }
    if (attribute == FK_HARDWARE) {
        return fk_set_newer(NULL, attribute, *value);
    }
    if (attribute == FK_GRAPHS_AS_A_WHOLE && !fk_several()) {
        return CUPTI_SUCCESS; /* without effect */
    }
    if (fk_any_kind()) {
        fk_misuse("attribute %u is set after a kind was enabled",
                  (unsigned)attribute);
    }
    pthread_mutex_lock(&lock);
    if (graphs >= 0 && graphs != *value) {
        result = CUPTI_ERROR_INVALID_OPERATION; /* the first value remains */
    }
    else {
        graphs = *value;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static int
set_clock(fk_client *client, void *value)
{
    fk_clock *clock;
    if (client->several && fk_release_now()->version < 130400) {
        return CUPTI_ERROR_NOT_SUPPORTED;
    }
    for (size_t kind = 0; kind < FK_KINDS; kind++) {
        if (client->kinds[kind]) {
            fk_misuse("a kind was enabled before the clock was registered");
        }
    }
    memcpy(&clock, value, sizeof clock);
    fk_give_clock(client, clock);
    return CUPTI_SUCCESS;
}

int
cuptiActivitySetAttribute_v2(void *subscriber, uint32_t attribute,
                             size_t *size, void *value)
{
    fk_client *client;
    int result = check_attribute_v2("cuptiActivitySetAttribute_v2", subscriber,
                                    attribute, size, value, &client);
    fk_outside_callbacks("cuptiActivitySetAttribute_v2");
    if (result) {
        return result;
    }
    if (is_of_everybody(attribute)) {
        return set_for_everybody(attribute, value);
    }
    switch (attribute) {
    case FK_USER_DEFINED:
        return CUPTI_ERROR_NOT_SUPPORTED; /* not emulated */
    case FK_CLOCK:
        return set_clock(client, value);
    case FK_THREAD_IDS:
        memcpy((void *)&client->thread_ids, value, sizeof(int));
        return CUPTI_SUCCESS;
    case FK_THREAD_BUFFERS:
        if (client->registered) {
            fk_misuse("buffers for each thread are set after their callbacks");
        }
        break;
    }
    if (fk_is_newer_attribute(attribute)) {
        return fk_set_newer(client, attribute, *(uint8_t *)value);
    }
    if (size_of(attribute) == 1) {
        client->attributes[attribute] = (uint8_t)(1 + *(uint8_t *)value);
    }
    return CUPTI_SUCCESS;
}

static uint8_t
state_of_subscribers(void)
{
    return fk_client_first() ? fk_several() : 2;
}

int
cuptiActivityGetAttribute_v2(void *subscriber, uint32_t attribute,
                             size_t *size, void *value)
{
    fk_client *client;
    int result = check_attribute_v2("cuptiActivityGetAttribute_v2", subscriber,
                                    attribute, size, value, &client);
    if (result) {
        return result;
    }
    uint8_t small = attribute == FK_SUBSCRIBER_STATE ? state_of_subscribers()
                    : attribute == FK_HARDWARE       ? fk_hardware_clock
                    : attribute == FK_GRAPHS_AS_A_WHOLE ? graphs == 1
                                                        : 0;
    if (client && !is_of_everybody(attribute) && size_of(attribute) == 1) {
        uint8_t set = client->attributes[attribute];
        small = set ? (uint8_t)(set - 1) : attribute == FK_THREAD_BUFFERS;
    }
    if (attribute == FK_CLOCK) {
        fk_clock *clock = client->clock;
        memcpy(value, &clock, sizeof clock);
    }
    else if (attribute == FK_THREAD_IDS) {
        int type = client->thread_ids;
        memcpy(value, &type, sizeof type);
    }
    else if (size_of(attribute) == 1) {
        memcpy(value, &small, 1);
    }
    else {
        return CUPTI_ERROR_INVALID_PARAMETER; /* not emulated */
    }
    *size = size_of(attribute);
    return CUPTI_SUCCESS;
}

#endif
