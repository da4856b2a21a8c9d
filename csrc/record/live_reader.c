#include "record/live_reader.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORD = 8,
    MAX_SERIAL = 1 << 24, /* no process registers so many code objects, and
                             tables are as long as the last serial */
    MAX_CALLERS = 4096,   /* frames in which a caller is looked for: no program
                             has so many of other tracers above it */
    /* What is done with frames, once. */
    SETTLED = 1,
    GIVEN_WAITS = 2,
    LISTED = 4,
    MAX_LISTED = 256 /* open lines of one thread */
};

#define MAX_FRAME_BYTES ((uint64_t)1 << 40)

/* -- blocks ----------------------------------------------------------------
 */

static int
by_address(const void *one, const void *other)
{
    uint64_t a = (*(lp_live_block *const *)one)->address;
    uint64_t b = (*(lp_live_block *const *)other)->address;

    return a < b ? -1 : a > b;
}

/* Return the block at an offset of the file, or NULL if that is no block. */
static const lp_block *
block_at(const char *file, size_t bytes, size_t offset)
{
    const lp_block *block = (const lp_block *)(const void *)(file + offset);

    if (bytes - offset < sizeof(lp_block) || block->magic != LP_BLOCK_MAGIC ||
        block->bytes < sizeof(lp_block) || block->bytes > bytes - offset ||
        block->bytes % WORD != 0 || block->used < sizeof(lp_block) ||
        block->used > block->bytes || block->address % WORD != 0 ||
        block->address > UINT64_MAX - block->bytes) {
        return NULL;
    }
    return block;
}

static void
add_block(lp_live_copy *self, const lp_block *block)
{
    lp_live_block *to = &self->blocks[self->n_blocks++];

    *to = (lp_live_block){
        .address = block->address,
        .at = (char *)(uintptr_t)block,
        .used = block->used,
        .kind = (lp_block_kind)block->kind,
        .first_node = self->n_nodes,
    };
    if (to->kind == LP_BLOCK_NODES) {
        uint64_t n = (block->used - sizeof(lp_block)) / sizeof(lp_node);

        if (n >
            (uint64_t)INT32_MAX - self->n_nodes) { /* no process has so many */
            to->kind = LP_BLOCK_FREE;
            return;
        }
        self->n_nodes += (uint32_t)n;
    }
    if (to->kind == LP_BLOCK_WAITS) {
        self->n_waits += block->used / sizeof(lp_off_cpu_line);
    }
}

static bool
find_blocks(lp_live_copy *self, char *file, size_t bytes)
{
    size_t n = 0, offset = 0;
    const lp_block *block;

    while (offset < bytes && (block = block_at(file, bytes, offset)) != NULL) {
        n++;
        offset += block->bytes;
    }
    self->blocks = malloc((n + 1) * sizeof(lp_live_block));
    self->by_address = malloc((n + 1) * sizeof(lp_live_block *));
    if (self->blocks == NULL || self->by_address == NULL) {
        return false;
    }
    for (offset = 0; n-- > 0; offset += block->bytes) {
        block = block_at(file, bytes, offset);
        add_block(self, block);
    }
    for (size_t i = 0; i < self->n_blocks; i++) {
        self->by_address[i] = &self->blocks[i];
    }
    qsort(self->by_address, self->n_blocks, sizeof(lp_live_block *),
          by_address);
    return true;
}

/* Return the block of a kind in which `bytes` bytes at an address of the
 * process lie, or NULL. */
static lp_live_block *
find(const lp_live_copy *self, lp_block_kind kind, uint64_t address,
     uint64_t bytes)
{
    size_t low = 0, high = self->n_blocks;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (self->by_address[middle]->address <= address) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    /* (Of blocks of equal or overlapping addresses, which a process never has,
     * one is found.) */
    if (low == 0 || address % WORD != 0) {
        return NULL;
    }
    lp_live_block *block = self->by_address[low - 1];
    uint64_t offset = address - block->address;

    return block->kind == kind && offset >= sizeof(lp_block) &&
                   offset <= block->used && bytes <= block->used - offset
               ? block
               : NULL;
}

