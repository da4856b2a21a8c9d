/* Live files: the counts of a process that was killed, or that runs, forks, a
 * full disk, and damaged files. */
#include "record/calls.h"
#include "record/live_reader.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "random.h"
#include "record/arena.h"

enum { LINES = 5, SERIAL_OUTER = 7, SERIAL_INNER = 8, PATH_BYTES = 256 };

static char folder[] = "/tmp/lineprof-test-XXXXXX";
static char tracer; /* its address is the owner of the frames */
static char code_outer, code_inner;
static lp_ticks now;

static lp_ticks
given(void)
{
    return now;
}

static void
path_of(char *path, const char *name)
{
    snprintf(path, PATH_BYTES, "%s/%s", folder, name);
}

/* -- the process that dies -------------------------------------------------
 */

typedef struct program {
    lp_clock clock;
    lp_arena arena;
    lp_recorder *rec;
    lp_code_counters *outer, *inner;
} program;

static lp_code_counters *
add_code(program *made, uint32_t serial, uint32_t first_line, const char *name)
{
    lp_layout layout = {.code_id = serial,
                        .serial = serial,
                        .first_line = first_line,
                        .n_lines = LINES};
    lp_live_code head = {.serial = serial,
                         .first_line = first_line,
                         .line = first_line,
                         .file_bytes = 1};

    lp_live_log(LP_LIVE_CODE, (uint64_t)(uintptr_t)&tracer, &head,
                sizeof(head), name, strlen(name));
    return lp_recorder_counters(made->rec, &made->arena, &layout);
}

static int
begin(program *made, const char *path)
{
    lp_costs costs = {0};
    int error;

    lp_clock_set_source(&made->clock, given);
    error = lp_live_open(path, &made->clock);
    lp_arena_init(&made->arena, LP_BLOCK_COUNTERS, true);
    made->rec = lp_recorder_new(&made->clock, &costs);
    made->rec->native_id = 77;
    strcpy(made->rec->name, "worker");
    made->outer = add_code(made, SERIAL_OUTER, 100, "Fouter");
    made->inner = add_code(made, SERIAL_INNER, 200, "Finner");
    return error;
}

static void
call(program *made, const void *code, lp_code_counters *counters,
     uint32_t first_line)
{
    lp_frame *frame = lp_recorder_enter(made->rec, code, counters, first_line);

    frame->owner = &tracer;
    lp_calls_called(made->rec, frame);
}

static void
step(program *made, uint32_t offset, lp_ticks ticks)
{
    now += ticks;
    lp_recorder_line(made->rec, made->rec->top, offset, now, LP_LINE_FORWARD);
}

static void
leave(program *made, lp_ticks ticks)
{
    now += ticks;
    lp_recorder_leave(made->rec, made->rec->top, false, now);
}

/* One call of outer, whose line 2 calls inner twice; the second call is on its
 * line 1 for 30 ticks when the process ends. */
static void
run(program *made)
{
    call(made, &code_outer, made->outer, 100);
    step(made, 1, 0);
    step(made, 2, 10);
    call(made, &code_inner, made->inner, 200);
    step(made, 1, 0);
    leave(made, 20);
    call(made, &code_inner, made->inner, 200);
    step(made, 1, 5);
    step(made, 2, 30);
}

/* Run `act` in a child and return how it ended. */
static int
in_child(void (*act)(const char *), const char *path)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        act(path);
        _exit(99);
    }
    waitpid(child, &status, 0);
    return status;
}

static void
be_killed(const char *path)
{
    program made;

    if (begin(&made, path) == 0) {
        run(&made);
        kill(getpid(), SIGKILL);
    }
}

/* -- reading ---------------------------------------------------------------
 */

static char *
read_file(const char *path, size_t *bytes)
{
    int fd = open(path, O_RDONLY);
    struct stat status;
    char *data = NULL;

    *bytes = 0;
    if (fd >= 0 && fstat(fd, &status) == 0) {
        data = malloc((size_t)status.st_size + 1);
        *bytes = (size_t)read(fd, data, (size_t)status.st_size);
    }
    if (fd >= 0) {
        close(fd);
    }
    return data;
}

