/* A check that reports its failure and continues; main() returns the number of
 * failures.  A test that hangs ends with a message. */
#ifndef CHECK_H
#define CHECK_H

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { CHECK_SECONDS = 90 };

static int check_failures;

static void
check_hangs(int number)
{
    static const char message[] = __BASE_FILE__ ": does not end\n";

    (void)number;
    _exit(write(STDERR_FILENO, message, sizeof(message) - 1) > 0 ? 1 : 2);
}

__attribute__((constructor)) static void
check_start(void)
{
    signal(SIGALRM, check_hangs);
    alarm(CHECK_SECONDS);
}

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, __LINE__,    \
                    __func__, #condition);                                    \
            check_failures++;                                                 \
        }                                                                     \
    } while (0)

#endif
