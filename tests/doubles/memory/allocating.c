/* An extension module's part that allocates: each function calls the C
 * library in one way, so that tests know the bytes and the caller. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *al_malloc(size_t bytes);
EXPORT void *al_calloc(size_t n, size_t size);
EXPORT void *al_realloc(void *block, size_t bytes);
EXPORT void *al_reallocarray(void *block, size_t n, size_t size);
EXPORT void *al_posix_memalign(size_t alignment, size_t bytes);
EXPORT void *al_aligned_alloc(size_t alignment, size_t bytes);
EXPORT void *al_memalign(size_t alignment, size_t bytes);
EXPORT void *al_valloc(size_t bytes);
EXPORT void *al_by_variable(size_t bytes);
EXPORT void *al_by_constant(size_t bytes);
EXPORT void *al_by_address(size_t bytes);
typedef void *allocator(size_t bytes);
EXPORT allocator *al_set_variable(allocator *function);
EXPORT void al_free(void *block);
EXPORT void *al_map(void *start, size_t bytes, int protection, int flags);
EXPORT void *al_map_file(size_t bytes, int file);
EXPORT int al_unmap(void *start, size_t bytes);
EXPORT void *al_remap(void *start, size_t old_bytes, size_t bytes);
EXPORT void *al_remap_to(void *start, size_t old_bytes, size_t bytes,
                         void *wanted);
EXPORT void al_batch(void **blocks, size_t n, size_t bytes);
EXPORT void al_free_batch(void **blocks, size_t n);
EXPORT int al_batch_in_thread(void **blocks, size_t n, size_t bytes);
EXPORT int al_new_batch(void **blocks, size_t n, size_t bytes);
EXPORT void *al_open(const char *name);
EXPORT void *al_find(void *library, const char *name);
EXPORT const char *al_variable_of_environment(const char *name);
EXPORT void al_churn(size_t rounds, size_t bytes);
EXPORT void al_churn_maps(size_t rounds, size_t bytes);

/* As libraries keep their allocators: in data, and in data that is read-only
 * once it is relocated. */
static void *(*volatile variable)(size_t) = malloc;
static void *(*const constants[])(size_t) = {malloc};

const char *
al_variable_of_environment(const char *name)
{
    return getenv(name);
}

void *
al_malloc(size_t bytes)
{
    return malloc(bytes);
}

void *
al_calloc(size_t n, size_t size)
{
    return calloc(n, size);
}

void *
al_realloc(void *block, size_t bytes)
{
    return realloc(block, bytes);
}

void *
al_reallocarray(void *block, size_t n, size_t size)
{
    return reallocarray(block, n, size);
}

void *
al_posix_memalign(size_t alignment, size_t bytes)
{
    void *block = NULL;

    return posix_memalign(&block, alignment, bytes) == 0 ? block : NULL;
}

void *
al_aligned_alloc(size_t alignment, size_t bytes)
{
    return aligned_alloc(alignment, bytes);
}

void *
al_memalign(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

void *
al_valloc(size_t bytes)
{
    return valloc(bytes);
}

void *
al_by_variable(size_t bytes)
{
    return variable(bytes);
}

void *
al_by_constant(size_t bytes)
{
    return (*(void *(*const volatile *)(size_t))constants)(bytes);
}

void *
al_by_address(size_t bytes)
{
    void *(*volatile function)(size_t) = malloc;

    return function(bytes);
}

allocator *
al_set_variable(allocator *function)
{
    allocator *before = variable;

    variable = function;
    return before;
}

void
al_free(void *block)
{
    free(block);
}

void *
al_map(void *start, size_t bytes, int protection, int flags)
{
    return mmap(start, bytes, protection, flags, -1, 0);
}

void *
al_map_file(size_t bytes, int file)
{
    return mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
}

int
al_unmap(void *start, size_t bytes)
{
    return munmap(start, bytes);
}

void *
al_remap(void *start, size_t old_bytes, size_t bytes)
{
    return mremap(start, old_bytes, bytes, MREMAP_MAYMOVE);
}

void *
al_remap_to(void *start, size_t old_bytes, size_t bytes, void *wanted)
{
    return mremap(start, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                  wanted);
}

void
al_batch(void **blocks, size_t n, size_t bytes)
{
    for (size_t i = 0; i < n; i++) {
        blocks[i] = malloc(bytes);
    }
}

void
al_free_batch(void **blocks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(blocks[i]);
    }
}

typedef struct batch {
    void **blocks;
    size_t n, bytes;
} batch;

static void *
run_batch(void *arg)
{
    const batch *self = arg;

    al_batch(self->blocks, self->n, self->bytes);
    return NULL;
}

/* In a thread that has no Python. */
int
al_batch_in_thread(void **blocks, size_t n, size_t bytes)
{
    batch work = {blocks, n, bytes};
    pthread_t thread;

    return pthread_create(&thread, NULL, run_batch, &work) != 0 ||
           pthread_join(thread, NULL) != 0;
}

/* By operator new, if any library has it; free() takes the blocks. */
extern void *_Znwm(size_t bytes) __attribute__((weak));

int
al_new_batch(void **blocks, size_t n, size_t bytes)
{
    for (size_t i = 0; _Znwm != NULL && i < n; i++) {
        blocks[i] = _Znwm(bytes);
    }
    return _Znwm != NULL;
}

void *
al_open(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *
al_find(void *library, const char *name)
{
    return dlsym(library, name);
}

/* Allocate, write and free, as a thread that has no Python. */
void
al_churn(size_t rounds, size_t bytes)
{
    for (size_t i = 0; i < rounds; i++) {
        char *block = al_malloc(bytes);

        memset(block, 1, bytes);
        block = al_realloc(block, 2 * bytes);
        memset(block, 2, 2 * bytes);
        al_free(block);
    }
}

void
al_churn_maps(size_t rounds, size_t bytes)
{
    for (size_t i = 0; i < rounds; i++) {
        char *start = al_map(NULL, 3 * bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS);

        al_unmap(start + bytes, bytes);
        al_unmap(start, bytes);
        al_unmap(start + 2 * bytes, bytes);
    }
}
