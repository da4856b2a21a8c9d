/* Double of a tool that uses CUPTI as a subscriber by the calls with _v2, as
 * XLA's profiler and newer injections of Nsight Systems do.
 *
 * It has the buffers and the counts of one subscription at a time.
 */
#include "tools/tool_buffers.h"

typedef void requested(uint8_t **buffer, size_t *size, size_t *max_records,
                       void *info);
typedef void completed(uint8_t *buffer, size_t size, size_t valid, void *info);

typedef struct { /* CUpti_SubscriberParams */
    size_t size;
    const char *name;
    char *holder;
    size_t holder_size;
    uint8_t several;
    uint8_t padding[7];
} subscriber_parameters;

int cuptiSubscribe_v2(void **subscriber, tool_called *callback, void *userdata,
                      subscriber_parameters *parameters);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain,
                        uint32_t cbid);
int cuptiActivityRegisterCallbacks_v2(void *subscriber,
                                      requested *buffer_requested,
                                      completed *buffer_completed);
int cuptiActivityEnable_v2(void *subscriber, uint32_t kind, void *config);
int cuptiActivityDisable_v2(void *subscriber, uint32_t kind, void *config);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer,
                                  size_t valid, uint8_t **record);

#define CUPTI(name) ((__typeof__(&cupti##name))tool_function("cupti" #name))

static void *subscriber; /* NULL: not subscribed */
static const char *own_name = "XLA";
static bool allows_others = true;
static char holder[64];

void
tool_name(const char *name, int several)
{
    own_name = name;
    allows_others = several != 0;
}

const char *
tool_holder(void)
{
    return holder;
}

static void
on_requested(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
    (void)info;
    *buffer = tool_take(size);
    *max_records = 0;
}

static void
on_completed(uint8_t *buffer, size_t size, size_t valid, void *info)
{
    uint8_t *record = NULL;
    (void)size, (void)info;
    if (!tool_take_back(buffer)) {
        tool_count_foreign();
        return;
    }
    while (
        !CUPTI(ActivityGetNextRecord_v2)(subscriber, buffer, valid, &record)) {
        tool_count(record);
    }
}

int
tool_begin(void)
{
    subscriber_parameters wanted = {.size = sizeof wanted,
                                    .name = own_name,
                                    .holder = holder,
                                    .holder_size = sizeof holder,
                                    .several = allows_others};
    int status =
        CUPTI(Subscribe_v2)(&subscriber, tool_on_called, NULL, &wanted);
    if (status) {
        return status;
    }
    status =
        CUPTI(EnableCallback)(1, subscriber, TOOL_DRIVER_CALLS, TOOL_LAUNCH);
    if (!status) {
        status = CUPTI(ActivityRegisterCallbacks_v2)(subscriber, on_requested,
                                                     on_completed);
    }
    for (size_t i = 0; !status && i < TOOL_KINDS; i++) {
        status = CUPTI(ActivityEnable_v2)(subscriber, tool_kinds[i], NULL);
    }
    if (status) {
        CUPTI(Unsubscribe)(subscriber);
        subscriber = NULL;
    }
    return status;
}

int
tool_deliver(void)
{
    return CUPTI(ActivityFlushAll)(0);
}

int
tool_end(void)
{
    int status = CUPTI(ActivityFlushAll)(0);
    if (!subscriber) {
        return status;
    }
    for (size_t i = 0; i < TOOL_KINDS; i++) {
        int next = CUPTI(ActivityDisable_v2)(subscriber, tool_kinds[i], NULL);
        status = status ? status : next;
    }
    int last = CUPTI(Unsubscribe)(subscriber);
    subscriber = NULL;
    return status ? status : last;
}
