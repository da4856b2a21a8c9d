/* The declarations of CUPTI that lineprof uses, so that no CUPTI header is
 * needed to build.
 *
 * Of each record the first fields are declared: those have not moved from CUDA
 * 11.7 to 13.5, while sizes have changed, so no code may copy or traverse
 * records by size.  Single fields that later releases added are in structs of
 * their own, to be read only if the version has them.  No number was ever
 * reassigned either; a library that is older than a number returns an error
 * for it.
 *
 * The names after "is" are NVIDIA's: `make check-cupti` compares.
 */
#ifndef LP_GPU_CUPTI_ABI_H
#define LP_GPU_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

/* CUptiResult */
enum {
    LP_CUPTI_OK = 0,
    LP_CUPTI_MAX_LIMIT_REACHED = 12,
    LP_CUPTI_INVALID_PARAMETER = 1,
    LP_CUPTI_NOT_COMPATIBLE = 14,
    LP_CUPTI_NOT_INITIALIZED = 15,
    LP_CUPTI_NOT_SUPPORTED = 27,
    /* no counters of managed memory: on this platform, this device, devices
     * without access to each other, with the multi-process service */
    LP_CUPTI_UVM_NOT_SUPPORTED = 28,
    LP_CUPTI_UVM_NOT_ON_DEVICE = 29,
    LP_CUPTI_UVM_NOT_ON_NON_P2P = 30,
    LP_CUPTI_UVM_NOT_WITH_MPS = 31,
    LP_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39
};

/* Results of cuptiGetVersion: of the first releases that have a field. */
enum {
    LP_RELEASE_12_6 = 24,
    LP_RELEASE_13_0 = 130000,
    LP_RELEASE_13_4 = 130400
};

/* CUpti_CallbackDomain and CUpti_ApiCallbackSite */
enum {
    LP_CUPTI_DOMAIN_DRIVER_API = 1,
    LP_CUPTI_DOMAIN_RUNTIME_API = 2,
    LP_CUPTI_DOMAIN_RESOURCE = 3,
    LP_CUPTI_DOMAIN_STATE = 6,
    LP_CUPTI_API_ENTER = 0,
    LP_CUPTI_API_EXIT = 1
};

/* CUpti_CallbackIdResource */
enum {
    LP_CUPTI_RESOURCE_CONTEXT_CREATED = 1,
    LP_CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING = 2,
    LP_CUPTI_RESOURCE_CU_INIT_FINISHED = 5,
    LP_CUPTI_RESOURCE_MODULE_LOADED = 6,
    LP_CUPTI_RESOURCE_GRAPHNODE_CREATED = 13,
    LP_CUPTI_RESOURCE_GRAPHNODE_CLONED = 20
};

/* CUpti_CallbackIdState */
enum { LP_CUPTI_STATE_FATAL_ERROR = 1, LP_CUPTI_STATE_ERROR = 2 };

/* CUpti_ActivityKind */
enum {
    LP_CUPTI_MEMCPY = 1,
    LP_CUPTI_MEMSET = 2,
    LP_CUPTI_KERNEL = 3,
    LP_CUPTI_DRIVER = 4,
    LP_CUPTI_RUNTIME = 5,
    LP_CUPTI_CONCURRENT_KERNEL = 10,
    LP_CUPTI_MEMCPY2 = 22,
    LP_CUPTI_UNIFIED_MEMORY_COUNTER = 25,
    LP_CUPTI_MEMORY2 = 49,
    LP_CUPTI_GRAPH_TRACE = 51,
    LP_CUPTI_DEVICE_GRAPH_TRACE = 53
};

/* CUpti_ActivityAttribute: since 12.3; 13.2; 13.3; 13.4.  Without a comment,
 * of type uint8_t. */
enum {
    LP_CUPTI_ATTR_PER_THREAD_BUFFERS = 9,
    LP_CUPTI_ATTR_HES = 13, /* one for all tools */
    LP_CUPTI_ATTR_MEMORY_SOURCE = 14,
    LP_CUPTI_ATTR_DEVICE_GRAPHS = 19,
    LP_CUPTI_ATTR_WHOLE_GRAPHS = 20, /* one for all tools */
    LP_CUPTI_ATTR_THREAD_IDS = 21,   /* CUpti_ActivityThreadIdType */
    LP_CUPTI_ATTR_CLOCK = 22         /* CUpti_TimestampCallbackFunc */
};

