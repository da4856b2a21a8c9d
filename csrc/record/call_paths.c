#include "record/call_paths.h"

#include <stdlib.h>

enum { MIN_SLOTS = 1024 };

struct lp_call_path_table {
    lp_call_path_table *smaller; /* owned: the table before, which a thread may
                                    still be reading */
    uint32_t mask;
    uint32_t slots[]; /* numbers of paths (atomic); 0 if free */
};

static uint64_t
hash_of(uint32_t parent, uint32_t serial, uint32_t line)
{
    uint64_t hash = ((uint64_t)serial << 32 | line) * 0x9E3779B97F4A7C15u;

    hash = (hash ^ (hash >> 29) ^ parent) * 0xBF58476D1CE4E5B9u;
    return hash ^ (hash >> 32);
}

static lp_call_path_table *
new_table(uint32_t slots, lp_call_path_table *smaller)
{
    lp_call_path_table *table =
        calloc(1, sizeof(*table) + slots * sizeof(table->slots[0]));

    if (table != NULL) {
        table->mask = slots - 1;
        table->smaller = smaller;
    }
    return table;
}

bool
lp_call_paths_init(lp_call_paths *paths)
{
    *paths = (lp_call_paths){.n = 1};
    pthread_mutex_init(&paths->lock, NULL);
    paths->table = new_table(MIN_SLOTS, NULL);
    paths->chunks[0] = calloc(LP_CALL_PATHS_PER_CHUNK, sizeof(lp_call_path));
    if (paths->table == NULL || paths->chunks[0] == NULL) {
        lp_call_paths_free(paths);
        return false;
    }
    return true;
}

void
lp_call_paths_free(lp_call_paths *paths)
{
    while (paths->table != NULL) {
        lp_call_path_table *smaller = paths->table->smaller;

        free(paths->table);
        paths->table = smaller;
    }
    for (uint32_t i = 0; i < LP_CALL_PATH_CHUNKS; i++) {
        free(paths->chunks[i]);
        paths->chunks[i] = NULL;
    }
    pthread_mutex_destroy(&paths->lock);
}

static lp_call_paths of_process;
static bool is_made;

lp_call_paths *
lp_call_paths_of_process(void)
{
    is_made = is_made || lp_call_paths_init(&of_process);
    return is_made ? &of_process : NULL;
}

void
lp_call_paths_before_fork(void)
{
    if (is_made) {
        pthread_mutex_lock(&of_process.lock);
    }
}

void
lp_call_paths_after_fork(void)
{
    if (is_made) {
        pthread_mutex_unlock(&of_process.lock);
    }
}

/* Return the number of a path, or 0 with its slot in `*slot`. */
static uint32_t
find(const lp_call_paths *paths, const lp_call_path_table *table,
     const lp_call_path *wanted, uint32_t *slot)
{
    uint32_t at =
        (uint32_t)hash_of(wanted->parent, wanted->serial, wanted->line);

    for (;; at++) {
        uint32_t number;

        at &= table->mask;
        number = __atomic_load_n(&table->slots[at], __ATOMIC_ACQUIRE);
        if (number == 0) {
            *slot = at;
            return 0;
        }
        const lp_call_path *path = lp_call_paths_at(paths, number);

        if (path->parent == wanted->parent && path->line == wanted->line &&
            path->serial == wanted->serial) {
            return number;
        }
    }
}

/* Return a table of twice the size; the old one if memory is out. */
static lp_call_path_table *
grow(lp_call_paths *paths)
{
    lp_call_path_table *old = paths->table;
    lp_call_path_table *table = new_table((old->mask + 1) * 2, old);
    uint32_t slot = 0;

    if (table == NULL) {
        return old;
    }
    for (uint32_t number = 1; number < paths->n; number++) {
        find(paths, table, lp_call_paths_at(paths, number), &slot);
        table->slots[slot] = number;
    }
    __atomic_store_n(&paths->table, table, __ATOMIC_RELEASE);
    return table;
}

