/* The properties of a profiled code object.
 *
 * There is one lp_code for each pair (code object, tracer); those of one code
 * object are linked, and the first is stored on the code object itself, so an
 * event finds them without a search.  When the interpreter frees a code
 * object, its lp_code goes to a free list, and its counters are reused for the
 * next code object that is compiled from the same source.
 */
#ifndef LP_ENGINE_CODE_H
#define LP_ENGINE_CODE_H

#include "bytecode/code_tables.h"
#include "engine/python_compat.h"
#include "record/line_counters.h"
#include "record/recorder.h"

struct lp_labels;
struct lp_tracer;

/* Bits of lp_code.marks, which also has an lp_line_entry. */
enum {
    LP_LINE_ENTRY_MASK = 3,
    LP_NO_LINE_EVENT = LP_MARK_NO_LINE_EVENT,
    LP_NO_EXECUTION = LP_MARK_NO_EXECUTION
};

enum {
    LP_CODE_GENERATOR = 1, /* a generator or coroutine: runs in steps */
    /* its tracer is enabled for as long as it runs */
    LP_CODE_ACTIVATES_TRACER = 2,
    /* has comprehensions that run in its frame */
    LP_CODE_HAS_COMPREHENSION = 4,
    LP_CODE_IGNORED = 8, /* is no longer counted */
    /* its calls are recorded from INSTRUCTION events with LP_START_OF_CALL,
     * as its lines are, and it has no PY_START events */
    LP_CODE_CALLED_BY_INSTRUCTION = 16,
    LP_CODE_BY_INSTRUCTION = 32, /* its lines are: it has `starts` */
    LP_CODE_IS_FAR = 64,         /* its LINE events are slow */
    /* its calls are counted without lines: their time is on its first line */
    LP_CODE_CALLS_ONLY = 128,
    /* a coroutine where instructions are traced: its end costs more if
     * another coroutine awaits it (an exception is raised and caught) */
    LP_CODE_AWAITED_SLOWLY = 256,
    /* some of its lines begin where the interpreter has no LINE event: its
     * `starts` have at least these */
    LP_CODE_HAS_HIDDEN_STARTS = 512,
    /* its `starts` tell of lines: all, or the hidden ones */
    LP_CODE_HAS_STARTS = LP_CODE_BY_INSTRUCTION | LP_CODE_HAS_HIDDEN_STARTS
};

typedef struct lp_code {
    PyObject *code;       /* borrowed; NULL after it was freed */
    struct lp_code *next; /* of the same code object, for another tracer */
    /* the first of the same tracer and key, or NULL */
    struct lp_code *canonical;
    struct lp_code *free_list; /* in a canonical one: first of those of its key
                                  whose code objects were freed, */
    struct lp_code *next_free; /* linked by this */
    struct lp_tracer *tracer;  /* borrowed: the tracer owns this struct */
    lp_layout layout;
    uint32_t flags;
    int32_t start; /* byte offset of the instruction at which a call begins; a
                      frame beyond it was resumed */
    uint32_t n_marks; /* length of the three arrays below */
    uint8_t *marks;   /* owned: the lp_line_entry of a jump to the instruction,
                         LP_NO_LINE_EVENT and LP_NO_EXECUTION; or NULL */
    uint32_t *resumes; /* owned: line of the instruction, to open when a frame
                          is resumed there; or NULL */
    uint32_t *starts;  /* owned: the line that may begin at the instruction,
                          if its event tells of it, see lp_code_tables; or
                          NULL */
    /* owned: labels of NVTX ranges, see nvtx_ranges.h; or NULL */
    struct lp_labels *labels;
} lp_code;

/* The mark of a code object that has, or had, any data of lineprof: marks are
 * linked, so that all such code objects can be found. */
typedef struct lp_mark {
    PyObject *code;         /* borrowed: freed with the code object */
    struct lp_mark *next;   /* in the list of all, */
    struct lp_mark **link;  /* and what points here in it */
    uintptr_t unwanted_in;  /* last round of discovery in which the code object
                               was unwanted; see discovery.h */
    uintptr_t postponed_in; /* last round in which it was postponed, */
    uint32_t postponed;     /* and for how many calls */
    bool offered;           /* as a copy by value: see code_copies.h */
} lp_mark;

/* Request the code-extra indices from the interpreter, once.  0 or -1. */
int lp_code_open(void);

/* [GIL] Return the mark of a code object, or NULL. */
lp_mark *lp_code_mark(PyObject *code);

/* [GIL] Return the mark of a code object, made at the first call; NULL with an
 * exception if memory is out. */
