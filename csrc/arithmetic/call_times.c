#include "arithmetic/call_times.h"

#include <stdlib.h>
#include <string.h>

#include "record/call_tree.h"
#include "record/hash_index.h"

enum {
    NONE = -1,
    STATED = -2, /* the line that the callee states */
    CALLERS = -3 /* the parent, as a key, of all LP_NODE_CALLER */
};

static lp_wide
max_of(lp_wide one, lp_wide other)
{
    return one > other ? one : other;
}

lp_wide
lp_ticks_ns(const lp_tick_scale *scale, lp_wide ticks)
{
    return (ticks * (lp_wide)scale->ns_per_tick) >> 32;
}

lp_wide
lp_cost_ns(const lp_tick_scale *scale, int64_t cost)
{
    lp_wide parts = (lp_wide)((double)cost * scale->cost_share);
    lp_wide ticks = parts / scale->cost_one;

    if (parts < 0 && parts % scale->cost_one != 0) {
        ticks--; /* rounded down, as positive ones are */
    }
    return lp_ticks_ns(scale, ticks);
}

/* An array of `n` items; never of 0 bytes. */
static void *
allocate(size_t n, size_t size)
{
    return calloc(n + 1, size);
}

/* An index of records by their first fields, all int64_t. */
typedef struct index_map {
    lp_hash_index index;
    const void *items; /* borrowed */
    lp_record_size size;
} index_map;

/* Prepare an index for `max` records. */
static bool
map_init(index_map *map, const void *items, size_t stride, size_t n_keys,
         size_t max)
{
    *map = (index_map){
        .items = items,
        .size = {stride, n_keys * sizeof(int64_t)},
    };
    return lp_hash_index_reserve(&map->index, items, map->size, max, max);
}

static uint32_t *
map_slot(const index_map *map, const int64_t *keys)
{
    return lp_hash_index_slot(&map->index, map->items, map->size, keys);
}

/* Return the index of the record with these keys, or NONE. */
static int32_t
map_get(const index_map *map, const int64_t *keys)
{
    return (int32_t)*map_slot(map, keys) - 1;
}

/* The same; if there is none, it is `n` from now on. */
static size_t
map_add(index_map *map, const int64_t *keys, size_t n)
{
    uint32_t *slot = map_slot(map, keys);

    if (*slot == 0) {
        *slot = (uint32_t)n + 1;
    }
    return (size_t)*slot - 1;
}

/* Joining. */

typedef struct callee_place {
    int64_t path; /* below which the callees of a row are */
    int64_t line; /* there, or STATED */
} callee_place;

typedef struct joining {
    lp_call_times *times;
    lp_call_row *paths; /* sums of rows; keys are parent, line, function,
                           which is NONE for deeper calls, and thread */
    size_t n_paths;
    index_map map;
    callee_place *below; /* by row */
    /* By path, two links to the first paths of functions with several code
     * objects: to the innermost one from here up, and to the next one from
     * such a path up. */
    int32_t *first, *next_first;
    int32_t *same;    /* by path of a caller: one of the same function */
    uint8_t *counted; /* whether a path, or one below, has any number */
    int32_t *new_index;
} joining;

static bool
has_several(const joining *self, int64_t function)
{
    return self->times->functions[function].flags & LP_CALL_SEVERAL;
}

/* The first path of a function from `path` up; NONE if there is no such. */
static int64_t
first_of(const joining *self, int64_t path, int64_t function)
{
    int64_t found = self->first[path];

    while (found != NONE && self->paths[found].serial != function) {
        found = self->next_first[found];
    }
    return found;
}

static void
add_path(joining *self, const lp_call_row *key)
{
    size_t path = self->n_paths++;
    int64_t function = key->serial;
    int32_t first = NONE;

    self->paths[path] = (lp_call_row){.parent = key->parent,
                                      .line = key->line,
                                      .serial = function,
                                      .thread = key->thread,
                                      .kind = key->kind};
    if (key->parent >= 0) {
        first = self->first[key->parent];
    }
    self->first[path] = first;
    if (key->kind == LP_NODE_PATH && has_several(self, function) &&
        first_of(self, (int64_t)path, function) == NONE) {
        self->next_first[path] = first;
        self->first[path] = (int32_t)path;
    }
}

static void
add_row(lp_call_row *sum, const lp_call_row *row)
{
    sum->calls += row->calls;
    sum->primitive += row->primitive;
    sum->self += row->self;
    sum->self_cost += row->self_cost;
    sum->total += row->total;
    sum->total_cost += row->total_cost;
    sum->inclusive += row->inclusive;
    sum->inclusive_cost += row->inclusive_cost;
}

/* Return the path with these keys, made at its first use. */
static int64_t
find_path(joining *self, const lp_call_row *key)
{
    int64_t path = (int64_t)map_add(&self->map, &key->parent, self->n_paths);

    if (path == (int64_t)self->n_paths) {
        add_path(self, key);
    }
    return path;
}

/* Return the path for the merged calls that a path's function makes. */
static int64_t
caller_path(joining *self, int64_t path)
{
    const lp_call_row *one = &self->paths[path];
    const lp_call_row key = {.parent = CALLERS,
                             .serial = one->serial,
                             .thread = one->thread,
                             .kind = LP_NODE_CALLER};
    size_t known = self->n_paths;
    int64_t found = find_path(self, &key);

    if (self->n_paths > known) {
        self->same[found] = (int32_t)path;
    }
    return found;
}

