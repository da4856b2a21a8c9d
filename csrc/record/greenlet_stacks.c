#include "record/greenlet_stacks.h"

#include <stdlib.h>

#include "record/off_cpu.h"

enum { MIN_LISTS = 16, MIN_FRAMES = 8 };

typedef struct lp_stack {
    struct lp_stack *next;
    const void *key;
    lp_frame *frames, *top, *last; /* as in the recorder, which owns them */
    lp_ticks since;                /* when it was left */
} lp_stack;

struct lp_stacks {
    lp_stack **lists; /* owned hash table of owned lists: stacks with frames */
    uint32_t n_lists; /* a power of two */
    uint32_t used;    /* stacks in the lists */
    lp_stack *spare;  /* owned list: stacks without frames */
};

static lp_stack **
list_of(const lp_stacks *self, const void *key)
{
    uint64_t mixed = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;

    return &self->lists[(uint32_t)(mixed >> 32) & (self->n_lists - 1)];
}

/* Return the place of the pointer to a stack, which is NULL if there is none.
 */
static lp_stack **
place_of(const lp_stacks *self, const void *key)
{
    lp_stack **at = list_of(self, key);

    while (*at != NULL && (*at)->key != key) {
        at = &(*at)->next;
    }
    return at;
}

static void
insert(lp_stacks *self, lp_stack *stack)
{
    lp_stack **list = list_of(self, stack->key);

    stack->next = *list;
    *list = stack;
    self->used++;
}

/* Put a stack where it belongs. */
static void
put(lp_stacks *self, lp_stack *stack)
{
    if (stack->top != stack->frames) {
        insert(self, stack);
        return;
    }
    stack->next = self->spare;
    self->spare = stack;
}

/* Make room for another stack; false if memory is out. */
static bool
reserve(lp_stacks *self)
{
    lp_stacks larger = *self;

    if (self->used < self->n_lists) {
        return true;
    }
    larger.n_lists = self->n_lists == 0 ? MIN_LISTS : self->n_lists * 2;
    larger.used = 0;
    larger.lists = calloc(larger.n_lists, sizeof(lp_stack *));
    if (larger.lists == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < self->n_lists; i++) {
        for (lp_stack *next, *at = self->lists[i]; at != NULL; at = next) {
            next = at->next;
            insert(&larger, at);
        }
    }
    free(self->lists);
    *self = larger;
    return true;
}

/* Return a stack without frames, or NULL if memory is out. */
static lp_stack *
new_stack(lp_recorder *rec)
{
    size_t bytes = sizeof(lp_block) + MIN_FRAMES * sizeof(lp_frame);
    lp_stack *stack = malloc(sizeof(*stack));
    lp_block *block = stack == NULL ? NULL
                                    : lp_block_new(LP_BLOCK_FRAMES, bytes,
                                                   rec->wait.is_live);
    size_t n;

    if (block == NULL) {
        free(stack);
        return NULL;
    }
    n = (block->bytes - sizeof(lp_block)) / sizeof(lp_frame);
    block->used = sizeof(lp_block) + n * sizeof(lp_frame);
    block->next = rec->more_frames;
    rec->more_frames = block;
    *stack = (lp_stack){.frames = lp_block_data(block)};
    stack->top = stack->frames;
    stack->last = stack->frames + n - 1;
    return stack;
}

/* Take the stack with this key out, or an empty one; NULL if memory is out. */
static lp_stack *
take(lp_recorder *rec, const void *key)
{
    lp_stacks *self = rec->stacks;
    lp_stack **at = place_of(self, key);
    lp_stack *stack = *at;

    if (stack != NULL) {
        *at = stack->next;
        self->used--;
    }
    else if (self->spare != NULL) {
        stack = self->spare;
        self->spare = stack->next;
    }
    else {
        stack = new_stack(rec);
    }
    return stack;
}

/* Exchange the recorder's frames and those of a stack. */
static void
exchange(lp_recorder *rec, lp_stack *stack)
{
    lp_stack running = {.key = rec->stack_key,
                        .frames = rec->frames,
                        .top = rec->top,
                        .last = rec->last};

    lp_recorder_change(rec);
    __atomic_store_n(&rec->frames, stack->frames, __ATOMIC_RELAXED);
    __atomic_store_n(&rec->top, stack->top, __ATOMIC_RELAXED);
    rec->last = stack->last;
    rec->stack_key = stack->key;
    lp_recorder_changed(rec);
    stack->key = running.key;
    stack->frames = running.frames;
    stack->top = running.top;
    stack->last = running.last;
}

