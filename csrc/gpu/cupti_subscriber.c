/* The subscription, and the functions of CUPTI that depend on its way.
 *
 * CUPTI has two ways.  In the older one there is one tool at a time, whose
 * settings, kinds and buffers are the process's.  In the newer one, which is
 * whole from 13.3 on and needs a driver as new, each of several subscribers
 * has its own, by functions with _v2.  CUPTI refuses the functions of one way
 * while anybody uses those of the other: so lineprof takes the older one if a
 * tool that knows no other is there, or may come.
 */
#include "gpu/cupti_backend.h"

#include <stdio.h>
#include <string.h>

#define API (&lp_cupti.api)

int
lp_cupti_register_callbacks(void)
{
    return lp_cupti.several
               ? API->register_callbacks_v2(lp_cupti.subscriber,
                                            lp_cupti_on_requested_v2,
                                            lp_cupti_on_completed_v2)
               : API->register_callbacks(lp_cupti_on_requested,
                                         lp_cupti_on_completed);
}

int
lp_cupti_enable(uint32_t kind)
{
    return lp_cupti.several ? API->enable_v2(lp_cupti.subscriber, kind, NULL)
                            : API->enable(kind);
}

int
lp_cupti_disable(uint32_t kind)
{
    return lp_cupti.several ? API->disable_v2(lp_cupti.subscriber, kind, NULL)
                            : API->disable(kind);
}

int
lp_cupti_set_attribute(uint32_t attribute, void *value, size_t size)
{
    if (lp_cupti.several) {
        return API->set_attribute_v2(lp_cupti.subscriber, attribute, &size,
                                     value);
    }
    return API->set_attribute != NULL
               ? API->set_attribute(attribute, &size, value)
               : LP_CUPTI_NOT_SUPPORTED;
}

int
lp_cupti_get_attribute(uint32_t attribute, void *value, size_t size)
{
    if (lp_cupti.several) {
        return API->get_attribute_v2(lp_cupti.subscriber, attribute, &size,
                                     value);
    }
    return API->get_attribute != NULL
               ? API->get_attribute(attribute, &size, value)
               : LP_CUPTI_NOT_SUPPORTED;
}

int
lp_cupti_set_clock(uint64_t (*now)(void))
{
    if (lp_cupti.several) {
        return lp_cupti_set_attribute(LP_CUPTI_ATTR_CLOCK, &now, sizeof(now));
    }
    return API->register_timestamp != NULL ? API->register_timestamp(now)
                                           : LP_CUPTI_NOT_SUPPORTED;
}

int
lp_cupti_set_thread_ids(uint32_t type)
{
    if (lp_cupti.several) {
        return lp_cupti_set_attribute(LP_CUPTI_ATTR_THREAD_IDS, &type,
                                      sizeof(type));
    }
    return API->set_thread_id_type != NULL ? API->set_thread_id_type((int)type)
                                           : LP_CUPTI_NOT_SUPPORTED;
}

int
lp_cupti_get_timestamp(uint64_t *stamp)
{
    return lp_cupti.several ? API->get_timestamp_v2(lp_cupti.subscriber, stamp)
                            : API->get_timestamp(stamp);
}

int
lp_cupti_get_next_record(uint8_t *buffer, size_t valid, void **record)
{
    return lp_cupti.several ? API->get_next_record_v2(lp_cupti.subscriber,
                                                      buffer, valid, record)
                            : API->get_next_record(buffer, valid, record);
}

int
lp_cupti_get_dropped(void *context, uint32_t stream, size_t *dropped)
{
    return lp_cupti.several ? API->get_dropped_v2(lp_cupti.subscriber, context,
                                                  stream, dropped)
                            : API->get_dropped(context, stream, dropped);
}

