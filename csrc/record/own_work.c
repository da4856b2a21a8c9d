#include "record/own_work.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

_Thread_local lp_memory_here lp_memory_of_thread;

static lp_ns
processor_ns(const lp_recorder *rec)
{
    struct timespec now = {0, 0};

    if (rec != NULL && rec->wait.clock != NULL) {
        return rec->wait.clock();
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (lp_ns)now.tv_sec * 1000000000u + (lp_ns)now.tv_nsec;
}

/* A test's clock has no relation to processor time, unless that is the test's,
 * too. */
static bool
is_split(const lp_recorder *rec)
{
    return rec->wait.clock != NULL || rec->clock.name == NULL ||
           strcmp(rec->clock.name, "given") != 0;
}

static void
read_wall(const lp_recorder *rec, lp_ticks *ticks, lp_ns *wall)
{
    if (rec->clock.counter) {
        lp_clock_pair(&rec->clock, ticks, wall);
    }
    else {
        *ticks = *wall = lp_clock_now(&rec->clock);
    }
}

/* Read the voluntary context switches of this thread, and its time in the
 * kernel.  Where threads are not told apart, each wait counts as voluntary. */
static void
read_usage(uint64_t *voluntary, lp_ns *system)
{
#ifdef RUSAGE_THREAD
    struct rusage usage;

    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        *voluntary = (uint64_t)usage.ru_nvcsw;
        *system = (lp_ns)usage.ru_stime.tv_sec * 1000000000u +
                  (lp_ns)usage.ru_stime.tv_usec * 1000u;
        return;
    }
#endif
    (*voluntary)++;
}

void
lp_own_work_begin(lp_own_work *self, lp_recorder *rec)
{
    lp_memory_of_thread.own_work++;
    *self = (lp_own_work){.rec = rec};
    if (rec != NULL) {
        for (int i = 0; i < LP_WAIT_CAUSES; i++) {
            self->samples[i] =
                __atomic_load_n(&rec->wait.samples[i], __ATOMIC_RELAXED);
        }
        read_usage(&self->voluntary, &self->system);
    }
    /* The wall time lies within the processor time, so that a preemption
     * before or after it is the line's. */
    self->cpu = processor_ns(rec);
    if (rec != NULL) {
        read_wall(rec, &self->ticks, &self->wall);
    }
}

/* The open lines, and their waits, continue as if these ticks had not passed.
 */
static void
stop_clock(const lp_own_work *self, lp_ticks ticks, lp_ns ns)
{
    lp_off_cpu *wait = &self->rec->wait;

    lp_recorder_hide(self->rec, ticks);
    wait->last_leave += ticks;
    wait->read_at += ticks;
    wait->wall += ns;
    for (int i = 0; i < LP_WAIT_CAUSES; i++) { /* what is newer is ours */
        __atomic_store_n(&wait->samples[i], self->samples[i],
                         __ATOMIC_RELAXED);
    }
}

lp_own_time
lp_own_work_end(const lp_own_work *self)
{
    lp_recorder *rec = self->rec;
    lp_own_time took = {0, 0, 0};
    lp_ticks ticks, passed;
    lp_ns wall, off = 0, system = self->system;
    uint64_t voluntary = self->voluntary;

    lp_memory_of_thread.own_work--;
    if (rec != NULL) {
        read_wall(rec, &ticks, &wall);
    }
    took.cpu_ns = processor_ns(rec) - self->cpu;
    if (rec == NULL) {
        return took;
    }
    passed = ticks - self->ticks;
    took.cost = passed;
    wall -= self->wall;
    if (is_split(rec) && wall > took.cpu_ns + LP_WAIT_NOISE_NS) {
        off = wall - took.cpu_ns;
    }
    read_usage(&voluntary, &system);
    if (off != 0) {
        lp_ticks ticks_off =
            (lp_ticks)((double)passed * ((double)off / (double)wall));

        took.cost -= ticks_off < passed ? ticks_off : passed;
        if (voluntary != self->voluntary) {
            took.hidden = passed - took.cost;
            stop_clock(self, took.hidden, off);
        }
    }
    rec->wait.voluntary += voluntary - self->voluntary;
    rec->wait.system += system - self->system;
    rec->cost += took.cost * LP_COST_ONE;
    return took;
}
