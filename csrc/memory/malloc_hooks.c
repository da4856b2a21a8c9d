#include "memory/malloc_hooks.h"

#include "memory/symbol_patches.h"

#if LP_HAVE_ELF_OBJECTS

#  include <dlfcn.h>
#  include <pthread.h>
#  include <stdarg.h>
#  include <stdint.h>
#  include <stdio.h>
#  include <stdlib.h>
#  include <string.h>
#  include <sys/mman.h>

#  include "elf/elf_object.h"
#  include "memory/heap.h"
#  include "memory/mappings.h"

/* --- what is below ------------------------------------------------------- */

typedef void *allocate(size_t bytes);
typedef void *allocate_two(size_t first, size_t second);
typedef void *allocate_three(size_t bytes, uintptr_t second, uintptr_t third);
typedef int allocate_aligned(void **block, size_t alignment, size_t bytes);
typedef void *reallocate(void *block, size_t bytes);
typedef void *reallocate_array(void *block, size_t n, size_t size);
typedef void release(void *block);
typedef void release_three(void *block, uintptr_t second, uintptr_t third);
typedef void *map(void *start, size_t bytes, int protection, int flags,
                  int file, off_t offset);
typedef int unmap(void *start, size_t bytes);
typedef void *remap(void *start, size_t old_bytes, size_t bytes, int flags,
                    ...);
typedef void *open_library(const char *name, int mode);
typedef void *find_symbol(void *library, const char *name);
typedef char *find_variable(const char *name);

#  define EACH_FUNCTION(DO)                                                   \
      DO(malloc) /* first: see lp_symbol_patch.beside_first */                \
      DO(calloc)                                                              \
      DO(realloc)                                                             \
      DO(reallocarray)                                                        \
      DO(free)                                                                \
      DO(cfree)                                                               \
      DO(posix_memalign)                                                      \
      DO(aligned_alloc)                                                       \
      DO(memalign)                                                            \
      DO(valloc)                                                              \
      DO(pvalloc)                                                             \
      DO(mmap)                                                                \
      DO(mmap64)                                                              \
      DO(munmap)                                                              \
      DO(mremap)                                                              \
      DO(dlopen)                                                              \
      DO(dlsym)                                                               \
      DO(getenv)
/* C++ names of operators, by their further arguments: size (m), alignment
 * (St11align_val_t), nothrow. */
#  define EACH_NEW(DO)                                                        \
      DO(_Znwm)                                                               \
      DO(_Znam)                                                               \
      DO(_ZnwmRKSt9nothrow_t)                                                 \
      DO(_ZnamRKSt9nothrow_t)                                                 \
      DO(_ZnwmSt11align_val_t)                                                \
      DO(_ZnamSt11align_val_t)                                                \
      DO(_ZnwmSt11align_val_tRKSt9nothrow_t)                                  \
      DO(_ZnamSt11align_val_tRKSt9nothrow_t)
