/* Arguments: the double memory/allocating.c, bound when it is called and when
 * it is loaded, another copy of it, and the double memory/other_tool.c. */
#include "memory/malloc_hooks.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "check.h"
#include "memory/allocating.h"
#include "memory/heap_double.h"
#include "memory/mappings.h"
#include "memory/symbol_patches.h"

enum { PAGE = 4096, BYTES = 1088 };

static const int USABLE = PROT_READ | PROT_WRITE;
static const int ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS;

static void
blocks_of_all_functions_count_once(const allocating *al)
{
    void *blocks[] = {
        al->malloc(BYTES),
        al->calloc(8, 136),
        al->realloc(NULL, BYTES),
        al->reallocarray(NULL, 8, 136),
        al->posix_memalign(64, BYTES),
        al->aligned_alloc(64, BYTES),
        al->memalign(64, BYTES),
        al->valloc(BYTES),
        al->by_variable(BYTES),
        al->by_constant(BYTES),
        al->by_address(BYTES),
    };
    enum { N = sizeof(blocks) / sizeof(blocks[0]) };

    CHECK(heap.added == N);
    CHECK(heap.live == N * BYTES);
    for (size_t i = 0; i < N; i++) {
        CHECK(heap_bytes(blocks[i]) == BYTES);
        al->free(blocks[i]);
    }
    CHECK(heap.freed == N);
    CHECK(heap.live == 0);
}

static void
a_realloc_moves_a_block_and_may_fail(const allocating *al)
{
    void *block = al->malloc(100);
    void *moved = al->realloc(block, 100000);

    CHECK(heap.moved == 1);
    CHECK(heap_bytes(moved) == 100000);
    CHECK(heap.live == 100000);
    CHECK(al->realloc(moved, SIZE_MAX / 4) == NULL);
    CHECK(heap.moved == 1);
    CHECK(heap_bytes(moved) == 100000);
    CHECK(al->reallocarray(moved, SIZE_MAX / 2, 3) == NULL);
    CHECK(al->reallocarray(moved, (size_t)1 << 32, (size_t)1 << 32) == NULL);
    CHECK(heap_bytes(moved) == 100000);
    CHECK(heap_bytes(moved) == 100000);
    al->free(al->reallocarray(moved, 10, 20));
    CHECK(heap.live == 0);
    CHECK(heap.freed == 1);
}

static void *
own_allocator(size_t bytes)
{
    return calloc(1, bytes);
}

/* As _decimal does with libmpdec's. */
static void
a_library_may_set_its_variable(const allocating *al)
{
    void *(*original)(size_t) = al->set_variable(own_allocator);

    CHECK(lp_malloc_hooks_note(0) == NULL);
    free(al->by_variable(8));
    CHECK(heap.added == 0);
    lp_malloc_hooks_off();
    CHECK(lp_malloc_hooks_on());
    CHECK(lp_malloc_hooks_note(0) == NULL);
    al->set_variable(original);
    al->free(al->by_variable(8));
    CHECK(heap.added == 1);
}

static void
a_realloc_to_nothing_frees(const allocating *al)
{
    void *block = al->realloc(al->malloc(100), 0);

    if (block != NULL) { /* of some allocators, a block of no bytes */
        al->free(block);
    }
    CHECK(heap.live == 0);
}

static void
a_block_of_before_is_nobodys(const allocating *al, void *old)
{
    old = al->realloc(old, 500);
    CHECK(heap.moved == 0);
    CHECK(heap.live == 500);
    al->free(old);
    CHECK(heap.live == 0);
}

static void
anonymous_mappings_count_and_others_do_not(const allocating *al)
{
    FILE *file = tmpfile();
    char *start = al->map(NULL, 10 * PAGE, USABLE, ANONYMOUS);
    char *reserved = al->map(NULL, PAGE, PROT_NONE, ANONYMOUS);
    char *whole;

    CHECK(fputs("text", file) >= 0 && fflush(file) == 0);
    whole = al->map_file(PAGE, fileno(file));
    CHECK(heap.added == 1);
    CHECK(heap_bytes(start) == 10 * PAGE);
    CHECK(al->unmap(whole, PAGE) == 0);
    CHECK(al->unmap(reserved, PAGE) == 0);
    CHECK(heap.live == 10 * PAGE);
    CHECK(al->unmap(start, 10 * PAGE) == 0);
    CHECK(heap.live == 0);
    fclose(file);
}

