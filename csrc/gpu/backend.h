/* The interface of the backends that record what a device does.
 *
 * A backend is found by its name, opened once in the life of a process, and
 * brings what it learns to the activity.  What it needs of us it is handed: it
 * knows neither Python nor how lines are traced.  A backend for another
 * vendor's devices is one more struct.
 *
 * Threads: open, flush and close are called by one thread at a time, and
 * without the interpreter's lock, for they may block.
 */
#ifndef LP_GPU_BACKEND_H
#define LP_GPU_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/activity.h"
#include "record/clock.h"

/* What a backend is handed.  The functions are [ANY]. */
typedef struct lp_gpu_host {
    lp_activity *activity;
    uint32_t (*path)(void); /* what a call of this thread is charged to */
    lp_ticks (*now)(void);  /* ticks of the clock in use */
    void (*collect)(bool);  /* the program switched collection on or off */
} lp_gpu_host;

typedef struct lp_gpu_options {
    const char *driver;           /* the driver's library */
    const char *const *libraries; /* the tool's, best first; NULL-ended */
    bool calls;                   /* record calls of the API, too */
    bool memory;                  /* and allocations, */
    bool migrations;              /* and those of managed memory */
    bool whole_graphs;            /* one record for a graph's launch */
} lp_gpu_options;

enum { LP_GPU_WHY = 512 };

/* What a device is called and made of. */
typedef struct lp_gpu_attribute {
    const char *name;
    int value;
} lp_gpu_attribute;

enum { LP_GPU_NAME = 128, LP_GPU_ATTRIBUTES = 16 };

typedef struct lp_gpu_device {
    char name[LP_GPU_NAME];
    lp_gpu_attribute attributes[LP_GPU_ATTRIBUTES];
    int n_attributes;
} lp_gpu_device;

typedef struct lp_gpu_backend {
    const char *name;
    /* False, and why not, in half a sentence. */
    bool (*open)(const lp_gpu_host *host, const lp_gpu_options *options,
                 char why[LP_GPU_WHY]);
    /* Bring all records of work given so far; waits for the device. */
    void (*flush)(void);
    /* Record no more; the libraries remain loaded.  Nothing after a fork. */
    void (*close)(void);
    uint32_t (*version)(void);
    uint64_t (*dropped)(void); /* records that were lost on the way */
    /* The name of a call of the API; static text or NULL. */
    const char *(*call_name)(lp_activity_kind kind, uint32_t call);
    void (*describe)(uint32_t device, lp_gpu_device *description);
} lp_gpu_backend;

#endif
