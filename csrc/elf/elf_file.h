/* A library that is not loaded, mapped at the distances at which the loader
 * would map it, so that it can be read as an object.  Nothing in it runs, and
 * no page is read before it is looked at.
 */
#ifndef LP_ELF_ELF_FILE_H
#define LP_ELF_ELF_FILE_H

#include "elf/elf_object.h"

#if LP_HAVE_ELF_OBJECTS

enum { LP_ELF_FILE_HEADERS = 32 };

typedef struct lp_elf_file {
    lp_elf_object object; /* borrows from the other fields */
    ElfW(Phdr) headers[LP_ELF_FILE_HEADERS];
    void *memory; /* owned mapping */
    size_t size;
} lp_elf_file;

/* False, with nothing to close, if there is no such library of this machine,
 * or the file was cut short. */
bool lp_elf_file_open(const char *path, lp_elf_file *file);

void lp_elf_file_close(lp_elf_file *file);

#endif
#endif
