/* A tool that takes CUPTI's buffers without a subscription, as PyTorch's
 * profiler does from 2.15 on: CUPTI delivers to whoever registered last.
 *
 * A buffer that is not of this tool is counted, not read and not freed.  At
 * the end the tool frees all buffers that the double still has, so that a
 * buffer which another tool has freed ends the process.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 16, MAX = 4096, CONCURRENT_KERNEL = 10, MEMCPY = 1 };

typedef void requested_fn(uint8_t **buffer, size_t *size, size_t *records);
typedef void completed_fn(void *context, uint32_t stream, uint8_t *buffer,
                          size_t size, size_t valid);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *out[MAX]; /* handed out and not given back; under lock */
static int given, back, foreign, bytes;
static int (*flush)(uint32_t);

static void
on_requested(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = malloc(BYTES);
    *size = BYTES;
    *records = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX; i++) {
        if (out[i] == NULL) {
            out[i] = *buffer;
            break;
        }
    }
    given++;
    pthread_mutex_unlock(&lock);
}

static void
on_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
             size_t valid)
{
    bool ours = false;

    (void)context;
    (void)stream;
    (void)size;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX && !ours; i++) {
        if (out[i] == buffer) {
            out[i] = NULL;
            ours = true;
        }
    }
    back += ours;
    foreign += !ours;
    bytes += ours ? (int)valid : 0;
    pthread_mutex_unlock(&lock);
    if (ours) {
        free(buffer);
    }
}

/* Register with this libcupti and enable records; return CUPTI's status. */
int
thief_open(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    int (*enable)(uint32_t);
    int (*take)(requested_fn *, completed_fn *);

    if (library == NULL) {
        return -1;
    }
    *(void **)&take = dlsym(library, "cuptiActivityRegisterCallbacks");
    *(void **)&enable = dlsym(library, "cuptiActivityEnable");
    *(void **)&flush = dlsym(library, "cuptiActivityFlushAll");
    int status = take(on_requested, on_completed);
    if (status == 0) {
        status = enable(CONCURRENT_KERNEL);
    }
    return status == 0 ? enable(MEMCPY) : status;
}

int
thief_flush(void)
{
    return flush(0);
}

/* Return how many buffers are still out, and free them, unless CUPTI is a real
 * one, which might write into them later. */
int
thief_close(int may_free)
{
    int left = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX; i++) {
        if (out[i] != NULL) {
            left++;
        }
        if (out[i] != NULL && may_free) {
            memset(out[i], 0, BYTES);
            free(out[i]);
            out[i] = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    return left;
}

int
thief_count(int which)
{
    return which == 0   ? given
           : which == 1 ? back
           : which == 2 ? foreign
                        : bytes;
}
