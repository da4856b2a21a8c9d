/* Calls of the CUDA driver, on a double of the driver. */
#include "gpu/cuda_driver.h"

#include <string.h>

#include "check.h"

static int status; /* result of each call */
static char said[64];

static int
push(void *context)
{
    CHECK(context == (void *)said);
    strcat(said, "push ");
    return status;
}

static int
pop(void **context)
{
    *context = said;
    strcat(said, "pop ");
    return status;
}

static int
synchronize(void)
{
    strcat(said, "wait ");
    return 700; /* a kernel failed */
}

static int
device(int *handle, int ordinal)
{
    *handle = ordinal + 100;
    return status;
}

static int
device_name(char *name, int capacity, int handle)
{
    CHECK(handle == 103);
    memset(name, 'G', (size_t)capacity); /* without a terminating 0 */
    return 0;
}

static int
attribute(int *value, int number, int handle)
{
    CHECK(handle == 103);
    *value = number * 10;
    return number == 106
               ? 1
               : 0; /* an attribute that an old driver does not know */
}

static const lp_cuda_driver cuda = {
    .push = push,
    .pop = pop,
    .synchronize = synchronize,
    .device = device,
    .device_name = device_name,
    .attribute = attribute,
};

static void
waiting_leaves_the_context_as_it_was(void)
{
    status = 0;
    said[0] = '\0';
    lp_cuda_driver_wait(&cuda, said);
    CHECK(strcmp(said, "push wait pop ") == 0);
    status = 201; /* the context was destroyed */
    said[0] = '\0';
    lp_cuda_driver_wait(&cuda, said);
    CHECK(strcmp(said, "push ") == 0);
}

static int
value_of(const lp_gpu_device *description, const char *name)
{
    for (int i = 0; i < description->n_attributes; i++) {
        if (strcmp(description->attributes[i].name, name) == 0) {
            return description->attributes[i].value;
        }
    }
    return -1;
}

static void
a_device_is_described(void)
{
    lp_gpu_device description;

    status = 0;
    memset(&description, 0xAB, sizeof(description));
    lp_cuda_driver_describe(&cuda, 3, &description);
    CHECK(strlen(description.name) == LP_GPU_NAME - 1);
    CHECK(value_of(&description, "sms") == 160);
    CHECK(value_of(&description, "warp_size") == 100);
    CHECK(value_of(&description, "cc_major") == 750);
    CHECK(value_of(&description, "blocks_per_sm") == -1);
    CHECK(description.n_attributes < LP_GPU_ATTRIBUTES);
}

static void
a_driver_that_is_not_ready_describes_nothing(void)
{
    lp_gpu_device description;

    status = 3; /* CUDA_ERROR_NOT_INITIALIZED */
    memset(&description, 0xAB, sizeof(description));
    lp_cuda_driver_describe(&cuda, 3, &description);
    CHECK(description.name[0] == '\0' && description.n_attributes == 0);
}

static void
a_missing_driver_has_a_reason(void)
{
    char why[LP_GPU_WHY] = "";
    lp_cuda_driver none;

    CHECK(!lp_cuda_driver_open(&none, "libno_cuda.so.1", why, sizeof(why)));
    CHECK(strstr(why, "libno_cuda.so.1") != NULL);
}

int
main(void)
{
    waiting_leaves_the_context_as_it_was();
    a_device_is_described();
    a_driver_that_is_not_ready_describes_nothing();
    a_missing_driver_has_a_reason();
    return check_failures;
}
