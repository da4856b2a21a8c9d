/* Arguments: the double tools/older_tool.c, which names functions of CUPTI,
 * and a library that does not. */
#include "elf/elf_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "gpu/cupti_backend.h"
#include "random.h"

static const char *const enable[] = {"cuptiActivityEnable", NULL};
static const char *const own[] = {"tool_begin", NULL};
static const char *const alarms[] = {"there_is_none", "alarm", NULL};

static bool
file_imports(const char *path, const char *const *names)
{
    lp_elf_file file;
    bool found = false;

    if (lp_elf_file_open(path, &file)) {
        found = lp_elf_object_imports(&file.object, names);
        lp_elf_file_close(&file);
    }
    return found;
}

static void
a_file_names_what_it_imports(const char *client, const char *other)
{
    CHECK(file_imports(client, enable));
    CHECK(!file_imports(client, own)); /* it defines that */
    CHECK(!file_imports(client, alarms));
    CHECK(!file_imports(other, enable));
}

/* A program has no function that others could look for: it is linked with
 * other tables than a library. */
static void
a_program_names_what_it_imports(void)
{
    CHECK(file_imports("/proc/self/exe", alarms));
    CHECK(!file_imports("/proc/self/exe", enable));
}

static int
compare(struct dl_phdr_info *info, size_t size, void *compared)
{
    static const char *const some[] = {
        "alarm", "malloc", "strlen", "cuptiActivityEnable", "dlsym", "memcpy"};
    lp_elf_object object;

    (void)size;
    if (info->dlpi_name[0] != '/' || !lp_elf_object_read(info, &object)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        const char *const names[] = {some[i], NULL};

        CHECK(lp_elf_object_imports(&object, names) ==
              file_imports(info->dlpi_name, names));
    }
    *(int *)compared += 1;
    return 0;
}

static void
a_loaded_library_and_its_file_name_the_same(void)
{
    int compared = 0;

    dl_iterate_phdr(compare, &compared);
    CHECK(compared >= 2);
}

static void
what_is_no_library_names_nothing(void)
{
    CHECK(!file_imports("/", enable));
    CHECK(!file_imports("/dev/zero", enable));
    CHECK(!file_imports("/dev/null", enable));
    CHECK(!file_imports("/proc/self/maps", enable));
    CHECK(!file_imports("/there/is/none", enable));
    CHECK(!file_imports("", enable));
}

static unsigned char *
content(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    struct stat about;
    unsigned char *bytes;

    if (file == NULL || fstat(fileno(file), &about) != 0) {
        abort();
    }
    *size = (size_t)about.st_size;
    bytes = malloc(*size);
    if (bytes == NULL || fread(bytes, 1, *size, file) != *size) {
        abort();
    }
    fclose(file);
    return bytes;
}

static void
write_file(const char *path, const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    if (file == NULL || fwrite(bytes, 1, size, file) != size) {
        abort();
    }
    fclose(file);
}

/* None may end the process. */
static void
a_damaged_file_is_read(const char *client)
{
    char path[] = "/tmp/test_elf_file_XXXXXX";
    int made = mkstemp(path);
    size_t size;
    unsigned char *bytes = content(client, &size);
    uint64_t state = 1;

    CHECK(made >= 0);
    close(made);
    for (size_t cut = 0; cut < size; cut += cut < 4096 ? 97 : 1999) {
        write_file(path, bytes, cut);
        file_imports(path, enable);
    }
    for (int i = 0; i < 1000; i++) {
        size_t at = (size_t)(random_next(&state) % 4096);
        unsigned char before = bytes[at];

        bytes[at] = (unsigned char)random_next(&state);
        write_file(path, bytes, size);
        file_imports(path, enable);
        bytes[at] = before;
    }
    free(bytes);
    unlink(path);
}

static void
a_client_of_the_older_calls_is_found(const char *client, const char *other)
{
    const char *const paths[] = {"/there/is/none", other, client, NULL};
    const char *const others[] = {other, NULL};
    char name[LP_CUPTI_NAME] = "";

    CHECK(!lp_cupti_expect_old_client(others, name));
    CHECK(lp_cupti_expect_old_client(paths, name));
    CHECK(strcmp(name, "libtorch_cpu.so") == 0);
    name[0] = '\0';
    CHECK(!lp_cupti_find_old_client(name));
    CHECK(name[0] == '\0');
    CHECK(dlopen(client, RTLD_LAZY) != NULL);
    CHECK(lp_cupti_find_old_client(name));
    CHECK(strcmp(name, "libtorch_cpu.so") == 0);
}

int
main(int n, char **paths)
{
    if (n != 3) {
        return 1;
    }
    a_file_names_what_it_imports(paths[1], paths[2]);
    a_program_names_what_it_imports();
    a_loaded_library_and_its_file_name_the_same();
    what_is_no_library_names_nothing();
    a_damaged_file_is_read(paths[1]);
    a_client_of_the_older_calls_is_found(paths[1], paths[2]);
    return check_failures;
}
