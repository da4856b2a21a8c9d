/* The live file: counters in a file that is mapped into the process, so that
 * they outlive it.
 *
 * The kernel keeps the pages of a shared mapping when a process ends in
 * whatever way: after SIGKILL, a crash, _exit or exec, the file has every
 * count up to the last event.  live_reader.h reads it.  Writing a count costs
 * the same as in private memory.
 *
 * A file is a sequence of blocks, of whole pages.  The first one has the
 * lp_live_header; the others have recorders, counters, nodes of call trees or
 * records of the log.  Pointers in the file are those of the process: each
 * block has the address at which it was mapped.
 *
 * Room in the file is reserved before it is mapped, because a write to a page
 * for which there is no room on the disk would kill the process.  If there is
 * no room, or the file is gone, or would have more than 1 GiB, memory is
 * private from then on, and the file is marked as incomplete.  No descriptor
 * is kept open, which the program would see, or close.  The file never gets
 * shorter, because that would kill another process that reads it in a mapping.
 *
 * A forked child gets private copies at the same addresses before any of its
 * code runs.  It may then move them to a file of its own.  (A child that is
 * made by a system call of the program gets them at its first call or return.)
 *
 * There is at most one live file.  [GIL], but for the handlers of forks and
 * signals.
 */
#ifndef LP_RECORD_LIVE_FILE_H
#define LP_RECORD_LIVE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/block.h"
#include "record/clock.h"

enum {
    LP_LIVE_FORMAT = 2,
    LP_LIVE_REASON = 32 /* bytes of a reason, its NUL included */
};

#define LP_LIVE_MAGIC 0x6576696c666f7270u /* "proflive" */

/* States of a live file. */
typedef enum lp_live_state {
    LP_LIVE_RUNNING = 0,
    LP_LIVE_SIGNALLED, /* `signal` was about to end the process */
    LP_LIVE_ENDED,     /* the run is over, for `reason`, */
    LP_LIVE_WRITTEN    /* and its profile is written: the file is needless */
} lp_live_state;

/* The first block. */
typedef struct lp_live_header {
    lp_block block;
    uint64_t magic;      /* LP_LIVE_MAGIC */
    uint32_t format;     /* LP_LIVE_FORMAT */
    uint32_t layout;     /* hash of the sizes of all structs in the file */
    uint64_t pid;        /* of the process */
    uint64_t unix_ns;    /* the same instant on three clocks: ns since the */
    uint64_t mono_ns;    /* epoch, of CLOCK_MONOTONIC, */
    uint64_t ticks;      /* and ticks */
    uint64_t scale;      /* of ticks to ns, see lp_clock_scale; 0 until it is
                            known well enough */
    uint32_t cost_one;   /* LP_COST_ONE */
    uint32_t signal;     /* that ended the process; 0 if unknown */
    uint32_t state;      /* lp_live_state */
    uint32_t incomplete; /* memory is private from some time on */
    char reason[LP_LIVE_REASON]; /* how the program ended, as far as Python
                                    knows: UTF-8 */
} lp_live_header;

/* A record of the log, in units of LP_RECORD_BYTES. */
typedef struct lp_live_record {
    uint32_t kind;  /* lp_live_kind; 0 until it is complete */
    uint32_t bytes; /* of data */
    uint64_t tracer;
    uint8_t data[];
} lp_live_record;

typedef enum lp_live_kind {
    LP_LIVE_NOTE = 1, /* of the Python side */
    LP_LIVE_CODE      /* a lp_live_code, and its key */
} lp_live_kind;

/* A code object: the names of its file and of itself follow, in UTF-8. */
typedef struct lp_live_code {
    uint32_t serial;
    uint32_t first_line; /* of its counters */
    uint32_t line;       /* of its definition */
    uint32_t file_bytes; /* of the name of its file; 0 for a C function */
} lp_live_code;

/* Create a live file, for this process alone (mode 0600).  0, or errno. */
int lp_live_open(const char *path, const lp_clock *clock);

/* True if there is a live file that has room, or may have. */
bool lp_live_is_open(void);

/* True if there is one, and all that was counted so far is in it. */
bool lp_live_is_complete(void);

/* Points to 0 in a child that was made without the handlers of forks; it calls
 * lp_live_forked before it changes what it shares with its parent. */
extern const uint32_t *lp_live_same_process;
void lp_live_forked(void);

/* Around a fork, see forks.h: blocks are copied, and do not change until it is
 * over; in the child they are parted from the parent's. */
void lp_live_before_fork(void);
void lp_live_after_fork(void);
void lp_live_after_fork_in_child(void);

/* Append `head` and `data` to the log as one record of a tracer; nothing if
 * there is no live file. */
void lp_live_log(lp_live_kind kind, uint64_t tracer, const void *head,
                 size_t head_bytes, const void *data, size_t bytes);

/* Hash of the layout of all structs in the file. */
uint32_t lp_live_layout(void);

/* In a forked child: move the memory to a new live file.  0, or errno; the
 * memory is then private. */
int lp_live_move(const char *path, const lp_clock *clock);

/* Remove the handlers of signals that lp_live_open set. */
void lp_live_unwatch_signals(void);

/* The run is over: note the reason, or, with `remove`, delete the file.
 * Memory that is in use remains mapped.  Does nothing in a forked child of the
 * process whose file it is. */
void lp_live_close(const char *reason, bool remove);

#endif
