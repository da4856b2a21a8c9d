/* Delivery of activity records, on a thread of the double of CUPTI.
 *
 * Work is in `inbox` until the worker moves it to `waiting` of its client;
 * finished work is written into buffers of the client.
 */
#include "cupti/fake_cupti.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NOTICED = 4096 }; /* number of pieces of work that wakes the worker */

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER; /* the worker */
static pthread_cond_t done = PTHREAD_COND_INITIALIZER; /* the flusher */

/* Under desk. */
static fk_pile inbox;
static uint64_t asked, answered; /* flushes, by number */
static bool force;
static uint64_t not_before; /* of fk_true_time(CLOCK_REALTIME); 0: at once */
static uint64_t period;     /* ns; 0: none */

/* Held while the client's callbacks run: a client that calls with a lock that
 * its callbacks take has the deadlock of the real library. */
static pthread_mutex_t delivery = PTHREAD_MUTEX_INITIALIZER;

static uint64_t drop_every, zero_every, late_ms, stuck_ms, noticed;
static bool reverse;  /* the order of the records that one delivery has */
static bool withhold; /* whole buffers with unfinished work, until forced */
static size_t buffer_bytes;
static uint64_t at_once; /* max number of records of one delivery; 0: any */
static _Atomic bool started;
static pthread_once_t once = PTHREAD_ONCE_INIT; /* the thread */

static struct timespec
deadline(uint64_t ns)
{
    uint64_t at = fk_true_time(CLOCK_REALTIME) + ns;
    return (struct timespec){(time_t)(at / 1000000000u),
                             (long)(at % 1000000000u)};
}

/* --- lists of work ----------------------------------------------------- */

static void
add(fk_pile *to, const fk_work *items, size_t count)
{
    if (to->count + count > to->room) {
        to->room = 2 * (to->count + count) + 64;
        to->items = realloc(to->items, to->room * sizeof *items);
        if (!to->items) {
            abort();
        }
    }
    for (size_t i = 0; i < count; i++) {
        to->items[to->count++] = items[i];
    }
}

/* --- the clock of the device ------------------------------------------- */

enum { KNOWN = 64 };

static _Atomic bool known[KNOWN]; /* contexts made while CUPTI was attached */
static enum { GIVEN, LATE, REALTIME, MONOTONIC, NONE } device_clock;

void
fk_worker_knows(uint32_t context)
{
    known[context % KNOWN] = true;
}

static void
choose_device_clock(void)
{
    static const char *const names[] = {"given", "late", "realtime",
                                        "monotonic", "none"};
    const char *name = getenv("FAKE_CUPTI_CLOCK");
    for (size_t i = 0; name && i < sizeof names / sizeof names[0]; i++) {
        if (!strcmp(name, names[i])) {
            device_clock = i;
        }
    }
}

/* Return what to add to the times of a device's record: it does not always
 * have the clock that the client gave. */
static uint64_t
shift_of(const fk_work *work)
{
    struct timespec now;
    switch (device_clock) {
    case LATE:
        if (known[work->context % KNOWN]) {
            return 0;
        }
        /* fall through */
    case REALTIME:
        return fk_cupti_own_clock() - fk_cupti_now();
    case MONOTONIC:
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec -
               fk_cupti_now();
    case NONE:
        return (uint64_t)1 << 62;
    default:
        return 0;
    }
}

/* --- finished work ------------------------------------------------------ */

static bool
is_done(const fk_work *work, uint64_t now)
{
    return !work->queue || work->queue->synced >= work->number ||
           work->end <= now;
}

static bool
nth(uint64_t every, uint64_t number)
{
    return every && number % every == 0;
}

/* Deliver finished work; `shift`: what the client's clock is ahead. */
static void
deliver(fk_client *client, fk_work *work, uint64_t shift)
{
    if (work->queue) {
        uint64_t number = ++client->device_records;
        if (nth(drop_every, number)) {
            client->dropped++;
            return;
        }
        if (nth(zero_every, number)) {
            work->start = work->end = 0;
        }
    }
    if (work->start) {
        shift += work->queue ? shift_of(work) : 0;
        fk_set_times(client, work, shift);
    }
    if (!fk_buffers_put(client, work)) {
        client->dropped++;
    }
}

