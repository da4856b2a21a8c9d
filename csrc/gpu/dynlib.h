/* An optional shared library: opens the library and looks up a declared list
 * of its functions; reports which is missing.
 */
#ifndef LP_GPU_DYNLIB_H
#define LP_GPU_DYNLIB_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lp_symbol {
    const char *name;
    size_t offset; /* of the function pointer to set, in a struct */
    bool optional; /* may be missing; its pointer is then NULL */
} lp_symbol;

/* Open a library by name or path, until the process ends; NULL, with the
 * reason in `why`.  A library that is loaded already is not loaded again. */
void *lp_dynlib_open(const char *name, char *why, size_t capacity);

/* Set the function pointers in `functions`; false, with the name of a missing
 * one in `why`. */
bool lp_dynlib_find(void *library, const lp_symbol *symbols, size_t n,
                    void *functions, char *why, size_t capacity);

#endif
