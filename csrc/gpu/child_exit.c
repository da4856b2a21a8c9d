#include "gpu/child_exit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__ /* has on_exit */

#  include <fcntl.h>
#  include <link.h>
#  include <sys/syscall.h>
#  include <time.h>
#  include <unistd.h>

#  include "gpu/side_thread.h"

enum {
    LIBRARIES = 4,
    LOOK_NS = 50000000,  /* between two looks at the thread */
    LOOKS = 6,           /* in a row inside a library until the process ends */
    MAX_STACK = 1 << 20, /* bytes used by exit handlers */
    OWN_FRAME = 256      /* bytes of the first one's, at most */
};

/* Addresses of a library's code. */
typedef struct code_range {
    uintptr_t address; /* an address inside */
    uintptr_t begin, end;
} code_range;

static code_range libraries[LIBRARIES];
static int n_libraries;

/* The thread that exits. */
static struct {
    int file;      /* /proc/.../syscall, which has its stack pointer */
    uintptr_t top; /* its stack grows down from here */
    int status;    /* of the process */
} leaver;

static int
find_code(struct dl_phdr_info *object, size_t size, void *to)
{
    code_range *range = to;

    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD && begin <= range->address &&
            range->address < begin + part->p_memsz) {
            range->begin = begin;
            range->end = begin + part->p_memsz;
            return 1;
        }
    }
    return 0;
}

void
lp_child_exit_add(uintptr_t function)
{
    code_range range = {.address = function};

    for (int i = 0; i < n_libraries; i++) {
        if (libraries[i].begin <= range.address &&
            range.address < libraries[i].end) {
            return;
        }
    }
    if (n_libraries < LIBRARIES && dl_iterate_phdr(find_code, &range) != 0) {
        libraries[n_libraries++] = range;
    }
}

static bool
is_code(uintptr_t address)
{
    for (int i = 0; i < n_libraries; i++) {
        if (libraries[i].begin <= address && address < libraries[i].end) {
            return true;
        }
    }
    return false;
}

/* True if the stack from `at` on has a return address into a library.  It is
 * the stack of another thread, which is blocked. */
__attribute__((no_sanitize("address"))) static bool
has_return_address(uintptr_t at)
{
    if (at % sizeof(uintptr_t) != 0 || at >= leaver.top ||
        leaver.top - at > MAX_STACK) {
        return false;
    }
    for (; at < leaver.top; at += sizeof(uintptr_t)) {
        uintptr_t word;

        memcpy(&word, (const void *)at, sizeof(word));
        if (is_code(word)) {
            return true;
        }
    }
    return false;
}

/* True if the thread waits for another thread inside a library.  The file has
 * "running", or the number of a system call, its arguments, stack pointer and
 * program counter. */
static bool
is_inside(void)
{
    char text[256];
    ssize_t size = pread(leaver.file, text, sizeof(text) - 1, 0);
    char *last;

    if (size <= 0) {
        return false;
    }
    text[size] = '\0';
    last = strrchr(text, ' ');
    if (last == NULL || strtol(text, NULL, 10) != SYS_futex) {
        return false;
    }
    *last = '\0'; /* cuts off the program counter */
    last = strrchr(text, ' ');
    return last != NULL &&
           has_return_address((uintptr_t)strtoull(last, NULL, 16));
}

static void *
look(void *unused)
{
    struct timespec pause = {.tv_nsec = LOOK_NS};

    (void)unused;
    for (int inside = 0; inside < LOOKS;) {
        nanosleep(&pause, NULL);
        inside = is_inside() ? inside + 1 : 0;
    }
    fflush(NULL);
    _exit(leaver.status);
}

/* The first exit handler: it was registered last. */
static void
begin_exit(int status, void *unused)
{
    static pid_t begun; /* by this process */

    (void)unused;
    if (begun == getpid()) {
        return;
    }
    begun = getpid();
    leaver.status = status;
    leaver.top = (uintptr_t)__builtin_frame_address(0) + OWN_FRAME;
    leaver.file = open("/proc/thread-self/syscall", O_RDONLY | O_CLOEXEC);
    if (leaver.file < 0) {
        return;
    }
    lp_side_thread_start(look);
}

void
lp_child_exit_watch(void)
{
    on_exit(begin_exit, NULL);
}

#else

void
lp_child_exit_add(uintptr_t function)
{
    (void)function;
}

void
lp_child_exit_watch(void)
{
}

#endif
