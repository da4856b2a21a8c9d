/* Settings that newer releases have: hardware time stamps, graphs that the
 * device launches, and the libraries that allocate memory. */
#include "cupti/fake_cupti.h"

FK_EXPORT int cuptiActivityEnableHWTrace(uint8_t enable);
FK_EXPORT int cuptiActivityEnableDeviceGraph(uint8_t enable);
FK_EXPORT int cuptiActivityEnableAllocationSource(uint8_t enable);
FK_EXPORT int fk_has_hardware_clock(void);

enum { HES = 13, ALLOCATION_SOURCE = 14, DEVICE_GRAPHS = 19 };
enum { BLACKWELL = 10 };

_Atomic bool fk_hardware_clock, fk_device_graphs, fk_memory_sources;

bool
fk_is_newer_attribute(uint32_t attribute)
{
    return attribute == HES || attribute == ALLOCATION_SOURCE ||
           attribute == DEVICE_GRAPHS;
}

/* Before a kind and a context; whether the devices have them is known once
 * CUDA is initialised. */
static int
set_hardware_clock(bool on)
{
    bool ready = fk_driver("fk_is_initialized");
    if (fk_any_kind()) {
        fk_misuse("hardware time stamps are enabled after a kind");
    }
    if (ready && (fk_driver("fk_has_context") ||
                  fk_driver("fk_capability") < BLACKWELL)) {
        return CUPTI_ERROR_NOT_SUPPORTED;
    }
    fk_hardware_clock = on;
    return CUPTI_SUCCESS;
}

void
fk_check_hardware(void)
{
    if (fk_hardware_clock && fk_driver("fk_capability") < BLACKWELL) {
        fk_hardware_clock = false;
        fk_tell_state(2 /* CUPTI_CBID_STATE_ERROR */,
                      CUPTI_ERROR_NOT_SUPPORTED);
    }
}

int
fk_set_newer(uint32_t attribute, uint8_t on)
{
    switch (attribute) {
    case HES:
        return set_hardware_clock(on);
    case ALLOCATION_SOURCE:
        fk_memory_sources = on;
        return CUPTI_SUCCESS;
    default: /* without effect once CUDA is initialised */
        fk_device_graphs = on && !fk_driver("fk_is_initialized");
        return CUPTI_SUCCESS;
    }
}

static int
set(const char *function, uint32_t attribute, uint8_t on)
{
    int result = fk_check_driver(function);
    return result ? result : fk_set_newer(attribute, on);
}

int
cuptiActivityEnableHWTrace(uint8_t enable)
{
    return set("cuptiActivityEnableHWTrace", HES, enable);
}

int
cuptiActivityEnableDeviceGraph(uint8_t enable)
{
    return set("cuptiActivityEnableDeviceGraph", DEVICE_GRAPHS, enable);
}

int
cuptiActivityEnableAllocationSource(uint8_t enable)
{
    return set("cuptiActivityEnableAllocationSource", ALLOCATION_SOURCE,
               enable);
}

int
fk_has_hardware_clock(void)
{
    return fk_hardware_clock;
}
