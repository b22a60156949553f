/*===- Driver.c - Errors, and the driver of a bundle --------------*- C -*-===*\
|*                                                                            *|
|* Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.      *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

/*===----------------------------------------------------------------------===*\
|* Errors                                                                     *|
\*===----------------------------------------------------------------------===*/

struct report {
  char *text;
  size_t size;
  int code;
};

/* Keeps the first error. */
static int fail(struct report *to, int code, const char *format, ...) {
  if (to->code)
    return to->code;
  to->code = code;
  if (to->text && to->size) {
    va_list values;
    int used = snprintf(to->text, to->size, "PS%d: ", code);
    va_start(values, format);
    if (used >= 0 && (size_t)used < to->size)
      vsnprintf(to->text + used, to->size - (size_t)used, format, values);
    va_end(values);
  }
  return code;
}

static struct report reportTo(char *text, size_t size) {
  struct report to = {text, size, 0};
  if (text && size)
    text[0] = 0;
  return to;
}

enum {
  launchSize = 1302,
  launchStride = 1303,
  launchNull = 1304,
  launchOverlap = 1305,
  launchGrid = 1306,
  hardwareAlignment = 1608,
  gpuDriver = 1700,
  gpuMemory = 1701,
  gpuDevice = 1702,
  gpuLoad = 1703,
  gpuLaunch = 1704,
  gpuFailed = 1705,
  gpuCapture = 1706
};

/*===----------------------------------------------------------------------===*\
|* The driver                                                                 *|
\*===----------------------------------------------------------------------===*/

enum { attributeCluster = 4, attributeProgrammaticSerialization = 6 };

struct launchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int overlap;
  } value;
};

struct launchConfig {
  unsigned grid[3], block[3], sharedBytes;
  void *stream;
  struct launchAttribute *attributes;
  unsigned attributeCount;
};

typedef unsigned long long devicePointer;

struct driver {
  int (*init)(unsigned);
  int (*getErrorName)(int, const char **);
  int (*deviceGetCount)(int *);
  int (*deviceGetAttribute)(int *, int, int);
  int (*primaryCtxRetain)(void **, int);
  int (*ctxGetCurrent)(void **);
  int (*ctxPushCurrent)(void *);
  int (*ctxPopCurrent)(void **);
  int (*ctxGetDevice)(int *);
  int (*libraryLoadData)(void **, const void *, int *, void **, unsigned, int *, void **, unsigned);
  int (*libraryUnload)(void *);
  int (*libraryGetKernel)(void **, void *, const char *);
  int (*kernelSetAttribute)(int, int, void *, int);
  int (*launchKernelEx)(const struct launchConfig *, void *, void **, void **);
  int (*tensorMapEncodeTiled)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                              const uint32_t *, const uint32_t *, int, int, int, int);
  int (*pointerGetAttributes)(unsigned, int *, void **, devicePointer);
  int (*memAlloc)(devicePointer *, size_t);
  int (*memFree)(devicePointer);
  int (*memcpyDtoHAsync)(void *, devicePointer, size_t, void *);
  int (*memsetD8Async)(devicePointer, unsigned char, size_t, void *);
  int (*streamCreate)(void **, unsigned);
  int (*streamDestroy)(void *);
  int (*streamSynchronize)(void *);
  int (*streamGetCtx)(void *, void **);
  int (*exchangeCaptureMode)(int *);
};

/* In the order of the members, which all have the size of a pointer. */
static const char *const driverNames[] = {"cuInit",
                                          "cuGetErrorName",
                                          "cuDeviceGetCount",
                                          "cuDeviceGetAttribute",
                                          "cuDevicePrimaryCtxRetain",
                                          "cuCtxGetCurrent",
                                          "cuCtxPushCurrent",
                                          "cuCtxPopCurrent",
                                          "cuCtxGetDevice",
                                          "cuLibraryLoadData",
                                          "cuLibraryUnload",
                                          "cuLibraryGetKernel",
                                          "cuKernelSetAttribute",
                                          "cuLaunchKernelEx",
                                          "cuTensorMapEncodeTiled",
                                          "cuPointerGetAttributes",
                                          "cuMemAlloc",
                                          "cuMemFree",
                                          "cuMemcpyDtoHAsync",
                                          "cuMemsetD8Async",
                                          "cuStreamCreate",
                                          "cuStreamDestroy",
                                          "cuStreamSynchronize",
                                          "cuStreamGetCtx",
                                          "cuThreadExchangeStreamCaptureMode"};

