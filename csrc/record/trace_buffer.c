#include "record/trace_buffer.h"

#include <stdlib.h>

#include "record/recorder.h"

/* Bytes of a chunk, its header included.  The first is small, because there
 * may be hundreds of threads; each further one is twice as big, up to a limit.
 */
enum {
    MIN_CHUNK = 4096,
    MAX_CHUNK = 1 << 20,
    RESERVED_CHUNK = 1024, /* for slices open when memory was used up, */
    RESERVED_SHARE = 32    /* which have this part of all memory */
};

enum { MAX_SLICE_BYTES = 10 + 10 + 5 + 5 + 10 + 10 }; /* of one slice */

struct lp_trace_chunk {
    lp_trace_chunk *next;
    size_t size;        /* in total */
    size_t used;        /* of `bytes` */
    lp_ticks last_end;  /* end of the last slice in the chunk */
    lp_ticks max_end;   /* max end of any slice */
    lp_ticks min_start; /* min start of any slice */
    unsigned char bytes[];
};

lp_trace_pool lp_the_trace_pool = {.min_line_ticks = LP_NO_LINE_SLICES,
                                   .full_at = LP_NOT_FULL};

void
lp_trace_pool_begin(size_t max, lp_ticks min_line_ticks,
                    lp_ticks min_call_ticks)
{
    lp_trace_pool *pool = &lp_the_trace_pool;

    if (max > pool->max) {
        pool->full_at = LP_NOT_FULL;
    }
    pool->on = max > 0;
    pool->max = max;
    pool->min_line_ticks = min_line_ticks;
    pool->min_call_ticks = min_call_ticks;
}

/* Write a varint: seven bits per byte, lowest first; all bytes but the last
 * have the eighth bit set. */
