/* The open lines of greenlets: each has a stack of frames of its own.
 *
 * The recorder has the stack of the greenlet that runs; those of the others
 * are here, by a key that is theirs alone.  The clock of a stack stands while
 * it is here: its lines are charged up to when it was left, and go on when it
 * is taken back.  The time between is await time of its lines, where their
 * counters have room for it.  So own times of a thread never add up to more
 * than its wall time, and the lines of a greenlet that never comes back get
 * nothing more.
 *
 * A thread without greenlets has one stack, and no lp_stacks.
 */
#ifndef LP_RECORD_GREENLET_STACKS_H
#define LP_RECORD_GREENLET_STACKS_H

#include "record/recorder.h"

typedef struct lp_stacks lp_stacks;

/* True if frames of a greenlet that does not run are open on the thread. */
bool lp_stacks_any(const lp_recorder *rec);

/* True if the greenlet with this key is one of them. */
bool lp_stacks_has(const lp_recorder *rec, const void *key);

/* [OWNER, GIL] The greenlet with this key runs from `now` on.  False (and
 * counted as lost) if memory is out. */
bool lp_stacks_switch(lp_recorder *rec, const void *key, lp_ticks now);

/* A function that is called while a stack is the recorder's. */
typedef void lp_stack_visitor(lp_recorder *rec, lp_ticks now, void *arg);

/* [GIL] Make each stack of a greenlet that does not run the recorder's for a
 * moment, in which no time passes for it. */
void lp_stacks_visit(lp_recorder *rec, lp_stack_visitor *visit, void *arg);

/* [GIL] Time in which the greenlets were switched out does not count up to
 * `now`. */
void lp_stacks_restart(lp_recorder *rec, lp_ticks now);

void lp_stacks_free(lp_recorder *rec);

#endif