/* Make room for the path of the next number. */
static bool
reserve(lp_call_paths *paths)
{
    uint32_t chunk = paths->n / LP_CALL_PATHS_PER_CHUNK;

    if (chunk >= LP_CALL_PATH_CHUNKS) {
        return false;
    }
    if (paths->chunks[chunk] == NULL) {
        paths->chunks[chunk] =
            calloc(LP_CALL_PATHS_PER_CHUNK, sizeof(lp_call_path));
    }
    if (paths->chunks[chunk] != NULL && paths->open != NULL &&
        paths->n % LP_CALL_PATHS_PER_CHUNK == 0) {
        paths->rows[chunk] = paths->open(chunk);
    }
    return paths->chunks[chunk] != NULL;
}

/* Copy a path to where copies are. */
static void
copy(const lp_call_paths *paths, uint32_t number)
{
    const lp_call_path *path = lp_call_paths_at(paths, number);
    lp_call_path_row *row = paths->rows[number / LP_CALL_PATHS_PER_CHUNK];

    if (row != NULL) {
        row += number % LP_CALL_PATHS_PER_CHUNK;
        row->serial = path->serial;
        row->line = path->line;
        __atomic_store_n(&row->parent, path->parent + 1, __ATOMIC_RELEASE);
    }
}

void
lp_call_paths_copy_to(lp_call_paths *paths,
                      lp_call_path_row *(*open)(uint32_t chunk))
{
    pthread_mutex_lock(&paths->lock);
    paths->open = open;
    for (uint32_t i = 0; i * LP_CALL_PATHS_PER_CHUNK < paths->n; i++) {
        paths->rows[i] = open == NULL ? NULL : open(i);
    }
    for (uint32_t number = 0; number < paths->n; number++) {
        copy(paths, number);
    }
    pthread_mutex_unlock(&paths->lock);
}

/* Add a path; under the lock. */
static uint32_t
add(lp_call_paths *paths, const lp_call_path *wanted)
{
    lp_call_path_table *table = paths->table;
    uint32_t slot = 0;
    uint32_t number = find(paths, table, wanted, &slot);

    if (number != 0) {
        return number; /* added by another thread in the meantime */
    }
    if (paths->n > table->mask / 2) {
        table = grow(paths);
        find(paths, table, wanted, &slot);
    }
    if (paths->n >= table->mask || !reserve(paths)) {
        paths->lost++;
        return wanted->parent;
    }
    number = paths->n;
    *lp_call_paths_at(paths, number) = *wanted;
    copy(paths, number);
    __atomic_store_n(&paths->n, number + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&table->slots[slot], number, __ATOMIC_RELEASE);
    return number;
}

uint32_t
lp_call_paths_child(lp_call_paths *paths, uint32_t parent, uint32_t serial,
                    uint32_t line)
{
    lp_call_path wanted = {.parent = parent, .serial = serial, .line = line};
    const lp_call_path_table *table =
        __atomic_load_n(&paths->table, __ATOMIC_ACQUIRE);
    uint32_t slot;
    uint32_t number = find(paths, table, &wanted, &slot);

    if (number == 0) {
        pthread_mutex_lock(&paths->lock);
        number = add(paths, &wanted);
        pthread_mutex_unlock(&paths->lock);
    }
    return number;
}

uint32_t
lp_call_paths_root(lp_call_paths *paths, uint32_t thread, bool adopted)
{
    return lp_call_paths_child(paths, LP_NO_PATH, 0, thread * 2 + adopted);
}

void
lp_call_paths_add_wait(lp_call_paths *paths, uint32_t number, uint64_t ticks)
{
    lp_call_paths_extend_wait(paths, number, ticks, ticks);
}

void
lp_call_paths_extend_wait(lp_call_paths *paths, uint32_t number, uint64_t more,
                          uint64_t ticks)
{
    lp_call_path *path = lp_call_paths_at(paths, number);
    uint64_t max = __atomic_load_n(&path->max_wait_ticks, __ATOMIC_RELAXED);

    __atomic_fetch_add(&path->waits, more == ticks, __ATOMIC_RELAXED);
    __atomic_fetch_add(&path->wait_ticks, more, __ATOMIC_RELAXED);
    while (ticks > max && !__atomic_compare_exchange_n(
                              &path->max_wait_ticks, &max, ticks, true,
                              __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}
