/* The live contexts of the process, for whose work a flush waits, each with
 * the id that its records have.
 *
 * They are in blocks that are never freed, so that no reader needs a lock; few
 * programs need a second block. */
#include <stdlib.h>

#include "gpu/cupti_backend.h"

enum { BLOCK = 64 };

typedef struct live_context {
    void *context; /* NULL in a free place (atomic) */
    uint32_t id;   /* of its records; 0 until work is launched (atomic) */
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
lp_cupti_add_context(void *context, uint32_t id)
{
    static _Thread_local void *last;
    static _Thread_local uint32_t last_id, last_dropped;
    uint32_t dropped_now =
        __atomic_load_n(&dropped_contexts, __ATOMIC_ACQUIRE);
    context_block *block = &first_block;
    live_context *place;

    if (context == NULL ||
        (context == last && id == last_id && dropped_now == last_dropped)) {
        return;
    }
    place = find(context); /* maybe behind a free place */
    while (place == NULL && block != NULL && !put(block, context)) {
        context_block *next = next_block(block);

        block = next != NULL ? next : add_block(block);
    }
    last = context;
    last_id = id;
    last_dropped = dropped_now;
    place = id != 0 ? find(context) : NULL;
    if (place != NULL) {
        __atomic_store_n(&place->id, id, __ATOMIC_RELEASE);
    }
}

void
lp_cupti_add_current_context(void)
{
    void *context = NULL;

    lp_cupti_internal_calls(true);
    if (lp_cupti.cuda.current(&context) == 0) {
        lp_cupti_add_context(context, 0);
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
                __atomic_store_n(&block->places[i].id, 0, __ATOMIC_RELEASE);
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

uint32_t
lp_cupti_context_id(const void *context)
{
    const live_context *place = context != NULL ? find(context) : NULL;
    uint32_t id =
        place != NULL ? __atomic_load_n(&place->id, __ATOMIC_ACQUIRE) : 0;

    return id != 0 ? id : UINT32_MAX;
}
