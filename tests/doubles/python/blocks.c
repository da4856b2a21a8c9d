/* Extension module whose objects own one block of memory each, of a stated
 * size, taken from a stated allocator.
 *
 *   block = blocks.take(layer, size)    # the object, then its block
 *   block.resize(size)                  # realloc
 *   block.strain()                      # a realloc that fails
 *   block.release()                     # its block goes before the object
 *
 * A line that does one of these allocates nothing else, so that the memory of
 * a line follows from the calls.  The object itself is a block of
 * PyObject_Malloc with `blocks.OBJECT` bytes.  Of Python it declares only
 * these names, which every CPython exports.
 *
 * [GIL] all of it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct {
    intptr_t count;
    void *type;
} head; /* of every object */

typedef struct {
    const char *name;
    void *function;
    int flags;
    const char *text;
} method;

typedef struct {
    int slot;
    void *value;
} slot;

typedef struct {
    const char *name;
    int size, item_size;
    unsigned int flags;
    slot *slots;
} spec;

typedef struct {
    head object;
    void *init, *index, *copy;
    const char *name, *text;
    intptr_t size;
    method *methods;
    void *slots, *traverse, *clear, *free;
} module_def;

enum {
    METH_NOARGS = 4,
    METH_O = 8,
    METH_FASTCALL = 128,
    NO_CONSTRUCTOR = 128, /* Py_TPFLAGS_DISALLOW_INSTANTIATION */
    TP_DEALLOC = 52,
    TP_METHODS = 64,
    API = 1013,
};

extern head _Py_NoneStruct;
extern void *PyExc_ValueError;
extern void *PyErr_NoMemory(void);
extern void *PyErr_Occurred(void);
extern void PyErr_SetString(void *type, const char *text);
extern size_t PyLong_AsSize_t(void *number);
extern void *PyType_FromSpec(spec *of);
extern void *_PyObject_New(void *type);
extern void *PyModule_Create2(module_def *of, int api);
extern int PyModule_AddIntConstant(void *module, const char *name, long value);
extern void Py_IncRef(void *object);
extern void Py_DecRef(void *object);
extern void *PyObject_Malloc(size_t), *PyObject_Calloc(size_t, size_t);
extern void *PyObject_Realloc(void *, size_t);
extern void PyObject_Free(void *);
extern void *PyMem_Malloc(size_t), *PyMem_Calloc(size_t, size_t);
extern void *PyMem_Realloc(void *, size_t);
extern void PyMem_Free(void *);
extern void *PyMem_RawMalloc(size_t), *PyMem_RawCalloc(size_t, size_t);
extern void *PyMem_RawRealloc(void *, size_t);
extern void PyMem_RawFree(void *);

void *PyInit_blocks(void);

/* --- layers ---------------------------------------------------------------
 */

typedef struct {
    const char *name;
    void *(*take)(size_t size);
    void *(*resize)(void *block, size_t before, size_t size);
    void (*release)(void *block, size_t size);
} layer;

static void *
obj_calloc(size_t size)
{
    return PyObject_Calloc(1, size);
}

static void *
obj_resize(void *block, size_t before, size_t size)
{
    (void)before;
    return PyObject_Realloc(block, size);
}

static void
obj_release(void *block, size_t size)
{
    (void)size;
    PyObject_Free(block);
}

static void *
mem_calloc(size_t size)
{
    return PyMem_Calloc(size, 1);
}

static void *
mem_resize(void *block, size_t before, size_t size)
{
    (void)before;
    return PyMem_Realloc(block, size);
}

static void
mem_release(void *block, size_t size)
{
    (void)size;
    PyMem_Free(block);
}

static void *
raw_calloc(size_t size)
{
    return PyMem_RawCalloc(1, size);
}

static void *
raw_resize(void *block, size_t before, size_t size)
{
    (void)before;
    return PyMem_RawRealloc(block, size);
}

static void
raw_release(void *block, size_t size)
{
    (void)size;
    PyMem_RawFree(block);
}

static void *
c_calloc(size_t size)
{
    return calloc(1, size);
}

static void *
c_aligned(size_t size)
{
    void *block = NULL;

    return posix_memalign(&block, 64, size) == 0 ? block : NULL;
}

static void *
c_resize(void *block, size_t before, size_t size)
{
    (void)before;
    return realloc(block, size);
}

static void
c_release(void *block, size_t size)
{
    (void)size;
    free(block);
}

static void *
map_take(size_t size)
{
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return block == MAP_FAILED ? NULL : block;
}

