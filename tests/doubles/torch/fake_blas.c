/* Double of cuBLAS and cuBLASLt for PyTorch: each product is one kernel.
 *
 * Preloaded with fake_runtime.c.  A kernel takes as long as the product would
 * at 400 TFLOP/s, and computes nothing.  What PyTorch calls for other ends,
 * such as factorisations, is left to NVIDIA's libraries, which find no GPU.
 */
#include "cuda/fake_interface.h"
#include "torch/fake_runtime.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <stdlib.h>
#include <string.h>

enum { FLOP_PER_NS = 400000, TILE = 128 };

struct cublasContext {
    cudaStream_t stream;
    cublasMath_t mode;
    cublasPointerMode_t pointers;
};

typedef struct {
    uint64_t rows, columns;
} layout;

static cublasStatus_t
multiply(const char *name, cudaStream_t stream, uint64_t m, uint64_t n,
         uint64_t k, uint64_t batches)
{
    dim3 grid = {(unsigned)((m + TILE - 1) / TILE),
                 (unsigned)((n + TILE - 1) / TILE), (unsigned)batches};
    dim3 block = {256, 1, 1};
    uint64_t ns = 2000 + 2 * m * n * k * batches / FLOP_PER_NS;
    return rt_run(name, stream, ns, grid, block, 0)
               ? CUBLAS_STATUS_EXECUTION_FAILED
               : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasCreate_v2(cublasHandle_t *made)
{
    *made = calloc(1, sizeof **made);
    return *made ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t
cublasDestroy_v2(cublasHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    (void)handle;
    (void)workspace;
    (void)bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
    *mode = handle->mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    handle->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    *mode = handle->pointers;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    handle->pointers = mode;
    return CUBLAS_STATUS_SUCCESS;
}

#define UNUSED(one) (void)(one)

cublasStatus_t
cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t ta,
               cublasOperation_t tb, int m, int n, int k, const float *alpha,
               const float *a, int lda, const float *b, int ldb,
               const float *beta, float *c, int ldc)
{
    UNUSED(ta), UNUSED(tb), UNUSED(alpha), UNUSED(a), UNUSED(lda);
    UNUSED(b), UNUSED(ldb), UNUSED(beta), UNUSED(c), UNUSED(ldc);
    return multiply("double_sgemm_128x128", handle->stream, (uint64_t)m,
                    (uint64_t)n, (uint64_t)k, 1);
}

cublasStatus_t
cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t ta,
               cublasOperation_t tb, int m, int n, int k, const double *alpha,
               const double *a, int lda, const double *b, int ldb,
               const double *beta, double *c, int ldc)
{
    UNUSED(ta), UNUSED(tb), UNUSED(alpha), UNUSED(a), UNUSED(lda);
    UNUSED(b), UNUSED(ldb), UNUSED(beta), UNUSED(c), UNUSED(ldc);
    return multiply("double_dgemm_128x128", handle->stream, (uint64_t)m,
                    (uint64_t)n, (uint64_t)k, 1);
}

cublasStatus_t
cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t ta,
                          cublasOperation_t tb, int m, int n, int k,
                          const float *alpha, const float *a, int lda,
                          long long int sa, const float *b, int ldb,
                          long long int sb, const float *beta, float *c,
                          int ldc, long long int sc, int batches)
{
    UNUSED(ta), UNUSED(tb), UNUSED(alpha), UNUSED(a), UNUSED(lda);
    UNUSED(b), UNUSED(ldb), UNUSED(beta), UNUSED(c), UNUSED(ldc);
    UNUSED(sa), UNUSED(sb), UNUSED(sc);
    return multiply("double_sgemm_batched", handle->stream, (uint64_t)m,
                    (uint64_t)n, (uint64_t)k, (uint64_t)batches);
}

cublasStatus_t
cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
             int m, int n, int k, const void *alpha, const void *a,
             cudaDataType at, int lda, const void *b, cudaDataType bt, int ldb,
             const void *beta, void *c, cudaDataType ct, int ldc,
             cublasComputeType_t type, cublasGemmAlgo_t algorithm)
{
    UNUSED(ta), UNUSED(tb), UNUSED(alpha), UNUSED(a), UNUSED(lda);
    UNUSED(b), UNUSED(ldb), UNUSED(beta), UNUSED(c), UNUSED(ldc);
    UNUSED(at), UNUSED(bt), UNUSED(ct), UNUSED(type), UNUSED(algorithm);
    return multiply("double_gemm_ex", handle->stream, (uint64_t)m, (uint64_t)n,
                    (uint64_t)k, 1);
}

