/* Call paths: equal ones are one path, none ever moves, and threads agree on
 * them. */
#include "record/call_paths.h"

#include <stdlib.h>

#include "check.h"
#include "random.h"

enum { MOST = LP_CALL_PATHS_PER_CHUNK * LP_CALL_PATH_CHUNKS };

static void
number_0_is_no_path(void)
{
    lp_call_paths paths;

    CHECK(lp_call_paths_init(&paths));
    CHECK(paths.n == 1);
    CHECK(lp_call_paths_at(&paths, LP_NO_PATH)->parent == 0);
    CHECK(lp_call_paths_at(&paths, LP_NO_PATH)->serial == 0);
    lp_call_paths_free(&paths);
}

static void
equal_paths_are_one(void)
{
    lp_call_paths paths;
    uint32_t root, path, inner;

    lp_call_paths_init(&paths);
    root = lp_call_paths_root(&paths, 0, false);
    path = lp_call_paths_child(&paths, root, 7, 12);
    inner = lp_call_paths_child(&paths, path, 7, 12); /* a recursive call */
    CHECK(root != LP_NO_PATH && path != root && inner != path);
    CHECK(lp_call_paths_root(&paths, 0, false) == root);
    CHECK(lp_call_paths_child(&paths, root, 7, 12) == path);
    CHECK(lp_call_paths_child(&paths, path, 7, 12) == inner);
    CHECK(paths.n == 4);
    lp_call_paths_free(&paths);
}

static void
paths_differ_by_parent_code_and_line(void)
{
    lp_call_paths paths;
    uint32_t root, path;

    lp_call_paths_init(&paths);
    root = lp_call_paths_root(&paths, 3, false);
    path = lp_call_paths_child(&paths, root, 7, 12);
    CHECK(lp_call_paths_child(&paths, root, 8, 12) != path);
    CHECK(lp_call_paths_child(&paths, root, 7, 13) != path);
    CHECK(lp_call_paths_child(&paths, lp_call_paths_root(&paths, 4, false), 7,
                              12) != path);
    CHECK(lp_call_paths_at(&paths, path)->parent == root);
    CHECK(lp_call_paths_at(&paths, path)->serial == 7);
    CHECK(lp_call_paths_at(&paths, path)->line == 12);
    lp_call_paths_free(&paths);
}

static void
roots_have_the_thread_and_whether_it_is_adopted(void)
{
    lp_call_paths paths;
    uint32_t not_adopted, adopted;

    lp_call_paths_init(&paths);
    not_adopted = lp_call_paths_root(&paths, 5, false);
    adopted = lp_call_paths_root(&paths, 5, true);
    CHECK(not_adopted != adopted);
    CHECK(lp_call_paths_at(&paths, not_adopted)->line == 10);
    CHECK(lp_call_paths_at(&paths, adopted)->line == 11);
    CHECK(lp_call_paths_at(&paths, not_adopted)->serial == 0);
    CHECK(lp_call_paths_at(&paths, not_adopted)->parent == LP_NO_PATH);
    /* Different from the entry of number 0, which has the same fields. */
    CHECK(lp_call_paths_root(&paths, 0, false) != LP_NO_PATH);
    CHECK(lp_call_paths_child(&paths, not_adopted, 1, 1) !=
          lp_call_paths_child(&paths, adopted, 1, 1));
    lp_call_paths_free(&paths);
}

static void
waits_add_up(void)
{
    lp_call_paths paths;
    lp_call_path *path;

    lp_call_paths_init(&paths);
    path = lp_call_paths_at(&paths, lp_call_paths_root(&paths, 0, false));
    CHECK(path->waits == 0 && path->wait_ticks == 0 &&
          path->max_wait_ticks == 0);
    lp_call_paths_add_wait(&paths, 1, 5);
    lp_call_paths_add_wait(&paths, 1, 9);
    lp_call_paths_add_wait(&paths, 1, 0);
    CHECK(path->waits == 3 && path->wait_ticks == 14 &&
          path->max_wait_ticks == 9);
    CHECK(lp_call_paths_at(&paths, LP_NO_PATH)->waits == 0);
    lp_call_paths_add_wait(&paths, LP_NO_PATH, 2); /* on no profiled line */
    CHECK(lp_call_paths_at(&paths, LP_NO_PATH)->wait_ticks == 2);
    lp_call_paths_free(&paths);
}

