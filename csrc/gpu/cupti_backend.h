/* The one session with CUPTI of the process, shared by these sources:
 *
 * cupti_backend.c opens and closes the session;
 * cupti_subscriber.c subscribes, alone or beside other tools, and calls the
 * functions that these two ways do not share;
 * cupti_old_clients.c finds libraries that exclude the second way;
 * cupti_flush.c gets all records of the work so far;
 * cupti_refusal.c says why it could not be opened;
 * cupti_kinds.c enables the kinds of records;
 * cupti_missing.c says what CUPTI refuses to record;
 * cupti_settings.c makes CUPTI cheaper where it can be;
 * cupti_newer.c has settings of newer versions;
 * cupti_migrations.c has migrations of managed memory recorded;
 * cupti_calls.c knows the calls of the driver, and enables their callbacks;
 * cupti_callbacks.c is called for each CUDA call, on the thread that makes it;
 * cupti_contexts.c has the contexts to wait for;
 * cupti_buffers.c has the buffers that CUPTI fills with records;
 * cupti_activity.c gets and reads the records, on a thread of CUPTI's;
 * cupti_join.c checks that records have the ids of calls;
 * cupti_other_tools.c notices tools that use CUPTI at the same time;
 * cupti_child.c has a forked child, which has no session: these functions may
 * still be called there, and do nothing.
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
typedef void (*lp_cupti_requested_v2)(uint8_t **, size_t *, size_t *, void *);
typedef void (*lp_cupti_completed_v2)(uint8_t *, size_t, size_t, void *);

/* CUPTI's functions, without "cupti", with the same signatures.  Those with
 * _v2 are for one of several subscribers, or NULL. */
typedef struct lp_cupti_functions {
    int (*get_version)(uint32_t *);
    int (*get_result_string)(int, const char **);
    int (*get_timestamp)(uint64_t *);
    int (*subscribe)(void **, lp_cupti_callback, void *);
    int (*subscribe_v2)(void **, lp_cupti_callback, void *,
                        lp_cupti_subscription *); /* or NULL; since 13.0 */
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
    int (*set_attribute)(uint32_t, size_t *, void *);            /* or NULL */
    int (*get_attribute)(uint32_t, size_t *, void *);            /* or NULL */
    int (*enable_runtime_record)(uint32_t, uint8_t);             /* or NULL */
    int (*enable_driver_record)(uint32_t, uint8_t);              /* or NULL */
    /* or NULL; since 13.3, and 13.2 */
    int (*is_session_running)(uint8_t *);
    int (*get_enabled_kinds)(void *, uint32_t *, uint32_t *, uint32_t *);
    int (*get_graph_exec_id)(void *, uint32_t *); /* or NULL; since 12.3 */
    int (*enable_device_graphs)(uint8_t);         /* the same */
    int (*enable_memory_source)(uint8_t);         /* or NULL; since 12.6 */
    int (*enable_hardware_clock)(uint8_t);        /* or NULL; since 12.8 */
    /* since 13.2 */
    int (*register_callbacks_v2)(void *, lp_cupti_requested_v2,
                                 lp_cupti_completed_v2);
    int (*enable_v2)(void *, uint32_t, void *);
    int (*disable_v2)(void *, uint32_t, void *);
    int (*set_attribute_v2)(void *, uint32_t, size_t *, void *);
    int (*get_attribute_v2)(void *, uint32_t, size_t *, void *);
    /* since 13.3 */
    int (*get_timestamp_v2)(void *, uint64_t *);
    int (*get_next_record_v2)(void *, uint8_t *, size_t, void **);
    int (*get_dropped_v2)(void *, void *, uint32_t, size_t *);
    int (*enable_runtime_record_v2)(void *, uint32_t, uint8_t);
    int (*enable_driver_record_v2)(void *, uint32_t, uint8_t);
} lp_cupti_functions;

enum { LP_CUPTI_NAME = 128 }; /* of a tool: CUPTI writes up to 64 bytes */

typedef enum lp_cupti_state {
    LP_CUPTI_CLOSED = 0,
    LP_CUPTI_OPEN,
    LP_CUPTI_FORKED /* this is the child of a process that had it open */
} lp_cupti_state;

typedef enum lp_cupti_migrations {
    LP_CUPTI_MIGRATIONS_OFF = 0, /* nobody asked for them */
    LP_CUPTI_MIGRATIONS_WAITING, /* for the program to initialise CUDA */
    LP_CUPTI_MIGRATIONS_ON,
    LP_CUPTI_MIGRATIONS_REFUSED
} lp_cupti_migrations;