/* Turn the caller's place into that of a merged call, or of deeper calls. */
static void
set_kind(joining *self, lp_call_row *key, const lp_call_row *row)
{
    key->kind = row->kind;
    if (row->kind == LP_NODE_DEEPER) {
        key->line = 0;
        key->serial = NONE;
    }
    else if (row->kind != LP_NODE_MERGED) {
        key->kind = LP_NODE_PATH;
    }
    else if (key->parent != LP_NO_NODE) {
        key->parent = caller_path(self, key->parent);
    }
    else {
        key->line = NONE; /* unlike the root's */
    }
}

/* Put the callees of a row of a function that is not shown, and its own time,
 * to its caller. */
static void
hide_row(joining *self, size_t place, const lp_call_row *key)
{
    const lp_call_row *row = &self->times->rows[place];
    int64_t parent = key->parent;

    if (key->kind == LP_NODE_MERGED) { /* its time is the caller's rest */
        parent = parent == LP_NO_NODE ? parent : self->same[parent];
    }
    else if (parent != LP_NO_NODE) {
        self->paths[parent].self += row->self;
        self->paths[parent].self_cost += row->self_cost;
    }
    self->below[place] = (callee_place){parent, key->line};
}

/* Add deeper calls, which are no function's. */
static void
join_deeper(joining *self, const lp_call_row *row, lp_call_row *key)
{
    if (key->parent != LP_NO_NODE) {
        key->thread = self->paths[key->parent].thread;
    }
    self->paths[find_path(self, key)].calls += row->calls;
}

static void
join_row(joining *self, size_t place)
{
    const lp_call_times *times = self->times;
    const lp_call_row *row = &times->rows[place];
    lp_call_row key = {.parent = LP_NO_NODE, .line = row->line};
    int64_t function = LP_NOT_SHOWN, path;

    if (row->parent != LP_NO_NODE) {
        const callee_place *above = &self->below[row->parent];

        key.parent = above->path;
        key.line = above->line == STATED ? row->line : above->line;
    }
    if (key.parent == LP_NO_NODE) {
        key.line = 0;
    }
    if (row->kind == LP_NODE_CALLER) {
        /* (Those are below a row of their function.) */
        self->below[place] = (callee_place){
            key.parent,
            row->parent == LP_NO_NODE ? 0 : self->below[row->parent].line};
        return;
    }
    key.thread = row->thread;
    set_kind(self, &key, row);
    if (key.kind == LP_NODE_DEEPER) {
        self->below[place] = (callee_place){key.parent, STATED};
        join_deeper(self, row, &key);
        return;
    }
    if (row->serial >= 0 && (size_t)row->serial < times->n_serials) {
        function = times->function_of[row->serial];
    }
    if (function == LP_NOT_SHOWN) {
        hide_row(self, place, &key);
        return;
    }
    key.serial = function;
    path = find_path(self, &key);
    add_row(&self->paths[path], row);
    self->below[place] = (callee_place){path, STATED};
    if (key.kind == LP_NODE_PATH && has_several(self, function)) {
        self->below[place].path = first_of(self, path, function);
    }
}

static bool
has_numbers(const lp_call_row *row)
{
    return row->calls || row->primitive || row->self || row->self_cost ||
           row->total || row->total_cost || row->inclusive ||
           row->inclusive_cost;
}

/* Mark paths with numbers, and those above; return how many there are. */
static size_t
mark_counted(joining *self)
{
    size_t n = 0;

    for (size_t i = self->n_paths; i-- > 0;) {
        const lp_call_row *row = &self->paths[i];

        if (has_numbers(row)) {
            self->counted[i] = 1;
        }
        if (self->counted[i]) {
            n++;
            if (row->parent >= 0) {
                self->counted[row->parent] = 1;
            }
            if (row->kind == LP_NODE_CALLER) {
                self->counted[self->same[i]] = 1;
            }
        }
    }
    return n;
}

/* Mark the deeper calls of marked paths; return how many more there are. */
static size_t
mark_deeper(joining *self)
{
    size_t n = 0;

    for (size_t i = 0; i < self->n_paths; i++) {
        const lp_call_row *row = &self->paths[i];

        if (row->kind == LP_NODE_DEEPER && !self->counted[i] &&
            row->parent != LP_NO_NODE && self->counted[row->parent]) {
            self->counted[i] = 1;
            n++;
        }
    }
    return n;
}

static lp_call_node
node_of(const joining *self, size_t path)
{
    const lp_call_row *row = &self->paths[path];
    const lp_tick_scale *scale = &self->times->scale;
    lp_wide inclusive = lp_ticks_ns(scale, row->inclusive);
    int64_t parent = row->parent, kind = row->kind;

    if (row->kind == LP_NODE_CALLER) {
        parent = self->same[path];
    }
    else if (row->kind == LP_NODE_MERGED && !has_numbers(row)) {
        kind = LP_NODE_CALLER; /* it only stands above others */
    }
    return (lp_call_node){
        .parent = parent == LP_NO_NODE ? LP_NO_NODE : self->new_index[parent],
        .kind = (uint8_t)kind,
        .line = row->line == NONE ? 0 : row->line,
        .function = row->serial,
        .thread = row->thread,
        .calls = row->calls,
        .primitive = row->primitive,
        .self =
            lp_ticks_ns(scale, row->self) - lp_cost_ns(scale, row->self_cost),
        .total = lp_ticks_ns(scale, row->total) -
                 lp_cost_ns(scale, row->total_cost),
        .inclusive = inclusive - lp_cost_ns(scale, row->inclusive_cost),
        .raw = inclusive,
        .is_primitive = row->total == row->inclusive &&
                        row->total_cost == row->inclusive_cost,
    };
}

