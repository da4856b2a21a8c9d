/* Interface between the two doubles of NVIDIA's libraries.
 *
 * fake_cuda.so replaces libcuda.so.1 and has a workload that tests call, also
 * without a tool.  fake_cupti.so replaces libcupti: it opens the library that
 * LINEPROF_CUDA names and passes an fk_tool to it.  Numbers are NVIDIA's, with
 * NVIDIA's names in comments; no header of NVIDIA's is needed.
 */
#ifndef FAKE_INTERFACE_H
#define FAKE_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FK_EXPORT __attribute__((visibility("default")))
#define FK_PRINTF __attribute__((format(printf, 1, 2)))

enum {
    FK_DRIVER = 1,   /* CUPTI_CB_DOMAIN_DRIVER_API */
    FK_RUNTIME = 2,  /* CUPTI_CB_DOMAIN_RUNTIME_API */
    FK_RESOURCE = 3, /* CUPTI_CB_DOMAIN_RESOURCE */

    FK_MEMCPY = 1,        /* CUPTI_ACTIVITY_KIND_MEMCPY */
    FK_MEMSET = 2,        /* ..._MEMSET */
    FK_KERNEL = 10,       /* ..._CONCURRENT_KERNEL; 3 is ..._KERNEL */
    FK_PEER_COPY = 22,    /* ..._MEMCPY2 */
    FK_MIGRATION = 25,    /* ..._UNIFIED_MEMORY_COUNTER */
    FK_SYNC = 38,         /* ..._SYNCHRONIZATION */
    FK_MEMORY = 49,       /* ..._MEMORY2 */
    FK_GRAPH = 51,        /* ..._GRAPH_TRACE */
    FK_DEVICE_GRAPH = 53, /* ..._DEVICE_GRAPH_TRACE */

    FK_CLIENTS = 16, /* of CUPTI: subscriptions by _v2, and all others */
    FK_STREAMS = 64, /* of a context */
    FK_FIRST_STREAM = 7,
};

struct fk_graph;
struct fk_client;

typedef struct fk_stream {
    uint32_t id;                /* as in records */
    uint64_t free_at;           /* ns; the end of all queued work */
    _Atomic uint64_t queued;    /* number of the last piece of work */
    _Atomic uint64_t synced;    /* last piece that was waited for */
    struct fk_graph *capturing; /* NULL: not capturing */
} fk_stream;

/* Target of a CUcontext.  Never freed, because tools keep pointers. */
typedef struct fk_context {
    uint32_t device;
    uint32_t uid;
    _Atomic bool alive;
    struct fk_context *next;
    fk_stream streams[FK_STREAMS];
} fk_context;

/* CUpti_GraphData, for resource callbacks. */
typedef struct fk_graph_data {
    const void *graph, *original_graph, *node, *original_node;
    int32_t node_type; /* 0 kernel, 1 copy, 2 memset */
    const void *dependency, *exec;
} fk_graph_data;

/* Target of a CUgraphNode, and the first field of a CUgraph and CUgraphExec.
 */
typedef struct fk_handle {
    uint64_t id;
} fk_handle;

/* One call of an API function, from ENTER to EXIT, on one thread. */
typedef struct fk_api_call {
    struct fk_api_call *outer; /* the runtime's call around a driver's */
    uint32_t domain, cbid;
    uint32_t correlation;
    int32_t result;
    const char *symbol; /* the kernel's name, or NULL */
    fk_context *context;
    bool nested;                  /* it made other calls */
    uint64_t scratch[FK_CLIENTS]; /* the tool's: correlationData of each */
    uint64_t start;               /* the tool's */
    uint64_t parameters[8];
} fk_api_call;

/* One piece of work of a device, or of records that are like work. */
typedef struct fk_work {
    uint32_t kind;
    uint32_t correlation, runtime_correlation;
    uint32_t device, context, stream;
    fk_stream *queue; /* NULL: done when reported */
    uint64_t number;  /* in its queue */
    uint64_t start, end, bytes;
    const char *name; /* of a kernel, or of the library that allocates memory;
                         lives as long as the process */
    int32_t grid[3], block[3];
    uint32_t static_smem, dynamic_smem;
    uint16_t registers;
    uint8_t copy_kind, source, target, asynchronous;
    uint32_t peer;     /* device a copy goes to */
    uint32_t variety;  /* type of wait, of memory operation, of counter */
    uint32_t graph;    /* id; 0: none */
    uint64_t node;     /* id of the node that ran; 0: none */
    uint64_t original; /* id of the node that was captured */
    uint32_t launcher; /* id of the graph that launched this graph */
    bool by_device;    /* the device launched the graph, without a call */
    uint64_t address;
    struct fk_client *client; /* the tool's: who gets the record */
    uint64_t pool;            /* address of a pool of memory, 0: none */
} fk_work;

/* Functions of the tool, called on the thread that makes the CUDA call. */
typedef struct fk_tool {
    uint64_t (*now)(void); /* ns, of the clock of records */
    void (*enter)(fk_api_call *call);
    void (*leave)(fk_api_call *call);
    void (*resource)(uint32_t cbid, fk_context *context,
                     const fk_graph_data *data);
    void (*work)(const fk_work *work);
} fk_tool;

/* Functions of fake_cuda.so. */
FK_EXPORT void fk_attach(const fk_tool *tool); /* borrowed for ever */
FK_EXPORT void fk_shift(int64_t ns);           /* the clock was changed */
FK_EXPORT int fk_driver_version(void);
FK_EXPORT int fk_is_initialized(void); /* by cuInit */
FK_EXPORT int fk_capability(void);     /* of the devices: the major number */
FK_EXPORT int fk_has_context(void);

/* fake_env.c, in both libraries. */
uint64_t fk_env(const char *name, uint64_t otherwise);
int fk_fails(const char *knob, const char *function, int otherwise);
void fk_misuse(const char *format, ...) FK_PRINTF; /* aborts, if strict */
uint64_t fk_true_time(int clock); /* ns; no preloaded clock changes it */

#endif
