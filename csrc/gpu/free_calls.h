/* Calls that free something of a device, and how long each of them waited:
 * from its start to the end of the work that was launched before it, and no
 * longer than the call took.  The rest is the call's own time, and a load if
 * the call loaded something.
 *
 * A call is in a ring of fixed size from its start on.  Each record of work
 * that was launched before a call extends its wait, also long after the call,
 * because records come late and in any order.  Settling adds the part that is
 * known by now to the call's path and to the log of waits, and may be
 * repeated.
 *
 * Any thread begins and ends calls, and never waits: a place in the ring is
 * taken by one atomic operation, and one that is taken now is passed over.  A
 * place is used again, and its call settled for the last time, after
 * LP_FREE_CALLS other calls.  Records are added, and calls settled, by one
 * thread at a time.
 */
#ifndef LP_GPU_FREE_CALLS_H
#define LP_GPU_FREE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/load_times.h"
#include "gpu/wait_log.h"
#include "record/call_paths.h"
#include "record/clock.h"

/* More than there are calls while a buffer of records fills. */
enum { LP_FREE_CALLS = 1 << 16 };

typedef struct lp_free_call {
    uint64_t number;  /* of the call, from 1 on (atomic) */
    lp_ticks start;   /* (atomic) */
    lp_ns start_ns;   /* the same, on CLOCK_MONOTONIC (atomic) */
    lp_ns ns;         /* UINT64_MAX until the call ends (atomic) */
    lp_ticks ticks;   /* the same time, valid once the call has ended */
    lp_ns until;      /* end of the work that it waited for; 0: none */
    lp_ticks settled; /* the part of its wait that is added */
    lp_ticks loading; /* the part of the rest that is added */
    bool loaded;      /* valid once the call has ended */
    uint32_t path;
    uint32_t context; /* whose work it waits for; 0: of all */
    uint32_t device;  /* the same; LP_ANY_DEVICE: of all */
    uint32_t state;   /* free_call_state (atomic) */
} lp_free_call;

#define LP_ANY_DEVICE UINT32_MAX

typedef struct lp_free_calls {
    lp_call_paths *paths; /* borrowed */
    lp_wait_log *log;     /* borrowed */
    lp_load_times *loads; /* borrowed */
    lp_free_call *calls;  /* owned; the ring */
    uint64_t n;           /* number of the newest call (atomic) */
    lp_ticks last;        /* start of the latest call, plus 1 (atomic) */
} lp_free_calls;

/* Initialise; all else is borrowed.  False if memory is out. */
bool lp_free_calls_init(lp_free_calls *self, lp_call_paths *paths,
                        lp_wait_log *log, lp_load_times *loads);

void lp_free_calls_free(lp_free_calls *self);

/* [ANY] A call begins; of `call` the start, path, context and device are used.
 * Returns its number, or 0 if there is no place for it. */
uint64_t lp_free_calls_begin(lp_free_calls *self, const lp_free_call *call);

/* [ANY] It ends, and has loaded something or not; `wanted` is false if its
 * time does not count. */
void lp_free_calls_end(lp_free_calls *self, uint64_t number, lp_ticks now,
                       lp_ns now_ns, bool wanted, bool loaded);

/* Work of a device, from its record. */
typedef struct lp_free_work {
    lp_ticks launched; /* 0 if unknown: it began after its launch */
    lp_ns start, end;
    uint32_t context, device;
} lp_free_work;

/* Return false if no call can have waited for work of this launch. */
static inline bool
lp_free_calls_follow(const lp_free_calls *self, lp_ticks launched)
{
    return LP_UNLIKELY(launched <
                       __atomic_load_n(&self->last, __ATOMIC_ACQUIRE));
}

/* A record of work has come. */
void lp_free_calls_add(lp_free_calls *self, const lp_free_work *work);

/* Add what is known of the waits of calls that have ended. */
void lp_free_calls_settle(lp_free_calls *self);

#endif
