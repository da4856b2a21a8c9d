/* A frame evaluator (PEP 523) that counts, for tests of whom else they meet.
 *
 * It comes and goes as Dynamo's does: it comes in front of whoever is first,
 * and when it goes it puts back whom it found, whoever came meanwhile.  Knows
 * of Python only these few names, which every CPython exports.
 *
 * [GIL] all of it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void *(*evaluate)(void *state, void *frame, int throwing);

extern void *PyInterpreterState_Get(void);
extern evaluate _PyInterpreterState_GetEvalFrameFunc(void *interpreter);
extern void _PyInterpreterState_SetEvalFrameFunc(void *interpreter,
                                                 evaluate evaluator);
extern void *_PyEval_EvalFrameDefault(void *state, void *frame, int throwing);

void lp_evaluator_come(void);
void lp_evaluator_go(void);
uint64_t lp_evaluator_frames(void);
bool lp_evaluator_is_first(void);
bool lp_evaluator_is_none(void);

static evaluate before;
static uint64_t frames;

static void *
count(void *state, void *frame, int throwing)
{
    frames++;
    return (before != NULL ? before : _PyEval_EvalFrameDefault)(state, frame,
                                                                throwing);
}

static evaluate
first(void)
{
    return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
}

static void
set_first(evaluate evaluator)
{
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluator);
}

void
lp_evaluator_come(void)
{
    if (first() != count) {
        before = first();
        set_first(count);
    }
}

void
lp_evaluator_go(void)
{
    if (before != NULL && first() != before) {
        set_first(before);
        before = NULL;
    }
}

/* How many it was given since it was loaded. */
uint64_t
lp_evaluator_frames(void)
{
    return frames;
}

bool
lp_evaluator_is_first(void)
{
    return first() == count;
}

/* Is nobody there but the interpreter itself? */
bool
lp_evaluator_is_none(void)
{
    return first() == _PyEval_EvalFrameDefault;
}
