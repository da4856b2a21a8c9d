/* Correlation ids: from a device's record back to the path of its launch.
 *
 * Ids are numbers that grow by one with each call, so they are kept by pages
 * of neighbours.  A page whose records have all come and that lies far behind
 * goes to later ids; a page of which a record never comes stays a long while,
 * but not for ever, so that memory stays bounded in a program that runs for
 * days.  Ids count modulo 2**32.
 *
 * Launching threads put ids in without a lock; one thread at a time, the one
 * that reads records, looks them up and tidies up.
 */
#ifndef LP_GPU_CORRELATION_H
#define LP_GPU_CORRELATION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    LP_CORR_PUT = 1,      /* the call was seen */
    LP_CORR_EXPECTED = 2, /* a record of the device is due */
    LP_CORR_SEEN = 4,     /* and one has come */
    LP_CORR_IGNORED = 8,  /* nobody wants it: collection was off */
    LP_CORR_RUNTIME = 16, /* a call of the runtime, maybe a driver's within */
    LP_CORR_BLOCKED = 32  /* its record says that it held its thread */
};

typedef struct lp_corr_entry {
    uint32_t path;  /* atomic */
    uint32_t flags; /* atomic */
    uint64_t held;  /* ticks that an asynchronous copy held its thread and
                     * that were not charged yet (atomic) */
} lp_corr_entry;

typedef struct lp_corr_page lp_corr_page;

enum {
    LP_CORR_PAGES = 1 << 16, /* that are told apart */
    LP_CORR_LATE = 1024      /* old pages that still wait for a record */
};

typedef struct lp_corr {
    lp_corr_page **pages; /* owned array, owned entries (atomic) */
    lp_corr_page *spare;  /* owned list (atomic) */
    bool begun;           /* a record was seen: */
    uint32_t oldest;      /* the page before which all were tidied up, */
    uint32_t newest;      /* and the page of the newest record */
    uint32_t *late;       /* owned: up to LP_CORR_LATE pages, oldest first */
    uint32_t n_late;
    uint64_t expired; /* records that nobody waits for any more (atomic) */
    uint64_t lost;    /* ids that there was no room for (atomic) */
} lp_corr;

/* False when memory is out. */
bool lp_corr_init(lp_corr *corr);

void lp_corr_free(lp_corr *corr);

/* [ANY] The call of this id is charged to `path`. */
void lp_corr_put(lp_corr *corr, uint64_t id, uint32_t path, uint32_t flags);

/* [ANY] No record will come: the call failed, or was captured. */
void lp_corr_unexpect(lp_corr *corr, uint64_t id);

/* [ANY] The call, an asynchronous copy, returned after so many ticks.  What
 * is known of it; `held` is what is to be charged now, for a record that came
 * before said that it blocked.  Else that record will be told. */
lp_corr_entry lp_corr_hold(lp_corr *corr, uint64_t id, uint64_t ticks);

/* A record of this id has come: LP_CORR_SEEN of one that a device made,
 * LP_CORR_BLOCKED of one that held its thread.  What was known of the id; a
 * copy whose flags are 0 where nothing was.  `held` is what is to be charged
 * now. */
lp_corr_entry lp_corr_seen(lp_corr *corr, uint64_t id, uint32_t flags);

/* After some records: give up pages that are done with. */
void lp_corr_tidy(lp_corr *corr);

/* [ANY] How many records are still to come. */
uint64_t lp_corr_outstanding(const lp_corr *corr);

/* Where the nodes of graphs were captured.
 *
 * Any thread may tell and ask; a lock is held for each.
 */

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
