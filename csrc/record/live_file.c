#include "record/live_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/arena.h"
#include "record/call_paths.h"
#include "record/call_tree.h"
#include "record/file_table.h"
#include "record/forks.h"
#include "record/recorder.h"

_Static_assert(sizeof(lp_block) % LP_RECORD_BYTES == 0,
               "records must be aligned");

enum {
    CHUNK_BYTES = 256 * 1024, /* room is reserved in these steps */
    PATH_BYTES = 4096,
    MAX_INTERRUPTIONS = 10, /* some systems begin anew after a signal */
    MIN_SCALE_NS = 20000,   /* from so long on the scale is exact to 1 % */
    NS_PER_S = 1000000000
};

/* The largest live file.  A recursion without end would otherwise fill the
 * disk before memory is out. */
#define MAX_FILE_BYTES ((uint64_t)1 << 30)

static struct {
    bool open;     /* new memory may come from the file */
    bool watching; /* for forks */
    char path[PATH_BYTES];
    dev_t device;
    ino_t inode;
    uint64_t end;      /* where the next block begins, */
    uint64_t reserved; /* and the end of the room for it */
    bool is_mine;      /* the file is of this process, not of one that it was
                          forked from */
    pid_t pid;         /* of that process */
    lp_clock clock;
    lp_live_header *header; /* NULL: there is none */
    lp_block *last;         /* blocks that are, or were, in the file, linked by
                               `lower` */
    char *copies;           /* owned, during a fork: of all of them, and */
    size_t copied;          /* their bytes; 0 if there are none */
    lp_arena log;
} live;

/* Held while blocks change, and while the process forks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint32_t
lp_live_layout(void)
{
    const size_t sizes[] = {
        sizeof(lp_block),
        sizeof(lp_live_header),
        sizeof(lp_recorder),
        offsetof(lp_recorder, frames),
        offsetof(lp_recorder, native_id),
        offsetof(lp_recorder, name),
        offsetof(lp_recorder, number),
        offsetof(lp_recorder, wait),
        offsetof(lp_off_cpu, last_leave),
        offsetof(lp_off_cpu, pending),
        offsetof(lp_off_cpu, n_pending),
        sizeof(lp_off_cpu_pending),
        sizeof(lp_frame),
        offsetof(lp_frame, counters),
        offsetof(lp_frame, first),
        offsetof(lp_frame, node),
        sizeof(lp_code_counters),
        offsetof(lp_code_counters, serial),
        offsetof(lp_code_counters, waits),
        sizeof(lp_line),
        sizeof(lp_node),
        offsetof(lp_node, number),
        sizeof(lp_off_cpu_line),
        sizeof(lp_call_path_row),
        LP_CALL_PATHS_PER_CHUNK,
        LP_WAIT_CAUSES,
        LP_COST_ONE,
    };
    uint64_t hash = LP_LIVE_FORMAT;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        hash = (hash ^ sizes[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return (uint32_t)hash;
}

/* -- room in the file ------------------------------------------------------
 */

static size_t
whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

/* True if the file may have this size.  The process gets a signal that would
 * end it if its limit is lower. */