/* Return what a pointer of the process points to, or NULL. */
static void *
follow(const lp_live_copy *self, lp_block_kind kind, const void *pointer,
       size_t bytes)
{
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    const lp_live_block *block = find(self, kind, address, bytes);

    return block == NULL ? NULL : block->at + (address - block->address);
}

/* Return the block of the copy that begins at or before this address of it. */
static const lp_live_block *
block_of(const lp_live_copy *self, const void *at)
{
    size_t low = 0, high = self->n_blocks;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (self->blocks[middle].at <= (const char *)at) {
            low = middle;
        }
        else {
            high = middle;
        }
    }
    return &self->blocks[low];
}

/* Bytes of a record of each kind, at the start of `left` bytes; 0 if there is
 * none. */
typedef size_t measurer(const void *record, size_t left);

/* Return the record after `record` in blocks of a kind, or the first one. */
static void *
next_record(const lp_live_copy *self, lp_block_kind kind, const void *record,
            measurer *measure)
{
    const lp_live_block *block = self->blocks;
    size_t offset = sizeof(lp_block);

    if (self->n_blocks == 0) {
        return NULL;
    }
    if (record != NULL) {
        block = block_of(self, record);
        offset = (size_t)((const char *)record - block->at);
        offset += measure(record, block->used - offset);
    }
    for (; block < self->blocks + self->n_blocks; block++) {
        if (block->kind == kind && offset < block->used &&
            measure(block->at + offset, block->used - offset) != 0) {
            return block->at + offset;
        }
        offset = sizeof(lp_block);
    }
    return NULL;
}

static size_t
record_bytes(const void *at, size_t left)
{
    const lp_live_record *record = at;
    size_t bytes;

    if (left < sizeof(*record) || record->kind == 0) {
        return 0;
    }
    bytes = (sizeof(*record) + (size_t)record->bytes + LP_RECORD_BYTES - 1) /
            LP_RECORD_BYTES * LP_RECORD_BYTES;
    return bytes <= left ? bytes : 0;
}

static size_t
counters_bytes(const void *at, size_t left)
{
    const lp_code_counters *counters = at;
    size_t bytes;

    if (left < sizeof(*counters) || counters->serial == 0) {
        return 0;
    }
    bytes = sizeof(*counters) + sizeof(lp_line) * (size_t)counters->n_lines;
    if (counters->awaits) {
        bytes += (sizeof(uint64_t) * (size_t)counters->n_lines +
                  LP_RECORD_BYTES - 1) /
                 LP_RECORD_BYTES * LP_RECORD_BYTES;
    }
    return bytes <= left ? bytes : 0;
}

static size_t
node_bytes(const void *at, size_t left)
{
    (void)at;
    return left < sizeof(lp_node) ? 0 : sizeof(lp_node);
}

static size_t
recorder_bytes(const void *at, size_t left)
{
    /* (There is one recorder in a block: its frames follow.) */
    (void)at;
    return left < sizeof(lp_recorder) ? 0 : left;
}

const lp_live_record *
lp_live_copy_record(const lp_live_copy *self, const lp_live_record *record)
{
    return next_record(self, LP_BLOCK_LOG, record, record_bytes);
}

lp_code_counters *
lp_live_copy_counters(const lp_live_copy *self,
                      const lp_code_counters *counters)
{
    return next_record(self, LP_BLOCK_COUNTERS, counters, counters_bytes);
}

const lp_recorder *
lp_live_copy_recorder(const lp_live_copy *self, const lp_recorder *rec)
{
    return next_record(self, LP_BLOCK_RECORDER, rec, recorder_bytes);
}

const lp_node *
lp_live_copy_node(const lp_live_copy *self, const lp_node *node)
{
    return next_record(self, LP_BLOCK_NODES, node, node_bytes);
}

const lp_live_code *
lp_live_record_code(const lp_live_record *record)
{
    const lp_live_code *code =
        (const lp_live_code *)(const void *)record->data;

    return record->kind == LP_LIVE_CODE && record->bytes >= sizeof(*code) &&
                   code->serial <= MAX_SERIAL
               ? code
               : NULL;
}

