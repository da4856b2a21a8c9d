/* The functions of the double memory/allocating.c, in a library of a path. */
#ifndef ALLOCATING_H
#define ALLOCATING_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct allocating {
    void *library;
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    void *(*posix_memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*by_variable)(size_t);
    void *(*by_constant)(size_t);
    void *(*by_address)(size_t);
    void *(*(*set_variable)(void *(*)(size_t)))(size_t);
    void (*free)(void *);
    void *(*map)(void *, size_t, int, int);
    void *(*map_file)(size_t, int);
    int (*unmap)(void *, size_t);
    void *(*remap)(void *, size_t, size_t);
    void *(*remap_to)(void *, size_t, size_t, void *);
    void *(*open)(const char *);
    void *(*find)(void *, const char *);
    const char *(*variable_of_environment)(const char *);
    void (*churn)(size_t, size_t);
    void (*churn_maps)(size_t, size_t);
} allocating;

static inline void
find_function(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        abort();
    }
    memcpy(function, &found, sizeof(found));
}

static inline allocating
open_allocating(const char *path)
{
    allocating self = {.library = dlopen(path, RTLD_LAZY | RTLD_LOCAL)};

#define FIND(name) find_function(self.library, "al_" #name, &self.name);
    FIND(malloc)
    FIND(calloc)
    FIND(realloc)
    FIND(reallocarray)
    FIND(posix_memalign)
    FIND(aligned_alloc)
    FIND(memalign)
    FIND(valloc)
    FIND(by_variable)
    FIND(by_constant)
    FIND(by_address)
    FIND(set_variable)
    FIND(free)
    FIND(map)
    FIND(map_file)
    FIND(unmap)
    FIND(remap)
    FIND(remap_to)
    FIND(open)
    FIND(find)
    FIND(variable_of_environment)
    FIND(churn)
    FIND(churn_maps)
#undef FIND
    return self;
}

#endif
