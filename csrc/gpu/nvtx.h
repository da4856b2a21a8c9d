/* NVTX: ranges that a tool such as Nsight Systems shows over the device's
 * work.
 *
 * NVTX is a set of headers, which load the tool, if one is attached.  All of
 * lineprof's ranges are in the domain "lineprof", separate from other users of
 * NVTX.  A lineprof built without the headers finds no tool.
 */
#ifndef LP_GPU_NVTX_H
#define LP_GPU_NVTX_H

#include <stdbool.h>
#include <stdint.h>

/* True if a tool is attached.  The first call loads it. */
bool lp_gpu_nvtx_open(void);

/* Return the reason if no tool is attached, as a sentence. */
const char *lp_gpu_nvtx_why_not(void);

/* Return the tool's handle of a string (UTF-8), which is never freed; NULL if
 * it has none.  May be called, like the functions below, only if a tool is
 * attached. */
const void *lp_gpu_nvtx_register_string(const char *text);

/* Name a category. */
void lp_gpu_nvtx_name_category(uint32_t category, const char *name);

/* Push a range on this thread; `text` may be NULL, and `color` (ARGB) 0. */
void lp_gpu_nvtx_push(const void *text, uint64_t payload, uint32_t category,
                      uint32_t color);

/* Pop this thread's innermost range. */
void lp_gpu_nvtx_pop(void);

#endif