int
lp_cupti_enable_record_of(uint32_t domain, uint32_t call, uint8_t on)
{
    bool runtime = domain == LP_CUPTI_DOMAIN_RUNTIME_API;
    int (*enable)(uint32_t, uint8_t) =
        runtime ? API->enable_runtime_record : API->enable_driver_record;

    if (lp_cupti.several) {
        return (runtime ? API->enable_runtime_record_v2
                        : API->enable_driver_record_v2)(lp_cupti.subscriber,
                                                        call, on);
    }
    return enable != NULL ? enable(call, on) : LP_CUPTI_NOT_SUPPORTED;
}

bool
lp_cupti_chose_whole_graphs(void)
{
    uint8_t chosen = 0;

    return lp_cupti.several &&
           lp_cupti_get_attribute(LP_CUPTI_ATTR_WHOLE_GRAPHS, &chosen,
                                  sizeof(chosen)) == LP_CUPTI_OK &&
           chosen != 0;
}

bool
lp_cupti_choose_graphs(bool whole)
{
    bool chosen = lp_cupti_chose_whole_graphs();
    uint8_t on = 1;

    if (whole && !chosen && lp_cupti.several && lp_cupti.beside[0] == '\0') {
        lp_cupti_set_attribute(LP_CUPTI_ATTR_WHOLE_GRAPHS, &on, sizeof(on));
    }
    return whole || chosen;
}

/* --- the choice of the way ---------------------------------------------- */

/* False if the library lacks a part of the newer way. */
static bool
knows_several(void)
{
    return API->subscribe_v2 != NULL && API->register_callbacks_v2 != NULL &&
           API->enable_v2 != NULL && API->disable_v2 != NULL &&
           API->set_attribute_v2 != NULL && API->get_attribute_v2 != NULL &&
           API->get_timestamp_v2 != NULL && API->get_next_record_v2 != NULL &&
           API->get_dropped_v2 != NULL &&
           API->enable_runtime_record_v2 != NULL &&
           API->enable_driver_record_v2 != NULL &&
           API->get_enabled_kinds != NULL;
}

static const char own_name[] = "lineprof";

int
lp_cupti_subscribe_by_name(void **subscriber, lp_cupti_callback callback,
                           bool several, char holder[LP_CUPTI_NAME])
{
    static const char prefix[] = "CUPTI for "; /* CUPTI adds it */
    lp_cupti_subscription wanted = {
        .size = API->enable_v2 != NULL
                    ? sizeof(wanted)
                    : offsetof(lp_cupti_subscription, several),
        .name = own_name,
        .holder = holder,
        .holder_size = LP_CUPTI_NAME,
        .several = several,
    };
    int status;

    memset(holder, 0, LP_CUPTI_NAME);
    status = API->subscribe_v2(subscriber, callback, NULL, &wanted);
    holder[LP_CUPTI_NAME - 1] = '\0';
    if (strncmp(holder, prefix, sizeof(prefix) - 1) == 0) {
        memmove(holder, holder + sizeof(prefix) - 1,
                LP_CUPTI_NAME - (sizeof(prefix) - 1));
    }
    for (char *c = holder; *c != '\0'; c++) {
        if (*c < ' ' || *c > '~') {
            *c = '?';
        }
    }
    return status;
}

