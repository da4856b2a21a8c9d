/* CUDA graphs: captured from a stream, instantiated, launched. */
#include "cuda/fake_cuda.h"

#include <stdlib.h>

enum { /* CUPTI_CBID_RESOURCE_* */
       GRAPH_CREATED = 9,
       GRAPH_DESTROY_STARTING = 10,
       GRAPH_NODE_CREATED = 13,
       GRAPH_NODE_DESTROY_STARTING = 14,
       GRAPH_EXEC_CREATED = 18,
       GRAPH_NODE_CLONED = 20,
};

typedef struct node {
    fk_handle handle; /* first: CUPTI reads the id of a CUgraphNode */
    struct node *next;
    struct node *original; /* NULL: captured */
    fk_work work;
    uint64_t ns;
} node;

typedef struct fk_graph {
    fk_handle handle; /* first field, as above */
    struct fk_graph *next;
    struct fk_graph *original; /* NULL: captured, and not instantiated */
    node *nodes;               /* in order */
    node **last;
} fk_graph;

static fk_graph *graphs; /* newest first; under fk_lock */
static uint64_t last_graph, last_node;

static fk_graph *
graph_new(fk_graph *original)
{
    fk_graph *graph = calloc(1, sizeof *graph);
    if (!graph) {
        abort();
    }
    graph->original = original;
    graph->last = &graph->nodes;
    pthread_mutex_lock(&fk_lock);
    graph->handle.id = ++last_graph;
    graph->next = graphs;
    graphs = graph;
    pthread_mutex_unlock(&fk_lock);
    return graph;
}

static fk_graph *
graph_of(int id, bool executable)
{
    pthread_mutex_lock(&fk_lock);
    fk_graph *graph = graphs;
    while (graph && graph->handle.id != (uint64_t)id) {
        graph = graph->next;
    }
    pthread_mutex_unlock(&fk_lock);
    return graph && executable == (graph->original != NULL) ? graph : NULL;
}

static node *
node_new(fk_graph *graph, const fk_work *work, uint64_t ns)
{
    node *made = calloc(1, sizeof *made);
    if (!made) {
        abort();
    }
    made->work = *work;
    made->ns = ns;
    pthread_mutex_lock(&fk_lock);
    made->handle.id = ++last_node;
    *graph->last = made;
    graph->last = &made->next;
    pthread_mutex_unlock(&fk_lock);
    return made;
}

static void
tell_node(uint32_t cbid, fk_context *context, fk_graph *graph, node *which)
{
    fk_graph_data data = {
        .graph = graph,
        .original_graph = graph->original,
        .node = which,
        .original_node = which ? which->original : NULL,
        .node_type = !which                          ? 0
                     : which->work.kind == FK_KERNEL ? 0
                     : which->work.kind == FK_MEMSET ? 2
                                                     : 1,
    };
    fk_resource(cbid, context, &data);
}

/* Add a node for a call on a capturing stream, instead of running work. */
void
fk_graph_add(fk_graph *graph, fk_context *context, const fk_work *work,
             uint64_t ns)
{
    tell_node(GRAPH_NODE_CREATED, context, graph, node_new(graph, work, ns));
}

/* --- called by tests -------------------------------------------------- */

int
fk_graph_capture_begin(int stream)
{
    fk_layers call;
    int result = fk_enter(&call, 315 /* cudaStreamBeginCapture */,
                          539 /* cuStreamBeginCapture_v2 */, NULL);
    if (!result) {
        fk_graph *graph = graph_new(NULL);
        pthread_mutex_lock(&fk_lock);
        fk_stream_of(call.context, stream)->capturing = graph;
        pthread_mutex_unlock(&fk_lock);
        tell_node(GRAPH_CREATED, call.context, graph, NULL);
    }
    return fk_leave(&call, result);
}

