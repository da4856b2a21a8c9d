#include "gpu/nvtx.h"

#if LP_HAVE_NVTX

#  include <stddef.h>

#  include <nvtx3/nvToolsExt.h>

static nvtxDomainHandle_t
    domain; /* of the tool; never freed, because strings belong to it */

bool
lp_gpu_nvtx_open(void)
{
    if (domain == NULL) {
        domain = nvtxDomainCreateA("lineprof");
    }
    return domain != NULL;
}

const char *
lp_gpu_nvtx_why_not(void)
{
    return "no tool listens to NVTX";
}

const void *
lp_gpu_nvtx_register_string(const char *text)
{
    return nvtxDomainRegisterStringA(domain, text);
}

void
lp_gpu_nvtx_name_category(uint32_t category, const char *name)
{
    nvtxDomainNameCategoryA(domain, category, name);
}

void
lp_gpu_nvtx_push(const void *text, uint64_t payload, uint32_t category,
                 uint32_t color)
{
    nvtxEventAttributes_t range = {
        .version = NVTX_VERSION,
        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .category = category,
        .payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
        .payload.ullValue = payload,
    };

    if (text != NULL) {
        range.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        range.message.registered = (nvtxStringHandle_t)text;
    }
    if (color != 0) {
        range.colorType = NVTX_COLOR_ARGB;
        range.color = color;
    }
    nvtxDomainRangePushEx(domain, &range);
}

void
lp_gpu_nvtx_pop(void)
{
    nvtxDomainRangePop(domain);
}

#else

bool
lp_gpu_nvtx_open(void)
{
    return false;
}

const char *
lp_gpu_nvtx_why_not(void)
{
    return "this lineprof was built without NVTX";
}

const void *
lp_gpu_nvtx_register_string(const char *text)
{
    (void)text;
    return 0;
}

void
lp_gpu_nvtx_name_category(uint32_t category, const char *name)
{
    (void)category;
    (void)name;
}

void
lp_gpu_nvtx_push(const void *text, uint64_t payload, uint32_t category,
                 uint32_t color)
{
    (void)text;
    (void)payload;
    (void)category;
    (void)color;
}

void
lp_gpu_nvtx_pop(void)
{
}

#endif
