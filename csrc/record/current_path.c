#include "record/current_path.h"

#include <sched.h>
#include <stddef.h>

/* Of a deeper stack another thread reads so many frames at each end. */
enum {
    HALF = 256,
    MAX_LOCATIONS = 2 * HALF,
    MAX_TRIES = 64,
    MAX_OWN_TRIES = 1000
};

typedef struct location {
    uint32_t serial, line;
} location;

static uint32_t
known_path(const lp_call_paths *paths, uint32_t path)
{
    /* Frames that have not come to a line add nothing to the root */
    return lp_call_paths_at(paths, path)->serial == 0 ? LP_NO_PATH : path;
}

/* Read the location of a frame, and return its open line.  If another thread
 * changes frames meanwhile, the values may come from two frames: `changes`
 * shows that. */
static const lp_line *
read_location(const lp_frame *frame, location *found)
{
    const lp_line *line = __atomic_load_n(&frame->line, __ATOMIC_RELAXED);
    const lp_line *lines = __atomic_load_n(&frame->lines, __ATOMIC_RELAXED);
    uint32_t first = __atomic_load_n(&frame->first_line, __ATOMIC_RELAXED);
    uint32_t n = __atomic_load_n(&frame->n_lines, __ATOMIC_RELAXED);
    uintptr_t offset = ((uintptr_t)line - (uintptr_t)lines) / sizeof(*line);

    *found = (location){0, 0};
    if (line != NULL && offset < n) {
        found->serial = __atomic_load_n(&frame->serial, __ATOMIC_RELAXED);
        found->line = first + (uint32_t)offset;
    }
    return line;
}

static bool
has_changed(const lp_recorder *rec, uint32_t changes)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&rec->changes, __ATOMIC_RELAXED) != changes;
}

static bool
is_greenlet(const lp_frame *frame)
{
    return __atomic_load_n(&frame->flags, __ATOMIC_RELAXED) &
           LP_FRAME_GREENLET;
}

/* True if the cached path of the frame is valid.  A frame without a line has
 * no valid path, because pausing closes all lines at once. */
static bool
is_cached(const lp_frame *frame)
{
    const lp_line *line = __atomic_load_n(&frame->line, __ATOMIC_RELAXED);

    return line != NULL &&
           __atomic_load_n(&frame->path_line, __ATOMIC_RELAXED) == line &&
           __atomic_load_n(&frame->path, __ATOMIC_RELAXED) != LP_NO_PATH;
}

/* Return the innermost frame whose path is valid, or the sentinel. */
static lp_frame *
find_cached(lp_frame *frames, lp_frame *top)
{
    lp_frame *frame = top;

    if (LP_UNLIKELY(is_greenlet(top))) {
        /* Frames of a greenlet come to other lines while frames of others are
         * above them. */
        frame = frames;
        while (frame < top && is_cached(frame + 1)) {
            frame++;
        }
        return frame;
    }
    while (frame > frames && !is_cached(frame)) {
        frame--;
    }
    return frame;
}

