/* Optional libraries, and functions that they may lack. */
#include "gpu/dynlib.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

#ifdef __APPLE__
#  define LIBRARY "libSystem.B.dylib"
#else
#  define LIBRARY "libm.so.6"
#endif

typedef struct functions {
    int before;
    double (*root)(double);
    void (*none)(void);
    double (*cosine)(double);
    int after;
} functions;

static const lp_symbol symbols[] = {
    {"sqrt", offsetof(functions, root), false},
    {"there_is_no_such_function", offsetof(functions, none), true},
    {"cos", offsetof(functions, cosine), false},
};

static void
functions_are_found_by_name(void)
{
    functions found = {.before = 11, .after = 22};
    char why[64] = "nothing";
    void *library = lp_dynlib_open(LIBRARY, why, sizeof(why));

    CHECK(library != NULL && strcmp(why, "nothing") == 0);
    CHECK(lp_dynlib_open(LIBRARY, why, sizeof(why)) == library);
    CHECK(lp_dynlib_find(library, symbols, 3, &found, why, sizeof(why)));
    CHECK(found.root(16.0) > 3.99 && found.root(16.0) < 4.01);
    CHECK(found.cosine(0.0) > 0.99);
    CHECK(found.before == 11 && found.after == 22);
    CHECK(strcmp(why, "nothing") == 0);
}

static void
an_optional_function_that_is_missing_is_null(void)
{
    functions found;
    char why[64];

    memset(&found, 0xAB, sizeof(found)); /* from a library tried before */
    CHECK(lp_dynlib_find(lp_dynlib_open(LIBRARY, why, sizeof(why)), symbols, 3,
                         &found, why, sizeof(why)));
    CHECK(found.none == NULL && found.root != NULL);
}

static void
a_missing_function_is_named(void)
{
    lp_symbol needed[] = {symbols[0], symbols[1]};
    functions found = {0};
    char why[64] = "";
    void *library = lp_dynlib_open(LIBRARY, why, sizeof(why));

    needed[1].optional = false;
    CHECK(!lp_dynlib_find(library, needed, 2, &found, why, sizeof(why)));
    CHECK(strcmp(why, "it has no there_is_no_such_function") == 0);
    CHECK(!lp_dynlib_find(library, needed, 2, &found, why, 12));
    CHECK(strcmp(why, "it has no t") == 0); /* truncated and terminated */
}

static void
a_missing_library_has_a_reason(void)
{
    char why[256] = "", little[9];
    FILE *file;

    CHECK(lp_dynlib_open("libthere_is_none.so.99", why, sizeof(why)) == NULL);
    CHECK(strstr(why, "libthere_is_none.so.99") != NULL);
    memset(little, 'x', sizeof(little));
    CHECK(lp_dynlib_open("libthere_is_none.so.99", little, 8) == NULL);
    CHECK(strlen(little) <= 7 && little[8] == 'x');
    /* A file that is not a library is also refused. */
    file = fopen("not_a_library.so", "w");
    if (file != NULL) {
        fputs("text", file);
        fclose(file);
        why[0] = '\0';
        CHECK(lp_dynlib_open("./not_a_library.so", why, sizeof(why)) == NULL);
        CHECK(why[0] != '\0');
        remove("not_a_library.so");
    }
}

#ifdef __linux__
static void
a_truncated_file_is_not_mapped(void)
{
    FILE *from = fopen("/proc/self/exe", "rb"), *to = fopen("cut.so", "wb");
    char some[8192], why[64] = "";
    size_t n;

    CHECK(from != NULL && to != NULL);
    n = fread(some, 1, sizeof(some), from);
    CHECK(fwrite(some, 1, n, to) == sizeof(some));
    fclose(from);
    fclose(to);
    CHECK(lp_dynlib_open("./cut.so", why, sizeof(why)) == NULL);
    CHECK(strstr(why, "cut short") != NULL);
    to = fopen("cut.so", "wb"); /* empty */
    fclose(to);
    CHECK(lp_dynlib_open("./cut.so", why, sizeof(why)) == NULL);
    remove("cut.so");
    CHECK(lp_dynlib_open("./cut.so", why, sizeof(why)) == NULL);
}
#endif

int
main(void)
{
    functions_are_found_by_name();
    an_optional_function_that_is_missing_is_null();
    a_missing_function_is_named();
    a_missing_library_has_a_reason();
#ifdef __linux__
    a_truncated_file_is_not_mapped();
#endif
    return check_failures;
}
