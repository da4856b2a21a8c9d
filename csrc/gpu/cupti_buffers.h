/* The buffers that lineprof hands out to CUPTI.
 *
 * Another tool in the process may register its buffer callbacks before or
 * after lineprof does.  CUPTI then returns that tool's buffers to lineprof, or
 * lineprof's to that tool, which may free them.  So every buffer that is out
 * is in a table, its memory is used again only once it has come back, and a
 * buffer that is not in the table is foreign: its memory is never touched.
 *
 * All functions are [ANY] and take no lock, so that they can run in a forked
 * child.
 */
#ifndef LP_GPU_CUPTI_BUFFERS_H
#define LP_GPU_CUPTI_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LP_CUPTI_BUFFER_BYTES = 2 << 20,
    LP_CUPTI_BUFFERS_OUT = 4096, /* max number of buffers that are out */
    LP_CUPTI_BUFFERS_KEPT = 16   /* max number of buffers to be used again */
};

typedef struct lp_cupti_buffers {
    /* Not touched until they come back, as another tool may have freed them
     * (atomic). */
    uint8_t *out[LP_CUPTI_BUFFERS_OUT];
    uint32_t sizes[LP_CUPTI_BUFFERS_OUT]; /* in bytes (atomic) */
    uint8_t *kept[LP_CUPTI_BUFFERS_KEPT]; /* owned, whole (atomic) */
} lp_cupti_buffers;

/* Return a buffer of `*size` bytes for CUPTI; NULL and 0 if memory is out. */
uint8_t *lp_cupti_buffers_hand_out(lp_cupti_buffers *buffers, size_t *size);

/* CUPTI has returned a buffer.  Returns its size, and the buffer is the
 * caller's until lp_cupti_buffers_keep; 0 if the buffer is foreign. */
size_t lp_cupti_buffers_take_back(lp_cupti_buffers *buffers,
                                  const uint8_t *buffer);

/* Keep a buffer that was taken back for the next request, or free it. */
void lp_cupti_buffers_keep(lp_cupti_buffers *buffers, uint8_t *buffer,
                           size_t size);

/* Free the buffers that are kept. */
void lp_cupti_buffers_free(lp_cupti_buffers *buffers);

#endif
