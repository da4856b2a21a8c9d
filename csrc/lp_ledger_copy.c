#include "lp_ledger_copy.h"

#include <stdlib.h>
#include <string.h>

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
