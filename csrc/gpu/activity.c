#include "gpu/activity.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/backend.h"

bool
lp_ledger_init(lp_ledger *ledger, size_t events)
{
    *ledger = (lp_ledger){0};
    if (!lp_paths_init(&ledger->paths)) {
        return false;
    }
    if (!lp_corr_init(&ledger->corr)) {
        lp_paths_free(&ledger->paths);
        return false;
    }
    pthread_mutex_init(&ledger->lock, NULL);
    lp_origins_init(&ledger->origins);
    lp_sums_init(&ledger->sums);
    lp_texts_init(&ledger->texts);
    lp_timeline_init(&ledger->timeline, events);
    return true;
}

void
lp_ledger_free(lp_ledger *ledger)
{
    for (int i = 0; i < LP_DEVICES; i++) {
        lp_busy_free(&ledger->busy[i]);
    }
    lp_timeline_free(&ledger->timeline);
    lp_texts_free(&ledger->texts);
    lp_sums_free(&ledger->sums);
    lp_origins_free(&ledger->origins);
    lp_corr_free(&ledger->corr);
    lp_paths_free(&ledger->paths);
    pthread_mutex_destroy(&ledger->lock);
}

void
lp_ledger_held(lp_ledger *ledger, uint64_t correlation, lp_ticks ticks)
{
    lp_corr_entry entry = lp_corr_hold(&ledger->corr, correlation, ticks);

    if (entry.held != 0 && !(entry.flags & LP_CORR_IGNORED)) {
        lp_paths_waited(&ledger->paths, entry.path, entry.held);
    }
}

/* What each kind of record is. */
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
enter_event(lp_ledger *ledger, const lp_record *record, const lp_sum_key *key)
{
    lp_timeline *timeline = &ledger->timeline;
    lp_event event = {
        .start = record->start,
        .ns = record->end - record->start,
        .bytes = record->bytes,
        .thread = record->thread,
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

    if (record->kind == LP_KERNEL && timeline->n < timeline->most) {
        event.launch = lp_timeline_launch(timeline, &record->launch);
    }
    lp_timeline_add(timeline, &event);
}

void
lp_ledger_enter(lp_ledger *ledger, const lp_record *record)
{
    const kind_traits traits = traits_of[record->kind];
    lp_corr_entry entry = {0};
    lp_sum_key key = {
        .kind = (uint16_t)record->kind,
        .device = record->device,
        .name = record->what,
    };

    if (record->correlation != 0) {
        entry = lp_corr_seen(&ledger->corr, record->correlation,
                             (traits.on_device ? LP_CORR_SEEN : 0) |
                                 (record->blocking ? LP_CORR_BLOCKED : 0));
    }
    else if (__atomic_load_n(&ledger->paused, __ATOMIC_RELAXED)) {
        return; /* no call to say whether it was wanted: it is not now */
    }
    if (entry.flags & LP_CORR_IGNORED ||
        (record->kind == LP_DRIVER_CALL && entry.flags & LP_CORR_RUNTIME)) {
        return; /* nobody asked; or the runtime's own record tells of it */
    }
    if (entry.held != 0) {
        lp_paths_waited(&ledger->paths, entry.path, entry.held);
    }
    /* 0 stands for "not collected". */
    if (record->end < record->start ||
        (record->start == 0 && !traits.is_instant)) {
        ledger->invalid++;
        return;
    }
    key.path = entry.path;
    if (record->name != NULL) {
        key.name = lp_texts_number(&ledger->texts, record->name);
    }
    if (LP_UNLIKELY(record->node != 0)) {
        key.origin = lp_origins_get(&ledger->origins, record->node);
    }
    lp_sums_add(&ledger->sums, &key, record->end - record->start,
                record->bytes);
    if (traits.on_device && record->device < LP_DEVICES) {
        lp_busy_add(&ledger->busy[record->device], record->start, record->end);
    }
    enter_event(ledger, record, &key);
}

/* By CUpti_ActivityMemcpyKind, as nvprof writes them. */
static const char *const directions[] = {
    "?",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
    "AtoD", "DtoA", "DtoD", "HtoH", "PtoP",
};

enum {
    DIRECTIONS = sizeof(directions) / sizeof(directions[0]),
    CALLS = 4096 /* of one domain */
};

/* Room for `n` names. */
static bool
reserve(lp_names *names, uint32_t n)
{
    const char **texts;

    if (n <= names->room) {
        return true;
    }
    texts = realloc(names->texts, n * 2 * sizeof(char *));
    if (texts == NULL) {
        return false;
    }
    names->texts = texts;
    names->room = n * 2;
    return true;
}

static bool
copy_names(lp_names *names, const lp_texts *texts)
{
    uint32_t n = texts->n > 0 ? texts->n : 1;

    if (!reserve(names, n + DIRECTIONS)) {
        return false;
    }
    names->texts[0] = "";
    for (uint32_t i = 1; i < n; i++) {
        names->texts[i] = texts->texts[i];
    }
    names->directions = n;
    memcpy(names->texts + n, directions, sizeof(directions));
    names->n = n + DIRECTIONS;
    return true;
}

static bool
copy_sums(lp_ledger_copy *copy, const lp_sums *sums)
{
    size_t slots = sums->sums == NULL ? 0 : (size_t)sums->mask + 1;

    copy->sums = malloc((sums->n + 1) * sizeof(lp_sum));
    if (copy->sums == NULL) {
        return false;
    }
    for (size_t i = 0; i < slots; i++) {
        if (sums->sums[i].key.kind != 0) {
            copy->sums[copy->n_sums++] = sums->sums[i];
        }
    }
    return true;
}

static void
copy_devices(lp_ledger_copy *copy, const lp_ledger *ledger)
{
    for (size_t i = 0; i < copy->n_sums; i++) {
        const lp_sum_key *key = &copy->sums[i].key;
        bool call =
            key->kind == LP_RUNTIME_CALL || key->kind == LP_DRIVER_CALL;

        if (!call && key->device < LP_DEVICES) {
            copy->seen[key->device] = true;
        }
    }
    for (int i = 0; i < LP_DEVICES; i++) {
        copy->busy[i] = lp_busy_total(&ledger->busy[i]);
        copy->inexact[i] = ledger->busy[i].inexact;
    }
}

bool
lp_ledger_copy_take(lp_ledger_copy *copy, lp_ledger *ledger)
{
    bool done;

    *copy = (lp_ledger_copy){0};
    pthread_mutex_lock(&ledger->lock);
    done = copy_sums(copy, &ledger->sums) &&
           copy_names(&copy->names, &ledger->texts);
    if (done) {
        copy_devices(copy, ledger);
        copy->n_events = ledger->timeline.n;
        copy->n_launches = ledger->timeline.n_launches;
        copy->left_out = ledger->timeline.left_out;
        copy->invalid = ledger->invalid + ledger->sums.lost;
    }
    pthread_mutex_unlock(&ledger->lock);
    copy->n_paths = __atomic_load_n(&ledger->paths.n, __ATOMIC_ACQUIRE);
    copy->outstanding = lp_corr_outstanding(&ledger->corr);
    if (!done) {
        lp_ledger_copy_free(copy);
    }
    return done;
}

void
lp_ledger_copy_free(lp_ledger_copy *copy)
{
    free(copy->sums);
    free(copy->names.texts);
    free(copy->names.calls[0]);
    free(copy->names.calls[1]);
    *copy = (lp_ledger_copy){0};
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
        text = backend->call_name((lp_kind)kind, call);
        names->texts[names->n] = text != NULL ? text : "?";
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
