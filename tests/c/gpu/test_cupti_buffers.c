/* Buffers for CUPTI: handed out, taken back once, and told from those of other
 * tools, whose memory is never touched. */
#include "gpu/cupti_buffers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static lp_cupti_buffers buffers; /* too large for a stack */

static void
a_buffer_comes_back_once(void)
{
    size_t size;
    uint8_t *buffer = lp_cupti_buffers_hand_out(&buffers, &size);

    CHECK(buffer != NULL && size == LP_CUPTI_BUFFER_BYTES);
    CHECK((uintptr_t)buffer % 64 == 0);
    memset(buffer, 1, size);
    CHECK(lp_cupti_buffers_take_back(&buffers, buffer + 64) == 0);
    CHECK(lp_cupti_buffers_take_back(&buffers, buffer) == size);
    CHECK(lp_cupti_buffers_take_back(&buffers, buffer) == 0);
    lp_cupti_buffers_keep(&buffers, buffer, size);
    CHECK(lp_cupti_buffers_take_back(&buffers, buffer) == 0);
    CHECK(lp_cupti_buffers_take_back(&buffers, NULL) == 0);
    CHECK(lp_cupti_buffers_hand_out(&buffers, &size) == buffer);
    CHECK(lp_cupti_buffers_take_back(&buffers, buffer) == size);
    lp_cupti_buffers_keep(&buffers, buffer, size);
    lp_cupti_buffers_free(&buffers);
}

/* The address may be that of memory which its owner has freed, or of none. */
static void
a_foreign_buffer_is_not_touched(void)
{
    uint8_t *theirs = malloc(64);
    size_t size;
    uint8_t *ours = lp_cupti_buffers_hand_out(&buffers, &size);

    CHECK(lp_cupti_buffers_take_back(&buffers, theirs) == 0);
    free(theirs);
    CHECK(lp_cupti_buffers_take_back(&buffers, (uint8_t *)16) == 0);
    CHECK(lp_cupti_buffers_take_back(&buffers, ours) == size);
    lp_cupti_buffers_keep(&buffers, ours, size);
    lp_cupti_buffers_free(&buffers);
}

/* A tool that got buffers of lineprof has freed them; the same memory may be
 * handed out again. */
static void
buffers_that_another_tool_freed_are_forgotten(void)
{
    enum { N = 200 };
    uint8_t *out[N];
    size_t size;

    for (int i = 0; i < N; i++) {
        out[i] = lp_cupti_buffers_hand_out(&buffers, &size);
    }
    for (int i = 0; i < N; i++) {
        free(out[i]); /* the other tool */
    }
    for (int i = 0; i < N; i++) {
        out[i] = lp_cupti_buffers_hand_out(&buffers, &size);
        memset(out[i], i, size);
    }
    for (int i = 0; i < N; i++) {
        CHECK(lp_cupti_buffers_take_back(&buffers, out[i]) == size);
        CHECK(lp_cupti_buffers_take_back(&buffers, out[i]) == 0);
        lp_cupti_buffers_keep(&buffers, out[i], size);
    }
    for (int i = 0; i < LP_CUPTI_BUFFERS_KEPT; i++) {
        CHECK(buffers.kept[i] != NULL); /* the others were freed */
    }
    lp_cupti_buffers_free(&buffers);
}

static void
a_full_table_gives_no_buffer(void)
{
    uint8_t *last;
    size_t size;

    for (int i = 0; i < LP_CUPTI_BUFFERS_OUT; i++) {
        buffers.out[i] = (uint8_t *)(uintptr_t)(i + 1);
    }
    CHECK(lp_cupti_buffers_hand_out(&buffers, &size) == NULL && size == 0);
    buffers.out[7] = NULL;
    last = lp_cupti_buffers_hand_out(&buffers, &size);
    CHECK(last != NULL && buffers.out[7] == last);
    CHECK(lp_cupti_buffers_take_back(&buffers, last) == size);
    free(last);
    memset(buffers.out, 0, sizeof(buffers.out));
}

static void *
pass_buffers(void *unused)
{
    (void)unused;
    for (int i = 0; i < 3000; i++) {
        size_t size;
        uint8_t *buffer = lp_cupti_buffers_hand_out(&buffers, &size);
        uint8_t mark = (uint8_t)i;

        memset(buffer, mark, 64);
        if (buffer[63] != mark ||
            lp_cupti_buffers_take_back(&buffers, buffer) != size) {
            CHECK(!"a buffer belongs to one thread");
        }
        lp_cupti_buffers_keep(&buffers, buffer, size);
    }
    return NULL;
}

static void
many_threads_pass_buffers(void)
{
    pthread_t threads[8];

    for (int i = 0; i < 8; i++) {
        pthread_create(&threads[i], NULL, pass_buffers, NULL);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < LP_CUPTI_BUFFERS_OUT; i++) {
        CHECK(buffers.out[i] == NULL);
    }
    lp_cupti_buffers_free(&buffers);
}

int
main(void)
{
    a_buffer_comes_back_once();
    a_foreign_buffer_is_not_touched();
    buffers_that_another_tool_freed_are_forgotten();
    a_full_table_gives_no_buffer();
    many_threads_pass_buffers();
    return check_failures;
}
