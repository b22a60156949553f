/* Uses every part of penstock_c.h, from C.
 *
 *   program KERNELS [gpu]     the library of the examples; with gpu also on a driver */
#include <penstock/penstock_c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
#define CHECK(CONDITION)                                                                           \
  do {                                                                                             \
    if (!(CONDITION)) {                                                                            \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #CONDITION);                                       \
      ++failures;                                                                                  \
    }                                                                                              \
  } while (0)

enum { N = 3000 };
static float a[N], b[N], c[N];

static penstock_tensor vector(float *data, const int64_t *shape) {
  penstock_tensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.device_type = 1;
  tensor.ndim = 1;
  tensor.dtype_code = 2;
  tensor.dtype_bits = 32;
  tensor.dtype_lanes = 1;
  tensor.shape = shape;
  return tensor;
}

static penstock_argument of_tensor(const penstock_tensor *tensor) {
  penstock_argument argument;
  argument.kind = PENSTOCK_TENSOR;
  argument.value.tensor = tensor;
  return argument;
}

/* Sums of the host, of a kernel with three vectors. */
static void run_add(const penstock_kernel *kernel) {
  static const int64_t shape[] = {N};
  penstock_tensor tensors[3] = {vector(a, shape), vector(b, shape), vector(c, shape)};
  penstock_argument arguments[3];
  int i;
  for (i = 0; i < 3; ++i)
    arguments[i] = of_tensor(&tensors[i]);
  for (i = 0; i < N; ++i) {
    a[i] = (float)i;
    b[i] = 0.5f * (float)(N - i);
    c[i] = -1;
  }
  CHECK(penstock_launch(kernel, arguments, 3, NULL, NULL) == PENSTOCK_OK);
  for (i = 0; i < N; ++i)
    if (c[i] != a[i] + b[i])
      break;
  CHECK(i == N);
}

/* Expects one error with a code, and a part of its message. */
static void expect(penstock_status status, penstock_diagnostics *diagnostics, uint32_t code,
                   const char *part) {
  penstock_diagnostic first = penstock_diagnostics_get(diagnostics, 0);
  CHECK(status == PENSTOCK_FAILED);
  CHECK(penstock_diagnostics_count(diagnostics) >= 1);
  CHECK(first.severity == PENSTOCK_ERROR);
  if (first.code != code || !strstr(first.message, part)) {
    printf("expected PS%u with \"%s\", not PS%u: %s\n", code, part, first.code, first.message);
    ++failures;
  }
  penstock_diagnostics_free(diagnostics);
}

