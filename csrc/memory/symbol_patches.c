#include "memory/symbol_patches.h"

#if LP_HAVE_ELF_OBJECTS

#  include <dlfcn.h>
#  include <sched.h>
#  include <stdio.h>
#  include <string.h>
#  include <sys/mman.h>

#  include "memory/call_slots.h"
#  include "memory/functions_below.h"

enum {
    MAX_TRIES = 8, /* to find no library half loaded */
    MAX_WAITS_FOR_FORK = 1000,
};

/* An object whose slots were looked at. */
typedef struct known_object {
    uintptr_t base;
    const void *dynamic;
    size_t patched; /* slots that held a hook then */
} known_object;

static struct {
    lp_patched_functions functions;
    lp_patch_counts counts;
    known_object *known; /* mapped; one for each object, in their order */
    size_t n_known, capacity;
    unsigned long long unloads; /* so far, when they were looked at */
    unsigned long long loads;   /* likewise; one after a try that failed */
} state;

/* The process was forked: a thread that the child does not have may hold the
 * lock of the list of objects for ever.  Then hooks stay where they are, and
 * nothing is counted, until the child has loaded a library. */
static bool list_may_be_locked; /* (atomic) */

/* One thread at a time is at work.  Others leave word and go on: they may
 * hold a lock of the loader for which that one waits. */
static bool at_work;
static uint64_t requests;

/* --- objects that were looked at ----------------------------------------- */

/* The known object of this number, or a new one; NULL if there is no memory.
 */
static known_object *
find_known(const lp_elf_object *object, size_t number, bool *is_new)
{
    known_object *known = state.known;

    *is_new = false;
    for (size_t i = 0; i < state.n_known; i++) {
        size_t k = (number + i) % state.n_known; /* they rarely move */

        if (known[k].base == object->base &&
            known[k].dynamic == object->dynamic) {
            return &known[k];
        }
    }
    if (state.n_known == state.capacity) {
        size_t capacity = state.capacity != 0 ? 2 * state.capacity : 512;

        known = mmap(NULL, capacity * sizeof(*known), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (known == MAP_FAILED) {
            return NULL;
        }
        if (state.known != NULL) {
            memcpy(known, state.known, state.n_known * sizeof(*known));
            munmap(state.known, state.capacity * sizeof(*known));
        }
        state.known = known;
        state.capacity = capacity;
    }
    *is_new = true;
    known = &state.known[state.n_known++];
    *known = (known_object){.base = object->base, .dynamic = object->dynamic};
    return known;
}

/* --- patching ------------------------------------------------------------ */

static void
refuse(const lp_elf_object *object)
{
    if (state.counts.refused++ == 0) {
        snprintf(state.counts.first_refused,
                 sizeof(state.counts.first_refused), "%s",
                 lp_elf_object_file_name(object));
    }
}

static bool
set_protection(const lp_elf_object *object, int rights)
{
    return mprotect((void *)object->read_only_from,
                    object->read_only_to - object->read_only_from,
                    rights) == 0;
}

/* Put hooks in the slots that hold what is below them, or the reverse.  False
 * if their pages cannot be written. */
static bool
exchange(const lp_call_slots *slots, bool restore)
{
    const lp_elf_object *object = slots->object;
    lp_slot_walk walk = {.slots = slots};
    bool unprotected = false;
    lp_call_slot found;

    while (lp_slot_walk_next(&walk, &found)) {
        const lp_symbol_patch *patch = &state.functions.patches[found.which];
        void *from = restore ? patch->hook : *patch->below;
        uintptr_t place = (uintptr_t)found.place;

        if (found.function != from) {
            continue;
        }
        if (!unprotected && place >= object->read_only_from &&
            place < object->read_only_to) {
            if (!set_protection(object, PROT_READ | PROT_WRITE)) {
                return false;
            }
            unprotected = true;
        }
        __atomic_store_n(found.place, restore ? *patch->below : patch->hook,
                         __ATOMIC_RELEASE);
    }
    if (unprotected) {
        set_protection(object, PROT_READ);
    }
    return true;
}

/* True if the object calls something that nobody here knows. */
static bool
has_strange_slots(const lp_call_slots *slots)
{
    lp_slot_walk walk = {.slots = slots};
    lp_call_slot found;

    while (lp_slot_walk_next(&walk, &found)) {
        const lp_symbol_patch *patch = &state.functions.patches[found.which];

        if (!found.is_variable && found.function != patch->hook &&
            found.function != *patch->below &&
            found.function != state.functions.first[found.which]) {
            return true;
        }
    }
    return false;
}

static size_t
count_hooks(const lp_call_slots *slots)
{
    lp_slot_walk walk = {.slots = slots};
    size_t n = 0;
    lp_call_slot found;

    while (lp_slot_walk_next(&walk, &found)) {
        n += !found.is_variable &&
             found.function == state.functions.patches[found.which].hook;
    }
    return n;
}

typedef struct round_of_objects {
    unsigned long long loads; /* until the round began */
    size_t number;            /* of objects seen */
    bool is_late;             /* another one is being loaded */
} round_of_objects;

static int
patch_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    round_of_objects *round = arg;
    known_object *known;
    lp_elf_object object;
    lp_call_slots slots;
    bool is_new;

    (void)size;
    if (info->dlpi_adds != round->loads) {
        round->is_late = true;
        return 1;
    }
    if (round->number == 0 && info->dlpi_subs != state.unloads) {
        state.unloads = info->dlpi_subs;
        state.n_known = 0; /* another one may be at an address by now */
    }
    if (!lp_elf_object_read(info, &object)) {
        return 0;
    }
    known = find_known(&object, round->number++, &is_new);
    if (known == NULL || !is_new ||
        lp_functions_below_exclude(&state.functions, &object)) {
        return 0;
    }
    lp_call_slots_find(&slots, &object, &state.functions);
    if (has_strange_slots(&slots) || !exchange(&slots, false)) {
        refuse(&object);
    }
    known->patched = count_hooks(&slots);
    return 0;
}

