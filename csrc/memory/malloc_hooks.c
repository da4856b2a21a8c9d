#include "memory/malloc_hooks.h"

bool
lp_malloc_hooks_on(void)
{
    return false;
}

void
lp_malloc_hooks_off(void)
{
}
