/* Correlation ids: from a device's record back to the path of its launch.
 *
 * Ids are numbers that grow by one with each call, so they are kept in pages
 * of consecutive ids.  A page whose records have all come and that is far
 * behind is reused for later ids; a page with a record that never comes is
 * kept for long, but not endlessly, so that memory is bounded in a program
 * that runs for days.  Once no records come at all, no more ids are inserted
 * until one comes.  Ids count modulo 2**32.
 *
 * Launching threads insert ids without a lock; one thread at a time, which
 * reads records, looks ids up and reclaims pages.  Graph nodes, each with the
 * call path on which it was captured, have a lock of their own.
 */
#ifndef LP_GPU_CORRELATION_H
#define LP_GPU_CORRELATION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/clock.h"
#include "record/hash_index.h"

enum {
    LP_CORRELATION_INSERTED = 1, /* the call was inserted */
    LP_CORRELATION_EXPECTED = 2, /* a record of the device is expected */
    LP_CORRELATION_MATCHED = 4,  /* and has come */
    LP_CORRELATION_IGNORED = 8,  /* collection was off */
    /* a runtime call, which may contain a driver call */
    LP_CORRELATION_RUNTIME = 16,
    /* its record says that it blocked its thread */
    LP_CORRELATION_BLOCKED = 32
};

typedef struct lp_correlation_entry {
    uint32_t path;       /* atomic */
    uint32_t flags;      /* atomic */
    uint64_t wait_ticks; /* ticks for which an asynchronous copy blocked its
                            thread, not charged yet (atomic) */
    lp_ticks launched;   /* when the call began; 0 if unknown (atomic) */
} lp_correlation_entry;

typedef struct lp_correlation_page lp_correlation_page;

enum {
    LP_CORRELATION_PAGES = 1 << 16, /* max number of pages */
    /* max number of old pages with expected records */
    LP_CORRELATION_OVERDUE = 1024
};

typedef struct lp_correlation {
    lp_correlation_page **pages;     /* owned array, owned entries (atomic) */
    lp_correlation_page *free_pages; /* owned list (atomic) */
    bool started;                    /* a record has come */
    uint32_t oldest; /* all pages before this one were reclaimed */
    uint32_t newest; /* page of the newest record */
    /* owned: up to LP_CORRELATION_OVERDUE pages, oldest first */
    uint32_t *overdue;
    uint32_t n_overdue;
    uint64_t expired;     /* records that are no longer expected (atomic) */
    uint64_t lost;        /* ids that there was no room for (atomic) */
    bool any_work;        /* a record of a device's work has come (atomic) */
    uint32_t newest_work; /* page of the newest such record (atomic) */
    uint32_t new_pages;   /* added since such a record came (atomic) */
    /* max number of records that the backend's buffers hold back (atomic) */
    uint64_t held_back;
    bool stopped; /* ids are not inserted, because no records come (atomic) */
    uint64_t refused; /* expected records of ids that were not inserted
                         (atomic) */
} lp_correlation;

/* Initialise; false if memory is out. */
bool lp_correlation_init(lp_correlation *correlations);

void lp_correlation_free(lp_correlation *correlations);

/* [ANY] Charge the call of this id, which began at `launched`, to `path`. */
void lp_correlation_insert_launch(lp_correlation *correlations, uint64_t id,
                                  uint32_t path, uint32_t flags,
                                  lp_ticks launched);

/* [ANY] The same for a call that launches no work. */
static inline void
lp_correlation_insert(lp_correlation *correlations, uint64_t id, uint32_t path,
                      uint32_t flags)
{
    lp_correlation_insert_launch(correlations, id, path, flags, 0);
}

/* [ANY] Expect no record, because the call failed, or was captured. */
void lp_correlation_unexpect(lp_correlation *correlations, uint64_t id);

/* [ANY] The call, an asynchronous copy, returned after so many ticks.  Returns
 * its entry; `wait_ticks` is the part to charge now, because a record that
 * came before says that the copy blocked.  Otherwise the ticks are kept for
 * the record. */
lp_correlation_entry lp_correlation_returned(lp_correlation *correlations,
                                             uint64_t id, uint64_t ticks);

/* A record of this id has come; `flags` has LP_CORRELATION_MATCHED for work of
 * a device, LP_CORRELATION_BLOCKED if it blocked its thread.  Returns the
 * entry of the id, with flags 0 if the id is unknown; `wait_ticks` is the part
 * to charge now. */
lp_correlation_entry lp_correlation_matched(lp_correlation *correlations,
                                            uint64_t id, uint32_t flags);

/* Retire pages that are complete; to be called after some records. */
void lp_correlation_reclaim(lp_correlation *correlations);

/* [ANY] Return how many records are still expected. */
uint64_t lp_correlation_outstanding(const lp_correlation *correlations);

/* Calls that are newer than the newest record. */
typedef struct lp_correlation_tail {
    uint64_t expected; /* records that are expected of them */
    uint64_t mark;     /* changes when another call that launches work is
                          inserted or refused */
} lp_correlation_tail;

/* [ANY] Return the calls since the newest record of a device's work. */
lp_correlation_tail
lp_correlation_since_newest(const lp_correlation *correlations);

typedef struct lp_graph_node {
    uint64_t node;
    uint32_t path;
} lp_graph_node;

typedef struct lp_graph_nodes {
    lp_graph_node *nodes; /* owned */
    size_t n, capacity;
    lp_hash_index index; /* of the nodes, by `node` */
    pthread_mutex_t lock;
} lp_graph_nodes;

void lp_graph_nodes_init(lp_graph_nodes *graph_nodes);

void lp_graph_nodes_free(lp_graph_nodes *graph_nodes);

/* Record that the node was created on this path; dropped if memory is out. */
void lp_graph_nodes_insert(lp_graph_nodes *graph_nodes, uint64_t node,
                           uint32_t path);

/* Find the path of a node; false if the node is unknown. */
bool lp_graph_nodes_find(lp_graph_nodes *graph_nodes, uint64_t node,
                         uint32_t *path);

#endif