static void test_refusals(penstock_library *library, penstock_kernel *add) {
  static const int64_t shape[] = {N}, shorter[] = {N - 1};
  penstock_diagnostics *found = NULL;
  penstock_library *none = (penstock_library *)&found;
  penstock_kernel *kernel = NULL;
  penstock_compile_options options;
  penstock_setting field;
  penstock_tensor tensors[3] = {vector(a, shape), vector(b, shorter), vector(c, shape)};
  penstock_argument arguments[3];
  penstock_status status;
  int i;
  for (i = 0; i < 3; ++i)
    arguments[i] = of_tensor(&tensors[i]);

  status = penstock_open("/no/such/library.so", &none, &found);
  CHECK(none == NULL);
  expect(status, found, 1502, "cannot be loaded");
  status = penstock_open(NULL, &none, &found);
  expect(status, found, 1765, "`path` is null");
  status = penstock_parse("func.func @f(", "text.mlir", &none, &found);
  CHECK(status == PENSTOCK_FAILED && none == NULL);
  CHECK(strstr(penstock_diagnostics_text(found), "text.mlir") != NULL);
  penstock_diagnostics_free(found);

  memset(&options, 0, sizeof options);
  status = penstock_compile(library, "VectorAdd", &options, &kernel, &found);
  expect(status, found, 1765, "the field `size` of the options is 0");
  options.size = sizeof options;
  options.target = "sm_1";
  status = penstock_compile(library, "VectorAdd", &options, &kernel, &found);
  CHECK(kernel == NULL);
  CHECK(strstr(penstock_diagnostics_help(found, 0, 0), "sm_100a") != NULL);
  CHECK(penstock_diagnostics_help(found, 0, 1) == NULL);
  expect(status, found, 1765, "unknown target `sm_1`");
  options.target = NULL;
  field.name = "blok";
  field.value = "64";
  options.fields = &field;
  options.field_count = 1;
  status = penstock_compile(library, "VectorAdd", &options, &kernel, &found);
  CHECK(strstr(penstock_diagnostics_json(found), "\"PS1006\"") != NULL);
  expect(status, found, 1006, "has no field `blok`");
  status = penstock_compile(library, "VectorSub", NULL, &kernel, &found);
  expect(status, found, 1503, "no kernel `VectorSub`");

  status = penstock_launch(add, arguments, 3, NULL, &found);
  CHECK(penstock_diagnostics_get(found, 7).code == 0);
  expect(status, found, 1302, "`b`");
  status = penstock_launch(add, arguments, 2, NULL, &found);
  expect(status, found, 1765, "takes 3 arguments, not 2");
  status = penstock_launch(NULL, arguments, 3, NULL, &found);
  expect(status, found, 1765, "`kernel` is null");
  tensors[1] = vector(b, shape);
  tensors[1].dtype_code = 5; /* complex */
  status = penstock_launch(add, arguments, 3, NULL, &found);
  expect(status, found, 1765, "are of no type that kernels have");
  tensors[1].dtype_code = 2;
  tensors[1].ndim = 9;
  status = penstock_launch(add, arguments, 3, NULL, &found);
  expect(status, found, 1765, "has rank 9");
  tensors[1].ndim = 1;
  tensors[1].device_type = 7; /* Vulkan */
  status = penstock_launch(add, arguments, 3, NULL, &found);
  expect(status, found, 1765, "DLPack's type 7");
  arguments[1].kind = PENSTOCK_INT;
  arguments[1].value.integer = 1;
  status = penstock_launch(add, arguments, 3, NULL, &found);
  expect(status, found, 1765, "`b` of `VectorAdd` is a tensor");
  status = penstock_load_artifact("nonsense", 8, &kernel, &found);
  CHECK(status == PENSTOCK_FAILED && kernel == NULL && found != NULL);
  penstock_diagnostics_free(found);
}

/* Runs tasks in order, on this thread, and counts them. */
static void in_order(int32_t tasks, void (*task)(int32_t i, void *argument), void *argument,
                     void *context) {
  int32_t i;
  for (i = 0; i < tasks; ++i, ++*(int32_t *)context)
    task(i, argument);
}

static void test_executor(const penstock_kernel *add) {
  static const int64_t shape[] = {N};
  penstock_tensor tensors[3] = {vector(a, shape), vector(b, shape), vector(c, shape)};
  penstock_argument arguments[3];
  penstock_launch_options launch;
  int32_t tasks = 0;
  int i;
  for (i = 0; i < 3; ++i)
    arguments[i] = of_tensor(&tensors[i]);
  for (i = 0; i < N; ++i)
    b[i] = 3 * (a[i] = (float)i);
  memset(&launch, 0, sizeof launch);
  launch.size = sizeof launch;
  launch.threads = 2;
  launch.executor = in_order;
  launch.executor_context = &tasks;
  CHECK(penstock_launch(add, arguments, 3, &launch, NULL) == PENSTOCK_OK);
  for (i = 0; i < N && c[i] == 4 * (float)i; ++i)
    ;
  CHECK(i == N);
  CHECK(tasks == 2);
}

