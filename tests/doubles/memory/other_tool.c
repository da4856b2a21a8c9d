/* Another tool that hooks malloc and free of all loaded objects, as memory
 * profilers do: it overwrites their slots, whatever these hold, and restores
 * the C library's functions. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void other_tool_start(void);
EXPORT void other_tool_stop(void);
EXPORT size_t other_tool_allocs(void);
EXPORT size_t other_tool_frees(void);

static size_t allocs, frees;

/* As the tools do it: whoever patches this library changes nothing. */
static void *(*real_malloc)(size_t);
static void (*real_free)(void *);

/* The default scope may have stubs of a program that is not
 * position-independent, which jump through the program's own slots. */
static void *
find_function(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    Dl_info of_program, of_function;

    if (dladdr((void *)getauxval(AT_PHDR), &of_program) != 0 &&
        dladdr(found, &of_function) != 0 &&
        of_program.dli_fbase == of_function.dli_fbase) {
        found = dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), name);
    }
    return found;
}

__attribute__((constructor)) static void
find_functions(void)
{
    void *found = find_function("malloc");

    memcpy(&real_malloc, &found, sizeof(found));
    found = find_function("free");
    memcpy(&real_free, &found, sizeof(found));
}

static void *
count_malloc(size_t bytes)
{
    __atomic_add_fetch(&allocs, 1, __ATOMIC_RELAXED);
    return real_malloc(bytes);
}

static void
count_free(void *block)
{
    __atomic_add_fetch(&frees, 1, __ATOMIC_RELAXED);
    real_free(block);
}

static const char *
address_of(uintptr_t base, uintptr_t given)
{
    return (const char *)(given < base ? base + given : given);
}

static void
patch_slots(uintptr_t base, const ElfW(Rela) * slots, size_t n,
            const ElfW(Sym) * symbols, const char *strings, bool start)
{
    for (size_t i = 0; slots != NULL && i < n; i++) {
        const char *name =
            strings + symbols[ELF64_R_SYM(slots[i].r_info)].st_name;
        char *slot = (char *)base + slots[i].r_offset;
        void *function =
            strcmp(name, "malloc") == 0
                ? (start ? (void *)count_malloc : (void *)real_malloc)
            : strcmp(name, "free") == 0
                ? (start ? (void *)count_free : (void *)real_free)
                : NULL;

        if (function != NULL) {
            mprotect((void *)((uintptr_t)slot & ~(uintptr_t)4095), 4096,
                     PROT_READ | PROT_WRITE);
            memcpy(slot, &function, sizeof(function));
        }
    }
}

static int
patch_object(struct dl_phdr_info *info, size_t size, void *start)
{
    const ElfW(Dyn) *entry = NULL;
    const ElfW(Sym) *symbols = NULL;
    const ElfW(Rela) *slots = NULL, *data = NULL;
    const char *strings = NULL;
    size_t n_slots = 0, n_data = 0;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *file = slash != NULL ? slash + 1 : info->dlpi_name;

    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            entry =
                (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    if (strstr(file, "other_tool") != NULL || strstr(file, "vdso") != NULL ||
        strstr(file, "libc.") != NULL || strstr(file, "ld-") != NULL ||
        strstr(file, "san.") != NULL) {
        return 0;
    }
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        const void *at = address_of(info->dlpi_addr, entry->d_un.d_ptr);
        size_t n = entry->d_un.d_val / sizeof(ElfW(Rela));

        symbols = entry->d_tag == DT_SYMTAB ? at : symbols;
        strings = entry->d_tag == DT_STRTAB ? at : strings;
        slots = entry->d_tag == DT_JMPREL ? at : slots;
        n_slots = entry->d_tag == DT_PLTRELSZ ? n : n_slots;
        data = entry->d_tag == DT_RELA ? at : data;
        n_data = entry->d_tag == DT_RELASZ ? n : n_data;
    }
    if (strings != NULL) {
        patch_slots(info->dlpi_addr, slots, n_slots, symbols, strings, start);
        patch_slots(info->dlpi_addr, data, n_data, symbols, strings, start);
    }
    return 0;
}

void
other_tool_start(void)
{
    dl_iterate_phdr(patch_object, &allocs);
}

void
other_tool_stop(void)
{
    dl_iterate_phdr(patch_object, NULL);
}

size_t
other_tool_allocs(void)
{
    return __atomic_load_n(&allocs, __ATOMIC_RELAXED);
}

size_t
other_tool_frees(void)
{
    return __atomic_load_n(&frees, __ATOMIC_RELAXED);
}
