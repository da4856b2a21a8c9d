/* Functions whose presence tells clients the release of CUPTI.
 *
 * FAKE_CUPTI_SYMBOLS=130200 defines those of CUDA 13.2, 130300 of 13.3 and
 * 130400 of 13.4; calls of them fail.
 */
#include "cupti/fake_cupti.h"

FK_EXPORT int cuptiSubscribe_v2(void **subscriber, void *callback,
                                void *userdata, void *parameters);
FK_EXPORT int cuptiActivityEnable_v2(void *subscriber, uint32_t kind,
                                     void *config);

int
cuptiSubscribe_v2(void **subscriber, void *callback, void *userdata,
                  void *parameters)
{
    (void)subscriber, (void)callback, (void)userdata, (void)parameters;
    return CUPTI_ERROR_NOT_SUPPORTED;
}

int
cuptiActivityEnable_v2(void *subscriber, uint32_t kind, void *config)
{
    (void)subscriber, (void)kind, (void)config;
    return CUPTI_ERROR_NOT_SUPPORTED;
}

#if FAKE_CUPTI_SYMBOLS >= 130300
FK_EXPORT int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer,
                                            size_t valid, void **record);

int
cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid,
                              void **record)
{
    (void)subscriber, (void)buffer, (void)valid, (void)record;
    return CUPTI_ERROR_NOT_SUPPORTED;
}
#endif

#if FAKE_CUPTI_SYMBOLS >= 130400
FK_EXPORT int cuptiClockControlLock(void *parameters);

int
cuptiClockControlLock(void *parameters)
{
    (void)parameters;
    return CUPTI_ERROR_NOT_SUPPORTED;
}
#endif
