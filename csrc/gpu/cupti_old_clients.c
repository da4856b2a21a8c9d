/* Libraries that use CUPTI's calls without a subscriber, as PyTorch's profiler
 * does: they name the functions, for the loader to find.  While anybody is
 * subscribed beside others, CUPTI refuses such calls. */
#include "gpu/cupti_backend.h"

#include <stdio.h>
#include <string.h>

#include "elf/elf_file.h"

#if LP_HAVE_ELF_OBJECTS

static const char *const old_calls[] = {
    "cuptiActivityEnable", "cuptiActivityRegisterCallbacks", NULL};

static void
copy_name(const lp_elf_object *object, char name[LP_CUPTI_NAME])
{
    const char *file = lp_elf_object_file_name(object);

    snprintf(name, LP_CUPTI_NAME, "%s", *file != '\0' ? file : "the program");
}

/* A callback of dl_iterate_phdr(). */
static int
is_old_client(struct dl_phdr_info *info, size_t size, void *name)
{
    lp_elf_object object;

    (void)size;
    if (!lp_elf_object_read(info, &object) ||
        !lp_elf_object_imports(&object, old_calls)) {
        return 0;
    }
    copy_name(&object, name);
    return 1;
}

bool
lp_cupti_find_old_client(char name[LP_CUPTI_NAME])
{
    return dl_iterate_phdr(is_old_client, name) != 0;
}

bool
lp_cupti_expect_old_client(const char *const *paths, char name[LP_CUPTI_NAME])
{
    for (; *paths != NULL; paths++) {
        lp_elf_file file;
        bool found;

        if (!lp_elf_file_open(*paths, &file)) {
            continue;
        }
        found = lp_elf_object_imports(&file.object, old_calls);
        if (found) {
            copy_name(&file.object, name);
        }
        lp_elf_file_close(&file);
        if (found) {
            return true;
        }
    }
    return false;
}

#else

bool
lp_cupti_find_old_client(char name[LP_CUPTI_NAME])
{
    (void)name;
    return false;
}

bool
lp_cupti_expect_old_client(const char *const *paths, char name[LP_CUPTI_NAME])
{
    (void)paths;
    (void)name;
    return false;
}

#endif

bool
lp_cupti_describe_old_client(char text[LP_GPU_WHY])
{
    char name[LP_CUPTI_NAME];

    if (!lp_cupti.several || !lp_cupti_find_old_client(name)) {
        return false;
    }
    snprintf(
        text, LP_GPU_WHY,
        "CUPTI refuses the calls of %s, which are those for one tool at a "
        "time: %s%s",
        name,
        lp_cupti.beside[0] != '\0' ? "here is also "
                                   : "load it before lineprof",
        lp_cupti.beside);
    return true;
}