int
fk_graph_end(int stream)
{
    fk_layers call;
    fk_graph *graph = NULL;
    int result = fk_enter(&call, 319 /* cudaStreamEndCapture */,
                          497 /* cuStreamEndCapture */, NULL);
    if (!result) {
        fk_stream *queue = fk_stream_of(call.context, stream);
        pthread_mutex_lock(&fk_lock);
        graph = queue->capturing;
        queue->capturing = NULL;
        pthread_mutex_unlock(&fk_lock);
        result = graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    fk_leave(&call, result);
    return graph ? (int)graph->handle.id : 0;
}

/* Return a graph with the nodes of a captured graph, so many times. */
int
fk_graph_of_children(int child, int times)
{
    fk_layers call;
    fk_graph *made = NULL;
    int result = fk_enter(&call, 0, 525 /* cuGraphAddChildGraphNode */, NULL);
    fk_graph *original = graph_of(child, false);
    if (!result && original) {
        made = graph_new(NULL);
        tell_node(GRAPH_CREATED, call.context, made, NULL);
        for (int i = 0; i < times; i++) {
            for (node *one = original->nodes; one; one = one->next) {
                node *clone = node_new(made, &one->work, one->ns);
                clone->original = one;
                tell_node(GRAPH_NODE_CLONED, call.context, made, clone);
            }
        }
    }
    fk_leave(&call, result);
    return made ? (int)made->handle.id : 0;
}

/* Return a number for fk_graph_launch(), 0 on failure. */
int
fk_graph_instantiate(int graph)
{
    fk_layers call;
    fk_graph *made = NULL;
    int result = fk_enter(&call, 443 /* cudaGraphInstantiate_v12000 */,
                          643 /* cuGraphInstantiateWithFlags */, NULL);
    fk_graph *original = graph_of(graph, false);
    if (!result && !original) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (!result) {
        made = graph_new(original);
        for (node *one = original->nodes; one; one = one->next) {
            node *clone = node_new(made, &one->work, one->ns);
            clone->original = one;
            clone->work.node = clone->handle.id;
            clone->work.original = one->handle.id;
            clone->work.graph = (uint32_t)made->handle.id;
            tell_node(GRAPH_NODE_CLONED, call.context, made, clone);
        }
        tell_node(GRAPH_EXEC_CREATED, call.context, made, NULL);
    }
    fk_leave(&call, result);
    return made ? (int)made->handle.id : 0;
}

/* Run the nodes of a graph in sequence on a stream; `whole` is its record. */
static void
run(fk_graph *graph, fk_context *context, fk_stream *queue, fk_work whole)
{
    whole.graph = (uint32_t)graph->handle.id;
    whole.device = context->device;
    whole.context = context->uid;
    whole.stream = queue->id;
    whole.queue = queue;
    fk_correlate(&whole);
    for (node *one = graph->nodes; one; one = one->next) {
        fk_work work = one->work;
        work.by_device = whole.by_device;
        fk_queue(context, queue, &work, one->ns);
        whole.start = whole.start ? whole.start : work.start;
        whole.end = work.end;
        whole.number = work.number;
        fk_at(one->next ? work.end : 0); /* no gap between nodes */
    }
    if (graph->nodes) {
        fk_tell(&whole);
    }
}

int
fk_graph_launch(int exec, int stream)
{
    fk_layers call;
    fk_graph *graph = graph_of(exec, true);
    fk_pass_first((uintptr_t)graph);
    int result = fk_enter(&call, 311 /* cudaGraphLaunch */,
                          514 /* cuGraphLaunch */, NULL);
    if (!result && !graph) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (!result) {
        fk_work whole = {.kind = FK_GRAPH};
        run(graph, call.context, fk_stream_of(call.context, stream), whole);
    }
    return fk_leave(&call, result);
}

/* Run a graph as if another one, which runs on the device, launched it. */
int
fk_graph_launch_by_device(int exec, int launcher, int stream)
{
    fk_graph *graph = graph_of(exec, true);
    fk_context *context = fk_current();
    if (!graph || !context) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    fk_work whole = {.kind = FK_DEVICE_GRAPH,
                     .by_device = true,
                     .launcher = (uint32_t)launcher};
    run(graph, context, fk_stream_of(context, stream), whole);
    return CUDA_SUCCESS;
}

/* Have an instantiated graph do the work of another graph, which has as many
 * nodes: its own nodes stay, and no tool is told of any. */
int
fk_graph_update(int exec, int updated)
{
    fk_layers call;
    int result = fk_enter(&call, 0, 696 /* cuGraphExecUpdate_v2 */, NULL);
    fk_graph *graph = graph_of(exec, true), *from = graph_of(updated, false);
    if (!result && (!graph || !from)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    node *source = result ? NULL : from->nodes;
    for (node *one = result ? NULL : graph->nodes; one && source;
         one = one->next, source = source->next) {
        fk_work before = one->work;
        one->original = source;
        one->ns = source->ns;
        one->work = source->work;
        one->work.node = before.node;
        one->work.graph = before.graph;
        one->work.original = source->handle.id;
    }
    return fk_leave(&call, result);
}

/* Destroy a graph or an instantiated graph. */
int
fk_graph_destroy(int id)
{
    fk_layers call;
    int result = fk_enter(&call, 313 /* cudaGraphExecDestroy */,
                          516 /* cuGraphExecDestroy */, NULL);
    fk_graph *graph = graph_of(id, true);
    graph = graph ? graph : graph_of(id, false);
    if (!result && !graph) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (!result) {
        for (node *one = graph->nodes; one; one = one->next) {
            tell_node(GRAPH_NODE_DESTROY_STARTING, call.context, graph, one);
        }
        tell_node(GRAPH_DESTROY_STARTING, call.context, graph, NULL);
        pthread_mutex_lock(&fk_lock);
        graph->handle.id = 0; /* not found again; the memory is never freed */
        pthread_mutex_unlock(&fk_lock);
    }
    return fk_leave(&call, result);
}