/* A scalar of each kind. */
static void test_text(const char *text) {
  static const int64_t shape[] = {N};
  penstock_diagnostics *found = NULL;
  penstock_library *library = NULL;
  penstock_kernel *scale = NULL;
  penstock_tensor x = vector(a, shape);
  penstock_argument arguments[3];
  int i;
  CHECK(penstock_parse(text, "scale.mlir", &library, &found) == PENSTOCK_OK);
  if (found)
    printf("%s\n", penstock_diagnostics_text(found));
  CHECK(strstr(penstock_library_json(library), "\"name\":\"scale\"") != NULL);
  CHECK(penstock_compile(library, "scale", NULL, &scale, &found) == PENSTOCK_OK);
  if (found)
    printf("%s\n", penstock_diagnostics_text(found));
  for (i = 0; i < N; ++i)
    a[i] = (float)i;
  arguments[0] = of_tensor(&x);
  arguments[1].kind = PENSTOCK_FLOAT;
  arguments[1].value.real = 0.25;
  arguments[2].kind = PENSTOCK_INT;
  arguments[2].value.integer = 3;
  CHECK(penstock_launch(scale, arguments, 3, NULL, NULL) == PENSTOCK_OK);
  CHECK(a[0] == 3 && a[8] == 5);
  arguments[2].value.integer = INT64_C(1) << 31;
  CHECK(penstock_launch(scale, arguments, 3, NULL, &found) == PENSTOCK_FAILED);
  CHECK(strstr(penstock_diagnostics_get(found, 0).message, "does not fit i32") != NULL);
  penstock_diagnostics_free(found);
  penstock_kernel_free(scale);
  penstock_library_free(library);
}

static void test_gpu(const penstock_library *library) {
  static const int64_t shape[] = {N};
  penstock_diagnostics *found = NULL;
  penstock_kernel *kernel = NULL, *loaded = NULL;
  penstock_compile_options options;
  penstock_launch_options launch;
  penstock_tensor tensors[3] = {vector(a, shape), vector(b, shape), vector(c, shape)};
  penstock_argument arguments[3];
  char *artifact;
  size_t size = 0;
  int i;
  CHECK(penstock_gpu_count() >= 1);
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.target = "gpu";
  CHECK(penstock_compile(library, "VectorAdd", &options, &kernel, &found) == PENSTOCK_OK);
  if (found)
    printf("%s\n", penstock_diagnostics_text(found));
  artifact = penstock_kernel_form(kernel, PENSTOCK_ARTIFACT, &size);
  CHECK(size > 100);
  CHECK(penstock_load_artifact(artifact, size, &loaded, NULL) == PENSTOCK_OK);
  penstock_free(artifact);
  for (i = 0; i < N; ++i)
    b[i] = 2 * (a[i] = (float)i);
  for (i = 0; i < 3; ++i) {
    float *host = tensors[i].data;
    CHECK(penstock_gpu_allocate(0, sizeof a, &tensors[i].data, NULL) == PENSTOCK_OK);
    CHECK(penstock_gpu_upload(0, tensors[i].data, host, sizeof a, NULL) == PENSTOCK_OK);
    tensors[i].device_type = 2;
    arguments[i] = of_tensor(&tensors[i]);
  }
  memset(&launch, 0, sizeof launch);
  launch.size = sizeof launch;
  launch.has_stream = 1;
  CHECK(penstock_launch(loaded, arguments, 3, &launch, NULL) == PENSTOCK_OK);
  CHECK(penstock_synchronize(NULL, NULL) == PENSTOCK_OK);
  CHECK(penstock_gpu_download(0, c, tensors[2].data, sizeof c, NULL) == PENSTOCK_OK);
  for (i = 0; i < N && c[i] == 3 * (float)i; ++i)
    ;
  CHECK(i == N);
  /* It never waits for the previous kernel. */
  launch.overlap_previous = 1;
  i = penstock_launch(loaded, arguments, 3, &launch, &found);
  expect((penstock_status)i, found, 1771, "overlap_previous");
  /* Programs of version 1 have a shorter struct. */
  launch.size = offsetof(penstock_launch_options, overlap_previous);
  CHECK(penstock_launch(loaded, arguments, 3, &launch, NULL) == PENSTOCK_OK);
  CHECK(penstock_synchronize(NULL, NULL) == PENSTOCK_OK);
  CHECK(penstock_gpu_allocate(99, 16, &tensors[0].data, &found) == PENSTOCK_FAILED);
  penstock_diagnostics_free(found);
  penstock_kernel_free(kernel);
  penstock_kernel_free(loaded);
}