lp_mark *lp_code_add_mark(PyObject *code);

/* [GIL] Keep all marked code objects for ever, at the interpreter's exit.  For
 * a code object that has any code extra the interpreter calls the free
 * functions of all users of code extras, and one of another user, written in
 * Python for ctypes, may be gone before the code object is. */
void lp_code_keep_all(void);

/* [GIL] Return the first lp_code of a code object, or NULL. */
lp_code *lp_code_of(PyObject *code);

/* [GIL] Return the lp_code of this code object and tracer, or NULL. */
lp_code *lp_code_find(PyObject *code, const struct lp_tracer *tracer);

/* [GIL] Attach to a code object.  0 or -1 with an exception. */
int lp_code_attach(lp_code *self, PyObject *code);

/* [GIL] Take an lp_code whose code object was freed from the free list of this
 * canonical one; NULL if the list is empty. */
lp_code *lp_code_take_free(lp_code *canonical);

/* [GIL] Detach from the code object; does nothing after the code object was
 * freed. */
void lp_code_detach(lp_code *self);

/* [GIL] A call of the code starts, and memory is measured: what the
 * interpreter has just allocated for its events is no memory of the program.
 */
void lp_code_forget_events(PyObject *code);

/* Return a new empty lp_code, not attached; NULL with an exception if memory
 * is out. */
lp_code *lp_code_new(struct lp_tracer *tracer);

void lp_code_free(lp_code *self);

/* [GIL] Build the tables of a code object.  The spans are those of its file's
 * statements.  The tables are to be cleared in any case. */
lp_tables_result lp_code_read(lp_code_tables *tables, PyObject *code,
                              const lp_line_span *spans, size_t n_spans,
                              const lp_opcodes *opcodes,
                              const lp_line_events *events);

/* [GIL] Take over the tables of the code object. */
void lp_code_take_tables(lp_code *self, PyObject *code,
                         lp_code_tables *tables);

/* [GIL] Take over from `other` what depends on the bytecode: another compiler
 * run may have made it. */
void lp_code_take_bytecode(lp_code *self, lp_code *other);

/* [GIL] Have LINE events tell of the lines of a code object from now on, where
 * the interpreter has them. */
void lp_code_use_line_events(lp_code *first);

/* [GIL] Count turns of loops within a line by jumps: no events tell of the
 * code's hidden starts. */
void lp_code_miss_hidden_starts(lp_code *first);

/* [GIL] Have PY_START events tell of its calls from now on. */
void lp_code_use_start_events(lp_code *first);

/* True if every tracer of the code object ignores it. */
static inline bool
lp_code_is_ignored(const lp_code *code)
{
    while (code != NULL && (code->flags & LP_CODE_IGNORED)) {
        code = code->next;
    }
    return code == NULL;
}

/* The lp_line_entry of the instruction at a byte offset. */
static inline lp_line_entry
lp_code_line_entry(const lp_code *self, int offset)
{
    uint32_t at = (uint32_t)offset / 2;

    if (self->marks == NULL || at >= self->n_marks ||
        ((self->marks[at] & LP_MARK_TESTED) &&
         (self->flags & LP_CODE_HAS_HIDDEN_STARTS))) {
        return LP_LINE_FORWARD;
    }
    return (lp_line_entry)(self->marks[at] & LP_LINE_ENTRY_MASK);
}

/* True if the jump that starts at a byte offset, to its own line, has no LINE
 * event, so that the jump event itself counts. */
static inline bool
lp_code_has_no_line_event(const lp_code *self, int offset)
{
    uint32_t at = (uint32_t)offset / 2;

    return self->marks != NULL && at < self->n_marks &&
           (self->marks[at] & LP_NO_LINE_EVENT) != 0;
}

/* True if a line event at a byte offset tells of no execution of the line. */
static inline bool
lp_code_is_no_execution(const lp_code *self, int offset)
{
    uint32_t at = (uint32_t)offset / 2;

    return self->marks != NULL && at < self->n_marks &&
           (self->marks[at] & LP_NO_EXECUTION) != 0;
}

/* Flags that frames of this code have from the first event on. */
static inline uint32_t
lp_code_frame_flags(const lp_code *self)
{
    return self->flags & LP_CODE_HAS_COMPREHENSION ? LP_FRAME_HAS_COMPREHENSION
                                                   : 0;
}

/* Give a frame of this code the instructions where its lines begin. */
static inline void
lp_code_give_starts(const lp_code *self, lp_frame *frame)
{
    frame->starts = self->starts;
    frame->n_starts = self->flags & LP_CODE_HAS_STARTS ? self->n_marks : 0;
}

#endif
