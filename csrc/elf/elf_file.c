#include "elf/elf_file.h"

#if LP_HAVE_ELF_OBJECTS

#  include <fcntl.h>
#  include <string.h>
#  include <sys/auxv.h>
#  include <sys/mman.h>
#  include <sys/stat.h>
#  include <unistd.h>

static const size_t max_size = (size_t)1 << 40;

/* Read the program headers; false if they are of no library, or a segment lies
 * beyond the end of the file, where to look at it would kill the process. */
static bool
read_headers(int from, lp_elf_file *file)
{
    ElfW(Ehdr) head;
    struct stat about;
    size_t bytes;

    if (fstat(from, &about) != 0 || !S_ISREG(about.st_mode) ||
        pread(from, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_type != ET_DYN ||
        head.e_phentsize != sizeof(ElfW(Phdr)) ||
        head.e_phnum > LP_ELF_FILE_HEADERS) {
        return false;
    }
    bytes = head.e_phnum * sizeof(ElfW(Phdr));
    if (pread(from, file->headers, bytes, (off_t)head.e_phoff) !=
        (ssize_t)bytes) {
        return false;
    }
    file->object.n_headers = head.e_phnum;
    for (size_t i = 0; i < head.e_phnum; i++) {
        ElfW(Phdr) *header = &file->headers[i];

        /* What the file does not have is not mapped. */
        header->p_memsz = header->p_filesz;
        if (header->p_vaddr > max_size || header->p_filesz > max_size ||
            header->p_offset > (uint64_t)about.st_size ||
            header->p_filesz > (uint64_t)about.st_size - header->p_offset) {
            return false;
        }
    }
    return true;
}

/* Map all segments. */
static bool
map_segments(int from, lp_elf_file *file)
{
    size_t page = (size_t)getauxval(AT_PAGESZ);
    size_t end = 0;

    for (size_t i = 0; i < file->object.n_headers; i++) {
        const ElfW(Phdr) *header = &file->headers[i];
        size_t segment_end = header->p_vaddr + header->p_filesz;

        if (header->p_type == PT_LOAD && segment_end > end) {
            end = segment_end;
        }
    }
    file->size = (end + page - 1) & ~(page - 1);
    if (file->size == 0) {
        return false;
    }
    file->memory = mmap(NULL, file->size, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file->memory == MAP_FAILED) {
        return false;
    }
    file->object.base = (uintptr_t)file->memory;
    for (size_t i = 0; i < file->object.n_headers; i++) {
        const ElfW(Phdr) *header = &file->headers[i];
        size_t before = header->p_vaddr & (page - 1);

        if (header->p_type != PT_LOAD || header->p_filesz == 0) {
            continue;
        }
        if ((header->p_offset & (page - 1)) != before ||
            mmap((char *)file->memory + header->p_vaddr - before,
                 header->p_filesz + before, PROT_READ, MAP_PRIVATE | MAP_FIXED,
                 from, (off_t)(header->p_offset - before)) == MAP_FAILED) {
            lp_elf_file_close(file);
            return false;
        }
    }
    return true;
}

static bool
has_end(const lp_elf_object *object, const ElfW(Dyn) * entry, size_t n)
{
    for (; n > 0 && lp_elf_object_has(object, entry, 0) &&
           lp_elf_object_has(object, (const char *)(entry + 1) - 1, 0);
         n--, entry++) {
        if (entry->d_tag == DT_NULL) {
            return true;
        }
    }
    return false;
}

/* True if there is a dynamic section, which lies in a segment and has an end.
 */
static bool
has_dynamic_section(const lp_elf_file *file)
{
    const lp_elf_object *object = &file->object;
    bool found = false;

    for (size_t i = 0; i < object->n_headers; i++) {
        const ElfW(Phdr) *header = &file->headers[i];
        const ElfW(Dyn) *entry =
            (const ElfW(Dyn) *)(object->base + header->p_vaddr);

        if (header->p_type == PT_DYNAMIC) {
            found = true;
            if (header->p_vaddr % sizeof(entry->d_tag) != 0 ||
                !has_end(object, entry, header->p_filesz / sizeof(*entry))) {
                return false;
            }
        }
    }
    return found;
}

bool
lp_elf_file_open(const char *path, lp_elf_file *file)
{
    int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct dl_phdr_info info = {.dlpi_name = path, .dlpi_phdr = file->headers};
    bool mapped =
        from >= 0 && read_headers(from, file) && map_segments(from, file);

    if (from >= 0) {
        close(from);
    }
    if (!mapped) {
        return false;
    }
    file->object.headers = file->headers;
    info.dlpi_addr = file->object.base;
    info.dlpi_phnum = (ElfW(Half))file->object.n_headers;
    if (!has_dynamic_section(file) ||
        !lp_elf_object_read(&info, &file->object)) {
        lp_elf_file_close(file);
        return false;
    }
    return true;
}

void
lp_elf_file_close(lp_elf_file *file)
{
    munmap(file->memory, file->size);
}

#endif
