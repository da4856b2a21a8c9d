/* Where the nodes of graphs were captured.
 *
 * Any thread may tell and ask; a lock is held for each.
 */
#ifndef LP_ORIGINS_H
#define LP_ORIGINS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct lp_origin {
    uint64_t node; /* 0: a free slot */
    uint32_t path;
} lp_origin;

typedef struct lp_origins {
    lp_origin *slots; /* owned, by hash */
    uint32_t n;
    uint32_t mask;
    pthread_mutex_t lock;
} lp_origins;

void lp_origins_init(lp_origins *origins);

void lp_origins_free(lp_origins *origins);

/* The node was made on this path; forgotten when memory is out. */
void lp_origins_put(lp_origins *origins, uint64_t node, uint32_t path);

/* The path, or LP_NO_PATH. */
uint32_t lp_origins_get(lp_origins *origins, uint64_t node);

#endif
