#include "gpu/activity.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/backend.h"

bool
lp_activity_init(lp_activity *activity, lp_call_paths *paths, size_t events)
{
    *activity = (lp_activity){.paths = paths};
    if (!lp_correlation_init(&activity->correlations)) {
        return false;
    }
    if (!lp_wait_log_init(&activity->waits, events)) {
        lp_correlation_free(&activity->correlations);
        return false;
    }
    if (!lp_load_times_init(&activity->loads) ||
        !lp_free_calls_init(&activity->frees, paths, &activity->waits,
                            &activity->loads)) {
        lp_load_times_free(&activity->loads);
        lp_wait_log_free(&activity->waits);
        lp_correlation_free(&activity->correlations);
        return false;
    }
    pthread_mutex_init(&activity->lock, NULL);
    lp_graph_nodes_init(&activity->graph_nodes);
    lp_graph_nodes_init(&activity->graphs);
    lp_sums_init(&activity->sums);
    lp_string_table_init(&activity->strings);
    lp_event_timeline_init(&activity->timeline, events);
    lp_device_memory_init(&activity->memory);
    return true;
}

void
lp_activity_free(lp_activity *activity)
{
    for (int i = 0; i < LP_DEVICES; i++) {
        lp_busy_time_free(&activity->busy[i]);
    }
    lp_device_memory_free(&activity->memory);
    lp_event_timeline_free(&activity->timeline);
    lp_string_table_free(&activity->strings);
    lp_sums_free(&activity->sums);
    lp_graph_nodes_free(&activity->graphs);
    lp_graph_nodes_free(&activity->graph_nodes);
    lp_free_calls_free(&activity->frees);
    lp_load_times_free(&activity->loads);
    lp_wait_log_free(&activity->waits);
    lp_correlation_free(&activity->correlations);
    pthread_mutex_destroy(&activity->lock);
}

void
lp_activity_add_copy_wait(lp_activity *activity, uint64_t correlation,
                          lp_ticks ticks)
{
    lp_correlation_entry entry =
        lp_correlation_returned(&activity->correlations, correlation, ticks);

    if (entry.wait_ticks != 0 && !(entry.flags & LP_CORRELATION_IGNORED)) {
        lp_call_paths_add_wait(activity->paths, entry.path, entry.wait_ticks);
    }
}

/* Traits of each kind of record. */
typedef struct kind_traits {
    bool on_device;  /* keeps a device busy */
    bool is_instant; /* takes no time */
} kind_traits;

static const kind_traits traits_of[] = {
    [LP_KERNEL] = {.on_device = true},
    [LP_MEMCPY] = {.on_device = true},
    [LP_MEMSET] = {.on_device = true},
    [LP_GRAPH] = {.on_device = true},
    [LP_RUNTIME_CALL] = {0},
    [LP_DRIVER_CALL] = {0},
    [LP_MIGRATION] = {0},
    [LP_ALLOC] = {.is_instant = true},
    [LP_FREE] = {.is_instant = true},
};

static void
add_event(lp_activity *activity, const lp_record *record,
          const lp_sum_key *key, lp_ticks launched)
{
    lp_event_timeline *timeline = &activity->timeline;
    lp_event event = {
        .start = record->start,
        .ns = record->end - record->start,
        .bytes = record->bytes,
        .thread = record->thread,
        .launched = launched,
        .name = key->name,
        .path = key->path,
        .origin = key->origin,
        .device = record->device,
        .context = record->context,
        .stream = record->stream,
        .correlation = (uint32_t)record->correlation,
        .kind = (uint8_t)record->kind,
        .memory = record->memory,
    };

    if (record->kind == LP_KERNEL && timeline->n < timeline->max) {
        event.launch = lp_event_timeline_launch(timeline, &record->launch);
    }
    lp_event_timeline_add(timeline, &event);
}

enum {
    MIN_UNJOINED = 10,     /* fewer records prove nothing */
    ENOUGH_UNJOINED = 1000 /* so many are judged without waiting for a flush */
};

