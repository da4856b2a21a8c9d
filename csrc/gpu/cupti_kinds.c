/* The kinds of records that CUPTI is asked for.  Without kernels there is no
 * session; any other kind is left out if CUPTI refuses it, and a note says so.
 */
#include <stddef.h>
#include <stdio.h>

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

static bool whole_for_others; /* graphs: another tool chose one record each */

static bool
is_wanted(size_t kind, const lp_gpu_options *options)
{
    size_t option = kinds[kind].option;

    if (option == OPTION(calls)) {
        return lp_cupti.calls; /* not if their callbacks were refused */
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

/* Choose how graphs are recorded, in `options`. */
static void
choose_graphs(lp_gpu_options *options)
{
    bool wanted = options->whole_graphs;

    options->whole_graphs = lp_cupti_choose_graphs(wanted);
    whole_for_others = options->whole_graphs && !wanted;
}

static lp_cupti_missing
missing_without(size_t kind)
{
    return kinds[kind].missing == LP_CUPTI_NO_WHOLE_GRAPHS &&
                   lp_cupti_chose_whole_graphs()
               ? LP_CUPTI_NO_GRAPHS
               : kinds[kind].missing;
}

int
lp_cupti_enable_kinds(const lp_gpu_options *given)
{
    lp_gpu_options options = *given;

    choose_graphs(&options);
    lp_cupti_use_newer_settings(&options);
    for (size_t i = 0; i < KINDS; i++) {
        bool wanted = is_wanted(i, &options);
        int status = wanted ? lp_cupti_enable(kinds[i].number) : LP_CUPTI_OK;

        if (status != LP_CUPTI_OK && i == 0) {
            return status;
        }
        if (status != LP_CUPTI_OK) {
            lp_cupti_miss(missing_without(i),
                          LP_CUPTI_NAMED("cuptiActivityEnable"), status);
        }
        if (kinds[i].number == LP_CUPTI_MEMORY2) {
            lp_cupti.host.activity->memory.recorded =
                wanted && status == LP_CUPTI_OK;
        }
    }
    lp_cupti_expect_records(options.whole_graphs);
    if (options.migrations) {
        lp_cupti_want_migrations();
    }
    try_names();
    return LP_CUPTI_OK;
}

bool
lp_cupti_describe_graphs(char text[LP_GPU_WHY])
{
    if (whole_for_others) {
        snprintf(text, LP_GPU_WHY,
                 "graphs are recorded as a whole, because %s chose so",
                 lp_cupti.beside[0] != '\0' ? lp_cupti.beside
                                            : "another tool");
    }
    return whole_for_others;
}