static int
read_loads(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(unsigned long long *)arg = info->dlpi_adds;
    return 1;
}

/* Patch what is new.  An object is listed before its slots are filled, while
 * the loader holds a lock; dladdr() waits until it is done. */
static void
patch_new_objects(void)
{
    for (int try = 0; try < MAX_TRIES; try++) {
        round_of_objects round = {0};
        Dl_info ignored;

        dl_iterate_phdr(read_loads, &round.loads);
        if (round.loads == state.loads) {
            return;
        }
        dladdr((void *)patch_new_objects, &ignored);
        dl_iterate_phdr(patch_object, &round);
        if (!round.is_late) {
            state.loads = round.loads;
            return;
        }
    }
}

/* --- one thread at a time ------------------------------------------------ */

static bool
begin_work(void)
{
    return !__atomic_exchange_n(&at_work, true, __ATOMIC_ACQUIRE);
}

static void
end_work(void)
{
    __atomic_store_n(&at_work, false, __ATOMIC_RELEASE);
}

void
lp_patches_follow(void)
{
    uint64_t done;

    __atomic_add_fetch(&requests, 1, __ATOMIC_SEQ_CST);
    do {
        if (!begin_work()) {
            return; /* who is at work sees the request */
        }
        done = __atomic_load_n(&requests, __ATOMIC_SEQ_CST);
        if (state.functions.patches != NULL &&
            !lp_patches_list_may_be_locked()) {
            patch_new_objects();
        }
        end_work();
    } while (__atomic_load_n(&requests, __ATOMIC_SEQ_CST) != done);
}

static void
wait_for_work(void)
{
    while (!begin_work()) {
        sched_yield();
    }
}

bool
lp_patches_apply(const lp_symbol_patch *patches, size_t n)
{
    bool patched;

    if (n > LP_MAX_PATCHES) {
        return false;
    }
    lp_patches_restore();
    wait_for_work();
    if (state.functions.patches != NULL) { /* they stayed */
        end_work();
        return state.functions.patches == patches;
    }
    state.functions.patches = patches;
    state.functions.n = n;
    state.counts = (lp_patch_counts){0};
    state.n_known = 0;
    state.loads = 0;
    lp_functions_below_find(&state.functions);
    patch_new_objects();
    for (size_t i = 0; i < state.n_known; i++) {
        state.counts.patched += state.known[i].patched;
    }
    patched = state.counts.patched > 0;
    end_work();
    return patched;
}

static int
count_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    round_of_objects *round = arg;
    lp_elf_object object;
    lp_call_slots slots;
    known_object *known;
    bool is_new;
    size_t n;

    (void)size;
    if (!lp_elf_object_read(info, &object)) {
        return 0;
    }
    known = find_known(&object, round->number++, &is_new);
    if (known == NULL || is_new) {
        state.n_known -= is_new;
        return 0;
    }
    lp_call_slots_find(&slots, &object, &state.functions);
    n = count_hooks(&slots);
    state.counts.patched += n;
    state.counts.lost += known->patched > n ? known->patched - n : 0;
    return 0;
}

static void
count_all(void)
{
    round_of_objects round = {0};

    state.counts.patched = 0;
    state.counts.lost = 0;
    dl_iterate_phdr(count_object, &round);
}

static int
restore_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    lp_elf_object object;
    lp_call_slots slots;

    (void)size;
    (void)arg;
    if (lp_elf_object_read(info, &object) &&
        !lp_functions_below_exclude(&state.functions, &object)) {
        lp_call_slots_find(&slots, &object, &state.functions);
        exchange(&slots, true);
    }
    return 0;
}

void
lp_patches_restore(void)
{
    wait_for_work();
    if (state.functions.patches != NULL && !lp_patches_list_may_be_locked()) {
        count_all();
        dl_iterate_phdr(restore_object, NULL);
        state.functions.patches = NULL;
    }
    end_work();
}

lp_patch_counts
lp_patches_count(void)
{
    lp_patch_counts counts;

    wait_for_work();
    if (state.functions.patches != NULL && !lp_patches_list_may_be_locked()) {
        count_all();
    }
    counts = state.counts;
    end_work();
    return counts;
}

/* --- forks --------------------------------------------------------------- */

/* A thread that is at work may wait for a lock of the loader that the forking
 * thread holds: then the child does not keep what it left unfinished. */
static bool stopped_for_fork;

void
lp_patches_before_fork(void)
{
    stopped_for_fork = begin_work();
    for (int i = 0; !stopped_for_fork && i < MAX_WAITS_FOR_FORK; i++) {
        sched_yield();
        stopped_for_fork = begin_work();
    }
}

void
lp_patches_after_fork(void)
{
    if (stopped_for_fork) {
        end_work();
    }
}

void
lp_patches_after_fork_in_child(void)
{
    if (!stopped_for_fork) {
        state.known = NULL; /* it may have been growing */
        state.n_known = state.capacity = 0;
        state.loads = 0;
    }
    __atomic_store_n(&list_may_be_locked, state.functions.patches != NULL,
                     __ATOMIC_RELAXED);
    end_work();
}

bool
lp_patches_list_may_be_locked(void)
{
    return __atomic_load_n(&list_may_be_locked, __ATOMIC_RELAXED);
}

void
lp_patches_list_is_free(void)
{
    __atomic_store_n(&list_may_be_locked, false, __ATOMIC_RELAXED);
}

#endif
