/* Clients of the double of CUPTI: subscribers by cuptiSubscribe_v2, each with
 * kinds, buffers, callbacks and a clock of its own, and fk_global, which
 * stands for everybody who uses the calls without a version.
 *
 * The two families do not mix, if calls of the other one are in use now, or,
 * with FAKE_CUPTI_STICKY=1, if they ever were.
 */
#include "cupti/fake_cupti.h"

#include <stdlib.h>

fk_client fk_global;

static fk_client *_Atomic clients[FK_CLIENTS] = {&fk_global};
static _Atomic uint32_t count = 1;
static _Atomic bool scoped_ever, global_ever;

fk_client *
fk_client_at(uint32_t number)
{
    return number < count ? clients[number] : NULL;
}

fk_client *
fk_client_add(void)
{
    fk_client *made = calloc(1, sizeof *made);
    if (!made) {
        abort();
    }
    if (count == FK_CLIENTS) {
        fk_misuse("more than %d subscriptions", FK_CLIENTS - 1);
        abort();
    }
    made->versioned = true;
    made->number = count;
    clients[made->number] = made;
    count++;
    return made;
}

bool
fk_client_is_in_use(const fk_client *client)
{
    return client->versioned ? client->subscribed
                             : client->subscribed || client->registered;
}

uint32_t
fk_clients_in_use(void)
{
    fk_client *client;
    uint32_t in_use = 0;
    for (uint32_t i = 0; (client = fk_client_at(i)); i++) {
        in_use += fk_client_is_in_use(client);
    }
    return in_use;
}

fk_client *
fk_client_first(void)
{
    fk_client *client;
    for (uint32_t i = 1; (client = fk_client_at(i)); i++) {
        if (client->subscribed) {
            return client;
        }
    }
    return NULL;
}

static bool
has_kind(const fk_client *client)
{
    bool found = false;
    for (size_t kind = 0; kind < FK_KINDS; kind++) {
        found = found || client->kinds[kind];
    }
    return found;
}

bool
fk_any_kind(void)
{
    fk_client *client;
    bool found = false;
    for (uint32_t i = 0; (client = fk_client_at(i)); i++) {
        found = found || has_kind(client);
    }
    return found;
}

bool
fk_several(void)
{
    const fk_client *first = fk_client_first();
    return first && first->several;
}

/* --- the two families --------------------------------------------------- */

static bool
is_scoped(void)
{
    fk_client *client;
    for (uint32_t i = 1; (client = fk_client_at(i)); i++) {
        if (client->subscribed && (client->several || client->scoped)) {
            return true;
        }
    }
    return scoped_ever && fk_env("FAKE_CUPTI_STICKY", 0);
}

static bool
is_global(void)
{
    return has_kind(&fk_global) ||
           (global_ever && fk_env("FAKE_CUPTI_STICKY", 0));
}

int
fk_check_global(void)
{
    if (is_scoped()) {
        return CUPTI_ERROR_NOT_COMPATIBLE;
    }
    global_ever = true;
    return CUPTI_SUCCESS;
}

static fk_client *
find(const void *subscriber)
{
    fk_client *client;
    for (uint32_t i = 0; (client = fk_client_at(i)); i++) {
        if (client == subscriber) {
            return client;
        }
    }
    return NULL;
}

int
fk_check_subscriber(const char *function, void *subscriber)
{
    int result = fk_check_driver(function);
    const fk_client *client = find(subscriber);
    if (!result && (!client || !client->subscribed)) {
        fk_misuse("%s: who is not subscribed", function);
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    return result;
}

int
fk_check_scoped(const char *function, void *subscriber, fk_client **client)
{
    int result = fk_check_driver(function);
    if (!result && !subscriber) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        result = fk_check_subscriber(function, subscriber);
    }
    if (result) {
        return result;
    }
    *client = find(subscriber);
    if (!(*client)->versioned || is_global()) {
        return CUPTI_ERROR_NOT_COMPATIBLE;
    }
    scoped_ever = (*client)->scoped = true;
    return CUPTI_SUCCESS;
}
