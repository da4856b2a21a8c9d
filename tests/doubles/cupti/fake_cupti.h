/* Declarations shared by the files of fake_cupti.so. */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include "cuda/fake_interface.h"

#include <pthread.h>

enum {
    CUPTI_SUCCESS = 0,
    CUPTI_ERROR_INVALID_PARAMETER = 1,
    CUPTI_ERROR_INVALID_CONTEXT = 3,
    CUPTI_ERROR_INVALID_OPERATION = 7,
    CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
    CUPTI_ERROR_NOT_COMPATIBLE = 14,
    CUPTI_ERROR_NOT_INITIALIZED = 15,
    CUPTI_ERROR_QUEUE_EMPTY = 18,
    CUPTI_ERROR_INVALID_KIND = 21,
    CUPTI_ERROR_NOT_SUPPORTED = 27,
    CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
    CUPTI_ERROR_UNKNOWN = 999,
};

enum {
    FK_KERNEL_SERIAL = 3, /* CUPTI_ACTIVITY_KIND_KERNEL */
    FK_API_DRIVER = 4,    /* ..._DRIVER */
    FK_API_RUNTIME = 5,   /* ..._RUNTIME */
    FK_STATE = 6,         /* CUPTI_CB_DOMAIN_STATE */
    FK_KINDS = 64,
    FK_DOMAINS = 7,
    FK_CBIDS = 1024,
};

/* --- fake_cupti_version.c: releases ---------------------------------- */

typedef struct fk_release {
    uint32_t named;                       /* by FAKE_CUPTI_VERSION */
    uint32_t version;                     /* result of cuptiGetVersion() */
    int cuda;                             /* min cuDriverGetVersion() */
    uint32_t driver_cbids, runtime_cbids; /* max + 1 */
    uint32_t kinds;                       /* max + 1 */
    uint16_t kernel, copy, memset, wait, graph, memory, migration; /* bytes */
} fk_release;

const fk_release *fk_release_now(void);

/* --- fake_cupti.c: checks of calls ----------------------------------- */

/* Begin an API function: CUPTI_SUCCESS, or the result to return. */
int fk_check_call(const char *function);
int fk_check_number(const char *function, uint32_t number);
int fk_check_driver(const char *function);
void fk_outside_callbacks(const char *function);
extern _Thread_local int fk_inside; /* callbacks of the client that run */
extern _Thread_local int fk_inside_resource; /* those of resources */
extern _Atomic bool fk_used; /* a function of CUPTI was called */
void fk_move_clock(int64_t ns);

/* --- fake_cupti_fork.c: forked children ------------------------------ */

extern _Atomic bool fk_forked; /* this process is a forked child */
void fk_fork_note_worker(void);
void fk_fork_note_record(const fk_work *work);
bool fk_fork_hangs(const char *function); /* waits for the absent worker */
void fk_fork_wait(void);

/* --- fake_cupti_callbacks.c ------------------------------------------ */

extern const fk_tool fk_cupti_tool;
uint64_t fk_cupti_now(void); /* ns, of the client's clock if there is one */
uint64_t fk_cupti_own_clock(void); /* ns, of the library's */

/* --- fake_cupti_newer.c ---------------------------------------------- */

extern _Atomic bool fk_hardware_clock, fk_device_graphs, fk_memory_sources;
bool fk_is_newer_attribute(uint32_t attribute);
int fk_set_newer(uint32_t attribute, uint8_t on);
void fk_check_hardware(void); /* CUDA is initialised */
void fk_tell_state(uint32_t cbid, int result);

/* --- fake_cupti.c: state of the driver ------------------------------- */

bool fk_any_kind(void);              /* was ever enabled */
int fk_driver(const char *function); /* result of a function of fake_cuda */

/* --- fake_cupti_names.c ---------------------------------------------- */

/* Name of a function, as in callbacks; lives as long as the library. */
const char *fk_function_name(uint32_t domain, uint32_t cbid);

/* --- fake_cupti_records.c -------------------------------------------- */

size_t fk_record_size(uint32_t kind); /* bytes; 0: no such kind */
void fk_record_write(uint8_t *at, const fk_work *work, const char *name);

/* --- fake_cupti_buffers.c -------------------------------------------- */

typedef void fk_requested(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void fk_completed(void *context, uint32_t stream, uint8_t *buffer,
                          size_t size, size_t valid);

void fk_buffers_start(fk_requested *requested, fk_completed *completed);
void fk_buffers_replace(fk_requested *requested, fk_completed *completed);
void fk_buffers_ask_early(void);
bool fk_buffers_put(const fk_work *work); /* false: there is no buffer */
void fk_buffers_hand_back(size_t but);    /* all but the last `but` */
void fk_buffers_hand_back_all(void);      /* also empty ones */
void fk_buffers_abandon(void);            /* never hand back those of now */
void fk_buffers_put_orphan(const fk_work *work); /* never handed back */

/* --- fake_cupti_worker.c --------------------------------------------- */

extern _Atomic uint8_t fk_kinds[FK_KINDS]; /* enabled kinds */
void fk_worker_start(fk_requested *requested, fk_completed *completed);
void fk_worker_replace(fk_requested *requested, fk_completed *completed);
void fk_worker_add(const fk_work *work); /* to the queue of records */
void fk_worker_flush(bool forced);
void fk_worker_knows(uint32_t context); /* CUPTI was attached before it */
void fk_worker_period(uint32_t ms);
size_t fk_worker_dropped(void);

#endif