/* -- opening ---------------------------------------------------------------
 */

static int
by_serial(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;

    return a < b ? -1 : a > b;
}

static bool
find_codes(lp_live_copy *self)
{
    const lp_live_record *record = NULL;
    size_t n = 0;

    while ((record = lp_live_copy_record(self, record)) != NULL) {
        n += lp_live_record_code(record) != NULL;
    }
    self->codes = malloc((n + 1) * sizeof(self->codes[0]));
    if (self->codes == NULL) {
        return false;
    }
    while ((record = lp_live_copy_record(self, record)) != NULL) {
        const lp_live_code *code = lp_live_record_code(record);

        if (code != NULL) {
            self->codes[self->n_codes].serial = code->serial;
            self->codes[self->n_codes++].first_line = code->first_line;
        }
    }
    qsort(self->codes, self->n_codes, sizeof(self->codes[0]), by_serial);
    return true;
}

static bool
find_counters(lp_live_copy *self)
{
    lp_code_counters *counters = NULL;
    size_t n = 0;

    while ((counters = lp_live_copy_counters(self, counters)) != NULL) {
        n++;
    }
    self->counters = malloc((n + 1) * sizeof(self->counters[0]));
    if (self->counters == NULL) {
        return false;
    }
    while ((counters = lp_live_copy_counters(self, counters)) != NULL) {
        self->counters[self->n_counters++] = counters;
    }
    return true;
}

/* Threads are numbered, so that tables are as long as the last number; those
 * that began before the file was opened are not in it. */
static void
bound_threads(lp_live_copy *self)
{
    const lp_recorder *rec = NULL;
    uint32_t n = 64;

    while ((rec = lp_live_copy_recorder(self, rec)) != NULL) {
        n += 2;
    }
    self->n_threads = n;
    for (size_t i = 0; i < self->n_counters; i++) {
        if (self->counters[i]->thread >= n) {
            self->counters[i]->thread = 0; /* damaged */
        }
    }
}

bool
lp_live_copy_first_line(const lp_live_copy *self, uint32_t serial,
                        uint32_t *first_line)
{
    size_t low = 0, high = self->n_codes;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (self->codes[middle].serial < serial) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    if (low == self->n_codes || self->codes[low].serial != serial) {
        return false;
    }
    *first_line = self->codes[low].first_line;
    return true;
}

lp_live_result
lp_live_copy_open(lp_live_copy *self, char *file, size_t bytes)
{
    const lp_live_header *header = (const lp_live_header *)(const void *)file;

    *self = (lp_live_copy){.header = header};
    if (bytes < sizeof(*header) || header->block.magic != LP_BLOCK_MAGIC ||
        header->magic != LP_LIVE_MAGIC) {
        return LP_LIVE_FOREIGN;
    }
    if (header->format != LP_LIVE_FORMAT ||
        header->layout != lp_live_layout() ||
        header->cost_one != LP_COST_ONE) {
        return LP_LIVE_OTHER_BUILD;
    }
    if (!find_blocks(self, file, bytes) || !find_codes(self) ||
        !find_counters(self)) {
        return LP_LIVE_NO_MEMORY;
    }
    bound_threads(self);
    return LP_LIVE_READ;
}

void
lp_live_copy_close(lp_live_copy *self)
{
    free(self->blocks);
    free(self->by_address);
    free(self->codes);
    free(self->counters);
}

/* Copy so many bytes of the second copy, from where they are in the first one
 * at `at`; false if it does not have them. */
static bool
later(const lp_live_copy *self, void *to, const void *at, size_t bytes)
{
    size_t offset = (size_t)((const char *)at - (const char *)self->header);

    if (offset > self->later_bytes || bytes > self->later_bytes - offset) {
        return false;
    }
    memcpy(to, self->later + offset, bytes);
    return true;
}

void
lp_live_copy_compare(lp_live_copy *self, const char *second, size_t bytes)
{
    lp_code_counters *counters = NULL, then;

    self->later = second;
    self->later_bytes = bytes;
    while ((counters = lp_live_copy_counters(self, counters)) != NULL) {
        if (!later(self, &then, counters, sizeof(then)) ||
            then.serial != counters->serial ||
            then.n_lines != counters->n_lines ||
            then.awaits != counters->awaits) {
            counters->serial = 0; /* the end of its block */
        }
    }
}