static lp_code_counters *
find_counters(const lp_live_copy *copy, uint32_t serial)
{
    lp_code_counters *counters = NULL;

    while ((counters = lp_live_copy_counters(copy, counters)) != NULL &&
           counters->serial != serial) {
    }
    return counters;
}

static void
the_counts_of_a_killed_process_are_complete(void)
{
    char path[PATH_BYTES];
    lp_live_copy copy;
    const lp_code_counters *outer, *inner;
    const lp_recorder *rec;
    const lp_node *node;
    lp_live_end end;
    size_t bytes;
    char *data;
    int status;

    path_of(path, "killed");
    status = in_child(be_killed, path);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    data = read_file(path, &bytes);
    CHECK(lp_live_copy_open(&copy, data, bytes) == LP_LIVE_READ);
    end = lp_live_copy_settle(&copy, 0);
    CHECK(end.last == 65);
    outer = find_counters(&copy, SERIAL_OUTER);
    inner = find_counters(&copy, SERIAL_INNER);
    CHECK(outer != NULL && inner != NULL);
    CHECK(outer->calls == 1 && inner->calls == 2);
    CHECK(outer->lines[1].hits == 1 && outer->lines[1].ticks == 10);
    CHECK(outer->lines[2].hits == 1 && outer->lines[2].ticks == 55);
    CHECK(inner->lines[1].hits == 2 && inner->lines[1].ticks == 50);
    CHECK(inner->lines[2].hits == 1 && inner->lines[2].ticks == 0);
    CHECK(outer->total == 65 && inner->total == 50);
    node = lp_live_copy_node(&copy, NULL);
    CHECK(lp_live_copy_parent(&copy, node) == -1 && node->self == 15);
    CHECK(lp_live_copy_callee(&copy, node)->serial == SERIAL_OUTER);
    node = lp_live_copy_node(&copy, node);
    CHECK(lp_live_copy_parent(&copy, node) == 0 && node->calls == 2);
    CHECK(lp_live_copy_line(&copy, node) == 102 &&
          lp_node_inclusive(node) == 50);
    CHECK(lp_live_copy_node(&copy, node) == NULL);
    rec = lp_live_copy_recorder(&copy, NULL);
    CHECK(rec->native_id == 77 && strcmp(rec->name, "worker") == 0);
    CHECK(copy.header->state == LP_LIVE_RUNNING && !copy.header->incomplete);
    lp_live_copy_close(&copy);
    free(data);
}

static void
crash(const char *path)
{
    program made;

    if (begin(&made, path) == 0) {
        raise(SIGUSR1);
    }
}

static void
the_signal_that_ended_a_process_is_noted(void)
{
    char path[PATH_BYTES];
    lp_live_copy copy;
    size_t bytes;
    char *data;
    int status;

    path_of(path, "crashed");
    status = in_child(crash, path);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    data = read_file(path, &bytes);
    CHECK(lp_live_copy_open(&copy, data, bytes) == LP_LIVE_READ);
    CHECK(copy.header->state == LP_LIVE_SIGNALLED &&
          copy.header->signal == SIGUSR1);
    lp_live_copy_close(&copy);
    free(data);
}

static uint64_t
hits_in(const char *path)
{
    uint64_t hits = 0;
    lp_live_copy copy;
    size_t bytes;
    char *data = read_file(path, &bytes);

    if (lp_live_copy_open(&copy, data, bytes) == LP_LIVE_READ) {
        const lp_code_counters *inner = find_counters(&copy, SERIAL_INNER);

        hits = inner == NULL ? 0 : inner->lines[1].hits;
    }
    lp_live_copy_close(&copy);
    free(data);
    return hits;
}

/* The child counts once more, the grandchild once more still, each in a file
 * of its own. */
static void
fork_and_count(const char *path)
{
    char moved[PATH_BYTES];
    program made;
    pid_t child;

    if (begin(&made, path) != 0) {
        _exit(1);
    }
    run(&made);
    child = fork();
    if (child == 0) {
        snprintf(moved, PATH_BYTES, "%s.child", path);
        made.inner->lines[1].hits = 40; /* in private memory */
        if (hits_in(path) != 2 || lp_live_move(moved, &made.clock) != 0) {
            _exit(2);
        }
        made.inner->lines[1].hits++;
        _exit(0);
    }
    waitpid(child, NULL, 0);
    made.inner->lines[1].hits++;
    _exit(0);
}

