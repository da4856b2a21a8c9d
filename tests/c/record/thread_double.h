/* A thread with open lines, for tests of call paths. */
#ifndef LINES_ROOM_H
#define LINES_ROOM_H

#include <stdlib.h>

#include "random.h"
#include "record/current_path.h"

enum { CODES = 8, LINES = 10, ENDS = 256 };

static char codes[CODES], owners[2];

typedef struct fixture {
    lp_arena arena;
    lp_recorder *rec;
    /* code i: serial i + 1, lines from 100 * i */
    lp_code_counters *counters[CODES];
    lp_call_paths paths;
    uint64_t chance;
} fixture;

static inline lp_ticks
never(void)
{
    return 0;
}

static inline fixture *
set_up(void)
{
    fixture *made = calloc(1, sizeof(*made));
    lp_costs costs = {0};
    lp_clock clock;

    lp_clock_set_source(&clock, never);
    lp_arena_init(&made->arena, LP_BLOCK_COUNTERS, false);
    made->rec = lp_recorder_new(&clock, &costs);
    made->rec->number = 3;
    for (uint32_t i = 0; i < CODES; i++) {
        lp_layout layout = {.code_id = i,
                            .serial = i + 1,
                            .first_line = 100 * i,
                            .n_lines = LINES};

        made->counters[i] =
            lp_recorder_counters(made->rec, &made->arena, &layout);
    }
    lp_call_paths_init(&made->paths);
    return made;
}

static inline void
tear_down(fixture *made)
{
    lp_recorder_free(made->rec);
    lp_arena_free(&made->arena);
    lp_call_paths_free(&made->paths);
    free(made);
}

static inline void
enter(fixture *made, uint32_t code)
{
    lp_frame *frame = lp_recorder_enter(made->rec, &codes[code],
                                        made->counters[code], 100 * code);

    frame->owner = &owners[code % 2];
}

static inline void
line(fixture *made, uint32_t offset)
{
    lp_recorder_line(made->rec, made->rec->top, offset, 0, LP_LINE_FORWARD);
}

static inline void
leave(fixture *made)
{
    lp_recorder_leave(made->rec, made->rec->top, false, 0);
}

static inline size_t
depth_of(const fixture *made)
{
    return (size_t)(made->rec->top - made->rec->frames);
}

/* The path by a walk over all frames, or over both ends of a deep stack. */
static inline uint32_t
walked(fixture *made, bool adopted, size_t ends)
{
    uint32_t path = lp_call_paths_root(&made->paths, 3, adopted);
    size_t depth = depth_of(made);
    bool any = false;

    for (size_t i = 1; i <= depth; i++) {
        const lp_frame *frame = made->rec->frames + i;

        if (frame->line == NULL || (i > ends && i <= depth - ends)) {
            continue;
        }
        path = lp_call_paths_child(&made->paths, path, frame->serial,
                                   frame->first_line +
                                       (uint32_t)(frame->line - frame->lines));
        any = true;
    }
    return any ? path : LP_NO_PATH;
}

static inline bool
is_right(fixture *made)
{
    return lp_current_path(made->rec, &made->paths) ==
           walked(made, false, SIZE_MAX / 2);
}

static inline uint32_t
adopt(fixture *made, lp_adopted_path *known)
{
    return lp_current_path_of_thread(made->rec, &made->paths, known);
}

#endif
