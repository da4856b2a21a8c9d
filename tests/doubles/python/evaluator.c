/* Frame evaluator (PEP 523) that counts frames, for tests of coexistence.
 *
 * It is installed and removed as Dynamo's is: installed in front of the
 * current evaluator, and on removal it restores that one, even if another was
 * installed since.  Of Python it declares only these names, which every
 * CPython exports.
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

/* Return the number of frames since the module was loaded. */
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

/* Return whether the interpreter's own evaluator is installed. */
bool
lp_evaluator_is_none(void)
{
    return first() == _PyEval_EvalFrameDefault;
}
