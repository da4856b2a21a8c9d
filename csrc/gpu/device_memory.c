#include "gpu/device_memory.h"

#include <stdlib.h>
#include <string.h>

#include "record/growing_array.h"

enum { MIN_SLOTS = 64 };

void
lp_device_memory_init(lp_device_memory *self)
{
    *self = (lp_device_memory){.max_blocks = LP_MEMORY_BLOCKS, .n_starts = 1};
}

void
lp_device_memory_free(lp_device_memory *self)
{
    free(self->heap);
    free(self->blocks);
    free(self->spaces);
    free(self->sums);
    lp_hash_index_free(&self->index);
    lp_device_memory_init(self);
}

/* Live blocks, by address. */

static size_t
slots_of(const lp_device_memory *self)
{
    return self->blocks == NULL ? 0 : (size_t)self->mask + 1;
}

static size_t
slot_of(const lp_device_memory *self, uint64_t address)
{
    size_t at = lp_hash_of_key(&address, sizeof(address)) & self->mask;

    while (self->blocks[at].address != 0 &&
           self->blocks[at].address != address) {
        at = (at + 1) & self->mask;
    }
    return at;
}

/* Make room for one more block; at least half of the slots are free. */
static bool
reserve_block(lp_device_memory *self)
{
    size_t slots = slots_of(self);
    lp_device_memory larger = *self;

    if (self->n_blocks >= self->max_blocks) {
        return false;
    }
    if (self->n_blocks < slots / 2) {
        return true;
    }
    larger.mask = (uint32_t)(slots == 0 ? MIN_SLOTS : slots * 2) - 1;
    larger.blocks = calloc((size_t)larger.mask + 1, sizeof(*larger.blocks));
    if (larger.blocks == NULL) {
        return false;
    }
    for (size_t i = 0; i < slots; i++) {
        if (self->blocks[i].address != 0) {
            larger.blocks[slot_of(&larger, self->blocks[i].address)] =
                self->blocks[i];
        }
    }
    free(self->blocks);
    self->blocks = larger.blocks;
    self->mask = larger.mask;
    return true;
}

/* Take out the block in a slot, and move those behind it that it was in the
 * way of. */
static void
take_out(lp_device_memory *self, size_t hole)
{
    size_t at = hole;

    for (;;) {
        size_t home;

        at = (at + 1) & self->mask;
        if (self->blocks[at].address == 0) {
            break;
        }
        home = lp_hash_of_key(&self->blocks[at].address, sizeof(uint64_t)) &
               self->mask;
        if (((at - home) & self->mask) >= ((at - hole) & self->mask)) {
            self->blocks[hole] = self->blocks[at];
            hole = at;
        }
    }
    self->blocks[hole] = (lp_memory_block){0};
    self->n_blocks--;
}

/* Sums and spaces. */

/* Return the index of the space of an event, `n_spaces` if memory is out. */
static size_t
space_of(lp_device_memory *self, const lp_memory_event *event)
{
    lp_memory_space *grown;

    for (size_t i = 0; i < self->n_spaces; i++) {
        if (self->spaces[i].device == event->device &&
            self->spaces[i].memory == event->memory) {
            return i;
        }
    }
    grown = lp_array_reserve(self->spaces, self->n_spaces,
                             &self->spaces_capacity, sizeof(*grown));
    if (grown == NULL) {
        return self->n_spaces;
    }
    self->spaces = grown;
    grown[self->n_spaces] =
        (lp_memory_space){.device = event->device, .memory = event->memory};
    return self->n_spaces++;
}

/* Starts and their views. */

size_t
lp_device_memory_view(const lp_device_memory *self, uint32_t start)
{
    for (size_t i = 0; i < LP_MEMORY_VIEWS && i < self->n_starts; i++) {
        if (self->starts[i].number == start) {
            return i;
        }
    }
    return LP_MEMORY_VIEWS;
}

/* Return the view of the last start at or before this time. */
static size_t
view_at(const lp_device_memory *self, lp_ns time)
{
    size_t last = 0;

    for (size_t i = 1; i < LP_MEMORY_VIEWS && i < self->n_starts; i++) {
        if (self->starts[i].since <= time &&
            self->starts[i].number > self->starts[last].number) {
            last = i;
        }
    }
    return last;
}

