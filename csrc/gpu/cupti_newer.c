/* Settings that only newer versions of CUPTI have.  Each has a function of its
 * own, and an attribute, which several subscribers need, and for the day when
 * CUPTI has that function no more.
 */
#include "gpu/cupti_backend.h"

#include <stdio.h>

/* True if CUPTI has a setting, with this function, if each has one. */
static bool
has(int (*function)(uint8_t))
{
    return lp_cupti.several || function != NULL;
}

/* Switch a setting on.  Returns CUPTI's status; LP_CUPTI_NOT_SUPPORTED if it
 * has neither. */
static int
switch_on(int (*function)(uint8_t), uint32_t attribute)
{
    int status = function != NULL && !lp_cupti.several
                     ? function(1)
                     : LP_CUPTI_NOT_SUPPORTED;
    int by_attribute;
    uint8_t on = 1;

    if (status == LP_CUPTI_OK) {
        return status;
    }
    by_attribute = lp_cupti_set_attribute(attribute, &on, sizeof(on));
    return lp_cupti.several || by_attribute == LP_CUPTI_OK ? by_attribute
                                                           : status;
}

/* The name of a setting's function, as it is called. */
static const char *
name_of(const char *function)
{
    return lp_cupti.several ? "cuptiActivitySetAttribute_v2" : function;
}

/* -- hardware time stamps ------------------------------------------------- */

enum { HARDWARE_CLOCK_SINCE = 10 /* compute capability */ };

static struct {
    bool wanted;
    char refused[LP_GPU_WHY / 2]; /* the reason; "": they are on */
    int error;                    /* that CUPTI has told since (atomic) */
} hardware;

/* Write the first device without them; false if there is none, or no device is
 * known yet. */
static bool
find_old_device(char *text, size_t size)
{
    lp_gpu_device device;
    bool found = false;

    lp_cupti_internal_calls(true);
    for (uint32_t i = 0; i < LP_DEVICES && !found; i++) {
        int major = lp_cuda_driver_capability(&lp_cupti.cuda, i);

        if (major == 0) {
            break;
        }
        if (major < HARDWARE_CLOCK_SINCE) {
            lp_cuda_driver_describe(&lp_cupti.cuda, i, &device);
            snprintf(text, size,
                     "%s (compute capability %d) has none: Blackwell and "
                     "later devices have",
                     device.name[0] != '\0' ? device.name : "the device",
                     major);
            found = true;
        }
    }
    lp_cupti_internal_calls(false);
    return found;
}

static bool
has_context(void)
{
    void *context = NULL;
    bool has;

    lp_cupti_internal_calls(true);
    has = lp_cupti.cuda.current(&context) == 0 && context != NULL;
    lp_cupti_internal_calls(false);
    return has;
}

/* Before any kind of record is enabled, and before any context. */
static void
use_hardware_clock(void)
{
    const lp_cupti_functions *api = &lp_cupti.api;
    uint8_t on = 0;
    int status;

    hardware.refused[0] = '\0';
    hardware.error = LP_CUPTI_OK;
    if (find_old_device(hardware.refused, sizeof(hardware.refused))) {
        return;
    }
    if (has_context()) {
        snprintf(hardware.refused, sizeof(hardware.refused),
                 "the program had a context before");
        return;
    }
    if (!has(api->enable_hardware_clock)) {
        snprintf(hardware.refused, sizeof(hardware.refused),
                 "CUPTI has them from 12.8 on");
        return;
    }
    if (lp_cupti.several) {
        lp_cupti_get_attribute(LP_CUPTI_ATTR_HES, &on, sizeof(on));
        if (on == 0 && lp_cupti.beside[0] != '\0') {
            snprintf(hardware.refused, sizeof(hardware.refused),
                     LP_CUPTI_CAME_FIRST, lp_cupti.beside);
            return;
        }
    }
    /* Whether it works is known once CUDA is initialised: CUPTI tells. */
    for (uint32_t id = LP_CUPTI_STATE_FATAL_ERROR; id <= LP_CUPTI_STATE_ERROR;
         id++) {
        api->enable_callback(1, lp_cupti.subscriber, LP_CUPTI_DOMAIN_STATE,
                             id);
    }
    if (on != 0) {
        return;
    }
    status = switch_on(api->enable_hardware_clock, LP_CUPTI_ATTR_HES);
    if (status != LP_CUPTI_OK) {
        lp_cupti_say(hardware.refused, sizeof(hardware.refused),
                     name_of("cuptiActivityEnableHWTrace"), status);
    }
}

void
lp_cupti_on_state(const lp_cupti_state_data *data)
{
    __atomic_store_n(&hardware.error, data->result, __ATOMIC_RELEASE);
}

bool
lp_cupti_describe_clock(char text[LP_GPU_WHY])
{
    int error = __atomic_load_n(&hardware.error, __ATOMIC_ACQUIRE);

    if (!hardware.wanted) {
        return false;
    }
    /* A program may initialise CUDA, and so its devices, after the start. */
    if (hardware.refused[0] == '\0' && lp_cupti_is_open()) {
        find_old_device(hardware.refused, sizeof(hardware.refused));
    }
    if (hardware.refused[0] == '\0' && error != LP_CUPTI_OK) {
        lp_cupti_say(hardware.refused, sizeof(hardware.refused), "CUPTI",
                     error);
    }
    if (hardware.refused[0] == '\0') {
        return false;
    }
    snprintf(text, LP_GPU_WHY,
             "time stamps of the hardware (--gpu-clock hardware) are not "
             "used: %s",
             hardware.refused);
    return true;
}

/* -- all ------------------------------------------------------------------ */

/* Graphs that the device launches: if graphs are recorded as a whole they have
 * records of their own, else their nodes have, with the hardware's time stamps
 * alone.  CUPTI wants to know before CUDA is initialised. */
static void
use_device_graphs(void)
{
    const lp_cupti_functions *api = &lp_cupti.api;
    int status;

    if (!has(api->enable_device_graphs) ||
        lp_cupti.version < LP_RELEASE_13_0) {
        return; /* whether the device launched a record's work is not told */
    }
    status = switch_on(api->enable_device_graphs, LP_CUPTI_ATTR_DEVICE_GRAPHS);
    if (status != LP_CUPTI_OK) {
        lp_cupti_miss(LP_CUPTI_NO_DEVICE_GRAPHS,
                      name_of("cuptiActivityEnableDeviceGraph"), status);
    }
    lp_cupti.device_graphs =
        status == LP_CUPTI_OK && api->get_graph_exec_id != NULL;
}

static void
use_memory_sources(void)
{
    const lp_cupti_functions *api = &lp_cupti.api;
    int status;

    if (!has(api->enable_memory_source) ||
        lp_cupti.version < LP_RELEASE_12_6) {
        return;
    }
    status = switch_on(api->enable_memory_source, LP_CUPTI_ATTR_MEMORY_SOURCE);
    if (status != LP_CUPTI_OK) {
        lp_cupti_miss(LP_CUPTI_NO_MEMORY_SOURCES,
                      name_of("cuptiActivityEnableAllocationSource"), status);
    }
    lp_cupti.memory_sources = status == LP_CUPTI_OK;
}

void
lp_cupti_use_newer_settings(const lp_gpu_options *options)
{
    hardware.wanted = options->hardware_clock;
    if (hardware.wanted) {
        use_hardware_clock();
    }
    lp_cupti.device_graphs = lp_cupti.memory_sources = false;
    if (options->whole_graphs ||
        (hardware.wanted && hardware.refused[0] == '\0')) {
        use_device_graphs();
    }
    if (options->memory) {
        use_memory_sources();
    }
}
