/* A check that reports its failure and continues; main() returns the number of
 * failures. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

static int check_failures;

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, __LINE__,    \
                    __func__, #condition);                                    \
            check_failures++;                                                 \
        }                                                                     \
    } while (0)

#endif
