/* The kinds of records that CUPTI is asked for.  Without one of a device's
 * work there is no session; one that an option adds is left out if CUPTI
 * refuses it, and a note says so. */
#include <stddef.h>
#include <stdio.h>

#include "gpu/cupti_backend.h"

#define ALWAYS SIZE_MAX
#define OPTION(name) offsetof(lp_gpu_options, name)

static const struct {
    uint32_t number;
    size_t option;       /* place of the option that asks for it */
    const char *refused; /* what is missing without it */
} kinds[] = {
    {LP_CUPTI_CONCURRENT_KERNEL, ALWAYS, NULL},
    {LP_CUPTI_MEMCPY, ALWAYS, NULL},
    {LP_CUPTI_MEMCPY2, ALWAYS, NULL},
    {LP_CUPTI_MEMSET, ALWAYS, NULL},
    {LP_CUPTI_RUNTIME, OPTION(calls),
     "calls of CUDA's runtime (--gpu-api) are not recorded"},
    {LP_CUPTI_DRIVER, OPTION(calls),
     "calls of CUDA's driver (--gpu-api) are not recorded"},
    {LP_CUPTI_MEMORY2, OPTION(memory),
     "allocations of the device (--gpu-memory) are not recorded"},
    {LP_CUPTI_GRAPH_TRACE, OPTION(whole_graphs),
     "graphs (--cuda-graph graph) are recorded node by node"},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static bool whole_for_others; /* graphs: another tool chose one record each */

static int status_of[KINDS]; /* 0: it was not wanted, or is enabled */

static bool
is_wanted(size_t kind, const lp_gpu_options *options)
{
    size_t option = kinds[kind].option;

    if (option == OPTION(calls)) {
        return lp_cupti.calls;
    }
    return option == ALWAYS || *(const bool *)((const char *)options + option);
}

/* Choose how graphs are recorded, in `options`. */
static void
choose_graphs(lp_gpu_options *options)
{
    bool wanted = options->whole_graphs;

    options->whole_graphs = lp_cupti_choose_graphs(wanted);
    whole_for_others = options->whole_graphs && !wanted;
}

int
lp_cupti_enable_kinds(const lp_gpu_options *given)
{
    lp_gpu_options options = *given;

    choose_graphs(&options);
    for (size_t i = 0; i < KINDS; i++) {
        status_of[i] = is_wanted(i, &options)
                           ? lp_cupti_enable(kinds[i].number)
                           : LP_CUPTI_OK;
        if (kinds[i].option == OPTION(memory)) {
            lp_cupti.host.activity->memory.recorded =
                is_wanted(i, &options) && status_of[i] == LP_CUPTI_OK;
        }
        if (status_of[i] != LP_CUPTI_OK && kinds[i].option == ALWAYS) {
            int status = status_of[i];

            while (i-- > 0) { /* (these come first, so all are enabled) */
                lp_cupti_disable(kinds[i].number);
            }
            return status;
        }
    }
    if (options.migrations) {
        lp_cupti_want_migrations();
    }
    return LP_CUPTI_OK;
}

bool
lp_cupti_describe_kind(int number, char text[LP_GPU_WHY])
{
    char reason[LP_GPU_WHY / 2];

    for (size_t i = 0; i < KINDS; i++) {
        if (status_of[i] != LP_CUPTI_OK && number-- == 0) {
            if (kinds[i].option == OPTION(whole_graphs) &&
                lp_cupti.beside[0] != '\0') {
                snprintf(reason, sizeof(reason),
                         "they are the same for all tools, and %s came first",
                         lp_cupti.beside);
            }
            else {
                lp_cupti_say(reason, sizeof(reason), "cuptiActivityEnable",
                             status_of[i]);
            }
            snprintf(text, LP_GPU_WHY, "%s: %s", kinds[i].refused, reason);
            return true;
        }
    }
    if (whole_for_others && number == 0) {
        snprintf(text, LP_GPU_WHY,
                 "graphs are recorded as a whole, because %s chose so",
                 lp_cupti.beside[0] != '\0' ? lp_cupti.beside
                                            : "another tool");
        return true;
    }
    return false;
}