static bool
make_nodes(joining *self)
{
    lp_call_times *times = self->times;
    size_t n = mark_counted(self);

    n += mark_deeper(self);
    times->nodes = allocate(n, sizeof(*times->nodes));
    if (times->nodes == NULL) {
        return false;
    }
    for (size_t i = 0; i < self->n_paths; i++) {
        if (self->counted[i]) {
            self->new_index[i] = (int32_t)times->n_nodes;
            times->nodes[times->n_nodes++] = node_of(self, i);
        }
    }
    return true;
}

static bool
join_rows(joining *self)
{
    for (size_t i = 0; i < self->times->n_rows; i++) {
        join_row(self, i);
    }
    return make_nodes(self);
}

bool
lp_call_times_join(lp_call_times *times)
{
    size_t n = 2 * times->n_rows; /* a caller for each, at the most */
    joining self = {.times = times};
    bool done;

    if (n >= INT32_MAX) {
        return false;
    }
    self.paths = allocate(n, sizeof(*self.paths));
    self.below = allocate(n, sizeof(*self.below));
    self.first = allocate(n, sizeof(*self.first));
    self.next_first = allocate(n, sizeof(*self.next_first));
    self.same = allocate(n, sizeof(*self.same));
    self.counted = allocate(n, sizeof(*self.counted));
    self.new_index = allocate(n, sizeof(*self.new_index));
    done = map_init(&self.map, self.paths, sizeof(*self.paths), 4, n) &&
           self.paths != NULL && self.below != NULL && self.first != NULL &&
           self.next_first != NULL && self.same != NULL &&
           self.counted != NULL && self.new_index != NULL && join_rows(&self);
    lp_hash_index_free(&self.map.index);
    free(self.paths);
    free(self.below);
    free(self.first);
    free(self.next_first);
    free(self.same);
    free(self.counted);
    free(self.new_index);
    return done;
}

void
lp_call_times_free(lp_call_times *times)
{
    free(times->nodes);
    times->nodes = NULL;
}

/* Fitting. */

/* A line that called profiled functions, on one thread. */
typedef struct calling_line {
    int64_t mine, line; /* its keys: the index of its function, ... */
    int32_t next;       /* of the same function and thread */
    int32_t first_node, last_node; /* of its callees */
    int64_t measured;           /* lines with a time: without, it has none */
    lp_wide ns, raw;            /* its time */
    lp_wide called, raw_called; /* of these, the time of its callees */
    lp_wide more;               /* ns that it is to get */
} calling_line;

/* A function on one thread. */
typedef struct thread_function {
    int64_t function, thread;      /* its keys */
    int32_t first_node, last_node; /* each list ends with NONE */
    int32_t first_line, last_line;
    int32_t innermost; /* the last of its nodes, callees before callers */
    int32_t merged;    /* the first of its merged nodes: their head */
    lp_wide left;      /* by the clock, what its nodes took beyond callees */
    lp_wide called;    /* ns of its callees less those of its nodes, so far */
    lp_wide rest;      /* ns of its merged nodes less all merged callees */
    lp_wide deeper, slack; /* ns of its deeper calls; and what they could take
                              beyond that */
    int64_t n_nodes, n_lines;
    lp_wide ns, raw;  /* of all its lines */
    lp_wide over;     /* ns that its nodes took so far beyond their part */
    bool is_complete; /* nodes and lines are of the same calls */
} thread_function;

/* Times of a function's line on all threads. */
typedef struct line_sum {
    int64_t function, line; /* its keys */
    lp_wide ns;
} line_sum;

typedef struct fitting {
    lp_call_times *times;
    lp_call_node *nodes;
    size_t n;
    thread_function *mines;
    calling_line *lines;
    line_sum *sums;
    size_t n_mines, n_lines, n_sums;
    index_map mine_map, line_map, sum_map;
    int32_t *of, *on; /* by node: its function, and the line that called it */
    int32_t *next_of, *next_on; /* the next node of the same */
    int32_t *order;             /* nodes, callees before their callers */
    int32_t *heads;             /* the first of its function on its path */
    int32_t *first_child, *next_sibling;
    int32_t *on_path;  /* by function */
    int32_t *on_group; /* by head: the last node of its group */
    lp_wide *ns, *called;
    lp_wide *parts, *weights; /* for the division of one number */
} fitting;

/* Divide `whole` in proportion to `parts`, exactly to the ns, in place. */
static void
divide(lp_wide whole, lp_wide *parts, size_t n)
{
    lp_wide total = 0, before = 0, done = 0;
    bool equally;

    for (size_t i = 0; i < n; i++) {
        total += parts[i];
    }
    if (total == whole) {
        return;
    }
    equally = total == 0;
    if (equally) {
        total = (lp_wide)n;
    }
    for (size_t i = 0; i < n; i++) {
        before += equally ? 1 : parts[i];
        lp_wide end = whole * before / total;
        parts[i] = end - done;
        done = end;
    }
}

/* Add a node to a list of nodes. */
static void
link_node(int32_t *first, int32_t *last, int32_t *next, int32_t index)
{
    next[index] = NONE;
    if (*first == NONE) {
        *first = index;
    }
    else {
        next[*last] = index;
    }
    *last = index;
}

/* Whether a node has times of its own, as paths and merged calls have. */
static bool
is_counted(const lp_call_node *node)
{
    return node->kind == LP_NODE_PATH || node->kind == LP_NODE_MERGED;
}

