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
    CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT = 10,
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

/* --- fake_cupti_clients.c: who uses CUPTI ---------------------------- */

typedef uint64_t fk_clock(void); /* ns */
typedef void fk_callback(void *userdata, uint32_t domain, uint32_t cbid,
                         const void *data);
typedef void fk_requested(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void fk_completed(void *context, uint32_t stream, uint8_t *buffer,
                          size_t size, size_t valid);

typedef struct fk_request_info { /* CUpti_BufferCallbackRequestInfo */
    size_t size;
} fk_request_info;

typedef struct fk_complete_info { /* CUpti_BufferCallbackCompleteInfo */
    size_t size;
    uint64_t thread;
    void **layouts;
    size_t layout_count;
} fk_complete_info;

typedef void fk_requested_v2(uint8_t **buffer, size_t *size,
                             size_t *max_records, fk_request_info *info);
typedef void fk_completed_v2(uint8_t *buffer, size_t size, size_t valid,
                             fk_complete_info *info);

enum { FK_IN_FLIGHT = 3, FK_NAMES = 64, FK_HEAD = 32 };

typedef struct fk_buffer {
    uint8_t *bytes; /* the client's; NULL: no buffer */
    size_t size;    /* as the client set it */
    size_t room;    /* the used part of size */
    size_t valid, records, max_records;
    size_t named;
    const char *names[FK_NAMES]; /* interned, and their copies */
    char *copies[FK_NAMES];
    uint8_t head[FK_HEAD]; /* copy of the first bytes: nobody changes them */
} fk_buffer;

typedef struct fk_pile {
    fk_work *items;
    size_t count, room;
} fk_pile;

/* A subscriber by cuptiSubscribe_v2, never freed, or fk_global: all that use
 * the calls without a version, among them the subscriber by cuptiSubscribe. */
typedef struct fk_client {
    bool versioned;          /* by cuptiSubscribe_v2 */
    bool several;            /* it allowed others */
    _Atomic bool subscribed; /* now */
    _Atomic bool scoped;     /* it used activity calls of its own */
    _Atomic bool registered; /* its buffer callbacks */
    uint32_t number;         /* in the table */
    char name[64];           /* "CUPTI for NAME" */
    fk_callback *callback;
    void *userdata;
    _Atomic uint8_t callbacks[FK_DOMAINS][FK_CBIDS]; /* enabled */
    _Atomic uint8_t without_records[FK_DOMAINS][FK_CBIDS];
    _Atomic uint8_t kinds[FK_KINDS]; /* enabled */
    _Atomic(fk_clock *) clock;       /* NULL: the library's */
    _Atomic int thread_ids;          /* 1: gettid(), else pthread_self() */
    uint8_t attributes[32];          /* value + 1; 0: unset */
    bool device_graphs;              /* it records them */

    fk_requested *_Atomic requested;
    fk_completed *_Atomic completed;
    fk_requested_v2 *_Atomic requested_v2;
    fk_completed_v2 *_Atomic completed_v2;
    fk_buffer open[FK_IN_FLIGHT]; /* the worker's */
    size_t opened;
    fk_buffer spare; /* under the lock of buffers */

    fk_pile waiting; /* the worker's */
    _Atomic size_t dropped;
    uint64_t device_records; /* the worker's; for every nth */
} fk_client;

extern fk_client fk_global;
fk_client *fk_client_at(uint32_t number); /* NULL: there are no more */
fk_client *fk_client_add(void);           /* for ever; one call at a time */
bool fk_client_is_in_use(const fk_client *client);
uint32_t fk_clients_in_use(void);
fk_client *fk_client_first(void); /* now subscribed by _v2; or NULL */
bool fk_any_kind(void);           /* is enabled, by anybody */
bool fk_several(void);            /* subscribers are allowed now */
/* The result for a call of the one family that would mix with the other. */
int fk_check_global(void);
int fk_check_scoped(const char *function, void *subscriber,
                    fk_client **client);
int fk_check_subscriber(const char *function, void *subscriber);

/* --- fake_cupti.c: checks of calls ----------------------------------- */

/* Begin an API function: CUPTI_SUCCESS, or the result to return. */
int fk_check_call(const char *function);
int fk_check_number(const char *function, uint32_t number);
int fk_check_driver(const char *function);
bool fk_driver_is_initialized(void); /* by cuInit */
void fk_outside_callbacks(const char *function);
extern _Thread_local int fk_inside; /* callbacks of the client that run */
extern _Thread_local int fk_inside_resource; /* those of resources */
extern _Atomic bool fk_used; /* a function of CUPTI was called */
bool fk_shared(void);        /* tools without a subscription record, too */

/* The clock of the device's work is that of the first client that gave one. */
uint64_t fk_cupti_now(void);                   /* ns */
uint64_t fk_cupti_own_clock(void);             /* ns, of the library's */
uint64_t fk_shift_of(const fk_client *client); /* ns; its clock's advance */
void fk_set_times(const fk_client *client, fk_work *work, uint64_t advance);
void fk_give_clock(fk_client *client, fk_clock *clock);

/* --- fake_cupti_activity.c ------------------------------------------- */

int fk_enable_kind(const char *function, fk_client *client, uint32_t kind);
int fk_disable_kind(const char *function, fk_client *client, uint32_t kind);
int fk_next_record(uint8_t *buffer, size_t valid, uint8_t **record);

/* --- fake_cupti_attributes.c ----------------------------------------- */

/* CUpti_ActivityAttribute */
enum {
    FK_THREAD_BUFFERS = 9,
    FK_USER_DEFINED = 11,
    FK_SUBSCRIBER_STATE = 12,
    FK_HARDWARE = 13,
    FK_ALLOCATION_SOURCE = 14,
    FK_DEVICE_GRAPHS = 19,
    FK_GRAPHS_AS_A_WHOLE = 20,
    FK_THREAD_IDS = 21,
    FK_CLOCK = 22,
    FK_ATTRIBUTES = 25
};

bool fk_graphs_as_a_whole(const fk_client *client); /* in its records */
bool fk_may_trace_graphs(const fk_client *client);

/* --- fake_cupti_fork.c: forked children ------------------------------ */

extern _Atomic bool fk_forked; /* this process is a forked child */
void fk_fork_note_worker(void);
void fk_fork_note_record(const fk_work *work);
bool fk_fork_hangs(const char *function); /* waits for the absent worker */
void fk_fork_wait(void);

/* --- fake_cupti_callbacks.c ------------------------------------------ */

extern const fk_tool fk_cupti_tool;
uint32_t fk_cbids_of(uint32_t domain); /* max + 1; 0: no such domain */
int fk_enable_record(fk_client *client, uint32_t domain, uint32_t cbid,
                     uint8_t enable);

/* --- fake_cupti_newer.c ---------------------------------------------- */

extern _Atomic bool fk_hardware_clock; /* of everybody */
bool fk_is_newer_attribute(uint32_t attribute);
int fk_set_newer(fk_client *client, uint32_t attribute, uint8_t on);
void fk_check_hardware(void); /* CUDA is initialised */
void fk_tell_state(uint32_t cbid, int result);

/* --- fake_cupti.c: state of the driver ------------------------------- */

int fk_driver(const char *function); /* result of a function of fake_cuda */

/* --- fake_cupti_names.c ---------------------------------------------- */

/* Name of a function, as in callbacks; lives as long as the library. */
const char *fk_function_name(uint32_t domain, uint32_t cbid);

/* --- fake_cupti_records.c -------------------------------------------- */

size_t fk_record_size(uint32_t kind); /* bytes; 0: no such kind */
void fk_record_write(uint8_t *at, const fk_work *work, const char *name);

/* --- fake_cupti_buffers.c -------------------------------------------- */

void fk_buffers_start(void);
void fk_buffers_ask_early(fk_client *client);
bool fk_buffers_put(fk_client *client, const fk_work *work); /* no buffer */
void fk_buffers_hand_back(fk_client *client, size_t but); /* the last `but` */
void fk_buffers_hand_back_all(fk_client *client);         /* also empty ones */
void fk_buffers_abandon(fk_client *client); /* never hand back those of now */
void fk_buffers_in_child(void);             /* the same, for everybody */
void fk_buffers_put_orphan(const fk_work *work); /* never handed back */
const fk_client *fk_buffers_owner(const uint8_t *bytes); /* NULL: nobody */

/* --- fake_cupti_worker.c --------------------------------------------- */

void fk_worker_register(fk_client *client, fk_requested *requested,
                        fk_completed *completed);
void fk_worker_register_v2(fk_client *client, fk_requested_v2 *requested,
                           fk_completed_v2 *completed);
void fk_worker_forget(fk_client *client); /* it has unsubscribed */
void fk_worker_add(const fk_work *work);  /* to the queue of records */
void fk_worker_flush(bool forced);
void fk_worker_knows(uint32_t context); /* CUPTI was attached before it */
void fk_worker_period(uint32_t ms);
size_t fk_worker_dropped(fk_client *client);

#endif
