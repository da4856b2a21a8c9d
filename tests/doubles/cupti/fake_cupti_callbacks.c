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

FK_EXPORT int cuptiSubscribe(void **subscriber, fk_callback *callback,
                             void *userdata);
FK_EXPORT int cuptiEnableCallback(uint32_t enable, void *subscriber,
                                  uint32_t domain, uint32_t cbid);
FK_EXPORT int cuptiEnableDomain(uint32_t enable, void *subscriber,
                                uint32_t domain);
FK_EXPORT int cuptiGetCallbackState(uint32_t *enable, void *subscriber,
                                    uint32_t domain, uint32_t cbid);
FK_EXPORT int cuptiUnsubscribe(void *subscriber);
FK_EXPORT int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
FK_EXPORT int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
FK_EXPORT int cuptiSetThreadIdType(int type);
FK_EXPORT int cuptiGetThreadIdType(int *type);

static void *
nonsense(void)
{
    uintptr_t bits = 0xA5A5A5A5A5A5A5A5u;
    return (void *)bits; /* value of invalid fields: reading there crashes */
}

/* --- calls from the driver --------------------------------------------- */

static bool
listens(const fk_client *client, uint32_t domain, uint32_t cbid)
{
    return client->subscribed && domain < FK_DOMAINS && cbid < FK_CBIDS &&
           client->callbacks[domain][cbid];
}

static void
tell(fk_client *client, uint32_t domain, uint32_t cbid, const void *data)
{
    fk_inside++;
    fk_inside_resource += domain == FK_RESOURCE;
    client->callback(client->userdata, domain, cbid, data);
    fk_inside_resource -= domain == FK_RESOURCE;
    fk_inside--;
}

static void
tell_call(fk_client *client, fk_api_call *call, int32_t site)
{
    if (!listens(client, call->domain, call->cbid)) {
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
        .correlation_data = &call->scratch[client->number],
        .correlation_id = call->correlation,
    };
    tell(client, call->domain, call->cbid, &data);
}

static void
tell_all(fk_api_call *call, int32_t site)
{
    fk_client *client;
    for (uint32_t i = 0; (client = fk_client_at(i)); i++) {
        tell_call(client, call, site);
    }
}

static void
on_enter(fk_api_call *call)
{
    bool waits = call->domain == FK_DRIVER &&
                 (call->cbid == 17 || call->cbid == 121 || call->cbid == 126);
    if (waits && fk_inside) {
        fk_misuse("a callback of CUPTI's waits for the device");
    }
    tell_all(call, 0);
    call->start = fk_cupti_now();
}

static void
record_call(fk_client *client, const fk_api_call *call, uint64_t end)
{
    uint32_t kind = call->domain == FK_DRIVER ? FK_API_DRIVER : FK_API_RUNTIME;
    bool recorded = call->domain < FK_DOMAINS && call->cbid < FK_CBIDS &&
                    !client->without_records[call->domain][call->cbid];
    if (client->kinds[kind] && recorded) {
        bool native = client->thread_ids == 1;
        fk_work work = {
            .kind = kind,
            .variety = call->cbid,
            .start = call->start,
            .end = end,
            .correlation = call->correlation,
            .address = (uint32_t)call->result,
            .peer = native ? (uint32_t)syscall(SYS_gettid)
                           : (uint32_t)(uintptr_t)pthread_self(),
            .client = client,
        };
        fk_worker_add(&work);
    }
}

static void
on_leave(fk_api_call *call)
{
    fk_client *client;
    uint64_t end = fk_cupti_now();
    for (uint32_t i = 0; (client = fk_client_at(i)); i++) {
        record_call(client, call, end);
    }
    tell_all(call, 1);
}

static void
tell_each(uint32_t domain, uint32_t cbid, const void *data)
{
    fk_client *client;
    for (uint32_t i = 0; (client = fk_client_at(i)); i++) {
        if (listens(client, domain, cbid)) {
            tell(client, domain, cbid, data);
        }
    }
}

static void
on_resource(uint32_t cbid, fk_context *context, const fk_graph_data *graph)
{
    resource_data data = {context, nonsense(), graph ? graph : nonsense()};
    if (cbid == 1) { /* CUPTI_CBID_RESOURCE_CONTEXT_CREATED */
        fk_worker_knows(context->uid);
    }
    tell_each(FK_RESOURCE, cbid, &data);
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
    tell_each(FK_STATE, cbid, &data);
}

/* Return whether a client records what the device launched. */
static bool
records_device_graphs(const fk_client *client)
{
    return client->device_graphs &&
           (client->kinds[FK_GRAPH] || fk_hardware_clock);
}

static void
record_work(fk_client *client, const fk_work *work)
{
    fk_work kept = *work;
    bool of_graph = work->node != 0;
    if (work->kind == FK_KERNEL && !client->kinds[FK_KERNEL]) {
        kept.kind = FK_KERNEL_SERIAL;
    }
    kept.client = client;
    /* Graphs of the device are not enabled by a kind of their own. */
    uint32_t kind = work->kind == FK_DEVICE_GRAPH ? FK_GRAPH : kept.kind;
    if (client->kinds[kind] && !(of_graph && fk_graphs_as_a_whole(client)) &&
        (!work->by_device || records_device_graphs(client))) {
        fk_worker_add(&kept);
    }
}