static int32_t
add_mine(fitting *self, int32_t index)
{
    const lp_call_node *node = &self->nodes[index];
    int64_t keys[] = {node->function, node->thread};
    thread_function *mine;
    size_t place;

    if (node->kind == LP_NODE_DEEPER) {
        return NONE;
    }
    place = map_add(&self->mine_map, keys, self->n_mines);
    mine = &self->mines[place];
    if (place == self->n_mines) {
        self->n_mines++;
        *mine = (thread_function){.function = node->function,
                                  .thread = node->thread,
                                  .first_node = NONE,
                                  .first_line = NONE,
                                  .merged = NONE};
    }
    if (node->kind == LP_NODE_CALLER) {
        return (int32_t)place;
    }
    if (node->kind == LP_NODE_MERGED && mine->merged == NONE) {
        mine->merged = index;
    }
    link_node(&mine->first_node, &mine->last_node, self->next_of, index);
    mine->n_nodes++;
    mine->raw -= node->raw; /* until `measure` has added its lines */
    return (int32_t)place;
}

static int32_t
add_line(fitting *self, int32_t index)
{
    const lp_call_node *node = &self->nodes[index];
    int64_t keys[] = {0, node->line};
    calling_line *line;
    size_t place;

    if (node->parent == LP_NO_NODE || !is_counted(node)) {
        return NONE;
    }
    keys[0] = self->of[node->parent];
    place = map_add(&self->line_map, keys, self->n_lines);
    line = &self->lines[place];
    if (place == self->n_lines) {
        thread_function *mine = &self->mines[keys[0]];

        self->n_lines++;
        *line = (calling_line){.mine = keys[0],
                               .line = node->line,
                               .next = NONE,
                               .first_node = NONE};
        if (mine->first_line == NONE) {
            mine->first_line = (int32_t)place;
        }
        else {
            self->lines[mine->last_line].next = (int32_t)place;
        }
        mine->last_line = (int32_t)place;
    }
    link_node(&line->first_node, &line->last_node, self->next_on, index);
    line->raw_called += node->raw;
    return (int32_t)place;
}

/* Sort the nodes by depth, the deepest first. */
static bool
set_order(fitting *self)
{
    int32_t *depths = allocate(self->n, sizeof(*depths));
    int32_t *starts = allocate(self->n + 1, sizeof(*starts));
    bool done = depths != NULL && starts != NULL;
    int32_t start = 0, deepest = 0;

    for (size_t i = 0; done && i < self->n; i++) {
        int64_t parent = self->nodes[i].parent;

        depths[i] = parent == LP_NO_NODE ? 0 : depths[parent] + 1;
        deepest = depths[i] > deepest ? depths[i] : deepest;
        starts[depths[i]]++;
    }
    for (int32_t depth = deepest; done && depth >= 0; depth--) {
        int32_t n = starts[depth];

        starts[depth] = start;
        start += n;
    }
    for (size_t i = 0; done && i < self->n; i++) {
        self->order[starts[depths[i]]++] = (int32_t)i;
    }
    free(depths);
    free(starts);
    return done;
}

/* Return the function of a measured line on its thread; NULL if it has no
 * nodes. */
static thread_function *
mine_of_line(const fitting *self, const lp_call_line *line)
{
    int64_t keys[] = {line->function, line->thread};
    int32_t place = map_get(&self->mine_map, keys);

    return place == NONE ? NULL : &self->mines[place];
}

/* Return the line as one that calls; NULL if it calls nothing. */
static calling_line *
calling_line_of(const fitting *self, const thread_function *mine, int64_t line)
{
    int64_t keys[] = {mine - self->mines, line};
    int32_t place = map_get(&self->line_map, keys);

    return place == NONE ? NULL : &self->lines[place];
}

/* Add the measured lines to their functions. */
static void
measure(fitting *self)
{
    for (size_t i = 0; i < self->times->n_lines; i++) {
        const lp_call_line *from = &self->times->lines[i];
        thread_function *mine = mine_of_line(self, from);

        if (mine != NULL) {
            calling_line *line = calling_line_of(self, mine, from->line);

            mine->n_lines++;
            mine->ns += from->ns;
            mine->raw += from->raw;
            if (line != NULL) {
                line->measured++;
                line->ns += from->ns;
                line->raw += from->raw;
            }
        }
    }
    for (size_t i = 0; i < self->n_mines; i++) {
        thread_function *mine = &self->mines[i];
        lp_wide slack = mine->n_lines + mine->n_nodes;

        mine->is_complete =
            mine->n_lines > 0 && mine->raw <= slack && mine->raw >= -slack;
    }
}

/* Divide each function's time among its nodes: the more cost was taken off a
 * node, the more it gets back of cost that was too much. */
static void
divide_among_nodes(fitting *self, const thread_function *mine)
{
    lp_wide more = mine->ns, cost_sum = 0;
    size_t n = 0;

    for (int32_t i = mine->first_node; i != NONE; i = self->next_of[i]) {
        lp_wide cost = max_of(0, self->nodes[i].raw - self->ns[i]);

        more -= self->ns[i];
        cost_sum += cost;
        self->parts[n] = self->ns[i];
        self->weights[n++] = cost;
    }
    if (more <= 0) {
        divide(mine->ns, self->parts, n);
    }
    else {
        if (cost_sum == 0) {
            memcpy(self->weights, self->parts, n * sizeof(*self->parts));
        }
        divide(more, self->weights, n);
        for (size_t i = 0; i < n; i++) {
            self->parts[i] += self->weights[i];
        }
    }
    n = 0;
    for (int32_t i = mine->first_node; i != NONE; i = self->next_of[i]) {
        self->ns[i] = self->parts[n++];
    }
}

