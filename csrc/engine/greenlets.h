/* Greenlets: which of a thread's runs, and so whose lines are open.
 *
 * They are known to be there once the module "greenlet" is imported; until
 * then nothing here is called.  A greenlet is told by the memory that the
 * interpreter keeps its frames in.  That is looked at in each event, so that
 * counts are right whatever else the program does.  So that times are, too,
 * greenlet tells of each switch by a trace function of its own, of which a
 * thread has one: lineprof's calls the one that was there before.  Where the
 * program replaces it, a switch is noticed at the next event.
 *
 * A greenlet without open lines, as gevent's hub, is no reason to leave those
 * of the one that gave up control: so what nobody else does, such as waiting
 * for all, is on their time.
 */
#ifndef LP_ENGINE_GREENLETS_H
#define LP_ENGINE_GREENLETS_H

#include "engine/engine.h"

/* [GIL] Look whether the program has imported greenlet. */
void lp_greenlets_notice(void);

/* [OWNER, GIL] The slow path of lp_greenlets_check. */
bool lp_greenlets_check_slow(lp_recorder *rec);

/* [OWNER, GIL] A counted frame has an event: have the recorder have the frames
 * of the running greenlet.  Returns true if they were others, so that the time
 * has to be read again. */
LP_INLINE bool
lp_greenlets_check(lp_recorder *rec)
{
    return LP_UNLIKELY(lp_the_engine.greenlets) &&
           lp_greenlets_check_slow(rec);
}

/* [OWNER, GIL] A counted frame begins: have greenlet tell of this thread's
 * switches, unless it does. */
void lp_greenlets_listen(void);

/* [GIL] The engine is closed: remove this thread's trace function.  Those of
 * other threads remove themselves at the next switch. */
void lp_greenlets_unlisten(void);

#endif
