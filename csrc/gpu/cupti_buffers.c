#include "gpu/cupti_buffers.h"

#include <stdlib.h>

enum { ALIGNMENT = 64, MIN_BYTES = 4096 };

/* Put a buffer into a free slot; returns its number, or -1 if there is none.
 */
static int
put(uint8_t **slots, int n, uint8_t *buffer)
{
    for (int i = 0; i < n; i++) {
        uint8_t *there = NULL;

        if (__atomic_load_n(&slots[i], __ATOMIC_RELAXED) == NULL &&
            __atomic_compare_exchange_n(&slots[i], &there, buffer, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            return i;
        }
    }
    return -1;
}

static uint8_t *
take_kept(lp_cupti_buffers *buffers)
{
    uint8_t *buffer = NULL;

    for (int i = 0; i < LP_CUPTI_BUFFERS_KEPT && buffer == NULL; i++) {
        if (__atomic_load_n(&buffers->kept[i], __ATOMIC_RELAXED) != NULL) {
            buffer =
                __atomic_exchange_n(&buffers->kept[i], NULL, __ATOMIC_ACQ_REL);
        }
    }
    return buffer;
}

/* Remove a buffer from the table; false if it is not there. */
static bool
remove_out(lp_cupti_buffers *buffers, int slot, const uint8_t *buffer)
{
    uint8_t *there = __atomic_load_n(&buffers->out[slot], __ATOMIC_ACQUIRE);

    return there == buffer && __atomic_compare_exchange_n(
                                  &buffers->out[slot], &there, NULL, false,
                                  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Forget a buffer with the address of a new one: its memory can be given again
 * only because another tool has freed it. */
static void
forget(lp_cupti_buffers *buffers, const uint8_t *buffer)
{
    for (int i = 0; i < LP_CUPTI_BUFFERS_OUT; i++) {
        remove_out(buffers, i, buffer);
    }
}

uint8_t *
lp_cupti_buffers_hand_out(lp_cupti_buffers *buffers, size_t *size)
{
    void *made = take_kept(buffers);
    int slot;

    *size = LP_CUPTI_BUFFER_BYTES;
    /* CUPTI before 12.9 crashes without a buffer: a small one is enough. */
    while (made == NULL && *size >= MIN_BYTES) {
        if (posix_memalign(&made, ALIGNMENT, *size) == 0) {
            forget(buffers, made);
        }
        else {
            made = NULL;
            *size /= 2;
        }
    }
    slot = made != NULL ? put(buffers->out, LP_CUPTI_BUFFERS_OUT, made) : -1;
    if (slot < 0) {
        free(made);
        *size = 0;
        return NULL;
    }
    __atomic_store_n(&buffers->sizes[slot], (uint32_t)*size, __ATOMIC_RELEASE);
    return made;
}

size_t
lp_cupti_buffers_take_back(lp_cupti_buffers *buffers, const uint8_t *buffer)
{
    for (int i = 0; i < LP_CUPTI_BUFFERS_OUT && buffer != NULL; i++) {
        size_t size = __atomic_load_n(&buffers->sizes[i], __ATOMIC_ACQUIRE);

        if (remove_out(buffers, i, buffer)) {
            return size;
        }
    }
    return 0;
}

void
lp_cupti_buffers_keep(lp_cupti_buffers *buffers, uint8_t *buffer, size_t size)
{
    if (size != LP_CUPTI_BUFFER_BYTES ||
        put(buffers->kept, LP_CUPTI_BUFFERS_KEPT, buffer) < 0) {
        free(buffer);
    }
}

void
lp_cupti_buffers_free(lp_cupti_buffers *buffers)
{
    uint8_t *buffer;

    while ((buffer = take_kept(buffers)) != NULL) {
        free(buffer);
    }
}