/* Data that a refusal of CUPTI costs. */
typedef enum lp_cupti_missing {
    LP_CUPTI_NO_COPIES,
    LP_CUPTI_NO_PEER_COPIES,
    LP_CUPTI_NO_MEMSETS,
    LP_CUPTI_NO_CALLS,
    LP_CUPTI_NO_RUNTIME_CALLS,
    LP_CUPTI_NO_DRIVER_CALLS,
    LP_CUPTI_NO_CALL_NAMES,
    LP_CUPTI_NO_CALL_THREADS,
    LP_CUPTI_NO_MEMORY,
    LP_CUPTI_NO_MEMORY_LINES,
    LP_CUPTI_NO_MEMORY_SOURCES,
    LP_CUPTI_NO_WHOLE_GRAPHS,
    LP_CUPTI_NO_GRAPHS,
    LP_CUPTI_NO_DEVICE_GRAPHS,
    LP_CUPTI_NO_ORIGINS,
    LP_CUPTI_NO_LAUNCHES,
    LP_CUPTI_NO_WAITS,
    LP_CUPTI_NO_LOADS,
    LP_CUPTI_NO_CAPTURES,
    LP_CUPTI_NO_PAUSES,
    LP_CUPTI_NO_DROPPED,
    LP_CUPTI_MISSING /* number of them */
} lp_cupti_missing;

typedef struct lp_cupti_session {
    lp_cupti_state state; /* atomic */
    lp_gpu_host host;
    bool calls, memory;  /* see lp_gpu_options; not if CUPTI refuses them */
    bool device_graphs;  /* those that the device launches are recorded */
    bool memory_sources; /* allocations have the name of a library */
    lp_cupti_functions api;
    lp_cuda_driver cuda;
    void *subscriber;
    bool several;               /* other tools can subscribe, too */
    char beside[LP_CUPTI_NAME]; /* the first of them; "" if it is lineprof */
    char alone[LP_GPU_WHY / 2]; /* why not several, although the library could;
                                   or "" */
    uint32_t version;
    lp_ns opened;
    int64_t offset;   /* from CUPTI's time stamps to CLOCK_MONOTONIC, ns; 0 if
                         CUPTI has that clock (atomic) */
    uint64_t dropped; /* atomic */
    uint32_t reading; /* buffers that are being read (atomic) */
    uint64_t buffers_out; /* buffers that CUPTI has not returned (atomic) */
    uint32_t captures;    /* graph captures in progress (atomic) */
    bool captured;        /* a graph node was created (atomic) */
    bool nodes_unknown;   /* CUPTI refuses to tell of these */
    bool ends_unknown;    /* or of contexts that are about to be destroyed */
    bool many;        /* since the last flush there was a call whose records
                         are not all expected (atomic) */
    lp_ns flushed;    /* time of the last flush (atomic) */
    bool forced;      /* the forced flush was made (atomic) */
    uint64_t earlier; /* records of work that began before the last flush
                         (atomic) */
    uint64_t foreign; /* buffers of other tools that came (atomic) */
    /* launches that have no record because, as it seems, another tool took
     * them (atomic) */
    uint64_t taken;
    bool by_runtime; /* records have the ids of the runtime's calls (atomic) */
    int init_status; /* of CUPTI if it refuses to tell when CUDA is ready */
    lp_cupti_migrations migrations; /* atomic */
    int migrations_status;          /* of CUPTI if they are refused */
    const char *migrations_call;    /* and the function; static string */
} lp_cupti_session;

extern lp_cupti_session lp_cupti;

static inline bool
lp_cupti_is_open(void)
{
    return __atomic_load_n(&lp_cupti.state, __ATOMIC_ACQUIRE) == LP_CUPTI_OPEN;
}

/* [ANY] A context is in use, or is about to be destroyed; `id` is that of its
 * records, 0 if it is not known yet. */
void lp_cupti_add_context(void *context, uint32_t id);
void lp_cupti_drop_context(void *context);

/* [ANY] Some context is about to be destroyed. */
void lp_cupti_drop_all_contexts(void);

/* [ANY] Visit all live contexts until `visit` returns false; false then. */
bool lp_cupti_visit_contexts(bool (*visit)(void *context));

/* [ANY] Return the id of a context; UINT32_MAX if no work was launched in it.
 */
uint32_t lp_cupti_context_id(const void *context);

/* Add the context that is current on this thread, if any. */
void lp_cupti_add_current_context(void);

/* Subscribe, beside other tools if that takes nothing from any of them, else
 * as the only one.  False if that cannot be; `*taken` is set if that is
 * because of another tool, whose settings were not touched. */
bool lp_cupti_subscribe(const lp_gpu_options *options, bool *taken,
                        char why[LP_GPU_WHY]);

