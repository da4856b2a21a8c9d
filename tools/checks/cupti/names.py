"""Names in csrc/gpu/cupti_abi.h and lists of calls, and NVIDIA's names."""

from __future__ import annotations

# Our fields in all structs, and NVIDIA's; "" is padding.
COMMON = {
    "kind": "kind",
    "start": "start",
    "end": "end",
    "bytes": "bytes",
    "flags": "flags",
    "value": "value",
    "context": "contextId",
    "device": "deviceId",
    "stream": "streamId",
    "correlation": "correlationId",
    "graph_node": "graphNodeId",
    "pad": "",
    "before": "",
    "reserved": "",
}
FIELDS: dict[str, dict[str, str]] = {
    "lp_cupti_kernel": {
        "registers": "registersPerThread",
        "completed": "completed",
        **{f"grid[{n}]": f"grid{axis}" for n, axis in enumerate("XYZ")},
        **{f"block[{n}]": f"block{axis}" for n, axis in enumerate("XYZ")},
        "static_smem": "staticSharedMemory",
        "dynamic_smem": "dynamicSharedMemory",
        "local_memory[0]": "localMemoryPerThread",
        "local_memory[1]": "localMemoryTotal",
        "grid_id": "gridId",
        "name": "name",
        "queued": "queued",
        "submitted": "submitted",
        "graph": "graphId",
        "cache_config": "",
        "shared_memory_config": "",
        "partitioned": "",
        "attributes": "",
        "more": "",
    },
    "lp_cupti_kernel_launcher": {"by_device": "isDeviceLaunched"},
    "lp_cupti_kernel_source": {"source_node": "sourceGraphNodeId"},
    "lp_cupti_memcpy_launcher": {"by_device": "isDeviceLaunched"},
    "lp_cupti_memcpy_source": {"source_node": "sourceGraphNodeId"},
    "lp_cupti_memset_launcher": {"by_device": "isDeviceLaunched"},
    "lp_cupti_memset_source": {"source_node": "sourceGraphNodeId"},
    "lp_cupti_memcpy": {
        "copy_kind": "copyKind",
        "source": "srcKind",
        "target": "dstKind",
        "runtime_correlation": "runtimeCorrelationId",
    },
    "lp_cupti_peer": {
        "copy_kind": "copyKind",
        "source": "srcKind",
        "target": "dstKind",
        "source_device": "srcDeviceId",
        "source_context": "srcContextId",
        "target_device": "dstDeviceId",
        "target_context": "dstContextId",
    },
    "lp_cupti_memset": {"memory": "memoryKind"},
    "lp_cupti_api": {
        "call": "cbid",
        "process": "processId",
        "thread": "threadId",
        "status": "returnValue",
    },
    "lp_cupti_graph": {"graph": "graphId"},
    "lp_cupti_device_graph": {
        "graph": "graphId",
        "launcher": "launcherGraphId",
        "mode": "deviceLaunchMode",
    },
    "lp_cupti_memory_source": {"source": "source"},
    "lp_cupti_state_data": {
        "result": "notification.result",
        "message": "notification.message",
    },
    "lp_cupti_uvm": {
        "counter": "counterKind",
        "address": "address",
        "source": "srcId",
        "target": "dstId",
    },
    "lp_cupti_memory": {
        "operation": "memoryOperationType",
        "memory": "memoryKind",
        "address": "address",
        "time": "timestamp",
        "counter": "PC",
        "process": "processId",
        "name": "name",
        "asynchronous": "isAsync",
        "pool_type": "memoryPoolConfig.memoryPoolType",
    },
    "lp_cupti_call": {
        "site": "callbackSite",
        "function": "functionName",
        "parameters": "functionParams",
        "result": "functionReturnValue",
        "symbol": "symbolName",
        "context": "context",
        "context_id": "contextUid",
        "scratch": "correlationData",
    },
    "lp_cupti_resource": {
        "context": "context",
        "handle": "resourceHandle",
        "descriptor": "resourceDescriptor",
    },
    "lp_cupti_graph_node": {
        "graph": "graph",
        "original_graph": "originalGraph",
        "node": "node",
        "original": "originalNode",
    },
    "lp_cupti_uvm_config": {"scope": "scope", "enable": "enable"},
    "lp_cupti_subscription": {
        "size": "structSize",
        "name": "subscriberName",
        "holder": "oldSubscriberName",
        "holder_size": "oldSubscriberSize",
        "several": "allowMultipleSubscribers",
        "more": "",
    },
}
SINCE = {  # structs and fields that older headers lack
    "lp_cupti_subscription": (13, 0),
    "lp_cupti_subscription.several": (13, 2),
    "lp_cupti_kernel_launcher": (13, 0),
    "lp_cupti_kernel_source": (13, 4),
    "lp_cupti_memcpy_launcher": (13, 0),
    "lp_cupti_memcpy_source": (13, 4),
    "lp_cupti_memset_launcher": (13, 0),
    "lp_cupti_memset_source": (13, 4),
    "lp_cupti_device_graph": (12, 8),
    "lp_cupti_memory_source": (12, 6),
    "lp_cupti_state_data": (12, 2),
}