/* Limit the C functions that a line calls to the rest of `max_ns`: they have
 * no lines of their own. */
static void
limit_c(fitting *self, const calling_line *line, lp_wide max_ns)
{
    lp_wide of_c = 0, left = max_ns;
    size_t n = 0;

    for (int32_t i = line->first_node; i != NONE; i = self->next_on[i]) {
        int64_t function = self->nodes[i].function;

        if (self->times->functions[function].flags & LP_CALL_OF_C) {
            of_c += self->ns[i];
            self->parts[n++] = self->ns[i];
        }
        else {
            left -= self->ns[i];
        }
    }
    if (of_c == 0 || left >= of_c) {
        return;
    }
    divide(max_of(0, left), self->parts, n);
    n = 0;
    for (int32_t i = line->first_node; i != NONE; i = self->next_on[i]) {
        int64_t function = self->nodes[i].function;

        if (self->times->functions[function].flags & LP_CALL_OF_C) {
            self->ns[i] = self->parts[n++];
        }
    }
}

static void
limit_callees(fitting *self, const thread_function *mine)
{
    for (int32_t i = mine->first_line; i != NONE; i = self->lines[i].next) {
        lp_wide max_ns = self->lines[i].ns;

        if (mine->n_lines == 0) {
            max_ns = 0;
            for (int32_t j = mine->first_node; j != NONE;
                 j = self->next_of[j]) {
                max_ns += self->ns[j];
            }
        }
        limit_c(self, &self->lines[i], max_ns);
    }
}

static void
divide_all(fitting *self)
{
    for (size_t i = 0; i < self->n_mines; i++) {
        if (self->mines[i].is_complete) {
            divide_among_nodes(self, &self->mines[i]);
        }
    }
    for (size_t i = 0; i < self->n_mines; i++) {
        limit_callees(self, &self->mines[i]);
    }
}

/* Link each node to its children, from the last one to the first. */
static void
link_children(fitting *self)
{
    for (size_t i = 0; i < self->n; i++) {
        self->first_child[i] = NONE;
    }
    for (size_t i = 0; i < self->n; i++) {
        int64_t parent = self->nodes[i].parent;

        if (parent != LP_NO_NODE && self->nodes[i].kind == LP_NODE_PATH) {
            self->next_sibling[i] = self->first_child[parent];
            self->first_child[parent] = (int32_t)i;
        }
    }
}

/* Find the heads of all nodes below a root; `on_path` has each function's node
 * on the way, and is all NONE before and after. */
static void
find_heads(fitting *self, int32_t root)
{
    int32_t index = root;

    for (;;) {
        int32_t *first = &self->on_path[self->nodes[index].function];

        if (*first == NONE) {
            *first = index;
        }
        self->heads[index] = *first;
        if (self->first_child[index] != NONE) {
            index = self->first_child[index];
            continue;
        }
        for (;;) { /* leave it, and those above whose last child it is */
            if (self->heads[index] == index) {
                self->on_path[self->nodes[index].function] = NONE;
            }
            if (index == root) {
                return;
            }
            if (self->next_sibling[index] != NONE) {
                index = self->next_sibling[index];
                break;
            }
            index = (int32_t)self->nodes[index].parent;
        }
    }
}

static void
set_heads(fitting *self)
{
    for (size_t i = 0; i < self->n; i++) {
        int32_t index = self->order[i];

        if (is_counted(&self->nodes[index])) {
            self->mines[self->of[index]].innermost = index;
        }
    }
    link_children(self);
    for (size_t i = 0; i < self->times->n_functions; i++) {
        self->on_path[i] = NONE;
    }
    for (size_t i = 0; i < self->n; i++) {
        const lp_call_node *node = &self->nodes[i];

        if (node->kind == LP_NODE_MERGED) {
            self->heads[i] = self->mines[self->of[i]].merged;
        }
        else if (node->kind != LP_NODE_PATH) {
            self->heads[i] = (int32_t)i;
        }
        else if (node->parent == LP_NO_NODE) {
            find_heads(self, (int32_t)i);
        }
    }
}

/* Whether the callees of a line took no more, by the clock: greenlets may take
 * turns. */
static bool
is_sound(const calling_line *line)
{
    return line->measured > 0 &&
           line->raw_called <= line->raw + line->measured;
}

/* Raise lines to the time of their callees; return the ns that nodes lack. */
static lp_wide
raise_lines(fitting *self, thread_function *mine)
{
    calling_line *longest = NULL;
    lp_wide raised = 0;

    for (int32_t i = mine->first_line; i != NONE; i = self->lines[i].next) {
        calling_line *line = &self->lines[i];

        if (is_sound(line)) {
            line->more = max_of(0, line->called - line->ns);
            raised += line->more;
            if (longest == NULL || line->called > longest->called) {
                longest = line;
            }
        }
    }
    if (longest != NULL && mine->over > raised) {
        longest->more += mine->over - raised;
        raised = mine->over;
    }
    mine->ns += raised;
    return raised - mine->over;
}

/* Set `called` to what the nodes of each head took, by the clock, beyond their
 * callees. */