cublasStatus_t
cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t ta,
                           cublasOperation_t tb, int m, int n, int k,
                           const void *alpha, const void *a, cudaDataType at,
                           int lda, long long int sa, const void *b,
                           cudaDataType bt, int ldb, long long int sb,
                           const void *beta, void *c, cudaDataType ct, int ldc,
                           long long int sc, int batches,
                           cublasComputeType_t type,
                           cublasGemmAlgo_t algorithm)
{
    UNUSED(ta), UNUSED(tb), UNUSED(alpha), UNUSED(a), UNUSED(lda);
    UNUSED(b), UNUSED(ldb), UNUSED(beta), UNUSED(c), UNUSED(ldc);
    UNUSED(at), UNUSED(bt), UNUSED(ct), UNUSED(type), UNUSED(algorithm);
    UNUSED(sa), UNUSED(sb), UNUSED(sc);
    return multiply("double_gemm_ex_batched", handle->stream, (uint64_t)m,
                    (uint64_t)n, (uint64_t)k, (uint64_t)batches);
}

cublasStatus_t
cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t transposed, int m,
               int n, const float *alpha, const float *a, int lda,
               const float *x, int incx, const float *beta, float *y, int incy)
{
    UNUSED(transposed), UNUSED(alpha), UNUSED(a), UNUSED(lda), UNUSED(x);
    UNUSED(incx), UNUSED(beta), UNUSED(y), UNUSED(incy);
    return multiply("double_sgemv", handle->stream, (uint64_t)m, 1,
                    (uint64_t)n, 1);
}

cublasStatus_t
cublasSdot_v2(cublasHandle_t handle, int n, const float *x, int incx,
              const float *y, int incy, float *result)
{
    UNUSED(x), UNUSED(incx), UNUSED(y), UNUSED(incy), UNUSED(result);
    return multiply("double_sdot", handle->stream, 1, 1, (uint64_t)n, 1);
}

/* --- cuBLASLt -------------------------------------------------------- */

size_t
cublasLtGetVersion(void)
{
    return CUBLAS_VERSION;
}

/* Descriptions hold more than is known of them: nobody looks into them. */
static cublasStatus_t
described(void *made)
{
    void *one = calloc(1, 512);
    memcpy(made, &one, sizeof one);
    return one ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t
cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made, cublasComputeType_t type,
                         cudaDataType_t scale)
{
    UNUSED(type), UNUSED(scale);
    return described(made);
}

cublasStatus_t
cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t one)
{
    free(one);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t one,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes)
{
    UNUSED(one), UNUSED(attribute), UNUSED(value), UNUSED(bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made)
{
    return described(made);
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t one)
{
    free(one);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t one,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes)
{
    UNUSED(one), UNUSED(attribute), UNUSED(value), UNUSED(bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made, cudaDataType type,
                           uint64_t rows, uint64_t columns, int64_t leading)
{
    UNUSED(type), UNUSED(leading);
    cublasStatus_t status = described(made);
    if (!status) {
        *(layout *)*made = (layout){rows, columns};
    }
    return status;
}

cublasStatus_t
cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t one)
{
    free(one);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t one,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes)
{
    UNUSED(one), UNUSED(attribute), UNUSED(value), UNUSED(bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t one,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int asked,
    cublasLtMatmulHeuristicResult_t *results, int *found)
{
    UNUSED(handle), UNUSED(one), UNUSED(a), UNUSED(b), UNUSED(c), UNUSED(d);
    UNUSED(preference);
    *found = asked > 0;
    if (*found) {
        memset(results, 0, sizeof *results);
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t one,
               const void *alpha, const void *a, cublasLtMatrixLayout_t al,
               const void *b, cublasLtMatrixLayout_t bl, const void *beta,
               const void *c, cublasLtMatrixLayout_t cl, void *d,
               cublasLtMatrixLayout_t dl, const cublasLtMatmulAlgo_t *choice,
               void *workspace, size_t bytes, cudaStream_t stream)
{
    UNUSED(handle), UNUSED(one), UNUSED(alpha), UNUSED(a), UNUSED(b);
    UNUSED(beta), UNUSED(c), UNUSED(cl), UNUSED(d), UNUSED(choice);
    UNUSED(workspace), UNUSED(bytes), UNUSED(bl);
    const layout *left = (const layout *)al, *made = (const layout *)dl;
    uint64_t m = made->rows, n = made->columns;
    uint64_t k = left->rows * left->columns / (m ? m : 1);
    return multiply("double_lt_matmul", stream, m, n, k, 1);
}
