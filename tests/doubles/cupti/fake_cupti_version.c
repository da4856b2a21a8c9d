/* Releases of CUPTI: sizes of records, callback ids, kinds.
 *
 * `make check-cupti` compares them with NVIDIA's headers.
 */
#include "cupti/fake_cupti.h"

#include <stdlib.h>

static const fk_release releases[] = {
    /* named, version, cuda, driver and runtime ids, kinds,
     * kernel, copy, memset, wait, graph, memory, migration */
    {17, 17, 11070, 677, 430, 52, 176, 88, 88, 40, 48, 120, 64},
    {118, 18, 11080, 677, 434, 53, 200, 88, 88, 40, 48, 120, 64}, /* 11.8 */
    {18, 18, 12000, 701, 445, 53, 208, 88, 88, 40, 48, 120, 64},
    {121, 18, 12010, 712, 445, 53, 208, 88, 88, 40, 48, 120, 64}, /* 12.1 */
    {20, 20, 12020, 718, 451, 53, 208, 88, 88, 40, 48, 120, 64},
    {21, 21, 12030, 733, 465, 53, 208, 88, 88, 40, 56, 120, 64},
    {22, 22, 12040, 754, 468, 53, 208, 88, 88, 40, 56, 120, 64},
    {23, 23, 12050, 761, 470, 53, 208, 88, 88, 40, 56, 120, 64},
    {24, 24, 12060, 763, 480, 53, 208, 88, 88, 40, 56, 128, 64},
    {26, 26, 12080, 782, 487, 55, 208, 96, 88, 56, 56, 128, 104},
    {28, 28, 12090, 784, 487, 56, 208, 96, 88, 56, 56, 128, 104},
    {130001, 130001, 13000, 807, 523, 56, 216, 96, 88, 56, 56, 128, 104},
    {130101, 130101, 13010, 846, 550, 59, 224, 96, 88, 56, 56, 128, 104},
    {130202, 130202, 13020, 846, 559, 60, 224, 96, 88, 56, 56, 128, 104},
    {130301, 130301, 13030, 860, 559, 60, 232, 96, 88, 56, 56, 128, 104},
    {130401, 130401, 13040, 868, 566, 60, 248, 112, 104, 56, 56, 128, 104},
    {130500, 130500, 13050, 877, 567, 60, 248, 112, 104, 56, 56, 128, 104},
    {130501, 130501, 13050, 877, 567, 60, 248, 112, 104, 56, 56, 128, 104},
};

static const fk_release *chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
choose(void)
{
    uint64_t named = fk_env("FAKE_CUPTI_VERSION", 130001);
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
        if (releases[i].named == named) {
            chosen = &releases[i];
        }
    }
    if (!chosen) {
        fk_misuse("FAKE_CUPTI_VERSION=%u is not emulated", (unsigned)named);
        chosen = &releases[sizeof releases / sizeof *releases - 1];
    }
}

const fk_release *
fk_release_now(void)
{
    pthread_once(&once, choose);
    return chosen;
}