bool
lp_activity_join_fails(lp_activity *activity)
{
    if (activity->join == LP_JOIN_UNPROVED &&
        activity->unjoined >= MIN_UNJOINED &&
        lp_correlation_outstanding(&activity->correlations) >=
            activity->unjoined) {
        activity->join = LP_JOIN_FAILS;
    }
    return activity->join == LP_JOIN_FAILS;
}

/* A record of work has come whose id has these flags: one of a call proves
 * that the ids are right, for good. */
static void
check_join(lp_activity *activity, uint32_t flags)
{
    bool known = flags != 0 && (!(flags & LP_CORRELATION_RUNTIME) ||
                                (flags & LP_CORRELATION_EXPECTED));

    if (!known) {
        activity->unjoined++;
        activity->lineless += flags == 0;
        if (activity->unjoined % ENOUGH_UNJOINED == 0) {
            lp_activity_join_fails(activity);
        }
    }
    else if (activity->join == LP_JOIN_FAILS) {
        activity->joined++;
    }
    else {
        activity->join = LP_JOIN_WORKS;
    }
}

/* Return the path that captured a graph node.  A graph that is updated keeps
 * its nodes, and only their sources change. */
LP_NOINLINE static uint32_t
origin_of(lp_activity *activity, const lp_record *record)
{
    uint32_t path = LP_NO_PATH;

    if (record->source_node == 0 ||
        !lp_graph_nodes_find(&activity->graph_nodes, record->source_node,
                             &path)) {
        lp_graph_nodes_find(&activity->graph_nodes, record->node, &path);
    }
    return path;
}

void
lp_activity_launch_graph(lp_activity *activity, uint32_t graph, uint32_t path)
{
    uint32_t known;

    if (!lp_graph_nodes_find(&activity->graphs, graph, &known)) {
        lp_graph_nodes_insert(&activity->graphs, graph, path);
    }
    else if (known != path && known != LP_NO_PATH) {
        lp_graph_nodes_insert(&activity->graphs, graph, LP_NO_PATH);
    }
}

/* Calls that free wait for this work, whether it is collected or not. */
LP_NOINLINE static void
add_to_frees(lp_activity *activity, const lp_record *record, lp_ticks launched)
{
    lp_free_work work = {.launched = launched,
                         .start = record->start,
                         .end = record->end,
                         .context = record->context,
                         .device = record->device};

    if (!record->unfinished && record->undated == 0) {
        lp_free_calls_add(&activity->frees, &work);
    }
}

/* Add an allocation, or what is freed, to the memory of devices. */
LP_NOINLINE static void
add_memory(lp_activity *activity, const lp_record *record, uint32_t path)
{
    lp_memory_event event = {
        .time = record->undated > 0 ? 0 : record->start,
        .number = record->correlation,
        .address = record->address,
        .bytes = record->bytes,
        .path = path,
        .device = record->device,
        .memory = record->pooled ? LP_MEMORY_OF_POOL : record->memory & 15,
        .frees = record->kind == LP_FREE,
    };

    lp_device_memory_add(&activity->memory, &event);
}

/* Return the path that launched the graph which launched this work; `other` if
 * that is not known.  (Not inline, as others here: a local whose address is
 * taken costs every record 15 ns.) */
LP_NOINLINE static uint32_t
path_of_launcher(lp_activity *activity, const lp_record *record,
                 uint32_t other)
{
    uint32_t path;

    return lp_graph_nodes_find(&activity->graphs, record->launcher, &path)
               ? path
               : other;
}

