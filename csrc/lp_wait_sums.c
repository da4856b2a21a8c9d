/* Waits by line, and those that are still to be handed down to lines. */
#include "lp_wait_sums.h"

#include <stdlib.h>
#include <string.h>

#include "lp_recorder.h"

void
lp_wait_free(lp_wait *wait)
{
    free(wait->pending);
}

void
lp_wait_forget(lp_counts *counts)
{
    free(counts->waits);
    counts->waits = NULL;
}

static void
add(lp_waited *to, const lp_waited *from)
{
    for (int i = 0; i < LP_WAIT_CAUSES; i++) {
        to->ns[i] += from->ns[i];
    }
}

/* The counters' waits with room for one more, or NULL when memory is out. */
static lp_wait_lines *
make_room(lp_counts *counts)
{
    lp_wait_lines *waits = counts->waits;
    uint32_t room = waits == NULL ? 4 : waits->room * 2;
    uint32_t n = waits == NULL ? 0 : waits->n;

    if (waits != NULL && n < waits->room) {
        return waits;
    }
    waits = realloc(waits, sizeof(*waits) + room * sizeof(waits->lines[0]));
    if (waits != NULL) {
        waits->n = n;
        waits->room = room;
        counts->waits = waits;
    }
    return waits;
}

/* The waits of a line; NULL when memory is out. */
static lp_wait_line *
of_line(lp_counts *counts, uint64_t offset)
{
    lp_wait_lines *waits = make_room(counts);
    uint32_t low = 0, high;

    if (waits == NULL) {
        return NULL;
    }
    high = waits->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (waits->lines[middle].offset < offset) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    if (low == waits->n || waits->lines[low].offset != offset) {
        memmove(waits->lines + low + 1, waits->lines + low,
                (waits->n - low) * sizeof(waits->lines[0]));
        waits->lines[low] = (lp_wait_line){.offset = offset};
        waits->n++;
    }
    return &waits->lines[low];
}

void
lp_wait_charge_line(const lp_frame *frame, const lp_waited *waited)
{
    lp_wait_line *to =
        of_line(frame->counts, (uint64_t)(frame->line - frame->lines));

    if (to != NULL) {
        add(&to->waited, waited);
    }
}

void
lp_wait_charge_own(const lp_recorder *rec, uint64_t depth, uint64_t waited,
                   uint64_t system)
{
    const lp_frame *frame = rec->frames + depth;
    bool of_c = (frame->flags & LP_FRAME_NATIVE) != 0;
    lp_wait_line *to;

    while (frame > rec->frames &&
           (frame->line == NULL || (frame->flags & LP_FRAME_NATIVE) != 0)) {
        frame--;
    }
    if (frame == rec->frames || (waited == 0 && system == 0)) {
        return;
    }
    to = of_line(frame->counts, (uint64_t)(frame->line - frame->lines));
    if (to != NULL) {
        to->own[of_c ? LP_OWN_C_WAIT : LP_OWN_WAIT] += waited;
        to->own[of_c ? LP_OWN_C_SYSTEM : LP_OWN_SYSTEM] += system;
    }
}

/* -- what is still to be handed down ---------------------------------------
 */

uint64_t
lp_wait_depth(const lp_recorder *rec, const lp_frame *frame)
{
    while (frame > rec->frames && frame->line == NULL) {
        frame--;
    }
    return (uint64_t)(frame - rec->frames);
}

void
lp_wait_push(lp_wait *wait, uint64_t depth, const lp_waited *waited)
{
    lp_wait_pending *top;

    if (depth == 0) {
        return;
    }
    if (wait->n_pending != 0) {
        top = &wait->pending[wait->n_pending - 1];
        if (top->depth >= depth) {
            add(&top->waited, waited);
            return;
        }
    }
    if (wait->n_pending == wait->room) {
        uint32_t room = wait->room == 0 ? 8 : wait->room * 2;

        top = realloc(wait->pending, room * sizeof(*top));
        if (top == NULL) {
            return;
        }
        wait->pending = top;
        wait->room = room;
    }
    top = &wait->pending[wait->n_pending++];
    top->depth = depth;
    top->waited = *waited;
}

bool
lp_wait_pop(lp_wait *wait, uint64_t depth, lp_waited *waited)
{
    bool any = false;

    while (wait->n_pending != 0 &&
           wait->pending[wait->n_pending - 1].depth >= depth) {
        add(waited, &wait->pending[--wait->n_pending].waited);
        any = true;
    }
    return any;
}

void
lp_wait_spread(lp_recorder *rec)
{
    lp_waited waited = {{0}};
    bool any = false;

    for (lp_frame *frame = rec->wait.n_pending != 0 ? rec->top : rec->frames;
         frame > rec->frames; frame--) {
        any |=
            lp_wait_pop(&rec->wait, (uint64_t)(frame - rec->frames), &waited);
        if (any && frame->line != NULL) {
            lp_wait_charge_line(frame, &waited);
        }
    }
    rec->wait.n_pending = 0;
}

void
lp_wait_split(lp_waited *waited, uint64_t off_ns, uint64_t gap_ns,
              uint64_t gave, uint64_t lost, const uint64_t *samples)
{
    uint64_t running = samples[LP_WAIT_READY], blocked = 0, left = off_ns;

    *waited = (lp_waited){{0}};
    for (int i = 0; i < LP_WAIT_CAUSES; i++) {
        blocked += i == LP_WAIT_READY ? 0 : samples[i];
    }
    if (gave == 0) {
        waited->ns[LP_WAIT_READY] = off_ns;
        return;
    }
    if (lost != 0 && running != 0) {
        /* Of what it was seen not to be blocked, some was no running. */
        double part = (double)blocked / (double)(blocked + running);
        uint64_t most = (uint64_t)((double)gap_ns * part);

        left = most < off_ns ? most : off_ns;
        waited->ns[LP_WAIT_READY] = off_ns - left;
    }
    if (blocked == 0) {
        waited->ns[LP_WAIT_UNSEEN] = left;
        return;
    }
    for (int i = 0; i < LP_WAIT_CAUSES; i++) {
        if (i != LP_WAIT_READY && samples[i] != 0) {
            uint64_t part = (uint64_t)((double)left * (double)samples[i] /
                                       (double)blocked);

            waited->ns[i] = part;
            off_ns -= part;
        }
    }
    /* What rounding left over: not more than some ns. */
    waited->ns[LP_WAIT_OTHER] += off_ns - waited->ns[LP_WAIT_READY];
}
