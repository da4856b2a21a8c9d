/* Strings, numbered by content, whatever their pointers are. */
#include "gpu/string_table.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "random.h"

static void
nothing_has_number_0(void)
{
    lp_string_table strings;

    lp_string_table_init(&strings);
    CHECK(lp_string_table_intern(&strings, NULL) == 0);
    CHECK(lp_string_table_intern(&strings, "") == 0);
    CHECK(strcmp(lp_string_table_at(&strings, 0), "") == 0);
    CHECK(strcmp(lp_string_table_at(&strings, 7), "") == 0);
    lp_string_table_intern(&strings, "kernel");
    CHECK(lp_string_table_intern(&strings, "") == 0);
    CHECK(strcmp(lp_string_table_at(&strings, 0), "") == 0);
    CHECK(strcmp(lp_string_table_at(&strings, 2), "") == 0);
    lp_string_table_free(&strings);
}

static void
equal_strings_have_one_number(void)
{
    lp_string_table strings;
    char here[] = "_Z4axpyPfS_f", there[] = "_Z4axpyPfS_f";

    lp_string_table_init(&strings);
    CHECK(lp_string_table_intern(&strings, here) == 1);
    CHECK(lp_string_table_intern(&strings, there) == 1);
    CHECK(lp_string_table_intern(&strings, here) == 1);
    CHECK(lp_string_table_intern(&strings, "_Z4axpyPfS_") == 2);
    CHECK(strcmp(lp_string_table_at(&strings, 1), "_Z4axpyPfS_f") == 0);
    CHECK(strcmp(lp_string_table_at(&strings, 2), "_Z4axpyPfS_") == 0);
    lp_string_table_free(&strings);
}

static void
a_pointer_is_reused_for_another_string(void)
{
    lp_string_table strings;
    char name[16] = "first";

    lp_string_table_init(&strings);
    CHECK(lp_string_table_intern(&strings, name) == 1);
    strcpy(name, "second");
    CHECK(lp_string_table_intern(&strings, name) == 2);
    strcpy(name, "sec"); /* a prefix of it */
    CHECK(lp_string_table_intern(&strings, name) == 3);
    strcpy(name, "first");
    CHECK(lp_string_table_intern(&strings, name) == 1);
    CHECK(strcmp(lp_string_table_at(&strings, 2), "second") == 0);
    lp_string_table_free(&strings);
}

static void
a_freed_string_is_not_read(void)
{
    lp_string_table strings;

    lp_string_table_init(&strings);
    /* More pointers than there are hints, each freed after its look-up. */
    for (int i = 0; i < 3000; i++) {
        char *name = malloc(32);

        snprintf(name, 32, "kernel %d", i % 10);
        CHECK(lp_string_table_intern(&strings, name) ==
              (uint32_t)(i % 10) + 1);
        free(name);
    }
    CHECK(strings.n == 11);
    lp_string_table_free(&strings);
}

static void
long_strings_are_complete(void)
{
    lp_string_table strings;
    char *name = malloc(100001);

    lp_string_table_init(&strings);
    memset(name, 'x', 100000);
    name[100000] = '\0';
    CHECK(lp_string_table_intern(&strings, name) == 1);
    CHECK(strlen(lp_string_table_at(&strings, 1)) == 100000);
    name[99999] = 'y';
    CHECK(lp_string_table_intern(&strings, name) == 2);
    CHECK(strcmp(lp_string_table_at(&strings, 2), name) == 0);
    free(name);
    lp_string_table_free(&strings);
}

static void
many_strings_in_any_order(void)
{
    lp_string_table strings;
    uint32_t *numbers = calloc(20000, sizeof(uint32_t));
    uint64_t chance = 1;
    char name[4][32];

    lp_string_table_init(&strings);
    for (int i = 0; i < 200000; i++) {
        uint32_t which = random_below(&chance, 20000);
        char *place = name[random_below(&chance, 4)];
        uint32_t number;

        snprintf(place, 32, "\xc3\xa9%u", which);
        number = lp_string_table_intern(&strings, place);
        if (numbers[which] == 0) {
            CHECK(number == strings.n - 1);
            numbers[which] = number;
        }
        CHECK(number == numbers[which]);
        CHECK(strcmp(lp_string_table_at(&strings, number), place) == 0);
    }
    free(numbers);
    lp_string_table_free(&strings);
    CHECK(strings.strings == NULL && strings.n == 0);
}

int
main(void)
{
    nothing_has_number_0();
    equal_strings_have_one_number();
    a_pointer_is_reused_for_another_string();
    a_freed_string_is_not_read();
    long_strings_are_complete();
    many_strings_in_any_order();
    return check_failures;
}
