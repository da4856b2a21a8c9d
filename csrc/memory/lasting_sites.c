#include "memory/lasting_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memory/pages.h"
#include "record/live_file.h"

static const size_t chunk_bytes = LP_CALL_PATHS_PER_CHUNK * sizeof(lp_site);

/* Changed under the lock of the paths, or by the only thread of a child. */
static struct {
    lp_call_paths *paths; /* borrowed; NULL: nothing is in a file */
    lp_site *sites;       /* borrowed */
    lp_sites_block *blocks[LP_CALL_PATH_CHUNKS]; /* owned; NULL: private */
    bool is_shared[LP_CALL_PATH_CHUNKS]; /* with children, without a file */
} lasting;

static lp_heap_numbers *numbers; /* (atomic) */

static lp_site *
place_of(uint32_t chunk)
{
    return lasting.sites + (size_t)chunk * LP_CALL_PATHS_PER_CHUNK;
}

/* True if the sites of a chunk are not private. */
static bool
is_mapped(uint32_t chunk)
{
    return lasting.blocks[chunk] != NULL || lasting.is_shared[chunk];
}

/* Map the sites of a block over their place. */
static bool
map_sites(lp_sites_block *block, lp_site *place)
{
#ifdef __linux__
    /* (From size 0: a second mapping of the same pages.) */
    return mremap(block->sites, 0, chunk_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                  place) != MAP_FAILED;
#else
    (void)block, (void)place;
    return false;
#endif
}

static bool
is_zero(const lp_site *sites)
{
    const char *bytes = (const char *)sites;

    return bytes[0] == 0 && memcmp(bytes, bytes + 1, chunk_bytes - 1) == 0;
}

/* Make the block of a chunk; NULL if there is no room in the file. */
static lp_sites_block *
new_block(uint32_t chunk)
{
    lp_site *place = place_of(chunk);
    lp_block *made;
    lp_sites_block *block;

    if (!lp_live_is_open()) {
        return NULL;
    }
    made = lp_block_new(LP_BLOCK_SITES, sizeof(lp_sites_block), true);
    block = (lp_sites_block *)(void *)made;
    if (made == NULL) {
        return NULL;
    }
    if (made->is_live) {
        if (!is_zero(place)) {
            memcpy(block->sites, place, chunk_bytes);
        }
        if (map_sites(block, place)) {
            block->chunk = chunk;
            lasting.is_shared[chunk] = false;
            return block;
        }
    }
    lp_block_free(made);
    return NULL;
}

/* Return where the copies of a chunk's paths are to be. */
static lp_call_path_row *
open_chunk(uint32_t chunk)
{
    int error = errno; /* the program's */
    lp_sites_block *block = lasting.blocks[chunk];

    if (block == NULL) {
        block = lasting.blocks[chunk] = new_block(chunk);
    }
    errno = error;
    if (block == NULL) {
        if (numbers != NULL) {
            LP_WRITE(numbers->incomplete, 1);
        }
        return NULL;
    }
    if (chunk == 0) {
        LP_WRITE(numbers, &block->numbers);
    }
    return block->rows;
}

void
lp_lasting_begin(lp_call_paths *paths, lp_site *sites)
{
    if (!lp_live_is_open()) {
        return;
    }
    lasting.paths = paths;
    lasting.sites = sites;
    lp_call_paths_copy_to(paths, open_chunk);
}

/* Map memory that is not the parent's over the sites of a chunk.  It is shared
 * with children of this process until they have done the same, if the process
 * may have no more private memory (RLIMIT_DATA).  False if there is none. */
static bool
map_own(uint32_t chunk, bool wanted)
{
    static char buffer[LP_CALL_PATHS_PER_CHUNK * sizeof(lp_site)];
    const int at_place = MAP_ANONYMOUS | MAP_FIXED;
    lp_site *place = place_of(chunk);
    void *own;

    if (wanted) {
        memcpy(buffer, place, chunk_bytes);
    }
    own = mmap(place, chunk_bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | at_place, -1, 0);
    lasting.is_shared[chunk] = own == MAP_FAILED;
    if (own == MAP_FAILED) {
        own = mmap(place, chunk_bytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | at_place, -1, 0);
    }
    if (own != MAP_FAILED && wanted) {
        memcpy(place, buffer, chunk_bytes);
    }
    return own != MAP_FAILED;
}

void
lp_lasting_part(bool wanted)
{
    if (lasting.paths == NULL) {
        return;
    }
    lp_call_paths_copy_to(lasting.paths, NULL);
    LP_WRITE(numbers, NULL);
    for (uint32_t i = 0; i < LP_CALL_PATH_CHUNKS; i++) {
        if (!is_mapped(i)) {
            continue;
        }
        if (!map_own(i, wanted)) {
            abort(); /* the child would write to its parent's counts */
        }
        if (lasting.blocks[i] != NULL) {
            lp_block_free(&lasting.blocks[i]->block);
            lasting.blocks[i] = NULL;
        }
    }
}

void
lp_lasting_clear(lp_site *sites)
{
    for (uint32_t end, i = 0; i < LP_CALL_PATH_CHUNKS; i = end) {
        lp_site *place = sites + (size_t)i * LP_CALL_PATHS_PER_CHUNK;

        end = i + 1;
        if (is_mapped(i)) {
            memset(place, 0, chunk_bytes);
            continue;
        }
        while (end < LP_CALL_PATH_CHUNKS && !is_mapped(end)) {
            end++;
        }
        lp_pages_clear(place, (end - i) * chunk_bytes);
    }
}

lp_heap_numbers *
lp_lasting_numbers(void)
{
    return LP_READ(numbers);
}

void
lp_lasting_started(void)
{
    if (lasting.blocks[0] != NULL) {
        __atomic_store_n(&lasting.blocks[0]->started, 1, __ATOMIC_RELEASE);
    }
}
