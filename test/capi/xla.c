/* Calls the functions for XLA's FFI with frames as XLA makes them (xla/ffi/api/c_api.h).
 *
 *   xla KERNELS cpu|gpu     the library of the examples */
#include <penstock/penstock_c.h>

#include <stdio.h>
#include <string.h>

void __xla_ffi_penstock_bind(const char *key, const penstock_kernel *kernel, uint64_t results);
void *__xla_ffi_penstock_launch(void *frame);
void *__xla_ffi_penstock_launch_gpu(void *frame);

#define REQUIRE(CONDITION)                                                                         \
  do {                                                                                             \
    if (!(CONDITION)) {                                                                            \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #CONDITION);                                       \
      return 1;                                                                                    \
    }                                                                                              \
  } while (0)

typedef struct {
  size_t size;
  int type;
  void *next;
  void *metadata;
} extension;
typedef struct {
  size_t size;
  size_t version_size;
  void *version_extensions;
  int major, minor;
  uint32_t traits;
} metadata;
typedef struct {
  size_t size;
  void *extensions;
  const char *message;
  int code;
} error_create;
typedef struct {
  size_t size;
  void *extensions, *context, *stream;
} stream_get;
typedef struct {
  size_t size;
  void *extensions;
  size_t version_size;
  void *version_extensions;
  int major, minor;
  const void *internal;
  void *(*create_error)(error_create *);
  void *get_message, *destroy, *handler_register;
  void *(*get_stream)(stream_get *);
} api;
typedef struct {
  size_t size;
  void *extensions;
  int dtype;
  void *data;
  int64_t rank;
  const int64_t *dims;
} buffer;
typedef struct {
  const char *text;
  size_t size;
} bytes;
typedef struct {
  size_t size;
  void *extensions;
  int64_t count;
  int *types;
  buffer **values;
} buffers;
typedef struct {
  size_t size;
  void *extensions;
  int64_t count;
  int *types;
  bytes **names;
  void **values;
} attributes;
typedef struct {
  size_t size;
  void *extensions;
  const api *functions;
  void *context;
  int stage;
  buffers arguments, results;
  attributes attributes;
  void *future;
} frame;

static char message[4096];
static int streams = 0, context = 0;

static void *create_error(error_create *given) {
  snprintf(message, sizeof message, "%s", given->message);
  return message;
}

static void *get_stream(stream_get *given) {
  streams += given->context == &context;
  given->stream = NULL;
  return NULL;
}

enum { N = 3000, F32 = 11, C64 = 15, STRING = 4, BUFFER = 1, EXECUTE = 3 };

int main(int argc, char **argv) {
  static float host[3][N];
  static const int64_t shape[] = {N};
  int gpu = argc > 2 && !strcmp(argv[2], "gpu"), types[3] = {BUFFER, BUFFER, BUFFER};
  void *(*launch)(void *) = gpu ? __xla_ffi_penstock_launch_gpu : __xla_ffi_penstock_launch;
  penstock_library *library = NULL;
  penstock_kernel *kernel = NULL;
  penstock_compile_options options;
  api functions;
  buffer all[3];
  buffer *arguments[2] = {&all[0], &all[1]}, *results[1] = {&all[2]};
  bytes name = {"kernel", 6}, key = {"VectorAdd:1 and more", 11};
  bytes *names[1] = {&name};
  void *values[1] = {&key};
  int attribute_types[1] = {STRING};
  frame call;
  metadata asked;
  extension asks = {sizeof asks, 1, NULL, &asked};
  int i, k;
  memset(&functions, 0, sizeof functions);
  functions.create_error = create_error;
  functions.get_stream = get_stream;
  memset(&call, 0, sizeof call);
  call.size = sizeof call;

  /* When the function is registered, XLA asks for the version that it was written for. */
  memset(&asked, -1, sizeof asked);
  call.extensions = &asks;
  REQUIRE(launch(&call) == NULL);
  REQUIRE(asked.major == 0 && asked.minor == 1 && asked.traits == 0);

  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.target = gpu ? "gpu" : "native";
  REQUIRE(argc > 2 && penstock_open(argv[1], &library, NULL) == PENSTOCK_OK);
  REQUIRE(penstock_compile(library, "VectorAdd", &options, &kernel, NULL) == PENSTOCK_OK);
  for (k = 0; k < 3; ++k) {
    buffer b = {sizeof b, NULL, F32, host[k], 1, shape};
    for (i = 0; i < N; ++i)
      host[k][i] = k == 2 ? -1 : (float)((k + 1) * i);
    if (gpu) {
      REQUIRE(penstock_gpu_allocate(0, sizeof host[k], &b.data, NULL) == PENSTOCK_OK);
      REQUIRE(penstock_gpu_upload(0, b.data, host[k], sizeof host[k], NULL) == PENSTOCK_OK);
    }
    all[k] = b;
  }
  call.extensions = NULL;
  call.functions = &functions;
  call.context = &context;
  call.stage = EXECUTE;
  call.arguments.count = 2;
  call.arguments.types = types;
  call.arguments.values = arguments;
  call.results.count = 1;
  call.results.types = types;
  call.results.values = results;
  call.attributes.count = 1;
  call.attributes.types = attribute_types;
  call.attributes.names = names;
  call.attributes.values = values;

  /* The key is a text without a terminating zero, and not bound yet. */
  REQUIRE(launch(&call) == message);
  REQUIRE(strstr(message, "PS1765") && strstr(message, "`VectorAdd:1`, which this process has not"));
  __xla_ffi_penstock_bind("VectorAdd:1", kernel, 1 << 2);
  REQUIRE(launch(&call) == NULL);
  if (gpu) {
    REQUIRE(streams == 1);
    REQUIRE(penstock_synchronize(NULL, NULL) == PENSTOCK_OK);
    REQUIRE(penstock_gpu_download(0, host[2], all[2].data, sizeof host[2], NULL) == PENSTOCK_OK);
  }
  for (i = 0; i < N; ++i)
    REQUIRE(host[2][i] == (float)(3 * i));
  arguments[1] = &all[0];
  REQUIRE(launch(&call) == NULL);
  if (gpu) {
    REQUIRE(penstock_synchronize(NULL, NULL) == PENSTOCK_OK);
    REQUIRE(penstock_gpu_download(0, host[2], all[2].data, sizeof host[2], NULL) == PENSTOCK_OK);
  }
  for (i = 0; i < N; ++i)
    REQUIRE(host[2][i] == (float)(2 * i));

  call.arguments.count = 1;
  REQUIRE(launch(&call) == message && strstr(message, "`b` is missing"));
  call.arguments.count = 2;
  all[0].dtype = C64;
  REQUIRE(launch(&call) == message && strstr(message, "`a` has elements of a type"));
  return 0;
}