/* After CUPTI said NOT_COMPATIBLE: it may refuse one way because of calls in
 * the other that are long over.  True if lineprof can turn to the other way,
 * which nobody uses now; `*taken` is set if somebody does. */
bool lp_cupti_can_turn(bool *taken);

/* Subscribe in the other way, once unsubscribed; false as above. */
bool lp_cupti_turn(bool *taken, char why[LP_GPU_WHY]);

/* Subscribe by cuptiSubscribe_v2.  `holder` gets the name of the tool that is
 * subscribed, the first one if there are several; "" if CUPTI does not tell.
 */
int lp_cupti_subscribe_by_name(void **subscriber, lp_cupti_callback callback,
                               bool several, char holder[LP_CUPTI_NAME]);

/* Write which way was chosen, if that is not the only way; or "". */
void lp_cupti_describe_subscription(char text[LP_GPU_WHY]);

/* Functions of CUPTI that depend on the way: the status of CUPTI. */
int lp_cupti_register_callbacks(void);
int lp_cupti_enable(uint32_t kind);
int lp_cupti_disable(uint32_t kind);
int lp_cupti_set_attribute(uint32_t attribute, void *value, size_t size);
int lp_cupti_get_attribute(uint32_t attribute, void *value, size_t size);
int lp_cupti_set_clock(uint64_t (*now)(void));
int lp_cupti_set_thread_ids(uint32_t type);
int lp_cupti_get_timestamp(uint64_t *stamp);
int lp_cupti_get_next_record(uint8_t *buffer, size_t valid, void **record);
int lp_cupti_get_dropped(void *context, uint32_t stream, size_t *dropped);
int lp_cupti_enable_record_of(uint32_t domain, uint32_t call, uint8_t on);

/* Choose, before kinds are enabled, between a record for each node of a graph
 * and one for all.  Tools beside each other have the same: a choice of another
 * one remains.  True if those for all are to be enabled. */
bool lp_cupti_choose_graphs(bool whole);

/* True if tools beside each other have chosen a record for all: then there are
 * none of nodes, even if that kind is not enabled. */
bool lp_cupti_chose_whole_graphs(void);

/* Write the name of a library of the process that uses CUPTI without a
 * subscriber; false if there is none. */
bool lp_cupti_find_old_client(char name[LP_CUPTI_NAME]);

/* The same of libraries that may be loaded later: NULL at the end. */
bool lp_cupti_expect_old_client(const char *const *paths,
                                char name[LP_CUPTI_NAME]);

/* Write a sentence on such a library, if CUPTI refuses its calls. */
bool lp_cupti_describe_old_client(char text[LP_GPU_WHY]);

/* True if anybody records activity now; to be asked before subscribing. */
bool lp_cupti_is_recorded(void);

/* At the end of a flush: conclude from missing records whether another tool
 * took them.  `before` was read when the flush began; `done` is true if the
 * device has finished all work launched until then. */
void lp_cupti_check_records(const lp_correlation_tail *before, bool done);

/* Records have ids of no call of the driver: find their calls by those of the
 * runtime from now on.  May be called by CUPTI's thread, without locks. */
void lp_cupti_join_by_runtime(void);

/* At the end of a flush: find calls by those of the runtime, too, if the
 * records that came until now have ids of no call. */
void lp_cupti_check_join(void);

/* Wait, for some seconds at most, while the runtime's calls are being enabled;
 * false if they still are. */
bool lp_cupti_join_is_settled(void);

/* Write a sentence on records that have ids of no call; false if none have. */
bool lp_cupti_describe_join(char text[LP_GPU_WHY]);

/* Measure the offset from CUPTI's clock; 0, or CUPTI's status. */
int lp_cupti_measure_offset(void);

/* See lp_gpu_backend.flush and deliver. */
void lp_cupti_flush(bool last);
void lp_cupti_deliver(void);

/* Wait, for some seconds at most, while buffers are being read; false if some
 * still are. */
bool lp_cupti_reading_is_done(void);

/* Callbacks of CUPTI; [ANY]. */
void lp_cupti_on_callback(void *unused, uint32_t domain, uint32_t id,
                          const void *data);
void lp_cupti_on_requested(uint8_t **buffer, size_t *size, size_t *records);
void lp_cupti_on_completed(void *context, uint32_t stream, uint8_t *buffer,
                           size_t size, size_t valid);
void lp_cupti_on_requested_v2(uint8_t **buffer, size_t *size, size_t *records,
                              void *info);
void lp_cupti_on_completed_v2(uint8_t *buffer, size_t size, size_t valid,
                              void *info);

/* [ANY] Count the records that CUPTI has dropped since it was last asked.  No
 * lock may be held, because CUPTI takes locks of its own.  Returns its status.
 */
int lp_cupti_count_dropped(void *context, uint32_t stream);