/* -- pointers --------------------------------------------------------------
 */

/* Return the counters that a pointer of the process points to, or NULL. */
static lp_code_counters *
counters_at(const lp_live_copy *self, const lp_code_counters *pointer)
{
    lp_code_counters *found =
        follow(self, LP_BLOCK_COUNTERS, pointer, sizeof(*found));
    size_t low = 0, high = self->n_counters;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (self->counters[middle] < found) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low < self->n_counters && self->counters[low] == found ? found
                                                                  : NULL;
}

/* The same for a line of counters that a pointer points to: its place in them.
 */
static bool
has_line(const lp_code_counters *counters, const lp_code_counters *pointer,
         const lp_line *line, uint64_t *offset)
{
    uint64_t lines =
        (uint64_t)(uintptr_t)pointer + offsetof(lp_code_counters, lines);
    uint64_t bytes = (uint64_t)(uintptr_t)line - lines;

    *offset = bytes / sizeof(lp_line);
    return bytes % sizeof(lp_line) == 0 && *offset < counters->n_lines;
}

const lp_code_counters *
lp_live_copy_callee(const lp_live_copy *self, const lp_node *node)
{
    return counters_at(self, node->counters);
}

/* Return the number of the node that a pointer of the process points to; -1
 * if there is none. */
static int64_t
number_of(const lp_live_copy *self, const lp_node *pointer)
{
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    const lp_live_block *block =
        find(self, LP_BLOCK_NODES, address, sizeof(lp_node));

    uint64_t offset;

    if (block == NULL) {
        return -1;
    }
    offset = address - block->address - sizeof(lp_block);
    return offset % sizeof(lp_node) != 0
               ? -1
               : (int64_t)(block->first_node + offset / sizeof(lp_node));
}

/* Return that node, or NULL. */
static lp_node *
node_at(const lp_live_copy *self, const lp_node *pointer)
{
    return number_of(self, pointer) < 0
               ? NULL
               : follow(self, LP_BLOCK_NODES, pointer, sizeof(lp_node));
}

/* True if a node may stand below another one. */
static bool
fits_below(const lp_node *node, const lp_node *parent)
{
    switch (node->kind) {
    case LP_NODE_MERGED:
        return parent->kind == LP_NODE_CALLER;
    case LP_NODE_CALLER:
        return parent->kind != LP_NODE_CALLER;
    default:
        return parent->kind == LP_NODE_PATH;
    }
}

int64_t
lp_live_copy_parent(const lp_live_copy *self, const lp_node *node)
{
    const lp_live_block *block = block_of(self, node);
    uint64_t offset = (uint64_t)((const char *)node - block->at);
    int64_t own = (int64_t)(block->first_node +
                            (offset - sizeof(lp_block)) / sizeof(lp_node));
    int64_t parent = number_of(self, node->parent);

    return parent >= 0 && parent < own &&
                   fits_below(node, node_at(self, node->parent))
               ? parent
               : -1;
}

uint32_t
lp_live_copy_line(const lp_live_copy *self, const lp_node *node)
{
    const lp_node *parent = node_at(self, node->parent);
    const lp_code_counters *above =
        parent == NULL ? NULL : lp_live_copy_callee(self, parent);
    uint64_t offset;
    uint32_t first_line;

    if (above == NULL ||
        !has_line(above, parent->counters, node->line, &offset) ||
        !lp_live_copy_first_line(self, above->serial, &first_line)) {
        return 0;
    }
    return first_line + (uint32_t)offset;
}

const lp_off_cpu_lines *
lp_live_copy_waits(const lp_live_copy *self, const lp_code_counters *counters)
{
    const lp_off_cpu_lines *waits =
        follow(self, LP_BLOCK_WAITS, counters->waits, sizeof(*waits));

    if (waits == NULL ||
        follow(self, LP_BLOCK_WAITS, counters->waits,
               sizeof(*waits) + waits->n * sizeof(waits->lines[0])) == NULL) {
        return NULL;
    }
    return waits;
}