#  define EACH_DELETE(DO)                                                     \
      DO(_ZdlPv)                                                              \
      DO(_ZdaPv)                                                              \
      DO(_ZdlPvm)                                                             \
      DO(_ZdaPvm)                                                             \
      DO(_ZdlPvRKSt9nothrow_t)                                                \
      DO(_ZdaPvRKSt9nothrow_t)                                                \
      DO(_ZdlPvSt11align_val_t)                                               \
      DO(_ZdaPvSt11align_val_t)                                               \
      DO(_ZdlPvmSt11align_val_t)                                              \
      DO(_ZdaPvmSt11align_val_t)                                              \
      DO(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                 \
      DO(_ZdaPvSt11align_val_tRKSt9nothrow_t)

#  define NUMBER(name) LP_##name,
#  define CXX_NUMBER(name) LP##name,
enum {
    EACH_FUNCTION(NUMBER) EACH_NEW(CXX_NUMBER) EACH_DELETE(CXX_NUMBER)
        N_FUNCTIONS
};
#  undef NUMBER
#  undef CXX_NUMBER

static void *functions[N_FUNCTIONS];

static inline void *
below(size_t which)
{
    return __atomic_load_n(&functions[which], __ATOMIC_RELAXED);
}

/* The hooks count; they may have to stay when they are off. */
static bool is_on; /* (atomic) */

static inline bool
begin(void)
{
    return __atomic_load_n(&is_on, __ATOMIC_RELAXED) && lp_heap_enter();
}

/* --- malloc and its family ----------------------------------------------- */

/* Count what an allocator gave; `counts` is what begin() said. */
static inline void *
counted(bool counts, void *block, size_t bytes)
{
    if (counts) {
        lp_heap_leave();
        lp_heap_added(block, bytes);
    }
    return block;
}

static void *
hook_malloc(size_t bytes)
{
    bool counts = begin();

    return counted(counts, ((allocate *)below(LP_malloc))(bytes), bytes);
}

static void *
hook_valloc(size_t bytes)
{
    bool counts = begin();

    return counted(counts, ((allocate *)below(LP_valloc))(bytes), bytes);
}

static void *
hook_pvalloc(size_t bytes)
{
    bool counts = begin();

    return counted(counts, ((allocate *)below(LP_pvalloc))(bytes), bytes);
}

static void *
hook_calloc(size_t n, size_t size)
{
    bool counts = begin();

    return counted(counts, ((allocate_two *)below(LP_calloc))(n, size),
                   n * size);
}

static void *
hook_aligned_alloc(size_t alignment, size_t bytes)
{
    bool counts = begin();

    return counted(counts,
                   ((allocate_two *)below(LP_aligned_alloc))(alignment, bytes),
                   bytes);
}

static void *
hook_memalign(size_t alignment, size_t bytes)
{
    bool counts = begin();

    return counted(
        counts, ((allocate_two *)below(LP_memalign))(alignment, bytes), bytes);
}

static int
hook_posix_memalign(void **block, size_t alignment, size_t bytes)
{
    bool counts = begin();
    int error = ((allocate_aligned *)below(LP_posix_memalign))(
        block, alignment, bytes);

    counted(counts, error == 0 ? *block : NULL, bytes);
    return error;
}

/* Count the block `moved` in place of `block`, which was `taken`. */
static void *
reallocated(void *block, lp_heap_block taken, void *moved, size_t bytes)
{
    lp_heap_leave();
    if (moved != NULL) {
        lp_heap_moved(taken);
        lp_heap_added(moved, bytes);
    }
    else if (block != NULL && bytes == 0) {
        lp_heap_freed(taken);
    }
    else {
        lp_heap_put_back(block, taken);
    }
    return moved;
}

static void *
hook_realloc(void *block, size_t bytes)
{
    reallocate *function = below(LP_realloc);
    lp_heap_block taken;

    if (!begin()) {
        return function(block, bytes);
    }
    taken = lp_heap_take(block);
    return reallocated(block, taken, function(block, bytes), bytes);
}

static void *
hook_reallocarray(void *block, size_t n, size_t size)
{
    reallocate_array *function = below(LP_reallocarray);
    lp_heap_block taken;
    size_t bytes;

    if (!begin()) {
        return function(block, n, size);
    }
    taken = lp_heap_take(block);
    if (__builtin_mul_overflow(n, size, &bytes)) {
        bytes = SIZE_MAX; /* it will fail */
    }
    return reallocated(block, taken, function(block, n, size), bytes);
}

/* Inside of another hook nothing is done: its blocks have no entries. */
static inline void
count_freed(void *block)
{
    if (begin()) {
        lp_heap_leave();
        lp_heap_freed(lp_heap_take(block));
    }
}

static void
hook_free(void *block)
{
    count_freed(block);
    ((release *)below(LP_free))(block);
}

static void
hook_cfree(void *block)
{
    count_freed(block);
    ((release *)below(LP_cfree))(block);
}

/* --- new and delete ------------------------------------------------------ */

/* An exception passes through a hook: it must not have entered the heap then.
 * What a function does not take it ignores. */
#  define HOOK(name)                                                          \
      static void *hook##name(size_t bytes, uintptr_t second,                 \
                              uintptr_t third)                                \
      {                                                                       \
          bool counts = begin();                                              \
          void *block;                                                        \
                                                                              \
          if (counts) {                                                       \
              lp_heap_leave();                                                \
          }                                                                   \
          block = ((allocate_three *)below(LP##name))(bytes, second, third);  \
          if (counts) {                                                       \
              lp_heap_added(block, bytes);                                    \
          }                                                                   \
          return block;                                                       \
      }
EACH_NEW(HOOK)
#  undef HOOK

#  define HOOK(name)                                                          \
      static void hook##name(void *block, uintptr_t second, uintptr_t third)  \
      {                                                                       \
          count_freed(block);                                                 \
          ((release_three *)below(LP##name))(block, second, third);           \
      }
EACH_DELETE(HOOK)
#  undef HOOK

/* --- mappings ------------------------------------------------------------ */

/* Reserved addresses that cannot be used yet are not memory. */
static bool
is_memory(int protection, int flags)
{
    return (flags & MAP_ANONYMOUS) != 0 && protection != PROT_NONE;
}

static void
mapped(void *start, size_t bytes)
{
    lp_heap_added(start, bytes);
    lp_mappings_add(start, bytes);
}

static inline void *
map_with(map *function, void *start, size_t bytes, int protection, int flags,
         int file, off_t offset)
{
    bool counts = begin();
    lp_cut cut;
    void *given;

    cut.n = 0;
    if ((flags & MAP_FIXED) != 0) {
        lp_mappings_cut(start, bytes, &cut);
    }
    given = function(start, bytes, protection, flags, file, offset);
    if (counts) {
        lp_heap_leave();
    }
    if (given == MAP_FAILED) {
        lp_cut_put_back(&cut);
    }
    else {
        lp_cut_freed(&cut);
        if (counts && is_memory(protection, flags)) {
            mapped(given, bytes);
        }
    }
    return given;
}

static void *
hook_mmap(void *start, size_t bytes, int protection, int flags, int file,
          off_t offset)
{
    return map_with(below(LP_mmap), start, bytes, protection, flags, file,
                    offset);
}

static void *
hook_mmap64(void *start, size_t bytes, int protection, int flags, int file,
            off_t offset)
{
    return map_with(below(LP_mmap64), start, bytes, protection, flags, file,
                    offset);
}

static int
hook_munmap(void *start, size_t bytes)
{
    lp_cut cut;
    int result;

    cut.n = 0;
    lp_mappings_cut(start, bytes, &cut);
    result = ((unmap *)below(LP_munmap))(start, bytes);
    if (result == 0) {
        lp_cut_freed(&cut);
    }
    else {
        lp_cut_put_back(&cut);
    }
    return result;
}

static void *
hook_mremap(void *start, size_t old_bytes, size_t bytes, int flags, ...)
{
    bool counts = begin();
    void *wanted = NULL, *given;
    bool was_memory;
    lp_cut cut, covered;

    if ((flags & MREMAP_FIXED) != 0) {
        va_list rest;

        va_start(rest, flags);
        wanted = va_arg(rest, void *);
        va_end(rest);
    }
    cut.n = covered.n = 0;
    lp_mappings_cut(start, old_bytes, &cut);
    was_memory = cut.n > 0;
    if (wanted != NULL) {
        lp_mappings_cut(wanted, bytes, &covered);
    }
    given =
        ((remap *)below(LP_mremap))(start, old_bytes, bytes, flags, wanted);
    if (counts) {
        lp_heap_leave();
    }
    if (given == MAP_FAILED) {
        lp_cut_put_back(&cut);
        lp_cut_put_back(&covered);
    }
    else {
        lp_cut_moved(&cut);
        lp_cut_freed(&covered);
        if (counts && was_memory) {
            mapped(given, bytes);
        }
    }
    return given;
}

/* --- libraries that are loaded later ------------------------------------- */

/* glibc asks who calls dlopen() and dlsym(): the libraries' places that the
 * caller names are searched, and RTLD_NEXT is what comes after it.  Where that
 * matters the hook jumps to the function below, which then returns to the
 * caller, and new libraries are patched at the next call. */
#  if defined(__GNUC__) && !defined(__clang__)
#    define JUMPS                                                             \
        __attribute__((noinline, optimize("O2", "optimize-sibling-calls")))
#  else
#    define JUMPS __attribute__((noinline))
#  endif

static bool
depends_on_caller(const char *name, const void *caller)
{
    if (name == NULL) {
        return false;
    }
    return strchr(name, '$') != NULL ||
           lp_caller_has_search_path(caller, strchr(name, '/') != NULL);
}

static __attribute__((noinline)) void *
open_and_follow(const char *name, int mode)
{
    open_library *function = below(LP_dlopen);
    void *library, *known = NULL;

    if (lp_patches_list_may_be_locked()) {
        known = function(name, RTLD_LAZY | RTLD_NOLOAD);
    }
    library = function(name, mode);
    if (known != NULL) {
        dlclose(known);
    }
    else if (library != NULL) {
        lp_patches_list_is_free();
        lp_patches_follow();
    }
    return library;
}

JUMPS static void *
hook_dlopen(const char *name, int mode)
{
    if (!depends_on_caller(name, __builtin_return_address(0))) {
        return open_and_follow(name, mode);
    }
    return ((open_library *)below(LP_dlopen))(name, mode);
}

JUMPS static void *
hook_dlsym(void *library, const char *name)
{
    lp_patches_follow();
    return ((find_symbol *)below(LP_dlsym))(library, name);
}
#  undef JUMPS

/* --- what Arrow is told -------------------------------------------------- */

/* Arrow's own allocators would hide its blocks.  The variable that chooses one
 * of them is not set, as the program's children would have it, too, and other
 * threads may be reading the environment. */
static char *
hook_getenv(const char *name)
{
    static char pool[] = "system"; /* that is malloc */
    char *value = ((find_variable *)below(LP_getenv))(name);

    if (value == NULL && __atomic_load_n(&is_on, __ATOMIC_RELAXED) &&
        strcmp(name, "ARROW_DEFAULT_MEMORY_POOL") == 0) {
        return pool;
    }
    return value;
}

/* --- on and off ---------------------------------------------------------- */

#  define PATCH(name)                                                         \
      {#name, (void *)hook_##name, &functions[LP_##name], false},
#  define CXX_PATCH(name)                                                     \
      {#name, (void *)hook##name, &functions[LP##name], true},
static const lp_symbol_patch patches[] = {
    EACH_FUNCTION(PATCH) EACH_NEW(CXX_PATCH) EACH_DELETE(CXX_PATCH)};
#  undef PATCH
#  undef CXX_PATCH
#  undef EACH_FUNCTION
#  undef EACH_NEW
#  undef EACH_DELETE

static void
in_child(void)
{
    lp_patches_after_fork_in_child();
    lp_mappings_clear();
}

static void
watch_forks(void)
{
    pthread_atfork(lp_patches_before_fork, lp_patches_after_fork, in_child);
}

bool
lp_malloc_hooks_on(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_forks);
    lp_malloc_hooks_off();
    lp_mappings_clear();
    if (!lp_patches_apply(patches, N_FUNCTIONS)) {
        return false;
    }
    __atomic_store_n(&is_on, true, __ATOMIC_RELAXED);
    return true;
}

void
lp_malloc_hooks_off(void)
{
    __atomic_store_n(&is_on, false, __ATOMIC_RELAXED);
    lp_patches_restore();
}

const char *
lp_malloc_hooks_note(size_t i)
{
    static char notes[2][256];
    lp_patch_counts counts = lp_patches_count();
    size_t n = 0;

    if (counts.lost > 0) {
        snprintf(notes[n++], sizeof(notes[0]),
                 "another tool replaced %zu of %zu hooks of malloc and its "
                 "family: what modules allocated by them since then is not "
                 "counted",
                 counts.lost, counts.lost + counts.patched);
    }
    if (counts.refused > 0) {
        snprintf(notes[n++], sizeof(notes[0]),
                 "%zu %s memory that is not counted, as %s functions could "
                 "not be replaced: %s",
                 counts.refused,
                 counts.refused == 1 ? "library allocates"
                                     : "libraries allocate",
                 counts.refused == 1 ? "its" : "their",
                 counts.first_refused[0] != '\0' ? counts.first_refused
                                                 : "the program itself");
    }
    return i < n ? notes[i] : NULL;
}

#else

bool
lp_malloc_hooks_on(void)
{
    return false;
}

void
lp_malloc_hooks_off(void)
{
}

const char *
lp_malloc_hooks_note(size_t i)
{
    (void)i;
    return NULL;
}

#endif
