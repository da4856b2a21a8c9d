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

enum { IN_FLIGHT = 3, NAMES = 64, FILLER = 0xA5, TAIL = 4096 };

typedef struct {
    uint8_t *bytes; /* the client's; NULL: no buffer */
    size_t size;    /* as the client set it */
    size_t room;    /* the used part of size */
    size_t valid, records, max_records;
    size_t named;
    const char *names[NAMES]; /* interned, and their copies */
    char *copies[NAMES];
} buffer;

static fk_requested *_Atomic request;
static fk_completed *_Atomic complete;
static size_t limit; /* bytes of a buffer that are used; 0: all */
static bool early;   /* request on threads of the program */

static buffer open_buffers[IN_FLIGHT]; /* the worker's */
static size_t opened;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static buffer spare; /* under lock */

void
fk_buffers_start(fk_requested *requested, fk_completed *completed)
{
    const char *who = getenv("FAKE_CUPTI_REQUEST");
    early = who && !strcmp(who, "app");
    limit = fk_env("FAKE_CUPTI_BUFFER_LIMIT", 0);
    request = requested;
    complete = completed;
}

/* Another tool's callbacks from now on: it gets the buffers in flight, too. */
void
fk_buffers_replace(fk_requested *requested, fk_completed *completed)
{
    request = requested;
    complete = completed;
}

/* Request a buffer from the client; false if the client returns none. */
static bool
ask(buffer *made)
{
    memset(made, 0, sizeof *made);
    memset(&made->bytes, FILLER, sizeof made->bytes);
    made->size = made->max_records = SIZE_MAX / 2;
    fk_inside++;
    request(&made->bytes, &made->size, &made->max_records);
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
    return true;
}

static void
give_back(buffer *one)
{
    size_t left = one->size - one->valid;
    memset(one->bytes + one->valid, FILLER, left < TAIL ? left : TAIL);
    fk_inside++;
    complete(NULL, 0, one->bytes, one->size, one->valid);
    fk_inside--;
    for (size_t n = 0; n < one->named; n++) {
        memset(one->copies[n], '!', strlen(one->copies[n]));
        free(one->copies[n]);
    }
}

/* Request a buffer in advance, as the real library does on program threads. */
void
fk_buffers_ask_early(void)
{
    pthread_mutex_lock(&lock);
    bool wanted = early && !spare.bytes;
    pthread_mutex_unlock(&lock);
    buffer made;
    if (!wanted || !ask(&made)) {
        return;
    }
    pthread_mutex_lock(&lock);
    bool kept = !spare.bytes;
    if (kept) {
        spare = made;
    }
    pthread_mutex_unlock(&lock);
    if (!kept) { /* another thread was faster */
        give_back(&made);
    }
}

static buffer
take_spare(void)
{
    pthread_mutex_lock(&lock);
    buffer taken = spare;
    spare.bytes = NULL;
    pthread_mutex_unlock(&lock);
    return taken;
}

static bool
open_one(void)
{
    buffer *made = &open_buffers[opened];
    *made = take_spare();
    if (!made->bytes && !ask(made)) {
        return false;
    }
    for (size_t i = 0; i < opened; i++) {
        if (open_buffers[i].bytes == made->bytes) {
            fk_misuse("a buffer that is still in use is given again");
        }
    }
    opened++;
    return true;
}

void
fk_buffers_hand_back(size_t but)
{
    size_t count = opened > but ? opened - but : 0;
    for (size_t i = 0; i < count; i++) {
        give_back(&open_buffers[i]);
    }
    for (size_t i = count; i < opened; i++) {
        open_buffers[i - count] = open_buffers[i];
    }
    opened -= count;
}

void
fk_buffers_hand_back_all(void)
{
    fk_buffers_hand_back(0);
    buffer empty = take_spare();
    if (empty.bytes) { /* without a record */
        give_back(&empty);
    }
}

/* Copy a name; the copy lives as long as its buffer is in flight. */
static const char *
copy_of(buffer *one, const char *name)
{
    size_t at = one->named;
    while (at && one->names[at - 1] != name) {
        at--;
    }
    if (at) {
        return one->copies[at - 1];
    }
    if (one->named == NAMES) {
        return name;
    }
    one->names[one->named] = name;
    one->copies[one->named] = strdup(name);
    return one->copies[one->named++];
}

static bool
fits(const buffer *one, size_t size)
{
    return one->room - one->valid >= size &&
           (!one->max_records || one->records < one->max_records);
}

bool
fk_buffers_put(const fk_work *work)
{
    size_t size = fk_record_size(work->kind);
    if (!opened || !fits(&open_buffers[opened - 1], size)) {
        if (opened == IN_FLIGHT) {
            fk_buffers_hand_back(0);
        }
        if (!open_one()) {
            return false;
        }
    }
    buffer *last = &open_buffers[opened - 1];
    if (!fits(last, size)) {
        fk_misuse("a buffer too small for one record of %zu bytes", size);
        return false;
    }
    const char *name = work->name ? copy_of(last, work->name) : NULL;
    fk_record_write(last->bytes + last->valid, work, name);
    last->valid += size;
    last->records++;
    return true;
}

void
fk_buffers_abandon(void)
{
    opened = 0;
    spare.bytes = NULL;
    pthread_mutex_init(&lock, NULL);
}

void
fk_buffers_put_orphan(const fk_work *work)
{
    if (opened &&
        !fits(&open_buffers[opened - 1], fk_record_size(work->kind))) {
        opened = 0;
    }
    fk_buffers_put(work);
}
