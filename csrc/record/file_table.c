#include "record/file_table.h"

#include <errno.h>
#include <stddef.h>

#ifdef __linux__
#  include <pthread.h>
#  include <sched.h>
#  include <signal.h>
#  include <sys/syscall.h>
#  include <unistd.h>

enum {
    MAX_DESCRIPTORS = 65536, /* that are closed one by one */
    STACK_BYTES = 256 * 1024
};

/* Leave the shared table, and close the descriptors from `first` on.  False if
 * the system refuses: containers without privileges often know this call and
 * refuse unshare(). */
static bool
unshare_from(unsigned first)
{
#  ifdef SYS_close_range
    enum { UNSHARE = 2 }; /* CLOSE_RANGE_UNSHARE */

    return syscall(SYS_close_range, first, ~0u, UNSHARE) == 0;
#  else
    (void)first;
    return false;
#  endif
}

bool
lp_file_table_begin_empty(void)
{
    if (unshare_from(0)) {
        return true;
    }
    if (unshare(CLONE_FILES) != 0) {
        return false;
    }
    for (int fd = 0; fd < MAX_DESCRIPTORS; fd++) {
        close(fd); /* on old systems there is no other way */
    }
    return true;
}

bool
lp_file_table_begin_copy(void)
{
    return unshare_from(~0u) || unshare(CLONE_FILES) == 0;
}

typedef struct table_task {
    int (*act)(void *context);
    void *context;
    int answer;
} table_task;

static void *
act_with_empty_table(void *argument)
{
    table_task *task = argument;

    if (lp_file_table_begin_empty()) {
        task->answer = task->act(task->context);
    }
    return NULL;
}

int
lp_file_table_retry(int (*act)(void *context), void *context)
{
    table_task task = {.act = act, .context = context, .answer = act(context)};
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t thread;
    bool made;

    if (task.answer != EMFILE || pthread_attr_init(&attr) != 0) {
        return task.answer;
    }
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all); /* handlers of the program's run in its own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    made = pthread_create(&thread, &attr, act_with_empty_table, &task) == 0;
    if (made) {
        pthread_join(thread, NULL);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return task.answer;
}
#else
bool
lp_file_table_begin_empty(void)
{
    return false;
}

bool
lp_file_table_begin_copy(void)
{
    return false;
}

int
lp_file_table_retry(int (*act)(void *context), void *context)
{
    return act(context);
}
#endif