uint32_t
lp_device_memory_start(lp_device_memory *self, lp_ns now)
{
    const lp_memory_start *last = &self->starts[view_at(self, UINT64_MAX)];
    uint32_t number = self->n_starts;
    size_t view = 1 + (number - 1) % (LP_MEMORY_VIEWS - 1);

    if (last->arrived == self->arrived) {
        return last->number;
    }
    for (size_t i = 0; i < self->n_spaces; i++) {
        memset(&self->spaces[i].views[view], 0,
               sizeof(self->spaces[i].views[view]));
    }
    self->starts[view] = (lp_memory_start){
        .number = number, .since = now, .arrived = self->arrived};
    return self->n_starts++;
}

static const lp_record_size SUM = {sizeof(lp_memory_sum),
                                   3 * sizeof(uint32_t)};

/* Return the sum of an event's path and space; NULL if memory is out. */
static lp_memory_sum *
sum_of(lp_device_memory *self, const lp_memory_event *event)
{
    size_t space = space_of(self, event);
    lp_memory_sum *grown,
        made = {.path = event->path, .space = (uint32_t)space};
    size_t start = view_at(self, event->time);
    uint32_t *slot;

    if (space == self->n_spaces ||
        !lp_hash_index_reserve(&self->index, self->sums, SUM, 0,
                               self->n_sums)) {
        return NULL;
    }
    made.start = self->starts[start].number;
    slot = lp_hash_index_slot(&self->index, self->sums, SUM, &made);
    if (*slot != 0) {
        return &self->sums[*slot - 1];
    }
    grown = lp_array_reserve(self->sums, self->n_sums, &self->sums_capacity,
                             sizeof(*grown));
    if (grown == NULL) {
        return NULL;
    }
    self->sums = grown;
    for (size_t i = 0; i < LP_MEMORY_VIEWS; i++) {
        made.views[i].peak = self->spaces[space].views[i].peaks;
    }
    grown[self->n_sums++] = made;
    *slot = (uint32_t)self->n_sums;
    return &grown[self->n_sums - 1];
}

uint64_t
lp_device_memory_at_peak(const lp_device_memory *self,
                         const lp_memory_sum *sum, size_t view)
{
    return sum->views[view].peak == self->spaces[sum->space].views[view].peaks
               ? sum->views[view].bytes
               : sum->alloc_bytes - sum->freed_bytes;
}

/* Change the live bytes of a sum, at this time. */
static void
change(lp_device_memory *self, lp_memory_sum *sum, uint64_t allocated,
       uint64_t freed, lp_ns time)
{
    lp_memory_space *space = &self->spaces[sum->space];

    for (size_t i = 0; i < LP_MEMORY_VIEWS && i < self->n_starts; i++) {
        if (self->starts[i].number > sum->start) {
            continue; /* this start does not see the blocks */
        }
        sum->views[i].bytes = lp_device_memory_at_peak(self, sum, i);
        sum->views[i].peak = space->views[i].peaks;
        space->views[i].live += allocated - freed;
        if (space->views[i].live > space->views[i].peak) {
            space->views[i].peak = space->views[i].live;
            space->views[i].peak_time = time;
            space->views[i].peaks++;
        }
    }
    sum->alloc_bytes += allocated;
    sum->freed_bytes += freed;
}

/* Count the block in a slot as freed. */
static void
release(lp_device_memory *self, size_t slot, lp_ns time)
{
    lp_memory_sum *sum = &self->sums[self->blocks[slot].sum];

    change(self, sum, 0, self->blocks[slot].bytes, time);
    sum->frees++;
    take_out(self, slot);
}

/* True if a late record is of an earlier block of the address, which was freed
 * before this one was allocated. */
static bool
is_of_earlier(const lp_memory_block *block, const lp_memory_event *event)
{
    return block->address != 0 && event->time < block->since;
}

static void
allocate(lp_device_memory *self, const lp_memory_event *event)
{
    lp_memory_sum *sum = sum_of(self, event);
    size_t slot;

    if (sum == NULL || !reserve_block(self)) {
        self->lost++;
        return;
    }
    slot = slot_of(self, event->address);
    if (is_of_earlier(&self->blocks[slot], event)) {
        sum->allocs++;
        sum->frees++;
        sum->alloc_bytes += event->bytes;
        sum->freed_bytes += event->bytes;
        return;
    }
    if (self->blocks[slot].address != 0) { /* the record of its free is lost */
        release(self, slot, event->time);
        slot = slot_of(self, event->address);
    }
    self->blocks[slot] =
        (lp_memory_block){.address = event->address,
                          .bytes = event->bytes,
                          .since = event->time,
                          .sum = (uint32_t)(sum - self->sums)};
    self->n_blocks++;
    sum->allocs++;
    change(self, sum, event->bytes, 0, event->time);
}

