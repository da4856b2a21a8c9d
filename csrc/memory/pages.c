#include "memory/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "memory/sites.h"

#ifndef MAP_NORESERVE
#  define MAP_NORESERVE 0
#endif

static bool
has_room(int resource, uint64_t bytes)
{
    struct rlimit limit;

    return getrlimit(resource, &limit) != 0 ||
           limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

bool
lp_pages_are_spare(size_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned long long addresses = 0, data = 0;
    char text[128];
    int error = errno, fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    if (fd >= 0) {
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    text[n < 0 ? 0 : n] = '\0';
    if (sscanf(text, "%llu %*u %*u %*u %*u %llu", &addresses, &data) != 2) {
        addresses = data = 0;
    }
    errno = error;
    return has_room(RLIMIT_AS, addresses * page + bytes) &&
           has_room(RLIMIT_DATA, data * page + bytes);
}

void *
lp_pages_map(size_t bytes)
{
    int error = errno;
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (pages == MAP_FAILED) {
        pages = NULL;
    }
#ifdef MADV_NOHUGEPAGE
    else { /* few of many pages are ever used */
        madvise(pages, bytes, MADV_NOHUGEPAGE);
    }
#endif
    errno = error;
    return pages;
}

void
lp_pages_unmap(void *pages, size_t bytes)
{
    int error = errno;

    munmap(pages, bytes);
    errno = error;
}

void
lp_pages_clear(void *pages, size_t bytes)
{
#ifdef __linux__
    int error = errno;

    if (madvise(pages, bytes, MADV_DONTNEED) != 0) {
        memset(pages, 0, bytes); /* they are locked */
    }
    errno = error;
#else
    memset(pages, 0, bytes);
#endif
}

#ifdef __linux__

static bool
has_data(const uint64_t *page, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(*page); i++) {
        if (LP_READ(page[i]) != 0) {
            return true;
        }
    }
    return false;
}

#endif

size_t
lp_pages_used(void *pages, size_t bytes)
{
#ifdef __linux__
    enum { AT_ONCE = 1024 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = 0;
    unsigned char states[AT_ONCE];

    for (size_t done = 0; done < bytes; done += AT_ONCE * page) {
        size_t part = bytes - done;

        part = part < AT_ONCE * page ? part : AT_ONCE * page;
        if (mincore((char *)pages + done, part, states) != 0) {
            return bytes;
        }
        for (size_t i = 0; i < (part + page - 1) / page; i++) {
            const char *at = (char *)pages + done + i * page;

            if ((states[i] & 1) != 0 && has_data((const void *)at, page)) {
                used += page;
            }
        }
    }
    return used < bytes ? used : bytes;
#else
    (void)pages;
    return bytes;
#endif
}
