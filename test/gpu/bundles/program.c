/* Two bundles in one program: `matmul`, through the example of docs/how-to/bundles.md, and `add`. */
#include "add.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int multiply(void *stream, const void *a, const void *b, void *c, int64_t M, int64_t N, int64_t K);

/* Of libcuda, which programs with CUDA's headers need not declare. */
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *);
int cuMemAlloc_v2(unsigned long long *, size_t);
int cuMemcpyHtoD_v2(unsigned long long, const void *, size_t);
int cuMemcpyDtoH_v2(void *, unsigned long long, size_t);
int cuStreamSynchronize(void *);

#define CUDA(call)                                                                                 \
  do {                                                                                             \
    int result = call;                                                                             \
    if (result) {                                                                                  \
      printf("%s returned %d\n", #call, result);                                                   \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* The bits of a small integer as f16. */
static uint16_t half(int value) {
  uint16_t sign = value < 0 ? 0x8000 : 0;
  int magnitude = abs(value), exponent = 0;
  if (!magnitude)
    return 0;
  while (magnitude >> (exponent + 1))
    ++exponent;
  return (uint16_t)(sign | (exponent + 15) << 10 | ((magnitude << (10 - exponent)) & 1023));
}

static void *uploaded(const void *from, size_t bytes) {
  unsigned long long address = 0;
  CUDA(cuMemAlloc_v2(&address, bytes));
  CUDA(cuMemcpyHtoD_v2(address, from, bytes));
  return (void *)(uintptr_t)address;
}

static int checkProduct(int M, int N, int K) {
  size_t i, wrong = 0;
  int m, n, k;
  uint16_t *a = malloc(sizeof *a * M * K), *b = malloc(sizeof *b * N * K),
           *c = calloc(M * N, sizeof *c);
  void *da, *db, *dc;
  for (i = 0; i < (size_t)(M * K); ++i)
    a[i] = half((int)(i % 5) - 2);
  for (i = 0; i < (size_t)(N * K); ++i)
    b[i] = half((int)(i % 3) - 1);
  da = uploaded(a, sizeof *a * M * K);
  db = uploaded(b, sizeof *b * N * K);
  dc = uploaded(c, sizeof *c * M * N);
  if (multiply(NULL, da, db, dc, M, N, K))
    return 1;
  CUDA(cuStreamSynchronize(NULL));
  CUDA(cuMemcpyDtoH_v2(c, (unsigned long long)(uintptr_t)dc, sizeof *c * M * N));
  for (m = 0; m < M; ++m)
    for (n = 0; n < N; ++n) {
      int sum = 0;
      for (k = 0; k < K; ++k)
        sum += ((m * K + k) % 5 - 2) * ((n * K + k) % 3 - 1);
      wrong += c[m * N + n] != half(sum);
    }
  printf("%dx%dx%d: %zu of %d elements are wrong\n", M, N, K, wrong, M * N);
  free(a);
  free(b);
  free(c);
  return wrong != 0;
}

static int checkSum(void) {
  enum { count = 1500 };
  static float a[count], b[count], c[count];
  struct add_args args = {.a = {NULL, {count}, {1}}, .b = {NULL, {count}, {1}}};
  add_t *add;
  char why[512];
  int i, wrong = 0;
  for (i = 0; i < count; ++i) {
    a[i] = (float)i;
    b[i] = 0.5f;
  }
  args.a.data = uploaded(a, sizeof a);
  args.b.data = uploaded(b, sizeof b);
  args.c.data = uploaded(c, sizeof c);
  args.c.sizes[0] = count;
  args.c.strides[0] = 1;
  if (add_load(&add, why, sizeof why) || add_launch(add, NULL, &args, why, sizeof why) ||
      add_synchronize(add, NULL, why, sizeof why)) {
    printf("%s\n", why);
    return 1;
  }
  CUDA(cuMemcpyDtoH_v2(c, (unsigned long long)(uintptr_t)args.c.data, sizeof c));
  for (i = 0; i < count; ++i)
    wrong += c[i] != (float)i + 0.5f;
  printf("%d of %d sums are wrong\n", wrong, count);
  add_unload(add);
  return wrong != 0;
}

int main(void) {
  void *context = NULL;
  CUDA(cuInit(0));
  CUDA(cuDevicePrimaryCtxRetain(&context, 0));
  CUDA(cuCtxSetCurrent(context));
  return checkProduct(72, 80, 136) | checkProduct(33, 35, 37) | checkSum();
}
