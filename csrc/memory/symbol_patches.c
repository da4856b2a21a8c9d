#include "memory/symbol_patches.h"

#if LP_HAVE_SYMBOL_PATCHES

#  include <dlfcn.h>
#  include <elf.h>
#  include <link.h>
#  include <sched.h>
#  include <stdint.h>
#  include <stdio.h>
#  include <string.h>
#  include <sys/auxv.h>
#  include <sys/mman.h>
#  include <unistd.h>

enum {
    MAX_PATCHES = 64,
    MAX_CANDIDATES = 4, /* functions that slots of one name hold */
    MAX_WANTED = 96,    /* symbols of an object, some in two versions */
    MAX_TRIES = 8,      /* to find no library half loaded */
    MAX_WAITS_FOR_FORK = 1000,
};

#  if defined(__x86_64__)
enum {
    JUMP_SLOT = R_X86_64_JUMP_SLOT,
    GLOBAL_DATA = R_X86_64_GLOB_DAT,
    POINTER = R_X86_64_64
};
#  else
enum {
    JUMP_SLOT = R_AARCH64_JUMP_SLOT,
    GLOBAL_DATA = R_AARCH64_GLOB_DAT,
    POINTER = R_AARCH64_ABS64
};
#  endif

/* A loaded object, as far as it is needed here. */
typedef struct elf_object {
    const char *name; /* borrowed; "" for the program */
    uintptr_t base;
    const ElfW(Phdr) * headers;
    size_t n_headers;
    const ElfW(Dyn) * dynamic; /* NULL: linked statically */
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hashes;     /* DT_GNU_HASH, or NULL */
    const uint32_t *old_hashes; /* DT_HASH, likewise */
    const ElfW(Rela) * tables[2];
    size_t lengths[2];
    uintptr_t read_only_from, read_only_to; /* written by the loader alone */
    struct {
        uint64_t symbol; /* number of it */
        size_t which;    /* of the patches */
    } wanted[MAX_WANTED];
    size_t n_wanted;
    uint64_t filter; /* bits of the numbers' low bits */
} elf_object;

/* A place from which an object calls one of the functions. */
typedef struct slot {
    void **place;
    void *function;   /* what it calls */
    size_t which;     /* of the patches */
    bool is_variable; /* of the object, which may put anything there */
} slot;

typedef struct slot_walk {
    const elf_object *object;
    size_t table, next;
} slot_walk;

/* An object whose slots were looked at. */
typedef struct known_object {
    uintptr_t base;
    const void *dynamic;
    size_t patched; /* slots that held a hook then */
} known_object;

