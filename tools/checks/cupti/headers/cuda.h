/* Part of CUDA's headers that CUPTI's headers need: handles, which are
 * pointers. */
#ifndef CUDA_STUB_H
#define CUDA_STUB_H

typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef int CUdevice, CUdevice_attribute, CUgraphNodeType, CUstreamAttrID;
typedef struct CUstreamAttrValue_st CUstreamAttrValue;
typedef struct CUaccessPolicyWindow_st CUaccessPolicyWindow;
typedef struct {
    char bytes[16];
} CUuuid;

#endif
