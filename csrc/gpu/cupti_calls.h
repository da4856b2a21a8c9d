/* What a call of CUDA's driver does, by its number. */
#ifndef LP_GPU_CUPTI_CALLS_H
#define LP_GPU_CUPTI_CALLS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum lp_call_class {
    LP_CALL_OTHER = 0,
    LP_CALL_LAUNCH,     /* one record or more */
    LP_CALL_COPY,       /* the same, and the thread is blocked */
    LP_CALL_COPY_ASYNC, /* the same, if memory is pageable */
    LP_CALL_MAY_LAUNCH, /* no record on most devices */
    LP_CALL_SYNC,       /* the thread is blocked */
    LP_CALL_FREE,       /* the same until earlier work ends; a record as for
                           LP_CALL_ALLOC */
    LP_CALL_ALLOC,      /* a record if memory is recorded */
    LP_CALL_START,      /* collection is resumed, */
    LP_CALL_STOP,       /* or paused */
    LP_CALL_LOAD,       /* modules are loaded, or a context is created */
    LP_CALL_CAPTURE,    /* capture of a graph begins, */
    LP_CALL_CAPTURED    /* or ends */
} lp_call_class;

/* Whether a call that launches work has a record: not if CUPTI refuses those
 * of its kind, and maybe if the kind is not known. */
typedef enum lp_has_record {
    LP_RECORD_CERTAIN = 0,
    LP_RECORD_MAYBE,
    LP_RECORD_NO
} lp_has_record;

/* What a call that frees belongs to: the current context, or its first
 * parameter. */
typedef enum lp_call_target {
    LP_TARGET_CURRENT = 0,
    LP_TARGET_CONTEXT,
    LP_TARGET_DEVICE
} lp_call_target;

enum { LP_SIZE_OF_AREA = 128 };

typedef struct lp_cupti_call_traits {
    uint8_t class; /* lp_call_class */
    bool has_many; /* it may have many records */
    /* place of the number of bytes among its parameters, or 0; with
     * LP_SIZE_OF_AREA if the height is in the next place */
    uint8_t size;
    uint8_t record; /* lp_has_record */
    uint8_t target; /* lp_call_target */
} lp_cupti_call_traits;

enum { LP_CUPTI_CALLS = 1024 };

extern lp_cupti_call_traits lp_cupti_calls[LP_CUPTI_CALLS];

#endif