static void test_reports(const penstock_library *library) {
  penstock_report_options options;
  penstock_setting sizes[3] = {{"M", "64"}, {"N", "64"}, {"K", "64"}};
  penstock_diagnostics *found = NULL;
  char *text = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.compile.target = "sm_90a";
  options.sizes = sizes;
  options.size_count = 3;
  options.timings = 2;
  CHECK(penstock_make_report(library, "Matmul", PENSTOCK_RUN_TIMELINE, &options, &text, &found) ==
        PENSTOCK_OK);
  if (found)
    printf("%s\n", penstock_diagnostics_text(found));
  CHECK(text && strncmp(text, "<svg", 4) == 0);
  penstock_free(text);
  CHECK(penstock_make_report(library, "Matmul", PENSTOCK_CHECK, &options, &text, &found) ==
        PENSTOCK_OK);
  if (found)
    printf("%s\n", penstock_diagnostics_text(found));
  CHECK(text && strstr(text, "\"runs\"") != NULL);
  penstock_free(text);
  CHECK(penstock_make_report(NULL, NULL, PENSTOCK_CACHE, NULL, &text, NULL) == PENSTOCK_OK);
  CHECK(text && strstr(text, "\"misses\"") != NULL);
  penstock_free(text);
  sizes[0].value = "many";
  CHECK(penstock_make_report(library, "Matmul", PENSTOCK_CHECK, &options, &text, &found) ==
        PENSTOCK_FAILED);
  CHECK(text == NULL && penstock_diagnostics_get(found, 0).code == 1765);
  penstock_diagnostics_free(found);
}

static char *read_file(const char *name) {
  char *text = calloc(1, 1 << 16);
  FILE *file = fopen(name, "r");
  if (!file || !text || fread(text, 1, (1 << 16) - 1, file) == 0)
    exit(2);
  fclose(file);
  return text;
}

int main(int argc, char **argv) {
  penstock_library *library = NULL, *text = NULL;
  penstock_kernel *add = NULL, *from_text = NULL;
  penstock_diagnostics *found = NULL;
  penstock_parameter parameter;
  char *form;
  size_t size = 0;
  if (argc < 3)
    return 2;
  CHECK(penstock_c_version() == PENSTOCK_C_VERSION);
  CHECK(strlen(penstock_version()) >= 5);
  if (penstock_open(argv[1], &library, &found) != PENSTOCK_OK) {
    printf("%s\n", penstock_diagnostics_text(found));
    return 1;
  }
  CHECK(strstr(penstock_library_json(library), "\"VectorAdd\"") != NULL);
  CHECK(penstock_compile(library, "VectorAdd", NULL, &add, &found) == PENSTOCK_OK);
  CHECK(found == NULL);
  CHECK(penstock_parameter_count(add) == 3);
  parameter = penstock_kernel_parameter(add, 2);
  CHECK(!strcmp(parameter.name, "c") && !strcmp(parameter.element, "f32") && parameter.tensor);
  CHECK(parameter.rank == 1 && parameter.written && !strcmp(parameter.sizes[0], "N"));
  CHECK(penstock_kernel_parameter(add, 3).name == NULL);
  run_add(add);
  test_executor(add);
  /* The same program as text. */
  form = penstock_kernel_form(add, PENSTOCK_TILE_PROGRAM, &size);
  CHECK(size == strlen(form));
  CHECK(penstock_parse(form, "add.mlir", &text, NULL) == PENSTOCK_OK);
  CHECK(penstock_compile(text, "VectorAdd", NULL, &from_text, NULL) == PENSTOCK_OK);
  run_add(from_text);
  penstock_free(form);
  penstock_kernel_free(from_text);
  penstock_library_free(text);
  form = read_file(argv[2]);
  test_text(form);
  free(form);
  test_refusals(library, add);
  if (argc > 3)
    test_gpu(library);
  else
    test_reports(library);
  penstock_kernel_free(add);
  penstock_library_free(library);
  printf("%d failures\n", failures);
  return failures != 0;
}
