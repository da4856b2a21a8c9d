/* The live contexts of the process, for whose work a flush waits, each with
 * whether it has work that nobody has waited for yet.
 *
 * They are in blocks that are never freed, so that no reader needs a lock; few
 * programs need a second block. */
#include <stdlib.h>

#include "gpu/cupti_backend.h"

enum { BLOCK = 64 };

/* Work of a context since a thread last waited for all of it. */
typedef enum context_work { NO_WORK = 0, WORK, AWAITED } context_work;

typedef struct live_context {
    void *context; /* NULL in a free place (atomic) */
    uint8_t work;  /* context_work (atomic) */
} live_context;

typedef struct context_block {
    live_context places[BLOCK];
    struct context_block *next; /* owned (atomic) */
} context_block;

static context_block first_block;

/* Number of destroyed contexts: a new one may have the same address. */
static uint32_t dropped_contexts;

static context_block *
next_block(const context_block *block)
{
    return __atomic_load_n(&block->next, __ATOMIC_ACQUIRE);
}

/* True if the context is in the block now. */
static bool
put(context_block *block, void *context)
{
    for (int i = 0; i < BLOCK; i++) {
        void *there = NULL;

        if (__atomic_compare_exchange_n(&block->places[i].context, &there,
                                        context, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE) ||
            there == context) {
            return true;
        }
    }
    return false;
}

/* Return the block after this one, added if there is none; NULL if memory is
 * out. */
static context_block *
add_block(context_block *last)
{
    context_block *there = NULL;
    context_block *made = calloc(1, sizeof(*made));

    if (made != NULL &&
        __atomic_compare_exchange_n(&last->next, &there, made, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return made;
    }
    free(made);
    return there;
}

/* Return the place of a context, or NULL. */
static live_context *
find(const void *context)
{
    for (context_block *block = &first_block; block != NULL;
         block = next_block(block)) {
        for (int i = 0; i < BLOCK; i++) {
            live_context *place = &block->places[i];

            if (__atomic_load_n(&place->context, __ATOMIC_RELAXED) ==
                context) {
                return place;
            }
        }
    }
    return NULL;
}

void
lp_cupti_add_context(void *context)
{
    static _Thread_local void *last;
    static _Thread_local uint32_t last_dropped;
    uint32_t dropped_now =
        __atomic_load_n(&dropped_contexts, __ATOMIC_ACQUIRE);
    context_block *block = &first_block;

    if (context == NULL || (context == last && dropped_now == last_dropped)) {
        return;
    }
    last = context;
    last_dropped = dropped_now;
    if (find(context) != NULL) { /* maybe behind a free place */
        return;
    }
    while (block != NULL && !put(block, context)) {
        context_block *next = next_block(block);

        block = next != NULL ? next : add_block(block);
    }
}

void
lp_cupti_add_current_context(void)
{
    void *context = NULL;

    lp_cupti_internal_calls(true);
    if (lp_cupti.cuda.current(&context) == 0) {
        lp_cupti_add_context(context);
    }
    lp_cupti_internal_calls(false);
}

void
lp_cupti_drop_context(void *context)
{
    for (context_block *block = &first_block; block != NULL;
         block = next_block(block)) {
        for (int i = 0; i < BLOCK; i++) {
            void *there = context;

            if (__atomic_load_n(&block->places[i].context, __ATOMIC_RELAXED) ==
                context) {
                __atomic_store_n(&block->places[i].work, NO_WORK,
                                 __ATOMIC_RELEASE);
            }
            __atomic_compare_exchange_n(&block->places[i].context, &there,
                                        NULL, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE);
        }
    }
    __atomic_fetch_add(&dropped_contexts, 1, __ATOMIC_ACQ_REL);
}

static bool
drop(void *context)
{
    lp_cupti_drop_context(context);
    return true;
}

void
lp_cupti_drop_all_contexts(void)
{
    lp_cupti_visit_contexts(drop);
}

bool
lp_cupti_visit_contexts(bool (*visit)(void *context))
{
    for (context_block *block = &first_block; block != NULL;
         block = next_block(block)) {
        for (int i = 0; i < BLOCK; i++) {
            void *context =
                __atomic_load_n(&block->places[i].context, __ATOMIC_ACQUIRE);

            if (context != NULL && !visit(context)) {
                return false;
            }
        }
    }
    return true;
}

/* Return the place of a context; contexts without one share the first. */
static live_context *
place_of(const void *context)
{
    static _Thread_local live_context *last;

    if (context != NULL &&
        (last == NULL ||
         __atomic_load_n(&last->context, __ATOMIC_RELAXED) != context)) {
        last = find(context);
    }
    return context != NULL && last != NULL ? last : &first_block.places[0];
}

void
lp_cupti_add_work(const void *context)
{
    uint8_t *work = &place_of(context)->work;

    if (__atomic_load_n(work, __ATOMIC_RELAXED) != WORK) {
        __atomic_store_n(work, WORK, __ATOMIC_RELEASE);
    }
}

void
lp_cupti_await_work(const void *context, bool done)
{
    uint8_t before = done ? AWAITED : WORK;

    /* (Work that was launched in the meantime remains.) */
    __atomic_compare_exchange_n(&place_of(context)->work, &before,
                                done ? NO_WORK : AWAITED, false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

bool
lp_cupti_has_work(void)
{
    for (context_block *block = &first_block; block != NULL;
         block = next_block(block)) {
        for (int i = 0; i < BLOCK; i++) {
            if (__atomic_load_n(&block->places[i].work, __ATOMIC_ACQUIRE) !=
                NO_WORK) {
                return true;
            }
        }
    }
    return false;
}