static void
a_full_table_returns_the_parent(void)
{
    lp_call_paths paths;
    uint32_t root, path = LP_NO_PATH;
    const lp_call_path *early;

    lp_call_paths_init(&paths);
    root = lp_call_paths_root(&paths, 0, false);
    early = lp_call_paths_at(&paths, lp_call_paths_child(&paths, root, 1, 0));
    for (uint32_t line = 1; paths.n < MOST; line++) {
        path = lp_call_paths_child(&paths, root, 1, line);
        if (path != line + 2) {
            CHECK(path == line + 2);
            break;
        }
    }
    CHECK(paths.lost == 0);
    CHECK(lp_call_paths_child(&paths, root, 2, 1) == root);
    CHECK(lp_call_paths_child(&paths, path, 2, 1) == path);
    CHECK(lp_call_paths_root(&paths, 9, false) == LP_NO_PATH);
    CHECK(paths.lost == 3 && paths.n == MOST);
    /* Existing paths are still found, at the same place. */
    CHECK(lp_call_paths_at(&paths, lp_call_paths_child(&paths, root, 1, 0)) ==
          early);
    CHECK(lp_call_paths_child(&paths, root, 1, 500000) == 500002);
    CHECK(lp_call_paths_root(&paths, 0, false) == root);
    lp_call_paths_free(&paths);
}

/* -- threads ---------------------------------------------------------------
 */

enum { THREADS = 4, LINES = 100, DEPTH = 300 };

static lp_call_paths shared;
static uint32_t found[THREADS][LINES][DEPTH];

/* Looks up all paths of LINES recursive lines, in a different order per
 * thread. */
static void *
ask_for_all(void *arg)
{
    uint32_t me = *(uint32_t *)arg;
    uint64_t chance = me;

    for (uint32_t i = 0; i < LINES; i++) {
        uint32_t line = (i * 37 + me * 25) % LINES;
        uint32_t path = lp_call_paths_root(&shared, 0, false);

        for (uint32_t depth = 0; depth < DEPTH; depth++) {
            const lp_call_path *is;
            uint32_t parent = path;

            path = lp_call_paths_child(&shared, path, depth + 1, line);
            is = lp_call_paths_at(&shared, path);
            if (is->parent != parent || is->serial != depth + 1 ||
                is->line != line) {
                CHECK(!"it is another path");
            }
            found[me][line][depth] = path;
            if (random_below(&chance, 8) == 0) {
                lp_call_paths_add_wait(&shared, 1, depth);
            }
        }
    }
    return NULL;
}

/* Reads each path below the published number; number 1 is the root. */
static void *
read_all(void *arg)
{
    uint32_t n = 0;

    (void)arg;
    while (n < 2 + LINES * DEPTH) {
        n = __atomic_load_n(&shared.n, __ATOMIC_ACQUIRE);
        for (uint32_t i = n > 102 ? n - 100 : 2; i < n; i++) {
            if (lp_call_paths_at(&shared, i)->serial == 0 ||
                lp_call_paths_at(&shared, i)->parent >= i) {
                CHECK(!"it is whole");
            }
        }
    }
    return NULL;
}

static void
threads_agree(void)
{
    pthread_t threads[THREADS], reader;
    uint32_t numbers[THREADS];

    lp_call_paths_init(&shared);
    lp_call_paths_root(&shared, 0, false);
    pthread_create(&reader, NULL, read_all, NULL);
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, ask_for_all, &numbers[i]);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_join(reader, NULL);
    CHECK(shared.n == 2 + LINES * DEPTH && shared.lost == 0);
    for (uint32_t i = 0; i < LINES * DEPTH; i++) {
        uint32_t line = i / DEPTH, depth = i % DEPTH;

        for (uint32_t k = 1; k < THREADS; k++) {
            CHECK(found[k][line][depth] == found[0][line][depth]);
        }
    }
    CHECK(lp_call_paths_at(&shared, 1)->max_wait_ticks == DEPTH - 1);
    lp_call_paths_free(&shared);
}

int
main(void)
{
    number_0_is_no_path();
    equal_paths_are_one();
    paths_differ_by_parent_code_and_line();
    roots_have_the_thread_and_whether_it_is_adopted();
    waits_add_up();
    a_full_table_returns_the_parent();
    threads_agree();
    return check_failures;
}
