/* Declarations shared by the files of fake_cuda.so. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include "cuda/fake_interface.h"

#include <pthread.h>

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
};

enum { /* CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_* */
       FK_WAIT_EVENT = 1,
       FK_WAIT_STREAM = 3,
       FK_WAIT_CONTEXT = 4,
};

/* --- fake_device.c: contexts, streams and their time ----------------- */

extern pthread_mutex_t fk_lock; /* of contexts, streams and graphs */

const fk_tool *fk_tool_now(void); /* NULL: none */
uint64_t fk_now(void);            /* ns, of the tool's clock */

fk_context *fk_context_new(uint32_t device);
fk_context *fk_context_of(uint32_t uid); /* NULL: unknown, or destroyed */
void fk_context_end(fk_context *context);
fk_context *fk_current(void); /* this thread's; NULL: none */
void fk_make_current(fk_context *context);
fk_stream *fk_stream_of(fk_context *context, int stream);
int fk_push(fk_context *context);
int fk_pop(fk_context **context);
fk_context *fk_primary(uint32_t device); /* made when first needed */
int fk_current_or_primary(fk_context **context);

/* Queue work of `ns` on its stream, or add it to the stream's capture. */
void fk_queue(fk_context *context, fk_stream *stream, fk_work *work,
              uint64_t ns);
/* Wait for a stream, NULL: for all streams of the context.  ns < 0: until the
 * work ends.  type: FK_WAIT_... of the record of the wait; 0: no record. */
void fk_wait(fk_context *context, fk_stream *stream, uint32_t type,
             int64_t ns);
void fk_pass(uint64_t ns); /* have the waiter spend this time */

/* --- fake_api.c: calls as a tool sees them --------------------------- */

void fk_begin(fk_api_call *call, uint32_t domain, uint32_t cbid,
              const char *symbol);
int fk_end(fk_api_call *call, int result); /* the result */

/* A parameter of a driver's function: its place in a tool's struct of them, in
 * words, and its value; place 0: none. */
typedef struct {
    size_t place;
    uint64_t value;
} fk_parameter;

/* Set the parameter at place 0 of this thread's next driver call. */
void fk_pass_first(uint64_t value);

/* Set parameters of this thread's next driver call; others are garbage. */
void fk_pass_parameters(fk_parameter one, fk_parameter other);
void fk_identify(uint32_t id);     /* this thread's next call has this id */
void fk_correlate(fk_work *work);  /* with the open call */
void fk_tell(const fk_work *work); /* the tool, if there is one */
void fk_resource(uint32_t cbid, fk_context *context,
                 const fk_graph_data *data);
const char *fk_intern(const char *name); /* a copy for ever */

/* A driver call, and the runtime call around it if there is one. */
typedef struct {
    fk_api_call runtime, driver;
    bool layered;
    fk_context *context; /* the thread's, if the call may go on */
} fk_layers;

extern _Atomic bool fk_layered; /* programs call the runtime */

/* Return CUDA_SUCCESS or the error of the call; fk_leave() follows in any
 * case.
 */
int fk_enter(fk_layers *call, uint32_t runtime, uint32_t driver,
             const char *symbol);
int fk_leave(fk_layers *call, int result);

/* --- fake_cuda.c: the driver ----------------------------------------- */

int fk_ready(const char *function); /* CUDA_SUCCESS, or the error */
uint32_t fk_devices(void);
extern _Atomic bool fk_dead; /* forked with CUDA in use */

/* --- fake_graph.c ---------------------------------------------------- */

void fk_graph_add(struct fk_graph *graph, fk_context *context,
                  const fk_work *work, uint64_t ns);

/* --- fake_calls.c: memory, by these functions ------------------------ */

/* Return the address, a new one if it is 0; 0 on failure. */
uint64_t fk_allocate(uint32_t runtime, uint32_t driver, uint64_t address,
                     uint64_t bytes, int kind, uint64_t pool);
int fk_release(uint32_t runtime, uint32_t driver, uint64_t address,
               bool waits);

/* --- called by tests: fake_work.c and fake_graph.c ------------------- */

FK_EXPORT int fk_init(void);
FK_EXPORT int fk_set_device(int device);
FK_EXPORT int fk_ctx_create(int device); /* the uid; 0: failed */
FK_EXPORT int fk_ctx_destroy(int uid);
FK_EXPORT void fk_through(int launch, int runtime);