static bool
is_allowed(uint64_t bytes)
{
    struct rlimit limit;

    return bytes <= MAX_FILE_BYTES && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

/* Return a descriptor of the file; -1, with errno, also if the name is another
 * file's now. */
static int
open_again(void)
{
    int fd = open(live.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (fd >= 0 && (fstat(fd, &status) != 0 || status.st_dev != live.device ||
                    status.st_ino != live.inode)) {
        close(fd);
        errno = ENOENT;
        return -1;
    }
    return fd;
}

#ifdef __linux__
/* Allocate room on the disk.  0, or errno. */
static int
allocate(int fd, off_t offset, off_t bytes)
{
    int error = EINTR;

    for (int i = 0; i < MAX_INTERRUPTIONS && error == EINTR; i++) {
        error = posix_fallocate(fd, offset, bytes);
    }
    return error;
}

/* Give back room on the disk, at the end of the file, which keeps its size:
 * another process may have it mapped, to see which run it is of, and would die
 * of SIGBUS beyond a new end.  A file system that cannot do this keeps the
 * room. */
static void
deallocate(int fd, off_t offset, off_t bytes)
{
    (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                    bytes);
}

/* Move pages to another address, in place of what is there. */
static bool
move_pages(void *pages, size_t bytes, void *to)
{
    return mremap(pages, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) !=
           MAP_FAILED;
}
#else
/* No room is ever reserved, so there are no live files. */
static int
allocate(int fd, off_t offset, off_t bytes)
{
    (void)fd, (void)offset, (void)bytes;
    return ENOTSUP;
}

static void
deallocate(int fd, off_t offset, off_t bytes)
{
    (void)fd, (void)offset, (void)bytes;
}

static bool
move_pages(void *pages, size_t bytes, void *to)
{
    (void)pages, (void)bytes, (void)to;
    return false;
}
#endif

/* Reserve room up to `end`.  0, or errno. */
static int
reserve(int fd, uint64_t end)
{
    uint64_t wanted = (end + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
    int error;

    if (end <= live.reserved) {
        return 0;
    }
    if (!is_allowed(wanted)) {
        return EFBIG;
    }
    error =
        allocate(fd, (off_t)live.reserved, (off_t)(wanted - live.reserved));
    if (error == 0) {
        live.reserved = wanted;
    }
    return error;
}

/* Map the next block of the file, at `address` if it is not NULL; NULL, with
 * errno, if there is no room. */
static lp_block *
map_next(int fd, size_t bytes, void *address)
{
    int error = reserve(fd, live.end + bytes);
    void *mapped;

    if (error != 0) {
        errno = error;
        return NULL;
    }
    mapped = mmap(address, bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | (address == NULL ? 0 : MAP_FIXED), fd,
                  (off_t)live.end);
    if (mapped == MAP_FAILED) {
        return NULL;
    }
    live.end += bytes;
    return mapped;
}

static void
begin_block(lp_block *block, lp_block_kind kind, size_t bytes)
{
    block->kind = kind;
    block->bytes = bytes;
    block->used = sizeof(lp_block);
    block->address = (uint64_t)(uintptr_t)block;
}

/* [lock] Make a block known: to the reader, if it is in the file, and to a
 * forked child, which moves all blocks to a file of its own. */
static void
publish(lp_block *block)
{
    block->lower = live.last;
    __atomic_store_n(&block->magic, LP_BLOCK_MAGIC, __ATOMIC_RELEASE);
    live.last = block;
}

/* [lock] The file is complete up to here, and not beyond. */
static void
give_up(void)
{
    live.open = false;
    live.header->incomplete = 1;
}

typedef struct room {
    size_t bytes;
    lp_block *block; /* NULL until it is mapped */
} room;

/* Map a block of the file.  0, or errno. */
static int
map_room(void *context)
{
    room *wanted = context;
    int fd = open_again(), error;

    if (fd < 0) {
        return errno;
    }
    wanted->block = map_next(fd, wanted->bytes, NULL);
    error = wanted->block == NULL ? errno : 0;
    close(fd);
    return error;
}

/* [lock] */
static lp_block *
new_live_block(lp_block_kind kind, size_t bytes)
{
    room wanted = {.bytes = bytes};
    lp_block *block;

    if (lp_file_table_retry(map_room, &wanted) != 0) {
        give_up();
        return NULL;
    }
    block = wanted.block;
    begin_block(block, kind, bytes);
    block->is_live = true;
    block->offset = live.end - bytes;
    publish(block);
    return block;
}

/* Return a block in private memory; NULL if memory is out. */
static lp_block *
new_private_block(lp_block_kind kind, size_t bytes)
{
    lp_block *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (block == MAP_FAILED) {
        return NULL;
    }
    begin_block(block, kind, bytes);
    return block;
}

/* Store the scale of the clock, as well as it is known by now. */
static void
note_scale(void)
{
    lp_ticks ticks;
    lp_ns ns;

    lp_clock_pair(&live.clock, &ticks, &ns);
    ticks -= live.clock.ticks0;
    ns -= live.clock.ns0;
    if (live.clock.counter && ns >= MIN_SCALE_NS && ticks != 0) {
        live.header->scale =
            (uint64_t)((__extension__(unsigned __int128) ns << 32) / ticks);
    }
}

lp_block *
lp_block_new(lp_block_kind kind, size_t bytes, bool is_live)
{
    int error = errno; /* the program's */
    lp_block *block = NULL;

    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    bytes = whole_pages(bytes);
    if (is_live && live.header != NULL) {
        pthread_mutex_lock(&lock);
        if (live.open) {
            note_scale();
            block = new_live_block(kind, bytes);
        }
        if (block == NULL) {
            block = new_private_block(kind, bytes);
            if (block != NULL) {
                publish(block);
            }
        }
        pthread_mutex_unlock(&lock);
    }
    else {
        block = new_private_block(kind, bytes);
    }
    errno = error;
    return block;
}

/* [lock] */
static void
unlink_block(const lp_block *block)
{
    lp_block **at = &live.last;

    while (*at != NULL && *at != block) {
        at = &(*at)->lower;
    }
    if (*at != NULL) {
        *at = block->lower;
    }
}

void
lp_block_free(lp_block *block)
{
    int error = errno;

    if (live.header != NULL) {
        pthread_mutex_lock(&lock);
        if (block->is_live && live.header->state < LP_LIVE_ENDED) {
            block->kind = LP_BLOCK_FREE;
        } /* else the file is kept for its counts */
        unlink_block(block);
        pthread_mutex_unlock(&lock);
    }
    munmap(block, block->bytes);
    errno = error;
}

/* -- the log ---------------------------------------------------------------
 */

void
lp_live_log(lp_live_kind kind, uint64_t tracer, const void *head,
            size_t head_bytes, const void *data, size_t bytes)
{
    size_t all = sizeof(lp_live_record) + head_bytes + bytes;
    lp_live_record *record;

    if (!live.open || all > UINT32_MAX / 2) {
        return;
    }
    note_scale();
    record = lp_arena_alloc(&live.log,
                            (all + LP_RECORD_BYTES - 1) / LP_RECORD_BYTES);
    if (record == NULL) {
        return;
    }
    record->bytes = (uint32_t)(head_bytes + bytes);
    record->tracer = tracer;
    if (head_bytes != 0) {
        memcpy(record->data, head, head_bytes);
    }
    if (bytes != 0) {
        memcpy(record->data + head_bytes, data, bytes);
    }
    __atomic_store_n(&record->kind, kind, __ATOMIC_RELEASE);
}

/* -- signals ---------------------------------------------------------------
 */

/* Signals that end a process.  (Python handles SIGINT, and the runner SIGTERM
 * and SIGHUP.)  Those of a fault, the first ones, are watched even if they
 * have a handler, which runs afterwards: such handlers report the fault. */
static const int deadly[] = {SIGSEGV, SIGBUS,    SIGFPE,  SIGILL,  SIGABRT,
                             SIGSYS,  SIGTRAP,   SIGQUIT, SIGXCPU, SIGALRM,
                             SIGPROF, SIGVTALRM, SIGUSR1, SIGUSR2};

enum { N_FAULTS = 4, N_DEADLY = sizeof(deadly) / sizeof(deadly[0]) };

static struct {
    bool is_watched;
    struct sigaction before;
} watched[N_DEADLY];

static int
place_of(int number)
{
    int place = 0;

    while (place < N_DEADLY - 1 && deadly[place] != number) {
        place++;
    }
    return place;
}

/* Note the signal, and leave the rest to what handled it before: a core dump
 * tells the same. */
static void
dying(int number, siginfo_t *info, void *context)
{
    int error = errno, place = place_of(number);

    (void)context;
    /* (A child of vfork has the memory of its parent.) */
    if (live.is_mine && live.pid == getpid()) {
        live.header->signal = (uint32_t)number;
        live.header->state = LP_LIVE_SIGNALLED;
    }
    sigaction(number, &watched[place].before, NULL);
    /* The instruction of a fault fails again once this handler returns. */
    if (place >= N_FAULTS || info->si_code <= 0) {
        raise(number);
    }
    errno = error;
}

/* Watch the signals.  A handler that the program sets replaces this one. */
static void
watch_signals(void)
{
    struct sigaction action = {.sa_sigaction = dying,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N_DEADLY; i++) {
        struct sigaction *before = &watched[i].before;
        bool is_default;

        if (sigaction(deadly[i], NULL, before) != 0) {
            continue;
        }
        is_default =
            !(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_DFL;
        if (is_default || (i < N_FAULTS && before->sa_handler != SIG_IGN)) {
            watched[i].is_watched = sigaction(deadly[i], &action, NULL) == 0;
        }
    }
}

void
lp_live_unwatch_signals(void)
{
    struct sigaction now;

    for (int i = 0; i < N_DEADLY; i++) {
        if (watched[i].is_watched && sigaction(deadly[i], NULL, &now) == 0 &&
            (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == dying) {
            sigaction(deadly[i], &watched[i].before, NULL);
        }
        watched[i].is_watched = false;
    }
}

/* -- forks -----------------------------------------------------------------
 */

/* Whether this process still is the one that it was: a child that was made
 * without handlers of forks, by a system call of the program, finds 0. */
static uint32_t always = 1;
const uint32_t *lp_live_same_process = &always;
static uint32_t *same_process; /* a page that children find wiped, or NULL */

/* Replace the memory of a block by memory that is not its parent's, without
 * the file.  It is shared with children of this process until they have done
 * the same: private memory may be forbidden by RLIMIT_DATA. */
static bool
copy_in_place(char *at, size_t bytes)
{
    static char buffer[CHUNK_BYTES];

    for (size_t n; bytes != 0; at += n, bytes -= n) {
        n = bytes < sizeof(buffer) ? bytes : sizeof(buffer);
        memcpy(buffer, at, n);
        if (mmap(at, n, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) == MAP_FAILED) {
            return false;
        }
        memcpy(at, buffer, n);
    }
    return true;
}

/* Part a block from that of the parent.  `copy` is a private copy, or NULL. */
static void
make_own(lp_block *block, char *copy)
{
    size_t bytes = block->bytes;

    if (copy != NULL && move_pages(copy, bytes, block)) {
        block->is_live = false;
    }
    else if (!copy_in_place((char *)block, bytes)) {
        abort(); /* the child would write to its parent's counts */
    }
}

/* Part all blocks from those of the parent; `copies` is NULL if there are
 * none.
 */
static void
make_all_own(char *copies)
{
    for (lp_block *block = live.last; block != NULL; block = block->lower) {
        if (block->is_live) {
            size_t bytes = block->bytes;

            make_own(block, copies);
            copies = copies == NULL ? NULL : copies + bytes;
        }
    }
    live.open = live.is_mine = false;
    if (same_process != NULL) {
        *same_process = 1;
    }
}

/* Copy all blocks now: by the time at which the child could, its parent may
 * have changed them, and what they point to, which the child does not have. */
void
lp_live_before_fork(void)
{
    size_t at = 0;

    pthread_mutex_lock(&lock);
    live.copied = 0;
    for (lp_block *block = live.last; block != NULL; block = block->lower) {
        live.copied += block->is_live ? block->bytes : 0;
    }
    if (live.copied == 0) {
        return;
    }
    live.copies = mmap(NULL, live.copied, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (live.copies == MAP_FAILED) {
        live.copied = 0;
        return;
    }
    for (lp_block *block = live.last; block != NULL; block = block->lower) {
        if (block->is_live) {
            memcpy(live.copies + at, block, block->used);
            at += block->bytes;
        }
    }
}

void
lp_live_after_fork(void)
{
    if (live.copied != 0) {
        munmap(live.copies, live.copied);
    }
    pthread_mutex_unlock(&lock);
}

void
lp_live_after_fork_in_child(void)
{
    make_all_own(live.copied == 0 ? NULL : live.copies);
    pthread_mutex_unlock(&lock);
}

void
lp_live_forked(void)
{
    if (same_process != NULL && live.header != NULL) {
        lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        make_all_own(NULL);
    }
}

/* Let a child that is made without handlers of forks know that it is one. */
static void
watch_process(void)
{
#ifdef MADV_WIPEONFORK
    size_t bytes = whole_pages(1);
    uint32_t *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED) {
        return;
    }
    if (madvise(page, bytes, MADV_WIPEONFORK) != 0) {
        munmap(page, bytes);
        return;
    }
    *page = 1;
    lp_live_same_process = same_process = page;
#endif
}

/* -- the life of a file ----------------------------------------------------
 */

/* Create the file.  A descriptor, or -1 with errno. */
static int
create(const char *path, const lp_clock *clock)
{
    int fd =
        open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat status;

    if (fd < 0) {
        return -1;
    }
    (void)fchmod(fd, 0600); /* whatever the umask: it is opened again */
    if (strlen(path) >= PATH_BYTES || fstat(fd, &status) != 0) {
        close(fd);
        unlink(path);
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(live.path, path);
    live.device = status.st_dev;
    live.inode = status.st_ino;
    live.end = live.reserved = 0;
    live.clock = *clock;
    return fd;
}

/* Fill in the header of a new file. */
static void
begin_header(lp_live_header *header)
{
    struct timespec now;

    live.pid = getpid();
    live.is_mine = true;
    clock_gettime(CLOCK_REALTIME, &now);
    header->magic = LP_LIVE_MAGIC;
    header->format = LP_LIVE_FORMAT;
    header->layout = lp_live_layout();
    header->pid = (uint64_t)live.pid;
    header->unix_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    lp_clock_pair(&live.clock, &header->ticks, &header->mono_ns);
    header->scale = live.clock.counter ? 0 : (uint64_t)1 << 32;
    header->cost_one = LP_COST_ONE;
    header->signal = header->state = header->incomplete = 0;
    header->block.used = sizeof(*header);
    live.header = header;
}

static void
delete_failed(int fd)
{
    int error = errno;

    close(fd);
    unlink(live.path);
    errno = error;
}

int
lp_live_open(const char *path, const lp_clock *clock)
{
    size_t bytes = whole_pages(sizeof(lp_live_header));
    lp_block *block;
    int fd;

    if (live.header != NULL) {
        return EBUSY;
    }
    fd = create(path, clock);
    if (fd < 0) {
        return errno;
    }
    block = map_next(fd, bytes, NULL);
    if (block == NULL) {
        delete_failed(fd);
        return errno;
    }
    close(fd);
    begin_block(block, LP_BLOCK_HEADER, bytes);
    begin_header((lp_live_header *)block);
    block->is_live = true;
    publish(block);
    lp_arena_init(&live.log, LP_BLOCK_LOG, true);
    live.open = true;
    if (!live.watching) {
        live.watching = true;
        lp_forks_watch();
        watch_process();
    }
    watch_signals();
    return 0;
}

bool
lp_live_is_open(void)
{
    return live.open;
}

bool
lp_live_is_complete(void)
{
    return live.open && !live.header->incomplete;
}

/* Write a block to the file, and map it there in place of private memory. */
static bool
move_block(int fd, lp_block *block)
{
    size_t done = 0;

    block->offset = live.end;
    if (reserve(fd, live.end + block->bytes) != 0) {
        return false;
    }
    while (done < block->used) {
        ssize_t n = pwrite(fd, (char *)block + done, block->used - done,
                           (off_t)(block->offset + done));

        if (n <= 0) {
            return false;
        }
        done += (size_t)n;
    }
    if (map_next(fd, block->bytes, block) == NULL) {
        return false;
    }
    block->is_live = true;
    return true;
}

/* Move all blocks, in the order in which they were made. */
static bool
move_all(int fd)
{
    size_t n = 0, moved = 0;
    lp_block **blocks;

    for (lp_block *at = live.last; at != NULL; at = at->lower) {
        n++;
    }
    blocks = malloc(n * sizeof(lp_block *));
    if (blocks == NULL) {
        return false;
    }
    for (lp_block *at = live.last; at != NULL; at = at->lower) {
        blocks[n - ++moved] = at;
    }
    for (moved = 0; moved < n && move_block(fd, blocks[moved]); moved++) {
    }
    free(blocks);
    return moved == n;
}

typedef struct move {
    const char *path;
    const lp_clock *clock;
} move;

/* 0, or errno; EMFILE only before anything was changed. */
static int
move_to(void *context)
{
    const move *to = context;
    uint64_t scale;
    uint32_t incomplete;
    bool moved;
    int fd = create(to->path, to->clock);

    if (fd < 0) {
        return errno;
    }
    scale = live.header->scale;
    incomplete = live.header->incomplete;
    begin_header(live.header);
    live.header->scale = scale;           /* the clock is the same, */
    live.header->incomplete = incomplete; /* and so is the log */
    moved = move_all(fd);
    close(fd);
    if (!moved) {
        unlink(to->path); /* what was moved stays mapped */
        live.is_mine = false;
        return ENOSPC;
    }
    live.open = true;
    return 0;
}

int
lp_live_move(const char *path, const lp_clock *clock)
{
    move to = {.path = path, .clock = clock};

    if (live.header == NULL || live.is_mine) {
        return EBUSY;
    }
    return lp_file_table_retry(move_to, &to);
}

/* Remove the file, or give back the room behind its end.  0, or errno. */
static int
settle(void *context)
{
    const bool *remove = context;
    int fd = open_again();

    if (fd < 0) {
        return errno;
    }
    if (*remove) {
        unlink(live.path);
    }
    else {
        /* Children may be many, and their files stay until the run is over. */
        deallocate(fd, (off_t)live.end, (off_t)(live.reserved - live.end));
    }
    close(fd);
    return 0;
}

void
lp_live_close(const char *reason, bool remove)
{
    int error = errno;

    if (!live.is_mine) {
        return;
    }
    pthread_mutex_lock(&lock);
    live.open = false;
    note_scale();
    strncpy(live.header->reason, reason, LP_LIVE_REASON - 1);
    live.header->state = remove ? LP_LIVE_WRITTEN : LP_LIVE_ENDED;
    pthread_mutex_unlock(&lock);
    lp_live_unwatch_signals();
    (void)lp_file_table_retry(settle, &remove);
    errno = error;
}
