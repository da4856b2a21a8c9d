/* Off-CPU time of a thread: wall time less processor time, by line and cause.
 *
 * Clocks are read only at an event that comes long after the one before it on
 * its thread.  What the thread was on no processor meanwhile goes to all lines
 * that were open: it is noted once, for the innermost frame of then, and
 * handed down as lines end (see lp_off_cpu_charge), so that a wait costs the
 * same however deep it is.
 *
 * The cause comes from off_cpu_sampler.h, which looks at what the thread is
 * blocked in, and from the system's count of its context switches: a thread
 * that gave no processor up was put off it.
 */
#ifndef LP_RECORD_OFF_CPU_H
#define LP_RECORD_OFF_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "record/clock.h"

typedef enum lp_cause {
    LP_WAIT_GIL = 0,
    LP_WAIT_LOCK,
    LP_WAIT_SLEEP,
    LP_WAIT_IO,
    LP_WAIT_RUNNABLE, /* it could run; among samples: it runs, or could */
    LP_WAIT_OTHER,
    LP_WAIT_UNSEEN, /* blocked, and nobody looked meanwhile */
    LP_WAIT_CAUSES
} lp_cause;

enum {
    LP_WAIT_NS = 30000,      /* a gap that is looked at: a look takes 1 % */
    LP_WAIT_NOISE_NS = 5000, /* interrupts, and the two clocks' own time */
};

/* Nothing is looked at. */
#define LP_WAIT_NEVER UINT64_MAX

typedef struct lp_waited {
    uint64_t ns[LP_WAIT_CAUSES];
} lp_waited;

/* Waits of all frames up to a depth, for their lines that are open. */
typedef struct lp_off_cpu_pending {
    lp_waited waited;
    uint64_t depth; /* 1: the outermost */
} lp_off_cpu_pending;

/* What a line was in itself, without profiled functions that it called, and
 * what C functions were that it called: see lp_off_cpu_split_on. */
typedef enum lp_self_part {
    LP_SELF_WAIT = 0,
    LP_SELF_SYSTEM, /* processor time in the kernel */
    LP_SELF_C_WAIT,
    LP_SELF_C_SYSTEM,
    LP_SELF_PARTS
} lp_self_part;

/* Waits of one line, see lp_code_counters.waits. */
typedef struct lp_off_cpu_line {
    lp_waited waited;
    uint64_t self[LP_SELF_PARTS]; /* ns */
    uint64_t offset;              /* of the line */
} lp_off_cpu_line;

typedef struct lp_off_cpu_lines {
    uint32_t n, capacity;
    lp_off_cpu_line lines[]; /* by offset */
} lp_off_cpu_lines;

/* A thread's, in its recorder. */
typedef struct lp_off_cpu {
    lp_ticks min; /* so many ticks on a line leaves the fast path (atomic) */
    lp_ticks last_leave; /* when a frame was left, or resumed, last */
    lp_ticks threshold;  /* a gap of more ticks is looked at (atomic) */
    lp_ticks read_at;    /* when the clocks below were read */
    lp_ns wall, cpu;
    uint64_t cost; /* of all looks, in rec->cost, too */
    uint64_t voluntary,
        involuntary;        /* processors: context switches of both kinds */
    lp_ns system;           /* processor time in the kernel */
    bool read;              /* of this very thread */
    bool reading_requested; /* the sampler has the thread's next event leave
                             * the fast path, whatever it stayed (atomic) */
    bool exact;             /* the threshold is measured */
    uint32_t thread;        /* as the system numbers it; 0: unknown (atomic) */
    lp_ns (*clock)(void);   /* processor time, a test's; NULL: the system's */
    lp_off_cpu_pending *pending; /* owned, by depth */
    uint32_t n_pending, capacity;
    uint64_t samples[LP_WAIT_CAUSES]; /* ns, since the last look (atomic) */
    lp_ns sampled_at;                 /* the sampler's: when it looked, */
    lp_cause last_cause;              /* at what, how often in this gap, */
    uint32_t repeats;
    uint32_t file_thread; /* whom, and by which file: */
    uint32_t file_run;    /* 0, or the sampler's that opened it */
    int file;
} lp_off_cpu;

/* Whether what lines and C functions themselves waited, and were in the
 * kernel, is asked for: each look then asks for the latter. */
extern bool lp_off_cpu_split_on;

struct lp_recorder;
struct lp_frame;
struct lp_code_counters;

/* Look at the gaps of a thread whose clock is this one, or at none. */
void lp_off_cpu_clock(struct lp_recorder *rec, const lp_clock *clock);

/* Set `min` anew: the threshold has changed, or the recorder's
 * min_line_ticks. */
void lp_off_cpu_watch(struct lp_recorder *rec);

/* [OWNER] The recorder is this thread's from now on. */
void lp_off_cpu_attach(struct lp_recorder *rec);

/* [OWNER] The frame's open line ends at `now`, after a long time. */
void lp_off_cpu_charge(struct lp_recorder *rec, struct lp_frame *frame,
                       lp_ticks now);

/* [OWNER] The frame's first line was opened, long after the last event. */
void lp_off_cpu_before(struct lp_recorder *rec, const struct lp_frame *frame,
                       lp_ticks now);

/* Charge the thread's off-CPU time up to now to its open lines. */
void lp_off_cpu_settle(struct lp_recorder *rec, lp_ticks now);

/* Charge known waits to the open lines, before frames move. */
void lp_off_cpu_spread(struct lp_recorder *rec);

void lp_off_cpu_free(lp_off_cpu *wait);

/* Forget the waits of these counters; they are gone, or zero. */
void lp_off_cpu_forget(struct lp_code_counters *counters);

/* Split what a thread was on no processor in a gap: `voluntary` and
 * `involuntary` are how often it gave one up and was put off one, `samples`
 * what was seen. */
void lp_off_cpu_split(lp_waited *waited, uint64_t off_ns, uint64_t gap_ns,
                      uint64_t voluntary, uint64_t involuntary,
                      const uint64_t *samples);

#endif