void
lp_activity_add_record(lp_activity *activity, const lp_record *record)
{
    const kind_traits traits = traits_of[record->kind];
    lp_correlation_entry entry = {0};
    lp_sum_key key = {
        .kind = (uint16_t)record->kind,
        .device = record->device,
        .name = record->name_number,
    };

    if (record->correlation != 0) {
        entry = lp_correlation_matched(
            &activity->correlations, record->correlation,
            (traits.on_device ? LP_CORRELATION_MATCHED : 0) |
                (record->blocking ? LP_CORRELATION_BLOCKED : 0));
    }
    if (LP_UNLIKELY(record->by_device && entry.flags == 0)) {
        entry.path = path_of_launcher(activity, record, entry.path);
    }
    else if (traits.on_device) {
        activity->unknown = entry.flags == 0 ? activity->unknown + 1 : 0;
        if (LP_UNLIKELY(activity->join != LP_JOIN_WORKS)) {
            check_join(activity, entry.flags);
        }
    }
    if (traits.on_device) {
        if (lp_free_calls_follow(&activity->frees, entry.launched)) {
            add_to_frees(activity, record, entry.launched);
        }
    }
    if (record->kind == LP_FREE) { /* also while collection is off */
        add_memory(activity, record, entry.path);
    }
    if (record->correlation == 0 &&
        __atomic_load_n(&activity->paused, __ATOMIC_RELAXED)) {
        return; /* no call determines whether it is wanted: paused now */
    }
    if (entry.flags & LP_CORRELATION_IGNORED ||
        (record->kind == LP_DRIVER_CALL &&
         entry.flags & LP_CORRELATION_RUNTIME)) {
        return; /* collection was off; or the runtime has its own record of the
                   call */
    }
    if (entry.wait_ticks != 0) {
        lp_call_paths_add_wait(activity->paths, entry.path, entry.wait_ticks);
    }
    if (LP_UNLIKELY(record->unfinished && traits.on_device)) {
        activity->unfinished++;
        return;
    }
    /* A time of 0 means "not collected". */
    if (record->end < record->start ||
        (record->start == 0 && !traits.is_instant)) {
        activity->invalid++;
        return;
    }
    key.path = entry.path;
    if (record->name != NULL) {
        key.name = lp_string_table_intern(&activity->strings, record->name);
    }
    if (LP_UNLIKELY(record->node != 0)) {
        key.origin = origin_of(activity, record);
    }
    lp_sums_add(&activity->sums, &key, record->end - record->start,
                record->bytes);
    if (record->kind == LP_ALLOC) {
        add_memory(activity, record, key.path);
    }
    if (traits.on_device && record->device < LP_DEVICES) {
        lp_busy_time_add(&activity->busy[record->device], record->start,
                         record->end);
    }
    activity->realigned += record->realigned;
    if (LP_UNLIKELY(record->undated > 0)) {
        activity->undated++;
    }
    else {
        add_event(activity, record, &key,
                  traits.on_device ? entry.launched : 0);
    }
}

/* Names by CUpti_ActivityMemcpyKind, as in nvprof. */
static const char *const directions[] = {
    "?",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
    "AtoD", "DtoA", "DtoD", "HtoH", "PtoP",
};

enum {
    DIRECTIONS = sizeof(directions) / sizeof(directions[0]),
    CALLS = 4096 /* of one domain */
};

/* Make room for `n` names. */
static bool
reserve(lp_names *names, uint32_t n)
{
    const char **strings;

    if (n <= names->capacity) {
        return true;
    }
    strings = realloc(names->strings, n * 2 * sizeof(char *));
    if (strings == NULL) {
        return false;
    }
    names->strings = strings;
    names->capacity = n * 2;
    return true;
}

static bool
copy_names(lp_names *names, const lp_string_table *strings)
{
    uint32_t n = strings->n > 0 ? strings->n : 1;

    if (!reserve(names, n + DIRECTIONS)) {
        return false;
    }
    names->strings[0] = "";
    for (uint32_t i = 1; i < n; i++) {
        names->strings[i] = strings->strings[i];
    }
    names->directions = n;
    memcpy(names->strings + n, directions, sizeof(directions));
    names->n = n + DIRECTIONS;
    return true;
}

static bool
copy_sums(lp_activity_snapshot *copy, const lp_sums *sums)
{
    copy->sums = malloc((sums->n + 1) * sizeof(lp_sum));
    if (copy->sums == NULL) {
        return false;
    }
    if (sums->n > 0) {
        memcpy(copy->sums, sums->sums, sums->n * sizeof(lp_sum));
    }
    copy->n_sums = sums->n;
    return true;
}

