/* Callbacks of the double: subscriptions, and API records. */
#include "cupti/fake_cupti.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* CUpti_CallbackData; 72 bytes in every release */
typedef struct {
    int32_t site; /* 0 ENTER, 1 EXIT */
    const char *function_name;
    const void *function_params;
    void *function_return_value;
    const char *symbol_name;
    void *context;
    uint32_t context_uid;
    uint64_t *correlation_data;
    uint32_t correlation_id;
} callback_data;

_Static_assert(sizeof(callback_data) == 72, "as CUpti_CallbackData");
_Static_assert(offsetof(callback_data, correlation_id) == 64, "the same");

/* CUpti_ResourceData */
typedef struct {
    void *context;
    void *stream;
    const void *descriptor;
} resource_data;

typedef void client_callback(void *userdata, uint32_t domain, uint32_t cbid,
                             const void *data);

struct subscriber {
    client_callback *callback;
    void *userdata;
};

FK_EXPORT int cuptiSubscribe(struct subscriber **subscriber,
                             client_callback *callback, void *userdata);
FK_EXPORT int cuptiUnsubscribe(struct subscriber *subscriber);
FK_EXPORT int cuptiEnableCallback(uint32_t enable,
                                  struct subscriber *subscriber,
                                  uint32_t domain, uint32_t cbid);
FK_EXPORT int cuptiEnableDomain(uint32_t enable, struct subscriber *subscriber,
                                uint32_t domain);
FK_EXPORT int cuptiGetCallbackState(uint32_t *enable,
                                    struct subscriber *subscriber,
                                    uint32_t domain, uint32_t cbid);
FK_EXPORT int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
FK_EXPORT int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
FK_EXPORT int cuptiSetThreadIdType(int type);
FK_EXPORT int cuptiGetThreadIdType(int *type);

static struct subscriber only;
static _Atomic(struct subscriber *) subscribed; /* &only, or NULL */
static _Atomic uint8_t enabled[FK_DOMAINS][FK_CBIDS];
static _Atomic uint8_t without_records[FK_DOMAINS][FK_CBIDS];
static _Atomic int thread_id_type; /* 1: gettid(), else pthread_self() */

static void *
nonsense(void)
{
    uintptr_t bits = 0xA5A5A5A5A5A5A5A5u;
    return (void *)bits; /* value of invalid fields: reading there crashes */
}

/* --- calls from the driver --------------------------------------------- */

static void
tell(uint32_t domain, uint32_t cbid, const void *data)
{
    struct subscriber *client = subscribed;
    if (client && domain < FK_DOMAINS && cbid < FK_CBIDS &&
        enabled[domain][cbid]) {
        fk_inside++;
        fk_inside_resource += domain == FK_RESOURCE;
        client->callback(client->userdata, domain, cbid, data);
        fk_inside_resource -= domain == FK_RESOURCE;
        fk_inside--;
    }
}

static void
tell_call(fk_api_call *call, int32_t site)
{
    if (call->domain >= FK_DOMAINS || call->cbid >= FK_CBIDS ||
        !enabled[call->domain][call->cbid]) {
        return;
    }
    bool launch = call->symbol != NULL;
    callback_data data = {
        .site = site,
        .function_name = fk_function_name(call->domain, call->cbid),
        .function_params = call->parameters,
        .function_return_value = site ? &call->result : nonsense(),
        .symbol_name = launch ? call->symbol : nonsense(),
        .context = call->context,
        .context_uid = call->context ? call->context->uid : 0,
        .correlation_data = &call->scratch,
        .correlation_id = call->correlation,
    };
    tell(call->domain, call->cbid, &data);
}

static void
on_enter(fk_api_call *call)
{
    bool waits = call->domain == FK_DRIVER &&
                 (call->cbid == 17 || call->cbid == 121 || call->cbid == 126);
    if (waits && fk_inside) {
        fk_misuse("a callback of CUPTI's waits for the device");
    }
    tell_call(call, 0);
    call->start = fk_cupti_now();
}

static void
on_leave(fk_api_call *call)
{
    uint32_t kind = call->domain == FK_DRIVER ? FK_API_DRIVER : FK_API_RUNTIME;
    bool recorded = call->domain < FK_DOMAINS && call->cbid < FK_CBIDS &&
                    !without_records[call->domain][call->cbid];
    if (fk_kinds[kind] && recorded) {
        bool native = thread_id_type == 1;
        fk_work work = {
            .kind = kind,
            .variety = call->cbid,
            .start = call->start,
            .end = fk_cupti_now(),
            .correlation = call->correlation,
            .address = (uint32_t)call->result,
            .peer = native ? (uint32_t)syscall(SYS_gettid)
                           : (uint32_t)(uintptr_t)pthread_self(),
        };
        fk_worker_add(&work);
    }
    tell_call(call, 1);
}

static void
on_resource(uint32_t cbid, fk_context *context, const fk_graph_data *graph)
{
    resource_data data = {context, nonsense(), graph ? graph : nonsense()};
    if (cbid == 1) { /* CUPTI_CBID_RESOURCE_CONTEXT_CREATED */
        fk_worker_knows(context->uid);
    }
    tell(FK_RESOURCE, cbid, &data);
    if (cbid == 5) { /* CUPTI_CBID_RESOURCE_CU_INIT_FINISHED */
        fk_check_hardware();
    }
}

void
fk_tell_state(uint32_t cbid, int result)
{
    struct { /* CUpti_StateData */
        int result;
        const char *message;
    } data = {result, NULL};
    tell(FK_STATE, cbid, &data);
}