static void
a_forked_child_counts_in_its_own_file(void)
{
    char path[PATH_BYTES], child[PATH_BYTES];
    int status;

    path_of(path, "forked");
    path_of(child, "forked.child");
    status = in_child(fork_and_count, path);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(hits_in(path) == 3);
    CHECK(hits_in(child) == 41);
}

/* Files may not grow any more: counting goes on. */
static void
run_out_of_room(const char *path)
{
    struct rlimit limit = {1 << 18, 1 << 18};
    program made;
    lp_arena more;

    if (begin(&made, path) != 0) {
        _exit(1);
    }
    run(&made);
    setrlimit(RLIMIT_FSIZE, &limit);
    lp_arena_init(&more, LP_BLOCK_COUNTERS, true);
    for (int i = 0; i < 100; i++) {
        char *run = lp_arena_alloc(&more, 1000);

        if (run == NULL) {
            _exit(2);
        }
        memset(run, 1, 1000 * LP_RECORD_BYTES);
    }
    _exit(lp_live_is_open() ? 3 : 0);
}

#ifdef __linux__
/* The process has no descriptors left. */
static void
run_out_of_descriptors(const char *path)
{
    struct rlimit limit = {3, 3};
    program made;
    lp_arena more;

    if (begin(&made, path) != 0) {
        _exit(1);
    }
    setrlimit(RLIMIT_NOFILE, &limit);
    run(&made);
    lp_arena_init(&more, LP_BLOCK_COUNTERS, true);
    for (int i = 0; i < 100; i++) {
        lp_arena_alloc(&more, 1000);
    }
    if (!lp_live_is_complete()) {
        _exit(2);
    }
    lp_live_close("done", true);
    _exit(access(path, F_OK) == 0 ? 3 : 0);
}