static void
copy_devices(lp_activity_snapshot *copy, const lp_activity *activity)
{
    for (size_t i = 0; i < copy->n_sums; i++) {
        const lp_sum_key *key = &copy->sums[i].key;
        bool call =
            key->kind == LP_RUNTIME_CALL || key->kind == LP_DRIVER_CALL;

        if (!call && key->device < LP_DEVICES) {
            copy->active[key->device] = true;
        }
    }
    for (int i = 0; i < LP_DEVICES; i++) {
        copy->busy[i] = lp_busy_time_total(&activity->busy[i]);
        copy->inexact[i] = activity->busy[i].inexact;
    }
}

bool
lp_activity_snapshot_take(lp_activity_snapshot *copy, lp_activity *activity)
{
    uint64_t unjoined;
    bool done;

    *copy = (lp_activity_snapshot){0};
    pthread_mutex_lock(&activity->lock);
    lp_free_calls_settle(&activity->frees);
    unjoined = activity->join == LP_JOIN_FAILS ? activity->unjoined : 0;
    done = copy_sums(copy, &activity->sums) &&
           copy_names(&copy->names, &activity->strings) &&
           lp_device_memory_copy(&copy->memory, &activity->memory);
    if (done) {
        copy_devices(copy, activity);
        copy->n_events = activity->timeline.n;
        copy->n_launches = activity->timeline.n_launches;
        copy->left_out = activity->timeline.left_out;
        copy->cut = activity->timeline.cut;
        copy->invalid = activity->invalid + activity->sums.lost;
        copy->realigned = activity->realigned;
        copy->undated = activity->undated;
        copy->unfinished = activity->unfinished;
    }
    pthread_mutex_unlock(&activity->lock);
    lp_device_memory_settle(&copy->memory);
    copy->n_waits = lp_wait_log_entries(&activity->waits);
    copy->n_paths = __atomic_load_n(&activity->paths->n, __ATOMIC_ACQUIRE);
    copy->outstanding = lp_correlation_outstanding(&activity->correlations);
    /* Each record that belongs to no call is the one that some call seems to
     * lack. */
    copy->outstanding -=
        unjoined < copy->outstanding ? unjoined : copy->outstanding;
    if (!done) {
        lp_activity_snapshot_free(copy);
    }
    return done;
}

void
lp_activity_snapshot_free(lp_activity_snapshot *copy)
{
    lp_device_memory_free(&copy->memory);
    free(copy->sums);
    free(copy->names.strings);
    free(copy->names.calls[0]);
    free(copy->names.calls[1]);
    *copy = (lp_activity_snapshot){0};
}

static uint32_t
name_of_call(lp_names *names, const lp_gpu_backend *backend, uint32_t kind,
             uint32_t call)
{
    uint32_t **table = &names->calls[kind == LP_DRIVER_CALL];
    const char *text;

    if (call >= CALLS) {
        return 0;
    }
    if (*table == NULL) {
        *table = calloc(CALLS, sizeof(uint32_t));
    }
    if (*table == NULL) {
        return 0;
    }
    if ((*table)[call] == 0 && reserve(names, names->n + 1)) {
        text = backend->call_name((lp_activity_kind)kind, call);
        names->strings[names->n] = text != NULL ? text : "?";
        (*table)[call] = names->n++;
    }
    return (*table)[call];
}

uint32_t
lp_names_of(lp_names *names, const lp_gpu_backend *backend, uint32_t kind,
            uint32_t name)
{
    switch (kind) {
    case LP_KERNEL:
    case LP_ALLOC:
        return name;
    case LP_MEMCPY:
    case LP_MIGRATION:
        return names->directions + (name < DIRECTIONS ? name : 0);
    case LP_RUNTIME_CALL:
    case LP_DRIVER_CALL:
        return name_of_call(names, backend, kind, name);
    default:
        return 0;
    }
}