/* Watch forks from now on, and the exits of forked children: before CUPTI has
 * a thread. */
void lp_cupti_watch_forks(void);

/* [ANY] True in a child that was forked while the session was open. */
bool lp_cupti_is_forked(void);

/* [ANY] The buffer of such a child, or NULL.  CUPTI records its work, too, but
 * has no thread that would return a buffer: it gets the same one each time,
 * and nobody reads it. */
uint8_t *lp_cupti_child_buffer(size_t *size);

/* Enable callbacks of the CUDA calls that lineprof needs; 0, or CUPTI's
 * status if it refuses all of them.  If CUPTI refuses those of all other
 * calls, which were asked for, `calls` is off. */
int lp_cupti_enable_calls(void);

/* Expect no records of kinds that CUPTI has refused; `whole_graphs`: a graph
 * has one record, of its own kind, unless that is refused. */
void lp_cupti_expect_records(bool whole_graphs);

/* Enable the kinds of records; 0, or CUPTI's status, with none enabled, if it
 * refuses that of kernels.  Others are left out if refused. */
int lp_cupti_enable_kinds(const lp_gpu_options *given);

/* Write a sentence on graphs that are recorded as a whole although that was
 * not asked for; false if there is none. */
bool lp_cupti_describe_graphs(char text[LP_GPU_WHY]);

/* Before kinds are enabled: settings that newer versions have, where an option
 * asks for what they add. */
void lp_cupti_use_newer_settings(const lp_gpu_options *options);

/* [ANY] CUPTI tells of an error. */
void lp_cupti_on_state(const lp_cupti_state_data *data);

/* Write a sentence on time stamps of the hardware that were asked for and are
 * not used; false if there is no such. */
bool lp_cupti_describe_clock(char text[LP_GPU_WHY]);

/* Why a setting of all tools cannot be had, with the other tool's name. */
#define LP_CUPTI_CAME_FIRST                                                   \
    "they are the same for all tools, and %s came first"

/* The name of a function that depends on the way, as it is called. */
#define LP_CUPTI_NAMED(function) (lp_cupti.several ? function "_v2" : function)

/* [ANY] CUPTI refuses this call, which costs `what`; the first such call
 * counts.  `call` is a static string. */
void lp_cupti_miss(lp_cupti_missing what, const char *call, int status);

/* [ANY] True if that is missing. */
bool lp_cupti_misses(lp_cupti_missing what);

/* Another library, or its other functions, may refuse nothing. */
void lp_cupti_miss_nothing(void);

/* Say in sentences what is missing. */
void lp_cupti_describe_missing(lp_gpu_say *say, void *context);

/* Record migrations now, or, because CUPTI takes their counters only from an
 * initialised driver, as soon as the program has initialised it. */
void lp_cupti_want_migrations(void);

/* [ANY] CUDA is initialised: record migrations, if they wait for that. */
void lp_cupti_cuda_is_ready(void);

/* Write a sentence on migrations that are not recorded although that was asked
 * for; false if there is no such. */
bool lp_cupti_describe_migrations(char text[LP_GPU_WHY]);

/* False if the name of a library has a major version that the driver is too
 * old for: such a library is not even loaded.  A path has a reason, the name
 * of a library that the loader would search for has an empty one. */
bool lp_cupti_fits_driver(const char *name, char why[LP_GPU_WHY]);

/* Write which call failed and CUPTI's text for the status, with its number in
 * brackets at the end. */
void lp_cupti_say(char *text, size_t size, const char *call, int status);

/* The same; false. */
bool lp_cupti_failed(char why[LP_GPU_WHY], const char *call, int status);

/* Say that the tool of this name holds CUPTI; false. */
bool lp_cupti_held_by(const char *name, char why[LP_GPU_WHY]);

/* Improve `why`, in which cuptiGetVersion or cuptiSubscribe says `status`. */
void lp_cupti_explain(char why[LP_GPU_WHY], int status);

/* Have CUPTI give threads the system's ids; before any record. */
void lp_cupti_use_thread_ids(void);

/* Have CUPTI fill buffers of each thread's own, without a lock for all; before
 * the callbacks of buffers are registered. */
void lp_cupti_use_thread_buffers(void);

/* Record no API calls that only ask for a state; after the kinds of records
 * are enabled. */
void lp_cupti_skip_queries(void);

/* Calls of this thread are lineprof's own, and not recorded, between `true`
 * and `false`. */
void lp_cupti_internal_calls(bool internal);

/* Read a record; false if its kind is not used. */
bool lp_cupti_read(const void *record, lp_record *to);

/* The backend for NVIDIA's devices. */
extern const lp_gpu_backend lp_gpu_cupti;

#endif