static void
without_descriptors_the_file_grows_and_goes(void)
{
    char path[PATH_BYTES];
    int status;

    path_of(path, "descriptors");
    status = in_child(run_out_of_descriptors, path);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

/* The frames of a recursion without end are not in the file. */
static void
ask_for_gigabytes(const char *path)
{
    program made;
    lp_block *block;

    if (begin(&made, path) != 0) {
        _exit(1);
    }
    run(&made);
    block = lp_block_new(LP_BLOCK_FRAMES, (size_t)3 << 30, true);
    if (block == NULL || block->is_live) {
        _exit(2);
    }
    _exit(lp_live_is_open() ? 3 : 0);
}

static void
file_is_incomplete_after(void (*end)(const char *path), const char *name)
{
    char path[PATH_BYTES];
    lp_live_copy copy;
    size_t bytes;
    char *data;
    int status;

    path_of(path, name);
    status = in_child(end, path);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(hits_in(path) == 2);
    data = read_file(path, &bytes);
    CHECK(lp_live_copy_open(&copy, data, bytes) == LP_LIVE_READ);
    CHECK(copy.header->incomplete == 1);
    CHECK(bytes < 1 << 20);
    lp_live_copy_close(&copy);
    free(data);
}

static void
without_room_the_file_is_incomplete_and_the_process_goes_on(void)
{
    file_is_incomplete_after(run_out_of_room, "full");
    file_is_incomplete_after(ask_for_gigabytes, "large");
}

/* -- a process that runs ---------------------------------------------------
 */

typedef struct open_lines {
    int n;
    struct {
        uint32_t serial;
        uint64_t offset, opened;
    } lines[8];
} open_lines;

static int
list_open_line(void *arg, const lp_recorder *rec,
               const lp_code_counters *counters, uint64_t offset,
               lp_ticks opened)
{
    open_lines *list = arg;

    CHECK(rec->native_id == 77);
    list->lines[list->n].serial = counters->serial;
    list->lines[list->n].offset = offset;
    list->lines[list->n++].opened = opened;
    return 0;
}

static void
check_a_pair_of_copies(char *first, size_t bytes, const char *second,
                       size_t second_bytes, bool has_stepped)
{
    lp_live_copy copy;
    const lp_code_counters *outer, *inner;
    open_lines list = {0};
    lp_live_end end;

    CHECK(lp_live_copy_open(&copy, first, bytes) == LP_LIVE_READ);
    lp_live_copy_compare(&copy, second, second_bytes);
    end = lp_live_copy_settle(&copy, 165);
    CHECK(end.last == 65 && end.threads == 1);
    outer = find_counters(&copy, SERIAL_OUTER);
    inner = find_counters(&copy, SERIAL_INNER);
    CHECK(outer != NULL && inner != NULL);
    CHECK(outer->lines[2].ticks == 155 && outer->total == 165);
    CHECK(inner->lines[1].ticks == 50 && inner->total == 150);
    CHECK(inner->lines[2].ticks == (has_stepped ? 135 : 100));
    CHECK(lp_live_copy_open_lines(&copy, list_open_line, &list) == 0);
    CHECK(list.n == 2);
    CHECK(list.lines[0].serial == SERIAL_OUTER && list.lines[0].offset == 2);
    CHECK(list.lines[0].opened == 10);
    CHECK(list.lines[1].serial == SERIAL_INNER && list.lines[1].offset == 2);
    CHECK(list.lines[1].opened == 65);
    lp_live_copy_close(&copy);
}

/* Copy the counters of `from` into another copy of the same file. */
static void
copy_counters(char *to, const char *from, size_t bytes)
{
    const lp_block *block;

    for (size_t at = 0; at < bytes; at += block->bytes) {
        block = (const lp_block *)(const void *)(from + at);
        if (block->magic != LP_BLOCK_MAGIC) {
            return;
        }
        if (block->kind == LP_BLOCK_COUNTERS) {
            memcpy(to + at, from + at, block->bytes);
        }
    }
}

static void
read_own_file(const char *path)
{
    char *first, *torn, *second;
    size_t bytes, torn_bytes, second_bytes;
    program made;

    if (begin(&made, path) != 0) {
        _exit(1);
    }
    run(&made);
    first = read_file(path, &bytes);
    torn = read_file(path, &torn_bytes);
    second = read_file(path, &second_bytes);
    check_a_pair_of_copies(first, bytes, second, second_bytes, false);
    /* The counters were copied after the line had ended, its frame before. */
    step(&made, 3, 135);
    free(second);
    second = read_file(path, &second_bytes);
    copy_counters(torn, second, torn_bytes);
    check_a_pair_of_copies(torn, torn_bytes, second, second_bytes, true);
    free(first);
    free(torn);
    free(second);
    _exit(check_failures);
}

static void
a_process_that_runs_is_read_up_to_now_without_counting_twice(void)
{
    char path[PATH_BYTES];
    int status;

    path_of(path, "running");
    status = in_child(read_own_file, path);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void
end_a_thread(const char *path)
{
    program made;

    if (begin(&made, path) == 0) {
        run(&made);
        made.rec->finished = 1;
        made.inner->n_lines = 3; /* as it is in the first copy alone */
        _exit(0);
    }
}

static void
lines_of_a_thread_that_ended_stay_and_incomplete_counters_are_left_out(void)
{
    char path[PATH_BYTES];
    size_t bytes;
    char *data, *second;
    lp_live_copy copy;
    open_lines list = {0};

    path_of(path, "thread");
    in_child(end_a_thread, path);
    data = read_file(path, &bytes);
    second = read_file(path, &bytes);
    CHECK(lp_live_copy_open(&copy, second, bytes) == LP_LIVE_READ);
    find_counters(&copy, SERIAL_INNER)->n_lines = LINES;
    lp_live_copy_close(&copy);
    CHECK(lp_live_copy_open(&copy, data, bytes) == LP_LIVE_READ);
    lp_live_copy_compare(&copy, second, bytes);
    CHECK(lp_live_copy_settle(&copy, 165).threads == 0);
    CHECK(find_counters(&copy, SERIAL_OUTER)->lines[2].ticks == 55);
    CHECK(find_counters(&copy, SERIAL_INNER) == NULL);
    CHECK(lp_live_copy_open_lines(&copy, list_open_line, &list) == 0);
    CHECK(list.n == 0);
    lp_live_copy_close(&copy);
    free(data);
    free(second);
}

static int
add_up_open_lines(void *arg, const lp_recorder *rec,
                  const lp_code_counters *counters, uint64_t offset,
                  lp_ticks opened)
{
    *(uint64_t *)arg += rec->number + counters->serial + offset + opened;
    return 0;
}

/* Read all there is; `second` may be NULL. */
static uint64_t
read_all(char *data, size_t bytes, const char *second, size_t second_bytes)
{
    lp_live_copy copy;
    uint64_t sum = 0;
    lp_code_counters *counters = NULL;
    const lp_node *node = NULL;
    const lp_live_record *record = NULL;

    if (lp_live_copy_open(&copy, data, bytes) == LP_LIVE_READ) {
        if (second != NULL) {
            lp_live_copy_compare(&copy, second, second_bytes);
        }
        sum += lp_live_copy_settle(&copy, second == NULL ? 0 : 165).last;
        CHECK(lp_live_copy_open_lines(&copy, add_up_open_lines, &sum) == 0);
        while ((counters = lp_live_copy_counters(&copy, counters)) != NULL) {
            const uint64_t *awaits = lp_code_counters_awaits(counters);
            const lp_off_cpu_lines *waits =
                lp_live_copy_waits(&copy, counters);

            for (uint32_t i = 0; i < counters->n_lines; i++) {
                sum += counters->lines[i].hits + (awaits ? awaits[i] : 0);
            }
            for (uint32_t i = 0; waits != NULL && i < waits->n; i++) {
                sum += waits->lines[i].offset;
            }
        }
        while ((node = lp_live_copy_node(&copy, node)) != NULL) {
            sum += (uint64_t)lp_live_copy_parent(&copy, node) +
                   lp_live_copy_line(&copy, node);
        }
        while ((record = lp_live_copy_record(&copy, record)) != NULL) {
            for (uint32_t i = 0; i < record->bytes; i++) {
                sum += record->data[i];
            }
        }
    }
    lp_live_copy_close(&copy);
    return sum;
}

static void
damaged_files_are_read_without_harm(void)
{
    enum { ROUNDS = 3000, CHANGES = 4 };
    uint64_t chance = 1, sum = 0;
    char path[PATH_BYTES];
    size_t bytes;
    char *data, *damaged;

    path_of(path, "killed");
    data = read_file(path, &bytes);
    damaged = malloc(bytes);
    for (int round = 0; round < ROUNDS; round++) {
        size_t length = bytes;

        memcpy(damaged, data, bytes);
        for (int i = 0; i < CHANGES; i++) {
            /* Words of what is in use, at the start of each page. */
            size_t page =
                random_below(&chance, (uint32_t)(bytes / 4096)) * 4096;
            size_t at = page + random_below(&chance, 256) * 8;
            uint64_t value = random_next(&chance);

            value = round % 3 == 0 ? value : value % 5000;
            memcpy(damaged + at, &value, sizeof(value));
        }
        if (round % 7 == 0) {
            length = random_below(&chance, (uint32_t)bytes);
        }
        sum += read_all(damaged, length, round % 2 ? data : NULL, bytes);
        if (round % 5 == 0) { /* the second copy is the damaged one */
            char *first = read_file(path, &bytes);

            sum += read_all(first, bytes, damaged, length);
            free(first);
        }
    }
    CHECK(sum != 0);
    free(damaged);
    free(data);
}

/* The innermost frame in a copy, or NULL. */
static lp_frame *
top_frame(const lp_live_copy *copy)
{
    const lp_recorder *rec = lp_live_copy_recorder(copy, NULL);

    for (size_t i = 0; i < copy->n_blocks; i++) {
        const lp_live_block *block = &copy->blocks[i];
        uint64_t offset = (uint64_t)(uintptr_t)rec->top - block->address;

        if (block->kind == LP_BLOCK_RECORDER && offset < block->used) {
            return (lp_frame *)(void *)(block->at + offset);
        }
    }
    return NULL;
}

/* Settle a copy of `data` in which a pointer of the innermost frame, so many
 * bytes into it, leads to `address`: nothing but counts changes. */
static void
check_settled(const char *data, size_t bytes, size_t field, uint64_t address)
{
    char *changed = malloc(bytes);
    lp_live_copy before, copy;
    lp_code_counters *counters = NULL, *was = NULL;
    const lp_node *node = NULL, *node_was = NULL;

    memcpy(changed, data, bytes);
    CHECK(lp_live_copy_open(&before, (char *)(uintptr_t)data, bytes) ==
          LP_LIVE_READ);
    CHECK(lp_live_copy_open(&copy, changed, bytes) == LP_LIVE_READ);
    memcpy((char *)top_frame(&copy) + field, &address, sizeof(address));
    lp_live_copy_settle(&copy, 0);
    while ((was = lp_live_copy_counters(&before, was)) != NULL) {
        lp_code_counters head;

        counters = lp_live_copy_counters(&copy, counters);
        CHECK(counters != NULL);
        memcpy(&head, counters, sizeof(head));
        head.total = was->total;
        head.total_cost = was->total_cost;
        CHECK(memcmp(&head, was, sizeof(head)) == 0);
        for (uint32_t i = 0; i < was->n_lines; i++) {
            lp_line line = counters->lines[i];

            line.ticks = was->lines[i].ticks;
            line.cost = was->lines[i].cost;
            CHECK(memcmp(&line, &was->lines[i], sizeof(line)) == 0);
        }
    }
    while ((node_was = lp_live_copy_node(&before, node_was)) != NULL) {
        node = lp_live_copy_node(&copy, node);
        CHECK(node != NULL && node->parent == node_was->parent &&
              node->counters == node_was->counters &&
              node->line == node_was->line && node->kind == node_was->kind &&
              node->calls == node_was->calls);
    }
    lp_live_copy_close(&before);
    lp_live_copy_close(&copy);
    free(changed);
}

static void
settling_changes_counts_alone_wherever_a_frame_points(void)
{
    static const size_t fields[] = {offsetof(lp_frame, line),
                                    offsetof(lp_frame, counters),
                                    offsetof(lp_frame, node)};
    char path[PATH_BYTES];
    lp_live_copy copy;
    size_t bytes;
    char *data;

    path_of(path, "killed");
    data = read_file(path, &bytes);
    CHECK(lp_live_copy_open(&copy, data, bytes) == LP_LIVE_READ);
    for (size_t i = 0; i < copy.n_blocks; i++) {
        const lp_live_block *block = &copy.blocks[i];

        if (block->kind != LP_BLOCK_COUNTERS &&
            block->kind != LP_BLOCK_NODES) {
            continue;
        }
        for (uint64_t at = 0; at < block->used; at += 4) {
            for (size_t j = 0; j < sizeof(fields) / sizeof(fields[0]); j++) {
                check_settled(data, bytes, fields[j], block->address + at);
            }
        }
    }
    lp_live_copy_close(&copy);
    free(data);
}

static void
a_foreign_file_is_refused(void)
{
    char data[8192] __attribute__((aligned(8))) = "SQLite format 3";
    lp_live_copy copy;

    CHECK(lp_live_copy_open(&copy, data, sizeof(data)) == LP_LIVE_FOREIGN);
    lp_live_copy_close(&copy);
    CHECK(lp_live_copy_open(&copy, data, 10) == LP_LIVE_FOREIGN);
    lp_live_copy_close(&copy);
}

static void
remove_files(void)
{
    static const char *const names[] = {
        "killed", "crashed", "forked", "forked.child", "full",
        "large",  "running", "thread", "descriptors"};
    char path[PATH_BYTES];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        path_of(path, names[i]);
        unlink(path);
    }
    CHECK(rmdir(folder) == 0);
}

int
main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    the_counts_of_a_killed_process_are_complete();
    the_signal_that_ended_a_process_is_noted();
    a_forked_child_counts_in_its_own_file();
    without_room_the_file_is_incomplete_and_the_process_goes_on();
#ifdef __linux__
    without_descriptors_the_file_grows_and_goes();
#endif
    a_process_that_runs_is_read_up_to_now_without_counting_twice();
    lines_of_a_thread_that_ended_stay_and_incomplete_counters_are_left_out();
    damaged_files_are_read_without_harm();
    settling_changes_counts_alone_wherever_a_frame_points();
    a_foreign_file_is_refused();
    remove_files();
    return check_failures;
}
