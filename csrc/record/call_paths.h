/* Call paths: the lines that were open when work was launched on a device, or
 * memory was allocated.
 *
 * A path is a line within a parent path, which is the path of the calling
 * line; the outermost line has a root as its parent, one for each thread.
 * Equal paths are the same path with one number, so that a launch is charged
 * by storing a number.  Paths are never freed and never move.  The process has
 * one table, because a frame caches the number of its path.
 *
 * Any thread may look up a path at any time without a lock; only adding a new
 * one takes a lock.
 */
#ifndef LP_RECORD_CALL_PATHS_H
#define LP_RECORD_CALL_PATHS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { LP_NO_PATH = 0 };

typedef struct lp_call_path {
    uint32_t parent;
    uint32_t serial;     /* of the code, see lp_layout; 0 in a root */
    uint32_t line;       /* in a root: thread * 2 + whether it is adopted */
    uint32_t waits;      /* calls that blocked the thread (atomic), */
    uint64_t wait_ticks; /* their total time (atomic), */
    uint64_t max_wait_ticks; /* and the max of one (atomic) */
} lp_call_path;

/* What identifies a path, as it is copied to the live file. */
typedef struct lp_call_path_row {
    uint32_t parent; /* plus 1; 0: there is no path of this number (atomic) */
    uint32_t serial;
    uint32_t line;
} lp_call_path_row;

enum { LP_CALL_PATHS_PER_CHUNK = 4096, LP_CALL_PATH_CHUNKS = 256 };

typedef struct lp_call_path_table lp_call_path_table;

typedef struct lp_call_paths {
    lp_call_path *chunks[LP_CALL_PATH_CHUNKS]; /* owned */
    uint32_t n;                /* number of paths, number 0 included */
    lp_call_path_table *table; /* owned hash table (atomic) */
    uint32_t lost;             /* paths that there was no room for */
    pthread_mutex_t lock;      /* taken to add a path */
    lp_call_path_row *(*open)(uint32_t chunk); /* see lp_call_paths_copy_to */
    lp_call_path_row *rows[LP_CALL_PATH_CHUNKS]; /* borrowed */
} lp_call_paths;

/* Initialise; false if memory is out. */
bool lp_call_paths_init(lp_call_paths *paths);

void lp_call_paths_free(lp_call_paths *paths);

/* [GIL] Return the table of the process, made at the first call; NULL if
 * memory is out. */
lp_call_paths *lp_call_paths_of_process(void);

/* Keep paths from being added while the process is forked. */
void lp_call_paths_before_fork(void);

/* In both processes. */
void lp_call_paths_after_fork(void);

/* Copy all paths, and those to come, to where `open` says for each chunk of
 * them, before the first of it has a number; NULL to copy no more.  It is
 * called under the lock, and returns NULL if there is no place. */
void lp_call_paths_copy_to(lp_call_paths *paths,
                           lp_call_path_row *(*open)(uint32_t chunk));

/* Return the root path of a thread, on which no line is open. */
uint32_t lp_call_paths_root(lp_call_paths *paths, uint32_t thread,
                            bool adopted);

/* Return the path of `line` of the code `serial` within `parent`; `parent`
 * itself if there is no room for more. */
uint32_t lp_call_paths_child(lp_call_paths *paths, uint32_t parent,
                             uint32_t serial, uint32_t line);

static inline lp_call_path *
lp_call_paths_at(const lp_call_paths *paths, uint32_t number)
{
    return paths->chunks[number / LP_CALL_PATHS_PER_CHUNK] +
           number % LP_CALL_PATHS_PER_CHUNK;
}

/* A call on this path has blocked its thread for so many ticks. */
void lp_call_paths_add_wait(lp_call_paths *paths, uint32_t number,
                            uint64_t ticks);

/* So many ticks more of a wait are known, which has `ticks` by now. */
void lp_call_paths_extend_wait(lp_call_paths *paths, uint32_t number,
                               uint64_t more, uint64_t ticks);

#endif
