/* Sites and call paths in the live file, so that they outlive the process.
 *
 * The sites of 4096 paths are a part of a block of the file, which is also
 * mapped over their place among the private sites: addresses are the same, and
 * so is the cost of a count.  A block is made with the first path that needs
 * it, before that has a number.  If the file has no room, the sites are
 * private, and what is in the file is marked as incomplete.
 */
#ifndef LP_MEMORY_LASTING_SITES_H
#define LP_MEMORY_LASTING_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/sites.h"
#include "record/block.h"
#include "record/call_paths.h"
#include "record/clock.h"

/* Where the parts of a block are; sites begin a page, of whatever size. */
enum { LP_ROWS_AT = 16 * 1024, LP_SITES_AT = 64 * 1024 };

/* Numbers of the process, in the block of the first paths (atomic). */
typedef struct lp_heap_numbers {
    lp_ticks start;
    lp_ticks peak_at; /* these three are written in this order */
    int64_t peak;
    uint32_t epoch;
    uint32_t incomplete; /* some sites are not in the file */
    uint64_t lost;
    uint64_t sample;
    uint64_t native; /* blocks of extension modules are counted */
} lp_heap_numbers;

typedef struct lp_sites_block {
    lp_block block;
    uint32_t chunk;   /* of paths */
    uint32_t started; /* the numbers are valid */
    lp_heap_numbers numbers;
    uint8_t padding[LP_ROWS_AT - sizeof(lp_block) - 2 * sizeof(uint32_t) -
                    sizeof(lp_heap_numbers)];
    lp_call_path_row rows[LP_CALL_PATHS_PER_CHUNK];
    lp_site sites[LP_CALL_PATHS_PER_CHUNK];
} lp_sites_block;

_Static_assert(offsetof(lp_sites_block, rows) == LP_ROWS_AT, "");
_Static_assert(offsetof(lp_sites_block, sites) == LP_SITES_AT, "");

/* [GIL] Let the sites of all paths, also of those to come, be in the live
 * file, if there is one.  Sites have what they had. */
void lp_lasting_begin(lp_call_paths *paths, lp_site *sites);

/* In a child, before it counts: part the sites from the parent's.  They are
 * not in a file then, and have what they had if that is `wanted`.  Idempotent.
 */
void lp_lasting_part(bool wanted);

/* [GIL] Set all sites to 0.  No thread counts. */
void lp_lasting_clear(lp_site *sites);

/* [ANY] Return the numbers in the file; NULL if there are none. */
lp_heap_numbers *lp_lasting_numbers(void);

/* [GIL] The numbers are valid from now on. */
void lp_lasting_started(void);

#endif
