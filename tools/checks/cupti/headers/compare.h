/* Declarations of CUPTI, ours and NVIDIA's, and macros of assertions that
 * compare them, for the file that tools/checks/cupti/check.py writes. */
#include <stdbool.h>
#include <stddef.h>

#include <cupti_result.h>

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_profiler_target.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>

#include "gpu/cupti_backend.h"

#define AT(ours, field, theirs, name)                                         \
    _Static_assert(offsetof(ours, field) == offsetof(theirs, name) &&         \
                       sizeof(((ours *)0)->field) ==                          \
                           sizeof(((theirs *)0)->name),                       \
                   #ours "." #field " is not " #theirs "." #name)
#define IS(ours, theirs)                                                      \
    _Static_assert((long)(ours) == (long)(theirs), #ours " is not " #theirs)
#define AT_MOST(ours, theirs)                                                 \
    _Static_assert((theirs) <= (ours), #theirs " is above " #ours)
#define PASSED(ours, theirs, what)                                            \
    _Static_assert(sizeof(ours) == sizeof(theirs) &&                          \
                       __builtin_classify_type(*(ours *)0) ==                 \
                           __builtin_classify_type(*(theirs *)0),             \
                   what ": " #ours " is not " #theirs)
#define POINTED(ours, theirs, what)                                           \
    _Static_assert(sizeof(**(ours *)0) == sizeof(**(theirs *)0),              \
                   what ": " #ours " is not " #theirs)
