/* Releases of CUPTI: sizes of records, callback ids, kinds. */
#include "cupti/fake_cupti.h"

#include <stdlib.h>

static const fk_release releases[] = {
    /* named, version, cuda, driver and runtime ids, kinds,
     * kernel, copy, memset, wait, graph, memory, migration */
    {17, 17, 11070, 677, 434, 52, 176, 88, 88, 40, 48, 120, 64},
    {118, 18, 11080, 685, 436, 52, 200, 88, 88, 40, 48, 120, 64}, /* 11.8 */
    {18, 18, 12000, 701, 445, 52, 208, 88, 88, 40, 48, 120, 64},
    {20, 20, 12020, 718, 451, 53, 208, 88, 88, 40, 48, 120, 64},
    {21, 21, 12030, 733, 465, 54, 208, 88, 88, 40, 56, 120, 64},
    {22, 22, 12040, 754, 468, 54, 208, 88, 88, 40, 56, 120, 64},
    {23, 23, 12050, 761, 470, 54, 208, 88, 88, 40, 56, 120, 64},
    {24, 24, 12060, 763, 480, 54, 208, 88, 88, 40, 56, 128, 64},
    {26, 26, 12080, 782, 487, 55, 208, 96, 88, 56, 56, 128, 104},
    {28, 28, 12090, 783, 487, 55, 208, 96, 88, 56, 56, 128, 104},
    {130001, 130001, 13000, 807, 523, 56, 216, 96, 88, 56, 56, 128, 104},
    {130101, 130101, 13010, 830, 540, 57, 224, 96, 88, 56, 56, 128, 104},
    {130202, 130202, 13020, 830, 540, 57, 224, 96, 88, 56, 56, 128, 104},
    {130301, 130301, 13030, 830, 540, 57, 232, 96, 88, 56, 56, 128, 104},
    {130401, 130401, 13040, 830, 540, 57, 248, 112, 104, 56, 56, 128, 104},
    {130500, 130500, 13050, 830, 540, 57, 248, 112, 104, 56, 56, 128, 104},
    {130501, 130501, 13050, 830, 540, 57, 248, 112, 104, 56, 56, 128, 104},
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
