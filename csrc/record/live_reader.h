/* Reader of a live file: see live_file.h.
 *
 * It reads a private copy of the file, in which it may write, and trusts
 * nothing in it: each pointer is looked up among the blocks, and followed only
 * if all of its target lies in a block of the kind that it must be in, and
 * begins where a record of that kind does.  So nothing is written to but the
 * counts in such records.
 *
 * While the process runs, the parts of a copy are of different instants: a
 * line may have been open when its frame was copied, and charged when its
 * counters were.  A second copy, read after the first one, tells what stayed
 * as it was: see lp_live_copy_compare.
 *
 * No Python, one thread.
 */
#ifndef LP_RECORD_LIVE_READER_H
#define LP_RECORD_LIVE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/call_tree.h"
#include "record/live_file.h"
#include "record/recorder.h"

/* A block, as the file was mapped into its process. */
typedef struct lp_live_block {
    uint64_t address; /* of the process, of the block's first byte */
    char *at;         /* the same byte in the copy */
    uint64_t used;    /* bytes, its head included */
    lp_block_kind kind;
    uint32_t first_node; /* in a block of nodes: number of its first one */
    unsigned done;       /* what was done with the frames in it */
} lp_live_block;

typedef struct lp_live_copy {
    const lp_live_header *header;
    lp_live_block *blocks;      /* owned, in the order of the file */
    lp_live_block **by_address; /* owned */
    size_t n_blocks;
    uint32_t n_nodes;
    uint64_t n_waits;   /* max number of all lines that waited, and */
    uint32_t n_threads; /* of threads */
    struct {
        uint32_t serial, first_line;
    } *codes; /* owned, sorted by serial */
    size_t n_codes;
    lp_code_counters **counters; /* owned: all of them, in the order of the */
    size_t n_counters;           /* file */
    const char *later; /* borrowed: the second copy; NULL if the process has */
    size_t later_bytes; /* ended */
} lp_live_copy;

typedef enum lp_live_result {
    LP_LIVE_READ,
    LP_LIVE_NO_MEMORY,
    LP_LIVE_FOREIGN,    /* not a live file */
    LP_LIVE_OTHER_BUILD /* of a version with other structs */
} lp_live_result;

/* Read the copy of a file, of so many bytes, aligned to a page.  The result is
 * to be closed in any case. */
lp_live_result lp_live_copy_open(lp_live_copy *self, char *file, size_t bytes);

void lp_live_copy_close(lp_live_copy *self);

/* The process runs.  `later` is a second copy of its file, which was read
 * after the first one, and is kept by the caller: counters that were
 * incomplete in the first one are left out. */
void lp_live_copy_compare(lp_live_copy *self, const char *later, size_t bytes);

/* The end of a process, or its state when the copy was read. */
typedef struct lp_live_end {
    lp_ticks last;    /* the last event of any thread; 0 if there was none */
    uint64_t cost;    /* of all events of all threads */
    uint32_t threads; /* that have not ended */
} lp_live_end;

/* Charge the lines that were open when the process ended, up to the last event
 * of their thread.
 *
 * If the process runs: those that are still open in the second copy, up to
 * `now`, which is a time between the two copies, or 0 if it is not known.
 * Others may have been charged when their counters were copied; they were
 * open at most for the time that the two copies took, or lack some time until
 * the next pair of copies. */
lp_live_end lp_live_copy_settle(const lp_live_copy *self, lp_ticks now);

/* Take an open line of a thread that has not ended: its offset from the first
 * line of the counters, and when it was opened.  0, or -1 to end. */
typedef int lp_live_open_taker(void *arg, const lp_recorder *rec,
                               const lp_code_counters *counters,
                               uint64_t offset, lp_ticks opened);

/* Let `take` have the open lines of each thread, outermost first; once.  In a
 * deep recursion only the innermost ones.  0, or -1. */
int lp_live_copy_open_lines(const lp_live_copy *self, lp_live_open_taker *take,
                            void *arg);

/* Return the next record of the log after `record`, or the first one if it is
 * NULL; NULL if there are no more. */
const lp_live_record *lp_live_copy_record(const lp_live_copy *self,
                                          const lp_live_record *record);

/* The same for counters, whose lines and awaited ticks can be read. */
lp_code_counters *lp_live_copy_counters(const lp_live_copy *self,
                                        const lp_code_counters *counters);

/* The same for recorders. */
const lp_recorder *lp_live_copy_recorder(const lp_live_copy *self,
                                         const lp_recorder *rec);

/* The same for nodes. */
const lp_node *lp_live_copy_node(const lp_live_copy *self,
                                 const lp_node *node);

/* The number of a node's parent, which is less than that of the node and of a
 * kind that fits; -1 if it has none. */
int64_t lp_live_copy_parent(const lp_live_copy *self, const lp_node *node);

/* The counters of a node's function, or NULL. */
const lp_code_counters *lp_live_copy_callee(const lp_live_copy *self,
                                            const lp_node *node);

/* The calling line of a node, as numbered in the source file; 0 if it has
 * none. */
uint32_t lp_live_copy_line(const lp_live_copy *self, const lp_node *node);

/* The waits of a code object in a thread, or NULL. */
const lp_off_cpu_lines *lp_live_copy_waits(const lp_live_copy *self,
                                           const lp_code_counters *counters);

/* Take waits that are still to be charged to the open line of a code object.
 * 0, or -1 to end. */
typedef int lp_live_taker(void *arg, const lp_code_counters *counters,
                          const lp_off_cpu_line *line);

/* Let `take` have all waits that the frames of recorders owe to their open
 * lines; once.  0, or -1. */
int lp_live_copy_owed(const lp_live_copy *self, lp_live_taker *take,
                      void *arg);

/* The code object in a record; NULL if it is another record, or damaged. */
const lp_live_code *lp_live_record_code(const lp_live_record *record);

/* The line of a code object's first counter; false if it is not known. */
bool lp_live_copy_first_line(const lp_live_copy *self, uint32_t serial,
                             uint32_t *first_line);

#endif
