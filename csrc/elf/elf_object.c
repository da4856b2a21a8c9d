#include "elf/elf_object.h"

#if LP_HAVE_ELF_OBJECTS

#  include <dlfcn.h>
#  include <string.h>
#  include <sys/auxv.h>

/* glibc relocates addresses of the dynamic section in place, musl does not. */
static const void *
address_of(const lp_elf_object *object, ElfW(Addr) given)
{
    return (const void *)(given < object->base ? object->base + given : given);
}

/* Return the header of the segment that an address is in, or NULL. */
static const ElfW(Phdr) *
    segment_of(const lp_elf_object *object, const void *address)
{
    uintptr_t offset = (uintptr_t)address - object->base;

    for (size_t i = 0; i < object->n_headers; i++) {
        const ElfW(Phdr) *header = &object->headers[i];

        if (header->p_type == PT_LOAD && offset >= header->p_vaddr &&
            offset - header->p_vaddr < header->p_memsz) {
            return header;
        }
    }
    return NULL;
}

bool
lp_elf_object_has(const lp_elf_object *object, const void *address,
                  ElfW(Word) rights)
{
    const ElfW(Phdr) *segment = segment_of(object, address);

    return segment != NULL && (segment->p_flags & rights) == rights;
}

uint32_t
lp_elf_object_definition(const lp_elf_object *object, const char *name)
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

uint64_t
lp_elf_object_end_of_undefined(const lp_elf_object *object)
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

bool
lp_elf_object_read(const struct dl_phdr_info *info, lp_elf_object *object)
{
    uintptr_t page = (uintptr_t)getauxval(AT_PAGESZ);
    size_t relative = 0;

    *object = (lp_elf_object){
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

/* The bytes from an address to the end of its segment; 0 if it is in none. */
static size_t
bytes_from(const lp_elf_object *object, const void *address)
{
    const ElfW(Phdr) *segment = segment_of(object, address);

    return segment == NULL ? 0
                           : object->base + segment->p_vaddr +
                                 segment->p_memsz - (uintptr_t)address;
}

static bool
is_one_of(const char *text, size_t bytes, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strlen(*names) < bytes && strcmp(text, *names) == 0) {
            return true;
        }
    }
    return false;
}

static bool
is_readable(const lp_elf_object *object, const void *address, size_t bytes,
            size_t alignment)
{
    return address == NULL || ((uintptr_t)address % alignment == 0 &&
                               bytes_from(object, address) >= bytes);
}

/* False if the tables do not lie in the object: its file may be damaged. */
static bool
is_whole(const lp_elf_object *object)
{
    const size_t word = sizeof(uint32_t), address = sizeof(ElfW(Addr));

    return is_readable(object, object->hashes, 2 * word, word) &&
           is_readable(object, object->old_hashes, 2 * word, word) &&
           is_readable(object, object->symbols, 0, address) &&
           is_readable(object, object->tables[0],
                       object->lengths[0] * sizeof(ElfW(Rela)), address) &&
           is_readable(object, object->tables[1],
                       object->lengths[1] * sizeof(ElfW(Rela)), address);
}

bool
lp_elf_object_imports(const lp_elf_object *object, const char *const *names)
{
    size_t strings = bytes_from(object, object->strings);
    size_t max =
        bytes_from(object, object->symbols) / sizeof(*object->symbols);
    uint64_t end;

    if (!is_whole(object)) {
        return false;
    }
    end = lp_elf_object_end_of_undefined(object);
    for (size_t i = 0; i < end && i < max; i++) {
        const ElfW(Sym) *symbol = &object->symbols[i];

        if (symbol->st_shndx == SHN_UNDEF && symbol->st_name < strings &&
            is_one_of(object->strings + symbol->st_name,
                      strings - symbol->st_name, names)) {
            return true;
        }
    }
    return false;
}

const char *
lp_elf_object_file_name(const lp_elf_object *object)
{
    const char *slash = strrchr(object->name, '/');

    return slash != NULL ? slash + 1 : object->name;
}

#  ifdef __GLIBC__
/* dladdr1() takes a lock of the loader that a forked child has. */
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

#endif
