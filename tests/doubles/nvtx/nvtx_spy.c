/* Tool that writes the NVTX calls of a process to a file.
 *
 * NVTX_INJECTION64_PATH names this library; each user of NVTX in the process
 * loads it and passes its table of functions.  NVTX_SPY_OUT names a file that
 * gets a line of JSON for every event, by one call of write(), so that the
 * events are in the file even if the process is killed.  Without NVTX_SPY_OUT
 * no file is written.  NVTX_SPY_LACKS lists functions that the tool lacks, as
 * real tools may.
 *
 * The declarations are those of NVTX 3, which never change.
 */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE /* syscall() */
#endif

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* -- declarations of NVTX ----------------------------------------------------
 */

typedef void (*function)(void);

typedef struct callbacks {
    size_t size;
    int (*table_of)(int module, function ***table, unsigned *length);
} callbacks;

typedef const void *(*export_table)(uint32_t id);

enum { ID_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };

typedef struct attributes {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type; /* 1: 64 bits without sign */
    int32_t reserved;
    uint64_t payload;
    int32_t message_type; /* 1: text, 3: registered */
    const void *message;
} attributes;

/* -- the file of events
 * -------------------------------------------------------
 */

enum { LONGEST = 2048, TEXT = 1000 };

typedef struct domain {
    char name[64];
} domain;

static int out = -1;
static domain own = {"program"}; /* of calls without a domain */
static _Thread_local int depth;  /* of all domains */

/* Write a text within quotes, cut at the end. */
static void
quote(char *to, const char *text)
{
    char *end = to + TEXT - 8;

    for (; text != NULL && *text != 0 && to < end; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\') {
            *to++ = '\\';
            *to++ = *text;
        }
        else if (c < 32) {
            to += sprintf(to, "\\u%04x", c);
        }
        else {
            *to++ = *text;
        }
    }
    *to = 0;
}

static void
note(const char *what, const domain *where, const char *text,
     const attributes *range)
{
    char quoted[TEXT], line[LONGEST];
    int length;

    if (out < 0) {
        return;
    }
    quote(quoted, text);
    length =
        snprintf(line, sizeof(line),
                 "{\"pid\": %d, \"thread\": %ld, \"domain\": \"%s\", "
                 "\"what\": \"%s\", \"text\": \"%s\", "
                 "\"payload\": %llu, \"category\": %u, "
                 "\"color\": %u}\n",
                 (int)getpid(), (long)syscall(SYS_gettid),
                 where != NULL ? where->name : own.name, what, quoted,
                 range != NULL && range->payload_type == 1
                     ? (unsigned long long)range->payload
                     : 0,
                 range != NULL ? range->category : 0,
                 range != NULL && range->color_type == 1 ? range->color : 0);
    if (write(out, line, (size_t)length) != length) {
        abort(); /* a test would continue with half of the events */
    }
}

static void *
domain_create(const char *name)
{
    domain *made = calloc(1, sizeof(*made));

    snprintf(made->name, sizeof(made->name), "%s", name);
    note("domain", made, "", NULL);
    return made;
}

static void *
string_register(void *where, const char *text)
{
    note("string", where, text, NULL);
    return strdup(text);
}

static void
category_name(void *where, uint32_t category, const char *name)
{
    attributes range = {.category = category};

    note("category", where, name, &range);
}

static int
range_push(void *where, const attributes *range)
{
    bool is_text = range->message_type == 1 || range->message_type == 3;

    note("push", where, is_text ? range->message : "", range);
    return depth++;
}

static int
range_pop(void *where)
{
    note("pop", where, "", NULL);
    return --depth;
}

static int
own_push(const char *text)
{
    note("push", NULL, text, NULL);
    return depth++;
}

static int
own_push_ex(const attributes *range)
{
    return range_push(NULL, range);
}

static int
own_pop(void)
{
    return range_pop(NULL);
}

/* -- injection ---------------------------------------------------------------
 */

#define OF(handler) ((function)(void (*)(void))(handler))

static const struct {
    const char *name;
    int module;
    unsigned place;
    function handler;
} handlers[] = {
    {"RangePushEx", MODULE_CORE, 8, OF(own_push_ex)},
    {"RangePushA", MODULE_CORE, 9, OF(own_push)},
    {"RangePop", MODULE_CORE, 11, OF(own_pop)},
    {"DomainRangePushEx", MODULE_CORE2, 4, OF(range_push)},
    {"DomainRangePop", MODULE_CORE2, 5, OF(range_pop)},
    {"DomainNameCategoryA", MODULE_CORE2, 8, OF(category_name)},
    {"DomainRegisterStringA", MODULE_CORE2, 10, OF(string_register)},
    {"DomainCreateA", MODULE_CORE2, 12, OF(domain_create)},
};

static bool
lacks(const char *name)
{
    const char *list = getenv("NVTX_SPY_LACKS");
    char word[64];

    snprintf(word, sizeof(word), "%s,", name);
    return list != NULL && strstr(list, word) != NULL;
}

EXPORT int InitializeInjectionNvtx2(export_table exports);

EXPORT int
InitializeInjectionNvtx2(export_table exports)
{
    const callbacks *given = exports(ID_CALLBACKS);
    const char *file = getenv("NVTX_SPY_OUT");

    if (out < 0 && file != NULL) {
        out = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        function **table;
        unsigned length;

        if (!lacks(handlers[i].name) &&
            given->table_of(handlers[i].module, &table, &length) &&
            handlers[i].place < length) {
            *table[handlers[i].place] = handlers[i].handler;
        }
    }
    return 1;
}

/* Ranges of the program, for a program without the headers of NVTX. */
EXPORT int nvtx_spy_push(const char *text);
EXPORT int nvtx_spy_pop(void);

EXPORT int
nvtx_spy_push(const char *text)
{
    return own_push(text);
}

EXPORT int
nvtx_spy_pop(void)
{
    return own_pop();
}
