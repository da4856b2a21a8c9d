/* A subscriber of CUPTI that notes which calls of the driver load modules or
 * create contexts; of one thread. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DRIVER = 1, RESOURCE = 3, CREATED = 1, LOADED = 6, ENTER = 0 };

static char written[2048];
static size_t used;
static int loaded, created, depth;
static int (*name_of)(uint32_t, uint32_t, const char **);

static void
note(const char *name, uint32_t id)
{
    used += (size_t)snprintf(written + used, sizeof written - used,
                             "%s%s (%u) loads %d, creates %d",
                             used != 0 ? "; " : "", name, id, loaded, created);
    used = used < sizeof written ? used : sizeof written - 1;
    loaded = created = 0;
}

static void
on_call(void *unused, uint32_t domain, uint32_t id, const void *data)
{
    const char *name = "a call";

    (void)unused;
    if (domain == RESOURCE) {
        loaded += id == LOADED;
        created += id == CREATED;
        if (depth == 0 && (id == LOADED || id == CREATED)) {
            note("no call", 0);
        }
    }
    else if (*(const uint32_t *)data == ENTER) {
        depth++;
    }
    else {
        depth--;
        if (loaded != 0 || created != 0) {
            if (name_of != NULL) {
                name_of(domain, id, &name);
            }
            note(name, id);
        }
    }
}

/* Subscribe with this libcupti; return the first bad status, or 0. */
int
loads_open(const char *path)
{
    void *library = dlopen(path, RTLD_NOW), *subscriber = NULL;
    int (*subscribe)(void **, void *, void *);
    int (*enable)(uint32_t, void *, uint32_t);
    int status;

    if (library == NULL) {
        return -1;
    }
    *(void **)&subscribe = dlsym(library, "cuptiSubscribe");
    *(void **)&enable = dlsym(library, "cuptiEnableDomain");
    *(void **)&name_of = dlsym(library, "cuptiGetCallbackName");
    status = subscribe(&subscriber, (void *)on_call, NULL);
    if (status == 0) {
        status = enable(1, subscriber, DRIVER);
    }
    return status != 0 ? status : enable(1, subscriber, RESOURCE);
}

/* What was noted since the last time. */
const char *
loads_log(void)
{
    static char said[sizeof written];

    memcpy(said, written, sizeof said);
    written[0] = '\0';
    used = 0;
    return said;
}