/* A variant on all GPUs. */
struct loadedVariant {
  void *library, *function;
  atomic_uchar ready[maxDevices];
};

struct BUNDLE {
  struct driver driver;
  mtx_t mutex;
  struct loadedVariant variants[variantTotal];
  atomic_uint capability[maxDevices];
  /* Per GPU: a word for the faults of each variant, then 256 zero bytes. */
  devicePointer words[maxDevices];
  void *wordContexts[maxDevices];
};

enum { wordBytes = (variantTotal * 4 + 255) / 256 * 256, deviceBytes = wordBytes + 256 };

static int driverError(const struct driver *driver, struct report *to, int result,
                       const char *call) {
  const char *name = NULL, *cause = "the CUDA driver reports an error";
  int code = gpuLaunch;
  if (!driver->getErrorName || driver->getErrorName(result, &name) != 0)
    name = NULL;
  if (result == 34) {
    code = gpuDriver;
    cause = "libcuda.so.1 is the stub of the CUDA toolkit; remove its `stubs` folder from "
            "LD_LIBRARY_PATH and install NVIDIA's driver";
  } else if (result == 100) {
    code = gpuDriver;
    cause = "the driver finds no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES";
  } else if (result == 3 || result == 36 || result == 803 || result == 804) {
    code = gpuDriver;
    cause = "the CUDA driver cannot be used in this process";
  } else if (result == 2) {
    cause = "the GPU has no memory left";
  } else if (result == 200 || result == 209 || result == 218 || result == 222) {
    code = gpuLoad;
    cause = "the driver refuses the code of the kernel; it may be older than the kernel's PTX";
  } else if (result == 400) {
    cause = "the stream does not exist";
  } else if (result == 700 || result == 702 || (result >= 714 && result <= 719)) {
    code = gpuFailed;
    cause = "a kernel failed on the GPU";
  } else if (result >= 900 && result <= 908) {
    code = gpuCapture;
    cause = "the call is not possible while a stream is captured";
  }
  return fail(to, code, "%s (%s returned %d%s%s)", cause, call, result, name ? ", " : "",
              name ? name : "");
}

static int openDriver(struct driver *driver, struct report *to) {
  typedef int (*function)(void);
  int (*find)(const char *, void **, int, unsigned long long, int *) = NULL;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *symbol;
  function *members = (function *)driver;
  size_t i;
  int result;
  if (!library) {
    const char *reason = dlerror();
    return fail(to, gpuDriver,
                "the CUDA driver cannot be loaded: %s; install NVIDIA's driver, or start the "
                "container with `--gpus all`",
                reason ? reason : "dlopen failed");
  }
  symbol = dlsym(library, "cuGetProcAddress_v2");
  memcpy(&find, &symbol, sizeof find); /* C has no cast from data to functions */
  if (!find)
    return fail(to, gpuDriver, "the CUDA driver is too old; driver 525 or later is required");
  for (i = 0; i < sizeof driverNames / sizeof *driverNames; ++i) {
    void *address = NULL;
    int status = 0;
    if (find(driverNames[i], &address, 12000, 0, &status) == 0 && address)
      memcpy(&members[i], &address, sizeof address);
  }
  /* A stub answers every call alike; its first answer says what it is. */
  if (driver->init && (result = driver->init(0)) != 0)
    return driverError(driver, to, result, "cuInit");
  for (i = 0; i < sizeof driverNames / sizeof *driverNames; ++i)
    if (!members[i])
      return fail(to, gpuDriver, "the CUDA driver does not have `%s`; install a newer one",
                  driverNames[i]);
  return 0;
}
