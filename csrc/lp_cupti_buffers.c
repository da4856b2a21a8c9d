/* Buffers of activity records: handed out, taken back, walked through. */
#include "lp_cupti.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { BUFFER_BYTES = 2 << 20, KEPT = 16, ALIGNMENT = 64 };

/* Those that wait to be used again. */
static struct {
    pthread_mutex_t lock;
    uint8_t *buffers[KEPT]; /* owned */
    int n;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint8_t *
take(void)
{
    uint8_t *buffer = NULL;

    pthread_mutex_lock(&pool.lock);
    if (pool.n > 0) {
        buffer = pool.buffers[--pool.n];
    }
    pthread_mutex_unlock(&pool.lock);
    return buffer;
}

static void
give(uint8_t *buffer)
{
    pthread_mutex_lock(&pool.lock);
    if (pool.n < KEPT) {
        pool.buffers[pool.n++] = buffer;
        buffer = NULL;
    }
    pthread_mutex_unlock(&pool.lock);
    free(buffer);
}

void
lp_cupti_on_requested(uint8_t **buffer, size_t *size, size_t *records)
{
    int before = errno; /* this may be within a call of the program's */
    bool is_open = lp_cupti_is_open();
    void *made = is_open ? take() : NULL;

    *size = BUFFER_BYTES;
    *records = 0; /* as many as fit */
    /* One that gets none crashes before 12.9: a small one will do. */
    while (made == NULL && *size >= 4096 &&
           posix_memalign(&made, ALIGNMENT, *size) != 0) {
        made = NULL;
        *size /= 2;
    }
    *buffer = made;
    if (made == NULL) {
        *size = 0;
    }
    __atomic_fetch_add(&lp_cupti.given, 1, __ATOMIC_RELAXED);
    errno = before;
}

/* All records of a buffer, under one lock. */
static void
enter_records(lp_ledger *ledger, uint8_t *buffer, size_t valid)
{
    void *record = NULL;
    int status;

    pthread_mutex_lock(&ledger->lock);
    for (;;) {
        lp_record read = {0};

        status = lp_cupti.api.get_next_record(buffer, valid, &record);
        if (status != LP_CUPTI_OK) {
            break;
        }
        if (lp_cupti_read(record, &read)) {
            lp_ledger_enter(ledger, &read);
        }
    }
    if (status != LP_CUPTI_MAX_LIMIT_REACHED) {
        ledger->invalid++;
    }
    lp_corr_tidy(&ledger->corr);
    pthread_mutex_unlock(&ledger->lock);
}

void
lp_cupti_on_completed(void *context, uint32_t stream, uint8_t *buffer,
                      size_t size, size_t valid)
{
    size_t dropped = 0;

    if (!lp_cupti_is_open()) {
        free(buffer);
        return;
    }
    if (valid > 0 && buffer != NULL) {
        enter_records(lp_cupti.host.ledger, buffer, valid);
    }
    /* No lock of ours is held here: CUPTI has its own. */
    if (lp_cupti.api.get_dropped(context, stream, &dropped) == LP_CUPTI_OK) {
        __atomic_fetch_add(&lp_cupti.dropped, dropped, __ATOMIC_RELAXED);
    }
    if (size == BUFFER_BYTES) {
        give(buffer);
    }
    else {
        free(buffer);
    }
    __atomic_fetch_sub(&lp_cupti.given, 1, __ATOMIC_RELEASE);
}