static void
on_work(const fk_work *work)
{
    fk_work kept = *work;
    bool of_graph = work->node != 0;
    if (work->kind == FK_KERNEL && !fk_kinds[FK_KERNEL]) {
        kept.kind = FK_KERNEL_SERIAL;
    }
    bool copies = work->kind == FK_MEMCPY || work->kind == FK_PEER_COPY;
    if (!work->bytes && (copies || work->kind == FK_MEMSET) &&
        fk_env("FAKE_CUPTI_NO_EMPTY", 0)) {
        return;
    }
    if (work->by_device &&
        !(fk_device_graphs && (fk_kinds[FK_GRAPH] || fk_hardware_clock))) {
        return;
    }
    if (work->kind == FK_DEVICE_GRAPH) { /* it is not enabled by itself */
        if (fk_kinds[FK_GRAPH]) {
            fk_worker_add(&kept);
        }
        return;
    }
    /* Return whether graphs are recorded as a whole, not node by node. */
    if (fk_kinds[kept.kind] && !(of_graph && fk_kinds[FK_GRAPH])) {
        fk_worker_add(&kept);
    }
}

const fk_tool fk_cupti_tool = {.now = fk_cupti_now,
                               .enter = on_enter,
                               .leave = on_leave,
                               .resource = on_resource,
                               .work = on_work};

/* --- the API --------------------------------------------------------- */

int
cuptiSubscribe(struct subscriber **subscriber, client_callback *callback,
               void *userdata)
{
    int result = fk_check_driver("cuptiSubscribe");
    fk_outside_callbacks("cuptiSubscribe");
    if (result) {
        return result;
    }
    if (!subscriber || !callback) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    int taken = (int)fk_env("FAKE_CUPTI_SUBSCRIBE_RC", 0);
    if (taken || subscribed) {
        return taken ? taken : CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    only = (struct subscriber){callback, userdata};
    subscribed = &only;
    *subscriber = &only;
    return CUPTI_SUCCESS;
}

int
cuptiUnsubscribe(struct subscriber *subscriber)
{
    int result = fk_check_driver("cuptiUnsubscribe");
    fk_outside_callbacks("cuptiUnsubscribe");
    if (result) {
        return result;
    }
    if (!subscriber || subscriber != subscribed) {
        fk_misuse("cuptiUnsubscribe: who is not subscribed");
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    subscribed = NULL;
    for (size_t domain = 0; domain < FK_DOMAINS; domain++) {
        for (size_t cbid = 0; cbid < FK_CBIDS; cbid++) {
            enabled[domain][cbid] = 0;
        }
    }
    return CUPTI_SUCCESS;
}

static uint32_t
cbids_of(uint32_t domain)
{
    const fk_release *release = fk_release_now();
    return domain == FK_DRIVER    ? release->driver_cbids
           : domain == FK_RUNTIME ? release->runtime_cbids
           : domain < FK_DOMAINS  ? 64
                                  : 0;
}

static int
may_enable(const char *function, struct subscriber *subscriber)
{
    int result = fk_check_driver(function);
    if (result) {
        return result;
    }
    if (!subscriber || subscriber != subscribed) {
        fk_misuse("%s: who is not subscribed", function);
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    return CUPTI_SUCCESS;
}

int
cuptiEnableCallback(uint32_t enable, struct subscriber *subscriber,
                    uint32_t domain, uint32_t cbid)
{
    int result = may_enable("cuptiEnableCallback", subscriber);
    char name[64];
    snprintf(name, sizeof name, "cuptiEnableCallback/%u", (unsigned)domain);
    if (!result && enable) {
        result = fk_check_number(name, cbid);
    }
    if (!result && (!cbid || cbid >= cbids_of(domain))) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        enabled[domain][cbid] = enable != 0;
    }
    return result;
}

int
cuptiEnableDomain(uint32_t enable, struct subscriber *subscriber,
                  uint32_t domain)
{
    int result = may_enable("cuptiEnableDomain", subscriber);
    fk_outside_callbacks("cuptiEnableDomain");
    if (!result && enable) {
        result = fk_check_number("cuptiEnableDomain", domain);
    }
    if (!result && !cbids_of(domain)) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    for (uint32_t cbid = 1; !result && cbid < cbids_of(domain); cbid++) {
        enabled[domain][cbid] = enable != 0;
    }
    return result;
}

int
cuptiGetCallbackState(uint32_t *enable, struct subscriber *subscriber,
                      uint32_t domain, uint32_t cbid)
{
    int result = may_enable("cuptiGetCallbackState", subscriber);
    if (!result && cbid >= cbids_of(domain)) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        *enable = enabled[domain][cbid];
    }
    return result;
}

/* Enable or disable the records of one function; since 12.5. */
static int
enable_record(const char *function, uint32_t domain, uint32_t cbid,
              uint8_t enable)
{
    int result = fk_check_driver(function);
    bool known =
        fk_release_now()->version >= 23 && cbid && cbid < cbids_of(domain);
    if (!result && !known) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        without_records[domain][cbid] = !enable;
    }
    return result;
}

int
cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable)
{
    return enable_record("cuptiActivityEnableDriverApi", FK_DRIVER, cbid,
                         enable);
}

int
cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable)
{
    return enable_record("cuptiActivityEnableRuntimeApi", FK_RUNTIME, cbid,
                         enable);
}

int
cuptiSetThreadIdType(int type)
{
    int result = fk_check_driver("cuptiSetThreadIdType");
    if (!result) {
        thread_id_type = type;
    }
    return result;
}

int
cuptiGetThreadIdType(int *type)
{
    int result = fk_check_driver("cuptiGetThreadIdType");
    if (!result) {
        *type = thread_id_type;
    }
    return result;
}