static void
set_bounds(fitting *self, bool *bound)
{
    lp_wide *left = self->called;

    for (size_t i = 0; i < self->n; i++) {
        left[i] = 1;
    }
    for (size_t i = 0; i < self->n; i++) {
        const lp_call_node *node = &self->nodes[i];

        if (!is_counted(node)) {
            continue;
        }
        self->mines[self->of[i]].left += node->raw + 1;
        if (node->parent != LP_NO_NODE) {
            self->mines[self->of[node->parent]].left -= node->raw;
        }
        if (node->kind != LP_NODE_PATH) {
            continue;
        }
        left[self->heads[i]] += node->raw + 1;
        if (node->parent != LP_NO_NODE) {
            left[self->heads[node->parent]] -= node->raw;
        }
    }
    for (size_t i = 0; i < self->n; i++) {
        bound[i] = self->nodes[i].kind == LP_NODE_PATH && left[i] >= 0;
        left[i] = 0;
    }
}

/* Make a node, whose callees are done, take at least their time. */
static void
fit_node(fitting *self, int32_t index, bool is_bound)
{
    const lp_call_node *node = &self->nodes[index];
    thread_function *mine = &self->mines[self->of[index]];
    int32_t head = self->heads[index];
    lp_wide took = max_of(0, self->ns[index] - mine->over);

    if (head == index && is_bound) {
        took = max_of(took, self->called[index]);
    }
    if (mine->merged != NONE && mine->innermost == index && mine->left >= 0) {
        took = max_of(took, mine->called); /* merged nodes know no callees */
    }
    mine->over += took - self->ns[index];
    if (mine->is_complete && mine->innermost == index) {
        took = max_of(0, took + raise_lines(self, mine));
    }
    self->ns[index] = took;
    mine->called -= took;
    if (node->parent != LP_NO_NODE) {
        self->mines[self->of[node->parent]].called += took;
    }
    if (self->on[index] != NONE) {
        self->lines[self->on[index]].called += took;
    }
    if (node->kind == LP_NODE_PATH) {
        if (head != index) {
            self->called[head] -= took;
        }
        if (node->parent != LP_NO_NODE) {
            self->called[self->heads[node->parent]] += took;
        }
    }
}

/* Divide the time of a function whose frames took turns once more. */
static void
divide_again(fitting *self, const thread_function *mine)
{
    lp_wide sum = 0;
    size_t n = 0;

    for (int32_t i = mine->first_node; i != NONE; i = self->next_of[i]) {
        self->parts[n++] = self->ns[i];
        sum += self->ns[i];
    }
    if (sum == mine->ns) {
        return;
    }
    divide(mine->ns, self->parts, n);
    n = 0;
    for (int32_t i = mine->first_node; i != NONE; i = self->next_of[i]) {
        if (self->on[i] != NONE) {
            self->lines[self->on[i]].called += self->parts[n] - self->ns[i];
        }
        self->ns[i] = self->parts[n++];
    }
}

static bool
fit_callers(fitting *self)
{
    bool *bound = allocate(self->n, sizeof(*bound));

    if (bound == NULL) {
        return false;
    }
    set_bounds(self, bound);
    for (size_t i = 0; i < self->n; i++) {
        int32_t index = self->order[i];

        if (is_counted(&self->nodes[index])) {
            fit_node(self, index, bound[index]);
        }
    }
    for (size_t i = 0; i < self->n_mines; i++) {
        if (self->mines[i].is_complete) {
            divide_again(self, &self->mines[i]);
        }
    }
    free(bound);
    return true;
}

/* Return the self times of functions' lines, each with all its threads, by
 * function; NULL if memory is out. */
static lp_wide *
self_of_lines(fitting *self)
{
    lp_wide *whole = allocate(self->times->n_functions, sizeof(*whole));

    if (whole == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < self->times->n_lines; i++) {
        const lp_call_line *line = &self->times->lines[i];
        int64_t keys[] = {line->function, line->line};
        size_t place = map_add(&self->sum_map, keys, self->n_sums);

        if (place == self->n_sums) {
            self->sums[self->n_sums++] =
                (line_sum){.function = line->function, .line = line->line};
        }
        self->sums[place].ns += line->ns;
    }
    for (size_t i = 0; i < self->n_lines; i++) {
        const calling_line *line = &self->lines[i];
        const thread_function *mine = &self->mines[line->mine];
        int64_t keys[] = {mine->function, line->line};
        int32_t place = map_get(&self->sum_map, keys);

        if (mine->n_lines > 0 && place != NONE) {
            self->sums[place].ns += line->more - line->called;
        }
    }
    for (size_t i = 0; i < self->n_sums; i++) {
        whole[self->sums[i].function] += max_of(0, self->sums[i].ns);
    }
    return whole;
}

/* The heads of each function, in the order of their first nodes. */
typedef struct function_heads {
    int32_t first, last;
    bool is_complete; /* as `thread_function` has it */
} function_heads;

/* Divide the self time of each function's lines among its heads. */
static void
divide_among_heads(fitting *self, const function_heads *heads,
                   const lp_wide *whole, lp_wide *own)
{
    for (size_t i = 0; i < self->times->n_functions; i++) {
        bool has_lines = self->times->functions[i].flags &
                         (LP_CALL_ONCE | LP_CALL_RECURSED);
        size_t n = 0;

        if (!has_lines || heads[i].first == NONE || !heads[i].is_complete) {
            continue;
        }
        for (int32_t j = heads[i].first; j != NONE; j = self->next_of[j]) {
            self->parts[n++] = own[j];
        }
        divide(whole[i], self->parts, n);
        n = 0;
        for (int32_t j = heads[i].first; j != NONE; j = self->next_of[j]) {
            own[j] = self->parts[n++];
        }
    }
}

