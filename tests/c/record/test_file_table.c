/* A thread's own file descriptors, in a process that has none left. */
#include "record/file_table.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

typedef struct seen {
    int calls, first, error;
} seen;

/* Open a file, and keep it open. */
static int
open_one(void *context)
{
    seen *found = context;

    found->calls++;
    found->first = open("/", O_RDONLY);
    found->error = found->first < 0 ? errno : 0;
    return found->error;
}

static int
refuse(void *context)
{
    seen *found = context;

    found->calls++;
    return EACCES;
}

static bool
is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void
with_descriptors_left_it_is_called_here(void)
{
    seen found = {0};

    CHECK(lp_file_table_retry(open_one, &found) == 0);
    CHECK(found.calls == 1);
    CHECK(is_open(found.first));
    close(found.first);
}

static void
another_error_is_returned(void)
{
    seen found = {0};

    CHECK(lp_file_table_retry(refuse, &found) == EACCES);
    CHECK(found.calls == 1);
}

#ifdef __linux__
static void
limit_to(rlim_t most)
{
    struct rlimit limit;

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = most;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void
without_descriptors_another_thread_has_all_of_them(void)
{
    int last = open("/", O_RDONLY);
    seen found = {0};

    CHECK(last == 3);
    limit_to(4);
    CHECK(lp_file_table_retry(open_one, &found) == 0);
    CHECK(found.calls == 2);
    CHECK(found.first == 0);
    for (int fd = 0; fd <= last; fd++) {
        CHECK(is_open(fd));
    }
    limit_to(64);
    close(last);
}

static void
a_limit_of_none_is_an_error(void)
{
    seen found = {0};

    limit_to(0);
    CHECK(lp_file_table_retry(open_one, &found) == EMFILE);
    CHECK(found.calls == 2);
    limit_to(64);
}

static void *
close_all_in_a_copy(void *argument)
{
    bool *closed = argument;

    *closed = lp_file_table_begin_copy() && is_open(0) && is_open(2);
    for (int fd = 0; fd < 3; fd++) {
        *closed = *closed && close(fd) == 0;
    }
    return NULL;
}

static void
what_a_thread_closes_in_its_copy_stays_open(void)
{
    bool closed = false;
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, close_all_in_a_copy, &closed) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(closed);
    CHECK(is_open(0) && is_open(1) && is_open(2));
}
#endif

int
main(void)
{
    with_descriptors_left_it_is_called_here();
    another_error_is_returned();
#ifdef __linux__
    for (int fd = 3; fd < 64; fd++) {
        close(fd); /* inherited ones */
    }
    without_descriptors_another_thread_has_all_of_them();
    a_limit_of_none_is_an_error();
    what_a_thread_closes_in_its_copy_stays_open();
#endif
    return check_failures;
}
