#include "memory/call_slots.h"

#if LP_HAVE_ELF_OBJECTS

#  include <string.h>

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

static void
want(lp_call_slots *slots, uint64_t symbol, size_t which)
{
    if (slots->n_wanted < LP_MAX_WANTED) {
        slots->wanted[slots->n_wanted].symbol = symbol;
        slots->wanted[slots->n_wanted++].which = which;
        slots->filter |= (uint64_t)1 << symbol % 64;
    }
}

void
lp_call_slots_find(lp_call_slots *slots, const lp_elf_object *object,
                   const lp_patched_functions *functions)
{
    uint64_t end = lp_elf_object_end_of_undefined(object);

    slots->object = object;
    slots->functions = functions;
    slots->n_wanted = 0;
    slots->filter = 0;
    for (uint64_t symbol = 1; symbol < end; symbol++) {
        const char *name = object->strings + object->symbols[symbol].st_name;

        for (size_t i = 0; i < functions->n; i++) {
            if (functions->patches[i].name[0] == name[0] &&
                strcmp(functions->patches[i].name, name) == 0) {
                want(slots, symbol, i);
            }
        }
    }
    for (size_t i = 0; i < functions->n; i++) {
        uint64_t symbol =
            lp_elf_object_definition(object, functions->patches[i].name);

        if (symbol >= end) {
            want(slots, symbol, i);
        }
    }
}

static bool
find_patch(const lp_call_slots *slots, uint64_t symbol, size_t *which)
{
    if ((slots->filter >> symbol % 64 & 1) == 0) {
        return false;
    }
    for (size_t i = 0; i < slots->n_wanted; i++) {
        if (slots->wanted[i].symbol == symbol) {
            *which = slots->wanted[i].which;
            return slots->functions->first[*which] != NULL;
        }
    }
    return false;
}

bool
lp_slot_walk_next(lp_slot_walk *walk, lp_call_slot *found)
{
    const lp_elf_object *object = walk->slots->object;
    const lp_patched_functions *functions = walk->slots->functions;

    for (; walk->table < 2; walk->table++, walk->next = 0) {
        const ElfW(Rela) *table = object->tables[walk->table];

        while (table != NULL && walk->next < object->lengths[walk->table]) {
            const ElfW(Rela) *entry = &table[walk->next++];
            uint64_t kind = ELF64_R_TYPE(entry->r_info);
            uint64_t number = ELF64_R_SYM(entry->r_info);
            const ElfW(Sym) * symbol;
            void *stub;

            if ((kind != JUMP_SLOT && kind != GLOBAL_DATA &&
                 kind != POINTER) ||
                entry->r_addend != 0 ||
                !find_patch(walk->slots, number, &found->which)) {
                continue;
            }
            symbol = &object->symbols[number];
            found->place = (void **)(object->base + entry->r_offset);
            if (!lp_elf_object_has(object, found->place, PF_W)) {
                continue;
            }
            found->function = __atomic_load_n(found->place, __ATOMIC_RELAXED);
            found->is_variable = kind == POINTER;
            stub = functions->alias[found->which];
            if (kind == JUMP_SLOT &&
                lp_elf_object_has(object, found->function, PF_X) &&
                (uintptr_t)found->function !=
                    object->base + symbol->st_value) {
                found->function =
                    functions->first[found->which]; /* not yet bound */
            }
            if (found->function != NULL && found->function != stub) {
                return true;
            }
        }
    }
    return false;
}

#endif
