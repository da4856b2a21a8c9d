#include "memory/functions_below.h"

#if LP_HAVE_ELF_OBJECTS

#  include <dlfcn.h>
#  include <string.h>
#  include <sys/auxv.h>

enum { MAX_CANDIDATES = 4 }; /* functions that slots of one name hold */

bool
lp_functions_below_exclude(const lp_patched_functions *functions,
                           const lp_elf_object *object)
{
    static const char *const names[] = {
        "libpthread.so", "libpthread-", "libdl.so",  "libdl-",
        "librt.so",      "librt-",      "ld-linux",  "libasan",
        "libtsan",       "liblsan",     "libubsan",  "libmsan",
        "libhwasan",     "libclang_rt", "libcupti.",
    };
    const char *file = lp_elf_object_file_name(object);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(file, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    if (object->base == getauxval(AT_BASE) || /* the loader */
        lp_elf_object_has(object, (const void *)getauxval, 0) || /* libc */
        lp_elf_object_has(object, (const void *)lp_patches_apply, 0)) {
        return true;
    }
    for (size_t i = 0; i < functions->n; i++) {
        void *below = *functions->patches[i].below;

        if ((below != NULL && lp_elf_object_has(object, below, 0)) ||
            (functions->first[i] != NULL &&
             lp_elf_object_has(object, functions->first[i], 0))) {
            return true;
        }
    }
    return false;
}

/* A program that is not position-independent, and uses a function's address,
 * has a stub that is the function's address for all objects: it jumps through
 * the program's own slot.  dlsym() finds it too, but what is below a hook
 * must not lead back to a slot. */
static int
find_aliases(struct dl_phdr_info *info, size_t size, void *arg)
{
    lp_patched_functions *functions = arg;
    lp_elf_object object;
    lp_call_slots slots;

    (void)size;
    if (!lp_elf_object_read(info, &object) || object.tables[1] == NULL) {
        return 0;
    }
    lp_call_slots_find(&slots, &object, functions);
    for (size_t i = 0; i < slots.n_wanted; i++) {
        const ElfW(Sym) *symbol = &object.symbols[slots.wanted[i].symbol];

        if (symbol->st_shndx == SHN_UNDEF && symbol->st_value != 0) {
            functions->alias[slots.wanted[i].which] =
                (void *)(object.base + symbol->st_value);
        }
    }
    return 1; /* the program is the first */
}

static int
find_behind_aliases(struct dl_phdr_info *info, size_t size, void *arg)
{
    lp_patched_functions *functions = arg;
    lp_elf_object object;

    (void)size;
    if (!lp_elf_object_read(info, &object)) {
        return 0;
    }
    for (size_t i = 0; i < functions->n; i++) {
        if (functions->first[i] != NULL &&
            functions->first[i] == functions->alias[i]) {
            uint32_t number =
                lp_elf_object_definition(&object, functions->patches[i].name);
            const ElfW(Sym) *symbol = &object.symbols[number];

            if (number != 0 && symbol->st_shndx != SHN_UNDEF &&
                ELF64_ST_TYPE(symbol->st_info) == STT_FUNC) {
                functions->first[i] = (void *)(object.base + symbol->st_value);
            }
        }
    }
    return 0;
}

typedef struct votes {
    const lp_patched_functions *patched; /* borrowed */
    void *functions[LP_MAX_PATCHES][MAX_CANDIDATES];
    size_t counts[LP_MAX_PATCHES][MAX_CANDIDATES];
} votes;

static int
collect_votes(struct dl_phdr_info *info, size_t size, void *arg)
{
    votes *self = arg;
    lp_elf_object object;
    lp_call_slots slots;
    lp_slot_walk walk = {.slots = &slots};
    lp_call_slot found;

    (void)size;
    if (!lp_elf_object_read(info, &object) ||
        lp_functions_below_exclude(self->patched, &object)) {
        return 0;
    }
    lp_call_slots_find(&slots, &object, self->patched);
    while (lp_slot_walk_next(&walk, &found)) {
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

typedef struct holder {
    const void *address;
    lp_elf_object object; /* which has it */
} holder;

static int
find_holder(struct dl_phdr_info *info, size_t size, void *arg)
{
    holder *self = arg;

    (void)size;
    return lp_elf_object_read(info, &self->object) &&
           lp_elf_object_has(&self->object, self->address, 0);
}

/* The function that most slots hold.  If another tool has patched them it is
 * the tool's, though its own libraries may hold another one. */
static void *
elect(const votes *found, size_t which, bool other_tool)
{
    void *first = found->patched->first[which], *elected = first;
    size_t most = 0;

    for (size_t i = 0; i < MAX_CANDIDATES; i++) {
        void *candidate = found->functions[which][i];
        size_t count = found->counts[which][i];

        if (count > most && !(other_tool && candidate == first)) {
            most = count;
            elected = candidate;
        }
    }
    return elected;
}

void
lp_functions_below_find(lp_patched_functions *functions)
{
    votes found = {.patched = functions};
    holder first = {0};
    bool first_found, other_tool = false;

    memset(functions->alias, 0, sizeof(functions->alias));
    for (size_t i = 0; i < functions->n; i++) {
        functions->first[i] = dlsym(RTLD_DEFAULT, functions->patches[i].name);
    }
    dl_iterate_phdr(find_aliases, functions);
    dl_iterate_phdr(find_behind_aliases, functions);
    first.address = functions->first[0];
    first_found = dl_iterate_phdr(find_holder, &first) != 0;
    for (size_t i = 0; i < functions->n; i++) {
        if (functions->first[i] == functions->alias[i] ||
            (functions->patches[i].beside_first &&
             !(first_found &&
               lp_elf_object_has(&first.object, functions->first[i], 0)))) {
            functions->first[i] = NULL;
        }
    }
    dl_iterate_phdr(collect_votes, &found);
    for (size_t i = 0; i < functions->n; i++) {
        void *below = elect(&found, i, other_tool);

        other_tool |= i == 0 && below != functions->first[0];
        __atomic_store_n(functions->patches[i].below, below, __ATOMIC_RELEASE);
    }
}

#endif
