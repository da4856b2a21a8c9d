/* NVTX: ranges that a tool such as Nsight Systems shows over the device's
 * work.
 *
 * Its functions are in its headers; the tool, if one is attached, was loaded
 * by them.  All of ours is in the domain "lineprof", which other users of
 * NVTX do not see.  Where lineprof was built without the headers, no tool is
 * found.
 */
#ifndef LP_GPU_NVTX_H
#define LP_GPU_NVTX_H

#include <stdbool.h>
#include <stdint.h>

/* Is a tool attached?  The first call loads it. */
bool lp_gpu_nvtx_open(void);

/* Why none does, as a sentence. */
const char *lp_gpu_nvtx_why_not(void);

/* The tool's handle of a text (UTF-8), for good; NULL when it has none.
 * These and the rest only if one is attached. */
const void *lp_gpu_nvtx_register_string(const char *text);

/* Call a category by a name. */
void lp_gpu_nvtx_name_category(uint32_t category, const char *name);

/* Push a range on this thread; `text` may be NULL. */
void lp_gpu_nvtx_push(const void *text, uint64_t payload, uint32_t category);

/* Pop this thread's innermost range. */
void lp_gpu_nvtx_pop(void);

#endif
