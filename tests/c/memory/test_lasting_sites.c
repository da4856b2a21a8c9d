/* Memory by call path in a live file, of a process that is killed at any time,
 * forks, or has no room. */
#include "memory/sites_reader.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "memory/heap.h"
#include "record/thread_double.h"

enum { PATH_BYTES = 256, MANY = 3 * LP_CALL_PATHS_PER_CHUNK };

static char folder[] = "/tmp/lineprof-test-XXXXXX";
static char file[PATH_BYTES], file_of_child[PATH_BYTES];
static fixture *made;
static lp_clock the_clock;
static lp_ticks now = 1000;

static lp_ticks
read_now(void)
{
    return now;
}

static void *
at(uint64_t number)
{
    return (void *)(uintptr_t)(0x10000 + number * 16);
}

static void
allocate(uint64_t number, size_t bytes)
{
    CHECK(lp_heap_enter());
    lp_heap_leave();
    lp_heap_added(at(number), bytes);
}

static void
release(uint64_t number)
{
    lp_heap_freed(lp_heap_take(at(number)));
}

static void
begin(void)
{
    CHECK(lp_live_open(file, &the_clock) == 0);
    CHECK(lp_heap_start(&made->paths, &the_clock, 0));
    enter(made, 0);
    line(made, 1);
}

/* Run a program in a process; how it ended. */
static int
in_process(void (*program)(void))
{
    int status = 0;
    pid_t child;

    unlink(file);
    unlink(file_of_child);
    child = fork();
    if (child == 0) {
        begin();
        program();
        raise(SIGKILL);
    }
    waitpid(child, &status, 0);
    return status;
}

typedef struct left {
    char *data;
    lp_live_copy copy;
    lp_sites_copy sites;
} left;

static void
open_left(left *found, const char *path)
{
    int fd = open(path, O_RDONLY);
    struct stat status;

    CHECK(fd >= 0 && fstat(fd, &status) == 0);
    found->data = malloc((size_t)status.st_size);
    CHECK(read(fd, found->data, (size_t)status.st_size) == status.st_size);
    close(fd);
    CHECK(lp_live_copy_open(&found->copy, found->data,
                            (size_t)status.st_size) == LP_LIVE_READ);
    lp_sites_copy_open(&found->sites, &found->copy);
}

static void
close_left(left *found)
{
    lp_live_copy_close(&found->copy);
    free(found->data);
}

/* Return the sum of the numbers of all paths whose innermost line is this one
 * of code 0. */
static lp_heap_sum
sum_of(const left *found, uint32_t line_number)
{
    lp_heap_sum sum = {0};

    for (uint32_t i = 0; i < found->sites.n; i++) {
        lp_call_path path = lp_sites_copy_path(&found->sites, i);
        lp_heap_sum one = lp_sites_copy_sum(&found->sites, i);

        if (path.serial == 1 && path.line == line_number) {
            sum.allocs += one.allocs;
            sum.alloc_bytes += one.alloc_bytes;
            sum.freed_bytes += one.freed_bytes;
            sum.peak_bytes += one.peak_bytes;
        }
    }
    return sum;
}

static void
fall_from_a_peak(void)
{
    for (uint64_t i = 0; i < 100; i++) {
        allocate(i, 10);
    }
    line(made, 2);
    allocate(200, 50);
    now = 2000;
    release(200);
    for (uint64_t i = 0; i < 40; i++) {
        release(i);
    }
    allocate(200, 7);
}

static void
climb_again(void)
{
    fall_from_a_peak();
    allocate(300, 400);
    allocate(400, 500);
}

static void
a_killed_process_leaves_its_numbers(void)
{
    left found;
    lp_heap_sum sum;

    CHECK(WTERMSIG(in_process(fall_from_a_peak)) == SIGKILL);
    open_left(&found, file);
    CHECK(found.sites.numbers != NULL && !found.sites.numbers->incomplete);
    sum = sum_of(&found, 1);
    CHECK(sum.allocs == 100 && sum.alloc_bytes == 1000);
    CHECK(sum.freed_bytes == 400 && sum.peak_bytes == 1000);
    sum = sum_of(&found, 2);
    CHECK(sum.allocs == 2 && sum.alloc_bytes == 57);
    CHECK(sum.freed_bytes == 50 && sum.peak_bytes == 50);
    CHECK(found.sites.peak_at == 2000);
    close_left(&found);
}

