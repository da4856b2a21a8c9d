#include "hooks/hooks.h"

#include <string.h>

static const lp_hook *const hooks[] = {
#if LP_HAVE_MONITORING
    &lp_hook_monitoring,
#endif
    &lp_hook_settrace,
    NULL,
};

const lp_hook *const *
lp_hook_all(void)
{
    return hooks;
}

const lp_hook *
lp_hook_find(const char *name)
{
    for (const lp_hook *const *hook = hooks; *hook != NULL; hook++) {
        if (strcmp((*hook)->name, name) == 0) {
            return *hook;
        }
    }
    return NULL;
}
