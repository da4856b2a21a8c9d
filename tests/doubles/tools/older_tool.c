/* Double of a tool that uses CUPTI's calls without a version.
 *
 * It names them, for the loader to find: as PyTorch's profiler does from 2.15
 * on, without a subscription, or, with TOOL_SUBSCRIBES, as it did before.
 * With TOOL_LOADS it finds them itself, as Triton's Proton does.
 */
#include "tools/tool_buffers.h"

#include <stdlib.h>

typedef void requested(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void completed(void *context, uint32_t stream, uint8_t *buffer,
                       size_t size, size_t valid);

int cuptiSubscribe(void **subscriber, tool_called *callback, void *userdata);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain,
                        uint32_t cbid);
int cuptiActivityRegisterCallbacks(requested *buffer_requested,
                                   completed *buffer_completed);
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                               uint8_t **record);

#ifdef TOOL_LOADS
#  define CUPTI(name) ((__typeof__(&cupti##name))tool_function("cupti" #name))
#else
#  define CUPTI(name) cupti##name
#endif

void
tool_name(const char *name, int several)
{
    (void)name, (void)several;
}

const char *
tool_holder(void)
{
    return "";
}

static void
on_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = tool_take(size);
    *max_records = 0;
}

/* Free another tool's buffer, as PyTorch's profiler does. */
static void
on_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
             size_t valid)
{
    uint8_t *record = NULL;
    (void)context, (void)stream, (void)size;
    if (!tool_take_back(buffer)) {
        tool_count_foreign();
        free(buffer);
        return;
    }
    while (!CUPTI(ActivityGetNextRecord)(buffer, valid, &record)) {
        tool_count(record);
    }
}

#ifdef TOOL_SUBSCRIBES
static void *subscriber; /* NULL: not subscribed */

static int
subscribe(void)
{
    int status = CUPTI(Subscribe)(&subscriber, tool_on_called, NULL);
    return status ? status
                  : CUPTI(EnableCallback)(1, subscriber, TOOL_DRIVER_CALLS,
                                          TOOL_LAUNCH);
}

static int
unsubscribe(void)
{
    int status = subscriber ? CUPTI(Unsubscribe)(subscriber) : 0;
    subscriber = NULL;
    return status;
}
#else
static int
subscribe(void)
{
    return 0;
}

static int
unsubscribe(void)
{
    return 0;
}
#endif

int
tool_begin(void)
{
    int status = subscribe();
    if (!status) {
        status = CUPTI(ActivityRegisterCallbacks)(on_requested, on_completed);
    }
    for (size_t i = 0; !status && i < TOOL_KINDS; i++) {
        status = CUPTI(ActivityEnable)(tool_kinds[i]);
    }
    return status;
}

int
tool_deliver(void)
{
    return CUPTI(ActivityFlushAll)(0);
}

/* Switch its kinds off, for everybody, and unsubscribe. */
int
tool_end(void)
{
    int status = CUPTI(ActivityFlushAll)(0);
    for (size_t i = 0; i < TOOL_KINDS; i++) {
        int next = CUPTI(ActivityDisable)(tool_kinds[i]);
        status = status ? status : next;
    }
    int last = unsubscribe();
    return status ? status : last;
}
