/* Doubles of other tools that record a GPU in the same process: libraries that
 * tests load, and drive by the functions tool_*.
 *
 * Each has a pool of buffers of its own between canaries, and counts: its
 * records by kind, buffers that it did not give, and buffers of its own
 * around which somebody wrote.
 */
#ifndef TOOL_BUFFERS_H
#define TOOL_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_EXPORT __attribute__((visibility("default")))

enum { TOOL_KINDS = 64 };

/* The name in CUPTI, and whether others may subscribe; for newer tools. */
TOOL_EXPORT void tool_name(const char *name, int several);
TOOL_EXPORT int tool_begin(void);   /* record; 0, or the first bad status */
TOOL_EXPORT int tool_deliver(void); /* let CUPTI bring records; a status */
TOOL_EXPORT int tool_end(void);     /* record no more; the same as begin */
TOOL_EXPORT int tool_records(int kind);
TOOL_EXPORT int tool_incomplete(void); /* kernels without times */
TOOL_EXPORT int tool_callbacks(void);  /* of launches that it heard of */
TOOL_EXPORT int tool_foreign(void);    /* buffers of others, which it freed */
TOOL_EXPORT int tool_hurt(void);       /* buffers with broken canaries */
TOOL_EXPORT const char *tool_holder(void); /* as CUPTI says; "": nobody */

/* --- tool_buffers.c, for the tools --------------------------------------- */

extern _Atomic int tool_heard;        /* result of tool_callbacks() */
uint8_t *tool_take(size_t *size);     /* a buffer; NULL: there is none */
bool tool_take_back(uint8_t *buffer); /* false: it is another tool's */
void tool_count(const uint8_t *record);
void tool_count_foreign(void);
void *tool_cupti(void); /* the library, as dlopen() gives it */

#endif
