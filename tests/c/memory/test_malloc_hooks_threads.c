/* Threads that allocate, map and fork while the hooks go on and off.
 * Arguments: the double memory/allocating.c, and another copy of it. */
#include "memory/malloc_hooks.h"

#include <link.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "check.h"
#include "memory/allocating.h"
#include "memory/heap_double.h"
#include "memory/symbol_patches.h"

enum { THREADS = 3, ROUNDS = 200 };

static allocating al;
static const char *other_path;
static bool done;

static bool
is_done(void)
{
    return __atomic_load_n(&done, __ATOMIC_RELAXED);
}

static void *
allocate(void *arg)
{
    while (!is_done()) {
        al.churn(20, 100);
    }
    return arg;
}

static void *
map(void *arg)
{
    while (!is_done()) {
        al.churn_maps(20, 4096);
    }
    return arg;
}

static void *
map_often(void *arg)
{
    for (size_t i = 0; i < ROUNDS; i++) {
        al.churn_maps(20, 4096);
    }
    return arg;
}

static void *
load(void *arg)
{
    while (!is_done()) {
        void *library = al.open(other_path);

        if (library != NULL) {
            void (*churn)(size_t, size_t) = NULL;

            find_function(library, "al_churn", &churn);
            churn(5, 64);
            dlclose(library);
        }
    }
    return arg;
}

static void
hooks_go_on_and_off_while_threads_allocate(void)
{
    static void *(*const work[])(void *) = {allocate, map, load};
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, work[i], NULL) == 0);
    }
    for (size_t i = 0; i < ROUNDS; i++) {
        heap_reset();
        CHECK(lp_malloc_hooks_on());
        CHECK(lp_patches_count().patched > 0);
        lp_malloc_hooks_off();
    }
    __atomic_store_n(&done, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    heap_reset();
    al.churn(10, 100);
    CHECK(heap.added == 0);
}

static void
threads_on_parts_of_one_mapping_lose_nothing(void)
{
    pthread_t threads[THREADS];

    heap_reset();
    CHECK(lp_malloc_hooks_on());
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, map_often, NULL) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(heap.added > 0);
    CHECK(heap.live == 0);
    lp_malloc_hooks_off();
}

static void
children_work_that_were_forked_amid_mappings(void)
{
    static void *(*const work[])(void *) = {map, map, allocate};
    pthread_t threads[THREADS];

    __atomic_store_n(&done, false, __ATOMIC_RELAXED);
    CHECK(lp_malloc_hooks_on());
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, work[i], NULL) == 0);
    }
    for (size_t i = 0; i < ROUNDS; i++) {
        pid_t child;
        int status;

        pthread_mutex_lock(&heap.lock); /* the double's, not the hooks' */
        child = fork();
        pthread_mutex_unlock(&heap.lock);
        if (child == 0) {
            alarm(20);
            heap_reset();
            al.churn(5, 100);
            al.churn_maps(5, 4096);
            CHECK(heap.added == 10 + 5 && heap.live == 0);
            lp_malloc_hooks_off();
            CHECK(lp_malloc_hooks_on());
            al.churn(5, 100);
            CHECK(heap.added == 20 + 5);
            _exit(check_failures);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    __atomic_store_n(&done, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    lp_malloc_hooks_off();
}

static bool is_reading; /* a thread reads the list of objects (atomic) */

static int
stay(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)info;
    (void)size;
    (void)arg;
    __atomic_store_n(&is_reading, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        usleep(1000);
    }
    return 1;
}

static void *
read_objects(void *arg)
{
    (void)arg;
    dl_iterate_phdr(stay, NULL);
    return NULL;
}

/* The child has the loader's lock, and not the thread that holds it. */
static void
a_child_needs_no_lock_of_the_loader(void)
{
    pthread_t thread;
    pid_t child;
    int status = -1;

    __atomic_store_n(&done, false, __ATOMIC_RELAXED);
    CHECK(lp_malloc_hooks_on());
    CHECK(pthread_create(&thread, NULL, read_objects, NULL) == 0);
    while (!__atomic_load_n(&is_reading, __ATOMIC_ACQUIRE)) {
        usleep(1000);
    }
    child = fork();
    if (child == 0) {
        alarm(20);
        heap_reset();
        CHECK(al.find(NULL, "malloc") != NULL);
        CHECK(lp_malloc_hooks_note(0) == NULL);
        lp_malloc_hooks_off();
        lp_malloc_hooks_off();
        al.churn(5, 100);
        CHECK(heap.added == 0);
        CHECK(lp_malloc_hooks_on());
        al.churn(5, 100);
        CHECK(heap.added == 10);
        lp_malloc_hooks_off();
        _exit(check_failures);
    }
    __atomic_store_n(&done, true, __ATOMIC_RELEASE);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    lp_malloc_hooks_off();
}

int
main(int argc, char **argv)
{
    CHECK(argc == 3);
    al = open_allocating(argv[1]);
    other_path = argv[2];
    hooks_go_on_and_off_while_threads_allocate();
    threads_on_parts_of_one_mapping_lose_nothing();
    children_work_that_were_forked_amid_mappings();
    a_child_needs_no_lock_of_the_loader();
    return check_failures;
}
