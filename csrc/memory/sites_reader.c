#include "memory/sites_reader.h"

/* Return a path's site, or NULL. */
static const lp_site *
site_of(const lp_sites_copy *self, uint32_t number)
{
    const lp_sites_block *block =
        self->blocks[number / LP_CALL_PATHS_PER_CHUNK];

    return block == NULL ? NULL
                         : &block->sites[number % LP_CALL_PATHS_PER_CHUNK];
}

/* Find the number of paths, the present epoch, and whether the process was at
 * its peak. */
static void
survey(lp_sites_copy *self)
{
    int64_t live = 0;

    self->epoch = self->numbers->epoch;
    for (uint32_t i = 0; i < LP_MAX_SITES; i++) {
        const lp_site *site = site_of(self, i);

        if (site == NULL) {
            i += LP_CALL_PATHS_PER_CHUNK - 1;
            continue;
        }
        if (self->blocks[i / LP_CALL_PATHS_PER_CHUNK]
                ->rows[i % LP_CALL_PATHS_PER_CHUNK]
                .parent != 0) {
            self->n = i + 1;
        }
        /* One whose end came between two stores. */
        self->epoch = site->epoch > self->epoch ? site->epoch : self->epoch;
        live = (int64_t)((uint64_t)live + lp_site_live(site));
    }
    self->is_highest = live >= self->numbers->peak;
    self->peak_at = live > self->numbers->peak ? 0 : self->numbers->peak_at;
}

void
lp_sites_copy_open(lp_sites_copy *self, const lp_live_copy *copy)
{
    *self = (lp_sites_copy){.n = 0};
    for (size_t i = 0; i < copy->n_blocks; i++) {
        const lp_sites_block *block =
            (const lp_sites_block *)(void *)copy->blocks[i].at;

        if (copy->blocks[i].kind == LP_BLOCK_SITES &&
            block->block.bytes >= sizeof(*block) &&
            block->chunk < LP_CALL_PATH_CHUNKS) {
            self->blocks[block->chunk] = block;
        }
    }
    if (self->blocks[0] != NULL && self->blocks[0]->started) {
        self->numbers = &self->blocks[0]->numbers;
        survey(self);
    }
}

lp_call_path
lp_sites_copy_path(const lp_sites_copy *self, uint32_t number)
{
    const lp_sites_block *block =
        self->blocks[number / LP_CALL_PATHS_PER_CHUNK];
    const lp_call_path_row *row =
        block == NULL ? NULL : &block->rows[number % LP_CALL_PATHS_PER_CHUNK];

    if (row == NULL || row->parent == 0 || row->parent > number) {
        return (lp_call_path){.parent = LP_NO_PATH};
    }
    return (lp_call_path){
        .parent = row->parent - 1, .serial = row->serial, .line = row->line};
}

lp_heap_sum
lp_sites_copy_sum(const lp_sites_copy *self, uint32_t number)
{
    const lp_site *site = site_of(self, number);
    uint64_t at_peak, freed;

    if (site == NULL) {
        return (lp_heap_sum){0};
    }
    /* (A copy of a process that runs is of several instants.) */
    freed = site->own_freed + site->other_freed;
    freed = freed < site->alloc_bytes ? freed : site->alloc_bytes;
    at_peak = site->epoch == self->epoch && !self->is_highest
                  ? site->snap
                  : lp_site_live(site);
    return (lp_heap_sum){
        .allocs = site->allocs,
        .alloc_bytes = site->alloc_bytes,
        .freed_bytes = freed,
        .temp_bytes = site->temp_bytes < freed ? site->temp_bytes : freed,
        .peak_bytes = (int64_t)at_peak > 0 ? at_peak : 0,
    };
}
