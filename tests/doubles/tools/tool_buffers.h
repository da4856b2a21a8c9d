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

/* A callback of CUPTI. */
typedef void tool_called(void *userdata, uint32_t domain, uint32_t cbid,
                         const void *data);

/* Ids of CUPTI: the kinds of records that a tool asks for, and a launch. */
enum { TOOL_KINDS = 3, TOOL_DRIVER_CALLS = 1, TOOL_LAUNCH = 307 };

/* The name in CUPTI, and whether others may subscribe; for newer tools. */
TOOL_EXPORT void tool_name(const char *name, int several);
TOOL_EXPORT int tool_begin(void);   /* record; 0, or the first bad status */
TOOL_EXPORT int tool_deliver(void); /* let CUPTI bring records; a status */
TOOL_EXPORT int tool_end(void);     /* record no more; the same as begin */
TOOL_EXPORT int tool_records(int kind);
TOOL_EXPORT int tool_incomplete(void); /* kernels without times */
TOOL_EXPORT int tool_callbacks(void);  /* of launches that it heard of */
TOOL_EXPORT int tool_foreign(void);    /* buffers of others that came to it */
TOOL_EXPORT int tool_hurt(void);       /* buffers with broken canaries */
TOOL_EXPORT const char *tool_holder(void); /* as CUPTI says; "": nobody */

/* --- tool_buffers.c, for the tools --------------------------------------- */

extern const uint32_t tool_kinds[TOOL_KINDS]; /* kernels, copies, memsets */
tool_called tool_on_called;           /* count it for tool_callbacks() */
uint8_t *tool_take(size_t *size);     /* a buffer; NULL: there is none */
bool tool_take_back(uint8_t *buffer); /* false: it is another tool's */
void tool_count(const uint8_t *record);
void tool_count_foreign(void);
void *tool_function(const char *name); /* of CUPTI */

#endif
