/* Off-CPU time of a thread: wall time less processor time, by line and cause.
 *
 * Clocks are read only at an event that comes long after the previous event of
 * its thread.  The time in which the thread was on no processor goes to all
 * lines that were open: it is recorded once, for the frame that was innermost,
 * and passed on to the frames below as lines end (see lp_off_cpu_charge), so
 * that the work for a wait does not depend on the depth of the stack.
 *
 * The cause comes from off_cpu_sampler.h, which finds the system call in which
 * the thread is blocked, and from the system's count of context switches: a
 * thread without voluntary switches was preempted.
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
    LP_WAIT_RUNNABLE, /* off the processor but able to run; in samples: running
                         or able to run */
    LP_WAIT_OTHER,
    LP_WAIT_UNSEEN, /* blocked, and not sampled in that time */
    LP_WAIT_CAUSES
} lp_cause;

enum {
    LP_WAIT_NS = 30000, /* gap from which on clocks are read: reading them
                           takes 1 % of it */
    /* interrupts, and the time that the two clocks take */
    LP_WAIT_NOISE_NS = 5000,
};

/* Clocks are never read. */
#define LP_WAIT_NEVER UINT64_MAX

typedef struct lp_waited {
    uint64_t ns[LP_WAIT_CAUSES];
    uint64_t unsure; /* part of all ns that may have been before the gap, in
                        lines too short to read clocks at their ends */
} lp_waited;

/* In place of an off-CPU time: waits are not measured, or were not for some of
 * the time. */
#define LP_WAIT_UNKNOWN UINT64_MAX

/* Off-CPU time on a line, as far as it is known. */
typedef struct lp_line_wait {
    lp_ns ns;     /* max, or LP_WAIT_UNKNOWN, */
    lp_ns unsure; /* and the part above the min */
} lp_line_wait;

/* Waits of all frames up to a depth, still to be charged to their open lines.
 */
typedef struct lp_off_cpu_pending {
    lp_waited waited;
    uint64_t depth; /* 1 is the outermost */
} lp_off_cpu_pending;

/* Parts of a line's self time, without profiled functions that it called, and
 * of the time of C functions that it called: see lp_off_cpu_split_on. */
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
    lp_off_cpu_line lines[]; /* sorted by offset */
} lp_off_cpu_lines;

/* Off-CPU state of a thread, in its recorder. */
typedef struct lp_off_cpu {
    lp_ticks min; /* from so many ticks on a line on, an event leaves the fast
                     path (atomic) */
    lp_ticks last_leave; /* when a frame was last left or resumed */
    lp_ticks
        threshold;    /* clocks are read after a gap of more ticks (atomic) */
    lp_ticks read_at; /* when the clocks below were last read */
    lp_ns wall, cpu;
    uint64_t cost; /* of all clock readings; also contained in rec->cost */
    uint64_t voluntary, involuntary; /* context switches */
    lp_ns system;                    /* processor time in the kernel */
    bool read;              /* the values above are valid for this thread */
    bool reading_requested; /* the sampler wants clocks read at the thread's
                               next event, however short the gap (atomic) */
    bool exact;             /* the threshold has been measured */
    /* thread id of the operating system; 0 if unknown (atomic) */
    uint32_t thread;
    /* processor time for a test; NULL for the system's */
    lp_ns (*clock)(void);
    lp_off_cpu_pending *pending; /* owned, sorted by depth; in the live file if
                                    the recorder is */
    uint32_t n_pending, capacity;
    bool is_live; /* the recorder is */
    /* ns, since clocks were last read (atomic) */
    uint64_t samples[LP_WAIT_CAUSES];
    lp_ns sampled_at;    /* of the sampler: time of its last sample, */
    lp_cause last_cause; /* its cause, and how many in this gap had the same */
    uint32_t repeats;
    uint32_t file_thread; /* thread of `file` */
    uint32_t file_run; /* run of the sampler that opened `file`; 0 if closed */
    int file;
} lp_off_cpu;

/* True if lp_off_cpu_line.self is wanted: then each reading of the clocks
 * includes the time in the kernel. */
extern bool lp_off_cpu_split_on;

struct lp_recorder;
struct lp_frame;
struct lp_code_counters;

/* True if off-CPU time is measured with this clock. */
bool lp_off_cpu_is_measured(const lp_clock *clock);

/* Set the clock of a thread: off-CPU time is measured unless it is a test's
 * clock. */
void lp_off_cpu_clock(struct lp_recorder *rec, const lp_clock *clock);

/* Set `min` again after a change of the threshold or of the recorder's
 * min_line_ticks. */
void lp_off_cpu_watch(struct lp_recorder *rec);

/* [OWNER] The recorder belongs to this thread from now on. */
void lp_off_cpu_attach(struct lp_recorder *rec);

/* [OWNER] The frame's open line ends at `*now`, after a long time.  Returns
 * the off-CPU time in it.  Sets `*now` to a later time if the thread was
 * preempted meanwhile: the line ends then. */
lp_line_wait lp_off_cpu_charge(struct lp_recorder *rec, struct lp_frame *frame,
                               lp_ticks *now);

/* [OWNER] Begin the sampler, which is wanted, after the line that ended at
 * `now`.  Returns when the next one begins. */
lp_ticks lp_off_cpu_begin_sampler(struct lp_recorder *rec, lp_ticks now);

/* [OWNER] The frame begins at `now`, long after the last event.  Returns when
 * it begins: later, if the thread was preempted meanwhile. */
lp_ticks lp_off_cpu_before(struct lp_recorder *rec, struct lp_frame *frame,
                           lp_ticks now);

/* [OWNER] All open lines stand still from `now` on: charge them with the
 * off-CPU time up to then.  Returns when that is: later, if the thread was
 * preempted meanwhile. */
lp_ticks lp_off_cpu_left(struct lp_recorder *rec, lp_ticks now);

/* Charge the thread's off-CPU time up to now to its open lines. */
void lp_off_cpu_settle(struct lp_recorder *rec, lp_ticks now);

/* Charge pending waits to the open lines, before frames move. */
void lp_off_cpu_spread(struct lp_recorder *rec);

void lp_off_cpu_free(lp_off_cpu *wait);

/* Add waits to others. */
void lp_off_cpu_add(lp_waited *to, const lp_waited *from);

/* Free the waits of these counters, which are freed or reset. */
void lp_off_cpu_forget(struct lp_code_counters *counters);

/* Split the off-CPU time of a thread in a gap by cause: `voluntary` and
 * `involuntary` are the context switches in the gap, `samples` the ns by
 * sampled cause. */
void lp_off_cpu_split(lp_waited *waited, uint64_t off_ns, uint64_t gap_ns,
                      uint64_t voluntary, uint64_t involuntary,
                      const uint64_t *samples);

#endif
