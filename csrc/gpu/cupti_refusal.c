/* Reasons why CUPTI cannot be used, in terms of versions, devices, and of the
 * tool that holds it.
 *
 * Seen with CUPTI 11.7 to 13.5 on real drivers: a library of a newer major
 * than the driver says UNKNOWN, and a machine without a usable device
 * NOT_INITIALIZED.  NVIDIA names NOT_INITIALIZED also for a newer minor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cupti_backend.h"

enum { MAX_MAJOR = 99, VERSION_BYTES = 24 };

/* Version of CUDA, in the form of cuDriverGetVersion; 0 if unknown. */
typedef struct cuda_version {
    int number;
    char text[VERSION_BYTES];
} cuda_version;

static cuda_version
version_of_cuda(int number)
{
    cuda_version version = {.number = number};

    snprintf(version.text, VERSION_BYTES, "%d.%d", number / 1000,
             number % 1000 / 10);
    return version;
}

static cuda_version
version_of_driver(void)
{
    int number = 0;

    return version_of_cuda(
        lp_cupti.cuda.version(&number) == LP_CUPTI_OK ? number : 0);
}

/* Return the CUDA version of the library: by what cuptiGetVersion said, or by
 * the functions that it has. */
static cuda_version
version_of_library(void)
{
    static const struct {
        uint32_t api;
        int number;
    } old[] = {
        {17, 11070}, {18, 11080}, {20, 12020}, {21, 12030}, {22, 12040},
        {23, 12050}, {24, 12060}, {26, 12080}, {28, 12090},
    };
    const lp_cupti_functions *api = &lp_cupti.api;
    uint32_t said = lp_cupti.version;
    cuda_version least;

    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        if (old[i].api == said) {
            return version_of_cuda(old[i].number);
        }
    }
    if (said >= 130000) { /* 130001 is 13.0 */
        return version_of_cuda(
            (int)(said / 10000 * 1000 + said / 100 % 100 * 10));
    }
    if (said != 0 || api->subscribe_v2 == NULL) {
        return version_of_cuda(0);
    }
    least = version_of_cuda(api->get_next_record_v2 != NULL ? 13030
                            : api->enable_v2 != NULL        ? 13020
                                                            : 13000);
    if (least.number != 13020) {
        snprintf(least.text, VERSION_BYTES, "%s",
                 least.number == 13030 ? "13.3 or later" : "13.0 or 13.1");
    }
    return least;
}

static void
needs_newer_driver(char why[LP_GPU_WHY], const char *library, int major,
                   const cuda_version *driver)
{
    snprintf(why, LP_GPU_WHY,
             "%s needs a driver of CUDA %d; this driver is of CUDA %s",
             library, major, driver->text);
}

bool
lp_cupti_fits_driver(const char *name, char why[LP_GPU_WHY])
{
    const char *file = strrchr(name, '/');
    const char *suffix = strstr(file != NULL ? file : name, ".so.");
    long major = suffix != NULL ? strtol(suffix + 4, NULL, 10) : 0;
    cuda_version driver = version_of_driver();

    /* Libraries of toolkits have the year as their version. */
    if (driver.number == 0 || major > MAX_MAJOR ||
        major <= driver.number / 1000) {
        return true;
    }
    /* A name may be of no file at all: the next library has the reason. */
    why[0] = '\0';
    if (file != NULL) {
        needs_newer_driver(why, file + 1, (int)major, &driver);
    }
    return false;
}

static void
ignore(void *unused, uint32_t domain, uint32_t id, const void *data)
{
    (void)unused;
    (void)domain;
    (void)id;
    (void)data;
}

bool
lp_cupti_held_by(const char *name, char why[LP_GPU_WHY])
{
    snprintf(why, LP_GPU_WHY, "held by %s (%d)", name,
             LP_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    return false;
}

/* Name the tool that is subscribed, if CUPTI tells: only the newer call does.
 */
static void
explain_taken(char why[LP_GPU_WHY])
{
    char name[LP_CUPTI_NAME] = "";
    void *subscriber = NULL;

    if (lp_cupti.api.subscribe_v2 == NULL) {
        return;
    }
    if (lp_cupti_subscribe_by_name(&subscriber, ignore, false, name) ==
        LP_CUPTI_OK) {
        lp_cupti.api.unsubscribe(subscriber); /* the tool has gone meanwhile */
    }
    else if (name[0] != '\0') {
        lp_cupti_held_by(name, why);
    }
}

void
lp_cupti_explain(char why[LP_GPU_WHY], int status)
{
    cuda_version driver, library;
    char said[LP_GPU_WHY / 2];

    if (status == LP_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        explain_taken(why);
        return;
    }
    driver = version_of_driver();
    library = version_of_library();
    snprintf(said, sizeof(said), "%s", why);
    if (driver.number != 0 && library.number / 1000 > driver.number / 1000) {
        char name[LP_CUPTI_NAME];

        snprintf(name, sizeof(name), "libcupti %s", library.text);
        needs_newer_driver(why, name, library.number / 1000, &driver);
    }
    else if (status == LP_CUPTI_NOT_INITIALIZED) {
        char newer[LP_GPU_WHY / 4] = "";

        if (driver.number != 0 && library.number > driver.number) {
            snprintf(newer, sizeof(newer),
                     ", or libcupti %s is too new for this driver of CUDA %s",
                     library.text, driver.text);
        }
        snprintf(why, LP_GPU_WHY, "there is no usable device%s: %s", newer,
                 said);
    }
    else if (driver.number != 0 && library.number != driver.number) {
        snprintf(why, LP_GPU_WHY,
                 "%s; libcupti is %s, the driver is of CUDA %s", said,
                 library.number != 0 ? library.text : "of no known version",
                 driver.text);
    }
}