static void
on_work(const fk_work *work)
{
    bool copies = work->kind == FK_MEMCPY || work->kind == FK_PEER_COPY;
    if (!work->bytes && (copies || work->kind == FK_MEMSET) &&
        fk_env("FAKE_CUPTI_NO_EMPTY", 0)) {
        return;
    }
    fk_client *client;
    for (uint32_t i = 0; (client = fk_client_at(i)); i++) {
        record_work(client, work);
    }
}

const fk_tool fk_cupti_tool = {.now = fk_cupti_now,
                               .enter = on_enter,
                               .leave = on_leave,
                               .resource = on_resource,
                               .work = on_work};

/* --- the API --------------------------------------------------------- */

int
cuptiSubscribe(void **subscriber, fk_callback *callback, void *userdata)
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
    if (taken || fk_global.subscribed || fk_client_first()) {
        return taken ? taken : CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    fk_global.callback = callback;
    fk_global.userdata = userdata;
    fk_global.subscribed = true;
    *subscriber = &fk_global;
    return CUPTI_SUCCESS;
}

/* By either call.  A subscriber by _v2 has no kinds from then on, and its
 * buffers never come back; fk_global keeps its kinds. */
int
cuptiUnsubscribe(void *subscriber)
{
    fk_outside_callbacks("cuptiUnsubscribe");
    int result = fk_check_subscriber("cuptiUnsubscribe", subscriber);
    fk_client *client = subscriber;
    if (result) {
        return result;
    }
    client->subscribed = false;
    for (size_t domain = 0; domain < FK_DOMAINS; domain++) {
        for (size_t cbid = 0; cbid < FK_CBIDS; cbid++) {
            client->callbacks[domain][cbid] = 0;
        }
    }
    if (client->versioned) {
        fk_worker_forget(client);
    }
    return CUPTI_SUCCESS;
}

uint32_t
fk_cbids_of(uint32_t domain)
{
    const fk_release *release = fk_release_now();
    return domain == FK_DRIVER    ? release->driver_cbids
           : domain == FK_RUNTIME ? release->runtime_cbids
           : domain < FK_DOMAINS  ? 64
                                  : 0;
}

int
cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain,
                    uint32_t cbid)
{
    int result = fk_check_subscriber("cuptiEnableCallback", subscriber);
    char name[64];
    snprintf(name, sizeof name, "cuptiEnableCallback/%u", (unsigned)domain);
    if (!result && enable) {
        result = fk_check_number(name, cbid);
    }
    if (!result && cbid >= fk_cbids_of(domain)) { /* Proton enables number 0 */
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        fk_client *client = subscriber;
        client->callbacks[domain][cbid] = enable != 0;
    }
    return result;
}

int
cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain)
{
    int result = fk_check_subscriber("cuptiEnableDomain", subscriber);
    fk_outside_callbacks("cuptiEnableDomain");
    if (!result && enable) {
        result = fk_check_number("cuptiEnableDomain", domain);
    }
    if (!result && !fk_cbids_of(domain)) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    fk_client *client = subscriber;
    for (uint32_t cbid = 1; !result && cbid < fk_cbids_of(domain); cbid++) {
        client->callbacks[domain][cbid] = enable != 0;
    }
    return result;
}

int
cuptiGetCallbackState(uint32_t *enable, void *subscriber, uint32_t domain,
                      uint32_t cbid)
{
    int result = fk_check_subscriber("cuptiGetCallbackState", subscriber);
    if (!result && cbid >= fk_cbids_of(domain)) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        const fk_client *client = subscriber;
        *enable = client->callbacks[domain][cbid];
    }
    return result;
}

/* Enable or disable the records of one function; since 12.5. */
int
fk_enable_record(fk_client *client, uint32_t domain, uint32_t cbid,
                 uint8_t enable)
{
    bool known =
        fk_release_now()->version >= 23 && cbid && cbid < fk_cbids_of(domain);
    if (!known) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    client->without_records[domain][cbid] = !enable;
    return CUPTI_SUCCESS;
}

static int
enable_record(const char *function, uint32_t domain, uint32_t cbid,
              uint8_t enable)
{
    int result = fk_check_driver(function);
    if (!result) {
        result = fk_check_global();
    }
    return result ? result
                  : fk_enable_record(&fk_global, domain, cbid, enable);
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
    if (!result && fk_several()) {
        result = CUPTI_ERROR_NOT_SUPPORTED;
    }
    if (!result) {
        fk_global.thread_ids = type;
    }
    return result;
}

int
cuptiGetThreadIdType(int *type)
{
    int result = fk_check_driver("cuptiGetThreadIdType");
    if (!result && fk_several()) {
        result = CUPTI_ERROR_NOT_SUPPORTED;
    }
    if (!result) {
        *type = fk_global.thread_ids;
    }
    return result;
}