static bool
is_held(int status)
{
    return status == LP_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

static bool
fail(int status, bool *taken, char why[LP_GPU_WHY])
{
    *taken = is_held(status);
    lp_cupti_failed(why, "cuptiSubscribe", status);
    lp_cupti_explain(why, status);
    return false;
}

static bool
step_back(bool *taken, char why[LP_GPU_WHY])
{
    *taken = true;
    return lp_cupti_failed(why, "cuptiActivityGetEnabledKinds",
                           LP_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
}

static int
subscribe_alone(void)
{
    return API->subscribe(&lp_cupti.subscriber, lp_cupti_on_callback, NULL);
}

/* Subscribe as one of several, or alone if CUPTI has that only.  `known`: that
 * somebody else is subscribed. */
static bool
subscribe_beside_others(bool known, bool *taken, char why[LP_GPU_WHY])
{
    char holder[LP_CUPTI_NAME], refused[sizeof(lp_cupti.alone)];
    int status = lp_cupti_subscribe_by_name(
        &lp_cupti.subscriber, lp_cupti_on_callback, true, holder);

    if (status == LP_CUPTI_OK) {
        lp_cupti.several = true;
        /* The first subscriber may be told its own name. */
        if (known || strcmp(holder, own_name) != 0) {
            snprintf(lp_cupti.beside, sizeof(lp_cupti.beside), "%s",
                     known && holder[0] == '\0' ? "another tool" : holder);
        }
        return true;
    }
    if (is_held(status) && holder[0] != '\0') {
        *taken = true;
        return lp_cupti_held_by(holder, why);
    }
    if (is_held(status)) {
        snprintf(refused, sizeof(refused),
                 "the driver lets one tool at a time use CUPTI");
    }
    else {
        lp_cupti_say(refused, sizeof(refused), "cuptiSubscribe_v2", status);
    }
    status = subscribe_alone();
    if (status != LP_CUPTI_OK) {
        return fail(status, taken, why);
    }
    snprintf(lp_cupti.alone, sizeof(lp_cupti.alone), "%s", refused);
    return true;
}

bool
lp_cupti_subscribe(const lp_gpu_options *options, bool *taken,
                   char why[LP_GPU_WHY])
{
    bool recorded = options->recorded || lp_cupti_is_recorded();
    char client[LP_CUPTI_NAME];
    int status;

    lp_cupti.several = false;
    lp_cupti.beside[0] = lp_cupti.alone[0] = '\0';
    if (!knows_several()) {
        if (recorded) {
            return step_back(taken, why);
        }
        status = subscribe_alone();
        return status == LP_CUPTI_OK || fail(status, taken, why);
    }
    if (!recorded && !lp_cupti_find_old_client(client) &&
        !lp_cupti_expect_old_client(options->clients, client)) {
        return subscribe_beside_others(false, taken, why);
    }
    /* It is sure who records: not even a subscription is tried. */
    if (options->recorded && lp_cupti_find_old_client(client)) {
        return step_back(taken, why);
    }
    /* If nobody is subscribed, whoever records does so in the older way. */
    status = subscribe_alone();
    if (is_held(status)) {
        return subscribe_beside_others(true, taken, why);
    }
    if (status != LP_CUPTI_OK) {
        return fail(status, taken, why);
    }
    if (recorded) {
        API->unsubscribe(lp_cupti.subscriber);
        return step_back(taken, why);
    }
    snprintf(lp_cupti.alone, sizeof(lp_cupti.alone),
             "%s can only use CUPTI in this way", client);
    return true;
}

bool
lp_cupti_can_turn(bool *taken)
{
    uint32_t kinds = 0;

    if (!lp_cupti.several) {
        return knows_several();
    }
    *taken = API->get_enabled_kinds(NULL, NULL, NULL, &kinds) != LP_CUPTI_OK ||
             kinds != 0;
    return !*taken;
}

bool
lp_cupti_turn(bool *taken, char why[LP_GPU_WHY])
{
    int status;

    if (!lp_cupti.several) {
        lp_cupti.alone[0] = '\0';
        return subscribe_beside_others(false, taken, why);
    }
    lp_cupti.several = false;
    lp_cupti.beside[0] = '\0';
    status = subscribe_alone();
    if (status != LP_CUPTI_OK) {
        return fail(status, taken, why);
    }
    snprintf(lp_cupti.alone, sizeof(lp_cupti.alone),
             "another tool used CUPTI in this way");
    return true;
}

void
lp_cupti_describe_subscription(char text[LP_GPU_WHY])
{
    text[0] = '\0';
    if (lp_cupti.beside[0] != '\0') {
        snprintf(text, LP_GPU_WHY, "beside %s", lp_cupti.beside);
    }
    else if (lp_cupti.several) {
        snprintf(text, LP_GPU_WHY, "other tools can, too");
    }
    else if (lp_cupti.alone[0] != '\0') {
        snprintf(text, LP_GPU_WHY, "as the only tool: %s", lp_cupti.alone);
    }
}