/* -- open lines ------------------------------------------------------------
 */

/* Return a recorder's array of frames, and how many are open; NULL, and 0, if
 * `what` was done with the frames of its block before. */
static lp_frame *
frames_of(const lp_live_copy *self, const lp_recorder *rec, unsigned what,
          size_t *n)
{
    uint64_t first = (uint64_t)(uintptr_t)rec->frames;
    uint64_t top = (uint64_t)(uintptr_t)rec->top;
    uint64_t bytes = top - first + sizeof(lp_frame); /* with the sentinel */
    lp_live_block *block;

    *n = 0;
    if (top < first || top - first > MAX_FRAME_BYTES ||
        (top - first) % sizeof(lp_frame) != 0) {
        return NULL;
    }
    block = find(self, LP_BLOCK_RECORDER, first, bytes);
    if (block == NULL) {
        block = find(self, LP_BLOCK_FRAMES, first, bytes);
    }
    if (block == NULL || (block->done & what)) {
        return NULL;
    }
    block->done |= what;
    *n = (top - first) / sizeof(lp_frame);
    return (lp_frame *)(void *)(block->at + (first - block->address));
}

/* Charge the node of a frame, and take the time off its caller's own. */
static void
charge_node(const lp_live_copy *self, lp_frame *frame,
            lp_code_counters *counters, const lp_frame *frames, lp_ticks ticks,
            uint64_t cost)
{
    lp_node *node = node_at(self, frame->node);

    if (node == NULL) {
        return;
    }
    node->self += ticks;
    node->self_cost += cost;
    if (frame->flags & LP_FRAME_OUTERMOST) {
        node->total += ticks;
        node->total_cost += cost;
        counters->total += ticks;
        counters->total_cost += cost;
    }
    else {
        node->nested += ticks;
        node->nested_cost += cost;
    }
    if (frame - frames > MAX_CALLERS) {
        frames = frame - MAX_CALLERS;
    }
    for (const lp_frame *at = frame - 1; at > frames; at--) {
        if (at->owner == frame->owner && at->line != NULL) {
            lp_node *caller = node_at(self, at->node);

            if (caller != NULL) {
                caller->self -= ticks;
                caller->self_cost -= cost;
            }
            return;
        }
    }
}

/* Return how many calls, from the outermost on, go on in the second copy. */
static size_t
calls_going_on(const lp_live_copy *self, const lp_recorder *rec,
               const lp_frame *frames, size_t n)
{
    lp_recorder then;
    size_t n_then, i;

    if (!later(self, &then, rec, sizeof(then)) || then.frames != rec->frames ||
        then.top < then.frames) {
        return 0;
    }
    n_then = (size_t)((uintptr_t)then.top - (uintptr_t)then.frames) /
             sizeof(lp_frame);
    for (i = 1; i <= n && i <= n_then; i++) {
        lp_frame frame;

        if (!later(self, &frame, &frames[i], sizeof(frame)) ||
            frame.code != frames[i].code ||
            frame.counters != frames[i].counters ||
            frame.owner != frames[i].owner || frame.first != frames[i].first) {
            break;
        }
    }
    return i - 1;
}

/* True if a line that was open is still open in the second copy, if any. */
static bool
is_still_open(const lp_live_copy *self, const lp_frame *frame)
{
    lp_frame then;

    return self->later == NULL ||
           (later(self, &then, frame, sizeof(then)) &&
            then.line == frame->line && then.since == frame->since);
}

/* Charge a frame's open line, and its call, up to `now`. */
static void
charge_frame(const lp_live_copy *self, lp_frame *frame, const lp_frame *frames,
             lp_ticks now, uint64_t cost)
{
    lp_code_counters *counters = counters_at(self, frame->counters);
    uint64_t offset;

    if (counters == NULL ||
        !has_line(counters, frame->counters, frame->line, &offset)) {
        return;
    }
    if (frame->since <= now && is_still_open(self, frame)) {
        lp_line *line = &counters->lines[offset];

        line->ticks += now - frame->since;
        line->cost += cost - (frame->cost & ~LP_SPLIT);
    }
    if (frame->first <= now) {
        charge_node(self, frame, counters, frames, now - frame->first,
                    cost + frame->self_cost - frame->first_cost);
    }
}