# Our enumerators, and NVIDIA's.
KIND, RESOURCE = "CUPTI_ACTIVITY_KIND_", "CUPTI_CBID_RESOURCE_"
UVM = "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_"
UVM_REFUSED = "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED"
MEMORY = "CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_"
VALUES = {
    "LP_CUPTI_OK": "CUPTI_SUCCESS",
    "LP_CUPTI_MAX_LIMIT_REACHED": "CUPTI_ERROR_MAX_LIMIT_REACHED",
    "LP_CUPTI_UVM_NOT_SUPPORTED": UVM_REFUSED,
    "LP_CUPTI_UVM_NOT_ON_DEVICE": f"{UVM_REFUSED}_ON_DEVICE",
    "LP_CUPTI_UVM_NOT_ON_NON_P2P": f"{UVM_REFUSED}_ON_NON_P2P_DEVICES",
    "LP_CUPTI_UVM_NOT_WITH_MPS": f"{UVM_REFUSED}_WITH_MPS",
    "LP_CUPTI_INVALID_PARAMETER": "CUPTI_ERROR_INVALID_PARAMETER",
    "LP_CUPTI_NOT_COMPATIBLE": "CUPTI_ERROR_NOT_COMPATIBLE",
    "LP_CUPTI_NOT_SUPPORTED": "CUPTI_ERROR_NOT_SUPPORTED",
    "LP_CUPTI_NOT_INITIALIZED": "CUPTI_ERROR_NOT_INITIALIZED",
    "LP_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED": (
        "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
    ),
    "LP_CUPTI_DOMAIN_DRIVER_API": "CUPTI_CB_DOMAIN_DRIVER_API",
    "LP_CUPTI_DOMAIN_RUNTIME_API": "CUPTI_CB_DOMAIN_RUNTIME_API",
    "LP_CUPTI_DOMAIN_RESOURCE": "CUPTI_CB_DOMAIN_RESOURCE",
    "LP_CUPTI_DOMAIN_STATE": "CUPTI_CB_DOMAIN_STATE",
    "LP_CUPTI_STATE_FATAL_ERROR": "CUPTI_CBID_STATE_FATAL_ERROR",
    "LP_CUPTI_STATE_ERROR": "CUPTI_CBID_STATE_ERROR",
    "LP_CUPTI_API_ENTER": "CUPTI_API_ENTER",
    "LP_CUPTI_API_EXIT": "CUPTI_API_EXIT",
    "LP_CUPTI_RESOURCE_CONTEXT_CREATED": f"{RESOURCE}CONTEXT_CREATED",
    "LP_CUPTI_RESOURCE_CU_INIT_FINISHED": f"{RESOURCE}CU_INIT_FINISHED",
    "LP_CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING": f"{RESOURCE}CONTEXT_DESTROY_STARTING",
    "LP_CUPTI_RESOURCE_MODULE_LOADED": f"{RESOURCE}MODULE_LOADED",
    "LP_CUPTI_RESOURCE_GRAPHNODE_CREATED": f"{RESOURCE}GRAPHNODE_CREATED",
    "LP_CUPTI_RESOURCE_GRAPHNODE_CLONED": f"{RESOURCE}GRAPHNODE_CLONED",
    "LP_CUPTI_MEMCPY": f"{KIND}MEMCPY",
    "LP_CUPTI_MEMSET": f"{KIND}MEMSET",
    "LP_CUPTI_KERNEL": f"{KIND}KERNEL",
    "LP_CUPTI_DRIVER": f"{KIND}DRIVER",
    "LP_CUPTI_RUNTIME": f"{KIND}RUNTIME",
    "LP_CUPTI_CONCURRENT_KERNEL": f"{KIND}CONCURRENT_KERNEL",
    "LP_CUPTI_MEMCPY2": f"{KIND}MEMCPY2",
    "LP_CUPTI_UNIFIED_MEMORY_COUNTER": f"{KIND}UNIFIED_MEMORY_COUNTER",
    "LP_CUPTI_MEMORY2": f"{KIND}MEMORY2",
    "LP_CUPTI_GRAPH_TRACE": f"{KIND}GRAPH_TRACE",
    "LP_CUPTI_DEVICE_GRAPH_TRACE": f"{KIND}DEVICE_GRAPH_TRACE",
    "LP_CUPTI_ATTR_PER_THREAD_BUFFERS": (
        "CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER"
    ),
    "LP_CUPTI_ATTR_HES": "CUPTI_ACTIVITY_ATTR_ENABLE_HES",
    "LP_CUPTI_ATTR_MEMORY_SOURCE": (
        "CUPTI_ACTIVITY_ATTR_ENABLE_ALLOCATION_SOURCE_TRACKING"
    ),
    "LP_CUPTI_ATTR_DEVICE_GRAPHS": "CUPTI_ACTIVITY_ATTR_ENABLE_DEVICE_GRAPH_TRACE",
    "LP_CUPTI_ATTR_WHOLE_GRAPHS": (
        "CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE"
    ),
    "LP_CUPTI_ATTR_THREAD_IDS": "CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE",
    "LP_CUPTI_ATTR_CLOCK": "CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK",
    "LP_CUPTI_MEMORY_PAGEABLE": "CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE",
    "LP_CUPTI_MEMORY_ALLOCATION": f"{MEMORY}ALLOCATION",
    "LP_CUPTI_MEMORY_RELEASE": f"{MEMORY}RELEASE",
    "LP_CUPTI_UVM_BYTES_HTOD": f"{UVM}KIND_BYTES_TRANSFER_HTOD",
    "LP_CUPTI_UVM_BYTES_DTOH": f"{UVM}KIND_BYTES_TRANSFER_DTOH",
    "LP_CUPTI_UVM_BYTES_DTOD": f"{UVM}KIND_BYTES_TRANSFER_DTOD",
    "LP_CUPTI_UVM_ALL_DEVICES": f"{UVM}SCOPE_PROCESS_ALL_DEVICES",
    "LP_CUPTI_FLUSH_FORCED": "CUPTI_ACTIVITY_FLAG_FLUSH_FORCED",
    "LP_CUPTI_THREAD_ID_SYSTEM": "CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM",
}

