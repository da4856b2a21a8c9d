/* Forked children of a process with the worker: the worker does not exist.
 *
 * FAKE_CUPTI_FORK has the functions of the library that wait for the worker in
 * such a child, and so wait for ever: the exit handler that was registered
 * when the library was loaded ("exit"), one that was registered with the first
 * record
 * ("late"), the library's destructor ("fini"), or cuptiActivityFlushAll
 * ("flush").  Work of the child fills buffers that are never returned.
 */
#include "cupti/fake_cupti.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

_Atomic bool fk_forked;

static _Atomic bool worker; /* one was started */
static sem_t answer;        /* of the worker */
static pthread_once_t late = PTHREAD_ONCE_INIT;
static pthread_mutex_t orphans = PTHREAD_MUTEX_INITIALIZER; /* the child's */

bool
fk_fork_hangs(const char *function)
{
    const char *knob = getenv("FAKE_CUPTI_FORK");
    return fk_forked && worker && knob && strstr(knob, function);
}

void
fk_fork_wait(void)
{
    while (sem_wait(&answer) && errno == EINTR) {
    }
}

static void
at_exit(void)
{
    if (fk_fork_hangs("exit")) {
        fk_fork_wait();
    }
}

static void
late_at_exit(void)
{
    if (fk_fork_hangs("late")) {
        fk_fork_wait();
    }
}

__attribute__((destructor)) static void
fini(void)
{
    if (fk_fork_hangs("fini")) {
        fk_fork_wait();
    }
}

static void
in_child(void)
{
    if (!fk_forked) {
        fk_forked = true;
        fk_buffers_in_child();
    }
    pthread_mutex_init(&orphans, NULL);
}

__attribute__((constructor)) static void
start(void)
{
    sem_init(&answer, 0, 0);
    pthread_atfork(NULL, NULL, in_child);
    atexit(at_exit);
}

static void
register_late(void)
{
    atexit(late_at_exit);
}

void
fk_fork_note_worker(void)
{
    worker = true;
}

void
fk_fork_note_record(const fk_work *work)
{
    pthread_once(&late, register_late);
    if (fk_forked) {
        pthread_mutex_lock(&orphans);
        fk_buffers_put_orphan(work);
        pthread_mutex_unlock(&orphans);
    }
}
