#include "record/forks.h"

#include <pthread.h>
#include <stddef.h>

#include "record/call_paths.h"
#include "record/live_file.h"
#include "record/off_cpu_sampler.h"
#include "record/own_work.h"

enum { MAX_FOLLOWERS = 4 };

static void (*followers[MAX_FOLLOWERS])(void);
static int n_followers;

static void
before(void)
{
    lp_own_work work;

    lp_own_work_begin(&work, lp_current_recorder);
    lp_sampler_before_fork();
    lp_call_paths_before_fork();
    lp_live_before_fork();
    lp_own_work_end(&work);
    /* What another library allocates around the fork must add no path. */
    lp_memory_of_thread.own_work++;
}

static void
in_parent(void)
{
    lp_own_work work;

    lp_own_work_begin(&work, lp_current_recorder);
    lp_live_after_fork();
    lp_call_paths_after_fork();
    lp_memory_of_thread.own_work--;
    lp_sampler_after_fork();
    lp_own_work_end(&work);
}

static void
in_child(void)
{
    lp_live_after_fork_in_child();
    lp_call_paths_after_fork();
    lp_memory_of_thread.own_work--;
    lp_sampler_after_fork_in_child();
    for (int i = 0; i < n_followers; i++) {
        followers[i]();
    }
}

static void
watch(void)
{
    pthread_atfork(before, in_parent, in_child);
}

void
lp_forks_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch);
}

void
lp_forks_call_in_child(void (*follow)(void))
{
    for (int i = 0; i < n_followers; i++) {
        if (followers[i] == follow) {
            return;
        }
    }
    followers[n_followers++] = follow;
    lp_forks_watch();
}
