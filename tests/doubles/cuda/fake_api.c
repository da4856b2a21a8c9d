/* API calls as a tool sees them: ENTER, EXIT and correlation ids. */
#include "cuda/fake_cuda.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, GARBAGE = 0xA5 };

typedef struct text {
    struct text *next;
    char name[];
} text;

/* Correlation ids of a runtime call that makes a driver call. */
enum { SHARED, DRIVERS, RUNTIMES };

static _Thread_local fk_api_call *innermost;
static _Thread_local fk_parameter next[2];
static _Thread_local uint32_t next_id; /* 0: as FAKE_CUPTI_IDS says */
static _Atomic uint32_t last_correlation;
static _Atomic uint64_t cost; /* ns of every call, spent by the waiter */
static int ids;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static _Atomic(text *) texts[BUCKETS];

/* --- the next call of the driver ------------------------------------- */

static _Thread_local fk_parameter next_first;
static _Thread_local struct {
    uint64_t ns;
    int modules;
} own;

void
fk_pass_first(uint64_t value)
{
    next_first = (fk_parameter){1, value};
}

void
fk_own_time(uint64_t ns, int modules)
{
    own.ns = ns;
    own.modules = modules;
}

static void
spend_own_time(void)
{
    if (own.ns) {
        fk_pass(own.ns);
    }
    for (; own.modules > 0; own.modules--) {
        fk_resource(6 /* CUPTI_CBID_RESOURCE_MODULE_LOADED */, fk_current(),
                    NULL);
    }
    own.ns = 0;
}

/* --- calls ----------------------------------------------------------- */

static void
read_knobs(void)
{
    const char *whose = getenv("FAKE_CUPTI_IDS");
    whose = whose ? whose : "shared";
    ids = !strcmp(whose, "driver")    ? DRIVERS
          : !strcmp(whose, "runtime") ? RUNTIMES
                                      : SHARED;
    last_correlation = (uint32_t)fk_env("FAKE_CUPTI_FIRST_ID", 1) - 1;
}

void
fk_begin(fk_api_call *call, uint32_t domain, uint32_t cbid, const char *symbol)
{
    pthread_once(&once, read_knobs);
    fk_api_call *outer = innermost;
    *call = (fk_api_call){.outer = outer,
                          .domain = domain,
                          .cbid = cbid,
                          .symbol = symbol,
                          .context = fk_current()};
    memset(call->parameters, GARBAGE, sizeof call->parameters);
    if (domain == FK_DRIVER) {
        for (size_t i = 0; i < 2; i++) {
            if (next[i].place) {
                call->parameters[next[i].place] = next[i].value;
            }
            next[i].place = 0;
        }
        if (next_first.place) {
            call->parameters[0] = next_first.value;
            next_first.place = 0;
        }
    }
    if (outer) {
        outer->nested = true;
    }
    if (next_id) {
        call->correlation = next_id; /* later calls have later ids */
        last_correlation =
            next_id > last_correlation ? next_id : last_correlation;
        next_id = 0;
    }
    else if (outer && ids == SHARED) {
        call->correlation = outer->correlation;
    }
    else {
        while (!(call->correlation = ++last_correlation)) { /* 0 means no id */
        }
    }
    innermost = call;
    const fk_tool *tool = fk_tool_now();
    if (tool) {
        tool->enter(call);
    }
}

void
fk_pass_parameters(fk_parameter one, fk_parameter other)
{
    next[0] = one;
    next[1] = other;
}

void
fk_identify(uint32_t id)
{
    next_id = id;
}

int
fk_end(fk_api_call *call, int result)
{
    if (call->domain == FK_DRIVER) {
        spend_own_time();
    }
    if (cost && !call->nested) {
        fk_pass(cost);
    }
    call->result = result;
    call->context = fk_current();
    const fk_tool *tool = fk_tool_now();
    if (tool) {
        tool->leave(call);
    }
    innermost = call->outer;
    return result;
}

/* --- through both layers --------------------------------------------- */

_Atomic bool fk_layered = true;

static _Thread_local uint32_t next_driver; /* 0: the usual function */

void
fk_as(int driver)
{
    next_driver = (uint32_t)driver;
}

int
fk_enter(fk_layers *call, uint32_t runtime, uint32_t driver,
         const char *symbol)
{
    if (next_driver) {
        driver = next_driver;
        runtime = next_driver = 0;
    }
    call->layered = runtime && fk_layered;
    if (call->layered) {
        fk_begin(&call->runtime, FK_RUNTIME, runtime, symbol);
    }
    int result = fk_ready("");
    if (!result) { /* the runtime makes the context before the driver's call */
        result = fk_current_or_primary(&call->context);
    }
    fk_begin(&call->driver, FK_DRIVER, driver, symbol);
    return result;
}

int
fk_leave(fk_layers *call, int result)
{
    fk_end(&call->driver, result);
    return call->layered ? fk_end(&call->runtime, result) : result;
}

/* --- settings and names ----------------------------------------------- */

/* Set the time of every call, spent by the waiter if there is one. */
void
fk_api_cost(uint64_t ns)
{
    cost = ns;
}

void
fk_correlate(fk_work *work)
{
    fk_api_call *call = innermost;
    if (!call || work->by_device) {
        work->correlation = 0;
        return;
    }
    fk_api_call *outermost = call->outer ? call->outer : call;
    work->correlation = (ids == RUNTIMES ? outermost : call)->correlation;
    work->runtime_correlation = outermost->correlation;
}

void
fk_tell(const fk_work *work)
{
    const fk_tool *tool = fk_tool_now();
    if (tool) {
        tool->work(work);
    }
}

void
fk_resource(uint32_t cbid, fk_context *context, const fk_graph_data *data)
{
    const fk_tool *tool = fk_tool_now();
    if (tool) {
        tool->resource(cbid, context, data);
    }
}

/* Keep a name for ever, because records with the name may be read at any time.
 *
 * The table needs no lock: an entry is added at the head and never removed.
 */
const char *
fk_intern(const char *name)
{
    uint32_t hash = 2166136261u;
    size_t length = 0;
    for (; name[length]; length++) {
        hash = (hash ^ (uint8_t)name[length]) * 16777619u;
    }
    _Atomic(text *) *bucket = &texts[hash % BUCKETS];
    text *head = *bucket;
    for (text *one = head; one; one = one->next) {
        if (!strcmp(one->name, name)) {
            return one->name;
        }
    }
    text *made = malloc(sizeof *made + length + 1);
    if (!made) {
        abort();
    }
    memcpy(made->name, name, length + 1);
    do {
        made->next = head;
    } while (!atomic_compare_exchange_weak(bucket, &head, made));
    return made->name;
}
