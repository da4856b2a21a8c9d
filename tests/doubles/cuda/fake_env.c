/* What both doubles need: knobs, misuse, and a clock that never stands. */
#include "cuda/fake_door.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Give the number that an environment variable holds. */
uint64_t
fk_env(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* Give the result that a function is told to fail with, or 0.
 *
 * knob holds "name" or "name:result", several with commas between.
 */
int
fk_fails(const char *knob, const char *function, int otherwise)
{
    size_t length = strlen(function);
    for (const char *at = knob; at && *at; at += *at == ',') {
        size_t word = strcspn(at, ",");
        if (!strncmp(at, function, length)) {
            if (word == length) {
                return otherwise;
            }
            if (at[length] == ':') {
                return (int)strtol(at + length + 1, NULL, 10);
            }
        }
        at += word;
    }
    return 0;
}

/* The real library would crash, hang or lie: say so and stop. */
void
fk_misuse(const char *format, ...)
{
    if (!fk_env("FAKE_CUPTI_STRICT", 1)) {
        return;
    }
    va_list values;
    va_start(values, format);
    fputs("lineprof's GPU double: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    abort();
}

uint64_t
fk_true_time(int clock)
{
    struct timespec now;
    syscall(SYS_clock_gettime, clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