static void
count(lp_device_memory *self, const lp_memory_event *event)
{
    size_t slot;

    if (event->time < self->counted) {
        self->late++;
    }
    else {
        self->counted = event->time;
    }
    if (!event->frees) {
        allocate(self, event);
        return;
    }
    slot = self->blocks == NULL ? 0 : slot_of(self, event->address);
    if (self->blocks == NULL || self->blocks[slot].address == 0) {
        self->unknown_frees++;
        self->unknown_bytes += event->bytes;
        return;
    }
    if (!is_of_earlier(&self->blocks[slot], event)) {
        release(self, slot, event->time);
    }
}

/* Records that wait: a binary heap. */

static bool
is_before(const lp_memory_event *one, const lp_memory_event *other)
{
    return one->time != other->time ? one->time < other->time
                                    : one->number < other->number;
}

static void
count_earliest(lp_device_memory *self)
{
    lp_memory_event earliest = self->heap[0], last;
    size_t at = 0, n = --self->waiting;

    last = self->heap[n];
    for (size_t child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n &&
            is_before(&self->heap[child + 1], &self->heap[child])) {
            child++;
        }
        if (!is_before(&self->heap[child], &last)) {
            break;
        }
        self->heap[at] = self->heap[child];
        at = child;
    }
    self->heap[at] = last;
    count(self, &earliest);
}

void
lp_device_memory_add(lp_device_memory *self, const lp_memory_event *event)
{
    lp_memory_event *grown, added = *event;
    size_t at;

    if (event->address == 0) {
        return; /* nothing was allocated */
    }
    added.number = added.number << 32 | (uint32_t)self->arrived++;
    if (added.time == 0) {
        added.time = self->newest;
        self->late++;
    }
    if (added.time > self->newest) {
        self->newest = added.time;
    }
    if (self->waiting == LP_MEMORY_WINDOW) {
        count_earliest(self);
    }
    grown = lp_array_reserve(self->heap, self->waiting, &self->heap_capacity,
                             sizeof(*grown));
    if (grown == NULL) {
        count(self, &added);
        return;
    }
    self->heap = grown;
    for (at = self->waiting++;
         at > 0 && is_before(&added, &grown[(at - 1) / 2]);
         at = (at - 1) / 2) {
        grown[at] = grown[(at - 1) / 2];
    }
    grown[at] = added;
}

void
lp_device_memory_settle(lp_device_memory *self)
{
    while (self->waiting > 0) {
        count_earliest(self);
    }
}

static void *
copy_of(const void *items, size_t n, size_t size)
{
    void *made = malloc((n + 1) * size);

    if (made != NULL && n > 0) {
        memcpy(made, items, n * size);
    }
    return made;
}

bool
lp_device_memory_copy(lp_device_memory *to, const lp_device_memory *from)
{
    size_t slots = slots_of(from);
    size_t index =
        from->index.slots == NULL ? 0 : (size_t)from->index.mask + 1;

    *to = *from;
    to->heap = copy_of(from->heap, from->waiting, sizeof(*to->heap));
    to->blocks =
        slots == 0 ? NULL : copy_of(from->blocks, slots, sizeof(*to->blocks));
    to->spaces = copy_of(from->spaces, from->n_spaces, sizeof(*to->spaces));
    to->sums = copy_of(from->sums, from->n_sums, sizeof(*to->sums));
    to->index.slots =
        index == 0 ? NULL
                   : copy_of(from->index.slots, index, sizeof(uint32_t));
    to->heap_capacity = from->waiting;
    to->spaces_capacity = from->n_spaces;
    to->sums_capacity = from->n_sums;
    if (to->heap == NULL || (slots > 0 && to->blocks == NULL) ||
        to->spaces == NULL || to->sums == NULL ||
        (index > 0 && to->index.slots == NULL)) {
        lp_device_memory_free(to);
        return false;
    }
    return true;
}

size_t
lp_device_memory_bytes(const lp_device_memory *self)
{
    return self->heap_capacity * sizeof(*self->heap) +
           slots_of(self) * sizeof(*self->blocks) +
           self->sums_capacity * sizeof(*self->sums);
}
