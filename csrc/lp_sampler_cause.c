/* What a blocked thread waits for, by the system call that it is in. */
#include "lp_sampler.h"

#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#  include <sys/syscall.h>

/* Input and output.  Not all processors have all of these calls. */
static const long io_calls[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_recvmmsg,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
    SYS_accept,
    SYS_accept4,
    SYS_connect,
    SYS_shutdown,
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_pwait,
    SYS_fsync,
    SYS_fdatasync,
    SYS_sync,
    SYS_msync,
    SYS_sendfile,
    SYS_splice,
    SYS_tee,
    SYS_vmsplice,
    SYS_openat,
    SYS_close,
    SYS_fcntl,
    SYS_flock,
    SYS_ioctl,
    SYS_ftruncate,
    SYS_truncate,
    SYS_fallocate,
    SYS_getdents64,
    SYS_newfstatat,
    SYS_fstat,
    SYS_statfs,
    SYS_unlinkat,
    SYS_mkdirat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_io_getevents,
    SYS_io_submit,
#  ifdef SYS_poll
    SYS_poll,
#  endif
#  ifdef SYS_select
    SYS_select,
#  endif
#  ifdef SYS_epoll_wait
    SYS_epoll_wait,
#  endif
#  ifdef SYS_epoll_pwait2
    SYS_epoll_pwait2,
#  endif
#  ifdef SYS_open
    SYS_open,
#  endif
#  ifdef SYS_stat
    SYS_stat,
#  endif
#  ifdef SYS_lstat
    SYS_lstat,
#  endif
#  ifdef SYS_unlink
    SYS_unlink,
#  endif
#  ifdef SYS_rename
    SYS_rename,
#  endif
#  ifdef SYS_mkdir
    SYS_mkdir,
#  endif
#  ifdef SYS_renameat2
    SYS_renameat2,
#  endif
#  ifdef SYS_syncfs
    SYS_syncfs,
#  endif
#  ifdef SYS_sync_file_range
    SYS_sync_file_range,
#  endif
#  ifdef SYS_copy_file_range
    SYS_copy_file_range,
#  endif
#  ifdef SYS_preadv2
    SYS_preadv2,
#  endif
#  ifdef SYS_pwritev2
    SYS_pwritev2,
#  endif
#  ifdef SYS_statx
    SYS_statx,
#  endif
#  ifdef SYS_io_uring_enter
    SYS_io_uring_enter,
#  endif
};

static bool
is_io(long call)
{
    for (size_t i = 0; i < sizeof(io_calls) / sizeof(io_calls[0]); i++) {
        if (io_calls[i] == call) {
            return true;
        }
    }
    return false;
}

/* How many descriptors the call waits for; -1: it is no such call. */
static long
waits_for(long call, unsigned long first, unsigned long second)
{
#  ifdef SYS_select
    if (call == SYS_select) {
        return (long)first;
    }
#  endif
#  ifdef SYS_poll
    if (call == SYS_poll) {
        return (long)second;
    }
#  endif
    if (call == SYS_pselect6) {
        return (long)first;
    }
    return call == SYS_ppoll ? (long)second : -1;
}

/* Linux: "running", or the call's number and arguments, or -1 and where it is
 * in a program that waits without having called, for a page.  See proc(5). */
lp_cause
lp_sampler_cause(const char *text, uintptr_t low, uintptr_t high)
{
    char *end;
    long call = strtol(text, &end, 10);
    unsigned long first = strtoul(end, &end, 16);
    unsigned long second = strtoul(end, &end, 16);

    if (strncmp(text, "running", 7) == 0) {
        return LP_WAIT_READY;
    }
    if (call == SYS_futex) {
        return first >= low && first < high ? LP_WAIT_GIL : LP_WAIT_LOCK;
    }
    if (call == SYS_clock_nanosleep || call == SYS_nanosleep ||
        waits_for(call, first, second) == 0) {
        return LP_WAIT_SLEEP;
    }
    return call == -1 || is_io(call) ? LP_WAIT_IO : LP_WAIT_OTHER;
}

#else

lp_cause
lp_sampler_cause(const char *text, uintptr_t low, uintptr_t high)
{
    (void)text;
    (void)low;
    (void)high;
    return LP_WAIT_UNSEEN;
}

#endif