# Lists of driver calls, each with a pattern: exactly the calls whose names match it
# are in the list. Suffixes such as _v2 and _ptsz are left out.
_COPY = "cuMemcpy(?:[HDA]to[HDA]|2D|2DUnaligned|3D|Peer|3DPeer)?"
CALLS = {
    "launches": (
        r"cuLaunch(?:Grid|GridAsync|Kernel|KernelEx|CooperativeKernel)?"
        r"|cuLaunchCooperativeKernelMultiDevice"
    ),
    "graph_launches": "cuGraphLaunch",
    "memsets": r"cuMemset(?:2?D)?.*",
    "copies": _COPY,
    "async_copies": rf"{_COPY}(?:Batch|WithAttributes)?Async",
    "host_copies": "cuMemcpy(?:Hto[DA]|[DA]toH)(?:Async)?",
    "of_context": "cuCtxDestroy",
    "of_device": "cuDevicePrimaryCtx(?:Release|Reset)",
    "may_launch": (
        "cuMem(?:Prefetch|PrefetchBatch|DiscardAndPrefetchBatch|BatchDecompress)Async"
    ),
    "syncs": "cu(?:Ctx|Event|Stream)Synchronize",
    "frees": (
        "cuMem(?:Free|FreeHost|HostUnregister)|cu(?:|Mipmapped)ArrayDestroy"
        "|cu(?:Module|Library)Unload|cuCtxDestroy|cuDevicePrimaryCtx(?:Release|Reset)"
    ),
    "loads": (
        "cuCtxCreate|cuDevicePrimaryCtxRetain|cuModuleLoad(?:Data|DataEx|FatBinary)?"
        "|cuLibraryLoad(?:Data|FromFile)|cu(?:Module|Kernel)GetFunction"
        "|cuLibraryGetModule|cuFuncLoad"
    ),
    "allocations": (
        "cuMem(?:Alloc|AllocPitch|AllocHost|HostAlloc|AllocManaged)"
        "|cuMem(?:AllocAsync|FreeAsync|AllocFromPoolAsync)"
    ),
    "many": (
        "cuLaunchCooperativeKernelMultiDevice|cuGraphLaunch|cuMemcpy(?:3D)?BatchAsync"
    ),
    "starts": "cuProfilerStart",
    "stops": "cuProfilerStop",
    # Calls with CIG are for graphics, and 783 was another call up to 13.0.
    "captures": "cuStreamBegin(?:Capture|Recapture)(?:To(?!Cig).*)?",
    "captured": "cuStreamEndCapture(?:To(?!Cig).*)?",
    "driver_queries": (
        "cuCtxGet(?:Current|Device)|cuPointerGetAttribute"
        "|cuStream(?:IsCapturing|GetCaptureInfo)"
    ),
    "runtime_queries": (
        "cudaGet(?:Device|LastError)|cudaPeekAtLastError"
        "|cudaStream(?:IsCapturing|GetCaptureInfo)"
    ),
}
RUNTIME_CALLS = ("runtime_queries",)  # the others are calls of the driver