static struct {
    const lp_symbol_patch *patches; /* borrowed; NULL: restored */
    size_t n;
    void *first[MAX_PATCHES]; /* what the loader binds a name to */
    void *alias[MAX_PATCHES]; /* the program's own stub, which other objects
                               * call through; see find_aliases() */
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

/* --- objects ------------------------------------------------------------- */

/* glibc relocates addresses of the dynamic section in place, musl does not. */
static const void *
address_of(const elf_object *object, ElfW(Addr) given)
{
    return (const void *)(given < object->base ? object->base + given : given);
}

/* True if the address lies in a segment that has all these rights. */
static bool
has_address(const elf_object *object, const void *address, ElfW(Word) rights)
{
    uintptr_t offset = (uintptr_t)address - object->base;

    for (size_t i = 0; i < object->n_headers; i++) {
        const ElfW(Phdr) *header = &object->headers[i];

        if (header->p_type == PT_LOAD && offset >= header->p_vaddr &&
            offset - header->p_vaddr < header->p_memsz) {
            return (header->p_flags & rights) == rights;
        }
    }
    return false;
}

/* The number of the symbol of this name that the object defines, or 0. */
static uint32_t
find_definition(const elf_object *object, const char *name)
{
    const uint32_t *head = object->hashes;
    const uint32_t *buckets, *chain;
    uint32_t hash = 5381, i;

    if (head == NULL || head[0] == 0) {
        return 0;
    }
    for (const char *at = name; *at != '\0'; at++) {
        hash = hash * 33 + (uint8_t)*at;
    }
    buckets = head + 4 + head[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    chain = buckets + head[0];
    i = buckets[hash % head[0]];
    if (i < head[1]) {
        return 0;
    }
    for (;; i++) {
        const ElfW(Sym) *symbol = &object->symbols[i];

        if ((chain[i - head[1]] | 1) == (hash | 1) &&
            strcmp(object->strings + symbol->st_name, name) == 0) {
            return i;
        }
        if ((chain[i - head[1]] & 1) != 0) {
            return 0;
        }
    }
}

/* Symbols that the object does not define have numbers below this one, and
 * perhaps others. */
static uint64_t
end_of_undefined(const elf_object *object)
{
    uint64_t end = 0;

    if (object->hashes != NULL && object->hashes[1] > 1) {
        return object->hashes[1];
    }
    if (object->old_hashes != NULL) {
        return object->old_hashes[1];
    }
    /* GNU ld says 1 if the object defines nothing. */
    for (size_t table = 0; table < 2; table++) {
        for (size_t i = 0;
             object->tables[table] != NULL && i < object->lengths[table];
             i++) {
            uint64_t number = ELF64_R_SYM(object->tables[table][i].r_info);

            end = number >= end ? number + 1 : end;
        }
    }
    return end;
}

static void
want(elf_object *object, uint64_t symbol, size_t which)
{
    if (object->n_wanted < MAX_WANTED) {
        object->wanted[object->n_wanted].symbol = symbol;
        object->wanted[object->n_wanted++].which = which;
        object->filter |= (uint64_t)1 << symbol % 64;
    }
}

/* Find the object's symbols of the functions: its relocations, of which there
 * may be a million, have their numbers. */
static void
find_wanted(elf_object *object)
{
    uint64_t end = end_of_undefined(object);

    for (uint64_t symbol = 1; symbol < end; symbol++) {
        const char *name = object->strings + object->symbols[symbol].st_name;

        for (size_t i = 0; i < state.n; i++) {
            if (state.patches[i].name[0] == name[0] &&
                strcmp(state.patches[i].name, name) == 0) {
                want(object, symbol, i);
            }
        }
    }
    for (size_t i = 0; i < state.n; i++) {
        uint64_t symbol = find_definition(object, state.patches[i].name);

        if (symbol >= end) {
            want(object, symbol, i);
        }
    }
}

/* False for objects without slots. */
static bool
read_object(const struct dl_phdr_info *info, elf_object *object)
{
    uintptr_t page = (uintptr_t)getauxval(AT_PAGESZ);
    size_t relative = 0;

    *object = (elf_object){
        .name = info->dlpi_name != NULL ? info->dlpi_name : "",
        .base = info->dlpi_addr,
        .headers = info->dlpi_phdr,
        .n_headers = info->dlpi_phnum,
    };
    for (size_t i = 0; i < object->n_headers; i++) {
        const ElfW(Phdr) *header = &object->headers[i];
        uintptr_t start = object->base + header->p_vaddr;

        if (header->p_type == PT_DYNAMIC) {
            object->dynamic = (const void *)start;
        }
        else if (header->p_type == PT_GNU_RELRO) {
            object->read_only_from = start & ~(page - 1);
            object->read_only_to = (start + header->p_memsz) & ~(page - 1);
        }
    }
    if (object->dynamic == NULL) {
        return false;
    }
    for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL;
         entry++) {
        const void *address = address_of(object, entry->d_un.d_ptr);

        switch (entry->d_tag) {
        case DT_SYMTAB:
            object->symbols = address;
            break;
        case DT_STRTAB:
            object->strings = address;
            break;
        case DT_GNU_HASH:
            object->hashes = address;
            break;
        case DT_HASH:
            object->old_hashes = address;
            break;
        case DT_RELA:
            object->tables[0] = address;
            break;
        case DT_RELASZ:
            object->lengths[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELACOUNT:
            relative = entry->d_un.d_val;
            break;
        case DT_JMPREL:
            object->tables[1] = address;
            break;
        case DT_PLTRELSZ:
            object->lengths[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    }
    /* Those without a symbol come first, and are the most by far. */
    if (relative <= object->lengths[0] && object->tables[0] != NULL) {
        object->tables[0] += relative;
        object->lengths[0] -= relative;
    }
    return object->symbols != NULL && object->strings != NULL;
}

static const char *
file_name(const elf_object *object)
{
    const char *slash = strrchr(object->name, '/');

    return slash != NULL ? slash + 1 : object->name;
}

/* True for objects that are never patched. */
static bool
is_excluded(const elf_object *object)
{
    static const char *const names[] = {
        "libpthread.so", "libpthread-", "libdl.so",  "libdl-",
        "librt.so",      "librt-",      "ld-linux",  "libasan",
        "libtsan",       "liblsan",     "libubsan",  "libmsan",
        "libhwasan",     "libclang_rt", "libcupti.",
    };
    const char *file = file_name(object);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(file, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    if (object->base == getauxval(AT_BASE) ||              /* the loader */
        has_address(object, (const void *)getauxval, 0) || /* libc */
        has_address(object, (const void *)lp_patches_apply, 0)) {
        return true;
    }
    for (size_t i = 0; i < state.n; i++) {
        void *below = *state.patches[i].below;

        if ((below != NULL && has_address(object, below, 0)) ||
            (state.first[i] != NULL &&
             has_address(object, state.first[i], 0))) {
            return true;
        }
    }
    return false;
}

/* --- slots --------------------------------------------------------------- */

static slot_walk
slots_of(const elf_object *object)
{
    return (slot_walk){.object = object};
}

static bool
find_patch(const elf_object *object, uint64_t symbol, size_t *which)
{
    if ((object->filter >> symbol % 64 & 1) == 0) {
        return false;
    }
    for (size_t i = 0; i < object->n_wanted; i++) {
        if (object->wanted[i].symbol == symbol) {
            *which = object->wanted[i].which;
            return state.first[*which] != NULL;
        }
    }
    return false;
}

/* The next slot of one of the functions; false at the end. */
static bool
next_slot(slot_walk *self, slot *found)
{
    const elf_object *object = self->object;

    for (; self->table < 2; self->table++, self->next = 0) {
        const ElfW(Rela) *table = object->tables[self->table];

        while (table != NULL && self->next < object->lengths[self->table]) {
            const ElfW(Rela) *entry = &table[self->next++];
            uint64_t kind = ELF64_R_TYPE(entry->r_info);
            uint64_t number = ELF64_R_SYM(entry->r_info);
            const ElfW(Sym) * symbol;
            void *stub;

            if ((kind != JUMP_SLOT && kind != GLOBAL_DATA &&
                 kind != POINTER) ||
                entry->r_addend != 0 ||
                !find_patch(object, number, &found->which)) {
                continue;
            }
            symbol = &object->symbols[number];
            found->place = (void **)(object->base + entry->r_offset);
            if (!has_address(object, found->place, PF_W)) {
                continue;
            }
            found->function = __atomic_load_n(found->place, __ATOMIC_RELAXED);
            found->is_variable = kind == POINTER;
            stub = state.alias[found->which];
            if (kind == JUMP_SLOT &&
                has_address(object, found->function, PF_X) &&
                (uintptr_t)found->function !=
                    object->base + symbol->st_value) {
                found->function =
                    state.first[found->which]; /* not yet bound */
            }
            if (found->function != NULL && found->function != stub) {
                return true;
            }
        }
    }
    return false;
}

/* --- what is below ------------------------------------------------------- */

/* A program that is not position-independent, and uses a function's address,
 * has a stub that is the function's address for all objects: it jumps through
 * the program's own slot.  dlsym() finds it too, but what is below a hook
 * must not lead back to a slot. */
static int
find_aliases(struct dl_phdr_info *info, size_t size, void *arg)
{
    elf_object object;

    (void)size;
    (void)arg;
    if (!read_object(info, &object) || object.tables[1] == NULL) {
        return 0;
    }
    find_wanted(&object);
    for (size_t i = 0; i < object.n_wanted; i++) {
        const ElfW(Sym) *symbol = &object.symbols[object.wanted[i].symbol];

        if (symbol->st_shndx == SHN_UNDEF && symbol->st_value != 0) {
            state.alias[object.wanted[i].which] =
                (void *)(object.base + symbol->st_value);
        }
    }
    return 1; /* the program is the first */
}

static int
find_behind_aliases(struct dl_phdr_info *info, size_t size, void *arg)
{
    elf_object object;

    (void)size;
    (void)arg;
    if (!read_object(info, &object)) {
        return 0;
    }
    for (size_t i = 0; i < state.n; i++) {
        if (state.first[i] != NULL && state.first[i] == state.alias[i]) {
            uint32_t number = find_definition(&object, state.patches[i].name);
            const ElfW(Sym) *symbol = &object.symbols[number];

            if (number != 0 && symbol->st_shndx != SHN_UNDEF &&
                ELF64_ST_TYPE(symbol->st_info) == STT_FUNC) {
                state.first[i] = (void *)(object.base + symbol->st_value);
            }
        }
    }
    return 0;
}

typedef struct votes {
    void *functions[MAX_PATCHES][MAX_CANDIDATES];
    size_t counts[MAX_PATCHES][MAX_CANDIDATES];
} votes;

static int
collect_votes(struct dl_phdr_info *info, size_t size, void *arg)
{
    votes *self = arg;
    elf_object object;
    slot_walk walk;
    slot found;

    (void)size;
    if (!read_object(info, &object) || is_excluded(&object)) {
        return 0;
    }
    find_wanted(&object);
    for (walk = slots_of(&object); next_slot(&walk, &found);) {
        for (size_t i = 0; !found.is_variable && i < MAX_CANDIDATES; i++) {
            void **candidate = &self->functions[found.which][i];

            if (*candidate == NULL || *candidate == found.function) {
                *candidate = found.function;
                self->counts[found.which][i]++;
                break;
            }
        }
    }
    return 0;
}

static int
find_first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    return read_object(info, arg) && has_address(arg, state.first[0], 0);
}

/* The function that most slots hold.  If another tool has patched them it is
 * the tool's, though its own libraries may hold another one. */
static void *
elect(const votes *found, size_t which, bool other_tool)
{
    void *elected = state.first[which];
    size_t most = 0;

    for (size_t i = 0; i < MAX_CANDIDATES; i++) {
        void *candidate = found->functions[which][i];
        size_t count = found->counts[which][i];

        if (count > most && !(other_tool && candidate == state.first[which])) {
            most = count;
            elected = candidate;
        }
    }
    return elected;
}

/* Set state.first and what is below each hook, which stays a function once it
 * was one: a thread may be about to call a hook of the last time. */
static void
find_below(void)
{
    votes found = {0};
    elf_object object;
    bool first_found, other_tool = false;

    memset(state.alias, 0, sizeof(state.alias));
    for (size_t i = 0; i < state.n; i++) {
        state.first[i] = dlsym(RTLD_DEFAULT, state.patches[i].name);
    }
    dl_iterate_phdr(find_aliases, NULL);
    dl_iterate_phdr(find_behind_aliases, NULL);
    first_found = dl_iterate_phdr(find_first_object, &object) != 0;
    for (size_t i = 0; i < state.n; i++) {
        if (state.first[i] == state.alias[i] ||
            (state.patches[i].beside_first &&
             !(first_found && has_address(&object, state.first[i], 0)))) {
            state.first[i] = NULL;
        }
    }
    dl_iterate_phdr(collect_votes, &found);
    for (size_t i = 0; i < state.n; i++) {
        void *below = elect(&found, i, other_tool);

        other_tool |= i == 0 && below != state.first[0];
        __atomic_store_n(state.patches[i].below, below, __ATOMIC_RELEASE);
    }
}

/* --- patching ------------------------------------------------------------ */

/* The known object of this number, or a new one; NULL if there is no memory.
 */
static known_object *
find_known(const elf_object *object, size_t number, bool *is_new)
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

static void
refuse(const elf_object *object)
{
    if (state.counts.refused++ == 0) {
        snprintf(state.counts.first_refused,
                 sizeof(state.counts.first_refused), "%s", file_name(object));
    }
}

static bool
set_protection(const elf_object *object, int rights)
{
    return mprotect((void *)object->read_only_from,
                    object->read_only_to - object->read_only_from,
                    rights) == 0;
}

/* Put hooks in the slots that hold what is below them, or the reverse.  False
 * if their pages cannot be written. */
static bool
exchange(const elf_object *object, bool restore)
{
    slot_walk walk = slots_of(object);
    bool unprotected = false;
    slot found;

    while (next_slot(&walk, &found)) {
        const lp_symbol_patch *patch = &state.patches[found.which];
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
has_strange_slots(const elf_object *object)
{
    slot_walk walk = slots_of(object);
    slot found;

    while (next_slot(&walk, &found)) {
        const lp_symbol_patch *patch = &state.patches[found.which];

        if (!found.is_variable && found.function != patch->hook &&
            found.function != *patch->below &&
            found.function != state.first[found.which]) {
            return true;
        }
    }
    return false;
}

static size_t
count_hooks(const elf_object *object)
{
    slot_walk walk = slots_of(object);
    size_t n = 0;
    slot found;

    while (next_slot(&walk, &found)) {
        n += !found.is_variable &&
             found.function == state.patches[found.which].hook;
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
    elf_object object;
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
    if (!read_object(info, &object)) {
        return 0;
    }
    known = find_known(&object, round->number++, &is_new);
    if (known == NULL || !is_new || is_excluded(&object)) {
        return 0;
    }
    find_wanted(&object);
    if (has_strange_slots(&object) || !exchange(&object, false)) {
        refuse(&object);
    }
    known->patched = count_hooks(&object);
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
        if (state.patches != NULL && !lp_patches_list_may_be_locked()) {
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

    if (n > MAX_PATCHES) {
        return false;
    }
    lp_patches_restore();
    wait_for_work();
    if (state.patches != NULL) { /* they stayed */
        end_work();
        return state.patches == patches;
    }
    state.patches = patches;
    state.n = n;
    state.counts = (lp_patch_counts){0};
    state.n_known = 0;
    state.loads = 0;
    find_below();
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
    elf_object object;
    known_object *known;
    bool is_new;
    size_t n;

    (void)size;
    if (!read_object(info, &object)) {
        return 0;
    }
    known = find_known(&object, round->number++, &is_new);
    if (known == NULL || is_new) {
        state.n_known -= is_new;
        return 0;
    }
    find_wanted(&object);
    n = count_hooks(&object);
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
    elf_object object;

    (void)size;
    (void)arg;
    if (read_object(info, &object) && !is_excluded(&object)) {
        find_wanted(&object);
        exchange(&object, true);
    }
    return 0;
}

void
lp_patches_restore(void)
{
    wait_for_work();
    if (state.patches != NULL && !lp_patches_list_may_be_locked()) {
        count_all();
        dl_iterate_phdr(restore_object, NULL);
        state.patches = NULL;
    }
    end_work();
}

lp_patch_counts
lp_patches_count(void)
{
    lp_patch_counts counts;

    wait_for_work();
    if (state.patches != NULL && !lp_patches_list_may_be_locked()) {
        count_all();
    }
    counts = state.counts;
    end_work();
    return counts;
}

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
    __atomic_store_n(&list_may_be_locked, state.patches != NULL,
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

/* --- callers ------------------------------------------------------------- */

#  ifdef __GLIBC__
/* By a lock of the loader that a forked child has. */
bool
lp_caller_has_search_path(const void *address, bool inherited)
{
    Dl_info ignored;
    struct link_map *object = NULL;

    if (dladdr1(address, &ignored, (void **)&object, RTLD_DL_LINKMAP) == 0 ||
        object == NULL) {
        return false;
    }
    for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL;
         entry++) {
        if (entry->d_tag == DT_RPATH ||
            (entry->d_tag == DT_RUNPATH && !inherited)) {
            return true;
        }
    }
    return false;
}
#  else
bool
lp_caller_has_search_path(const void *address, bool inherited)
{
    (void)address;
    (void)inherited;
    return false; /* other loaders do not ask */
}
#  endif

#else

/* A file needs something in it. */
typedef int lp_no_symbol_patches;

#endif
