#include "gpu/dynlib.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#ifdef __linux__
#  include <fcntl.h>
#  include <link.h>
#  include <unistd.h>

/* True if the file is truncated, in which case mapping it would kill the
 * process.  Its section headers, which are at the end, are missing. */
static bool
is_truncated(const char *path)
{
    ElfW(Ehdr) head;
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool truncated;

    if (file < 0) {
        return false;
    }
    truncated = read(file, &head, sizeof(head)) == (ssize_t)sizeof(head) &&
                memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                fstat(file, &about) == 0 &&
                (uint64_t)about.st_size <
                    head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
    close(file);
    return truncated;
}
#else
static bool
is_truncated(const char *path)
{
    (void)path;
    return false;
}
#endif

/* True for a pipe or device, which may be read for ever. */
static bool
is_endless(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) &&
           !S_ISDIR(about.st_mode);
}

void *
lp_dynlib_open(const char *name, char *why, size_t capacity)
{
    void *library;

    /* The loader searches for a name without a slash. */
    if (strchr(name, '/') != NULL) {
        const char *fault = is_endless(name)     ? "not a regular file"
                            : is_truncated(name) ? "the file was cut short"
                                                 : NULL;

        if (fault != NULL) {
            snprintf(why, capacity, "%s: %s", name, fault);
            return NULL;
        }
    }
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *error = dlerror();

        snprintf(why, capacity, "%s", error != NULL ? error : name);
    }
    return library;
}

bool
lp_dynlib_find(void *library, const lp_symbol *symbols, size_t n,
               void *functions, char *why, size_t capacity)
{
    for (size_t i = 0; i < n; i++) {
        void *found = dlsym(library, symbols[i].name);

        if (found == NULL && !symbols[i].optional) {
            snprintf(why, capacity, "it has no %s", symbols[i].name);
            return false;
        }
        memcpy((char *)functions + symbols[i].offset, &found, sizeof(found));
    }
    return true;
}
