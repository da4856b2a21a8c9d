/* Buffers of the client: requested, filled, and returned as completed.
 *
 * Several are in flight at a time.  They are handled on the worker's thread;
 * only a request may also run on a thread of the program.  Names in a buffer
 * are overwritten once the buffer was completed, because real names live no
 * longer than their module.
 */
#include "cupti/fake_cupti.h"

#include <stdlib.h>
#include <string.h>

enum { FILLER = 0xA5, CANARY = 0x5A, TAIL = 4096, KNOWN = 1024 };

static size_t limit; /* bytes of a buffer that are used; 0: all */
static bool early;   /* request on threads of the program */
static bool strict;  /* names go with their buffer */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const uint8_t *bytes;
    const fk_client *client;
} owners[KNOWN]; /* the last ones that gave a buffer at an address; locked */
static size_t owner_count;

void
fk_buffers_start(void)
{
    const char *who = getenv("FAKE_CUPTI_REQUEST");
    early = who && !strcmp(who, "app");
    limit = fk_env("FAKE_CUPTI_BUFFER_LIMIT", 0);
    strict = fk_env("FAKE_CUPTI_STRICT", 1);
}

/* --- whose a buffer is --------------------------------------------------- */

static size_t
place_of(const uint8_t *bytes)
{
    size_t at = 0;
    while (at < owner_count && owners[at].bytes != bytes) {
        at++;
    }
    return at;
}

