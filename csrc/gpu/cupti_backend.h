/* The one session with CUPTI of the process, shared by three sources.
 *
 * cupti_backend.c opens the session and flushes the last records;
 * cupti_callbacks.c is called for each CUDA call, on the thread that makes it;
 * cupti_activity.c gets and reads the records, on a thread of CUPTI's.  After
 * a fork the child has no session: these functions may still be called there,
 * and do nothing.
 */
#ifndef LP_GPU_CUPTI_BACKEND_H
#define LP_GPU_CUPTI_BACKEND_H

#include "gpu/backend.h"
#include "gpu/cuda_driver.h"
#include "gpu/cupti_abi.h"

typedef void (*lp_cupti_callback)(void *, uint32_t, uint32_t, const void *);
typedef void (*lp_cupti_requested)(uint8_t **, size_t *, size_t *);
typedef void (*lp_cupti_completed)(void *, uint32_t, uint8_t *, size_t,
                                   size_t);

/* CUPTI's functions, without "cupti", with the same signatures. */
typedef struct lp_cupti_functions {
    int (*get_version)(uint32_t *);
    int (*get_result_string)(int, const char **);
    int (*get_timestamp)(uint64_t *);
    int (*subscribe)(void **, lp_cupti_callback, void *);
    int (*unsubscribe)(void *);
    int (*enable_callback)(uint32_t, void *, uint32_t, uint32_t);
    int (*enable_domain)(uint32_t, void *, uint32_t);
    int (*register_callbacks)(lp_cupti_requested, lp_cupti_completed);
    int (*enable)(uint32_t);
    int (*disable)(uint32_t);
    int (*get_next_record)(uint8_t *, size_t, void **);
    int (*get_dropped)(void *, uint32_t, size_t *);
    int (*flush_all)(uint32_t);
    int (*register_timestamp)(uint64_t (*)(void));               /* or NULL */
    int (*set_thread_id_type)(int);                              /* or NULL */
    int (*get_graph_node_id)(void *, uint64_t *);                /* or NULL */
    int (*get_callback_name)(uint32_t, uint32_t, const char **); /* or NULL */
    int (*configure_uvm)(lp_cupti_uvm_config *, uint32_t);       /* or NULL */
    void *has_enable_v2;      /* since 13.2 */
    void *has_next_record_v2; /* since 13.3 */
} lp_cupti_functions;

typedef enum lp_cupti_state {
    LP_CUPTI_CLOSED = 0,
    LP_CUPTI_OPEN,
    LP_CUPTI_FORKED /* this is the child of a process that had it open */
} lp_cupti_state;

enum { LP_CUPTI_CONTEXTS = 64 };

typedef struct lp_cupti_session {
    lp_cupti_state state; /* atomic */
    lp_gpu_host host;
    bool calls, memory; /* see lp_gpu_options */
    lp_cupti_functions api;
    lp_cuda_driver cuda;
    void *subscriber;
    uint32_t version;
    int64_t offset;       /* from CUPTI's time stamps to CLOCK_MONOTONIC, ns */
    uint64_t dropped;     /* atomic */
    uint64_t buffers_out; /* buffers that CUPTI has not returned (atomic) */
    uint32_t captures;    /* graph captures in progress (atomic) */
    void *contexts[LP_CUPTI_CONTEXTS]; /* live contexts (atomic) */
} lp_cupti_session;

extern lp_cupti_session lp_cupti;

static inline bool
lp_cupti_is_open(void)
{
    return __atomic_load_n(&lp_cupti.state, __ATOMIC_ACQUIRE) == LP_CUPTI_OPEN;
}

/* [ANY] A context is in use, or is about to be destroyed. */
void lp_cupti_add_context(void *context);
void lp_cupti_drop_context(void *context);

/* Add the context that is current on this thread, if any. */
void lp_cupti_add_current_context(void);

/* See lp_gpu_backend.flush. */
void lp_cupti_flush(void);

/* Callbacks of CUPTI; [ANY]. */
void lp_cupti_on_callback(void *unused, uint32_t domain, uint32_t id,
                          const void *data);
void lp_cupti_on_requested(uint8_t **buffer, size_t *size, size_t *records);
void lp_cupti_on_completed(void *context, uint32_t stream, uint8_t *buffer,
                           size_t size, size_t valid);

/* Enable callbacks of the CUDA calls that lineprof needs; 0, or CUPTI's
 * status. */
int lp_cupti_enable_calls(void);

/* Calls of this thread are lineprof's own, and not recorded, between `true`
 * and `false`. */
void lp_cupti_internal_calls(bool internal);

/* Read a record; false if its kind is not used. */
bool lp_cupti_read(const void *record, lp_record *to);

/* The backend for NVIDIA's devices. */
extern const lp_gpu_backend lp_gpu_cupti;

#endif