static void
a_mapping_can_be_unmapped_in_parts(const allocating *al)
{
    char *start = al->map(NULL, 10 * PAGE - 100, USABLE, ANONYMOUS);

    CHECK(al->unmap(start, PAGE) == 0); /* head */
    CHECK(heap_bytes(start + PAGE) == 9 * PAGE - 100);
    CHECK(al->unmap(start + 8 * PAGE, 2 * PAGE) == 0); /* tail */
    CHECK(heap_bytes(start + PAGE) == 7 * PAGE);
    CHECK(al->unmap(start + 3 * PAGE, 1) == 0); /* middle: a page */
    CHECK(heap_bytes(start + PAGE) == 2 * PAGE);
    CHECK(heap_bytes(start + 4 * PAGE) == 4 * PAGE);
    CHECK(al->unmap(start + 1, PAGE) != 0); /* not allowed: nothing happens */
    CHECK(al->unmap(start + PAGE, 0) != 0);
    CHECK(heap.live == 6 * PAGE);
    CHECK(al->unmap(start, 10 * PAGE) == 0); /* both, and the holes */
    CHECK(heap.live == 0);
    CHECK(heap.freed == 5);
}

static void
a_mapping_over_another_replaces_that(const allocating *al)
{
    char *start = al->map(NULL, 4 * PAGE, USABLE, ANONYMOUS);

    CHECK(al->map(start + PAGE, PAGE, USABLE, ANONYMOUS | MAP_FIXED) ==
          start + PAGE);
    CHECK(heap.live == 4 * PAGE);
    CHECK(heap_bytes(start + PAGE) == PAGE);
    CHECK(heap_bytes(start + 2 * PAGE) == 2 * PAGE);
    CHECK(al->map(start, PAGE, PROT_NONE, ANONYMOUS | MAP_FIXED) == start);
    CHECK(heap.live == 3 * PAGE);
    CHECK(al->unmap(start, 4 * PAGE) == 0);
    CHECK(heap.live == 0);
}

static void
a_mapping_can_move(const allocating *al)
{
    char *start = al->map(NULL, 4 * PAGE, USABLE, ANONYMOUS);
    char *taken = al->map(NULL, 64 * PAGE, USABLE, ANONYMOUS);
    char *moved = al->remap(start, 4 * PAGE, 40 * PAGE);

    CHECK(heap.moved == 1);
    CHECK(heap_bytes(moved) == 40 * PAGE);
    CHECK(al->remap(moved, 40 * PAGE, SIZE_MAX / 2) == MAP_FAILED);
    CHECK(heap_bytes(moved) == 40 * PAGE);
    CHECK(al->remap_to(moved, 40 * PAGE, 60 * PAGE, taken) == taken);
    CHECK(heap_bytes(taken) == 60 * PAGE);
    CHECK(heap_bytes(taken + 60 * PAGE) == 4 * PAGE);
    CHECK(heap.live == 64 * PAGE);
    CHECK(al->unmap(taken, 64 * PAGE) == 0);
    CHECK(heap.live == 0);
}

static void
more_mappings_than_have_room_count(const allocating *al)
{
    enum { N = 20000 };
    static char *starts[N];

    for (size_t i = 0; i < N; i++) {
        starts[i] = al->map(NULL, PAGE, USABLE, ANONYMOUS);
    }
    CHECK(heap.live == (uint64_t)N * PAGE);
    for (size_t i = 0; i < N; i++) {
        CHECK(al->unmap(starts[i], PAGE) == 0);
    }
    CHECK(heap.live == 0);
}

static void
a_library_that_is_opened_later_counts(const allocating *al, const char *path)
{
    void *library = al->open(path);
    void *(*allocate)(size_t);
    void *block;

    find_function(library, "al_malloc", &allocate);
    block = allocate(300);
    CHECK(heap_bytes(block) == 300);
    al->free(block);
    CHECK(dlclose(library) == 0);
    library = dlopen(path, RTLD_NOW); /* by somebody who is not patched */
    al->find(library, "al_malloc");
    find_function(library, "al_malloc", &allocate);
    block = allocate(301);
    CHECK(heap_bytes(block) == 301);
    al->free(block);
    CHECK(dlclose(library) == 0);
}