FK_EXPORT int fk_launch(const char *name, int stream, uint64_t ns);
FK_EXPORT int fk_launch_config(const char *name, int stream, uint64_t ns,
                               int gx, int gy, int gz, int bx, int by, int bz,
                               int registers, int static_smem,
                               int dynamic_smem);
FK_EXPORT int fk_launch_failing(const char *name, int stream, int result);
FK_EXPORT int fk_launch_many(const char *name, uint64_t count, uint64_t ns);
FK_EXPORT int fk_launch_from_native_thread(const char *name, uint64_t ns,
                                           int count);
FK_EXPORT int fk_launch_from_native_thread_async(const char *name, uint64_t ns,
                                                 int count);
FK_EXPORT int fk_native_join(void);

FK_EXPORT int fk_memcpy(int direction, uint64_t bytes, uint64_t ns,
                        int blocking, int source, int target);
FK_EXPORT int fk_memcpy_stream(int stream, int direction, uint64_t bytes,
                               uint64_t ns, int blocking, int source,
                               int target);
FK_EXPORT int fk_memset(uint64_t bytes, uint64_t ns, int blocking);
FK_EXPORT int fk_sync(int what, int stream, int64_t ns);

/* Have this thread's next call be made by this function of the driver. */
FK_EXPORT void fk_as(int driver);

/* Have this thread's next call of the driver take ns of its own, after it has
 * waited, in which it loads so many modules. */
FK_EXPORT void fk_own_time(uint64_t ns, int modules);
FK_EXPORT int fk_memset_stream(int stream, uint64_t bytes, uint64_t ns);
FK_EXPORT int fk_memcpy_batch(int stream, int count, uint64_t bytes,
                              uint64_t ns);
FK_EXPORT int fk_primary_reset(void);
FK_EXPORT uint64_t fk_malloc(uint64_t bytes);
FK_EXPORT void fk_allocator(const char *library); /* of all allocations */
FK_EXPORT uint64_t fk_malloc_at(uint64_t address, uint64_t bytes, int kind,
                                uint64_t pool);
FK_EXPORT int fk_free(uint64_t address);
FK_EXPORT int fk_managed_migration(int direction, uint64_t bytes, uint64_t ns);
FK_EXPORT int fk_profiler_start(void);
FK_EXPORT int fk_profiler_stop(void);
FK_EXPORT int fk_call(int domain, int cbid);
FK_EXPORT int fk_call_result(int domain, int cbid, int result);

FK_EXPORT int fk_graph_capture_begin(int stream);
FK_EXPORT int fk_graph_end(int stream); /* the graph; 0: none */
FK_EXPORT int fk_graph_instantiate(int graph);
FK_EXPORT int fk_graph_launch(int exec, int stream);
FK_EXPORT int fk_graph_of_children(int child, int times); /* 0: failed */
FK_EXPORT int fk_graph_destroy(int graph);
FK_EXPORT int fk_graph_update(int exec, int graph);
FK_EXPORT int fk_graph_launch_by_device(int exec, int launcher, int stream);

/* The beginning of a call of a trace or, with domain 0, the end of the call
 * that began last on its line. */
typedef struct {
    uint64_t time; /* ns on CLOCK_MONOTONIC */
    uint32_t next; /* step of the same line; 0: none */
    uint32_t domain, cbid, correlation;
    uint32_t context;        /* id of the context that is made current */
    uint32_t records, count; /* the first that the call has, and how many */
} fk_step;

/* A record of a trace: its fields are those of fk_work. */
typedef struct {
    uint64_t start, end, bytes;
    const char *name;
    uint32_t kind, correlation, device, context, stream;
    int32_t grid[3], block[3];
    uint32_t dynamic_smem, registers;
    uint32_t copy_kind, source, target, peer;
} fk_traced;

FK_EXPORT void fk_replay_context(int device, uint32_t id, int is_first);
FK_EXPORT void fk_replay(const fk_step *all, const fk_traced *records,
                         int threads);
FK_EXPORT void fk_replay_pass(void);
FK_EXPORT void fk_replay_records(uint32_t first, uint32_t count);
FK_EXPORT int fk_replay_line(uint32_t first);

FK_EXPORT void fk_at(uint64_t start);
FK_EXPORT void fk_on_wait(void (*waiter)(uint64_t ns));
FK_EXPORT void fk_wait_really(int on);
FK_EXPORT void fk_api_cost(uint64_t ns);
FK_EXPORT uint64_t fk_clock(void);
FK_EXPORT uint64_t fk_idle_ns(int device);
FK_EXPORT int fk_cuinit_calls(void);
FK_EXPORT int fk_synchronize_calls(void);

#endif