static uint32_t
walk(const lp_recorder *rec, lp_call_paths *paths)
{
    lp_frame *frames = __atomic_load_n(&rec->frames, __ATOMIC_RELAXED);
    lp_frame *top = __atomic_load_n(&rec->top, __ATOMIC_RELAXED);
    lp_frame *frame = find_cached(frames, top);
    uint32_t path = frame > frames
                        ? __atomic_load_n(&frame->path, __ATOMIC_RELAXED)
                        : lp_call_paths_root(paths, rec->number, false);

    if (frame == top) {
        return path;
    }
    while (frame < top) {
        const lp_line *line;
        location here;

        line = read_location(++frame, &here);
        if (here.serial != 0) {
            path = lp_call_paths_child(paths, path, here.serial, here.line);
        }
        __atomic_store_n(&frame->path, path, __ATOMIC_RELAXED);
        __atomic_store_n(&frame->path_line, line, __ATOMIC_RELAXED);
    }
    /* The path has to be stored before the caller checks whether frames have
     * changed. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return path;
}

static void
forget_paths(const lp_recorder *rec)
{
    lp_frame *frames = __atomic_load_n(&rec->frames, __ATOMIC_RELAXED);

    for (lp_frame *frame = __atomic_load_n(&rec->top, __ATOMIC_RELAXED);
         frame > frames; frame--) {
        __atomic_store_n(&frame->path, LP_NO_PATH, __ATOMIC_RELAXED);
    }
}

uint32_t
lp_current_path(lp_recorder *rec, lp_call_paths *paths)
{
    bool stale = false;

    /* Without the GIL, another thread may be removing frames of this thread:
     * then paths were stored in frames that moved. */
    for (int i = 0; i < MAX_OWN_TRIES; i++) {
        uint32_t changes = __atomic_load_n(&rec->changes, __ATOMIC_ACQUIRE);

        if (LP_LIKELY(changes % 2 == 0)) {
            uint32_t path;

            if (LP_UNLIKELY(stale)) {
                forget_paths(rec);
            }
            path = walk(rec, paths);
            if (LP_LIKELY(!has_changed(rec, changes))) {
                return known_path(paths, path);
            }
        }
        stale = true;
        sched_yield();
    }
    return LP_NO_PATH;
}

/* Copy the locations of all open lines, outermost first, or both ends of a
 * deep stack; -1 if they changed meanwhile. */
static int
copy_locations(const lp_recorder *rec, location *locations,
               lp_adopted_path *state)
{
    const lp_frame *frames = __atomic_load_n(&rec->frames, __ATOMIC_RELAXED);
    const lp_frame *top = __atomic_load_n(&rec->top, __ATOMIC_RELAXED);
    ptrdiff_t depth;
    int n = 0;

    /* Both pointers are of one array only if nothing changed in between. */
    if (has_changed(rec, state->changes)) {
        return -1;
    }
    depth = top - frames;
    state->line = NULL;
    for (ptrdiff_t i = 1; i <= depth; i++) {
        if (i > HALF && i <= depth - HALF) {
            continue;
        }
        state->line = read_location(frames + i, &locations[n++]);
    }
    if (is_greenlet(top)) {
        state->rec = NULL; /* its line alone does not determine the lines of
                              the others */
    }
    return has_changed(rec, state->changes) ? -1 : n;
}

/* True if the top frame is on the line of the last reading. */
static bool
is_known(const lp_recorder *rec, const lp_adopted_path *known)
{
    const lp_frame *top;

    if (known->rec != rec ||
        __atomic_load_n(&rec->changes, __ATOMIC_ACQUIRE) != known->changes) {
        return false;
    }
    top = __atomic_load_n(&rec->top, __ATOMIC_RELAXED);
    return __atomic_load_n(&top->line, __ATOMIC_RELAXED) == known->line &&
           !has_changed(rec, known->changes);
}

uint32_t
lp_current_path_of_thread(const lp_recorder *rec, lp_call_paths *paths,
                          lp_adopted_path *known)
{
    location locations[MAX_LOCATIONS];
    lp_adopted_path state = {.rec = rec};
    int n = -1;

    if (is_known(rec, known)) {
        return known->path;
    }
    for (int i = 0; i < MAX_TRIES && n < 0; i++) {
        state.changes = __atomic_load_n(&rec->changes, __ATOMIC_ACQUIRE);
        if (state.changes % 2 == 0) {
            n = copy_locations(rec, locations, &state);
        }
    }
    if (n < 0) {
        return LP_NO_PATH;
    }
    state.path = lp_call_paths_root(paths, rec->number, true);
    for (int i = 0; i < n; i++) {
        if (locations[i].serial != 0) {
            state.path = lp_call_paths_child(
                paths, state.path, locations[i].serial, locations[i].line);
        }
    }
    state.path = known_path(paths, state.path);
    *known = state;
    return state.path;
}