/* Return the end of the work from number `i` on that fits into one buffer, and
 * whether any of it is unfinished. */
static size_t
buffer_end(const fk_pile *waiting, size_t i, uint64_t now, bool *unfinished)
{
    size_t room = buffer_bytes;
    *unfinished = false;
    while (i < waiting->count &&
           room >= fk_record_size(waiting->items[i].kind)) {
        room -= fk_record_size(waiting->items[i].kind);
        *unfinished = *unfinished || !is_done(&waiting->items[i], now);
        i++;
    }
    return i;
}

static void
turn_round(fk_pile *work)
{
    for (size_t i = 0; i < work->count / 2; i++) {
        fk_work first = work->items[i];
        work->items[i] = work->items[work->count - 1 - i];
        work->items[work->count - 1 - i] = first;
    }
}

/* Write finished work into buffers; a forced flush also writes other work. */
static void
sort_out(fk_client *client, uint64_t now, bool flush, bool forced)
{
    fk_pile *waiting = &client->waiting;
    uint64_t shift = fk_shift_of(client);
    size_t kept = 0, delivered = 0, end = 0;
    bool withheld = false;
    if (reverse) {
        turn_round(waiting);
    }
    for (size_t i = 0; i < waiting->count; i++) {
        fk_work *work = &waiting->items[i];
        bool over = is_done(work, now);
        bool full = at_once && delivered == at_once;
        if (withhold && i == end) {
            end = buffer_end(waiting, i, now, &withheld);
        }
        if ((!over || full || withheld) && !forced) {
            waiting->items[kept++] = *work;
            continue;
        }
        if (!over) { /* unfinished: times are unknown */
            work->start = work->end = 0;
        }
        deliver(client, work, shift);
        delivered++;
    }
    waiting->count = kept;
    if (forced) {
        fk_buffers_hand_back_all(client);
    }
    else {
        fk_buffers_hand_back(client, flush ? 0 : 1);
    }
}

/* Anybody's unfinished work is handed out by a forced flush, whoever asks. */
static void
check_forced(uint64_t now)
{
    fk_client *client;
    for (uint32_t i = 0; (client = fk_client_at(i)); i++) {
        for (size_t n = 0; n < client->waiting.count; n++) {
            if (fk_clients_in_use() > 1 && client->subscribed &&
                !is_done(&client->waiting.items[n], now)) {
                fk_misuse("a forced flush beside others hands out records "
                          "of %s",
                          *client->name ? client->name : "a client");
            }
        }
    }
}

static void
sort_out_all(bool flush, bool forced)
{
    pthread_mutex_lock(&delivery);
    uint64_t now = fk_cupti_now();
    fk_client *client;
    if (forced) {
        check_forced(now);
    }
    for (uint32_t i = 0; (client = fk_client_at(i)); i++) {
        if (client->registered) {
            sort_out(client, now, flush, forced);
        }
    }
    pthread_mutex_unlock(&delivery);
}

/* --- the thread ------------------------------------------------------ */

/* Sleep until there is work; desk is held. */
static void
sleep_a_while(void)
{
    if (asked != answered && not_before) {
        uint64_t now = fk_true_time(CLOCK_REALTIME);
        struct timespec until =
            deadline(not_before > now ? not_before - now : 0);
        pthread_cond_timedwait(&wake, &desk, &until);
    }
    else if (period) {
        struct timespec until = deadline(period);
        pthread_cond_timedwait(&wake, &desk, &until);
    }
    else {
        pthread_cond_wait(&wake, &desk);
    }
}

static bool
due(void)
{
    return asked != answered && fk_true_time(CLOCK_REALTIME) >= not_before;
}

static void *
work_for_ever(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&desk);
    for (;;) {
        if (!due() && inbox.count < noticed) {
            sleep_a_while();
        }
        bool flush = due();
        bool forced = flush && force;
        uint64_t number = asked;
        if (flush) {
            force = false;
        }
        for (size_t i = 0; i < inbox.count; i++) {
            add(&inbox.items[i].client->waiting, &inbox.items[i], 1);
        }
        inbox.count = 0;
        pthread_mutex_unlock(&desk);
        sort_out_all(flush, forced);
        pthread_mutex_lock(&desk);
        if (flush) {
            answered = number;
            pthread_cond_broadcast(&done);
        }
    }
    return NULL;
}