static void
a_failing_dlopen_keeps_its_message(const allocating *al)
{
    CHECK(al->open("/nowhere/none.so") == NULL);
    CHECK(strstr(dlerror(), "/nowhere/none.so") != NULL);
    CHECK(al->find(NULL, "no_such_function") == NULL);
    CHECK(strstr(dlerror(), "no_such_function") != NULL);
}

/* A page's rights in /proc/self/maps, such as "r--p". */
static void
rights_of(const void *address, char rights[5])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long from, to;
    char line[512];

    strcpy(rights, "none");
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 &&
            from <= (uintptr_t)address && (uintptr_t)address < to) {
            break;
        }
    }
    fclose(maps);
}

static void
read_only_pages_stay_read_only(const allocating *al)
{
    struct link_map *map = al->library;
    char before[5], with[5], after[5];

    rights_of(map->l_ld, before); /* lies among them */
    CHECK(lp_malloc_hooks_on());
    rights_of(map->l_ld, with);
    lp_malloc_hooks_off();
    rights_of(map->l_ld, after);
    CHECK(strcmp(before, "r--p") == 0);
    CHECK(strcmp(with, before) == 0);
    CHECK(strcmp(after, before) == 0);
}

static void
nothing_counts_when_off(const allocating *al)
{
    size_t before = heap.added;

    al->free(al->malloc(10));
    al->free(al->by_variable(10));
    al->free(al->by_constant(10));
    CHECK(heap.added == before);
    CHECK(lp_patches_count().lost == 0);
}

typedef struct other_tool {
    void (*start)(void);
    void (*stop)(void);
    size_t (*allocs)(void);
    size_t (*frees)(void);
} other_tool;

static void
a_tool_outside_keeps_its_numbers(const allocating *al, const other_tool *tool)
{
    size_t allocs, frees;

    tool->start();
    heap_reset();
    CHECK(lp_malloc_hooks_on());
    allocs = tool->allocs();
    frees = tool->frees();
    al->free(al->malloc(77));
    CHECK(heap.added == 1 && heap.freed == 1);
    CHECK(tool->allocs() == allocs + 1);
    CHECK(tool->frees() == frees + 1);
    CHECK(lp_malloc_hooks_note(0) == NULL);
    lp_malloc_hooks_off();
    al->free(al->malloc(77));
    CHECK(heap.added == 1);
    CHECK(tool->allocs() == allocs + 2);
    tool->stop();
    al->free(al->malloc(77));
    CHECK(tool->allocs() == allocs + 2);
}

static void
a_tool_that_takes_the_slots_is_told(const allocating *al,
                                    const other_tool *tool)
{
    const char *note;

    heap_reset();
    CHECK(lp_malloc_hooks_on());
    CHECK(lp_malloc_hooks_note(0) == NULL);
    tool->start();
    al->free(al->malloc(77));
    CHECK(heap.added == 0);
    note = lp_malloc_hooks_note(0);
    CHECK(note != NULL && strstr(note, "another tool replaced") != NULL);
    CHECK(lp_malloc_hooks_note(1) == NULL);
    lp_malloc_hooks_off(); /* its hooks stay */
    al->free(al->malloc(77));
    CHECK(tool->allocs() > 0);
    CHECK(lp_malloc_hooks_note(0) != NULL);
    tool->stop();
    CHECK(lp_malloc_hooks_on());
    CHECK(lp_malloc_hooks_note(0) == NULL);
    al->free(al->malloc(77));
    CHECK(heap.added == 1);
    lp_malloc_hooks_off();
}

