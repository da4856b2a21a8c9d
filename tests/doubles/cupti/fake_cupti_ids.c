/* Ids of contexts, graphs and nodes, and external correlation. */
#include "cupti/fake_cupti.h"

enum { DEPTH = 64, EXTERNAL_KINDS = 8 };

FK_EXPORT int cuptiGetDeviceId(fk_context *context, uint32_t *id);
FK_EXPORT int cuptiGetContextId(fk_context *context, uint32_t *id);
FK_EXPORT int cuptiGetGraphNodeId(const fk_handle *node, uint64_t *id);
FK_EXPORT int cuptiGetGraphId(const fk_handle *graph, uint32_t *id);
FK_EXPORT int cuptiGetGraphExecId(const fk_handle *exec, uint32_t *id);
FK_EXPORT int cuptiActivityPushExternalCorrelationId(uint32_t kind,
                                                     uint64_t id);
FK_EXPORT int cuptiActivityPopExternalCorrelationId(uint32_t kind,
                                                    uint64_t *last);

static _Thread_local struct {
    uint64_t ids[DEPTH];
    size_t count;
} pushed[EXTERNAL_KINDS];

int
cuptiGetDeviceId(fk_context *context, uint32_t *id)
{
    int result = fk_check_driver("cuptiGetDeviceId");
    if (!result && !context) {
        result = CUPTI_ERROR_INVALID_CONTEXT;
    }
    if (!result) {
        *id = context->device;
    }
    return result;
}

int
cuptiGetContextId(fk_context *context, uint32_t *id)
{
    int result = fk_check_driver("cuptiGetContextId");
    if (!result && !context) {
        result = CUPTI_ERROR_INVALID_CONTEXT;
    }
    if (!result) {
        *id = context->uid;
    }
    return result;
}

int
cuptiGetGraphNodeId(const fk_handle *node, uint64_t *id)
{
    int result = fk_check_driver("cuptiGetGraphNodeId");
    if (!result && !node) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        *id = node->id;
    }
    return result;
}

int
cuptiGetGraphId(const fk_handle *graph, uint32_t *id)
{
    int result = fk_check_driver("cuptiGetGraphId");
    if (!result && !graph) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        *id = (uint32_t)graph->id;
    }
    return result;
}

int
cuptiGetGraphExecId(const fk_handle *exec, uint32_t *id)
{
    int result = fk_check_driver("cuptiGetGraphExecId");
    if (!result && !exec) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result) {
        *id = (uint32_t)exec->id;
    }
    return result;
}

/* The stacks are kept, but EXTERNAL_CORRELATION records are not made. */
int
cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id)
{
    int result = fk_check_driver("cuptiActivityPushExternalCorrelationId");
    if (!result && (!kind || kind >= EXTERNAL_KINDS)) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result && pushed[kind].count < DEPTH) {
        pushed[kind].ids[pushed[kind].count++] = id;
    }
    return result;
}

int
cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last)
{
    int result = fk_check_driver("cuptiActivityPopExternalCorrelationId");
    if (!result && (!kind || kind >= EXTERNAL_KINDS)) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!result && !pushed[kind].count) {
        result = CUPTI_ERROR_QUEUE_EMPTY;
    }
    if (!result) {
        pushed[kind].count--;
        if (last) {
            *last = pushed[kind].ids[pushed[kind].count];
        }
    }
    return result;
}
