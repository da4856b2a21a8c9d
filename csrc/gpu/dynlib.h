/* A shared library that may not be there: open it and find a declared list
 * of its functions; say what was missing.
 */
#ifndef LP_GPU_DYNLIB_H
#define LP_GPU_DYNLIB_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lp_symbol {
    const char *name;
    size_t offset; /* of the function pointer to set, in a struct */
    bool optional; /* it may be missing; its pointer is then NULL */
} lp_symbol;

/* A library by its name or path, for the life of the process; NULL, and in
 * `why` the reason.  One that is loaded already is that one. */
void *lp_dynlib_open(const char *name, char *why, size_t capacity);

/* Set the function pointers in `functions`; false, and in `why` the name of
 * one that is missing. */
bool lp_dynlib_find(void *library, const lp_symbol *symbols, size_t n,
                    void *functions, char *why, size_t capacity);

#endif