/* As a library does that has no mremap: a new one, then the old one goes. */
static void *
map_resize(void *block, size_t before, size_t size)
{
    void *moved = size <= PTRDIFF_MAX / 4 ? map_take(size) : NULL;

    if (moved != NULL) {
        munmap(block, before);
    }
    return moved;
}

static void
map_release(void *block, size_t size)
{
    munmap(block, size);
}

static const layer layers[] = {
    {"OBJ", PyObject_Malloc, obj_resize, obj_release},
    {"OBJ_CALLOC", obj_calloc, obj_resize, obj_release},
    {"MEM", PyMem_Malloc, mem_resize, mem_release},
    {"MEM_CALLOC", mem_calloc, mem_resize, mem_release},
    {"RAW", PyMem_RawMalloc, raw_resize, raw_release},
    {"RAW_CALLOC", raw_calloc, raw_resize, raw_release},
    /* Of the C library. */
    {"MALLOC", malloc, c_resize, c_release},
    {"CALLOC", c_calloc, c_resize, c_release},
    {"ALIGNED", c_aligned, c_resize, c_release},
    {"MAP", map_take, map_resize, map_release},
};
static const size_t layer_count = sizeof layers / sizeof layers[0];

/* --- blocks ---------------------------------------------------------------
 */

typedef struct {
    head object;
    const layer *from;
    void *memory; /* owned; NULL once released */
    size_t size;
} block;

static void *block_type;

static void *
nothing(void)
{
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

static void *
block_release(void *op, void *ignored)
{
    block *self = op;

    (void)ignored;
    if (self->memory != NULL) {
        self->from->release(self->memory, self->size);
        self->memory = NULL;
    }
    return nothing();
}

static void *
block_resize(void *op, void *number)
{
    block *self = op;
    size_t size = PyLong_AsSize_t(number);
    void *memory;

    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    memory = self->memory == NULL
                 ? self->from->take(size)
                 : self->from->resize(self->memory, self->size, size);
    if (memory == NULL) {
        return PyErr_NoMemory();
    }
    self->memory = memory;
    self->size = size;
    return nothing();
}

static void *
block_strain(void *op, void *ignored)
{
    block *self = op;
    volatile size_t far_too_much = PTRDIFF_MAX / 2;

    (void)ignored;
    if (self->memory != NULL &&
        self->from->resize(self->memory, self->size, far_too_much) != NULL) {
        abort(); /* no machine has that much */
    }
    return nothing();
}

static void
block_dealloc(void *op)
{
    block *self = op;

    if (self->memory != NULL) {
        self->from->release(self->memory, self->size);
    }
    PyObject_Free(self);
    Py_DecRef(block_type); /* heap types are owned by their instances */
}

static void *
take(void *module, void *const *arguments, intptr_t count)
{
    size_t number, size;
    block *self;

    (void)module;
    number = count == 2 ? PyLong_AsSize_t(arguments[0]) : layer_count;
    size = count == 2 ? PyLong_AsSize_t(arguments[1]) : 0;
    if (number >= layer_count || PyErr_Occurred() != NULL) {
        PyErr_SetString(PyExc_ValueError, "take(layer, size)");
        return NULL;
    }
    self = _PyObject_New(block_type);
    if (self == NULL) {
        return NULL;
    }
    self->from = &layers[number];
    self->size = size;
    self->memory = self->from->take(size);
    if (self->memory == NULL) {
        Py_DecRef(self);
        return PyErr_NoMemory();
    }
    return self;
}

/* --- the module -----------------------------------------------------------
 */

static method block_methods[] = {
    {"resize", block_resize, METH_O, NULL},
    {"strain", block_strain, METH_NOARGS, NULL},
    {"release", block_release, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static slot block_slots[] = {
    {TP_DEALLOC, block_dealloc},
    {TP_METHODS, block_methods},
    {0, NULL},
};
static spec block_spec = {"blocks.Block", sizeof(block), 0, NO_CONSTRUCTOR,
                          block_slots};
static method functions[] = {
    {"take", take, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static module_def definition = {
    .object.count = 1, .name = "blocks", .size = -1, .methods = functions};

void *
PyInit_blocks(void)
{
    void *module = PyModule_Create2(&definition, API);
    size_t i;

    if (module == NULL) {
        return NULL;
    }
    if (block_type == NULL) {
        block_type = PyType_FromSpec(&block_spec);
    }
    PyModule_AddIntConstant(module, "OBJECT", (long)sizeof(block));
    for (i = 0; i < layer_count; i++) {
        PyModule_AddIntConstant(module, layers[i].name, (long)i);
    }
    return PyErr_Occurred() == NULL && block_type != NULL ? module : NULL;
}