/* As lp_recorder_settle, which follows the pointers of its own process. */
static void
settle(const lp_live_copy *self, const lp_recorder *rec, lp_ticks at,
       lp_live_end *end)
{
    size_t n, charged;
    lp_frame *frames = frames_of(self, rec, SETTLED, &n);
    lp_ticks now = rec->wait.last_leave;
    uint64_t cost = rec->cost;

    charged = self->later == NULL ? n : calls_going_on(self, rec, frames, n);
    for (size_t i = 1; i <= n; i++) {
        if (frames[i].line != NULL && frames[i].since > now) {
            now = frames[i].since;
        }
    }
    end->last = now > end->last ? now : end->last;
    if (at != 0 && !rec->finished) {
        now = at;
    }
    for (size_t i = n; i > 0; i--) {
        lp_frame *frame = &frames[i];

        if (frame->line == NULL) {
            continue;
        }
        if (i <= charged) {
            charge_frame(self, frame, frames, now, cost);
        }
        cost += frame->self_cost;
    }
    end->cost += cost;
    end->threads += !rec->finished;
}

lp_live_end
lp_live_copy_settle(const lp_live_copy *self, lp_ticks now)
{
    const lp_recorder *rec = NULL;
    lp_live_end end = {0, 0, 0};

    while ((rec = lp_live_copy_recorder(self, rec)) != NULL) {
        settle(self, rec, now, &end);
    }
    return end;
}

/* Find the counters of a frame, and the place of its open line in them. */
static const lp_code_counters *
place_of(const lp_live_copy *self, const lp_frame *frame, uint64_t *offset)
{
    const lp_code_counters *counters = counters_at(self, frame->counters);

    return counters != NULL &&
                   has_line(counters, frame->counters, frame->line, offset)
               ? counters
               : NULL;
}

int
lp_live_copy_open_lines(const lp_live_copy *self, lp_live_open_taker *take,
                        void *arg)
{
    const lp_recorder *rec = NULL;

    while ((rec = lp_live_copy_recorder(self, rec)) != NULL) {
        size_t n = 0;
        const lp_frame *frames =
            rec->finished ? NULL : frames_of(self, rec, LISTED, &n);

        for (size_t i = n > MAX_LISTED ? n - MAX_LISTED + 1 : 1; i <= n; i++) {
            uint64_t offset;
            const lp_code_counters *counters =
                place_of(self, &frames[i], &offset);

            if (counters != NULL && take(arg, rec, counters, offset,
                                         lp_recorder_opened(&frames[i])) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* As lp_off_cpu_spread. */
static int
give_owed(const lp_live_copy *self, const lp_recorder *rec,
          lp_live_taker *take, void *arg)
{
    const lp_off_cpu *wait = &rec->wait;
    size_t left = wait->n_pending, n = 0;
    const lp_off_cpu_pending *pending =
        follow(self, LP_BLOCK_WAITS, wait->pending, left * sizeof(*pending));
    const lp_frame *frames = left == 0 || pending == NULL
                                 ? NULL
                                 : frames_of(self, rec, GIVEN_WAITS, &n);
    lp_off_cpu_line owed = {.offset = 0};

    for (size_t i = n; frames != NULL && i > 0; i--) {
        const lp_code_counters *counters =
            place_of(self, &frames[i], &owed.offset);

        while (left > 0 && pending[left - 1].depth >= i) {
            lp_off_cpu_add(&owed.waited, &pending[--left].waited);
        }
        if (counters != NULL && left < wait->n_pending &&
            take(arg, counters, &owed) < 0) {
            return -1;
        }
    }
    return 0;
}

int
lp_live_copy_owed(const lp_live_copy *self, lp_live_taker *take, void *arg)
{
    const lp_recorder *rec = NULL;

    while ((rec = lp_live_copy_recorder(self, rec)) != NULL) {
        if (give_owed(self, rec, take, arg) < 0) {
            return -1;
        }
    }
    return 0;
}