static unsigned char *
write_varint(unsigned char *to, uint64_t value)
{
    while (value >= 0x80) {
        *to++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *to++ = (unsigned char)value;
    return to;
}

static const unsigned char *
read_varint(const unsigned char *from, uint64_t *value)
{
    unsigned int shift = 0;
    uint64_t found = 0;

    do {
        found |= (uint64_t)(*from & 0x7f) << shift;
        shift += 7;
    } while (*from++ & 0x80);
    *value = found;
    return from;
}

static void
empty_chunk(lp_trace_chunk *chunk)
{
    chunk->used = 0;
    chunk->last_end = chunk->max_end = 0;
    chunk->min_start = UINT64_MAX;
}

static void
write_slice(lp_trace_chunk *chunk, const lp_slice *slice)
{
    unsigned char *at = chunk->bytes + chunk->used;

    /* Ends only grow, except if another thread ended a slice: then the
     * difference wraps around, and back when it is read. */
    at = write_varint(at, slice->end - chunk->last_end);
    at = write_varint(at, slice->end - slice->start);
    at = write_varint(at, slice->serial);
    at = write_varint(at, slice->place);
    if (slice->place != 0) {
        at = write_varint(at, slice->wait);
        if (slice->wait != 0) {
            at = write_varint(at, slice->unsure);
        }
    }
    chunk->used = (size_t)(at - chunk->bytes);
    chunk->last_end = slice->end;
    if (slice->end > chunk->max_end) {
        chunk->max_end = slice->end;
    }
    if (slice->start < chunk->min_start) {
        chunk->min_start = slice->start;
    }
}

static size_t
read_slice(const unsigned char *bytes, lp_ticks last, lp_slice *slice)
{
    uint64_t step, ticks, serial, place;
    const unsigned char *at = read_varint(bytes, &step);

    at = read_varint(at, &ticks);
    at = read_varint(at, &serial);
    at = read_varint(at, &place);
    slice->wait = slice->unsure = 0;
    if (place != 0) {
        at = read_varint(at, &slice->wait);
        if (slice->wait != 0) {
            at = read_varint(at, &slice->unsure);
        }
    }
    slice->end = last + step;
    slice->start = slice->end - ticks;
    slice->serial = (uint32_t)serial;
    slice->place = (uint32_t)place;
    return (size_t)(at - bytes);
}

static size_t
min_size(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Return the size of the next chunk at `now`; 0 if there is no memory for one.
 */
static size_t
next_size(const lp_trace_buffer *slices, lp_ticks now)
{
    lp_trace_pool *pool = &lp_the_trace_pool;
    size_t left = pool->used < pool->max ? pool->max - pool->used : 0;
    size_t reserved = pool->max / RESERVED_SHARE;
    size_t size = slices->last == NULL
                      ? MIN_CHUNK
                      : min_size(slices->last->size * 2, MAX_CHUNK);

    if (pool->full_at == LP_NOT_FULL && left >= reserved + MIN_CHUNK) {
        return min_size(size, left - reserved);
    }
    if (pool->full_at == LP_NOT_FULL) {
        pool->full_at = now;
    }
    return left >= RESERVED_CHUNK ? RESERVED_CHUNK : 0;
}

static lp_trace_chunk *
add_chunk(lp_trace_buffer *slices, lp_ticks now)
{
    size_t size = next_size(slices, now);
    lp_trace_chunk *chunk = size == 0 ? NULL : malloc(size);

    if (chunk == NULL) {
        return NULL;
    }
    chunk->next = NULL;
    chunk->size = size;
    empty_chunk(chunk);
    lp_the_trace_pool.used += size;
    if (slices->last == NULL) {
        slices->first = chunk;
    }
    else {
        slices->last->next = chunk;
    }
    slices->last = chunk;
    return chunk;
}

bool
lp_trace_buffer_add(lp_trace_buffer *slices, const lp_slice *slice)
{
    lp_trace_chunk *chunk = slices->last;

    if (slice->start >= lp_the_trace_pool.full_at) {
        return false;
    }
    if (LP_UNLIKELY(chunk == NULL ||
                    chunk->size - sizeof(*chunk) - chunk->used <
                        MAX_SLICE_BYTES)) {
        chunk = add_chunk(slices, slice->end);
        if (chunk == NULL) {
            return false;
        }
    }
    write_slice(chunk, slice);
    return true;
}

/* Drop slices from a chunk in place.  The rest never gets longer, because the
 * difference over a gap takes no more bytes than its two parts. */
static void
forget_in_chunk(lp_trace_chunk *chunk, const bool *forgotten, uint32_t n)
{
    size_t at = 0, end = chunk->used;
    lp_ticks last = 0;

    empty_chunk(chunk);
    while (at < end) {
        lp_slice slice;

        at += read_slice(chunk->bytes + at, last, &slice);
        last = slice.end;
        if (slice.serial >= n || !forgotten[slice.serial]) {
            write_slice(chunk, &slice);
        }
    }
}

static void
free_chunk(lp_trace_chunk *chunk)
{
    lp_trace_pool *pool = &lp_the_trace_pool;

    pool->used -= chunk->size;
    if (pool->used == 0) {
        pool->full_at = LP_NOT_FULL;
    }
    free(chunk);
}

void
lp_trace_buffer_forget(lp_trace_buffer *slices, const bool *forgotten,
                       uint32_t n)
{
    lp_trace_chunk **link = &slices->first;

    slices->last = NULL;
    while (*link != NULL) {
        lp_trace_chunk *chunk = *link;

        forget_in_chunk(chunk, forgotten, n);
        if (chunk->used == 0) {
            *link = chunk->next;
            free_chunk(chunk);
        }
        else {
            slices->last = chunk;
            link = &chunk->next;
        }
    }
}

void
lp_trace_buffer_free(lp_trace_buffer *slices)
{
    while (slices->first != NULL) {
        lp_trace_chunk *chunk = slices->first;

        slices->first = chunk->next;
        free_chunk(chunk);
    }
    slices->last = NULL;
}

void
lp_trace_reader_open(lp_trace_reader *reader, const lp_trace_buffer *slices,
                     lp_ticks low, lp_ticks high)
{
    *reader =
        (lp_trace_reader){.chunk = slices->first, .low = low, .high = high};
}

bool
lp_trace_reader_next(lp_trace_reader *reader, lp_slice *slice)
{
    const lp_trace_chunk *chunk = reader->chunk;

    while (chunk != NULL &&
           (reader->at == chunk->used || chunk->max_end < reader->low ||
            chunk->min_start >= reader->high)) {
        chunk = reader->chunk = chunk->next;
        reader->at = 0;
        reader->last = 0;
    }
    if (chunk == NULL) {
        return false;
    }
    reader->at += read_slice(chunk->bytes + reader->at, reader->last, slice);
    reader->last = slice->end;
    return true;
}

static void
add(lp_recorder *rec, lp_code_counters *counters, const lp_slice *slice)
{
    if (!lp_trace_buffer_add(&rec->slices, slice)) {
        counters->dropped_slices++;
    }
}

static lp_slice
line_slice(const lp_frame *frame, lp_ticks opened, lp_ticks now)
{
    return (lp_slice){.start = opened,
                      .end = now,
                      .serial = frame->serial,
                      .place = 1 + (uint32_t)(frame->line - frame->lines)};
}

static lp_slice
function_slice(const lp_frame *frame, lp_ticks now)
{
    return (lp_slice){
        .start = frame->began, .end = now, .serial = frame->serial};
}

/* True if the time on the frame's line is long enough for a slice.  A C
 * function has only one line, see c_functions.h, and no line slices. */
static bool
is_long(const lp_recorder *rec, const lp_frame *frame, const lp_slice *slice)
{
    return slice->end - slice->start >= rec->min_line_ticks &&
           !(frame->flags & LP_FRAME_C_FUNCTION);
}

void
lp_recorder_trace(lp_recorder *rec)
{
    rec->traced = lp_the_trace_pool.on;
    rec->min_line_ticks = lp_the_trace_pool.min_line_ticks;
    lp_off_cpu_watch(rec);
}

void
lp_recorder_add_line_slice(lp_recorder *rec, const lp_frame *frame,
                           lp_ticks opened, lp_ticks now, lp_line_wait wait)
{
    lp_slice slice = line_slice(frame, opened, now);

    if (is_long(rec, frame, &slice)) {
        slice.wait = wait.ns;
        slice.unsure = wait.unsure;
        add(rec, frame->counters, &slice);
    }
}

void
lp_recorder_add_function_slice(lp_recorder *rec, const lp_frame *frame,
                               lp_ticks now)
{
    lp_slice slice = function_slice(frame, now);

    if (now - slice.start >= lp_the_trace_pool.min_call_ticks) {
        add(rec, frame->counters, &slice);
    }
}

void
lp_recorder_open_slices(lp_recorder *rec, const void *owner, const void *code,
                        lp_ticks now, lp_slice_sink *sink, void *to)
{
    for (lp_frame *frame = rec->top; frame > rec->frames; frame--) {
        lp_slice slice;

        if (frame->line == NULL || (owner != NULL && frame->owner != owner) ||
            (code != NULL && frame->code != code)) {
            continue;
        }
        slice = line_slice(frame, lp_recorder_opened(frame), now);
        slice.wait = LP_WAIT_UNKNOWN;
        if (is_long(rec, frame, &slice)) {
            sink(to, frame->counters, &slice);
        }
        slice = function_slice(frame, now);
        sink(to, frame->counters, &slice);
    }
}

static void
add_to_recorder(void *to, lp_code_counters *counters, const lp_slice *slice)
{
    add(to, counters, slice);
}

void
lp_recorder_end_slices(lp_recorder *rec, const void *owner, const void *code,
                       lp_ticks now)
{
    if (rec->traced) {
        lp_recorder_open_slices(rec, owner, code, now, add_to_recorder, rec);
    }
}
