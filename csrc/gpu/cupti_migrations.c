/* Migrations of managed memory: recorded once the driver is initialised,
 * unless the platform cannot count them. */
#include "gpu/cupti_backend.h"

#include <stdio.h>

static int
enable_migrations(void)
{
    lp_cupti_uvm_config configs[] = {
        {LP_CUPTI_UVM_ALL_DEVICES, LP_CUPTI_UVM_BYTES_HTOD, 0, 1},
        {LP_CUPTI_UVM_ALL_DEVICES, LP_CUPTI_UVM_BYTES_DTOH, 0, 1},
        {LP_CUPTI_UVM_ALL_DEVICES, LP_CUPTI_UVM_BYTES_DTOD, 0, 1},
    };
    const lp_cupti_functions *api = &lp_cupti.api;
    int status = api->configure_uvm != NULL ? api->configure_uvm(configs, 3)
                                            : LP_CUPTI_UVM_NOT_SUPPORTED;

    lp_cupti.migrations_call = "cuptiActivityConfigureUnifiedMemoryCounter";
    if (status == LP_CUPTI_OK) {
        lp_cupti.migrations_call = LP_CUPTI_NAMED("cuptiActivityEnable");
        status = lp_cupti_enable(LP_CUPTI_UNIFIED_MEMORY_COUNTER);
    }
    return status;
}

void
lp_cupti_cuda_is_ready(void)
{
    lp_cupti_migrations state = LP_CUPTI_MIGRATIONS_WAITING;
    int status;

    /* Until it is known, they are on for any other thread. */
    if (!__atomic_compare_exchange_n(&lp_cupti.migrations, &state,
                                     LP_CUPTI_MIGRATIONS_ON, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return;
    }
    status = enable_migrations();
    if (status != LP_CUPTI_OK) {
        lp_cupti.migrations_status = status;
        __atomic_store_n(&lp_cupti.migrations, LP_CUPTI_MIGRATIONS_REFUSED,
                         __ATOMIC_RELEASE);
    }
}

void
lp_cupti_want_migrations(void)
{
    void *context = NULL;
    bool ready;

    __atomic_store_n(&lp_cupti.migrations, LP_CUPTI_MIGRATIONS_WAITING,
                     __ATOMIC_RELEASE);
    lp_cupti_internal_calls(true);
    ready = lp_cupti.cuda.current(&context) == 0;
    lp_cupti_internal_calls(false);
    if (ready) {
        lp_cupti_cuda_is_ready();
    }
    else if (lp_cupti.init_status != LP_CUPTI_OK) {
        lp_cupti.migrations_call = "cuptiEnableCallback";
        lp_cupti.migrations_status = lp_cupti.init_status;
        __atomic_store_n(&lp_cupti.migrations, LP_CUPTI_MIGRATIONS_REFUSED,
                         __ATOMIC_RELEASE);
    }
}

/* Why migrations are not recorded, in words; NULL for a status that only has
 * CUPTI's. */
static const char *
why_no_migrations(int status)
{
    switch (status) {
    case LP_CUPTI_UVM_NOT_SUPPORTED:
        return "this platform cannot count them";
    case LP_CUPTI_UVM_NOT_ON_DEVICE:
        return "the device cannot count them";
    case LP_CUPTI_UVM_NOT_ON_NON_P2P:
        return "some of the devices have no access to each other's memory";
    case LP_CUPTI_UVM_NOT_WITH_MPS:
        return "they cannot be counted with the multi-process service (MPS)";
    default:
        return NULL;
    }
}

bool
lp_cupti_describe_migrations(char text[LP_GPU_WHY])
{
    char reason[LP_GPU_WHY];
    const char *why;

    if (__atomic_load_n(&lp_cupti.migrations, __ATOMIC_ACQUIRE) !=
        LP_CUPTI_MIGRATIONS_REFUSED) {
        return false;
    }
    why = why_no_migrations(lp_cupti.migrations_status);
    if (why == NULL) {
        lp_cupti_failed(reason, lp_cupti.migrations_call,
                        lp_cupti.migrations_status);
        why = reason;
    }
    snprintf(text, LP_GPU_WHY,
             "migrations of managed memory (--uvm on) are not recorded: %.*s",
             LP_GPU_WHY - 64, why);
    return true;
}
