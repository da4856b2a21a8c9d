/* The kinds of records that CUPTI is asked for.  Without kernels there is no
 * session; any other kind is left out if CUPTI refuses it, and a note says so.
 */
#include <stddef.h>

#include "gpu/cupti_backend.h"

#define ALWAYS SIZE_MAX
#define OPTION(name) offsetof(lp_gpu_options, name)

static const struct {
    uint32_t number;
    size_t option;            /* place of the option that asks for it */
    lp_cupti_missing missing; /* without it; not of kernels */
} kinds[] = {
    {LP_CUPTI_CONCURRENT_KERNEL, ALWAYS, 0},
    {LP_CUPTI_MEMCPY, ALWAYS, LP_CUPTI_NO_COPIES},
    {LP_CUPTI_MEMCPY2, ALWAYS, LP_CUPTI_NO_PEER_COPIES},
    {LP_CUPTI_MEMSET, ALWAYS, LP_CUPTI_NO_MEMSETS},
    {LP_CUPTI_RUNTIME, OPTION(calls), LP_CUPTI_NO_RUNTIME_CALLS},
    {LP_CUPTI_DRIVER, OPTION(calls), LP_CUPTI_NO_DRIVER_CALLS},
    {LP_CUPTI_MEMORY2, OPTION(memory), LP_CUPTI_NO_MEMORY},
    {LP_CUPTI_GRAPH_TRACE, OPTION(whole_graphs), LP_CUPTI_NO_WHOLE_GRAPHS},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static bool
is_wanted(size_t kind, const lp_gpu_options *options)
{
    size_t option = kinds[kind].option;

    if (option == OPTION(calls) && !lp_cupti.calls) {
        return false; /* their callbacks were refused */
    }
    return option == ALWAYS || *(const bool *)((const char *)options + option);
}

/* The names of calls are asked for when a profile is made: try it now, so that
 * the note on a refusal comes with the first profile. */
static void
try_names(void)
{
    const lp_cupti_functions *api = &lp_cupti.api;
    const char *name;
    int status = LP_CUPTI_OK;

    if (lp_cupti.calls && api->get_callback_name != NULL) {
        status = api->get_callback_name(LP_CUPTI_DOMAIN_DRIVER_API, 1, &name);
    }
    if (status != LP_CUPTI_OK) {
        lp_cupti_miss(LP_CUPTI_NO_CALL_NAMES, "cuptiGetCallbackName", status);
    }
}

bool
lp_cupti_enable_kinds(const lp_gpu_options *options, char why[LP_GPU_WHY])
{
    const lp_cupti_functions *api = &lp_cupti.api;

    lp_cupti_use_newer_settings(options);
    for (size_t i = 0; i < KINDS; i++) {
        int status =
            is_wanted(i, options) ? api->enable(kinds[i].number) : LP_CUPTI_OK;

        if (status != LP_CUPTI_OK && i == 0) {
            return lp_cupti_failed(why, "cuptiActivityEnable", status);
        }
        if (status != LP_CUPTI_OK) {
            lp_cupti_miss(kinds[i].missing, "cuptiActivityEnable", status);
        }
    }
    lp_cupti_expect_records(options->whole_graphs &&
                            !lp_cupti_misses(LP_CUPTI_NO_WHOLE_GRAPHS));
    if (options->migrations) {
        lp_cupti_want_migrations();
    }
    try_names();
    return true;
}
