/* Buffers and counts of the doubles of other tools. */
#include "tools/tool_buffers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 32, BYTES = 1 << 16, WORDS = 8, MAX_KINDS = 64 };
enum { KERNEL = 10, MEMCPY = 1, MEMSET = 2 };

const uint32_t tool_kinds[TOOL_KINDS] = {KERNEL, MEMCPY, MEMSET};

static const uint64_t canary = 0xC0FFEE00C0FFEE00u;

typedef struct {
    uint64_t before[WORDS];
    uint8_t bytes[BYTES];
    uint64_t after[WORDS];
    bool out; /* CUPTI has it; under lock */
} tool_buffer;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tool_buffer buffers[BUFFERS]; /* not of malloc: nobody can free one */
static int records[MAX_KINDS], incomplete, foreign; /* under lock */
static _Atomic int heard;

__attribute__((constructor)) static void
start(void)
{
    for (size_t i = 0; i < BUFFERS; i++) {
        for (size_t word = 0; word < WORDS; word++) {
            buffers[i].before[word] = buffers[i].after[word] = canary;
        }
    }
}

uint8_t *
tool_take(size_t *size)
{
    uint8_t *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; !found && i < BUFFERS; i++) {
        if (!buffers[i].out) {
            buffers[i].out = true;
            found = buffers[i].bytes;
        }
    }
    pthread_mutex_unlock(&lock);
    *size = found ? BYTES : 0;
    return found;
}

bool
tool_take_back(uint8_t *buffer)
{
    bool mine = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < BUFFERS; i++) {
        if (buffers[i].bytes == buffer) {
            mine = buffers[i].out;
            buffers[i].out = false;
        }
    }
    pthread_mutex_unlock(&lock);
    return mine;
}

void
tool_count(const uint8_t *record)
{
    uint32_t kind;
    uint64_t start;
    memcpy(&kind, record, sizeof kind);
    memcpy(&start, record + 16, sizeof start); /* of kernels */
    pthread_mutex_lock(&lock);
    records[kind % MAX_KINDS]++;
    incomplete += kind == KERNEL && !start;
    pthread_mutex_unlock(&lock);
}

void
tool_count_foreign(void)
{
    pthread_mutex_lock(&lock);
    foreign++;
    pthread_mutex_unlock(&lock);
}

void
tool_on_called(void *unused, uint32_t domain, uint32_t cbid, const void *data)
{
    (void)unused, (void)domain, (void)cbid, (void)data;
    heard++;
}

void *
tool_function(const char *name)
{
    void *cupti = dlopen(getenv("LINEPROF_CUPTI"), RTLD_NOW | RTLD_LOCAL);
    void *found = cupti ? dlsym(cupti, name) : NULL;
    if (!found) {
        abort();
    }
    return found;
}

static int
read_locked(const int *number)
{
    pthread_mutex_lock(&lock);
    int found = *number;
    pthread_mutex_unlock(&lock);
    return found;
}

int
tool_records(int kind)
{
    return read_locked(&records[kind % MAX_KINDS]);
}

int
tool_incomplete(void)
{
    return read_locked(&incomplete);
}

int
tool_foreign(void)
{
    return read_locked(&foreign);
}

int
tool_callbacks(void)
{
    return heard;
}

int
tool_hurt(void)
{
    int hurt = 0;
    for (size_t i = 0; i < BUFFERS; i++) {
        bool broken = false;
        for (size_t word = 0; word < WORDS; word++) {
            broken = broken || buffers[i].before[word] != canary ||
                     buffers[i].after[word] != canary;
        }
        hurt += broken;
    }
    return hurt;
}
