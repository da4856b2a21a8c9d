#include "lp_ledger.h"

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
