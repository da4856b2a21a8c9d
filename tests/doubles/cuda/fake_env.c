/* Shared by both doubles: knobs, misuse, and the true clock. */
#include "cuda/fake_interface.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Return the number in an environment variable. */
uint64_t
fk_env(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* Return the result with which a function is set to fail, or 0.
 *
 * knob has "name" or "name:result", several separated by commas.
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

/* Abort with a message if the real library would crash, hang or be wrong. */
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
