/* Blocks of memory for counters, in the live file or private.
 *
 * live_file.c makes them, because it knows whether the file has room.  [GIL]
 */
#ifndef LP_RECORD_BLOCK_H
#define LP_RECORD_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of blocks. */
typedef enum lp_block_kind {
    LP_BLOCK_FREE = 0, /* the memory was freed */
    LP_BLOCK_HEADER,
    LP_BLOCK_LOG,      /* of lp_live_record */
    LP_BLOCK_RECORDER, /* a lp_recorder and its frames */
    LP_BLOCK_FRAMES,   /* frames of a recorder, after the first array */
    LP_BLOCK_COUNTERS, /* of lp_code_counters, with their lines */
    LP_BLOCK_WAITS,    /* of lp_off_cpu_lines, and of lp_off_cpu_pending */
    LP_BLOCK_NODES,    /* of lp_node */
    LP_BLOCK_SITES     /* a lp_sites_block: memory by call path */
} lp_block_kind;

/* The head of each block.  In memory that is not in the file, too. */
typedef struct lp_block {
    uint32_t magic;
    uint32_t kind;          /* lp_block_kind */
    uint64_t bytes;         /* of the block, this head included */
    uint64_t used;          /* bytes in use, this head included */
    uint64_t address;       /* where it is mapped */
    uint64_t offset;        /* in the file */
    struct lp_block *next;  /* for the owner of the memory */
    struct lp_block *lower; /* the block before this one, if it is in the */
    bool is_live;           /* file, or would be if there was room */
    uint8_t padding[7];
} lp_block;

enum { LP_BLOCK_MAGIC = 0x62706c6c /* "llpb" */ };

/* Return a new zeroed block of at least so many bytes, its head included:
 * in the live file, or else (or if `live` is false) private.  NULL if memory
 * is out. */
lp_block *lp_block_new(lp_block_kind kind, size_t bytes, bool live);

void lp_block_free(lp_block *block);

/* The memory of a block, aligned to LP_RECORD_BYTES. */
static inline void *
lp_block_data(lp_block *block)
{
    return block + 1;
}

#endif
