/* The properties of a profiled code object.
 *
 * There is one lp_code for each pair (code object, tracer); those of one code
 * object are linked, and the first hangs on the code object itself, so an
 * event finds them without a search.  When the interpreter frees a code
 * object, its lp_code goes to a free list, and its counters go on with the
 * next code object that is compiled from the same source.
 */
#ifndef LP_ENGINE_CODE_H
#define LP_ENGINE_CODE_H

#include "engine/python_compat.h"
#include "record/line_counters.h"
#include "record/recorder.h"

struct lp_labels;
struct lp_tracer;

/* In lp_code.marks, beside an lp_line_entry. */
enum { LP_LINE_ENTRY_MASK = 3, LP_STARTS_LINE = 4, LP_NO_LINE_EVENT = 8 };

enum {
    LP_CODE_GENERATOR = 1, /* a generator or coroutine: runs in steps */
    LP_CODE_ACTIVATES_TRACER =
        2, /* its tracer is enabled for as long as it runs */
    LP_CODE_HAS_COMPREHENSION = 4, /* has comprehensions that run in it */
    LP_CODE_IGNORED = 8,           /* is not to be counted any more */
    LP_CODE_BY_INSTRUCTION = 16 /* has lines that Python is slow to tell of */
};

typedef struct lp_code {
    PyObject *code;       /* borrowed; NULL once it has died */
    struct lp_code *next; /* the same code object, another tracer */
    struct lp_code
        *canonical; /* its tracer's first of the same key, or NULL */
    struct lp_code *free_list; /* of a leader: those of its key that died, */
    struct lp_code *next_free; /* one after the other */
    struct lp_tracer *tracer;  /* borrowed: it owns us */
    lp_layout layout;
    uint32_t flags;
    int32_t start;    /* offset of the instruction that begins it; a frame
                       * beyond was resumed */
    uint32_t n_marks; /* of the two arrays below, by instruction */
    uint8_t *marks; /* owned: lp_line_entry, how a jump there came, and whether
                     * a line starts there, if it is far; or NULL */
    uint32_t *resumes; /* owned: line to open on a resume; or NULL */
    struct lp_labels
        *labels; /* owned: of ranges, see nvtx_ranges.h; or NULL */
} lp_code;

/* Ask the interpreter for the word on code objects.  0 or -1. */
int lp_code_open(void);

/* [GIL] The first lp_code of a code object, or NULL. */
lp_code *lp_code_of(PyObject *code);

/* [GIL] The one of this tracer, or NULL. */
lp_code *lp_code_find(PyObject *code, const struct lp_tracer *tracer);

/* [GIL] Hang it on its code object.  0 or -1 with an exception. */
int lp_code_attach(lp_code *self, PyObject *code);

/* [GIL] One that has died, of those with this leader; or NULL. */
lp_code *lp_code_take_free(lp_code *canonical);

/* [GIL] Take it off again; nothing where the code object has died. */
void lp_code_detach(lp_code *self);

/* New, empty, not attached; NULL with an exception when memory is out. */
lp_code *lp_code_new(struct lp_tracer *tracer);

void lp_code_free(lp_code *self);

/* Does nobody count it any more, whoever did? */
static inline bool
lp_code_is_ignored(const lp_code *code)
{
    while (code != NULL && (code->flags & LP_CODE_IGNORED)) {
        code = code->next;
    }
    return code == NULL;
}

/* The way in which control came to the instruction at a byte offset. */
static inline lp_line_entry
lp_code_line_entry(const lp_code *self, int offset)
{
    uint32_t at = (uint32_t)offset / 2;

    return self->marks != NULL && at < self->n_marks
               ? (lp_line_entry)(self->marks[at] & LP_LINE_ENTRY_MASK)
               : LP_LINE_FORWARD;
}

/* Does the jump that starts at a byte offset tell of its line alone? */
static inline bool
lp_code_has_no_line_event(const lp_code *self, int offset)
{
    uint32_t at = (uint32_t)offset / 2;

    return self->marks != NULL && at < self->n_marks &&
           (self->marks[at] & LP_NO_LINE_EVENT) != 0;
}

/* The flags of its frames from the first event on. */
static inline uint32_t
lp_code_frame_flags(const lp_code *self)
{
    return self->flags & LP_CODE_HAS_COMPREHENSION ? LP_FRAME_HAS_COMPREHENSION
                                                   : 0;
}

#endif