static void
a_child_starts_without_mappings(const allocating *al)
{
    char *start = al->map(NULL, 4 * PAGE, USABLE, ANONYMOUS);
    pid_t child = fork();
    int status;

    if (child == 0) {
        heap_reset(); /* as the heap does there */
        al->unmap(start, 2 * PAGE);
        CHECK(heap.freed == 0 && heap.added == 0);
        al->free(al->malloc(5));
        CHECK(heap.added == 1);
        lp_malloc_hooks_off();
        al->free(al->malloc(5));
        CHECK(heap.added == 1);
        _exit(check_failures);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    al->unmap(start, 4 * PAGE);
    CHECK(heap.live == 0);
}

static void
arrow_is_told_to_use_malloc(const allocating *al)
{
    static const char name[] = "ARROW_DEFAULT_MEMORY_POOL";

    unsetenv(name);
    CHECK(lp_malloc_hooks_on());
    CHECK(strcmp(al->variable_of_environment(name), "system") == 0);
    CHECK(al->variable_of_environment("ARROW_NO_VARIABLE") == NULL);
    CHECK(getenv(name) == NULL); /* so children do not have it */
    setenv(name, "mimalloc", 1);
    CHECK(strcmp(al->variable_of_environment(name), "mimalloc") == 0);
    unsetenv(name);
    lp_malloc_hooks_off();
    CHECK(al->variable_of_environment(name) == NULL);
}

static char *const mapping = (char *)(1 << 30); /* it is never read */
static lp_cut other_cut;

static void
cut_the_first_page(void)
{
    lp_mappings_cut(mapping, PAGE, &other_cut);
}

/* Else another thread that unmaps the rest finds nothing, and the entry that
 * comes back counts as live for ever. */
static void
a_mapping_is_claimed_until_all_its_parts_have_entries(void)
{
    lp_cut cut = {.n = 0};

    heap_reset();
    lp_heap_added(mapping, 3 * PAGE);
    lp_mappings_add(mapping, 3 * PAGE);
    heap.before_put_back = cut_the_first_page;
    lp_mappings_cut(mapping + PAGE, PAGE, &cut);
    heap.before_put_back = NULL;
    CHECK(other_cut.n == 0);
    lp_cut_freed(&cut);
    CHECK(heap_bytes(mapping) == PAGE);
    CHECK(heap_bytes(mapping + 2 * PAGE) == PAGE);

    cut.n = 0;
    lp_mappings_cut(mapping, 3 * PAGE, &cut);
    CHECK(cut.n == 2);
    lp_cut_freed(&cut);
    CHECK(heap.live == 0);
    lp_mappings_clear();
    heap_reset();
}

int
main(int argc, char **argv)
{
    allocating both[2];
    other_tool tool;
    void *library;

    CHECK(argc == 5);
    both[0] = open_allocating(argv[1]);
    both[1] = open_allocating(argv[2]);
    library = dlopen(argv[4], RTLD_NOW);
    find_function(library, "other_tool_start", &tool.start);
    find_function(library, "other_tool_stop", &tool.stop);
    find_function(library, "other_tool_allocs", &tool.allocs);
    find_function(library, "other_tool_frees", &tool.frees);
    for (size_t i = 0; i < 2; i++) {
        static void (*const tests[])(const allocating *) = {
            blocks_of_all_functions_count_once,
            a_realloc_moves_a_block_and_may_fail,
            a_library_may_set_its_variable,
            a_realloc_to_nothing_frees,
            anonymous_mappings_count_and_others_do_not,
            a_mapping_can_be_unmapped_in_parts,
            a_mapping_over_another_replaces_that,
            a_mapping_can_move,
            more_mappings_than_have_room_count,
            a_failing_dlopen_keeps_its_message,
            a_child_starts_without_mappings,
        };
        void *old = both[i].malloc(50);

        for (size_t k = 0; k < sizeof(tests) / sizeof(tests[0]); k++) {
            heap_reset();
            CHECK(lp_malloc_hooks_on());
            tests[k](&both[i]);
            CHECK(heap.twice == 0);
            CHECK(lp_malloc_hooks_note(0) == NULL);
            lp_malloc_hooks_off();
        }
        heap_reset();
        CHECK(lp_malloc_hooks_on());
        a_block_of_before_is_nobodys(&both[i], old);
        a_library_that_is_opened_later_counts(&both[i], argv[3]);
        lp_malloc_hooks_off();
        nothing_counts_when_off(&both[i]);
        read_only_pages_stay_read_only(&both[i]);
        a_tool_outside_keeps_its_numbers(&both[i], &tool);
        a_tool_that_takes_the_slots_is_told(&both[i], &tool);
        arrow_is_told_to_use_malloc(&both[i]);
    }
    a_mapping_is_claimed_until_all_its_parts_have_entries();
    return check_failures;
}