/* Divide the self time of a head among the nodes of its group. */
static void
divide_group(fitting *self, int32_t first, lp_wide own)
{
    size_t n = 0;

    for (int32_t i = first; i != NONE; i = self->next_sibling[i]) {
        self->parts[n++] = max_of(0, self->nodes[i].self);
    }
    divide(own, self->parts, n);
    n = 0;
    for (int32_t i = first; i != NONE; i = self->next_sibling[i]) {
        self->nodes[i].self = self->parts[n++];
    }
}

/* Add what the nodes of each head took beyond their callees on kept paths, as
 * measured and as fitted; of merged nodes, beyond those of their function.
 * Link the nodes of each head, and the heads of each function. */
static void
add_own(fitting *self, function_heads *heads, lp_wide *own)
{
    lp_wide *measured = self->weights;
    int32_t *first = self->first_child, *last = self->on_group;

    for (size_t i = 0; i < self->n; i++) {
        first[i] = NONE;
        measured[i] = own[i] = 0;
    }
    for (size_t i = 0; i < self->n; i++) {
        const lp_call_node *node = &self->nodes[i];
        int32_t head = self->heads[i];

        if (!is_counted(node)) {
            continue;
        }
        if (first[head] == NONE) {
            function_heads *mine = &heads[node->function];

            link_node(&mine->first, &mine->last, self->next_of, head);
            mine->is_complete &= self->mines[self->of[head]].is_complete;
        }
        link_node(&first[head], &last[head], self->next_sibling, (int32_t)i);
        own[head] += self->ns[i];
        measured[head] += node->inclusive;
        if (node->kind == LP_NODE_MERGED) {
            self->mines[self->of[i]].rest += self->ns[i];
        }
        if (node->parent == LP_NO_NODE) {
            continue;
        }
        if (node->kind == LP_NODE_MERGED) {
            self->mines[self->of[node->parent]].rest -= self->ns[i];
        }
        else {
            own[self->heads[node->parent]] -= self->ns[i];
            measured[self->heads[node->parent]] -= node->inclusive;
        }
    }
}

/* Return the function of the node above deeper calls, on its thread; NULL if
 * that is not known. */
static thread_function *
mine_of_deeper(const fitting *self, size_t index)
{
    const lp_call_node *node = &self->nodes[index];

    if (node->kind != LP_NODE_DEEPER || node->parent == LP_NO_NODE) {
        return NULL;
    }
    return &self->mines[self->of[node->parent]];
}

/* Split what a head took beyond its callees on kept paths, into its own time
 * and that of its deeper calls, as was measured. */
static void
split_deeper(fitting *self, size_t deeper, const lp_wide *own)
{
    thread_function *mine = mine_of_deeper(self, deeper);
    int32_t head = self->heads[self->nodes[deeper].parent];
    lp_wide parts[2] = {0, 0};

    for (int32_t i = self->first_child[head]; i != NONE;
         i = self->next_sibling[i]) {
        parts[0] += max_of(0, self->nodes[i].self);
    }
    parts[1] = max_of(0, self->weights[head] - parts[0]);
    self->weights[head] = 0; /* it has no second one */
    if (parts[0] + parts[1] > 0) {
        divide(max_of(0, own[head]), parts, 2);
        self->ns[deeper] = parts[1];
        mine->deeper += parts[1];
        mine->slack += parts[0];
    }
}

/* Give deeper calls as much as the merged callees of their function need: what
 * merged nodes of the function do not call, it calls on kept paths. */
static void
take_deeper(fitting *self, size_t deeper, lp_wide *own)
{
    thread_function *mine = mine_of_deeper(self, deeper);
    int32_t head = self->heads[self->nodes[deeper].parent];
    lp_wide took = self->ns[deeper];
    lp_wide slack = max_of(0, own[head]) - took, lack = -mine->rest;

    /* What it lacks with the deeper calls that are still to come. */
    if (lack > mine->deeper && mine->slack > 0) {
        lp_wide more = (lack - mine->deeper) * slack / mine->slack;

        self->ns[deeper] += more < slack ? more : slack;
    }
    else if (mine->merged == NONE && lack < mine->deeper) {
        self->ns[deeper] = max_of(0, lack) * took / mine->deeper;
    }
    mine->deeper -= took;
    mine->slack -= slack;
    mine->rest += self->ns[deeper];
    own[head] -= self->ns[deeper];
}

static void
fit_heads_with_deeper(fitting *self, lp_wide *own)
{
    for (size_t i = 0; i < self->n; i++) {
        if (mine_of_deeper(self, i) != NULL) {
            split_deeper(self, i, own);
        }
    }
    for (size_t i = 0; i < self->n; i++) {
        if (mine_of_deeper(self, i) != NULL) {
            take_deeper(self, i, own);
        }
    }
    for (size_t i = 0; i < self->n_mines; i++) {
        if (self->mines[i].merged != NONE) {
            own[self->mines[i].merged] = self->mines[i].rest;
        }
    }
}

/* Make the times of deeper calls, together, what the roots took beyond the
 * self times on kept paths. */
static void
fit_deeper(fitting *self)
{
    lp_wide whole = 0;
    size_t n = 0;

    for (size_t i = 0; i < self->n; i++) {
        const lp_call_node *node = &self->nodes[i];

        if (node->kind == LP_NODE_PATH) {
            whole -= node->self;
        }
        if (is_counted(node) && node->parent == LP_NO_NODE) {
            whole += self->ns[i];
        }
        if (node->kind == LP_NODE_DEEPER) {
            self->parts[n++] = self->ns[i];
        }
    }
    divide(max_of(0, whole), self->parts, n);
    n = 0;
    for (size_t i = 0; i < self->n; i++) {
        if (self->nodes[i].kind == LP_NODE_DEEPER) {
            self->nodes[i].self = self->ns[i] = self->parts[n++];
        }
    }
}

