/* The ids of threads in records, and settings that make recording cheaper.  A
 * library that is older than a setting rejects it, or lacks its function, and
 * works without. */
#include "gpu/cupti_backend.h"

/* Calls that only ask for the current device or context, the last error, the
 * state of a capture, or the kind of a pointer.  Frameworks make several of
 * them per operation; none of them does work or waits. */
static const uint16_t runtime_queries[] = {
    10,  11,  17,                 /* cudaGetLastError, cudaPeekAtLastError,
                                     cudaGetDevice */
    317, 318,                     /* cudaStreamIsCapturing */
    324, 325, 409, 410, 461, 462, /* cudaStreamGetCaptureInfo */
};

static const uint16_t driver_queries[] = {
    16,  795, 304,                /* cuCtxGetDevice, cuCtxGetCurrent */
    310,                          /* cuPointerGetAttribute */
    499, 500,                     /* cuStreamIsCapturing */
    536, 537, 629, 630, 729, 730, /* cuStreamGetCaptureInfo */
};

void
lp_cupti_use_thread_ids(void)
{
    const lp_cupti_functions *api = &lp_cupti.api;
    int status = api->set_thread_id_type != NULL
                     ? api->set_thread_id_type(LP_CUPTI_THREAD_ID_SYSTEM)
                     : LP_CUPTI_OK;

    if (status != LP_CUPTI_OK && lp_cupti.calls) {
        lp_cupti_miss(LP_CUPTI_NO_CALL_THREADS, "cuptiSetThreadIdType",
                      status);
    }
}

void
lp_cupti_use_thread_buffers(void)
{
    const lp_cupti_functions *api = &lp_cupti.api;
    uint8_t on = 0;
    size_t size = sizeof(on);

    /* To change it while another tool records has undefined behaviour. */
    if (api->get_attribute != NULL &&
        api->get_attribute(LP_CUPTI_ATTR_PER_THREAD_BUFFERS, &size, &on) ==
            LP_CUPTI_OK &&
        on != 0) {
        return;
    }
    on = 1;
    size = sizeof(on);
    if (api->set_attribute != NULL) {
        api->set_attribute(LP_CUPTI_ATTR_PER_THREAD_BUFFERS, &size, &on);
    }
}

/* A call keeps its callbacks if it keeps its records, which need its path. */
static void
skip(uint32_t domain, const uint16_t *ids, size_t n,
     int (*enable_record)(uint32_t, uint8_t))
{
    const lp_cupti_functions *api = &lp_cupti.api;

    for (size_t i = 0; enable_record != NULL && i < n; i++) {
        if (enable_record(ids[i], 0) == LP_CUPTI_OK) {
            api->enable_callback(0, lp_cupti.subscriber, domain, ids[i]);
        }
    }
}

void
lp_cupti_skip_queries(void)
{
    const lp_cupti_functions *api = &lp_cupti.api;

    skip(LP_CUPTI_DOMAIN_RUNTIME_API, runtime_queries,
         sizeof(runtime_queries) / sizeof(runtime_queries[0]),
         api->enable_runtime_record);
    skip(LP_CUPTI_DOMAIN_DRIVER_API, driver_queries,
         sizeof(driver_queries) / sizeof(driver_queries[0]),
         api->enable_driver_record);
}