/* CUpti_ActivityMemoryKind, CUpti_ActivityMemoryOperationType,
 * CUpti_ActivityUnifiedMemoryCounterKind and -Scope,
 * CUpti_ActivityThreadIdType */
enum {
    LP_CUPTI_MEMORY_PAGEABLE = 1,
    LP_CUPTI_MEMORY_ALLOCATION = 1,
    LP_CUPTI_MEMORY_RELEASE = 2,
    LP_CUPTI_UVM_BYTES_HTOD = 1,
    LP_CUPTI_UVM_BYTES_DTOH = 2,
    LP_CUPTI_UVM_BYTES_DTOD = 8,
    LP_CUPTI_UVM_ALL_DEVICES = 2,
    LP_CUPTI_THREAD_ID_SYSTEM = 1
};

/* CUpti_ActivityFlag */
enum { LP_CUPTI_FLUSH_FORCED = 1 };

/* is CUpti_ActivityKernel7 (CUDA 11.7) and its successors */
typedef struct lp_cupti_kernel {
    uint32_t kind;
    uint8_t cache_config, shared_memory_config;
    uint16_t registers;
    uint32_t partitioned[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_smem, dynamic_smem;
    uint32_t local_memory[2];
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t attributes[8];
    uint64_t graph_node;
    uint8_t more[4];
    uint32_t graph;
} lp_cupti_kernel;

/* is CUpti_ActivityKernel10, since 13.0, and its successors */
typedef struct lp_cupti_kernel_launcher {
    uint8_t before[208];
    uint8_t by_device; /* 1: a graph that the device launched */
} lp_cupti_kernel_launcher;

/* is CUpti_ActivityKernel13, since 13.4 */
typedef struct lp_cupti_kernel_source {
    uint8_t before[240];
    uint64_t source_node;
} lp_cupti_kernel_source;

/* is CUpti_ActivityMemcpy5 and its successors */
typedef struct lp_cupti_memcpy {
    uint32_t kind;
    uint8_t copy_kind, source, target, flags;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint32_t runtime_correlation;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
} lp_cupti_memcpy;

/* is CUpti_ActivityMemcpy6, since 13.0, and its successor */
typedef struct lp_cupti_memcpy_launcher {
    uint8_t before[84];
    uint8_t by_device;
} lp_cupti_memcpy_launcher;

/* is CUpti_ActivityMemcpy7, since 13.4 */
typedef struct lp_cupti_memcpy_source {
    uint8_t before[104];
    uint64_t source_node;
} lp_cupti_memcpy_source;

/* is CUpti_ActivityMemcpyPtoP4 */
typedef struct lp_cupti_peer {
    uint32_t kind;
    uint8_t copy_kind, source, target, flags;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context;
    uint32_t target_device, target_context;
    uint32_t correlation;
    void *reserved;
    uint64_t graph_node;
} lp_cupti_peer;

/* is CUpti_ActivityMemset4 and its successors */
typedef struct lp_cupti_memset {
    uint32_t kind;
    uint32_t value;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags, memory;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
} lp_cupti_memset;

/* is CUpti_ActivityMemset4, since 13.0, and its successor */
typedef struct lp_cupti_memset_launcher {
    uint8_t before[84];
    uint8_t by_device;
} lp_cupti_memset_launcher;

/* is CUpti_ActivityMemset5, since 13.4 */
typedef struct lp_cupti_memset_source {
    uint8_t before[96];
    uint64_t source_node;
} lp_cupti_memset_source;

/* is CUpti_ActivityAPI */
typedef struct lp_cupti_api {
    uint32_t kind;
    uint32_t call;
    uint64_t start, end;
    uint32_t process, thread;
    uint32_t correlation;
    uint32_t status;
} lp_cupti_api;

/* is CUpti_ActivityGraphTrace and its successor */
typedef struct lp_cupti_graph {
    uint32_t kind;
    uint32_t correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
} lp_cupti_graph;

/* is CUpti_ActivityDeviceGraphTrace, since 12.8 */
typedef struct lp_cupti_device_graph {
    uint32_t kind;
    uint32_t device;
    uint64_t start, end;
    uint32_t graph, launcher; /* ids of the graph, and of that which launched
                                 it */
    uint32_t mode;
    uint32_t context;
    uint64_t stream;
} lp_cupti_device_graph;

/* is CUpti_ActivityUnifiedMemoryCounter2 and its successor */
typedef struct lp_cupti_uvm {
    uint32_t kind;
    uint32_t counter;
    uint64_t value;
    uint64_t start, end;
    uint64_t address;
    uint32_t source, target;
} lp_cupti_uvm;

/* is CUpti_ActivityMemory3 and its successor */
typedef struct lp_cupti_memory {
    uint32_t kind;
    uint32_t operation;
    uint32_t memory;
    uint32_t correlation;
    uint64_t address;
    uint64_t bytes;
    uint64_t time;
    uint64_t counter;
    uint32_t process;
    uint32_t device, context, stream;
    const char *name;
    uint32_t asynchronous;
    uint32_t pad;
    uint32_t pool_type; /* 0: it is from no pool */
} lp_cupti_memory;

/* is CUpti_ActivityMemory4, since 12.6 */
typedef struct lp_cupti_memory_source {
    uint8_t before[120];
    const char *source; /* path of the library that allocates */
} lp_cupti_memory_source;

/* is CUpti_CallbackData */
typedef struct lp_cupti_call {
    uint32_t site;
    const char *function;
    const void *parameters;
    void *result; /* of the call, at its exit */
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *scratch; /* for the subscriber, from enter to exit */
    uint32_t correlation;
} lp_cupti_call;

/* is CUpti_ResourceData */
typedef struct lp_cupti_resource {
    void *context;
    void *handle;
    void *descriptor;
} lp_cupti_resource;

/* is CUpti_StateData, since 12.2 */
typedef struct lp_cupti_state_data {
    int result;
    const char *message;
} lp_cupti_state_data;

/* is CUpti_GraphData */
typedef struct lp_cupti_graph_node {
    void *graph, *original_graph;
    void *node, *original;
} lp_cupti_graph_node;

/* is CUpti_ActivityUnifiedMemoryCounterConfig */
typedef struct lp_cupti_uvm_config {
    uint32_t scope;
    uint32_t kind;
    uint32_t device;
    uint32_t enable;
} lp_cupti_uvm_config;

/* is CUpti_SubscriberParams, since 13.0, where it ends before `several`; later
 * fields are left out by `size` */
typedef struct lp_cupti_subscription {
    size_t size;
    const char *name; /* of the new subscriber */
    char *holder;     /* gets the name of the present one, if there is one */
    size_t holder_size;
    uint8_t several; /* allow several subscribers; since 13.2 */
    uint8_t more[7];
} lp_cupti_subscription;

#define LP_AT(type, field, offset)                                            \
    _Static_assert(offsetof(type, field) == (offset), #type "." #field)
LP_AT(lp_cupti_kernel, correlation, 92);
LP_AT(lp_cupti_kernel, name, 104);
LP_AT(lp_cupti_kernel, graph_node, 144);
LP_AT(lp_cupti_kernel, graph, 156);
LP_AT(lp_cupti_memcpy, correlation, 44);
LP_AT(lp_cupti_memcpy, graph_node, 64);
LP_AT(lp_cupti_peer, correlation, 60);
LP_AT(lp_cupti_peer, graph_node, 72);
LP_AT(lp_cupti_memset, correlation, 44);
LP_AT(lp_cupti_memset, graph_node, 64);
LP_AT(lp_cupti_memset_source, source_node, 96);
LP_AT(lp_cupti_device_graph, launcher, 28);
LP_AT(lp_cupti_memory, device, 52);
LP_AT(lp_cupti_subscription, several, 32);
LP_AT(lp_cupti_memory, pool_type, 80);
LP_AT(lp_cupti_call, scratch, 56);
LP_AT(lp_cupti_call, correlation, 64);
#undef LP_AT

#endif