static void
a_peak_at_the_end_is_one(void)
{
    left found;

    CHECK(WTERMSIG(in_process(climb_again)) == SIGKILL);
    open_left(&found, file);
    CHECK(sum_of(&found, 1).peak_bytes == 600);
    CHECK(sum_of(&found, 2).peak_bytes == 907);
    CHECK(found.sites.peak_at == 0);
    close_left(&found);
}

static void
allocate_on_many_paths(void)
{
    enter(made, 0);
    for (uint64_t i = 0; i < MANY; i++) {
        if (depth_of(made) > 100) {
            while (depth_of(made) > 1) {
                leave(made);
            }
            line(made, (uint32_t)(i / 100 % LINES));
        }
        enter(made, 0);
        /* (Lines in no order: each is on a path of its own.) */
        line(made, (uint32_t)(i * 0x9E3779B97F4A7C15u >> 63) + 3);
        allocate(i, 3);
    }
}

static void
there_may_be_more_paths_than_in_a_block(void)
{
    left found;
    lp_heap_sum sum, more;

    CHECK(WTERMSIG(in_process(allocate_on_many_paths)) == SIGKILL);
    open_left(&found, file);
    CHECK(found.sites.n > 2 * LP_CALL_PATHS_PER_CHUNK);
    sum = sum_of(&found, 3);
    more = sum_of(&found, 4);
    CHECK(sum.allocs + more.allocs == MANY);
    CHECK(sum.peak_bytes + more.peak_bytes == (uint64_t)3 * MANY);
    CHECK(sum.allocs > MANY / 3 && more.allocs > MANY / 3);
    close_left(&found);
}

static void
run_out_of_room(void)
{
    struct rlimit limit = {1 << 19, 1 << 19};

    allocate(MANY + 10, 500);
    setrlimit(RLIMIT_FSIZE, &limit);
    allocate_on_many_paths();
    CHECK(lp_heap_live() == 500 + 3 * MANY);
}

static void
without_room_sites_are_private(void)
{
    left found;

    CHECK(WTERMSIG(in_process(run_out_of_room)) == SIGKILL);
    open_left(&found, file);
    CHECK(found.copy.header->incomplete);
    CHECK(sum_of(&found, 1).alloc_bytes >= 500);
    close_left(&found);
}

/* The child is as the parent was, and frees what it has not allocated. */
static void
fork_and_count(void)
{
    pid_t child;
    int status;

    allocate(1, 100);
    child = fork();
    if (child == 0) {
        release(1);
        allocate(2, 7);
        if (lp_live_move(file_of_child, &the_clock) != 0) {
            _exit(1);
        }
        lp_heap_outlive();
        allocate(3, 11);
        release(2);
        raise(SIGKILL);
    }
    waitpid(child, &status, 0);
    CHECK(WTERMSIG(status) == SIGKILL);
    allocate(4, 1000);
}

static void
a_forked_child_has_its_own(void)
{
    left found;
    lp_heap_sum sum;

    CHECK(WTERMSIG(in_process(fork_and_count)) == SIGKILL);
    open_left(&found, file);
    sum = sum_of(&found, 1);
    CHECK(sum.alloc_bytes == 1100 && sum.freed_bytes == 0);
    close_left(&found);
    open_left(&found, file_of_child);
    sum = sum_of(&found, 1);
    CHECK(sum.alloc_bytes == 18 && sum.freed_bytes == 7);
    CHECK(sum.peak_bytes == 18);
    close_left(&found);
}

static void
begin_again(void)
{
    allocate(1, 100);
    lp_heap_stop();
    CHECK(lp_heap_start(&made->paths, &the_clock, 0));
    release(1);
    allocate(2, 7);
}

static void
a_second_start_begins_at_0(void)
{
    left found;
    lp_heap_sum sum;

    CHECK(WTERMSIG(in_process(begin_again)) == SIGKILL);
    open_left(&found, file);
    sum = sum_of(&found, 1);
    CHECK(sum.allocs == 1 && sum.alloc_bytes == 7 && sum.freed_bytes == 0);
    close_left(&found);
}

int
main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(file, PATH_BYTES, "%s/a.live", folder);
    snprintf(file_of_child, PATH_BYTES, "%s/b.live", folder);
    lp_clock_set_source(&the_clock, read_now);
    made = set_up();
    lp_current_recorder = made->rec;
    a_killed_process_leaves_its_numbers();
    a_peak_at_the_end_is_one();
    there_may_be_more_paths_than_in_a_block();
    without_room_sites_are_private();
    a_forked_child_has_its_own();
    a_second_start_begins_at_0();
    unlink(file);
    unlink(file_of_child);
    rmdir(folder);
    lp_current_recorder = NULL;
    tear_down(made);
    return check_failures;
}