const fk_client *
fk_buffers_owner(const uint8_t *bytes)
{
    pthread_mutex_lock(&lock);
    size_t at = place_of(bytes);
    const fk_client *found = at < owner_count ? owners[at].client : NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

static void
note_owner(const uint8_t *bytes, const fk_client *client)
{
    pthread_mutex_lock(&lock);
    size_t at = place_of(bytes);
    if (at < KNOWN) {
        owners[at].bytes = bytes;
        owners[at].client = client;
        owner_count += at == owner_count;
    }
    pthread_mutex_unlock(&lock);
}

/* A buffer that was freed, or is written to, while it is the library's. */
static void
check_head(const fk_buffer *one)
{
    if (one->size >= FK_HEAD && memcmp(one->bytes, one->head, FK_HEAD)) {
        fk_misuse("a buffer was freed or changed while it was in use");
    }
}

static void
note_head(fk_buffer *one)
{
    if (one->size >= FK_HEAD) {
        memcpy(one->head, one->bytes, FK_HEAD);
    }
}

/* --- in flight ------------------------------------------------------------
 */

/* Request a buffer from the client; false if the client returns none. */
static bool
ask(fk_client *client, fk_buffer *made)
{
    memset(made, 0, sizeof *made);
    memset(&made->bytes, FILLER, sizeof made->bytes);
    made->size = made->max_records = SIZE_MAX / 2;
    fk_inside++;
    if (client->requested_v2) {
        fk_request_info info = {sizeof info};
        client->requested_v2(&made->bytes, &made->size, &made->max_records,
                             &info);
    }
    else {
        client->requested(&made->bytes, &made->size, &made->max_records);
    }
    fk_inside--;
    if (!made->bytes || !made->size) {
        if (fk_release_now()->version < 28) {
            fk_misuse("no buffer: before CUDA 12.9 that may crash");
        }
        made->bytes = NULL;
        return false;
    }
    if (made->size > SIZE_MAX / 4 || made->max_records > SIZE_MAX / 4) {
        fk_misuse("a buffer without its size or its number of records");
    }
    if ((uintptr_t)made->bytes % 8) {
        fk_misuse("a buffer that is not aligned to 8 bytes");
    }
    made->room = limit && limit < made->size ? limit : made->size;
    note_owner(made->bytes, client);
    if (made->size >= FK_HEAD) {
        memset(made->bytes, CANARY, FK_HEAD);
        note_head(made);
    }
    return true;
}

static void
give_back(fk_client *client, fk_buffer *one)
{
    size_t left = one->size - one->valid;
    check_head(one);
    memset(one->bytes + one->valid, FILLER, left < TAIL ? left : TAIL);
    fk_inside++;
    if (client->completed_v2) {
        fk_complete_info info = {.size = sizeof info};
        client->completed_v2(one->bytes, one->size, one->valid, &info);
    }
    else {
        client->completed(NULL, 0, one->bytes, one->size, one->valid);
    }
    fk_inside--;
    for (size_t n = 0; n < one->named; n++) {
        memset(one->copies[n], '!', strlen(one->copies[n]));
        free(one->copies[n]);
    }
}

/* Request a buffer in advance, as the real library does on program threads. */
void
fk_buffers_ask_early(fk_client *client)
{
    pthread_mutex_lock(&lock);
    bool wanted = early && !client->spare.bytes;
    pthread_mutex_unlock(&lock);
    fk_buffer made;
    if (!wanted || !ask(client, &made)) {
        return;
    }
    pthread_mutex_lock(&lock);
    bool kept = !client->spare.bytes;
    if (kept) {
        client->spare = made;
    }
    pthread_mutex_unlock(&lock);
    if (!kept) { /* another thread was faster */
        give_back(client, &made);
    }
}

static fk_buffer
take_spare(fk_client *client)
{
    pthread_mutex_lock(&lock);
    fk_buffer taken = client->spare;
    client->spare.bytes = NULL;
    pthread_mutex_unlock(&lock);
    return taken;
}

static bool
is_open(const uint8_t *bytes)
{
    fk_client *client;
    for (uint32_t n = 0; (client = fk_client_at(n)); n++) {
        for (size_t i = 0; i < client->opened; i++) {
            if (client->open[i].bytes == bytes) {
                return true;
            }
        }
    }
    return false;
}

static bool
open_one(fk_client *client)
{
    fk_buffer made = take_spare(client);
    if (!made.bytes && !ask(client, &made)) {
        return false;
    }
    if (is_open(made.bytes)) {
        fk_misuse("a buffer that is still in use is given again");
    }
    client->open[client->opened++] = made;
    return true;
}

void
fk_buffers_hand_back(fk_client *client, size_t but)
{
    size_t count = client->opened > but ? client->opened - but : 0;
    for (size_t i = 0; i < count; i++) {
        give_back(client, &client->open[i]);
    }
    for (size_t i = count; i < client->opened; i++) {
        client->open[i - count] = client->open[i];
    }
    client->opened -= count;
}

void
fk_buffers_hand_back_all(fk_client *client)
{
    fk_buffers_hand_back(client, 0);
    fk_buffer empty = take_spare(client);
    if (empty.bytes) { /* without a record */
        give_back(client, &empty);
    }
}

/* Copy a name; the copy lives as long as its buffer is in flight.  In CUPTI
 * names live longer, which PyTorch's profiler needs. */
static const char *
copy_of(fk_buffer *one, const char *name)
{
    size_t at = one->named;
    while (at && one->names[at - 1] != name) {
        at--;
    }
    if (at) {
        return one->copies[at - 1];
    }
    if (!strict || one->named == FK_NAMES) {
        return name;
    }
    one->names[one->named] = name;
    one->copies[one->named] = strdup(name);
    return one->copies[one->named++];
}

static bool
fits(const fk_buffer *one, size_t size)
{
    return one->room - one->valid >= size &&
           (!one->max_records || one->records < one->max_records);
}

static fk_buffer *
last_of(fk_client *client)
{
    return client->opened ? &client->open[client->opened - 1] : NULL;
}

bool
fk_buffers_put(fk_client *client, const fk_work *work)
{
    size_t size = fk_record_size(work->kind);
    fk_buffer *last = last_of(client);
    if (!last || !fits(last, size)) {
        if (client->opened == FK_IN_FLIGHT) {
            fk_buffers_hand_back(client, 0);
        }
        if (!open_one(client)) {
            return false;
        }
    }
    last = last_of(client);
    if (!fits(last, size)) {
        fk_misuse("a buffer too small for one record of %zu bytes", size);
        return false;
    }
    const char *name = work->name ? copy_of(last, work->name) : NULL;
    check_head(last);
    fk_record_write(last->bytes + last->valid, work, name);
    note_head(last);
    last->valid += size;
    last->records++;
    return true;
}

void
fk_buffers_abandon(fk_client *client)
{
    client->opened = 0;
    client->spare.bytes = NULL;
}

void
fk_buffers_in_child(void)
{
    fk_client *client;
    for (uint32_t i = 0; (client = fk_client_at(i)); i++) {
        fk_buffers_abandon(client);
    }
    pthread_mutex_init(&lock, NULL);
}

void
fk_buffers_put_orphan(const fk_work *work)
{
    fk_client *client = work->client;
    fk_buffer *last = last_of(client);
    if (last && !fits(last, fk_record_size(work->kind))) {
        client->opened = 0;
    }
    fk_buffers_put(client, work);
}
