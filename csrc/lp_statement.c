/* Statements of several lines: each time that one runs is a hit of each of its
 * lines, however control goes about in it. */
#include "lp_recorder.h"

enum { SEEN_BITS = 64 };

/* Count the line of a statement once for each time that the statement runs,
 * however often control comes back to the line meanwhile. */
static void
hit_once(lp_frame *frame, lp_line *line, uint32_t place)
{
    if (place < SEEN_BITS) {
        uint64_t bit = (uint64_t)1 << place;

        if (frame->seen & bit) {
            line->cost += line->weight;
            return;
        }
        frame->seen |= bit;
    }
    else {
        /* Literals of many lines run straight down. */
        if (place <= frame->furthest) {
            line->cost += line->weight;
            return;
        }
        frame->furthest = place;
    }
    line->hits++;
}

void
lp_recorder_statement(lp_frame *frame, const lp_line *from, lp_line *to,
                      lp_step step)
{
    lp_line *first;
    bool same = from != NULL && from->statement == to->statement;

    if (to->statement == 0) {
        /* A comprehension goes round on a line of no statement. */
        to->cost += to->weight;
        return;
    }
    first = frame->lines + (to->statement - 1);
    if (!same || step == LP_AGAIN) {
        lp_recorder_end_statement(frame);
        frame->statement = first;
        frame->spent = 0;
        frame->seen = 0;
        frame->furthest = 0;
        if (to != first) {
            /* It begins at its inside: a hit of the first line, but no stay
             * there (the sum of both costs is what is read). */
            hit_once(frame, first, 0);
            first->cost -= first->weight;
        }
    }
    hit_once(frame, to, (uint32_t)(to - first));
}
