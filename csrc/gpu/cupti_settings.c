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
    bool known = lp_cupti.several || lp_cupti.api.set_thread_id_type != NULL;
    int status = lp_cupti_set_thread_ids(LP_CUPTI_THREAD_ID_SYSTEM);

    if (known && status != LP_CUPTI_OK && lp_cupti.calls) {
        lp_cupti_miss(LP_CUPTI_NO_CALL_THREADS,
                      lp_cupti.several ? "cuptiActivitySetAttribute_v2"
                                       : "cuptiSetThreadIdType",
                      status);
    }
}

void
lp_cupti_use_thread_buffers(void)
{
    uint8_t on = 0;

    /* To change it while another tool records has undefined behaviour. */
    if (lp_cupti_get_attribute(LP_CUPTI_ATTR_PER_THREAD_BUFFERS, &on,
                               sizeof(on)) == LP_CUPTI_OK &&
        on != 0) {
        return;
    }
    on = 1;
    lp_cupti_set_attribute(LP_CUPTI_ATTR_PER_THREAD_BUFFERS, &on, sizeof(on));
}

/* A call keeps its callbacks if it keeps its records, which need its path. */
static void
skip(uint32_t domain, const uint16_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (lp_cupti_enable_record_of(domain, ids[i], 0) == LP_CUPTI_OK) {
            lp_cupti.api.enable_callback(0, lp_cupti.subscriber, domain,
                                         ids[i]);
        }
    }
}

void
lp_cupti_skip_queries(void)
{
    skip(LP_CUPTI_DOMAIN_RUNTIME_API, runtime_queries,
         sizeof(runtime_queries) / sizeof(runtime_queries[0]));
    skip(LP_CUPTI_DOMAIN_DRIVER_API, driver_queries,
         sizeof(driver_queries) / sizeof(driver_queries[0]));
}
