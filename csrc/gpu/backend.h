/* The interface of the backends that record device activity.
 *
 * A backend is found by name, opened once per process, and adds its records to
 * the activity.  Everything it needs from lineprof is in lp_gpu_host: it
 * depends neither on Python nor on tracing.  A backend for another vendor's
 * devices is one more struct.
 *
 * Threads: open, flush and close are called by one thread at a time, and
 * without the GIL, because they may block.
 */
#ifndef LP_GPU_BACKEND_H
#define LP_GPU_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/activity.h"
#include "record/clock.h"

/* Everything that a backend gets from lineprof.  The functions are [ANY]. */
typedef struct lp_gpu_host {
    lp_activity *activity;
    /* call path to which a call of this thread is charged */
    uint32_t (*path)(void);
    lp_ticks (*now)(void); /* ticks of the clock in use */
    void (*collect)(bool); /* the program pauses or resumes collection */
} lp_gpu_host;

typedef struct lp_gpu_options {
    const char *driver; /* library of the driver */
    const char *const
        *libraries; /* libraries of the backend, best first, NULL at the end */
    /* other libraries that the process may load and that record; NULL at the
     * end */
    const char *const *clients;
    bool recorded;       /* another tool is known to record */
    bool calls;          /* also record calls of the API, */
    bool memory;         /* allocations, */
    bool migrations;     /* and migrations of managed memory */
    bool whole_graphs;   /* one record per graph launch */
    bool hardware_clock; /* time stamps of the hardware, where it has them */
} lp_gpu_options;

enum { LP_GPU_WHY = 512 };

/* Takes a sentence, of at most LP_GPU_WHY bytes. */
typedef void lp_gpu_say(void *context, const char *sentence);

/* An attribute of a device. */
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

/* Signs of other tools in the process that record the same devices. */
typedef struct lp_gpu_other_tools {
    uint64_t buffers; /* of theirs, which came to lineprof */
    uint64_t taken;   /* launches without a record, as of the last flush, since
                         another tool seems to take them */
} lp_gpu_other_tools;

typedef struct lp_gpu_backend {
    const char *name;
    /* Open; false with the reason in `why`, as half a sentence.  If it is
     * open, `why` says in which way, as words in brackets, or is empty. */
    bool (*open)(const lp_gpu_host *host, const lp_gpu_options *options,
                 char why[LP_GPU_WHY]);
    /* Add all records of work launched so far; waits for the device.  `last`
     * if the program has ended: work that still runs is given up. */
    void (*flush)(bool last);
    /* Add the records that are complete, a moment later; waits for nothing. */
    void (*deliver)(void);
    /* Stop recording; the libraries remain loaded.  Also called when the
     * interpreter of a forked child ends, where nothing is recorded. */
    void (*close)(void);
    uint32_t (*version)(void);
    uint64_t (*dropped)(void); /* records that the vendor's library dropped */
    lp_gpu_other_tools (*other_tools)(void);
    /* Return the name of an API call; static string or NULL. */
    const char *(*call_name)(lp_activity_kind kind, uint32_t call);
    void (*describe)(uint32_t device, lp_gpu_device *description);
    /* Say in sentences what could not be recorded. */
    void (*notes)(lp_gpu_say *say, void *context);
} lp_gpu_backend;

#endif
