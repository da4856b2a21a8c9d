/* Correlation ids: from a device's record back to the path of its launch.
 *
 * Ids are numbers that grow by one with each call, so they are kept by pages
 * of neighbours.  A page whose records have all come and that lies far behind
 * goes to later ids; a page of which a record never comes is kept a long
 * while, but not for ever, so that memory is bounded in a program that runs
 * for days.  Ids count modulo 2**32.
 *
 * Launching threads put ids in without a lock; one thread at a time, the one
 * that reads records, looks them up and reclaims pages.  The nodes of graphs,
 * each with the call path that it was captured on, are under a lock of their
 * own.
 */
#ifndef LP_GPU_CORRELATION_H
#define LP_GPU_CORRELATION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    LP_CORRELATION_INSERTED = 1, /* the call was seen */
    LP_CORRELATION_EXPECTED = 2, /* a record of the device is due */
    LP_CORRELATION_MATCHED = 4,  /* and one has come */
    LP_CORRELATION_IGNORED = 8,  /* nobody wants it: collection was off */
    LP_CORRELATION_RUNTIME =
        16, /* a call of the runtime, maybe a driver's within */
    LP_CORRELATION_BLOCKED = 32 /* its record says that it held its thread */
};

typedef struct lp_correlation_entry {
    uint32_t path;       /* atomic */
    uint32_t flags;      /* atomic */
    uint64_t wait_ticks; /* ticks that an asynchronous copy held its thread and
                          * that were not charged yet (atomic) */
} lp_correlation_entry;

typedef struct lp_correlation_page lp_correlation_page;

enum {
    LP_CORRELATION_PAGES = 1 << 16, /* that are told apart */
    LP_CORRELATION_OVERDUE = 1024 /* old pages that still wait for a record */
};

typedef struct lp_correlation {
    lp_correlation_page **pages;     /* owned array, owned entries (atomic) */
    lp_correlation_page *free_pages; /* owned list (atomic) */
    bool started;                    /* a record was seen: */
    uint32_t oldest; /* the page before which all were tidied up, */
    uint32_t newest; /* and the page of the newest record */
    uint32_t
        *overdue; /* owned: up to LP_CORRELATION_LATE pages, oldest first */
    uint32_t n_overdue;
    uint64_t expired; /* records that nobody waits for any more (atomic) */
    uint64_t lost;    /* ids that there was no room for (atomic) */
} lp_correlation;

/* False when memory is out. */
bool lp_correlation_init(lp_correlation *correlations);

void lp_correlation_free(lp_correlation *correlations);

/* [ANY] The call of this id is charged to `path`. */
void lp_correlation_insert(lp_correlation *correlations, uint64_t id,
                           uint32_t path, uint32_t flags);

/* [ANY] No record will come: the call failed, or was captured. */
void lp_correlation_unexpect(lp_correlation *correlations, uint64_t id);

/* [ANY] The call, an asynchronous copy, returned after so many ticks.  What
 * is known of it; `held` is what is to be charged now, for a record that came
 * before said that it blocked.  Else that record will be told. */
lp_correlation_entry lp_correlation_returned(lp_correlation *correlations,
                                             uint64_t id, uint64_t ticks);

/* A record of this id has come: LP_CORRELATION_MATCHED of one that a device
 * made, LP_CORRELATION_BLOCKED of one that held its thread.  What was known of
 * the id; a copy whose flags are 0 where nothing was.  `held` is what is to be
 * charged now. */
lp_correlation_entry lp_correlation_matched(lp_correlation *correlations,
                                            uint64_t id, uint32_t flags);

/* After some records: give up pages that are done with. */
void lp_correlation_reclaim(lp_correlation *correlations);

/* [ANY] How many records are still to come. */
uint64_t lp_correlation_outstanding(const lp_correlation *correlations);

typedef struct lp_graph_node {
    uint64_t node; /* 0: a free slot */
    uint32_t path;
} lp_graph_node;

typedef struct lp_graph_nodes {
    lp_graph_node *slots; /* owned, by hash */
    uint32_t n;
    uint32_t mask;
    pthread_mutex_t lock;
} lp_graph_nodes;

void lp_graph_nodes_init(lp_graph_nodes *graph_nodes);

void lp_graph_nodes_free(lp_graph_nodes *graph_nodes);

/* The node was made on this path; forgotten when memory is out. */
void lp_graph_nodes_insert(lp_graph_nodes *graph_nodes, uint64_t node,
                           uint32_t path);

/* The path, or LP_NO_PATH. */
uint32_t lp_graph_nodes_find(lp_graph_nodes *graph_nodes, uint64_t node);

#endif
