/* An object of the process (the program, a library), read from its ELF headers
 * in memory: its segments, its symbols and its relocations.
 *
 * Everything in it is borrowed: from the loader, and stays as long as the
 * object is loaded, at least until a callback of dl_iterate_phdr() returns; or
 * from an lp_elf_file.
 */
#ifndef LP_ELF_ELF_OBJECT_H
#define LP_ELF_ELF_OBJECT_H

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) &&    \
    defined(__LP64__)
#  define LP_HAVE_ELF_OBJECTS 1
#else
#  define LP_HAVE_ELF_OBJECTS 0
#endif

#if LP_HAVE_ELF_OBJECTS

#  include <elf.h>
#  include <link.h>
#  include <stdbool.h>
#  include <stddef.h>
#  include <stdint.h>

typedef struct lp_elf_object {
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
} lp_elf_object;

/* False for objects without symbols, which call no other one. */
bool lp_elf_object_read(const struct dl_phdr_info *info,
                        lp_elf_object *object);

/* Its name without folders; borrowed. */
const char *lp_elf_object_file_name(const lp_elf_object *object);

/* True if the address lies in a segment that has all these rights. */
bool lp_elf_object_has(const lp_elf_object *object, const void *address,
                       ElfW(Word) rights);

/* The number of the symbol of this name that the object defines, or 0. */
uint32_t lp_elf_object_definition(const lp_elf_object *object,
                                  const char *name);

/* Symbols that the object does not define have numbers below this one, and
 * perhaps others. */
uint64_t lp_elf_object_end_of_undefined(const lp_elf_object *object);

/* True if the object uses a symbol of one of these names, NULL at the end,
 * that another object defines. */
bool lp_elf_object_imports(const lp_elf_object *object,
                           const char *const *names);

/* [ANY] True if the object that has this address among its code names places
 * in which the loader searches for libraries: for those that it opens, or
 * also, if `inherited`, only for what those need in turn. */
bool lp_caller_has_search_path(const void *address, bool inherited);

#endif
#endif
