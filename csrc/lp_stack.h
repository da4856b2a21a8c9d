/* How much of the C stack is left to this thread.
 */
#ifndef LP_STACK_H
#define LP_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* Below this address little is left; 0 before it was found out. */
extern _Thread_local uintptr_t lp_stack_floor;

/* Find it out. */
void lp_stack_measure(void);

/* [ANY] Is less than half of the stack left? */
static inline bool
lp_stack_is_low(void)
{
    if (__builtin_expect(lp_stack_floor == 0, 0)) {
        lp_stack_measure();
    }
    return (uintptr_t)__builtin_frame_address(0) < lp_stack_floor;
}

#endif
