/* A replacement of malloc and operator new, for LD_PRELOAD, as jemalloc is:
 * its operator new does not call its malloc through a slot. */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *block, size_t bytes);
extern void __libc_free(void *block);

EXPORT void *malloc(size_t bytes);
EXPORT void *calloc(size_t n, size_t size);
EXPORT void *realloc(void *block, size_t bytes);
EXPORT void free(void *block);
EXPORT void *_Znwm(size_t bytes);
EXPORT size_t other_malloc_calls(void);

static size_t calls;

void *
malloc(size_t bytes)
{
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return __libc_malloc(bytes);
}

void *
calloc(size_t n, size_t size)
{
    return __libc_calloc(n, size);
}

void *
realloc(void *block, size_t bytes)
{
    return __libc_realloc(block, bytes);
}

void
free(void *block)
{
    __libc_free(block);
}

void *
_Znwm(size_t bytes)
{
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return __libc_malloc(bytes);
}

size_t
other_malloc_calls(void)
{
    return __atomic_load_n(&calls, __ATOMIC_RELAXED);
}