/* Set the self times of nodes: in all, those of their function's lines.  From
 * here on, `next_of` links heads of a function, and `next_sibling` the nodes
 * that have one head. */
static void
set_self_times(fitting *self, function_heads *heads, const lp_wide *whole,
               lp_wide *own)
{
    for (size_t i = 0; i < self->times->n_functions; i++) {
        heads[i] =
            (function_heads){.first = NONE, .last = NONE, .is_complete = true};
    }
    add_own(self, heads, own);
    fit_heads_with_deeper(self, own);
    for (size_t i = 0; i < self->n; i++) {
        own[i] = max_of(0, own[i]);
    }
    divide_among_heads(self, heads, whole, own);
    for (size_t i = 0; i < self->n; i++) {
        if (self->first_child[i] != NONE) {
            divide_group(self, self->first_child[i], own[i]);
        }
    }
    fit_deeper(self);
}

static bool
fit_self_times(fitting *self)
{
    function_heads *heads = allocate(self->times->n_functions, sizeof(*heads));
    lp_wide *own = allocate(self->n, sizeof(*own));
    lp_wide *whole = self_of_lines(self);
    bool done = heads != NULL && own != NULL && whole != NULL;

    if (done) {
        set_self_times(self, heads, whole, own);
    }
    free(heads);
    free(own);
    free(whole);
    return done;
}

/* Set the total and the inclusive times of nodes. */
static void
set_totals(fitting *self)
{
    for (size_t i = 0; i < self->n; i++) {
        lp_call_node *node = &self->nodes[i];
        lp_wide ns = self->ns[i], whole = node->inclusive;

        if (node->kind == LP_NODE_DEEPER || node->is_primitive ||
            self->times->functions[node->function].flags & LP_CALL_ONCE) {
            node->total = ns;
        }
        else {
            lp_wide total =
                whole > 0 ? max_of(0, node->total) * ns / whole : 0;

            node->total = total < ns ? total : ns;
        }
        node->inclusive = ns;
    }
}

/* Set the results of functions and lines. */
static void
set_results(fitting *self)
{
    lp_call_times *times = self->times;

    for (size_t i = 0; i < times->n_functions; i++) {
        times->functions[i].total = 0;
    }
    for (size_t i = 0; i < self->n; i++) {
        if (is_counted(&self->nodes[i]) &&
            self->mines[self->of[i]].n_lines > 0) {
            times->functions[self->nodes[i].function].total +=
                (int64_t)self->nodes[i].total;
        }
    }
    for (size_t i = 0; i < times->n_lines; i++) {
        lp_call_line *line = &times->lines[i];
        const thread_function *mine = mine_of_line(self, line);
        calling_line *calling =
            mine == NULL ? NULL : calling_line_of(self, mine, line->line);

        if (mine == NULL || !mine->is_complete) {
            times->functions[line->function].total = -1;
        }
        line->more = 0;
        if (calling != NULL) {
            line->more = (int64_t)calling->more;
            calling->more = 0;
        }
    }
}

static bool
fit_all(fitting *self)
{
    for (size_t i = 0; i < self->n; i++) {
        self->ns[i] = max_of(0, self->nodes[i].inclusive);
        self->of[i] = add_mine(self, (int32_t)i);
        self->on[i] = add_line(self, (int32_t)i);
    }
    if (!set_order(self)) {
        return false;
    }
    measure(self);
    divide_all(self);
    set_heads(self);
    if (!fit_callers(self) || !fit_self_times(self)) {
        return false;
    }
    set_totals(self);
    set_results(self);
    return true;
}

bool
lp_call_times_fit(lp_call_times *times)
{
    size_t n = times->n_nodes;
    fitting self = {.times = times, .nodes = times->nodes, .n = n};
    int32_t **lists[] = {
        &self.of,          &self.on,           &self.next_of,
        &self.next_on,     &self.order,        &self.heads,
        &self.first_child, &self.next_sibling, &self.on_group};
    lp_wide **numbers[] = {&self.ns, &self.called, &self.parts, &self.weights};
    bool done = true;

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        *lists[i] = allocate(n, sizeof(**lists[i]));
        done &= *lists[i] != NULL;
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        *numbers[i] = allocate(n, sizeof(**numbers[i]));
        done &= *numbers[i] != NULL;
    }
    self.on_path = allocate(times->n_functions, sizeof(*self.on_path));
    self.mines = allocate(n, sizeof(*self.mines));
    self.lines = allocate(n, sizeof(*self.lines));
    self.sums = allocate(times->n_lines, sizeof(*self.sums));
    done = done && self.on_path != NULL && self.mines != NULL &&
           self.lines != NULL && self.sums != NULL &&
           map_init(&self.mine_map, self.mines, sizeof(*self.mines), 2, n) &&
           map_init(&self.line_map, self.lines, sizeof(*self.lines), 2, n) &&
           map_init(&self.sum_map, self.sums, sizeof(*self.sums), 2,
                    times->n_lines) &&
           fit_all(&self);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        free(*lists[i]);
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        free(*numbers[i]);
    }
    free(self.on_path);
    free(self.mines);
    free(self.lines);
    free(self.sums);
    lp_hash_index_free(&self.mine_map.index);
    lp_hash_index_free(&self.line_map.index);
    lp_hash_index_free(&self.sum_map.index);
    return done;
}
