#include "gpu/side_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

bool
lp_side_thread_start(void *(*run)(void *))
{
    pthread_t thread;
    sigset_t all, before;
    bool started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(&thread, NULL, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) {
        pthread_detach(thread);
    }
    return started;
}
