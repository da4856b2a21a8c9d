/* The C stack of the running thread: how much of it is used and left.
 *
 * Bounds are measured once per thread, then each question is one comparison.
 * A stack pointer outside of the known bounds (the main thread's stack after
 * its limit was raised, or a stack of the program's own) is neither deep nor
 * nearly full, and so is every stack whose bounds are unknown.
 */
#ifndef LP_ENGINE_C_STACK_H
#define LP_ENGINE_C_STACK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct lp_c_stack {
    uintptr_t low;      /* lowest address; 0 until measured */
    uintptr_t full;     /* bytes above `low` below which it is nearly full */
    uintptr_t deep;     /* bytes above `low` below which it is deep, */
    uintptr_t shortage; /* and short */
} lp_c_stack;

extern _Thread_local lp_c_stack lp_current_c_stack;

/* [ANY] Measure the bounds of the running thread's stack. */
void lp_c_stack_measure(void);

/* [ANY] True if more of the stack is used than a program within the default
 * recursion limit uses. */
static inline bool
lp_c_stack_is_deep(void)
{
    if (__builtin_expect(lp_current_c_stack.low == 0, 0)) {
        lp_c_stack_measure();
    }
    return (uintptr_t)__builtin_frame_address(0) - lp_current_c_stack.low <
           lp_current_c_stack.deep;
}

/* [ANY] True if a program that goes as deep as its stack allows needs all that
 * is left, without any for tracing.  Only after lp_c_stack_is_deep(). */
static inline bool
lp_c_stack_is_short(void)
{
    return (uintptr_t)__builtin_frame_address(0) - lp_current_c_stack.low <
           lp_current_c_stack.shortage;
}

/* [ANY] True if the stack has no room left for calling Python. */
bool lp_c_stack_is_full(void);

/* Calls that were not counted to save stack, and the min number of counted
 * ones that were open then.  [GIL] */
typedef struct lp_c_stack_skipped {
    uint64_t calls, depth;
} lp_c_stack_skipped;

extern lp_c_stack_skipped lp_the_skipped_calls;

/* [GIL] A call is not counted, with so many counted ones open. */
void lp_c_stack_skip(uint64_t depth);

#endif
