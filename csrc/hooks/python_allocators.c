#include "hooks/python_allocators.h"

#include "engine/python_compat.h"
#include "memory/heap_path.h"

enum { DOMAINS = 3 };

static const PyMemAllocatorDomain domains[DOMAINS] = {
    PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};

/* The allocators before ours.  The hooks are called with the context of these,
 * so that a thread which calls an allocator while it is replaced, and sees
 * parts of both, does no harm. */
static PyMemAllocatorEx below[DOMAINS];

/* Ours are set, perhaps below those of another tool. */
static bool is_set[DOMAINS];

static const char *note; /* static text */

enum { PROBE = 2 }; /* lp_memory_of_thread.inside while a probe is sent */

static bool is_probed; /* it has come */

/* A hook only passes a call on. */
LP_INLINE void *
pass_malloc(const lp_memory_here *here, int domain, void *context,
            size_t bytes)
{
    if (LP_UNLIKELY(here->inside == PROBE)) {
        is_probed = true; /* other threads, without the GIL, leave it alone */
    }
    return below[domain].malloc(context, bytes);
}

/* A block that is not in the shadow: the allocator below may pass it on. */
static LP_NOINLINE void
free_slowly(lp_memory_here *here, int domain, void *context, void *block,
            uint64_t cell)
{
    if (lp_heap_is_no_sample(block, cell)) {
        below[domain].free(context, block);
        return;
    }
    here->inside = 1;
    lp_heap_free_slowly(block, cell);
    below[domain].free(context, block);
    here->inside = 0;
}

LP_INLINE void *
hooked_malloc(int domain, void *context, size_t bytes)
{
    lp_memory_here *here = lp_memory_here_now();
    void *block;

    if (LP_UNLIKELY(!lp_heap_begin(here))) {
        return pass_malloc(here, domain, context, bytes);
    }
    block = below[domain].malloc(context, bytes);
    here->inside = 0;
    return LP_LIKELY(block != NULL) ? lp_heap_add(here, block, bytes) : NULL;
}

LP_INLINE void *
hooked_calloc(int domain, void *context, size_t n, size_t size)
{
    lp_memory_here *here = lp_memory_here_now();
    void *block;

    if (LP_UNLIKELY(!lp_heap_begin(here))) {
        return below[domain].calloc(context, n, size);
    }
    block = below[domain].calloc(context, n, size);
    here->inside = 0;
    return LP_LIKELY(block != NULL) ? lp_heap_add(here, block, n * size)
                                    : NULL;
}

LP_INLINE void *
hooked_realloc(int domain, void *context, void *old, size_t bytes)
{
    lp_memory_here *here = lp_memory_here_now();
    lp_heap_block taken;
    void *block;

    if (LP_UNLIKELY(!lp_heap_begin(here))) {
        return below[domain].realloc(context, old, bytes);
    }
    taken = lp_heap_take(old);
    block = below[domain].realloc(context, old, bytes);
    here->inside = 0;
    if (LP_UNLIKELY(block == NULL)) {
        lp_heap_put_back(old, taken);
        return NULL;
    }
    if (LP_LIKELY(taken.site != 0)) {
        lp_heap_drop(here, taken, false);
    }
    return lp_heap_add(here, block, bytes);
}

LP_INLINE void
hooked_free(int domain, void *context, void *block)
{
    lp_memory_here *here = lp_memory_here_now();

    if (LP_LIKELY(lp_heap_may_begin(here))) {
        uint64_t cell = lp_heap_take_small(block);

        if (LP_UNLIKELY(!lp_is_block(cell))) {
            free_slowly(here, domain, context, block, cell);
            return;
        }
        lp_heap_drop(here, lp_cell_block(cell), true);
    }
    below[domain].free(context, block);
}

/* Each hook in a form for one domain. */
#define HOOKS_OF(name, domain)                                                \
    static void *name##_malloc(void *context, size_t bytes)                   \
    {                                                                         \
        return hooked_malloc(domain, context, bytes);                         \
    }                                                                         \
    static void *name##_calloc(void *context, size_t n, size_t size)          \
    {                                                                         \
        return hooked_calloc(domain, context, n, size);                       \
    }                                                                         \
    static void *name##_realloc(void *context, void *block, size_t bytes)     \
    {                                                                         \
        return hooked_realloc(domain, context, block, bytes);                 \
    }                                                                         \
    static void name##_free(void *context, void *block)                       \
    {                                                                         \
        hooked_free(domain, context, block);                                  \
    }

HOOKS_OF(raw, 0)
HOOKS_OF(mem, 1)
HOOKS_OF(obj, 2)

#undef HOOKS_OF

static const PyMemAllocatorEx hooks[DOMAINS] = {
    {NULL, raw_malloc, raw_calloc, raw_realloc, raw_free},
    {NULL, mem_malloc, mem_calloc, mem_realloc, mem_free},
    {NULL, obj_malloc, obj_calloc, obj_realloc, obj_free},
};

static bool
is_ours(int domain)
{
    PyMemAllocatorEx now;

    PyMem_GetAllocator(domains[domain], &now);
    return now.malloc == hooks[domain].malloc;
}

static void *
allocate(int domain, size_t bytes)
{
    return domain == 0   ? PyMem_RawMalloc(bytes)
           : domain == 1 ? PyMem_Malloc(bytes)
                         : PyObject_Malloc(bytes);
}

static void
release(int domain, void *block)
{
    if (domain == 0) {
        PyMem_RawFree(block);
    }
    else if (domain == 1) {
        PyMem_Free(block);
    }
    else {
        PyObject_Free(block);
    }
}

/* True if the allocator that is set now is ours, or calls ours. */
static bool
is_reached(int domain)
{
    uint32_t before = lp_memory_of_thread.inside;
    void *block;

    if (is_ours(domain)) {
        return true;
    }
    is_probed = false;
    lp_memory_of_thread.inside = PROBE;
    block = allocate(domain, 1);
    if (block != NULL) {
        release(domain, block);
    }
    lp_memory_of_thread.inside = before;
    return is_probed;
}

void
lp_python_allocators_on(void)
{
    note = NULL;
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx ours = hooks[i];

        if (is_set[i] && is_reached(i)) {
            continue; /* a second time would be an endless recursion */
        }
        PyMem_GetAllocator(domains[i], &below[i]);
        ours.ctx = below[i].ctx;
        PyMem_SetAllocator(domains[i], &ours);
        is_set[i] = true;
    }
}

static void
look(void)
{
    for (int i = 0; i < DOMAINS; i++) {
        if (is_set[i] && !is_reached(i)) {
            is_set[i] = false;
            note = "another tool removed lineprof's hooks of Python's "
                   "allocators: memory since then is not counted";
        }
    }
}

void
lp_python_allocators_off(void)
{
    look();
    for (int i = 0; i < DOMAINS; i++) {
        if (is_set[i] && is_ours(i)) {
            PyMem_SetAllocator(domains[i], &below[i]);
            is_set[i] = false;
        }
        else if (is_set[i] && note == NULL) {
            note = "another tool's allocators call lineprof's, which stay "
                   "there, and count nothing";
        }
    }
}

const char *
lp_python_allocators_note(void)
{
    look();
    return note;
}