static void
start(void)
{
    fk_buffers_start();
    choose_device_clock();
    drop_every = fk_env("FAKE_CUPTI_DROP", 0);
    zero_every = fk_env("FAKE_CUPTI_ZERO_TIMES", 0);
    late_ms = fk_env("FAKE_CUPTI_LATE_MS", 0);
    at_once = fk_env("FAKE_CUPTI_AT_ONCE", 0);
    stuck_ms = fk_env("FAKE_CUPTI_STUCK_MS", 30000);
    reverse = fk_env("FAKE_CUPTI_REVERSE", 0) != 0;
    withhold = fk_env("FAKE_CUPTI_WITHHOLD", 0) != 0;
    uint64_t limit = fk_env("FAKE_CUPTI_BUFFER_LIMIT", 0);
    buffer_bytes = limit ? limit : 2 << 20;
    size_t fit = limit / fk_record_size(FK_KERNEL);
    noticed = limit && fit < NOTICED ? fit + !fit : NOTICED;
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, work_for_ever, NULL)) {
        abort();
    }
    pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    started = true;
    fk_fork_note_worker();
}

/* --- called by the other files ------------------------------------------ */

void
fk_worker_register(fk_client *client, fk_requested *requested,
                   fk_completed *completed)
{
    pthread_mutex_lock(&delivery);
    /* It gets the buffers in flight, too, of whoever registered before. */
    client->requested = requested;
    client->completed = completed;
    client->registered = true;
    pthread_mutex_unlock(&delivery);
    pthread_once(&once, start);
}

void
fk_worker_register_v2(fk_client *client, fk_requested_v2 *requested,
                      fk_completed_v2 *completed)
{
    pthread_mutex_lock(&delivery);
    client->requested_v2 = requested;
    client->completed_v2 = completed;
    client->registered = true;
    pthread_mutex_unlock(&delivery);
    pthread_once(&once, start);
}

static void
lock_delivery(const char *function)
{
    struct timespec until = deadline(stuck_ms * 1000000u);
    if (pthread_mutex_timedlock(&delivery, &until)) {
        fk_misuse("%s: deadlock, a callback waits", function);
    }
}

/* Never call the client again, nor write into its buffers. */
void
fk_worker_forget(fk_client *client)
{
    for (size_t kind = 0; kind < FK_KINDS; kind++) {
        client->kinds[kind] = 0;
    }
    if (!started) {
        return;
    }
    lock_delivery("cuptiUnsubscribe");
    client->registered = false;
    client->waiting.count = 0;
    fk_buffers_abandon(client);
    pthread_mutex_unlock(&delivery);
}

void
fk_worker_add(const fk_work *work)
{
    if (!started) {
        return;
    }
    fk_fork_note_record(work);
    if (fk_forked) {
        return;
    }
    fk_buffers_ask_early(work->client);
    pthread_mutex_lock(&desk);
    add(&inbox, work, 1);
    if (inbox.count == noticed) {
        pthread_cond_signal(&wake);
    }
    pthread_mutex_unlock(&desk);
}

void
fk_worker_flush(bool forced)
{
    struct timespec until = deadline(stuck_ms * 1000000u);
    pthread_mutex_lock(&desk);
    bool pending = asked != answered; /* not delayed by later work */
    uint64_t number = ++asked;
    force = force || forced;
    if (late_ms && !pending) {
        not_before = fk_true_time(CLOCK_REALTIME) + late_ms * 1000000u;
    }
    pthread_cond_signal(&wake);
    while (!late_ms && answered < number) {
        if (pthread_cond_timedwait(&done, &desk, &until) == ETIMEDOUT) {
            fk_misuse("cuptiActivityFlushAll: deadlock, a callback waits");
        }
    }
    pthread_mutex_unlock(&desk);
}

void
fk_worker_period(uint32_t ms)
{
    pthread_mutex_lock(&desk);
    period = (uint64_t)ms * 1000000u;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&desk);
}

/* Return the number since the last call; waits while callbacks run. */
size_t
fk_worker_dropped(fk_client *client)
{
    if (!fk_inside) {
        lock_delivery("cuptiActivityGetNumDroppedRecords");
        pthread_mutex_unlock(&delivery);
    }
    return atomic_exchange(&client->dropped, 0);
}