/* Frames that were open when the process was forked are not counted. */
static uint32_t
is_in_depth(const lp_frame *frame)
{
    return (frame->flags & LP_FRAME_INHERITED) == 0;
}

/* The frames, whose lines are charged, are left. */
static void
leave(lp_recorder *rec)
{
    for (lp_frame *frame = rec->top; frame > rec->frames; frame--) {
        frame->counters->depth -= is_in_depth(frame);
    }
}

/* The frames go on at `now`. */
static void
go_on(lp_recorder *rec, lp_ticks now)
{
    for (lp_frame *frame = rec->frames + 1; frame <= rec->top; frame++) {
        frame->counters->depth += is_in_depth(frame);
        if (frame->line != NULL) {
            frame->statement = NULL;
            frame->since = frame->opened = now;
            lp_recorder_begin(rec, frame, now);
            frame->cost |= LP_SPLIT;
        }
    }
}

/* The frames go on at `now`, after so many ticks. */
static void
add_awaits(const lp_recorder *rec, lp_ticks ticks)
{
    for (lp_frame *frame = rec->top; frame > rec->frames; frame--) {
        uint64_t *awaits = lp_code_counters_awaits(frame->counters);

        if (awaits != NULL && frame->line != NULL) {
            awaits[frame->line - frame->lines] += ticks;
        }
    }
}

bool
lp_stacks_any(const lp_recorder *rec)
{
    return rec->stacks != NULL && rec->stacks->used != 0;
}

bool
lp_stacks_has(const lp_recorder *rec, const void *key)
{
    return lp_stacks_any(rec) && *place_of(rec->stacks, key) != NULL;
}

bool
lp_stacks_switch(lp_recorder *rec, const void *key, lp_ticks now)
{
    lp_stack *stack = NULL;

    if (rec->stacks == NULL) {
        rec->stacks = calloc(1, sizeof(lp_stacks));
    }
    if (rec->stacks != NULL && reserve(rec->stacks)) {
        stack = take(rec, key);
    }
    if (stack == NULL) {
        rec->lost++;
        return false;
    }
    now = lp_off_cpu_left(rec, now);
    lp_recorder_end_slices(rec, NULL, NULL, now);
    lp_recorder_settle(rec, now);
    leave(rec);
    if (stack->top == stack->frames) {
        stack->key = key;
        stack->since = now;
    }
    exchange(rec, stack);
    add_awaits(rec, now - stack->since);
    go_on(rec, now);
    stack->since = now;
    put(rec->stacks, stack);
    rec->wait.last_leave = now;
    return true;
}

void
lp_stacks_visit(lp_recorder *rec, lp_stack_visitor *visit, void *arg)
{
    lp_stacks *self = rec->stacks;
    lp_ticks now = lp_clock_now(&rec->clock);
    bool traced = rec->traced;
    uint32_t ranged = rec->ranged;

    if (!lp_stacks_any(rec)) {
        return;
    }
    lp_off_cpu_spread(rec);
    rec->traced = false; /* their slices have ended */
    rec->ranged = 0;
    for (uint32_t i = 0; i < self->n_lists; i++) {
        lp_stack *stack, **at = &self->lists[i];

        while ((stack = *at) != NULL) {
            exchange(rec, stack);
            go_on(rec, now);
            visit(rec, now, arg);
            leave(rec);
            exchange(rec, stack);
            if (stack->top == stack->frames) {
                *at = stack->next;
                self->used--;
                put(self, stack);
            }
            else {
                at = &stack->next;
            }
        }
    }
    rec->traced = traced;
    rec->ranged = ranged;
}

void
lp_stacks_restart(lp_recorder *rec, lp_ticks now)
{
    for (uint32_t i = 0; lp_stacks_any(rec) && i < rec->stacks->n_lists; i++) {
        for (lp_stack *at = rec->stacks->lists[i]; at != NULL; at = at->next) {
            at->since = now;
        }
    }
}

static void
free_list(lp_stack *list)
{
    while (list != NULL) {
        lp_stack *next = list->next;

        free(list);
        list = next;
    }
}

void
lp_stacks_free(lp_recorder *rec)
{
    lp_stacks *self = rec->stacks;

    for (uint32_t i = 0; self != NULL && i < self->n_lists; i++) {
        free_list(self->lists[i]);
    }
    if (self != NULL) {
        free_list(self->spare);
        free(self->lists);
        free(self);
    }
    rec->stacks = NULL;
}