# Lists of copies and memsets, each with the names of the parameters that are at its
# place and behind it; and the types of their other parameters.
_BYTES = ("ByteCount|N|size",)
SIZES = {
    "bytes_2": _BYTES,
    "bytes_3": _BYTES,
    "bytes_4": _BYTES,
    "area_3": ("Width", "Height"),
}
PARAMETERS = (
    "typedef unsigned long long CUdeviceptr; typedef struct CUarray_st *CUarray;"
    " typedef struct CUmemcpyAttributes_st CUmemcpyAttributes;"
)
ENDS = r"(?:_v\d)?(?:_ptsz|_ptds)?(?:_v\d+)?"

# Words in the names of driver calls that may concern us: each call with one of them
# is in a list above, or here, with the reason why it is in none.
CONCERNS = (
    "Launch|Memcpy|Memset|Synchronize|[Cc]apture|Decompress|Prefetch"
    "|Free|Unload|Batch|Copy"
)
UNDECLARED = ("cuBinaryFree", "cuGraphLaunchWithArguments", "cuSubgridScheduleLaunch")
NOT_OURS = {
    r"cuGraph\w*Nodes?\w*": "describes a node; its work comes with a launch",
    "cuLaunchHostFunc": "runs on the host",
    "cuStreamBatchMemOp": "writes and waits for single words, without a record",
    "cuStream(?:GetCaptureInfo|IsCapturing|UpdateCaptureDependencies)": (
        "neither begins nor ends a capture"
    ),
    "cuThreadExchangeStreamCaptureMode": "neither begins nor ends a capture",
    "cuStream(?:BeginCapture|EndCapture|CreateForCapture)ToCig": (
        "is for command lists of graphics; 783 changed its meaning in 13.1"
    ),
    "cuStreamCopyAttributes": "copies settings",
    "cuMemAddressFree": "gives up addresses that have no memory any more",
    "cuMemDiscardBatchAsync": "forgets contents, without a record",
    **dict.fromkeys(UNDECLARED, "has an id, and no declaration in cuda.h"),
}

# The names of a device's attributes in reports, and NVIDIA's.
ATTRIBUTES = {
    "threads_per_block": "MAX_THREADS_PER_BLOCK",
    "smem_per_block": "MAX_SHARED_MEMORY_PER_BLOCK",
    "warp_size": "WARP_SIZE",
    "registers_per_block": "MAX_REGISTERS_PER_BLOCK",
    "sms": "MULTIPROCESSOR_COUNT",
    "threads_per_sm": "MAX_THREADS_PER_MULTIPROCESSOR",
    "cc_major": "COMPUTE_CAPABILITY_MAJOR",
    "cc_minor": "COMPUTE_CAPABILITY_MINOR",
    "smem_per_sm": "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    "registers_per_sm": "MAX_REGISTERS_PER_MULTIPROCESSOR",
    "blocks_per_sm": "MAX_BLOCKS_PER_MULTIPROCESSOR",
    "reserved_smem_per_block": "RESERVED_SHARED_MEMORY_PER_BLOCK",
}

# The errors of a capture that has ended, in the order of their numbers.
CAPTURE_ERRORS = ("INVALIDATED", "MERGE", "UNMATCHED", "UNJOINED", "ISOLATION")
