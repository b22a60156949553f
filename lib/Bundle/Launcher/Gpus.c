/*===- Gpus.c - Loading and launching in a bundle -----------------*- C -*-===*\
|*                                                                            *|
|* Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.      *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

/*===----------------------------------------------------------------------===*\
|* GPUs                                                                       *|
\*===----------------------------------------------------------------------===*/

struct destination {
  void *context;
  int device, pushed;
};

static int isDefaultStream(void *stream) { return (uintptr_t)stream <= 2; }

/* Finds the context of a stream and makes it current until leave(). */
static int enter(struct BUNDLE *bundle, void *stream, struct destination *to,
                 struct report *report) {
  const struct driver *driver = &bundle->driver;
  const char *call = "cuCtxGetCurrent";
  void *current = NULL;
  int result = driver->ctxGetCurrent(&current);
  to->context = current;
  to->pushed = 0;
  to->device = 0;
  if (result == 0 && !isDefaultStream(stream)) {
    call = "cuStreamGetCtx";
    result = driver->streamGetCtx(stream, &to->context);
  } else if (result == 0 && !current) {
    call = "cuDevicePrimaryCtxRetain";
    result = driver->primaryCtxRetain(&to->context, 0);
  }
  if (result == 0 && to->context != current) {
    call = "cuCtxPushCurrent";
    result = driver->ctxPushCurrent(to->context);
    to->pushed = result == 0;
  }
  if (result == 0) {
    call = "cuCtxGetDevice";
    result = driver->ctxGetDevice(&to->device);
  }
  if (result != 0)
    return driverError(driver, report, result, call);
  if (to->device < 0 || to->device >= maxDevices)
    return fail(report, gpuDevice, "GPU %d is beyond the limit of %d", to->device, maxDevices);
  return 0;
}

static void leave(struct BUNDLE *bundle, struct destination *to) {
  void *ours = NULL;
  if (to->pushed)
    bundle->driver.ctxPopCurrent(&ours);
  to->pushed = 0;
}

static int capabilityOf(struct BUNDLE *bundle, int device, struct report *to) {
  int major = 0, minor = 0, result;
  if (bundle->capability[device])
    return 0;
  result = bundle->driver.deviceGetAttribute(&major, 75, device);
  if (result == 0)
    result = bundle->driver.deviceGetAttribute(&minor, 76, device);
  if (result != 0)
    return driverError(&bundle->driver, to, result, "cuDeviceGetAttribute");
  bundle->capability[device] = (unsigned)(major * 10 + minor);
  return 0;
}

/* Zeroed memory of a GPU. The default stream must not be touched: another stream may be
   captured. */
static int addWords(struct BUNDLE *bundle, int device, struct report *to) {
  const struct driver *driver = &bundle->driver;
  void *stream = NULL;
  devicePointer words = 0;
  const char *call = "cuMemAlloc";
  int result;
  if (bundle->words[device])
    return 0;
  result = driver->memAlloc(&words, deviceBytes);
  if (result == 0) {
    call = "cuStreamCreate";
    result = driver->streamCreate(&stream, 1);
  }
  if (result == 0) {
    call = "cuMemsetD8Async";
    result = driver->memsetD8Async(words, 0, deviceBytes, stream);
  }
  if (result == 0) {
    call = "cuStreamSynchronize";
    result = driver->streamSynchronize(stream);
  }
  if (stream)
    driver->streamDestroy(stream);
  if (result != 0)
    return driverError(driver, to, result, call);
  bundle->words[device] = words;
  return driver->ctxGetCurrent(&bundle->wordContexts[device]);
}

/* Loads a variant and makes it ready on a GPU, under the bundle's lock. */
static int prepareLocked(struct BUNDLE *bundle, const struct variant *variant, int device,
                         struct report *to) {
  const struct driver *driver = &bundle->driver;
  struct loadedVariant *loaded = &bundle->variants[variant->number];
  const char *call = "cuLibraryLoadData";
  int result = 0;
  if (atomic_load(&loaded->ready[device]))
    return 0;
  if (addWords(bundle, device, to))
    return to->code;
  if (!loaded->library) {
    /* Machine code first: it needs no newer driver, and loads faster. */
    result = variant->cubin ? driver->libraryLoadData(&loaded->library, variant->cubin, NULL, NULL,
                                                      0, NULL, NULL, 0)
                            : 209;
    if (result != 0 && variant->ptx)
      result =
          driver->libraryLoadData(&loaded->library, variant->ptx, NULL, NULL, 0, NULL, NULL, 0);
    if (result != 0)
      loaded->library = NULL;
  }
  if (result == 0 && !loaded->function) {
    call = "cuLibraryGetKernel";
    result = driver->libraryGetKernel(&loaded->function, loaded->library, variant->name);
  }
  if (result == 0) {
    call = "cuKernelSetAttribute";
    result = driver->kernelSetAttribute(8, (int)variant->sharedBytes, loaded->function, device);
  }
  if (result == 0 && variant->cluster[0] * variant->cluster[1] * variant->cluster[2] > 8)
    result = driver->kernelSetAttribute(14, 1, loaded->function, device);
  if (result != 0)
    return driverError(driver, to, result, call);
  atomic_store(&loaded->ready[device], 1);
  return 0;
}

static int prepare(struct BUNDLE *bundle, const struct variant *variant, int device,
                   struct report *to) {
  int mode = 2, relaxed;
  if (atomic_load_explicit(&bundle->variants[variant->number].ready[device], memory_order_acquire))
    return 0;
  mtx_lock(&bundle->mutex);
  /* Loading is possible although a stream of this thread is captured. */
  relaxed = bundle->driver.exchangeCaptureMode(&mode) == 0;
  prepareLocked(bundle, variant, device, to);
  if (relaxed)
    bundle->driver.exchangeCaptureMode(&mode);
  mtx_unlock(&bundle->mutex);
  return to->code;
}

static uint64_t spannedBytes(const struct argumentInfo *info, const struct argument *tensor) {
  uint64_t last = 0;
  unsigned d;
  for (d = 0; d < info->rank; ++d) {
    if (tensor->sizes[d] == 0)
      return 0;
    last += (uint64_t)(tensor->sizes[d] - 1) * (uint64_t)tensor->strides[d];
  }
  return (last + 1) * info->bytes;
}

/* Asking the driver takes longer than a launch: each thread remembers tensors. */
static int checkPointer(struct BUNDLE *bundle, int device, const struct argumentInfo *info,
                        uint64_t address, uint64_t bytes, struct report *to) {
  static _Thread_local struct {
    struct BUNDLE *bundle;
    uint64_t address, bytes;
    int device;
  } known[64], *slot;
  unsigned type = 0, managed = 0, access = 0;
  int owner = 0, result;
  uint64_t start = 0;
  size_t size = 0;
  int attributes[] = {2, 8, 9, 11, 12, 16};
  void *values[] = {&type, &managed, &owner, &start, &size, &access};
  slot = &known[(address >> 4) * 0x9e3779b97f4a7c15u >> 58];
  if (slot->bundle == bundle && slot->address == address && slot->bytes >= bytes &&
      slot->device == device)
    return 0;
  result = bundle->driver.pointerGetAttributes(6, attributes, values, address);
  if (result != 0)
    return driverError(&bundle->driver, to, result, "cuPointerGetAttributes");
  if (type == 0) {
    int pageable = 0;
    if (bundle->driver.deviceGetAttribute(&pageable, 88, device) != 0 || !pageable)
      return fail(to, gpuMemory, "`%s` is in host memory; GPU %d cannot access it", info->name,
                  device);
  } else if (size && address + bytes > start + size) {
    return fail(to, gpuMemory, "`%s` needs %llu bytes, but its memory ends after %llu", info->name,
                (unsigned long long)bytes, (unsigned long long)(start + size - address));
  } else if (type == 2 && !managed && owner != device && access == 0) {
    return fail(to, gpuMemory, "`%s` is in the memory of GPU %d, and the kernel runs on GPU %d",
                info->name, owner, device);
  }
  slot->bundle = bundle;
  slot->address = address;
  slot->bytes = bytes;
  slot->device = device;
  return 0;
}

struct mapKey {
  const struct mapRecipe *recipe;
  uint64_t address;
  int64_t sizes[maxMapRank], strides[maxMapRank];
};

/* Encodes a tensor map, or copies it from those of this thread's last launches. */
static int addMap(struct BUNDLE *bundle, const struct argumentInfo *info,
                  const struct mapRecipe *recipe, const struct argument *tensor, uint64_t address,
                  unsigned char *into, struct report *to) {
  static _Thread_local struct {
    _Alignas(64) unsigned char map[mapBytes];
    struct mapKey key;
  } cache[cachedMaps];
  static const uint32_t elementStrides[maxMapRank] = {1, 1, 1, 1, 1};
  uint64_t hash = (uint64_t)(uintptr_t)recipe * 31 ^ address;
  uint64_t sizes[maxMapRank], strides[maxMapRank];
  struct mapKey key;
  unsigned d, slot;
  int empty = 0, result;
  memset(&key, 0, sizeof key);
  key.recipe = recipe;
  key.address = address;
  for (d = 0; d < info->rank; ++d) {
    key.sizes[d] = tensor->sizes[d];
    key.strides[d] = tensor->strides[d];
    empty |= tensor->sizes[d] == 0;
    hash = (hash ^ (uint64_t)key.sizes[d] ^ (uint64_t)key.strides[d] << 32) * 0x9e3779b97f4a7c15u;
  }
  slot = (unsigned)(hash >> 32) % cachedMaps;
  if (memcmp(&cache[slot].key, &key, sizeof key) != 0) {
    /* Types whose values are padded count them, not bytes, by whole boxes; rows are 32 bytes
       apart. */
    unsigned bits = recipe->dataType == 14 ? 4 : recipe->dataType == 15 ? 6 : 0;
    uint64_t apart = bits ? 32 : 16;
    for (d = 0; d < info->rank; ++d) {
      unsigned from = info->rank - 1 - d;
      sizes[d] = empty ? 1 : (uint64_t)tensor->sizes[from];
      if (bits && d == 0)
        sizes[d] = empty ? recipe->box[d] : sizes[d] * 8 / bits;
      strides[d] = d ? (uint64_t)tensor->strides[from] * info->bytes : info->bytes;
      /* The stride of a dimension of one element is never used, but checked. */
      if (d && (sizes[d] == 1 || strides[d] == 0))
        strides[d] = (strides[d] + apart - 1) / apart * apart + (strides[d] ? 0 : apart);
    }
    memset(&cache[slot].key, 0, sizeof key);
    result = bundle->driver.tensorMapEncodeTiled(
        cache[slot].map, (int)recipe->dataType, info->rank, (void *)(uintptr_t)address, sizes,
        strides + 1, recipe->box, elementStrides, 0, (int)recipe->swizzle, 2, 0);
    if (result != 0)
      return fail(to, hardwareAlignment,
                  "no tensor map can be made for `%s`: cuTensorMapEncodeTiled returned %d; "
                  "addresses and row strides must be multiples of 16 bytes",
                  info->name, result);
    cache[slot].key = key;
  }
  memcpy(into, cache[slot].map, mapBytes);
  return 0;
}

static int pack(struct BUNDLE *bundle, const struct kernel *kernel, const struct variant *variant,
                int device, const struct argument *arguments, const int64_t *constants,
                unsigned char *parameter, struct report *to) {
  devicePointer words = bundle->words[device];
  uint64_t addresses[argumentMost];
  size_t i;
  for (i = 0; i < kernel->argumentCount; ++i) {
    uint64_t bytes;
    addresses[i] = 0;
    if (!kernel->arguments[i].tensor)
      continue;
    addresses[i] = (uint64_t)(uintptr_t)arguments[i].data;
    bytes = spannedBytes(&kernel->arguments[i], &arguments[i]);
    if (bytes == 0)
      addresses[i] = words + wordBytes;
    else if (checkPointer(bundle, device, &kernel->arguments[i], addresses[i], bytes, to))
      return to->code;
  }
  for (i = 0; i < variant->fieldCount; ++i) {
    const struct field *field = &variant->fields[i];
    uint64_t value = 0;
    switch (field->kind) {
    case fieldAddress:
      value = addresses[field->index];
      break;
    case fieldSize:
      value = (uint64_t)arguments[field->index].sizes[field->dim];
      break;
    case fieldStride:
      value = (uint64_t)arguments[field->index].strides[field->dim];
      break;
    case fieldScalar:
      value = arguments[field->index].scalar;
      break;
    case fieldConstant:
      value = (uint64_t)constants[field->index];
      break;
    case fieldFaults:
      value = words + variant->number * 4;
      break;
    default: {
      unsigned argument = variant->maps[field->index].argument;
      if (addMap(bundle, &kernel->arguments[argument], &variant->maps[field->index],
                 &arguments[argument], addresses[argument], parameter + field->offset, to))
        return to->code;
      continue;
    }
    }
    memcpy(parameter + field->offset, &value, sizeof value);
  }
  return 0;
}

/* Launches a kernel, with `overlap` before the previous one of the stream has ended. With
   `chosen`, only says which variant it would be. */
static int launch(struct BUNDLE *bundle, void *stream, const struct kernel *kernel, int overlap,
                  const struct argument *arguments, const struct variant **chosen,
                  struct report *to) {
  _Alignas(64) unsigned char parameter[parameterMost];
  int64_t constants[resultMost];
  struct launchAttribute attributes[2];
  struct launchConfig config;
  struct destination at;
  const struct variant *variant = NULL;
  uint64_t blocks = 0;
  void *parameters[1];
  int result;
  if (!bundle || !arguments)
    return fail(to, launchNull, "the bundle or the arguments are a null pointer");
  if (checkArguments(kernel, arguments, to))
    return to->code;
  if (!enter(bundle, stream, &at, to) && !capabilityOf(bundle, at.device, to))
    variant = choose(kernel, bundle->capability[at.device], arguments, constants, &blocks, to);
  if (chosen)
    *chosen = variant;
  if (variant && blocks && !chosen && !prepare(bundle, variant, at.device, to) &&
      !pack(bundle, kernel, variant, at.device, arguments, constants, parameter, to)) {
    memset(attributes, 0, sizeof attributes);
    memset(&config, 0, sizeof config);
    config.grid[0] = (unsigned)blocks;
    config.grid[1] = config.grid[2] = config.block[1] = config.block[2] = 1;
    config.block[0] = variant->threads;
    config.sharedBytes = variant->sharedBytes;
    config.stream = stream;
    config.attributes = attributes;
    if (variant->cluster[0] * variant->cluster[1] * variant->cluster[2] > 1) {
      struct launchAttribute *cluster = &attributes[config.attributeCount++];
      cluster->id = attributeCluster;
      memcpy(cluster->value.cluster, variant->cluster, sizeof variant->cluster);
    }
    if (overlap) {
      struct launchAttribute *serialization = &attributes[config.attributeCount++];
      serialization->id = attributeProgrammaticSerialization;
      serialization->value.overlap = 1;
    }
    parameters[0] = parameter;
    result = bundle->driver.launchKernelEx(&config, bundle->variants[variant->number].function,
                                           parameters, NULL);
    if (result != 0)
      driverError(&bundle->driver, to, result, "cuLaunchKernelEx");
  }
  leave(bundle, &at);
  return to->code;
}

static int synchronize(struct BUNDLE *bundle, void *stream, struct report *to) {
  uint32_t words[wordBytes / 4];
  struct destination at;
  const char *call = "cuStreamSynchronize";
  int result;
  size_t i;
  if (!bundle)
    return fail(to, launchNull, "the bundle is a null pointer");
  if (!enter(bundle, stream, &at, to)) {
    result = bundle->driver.streamSynchronize(stream);
    mtx_lock(&bundle->mutex);
    if (result == 0 && bundle->words[at.device]) {
      call = "cuMemcpyDtoHAsync";
      result = bundle->driver.memcpyDtoHAsync(words, bundle->words[at.device], wordBytes, stream);
      if (result == 0)
        result = bundle->driver.streamSynchronize(stream);
      for (i = 0; result == 0 && i < variantTotal; ++i)
        if (words[i]) {
          if (words[i] <= variantFaults[i].faultCount) {
            const struct message *fault = &variantFaults[i].faults[words[i] - 1];
            fail(to, fault->code, "%s", fault->text);
          }
          call = "cuMemsetD8Async";
          result = bundle->driver.memsetD8Async(bundle->words[at.device] + 4 * i, 0, 4, stream);
          if (result == 0)
            result = bundle->driver.streamSynchronize(stream);
        }
    }
    mtx_unlock(&bundle->mutex);
    if (result != 0)
      driverError(&bundle->driver, to, result, call);
  }
  leave(bundle, &at);
  return to->code;
}

static int load(struct BUNDLE **bundle, struct report *to) {
  struct BUNDLE *made;
  if (!bundle)
    return fail(to, launchNull, "there is no address for the bundle");
  *bundle = NULL;
  made = calloc(1, sizeof *made);
  if (!made || mtx_init(&made->mutex, mtx_plain) != thrd_success) {
    free(made);
    return fail(to, gpuLaunch, "there is no memory left");
  }
  if (openDriver(&made->driver, to)) {
    mtx_destroy(&made->mutex);
    free(made);
    return to->code;
  }
  *bundle = made;
  return 0;
}

static void unload(struct BUNDLE *bundle) {
  const struct driver *driver;
  size_t i;
  if (!bundle)
    return;
  driver = &bundle->driver;
  for (i = 0; i < maxDevices; ++i) {
    void *ours = NULL;
    if (bundle->words[i] && driver->ctxPushCurrent(bundle->wordContexts[i]) == 0) {
      driver->memFree(bundle->words[i]);
      driver->ctxPopCurrent(&ours);
    }
  }
  for (i = 0; i < variantTotal; ++i)
    if (bundle->variants[i].library)
      driver->libraryUnload(bundle->variants[i].library);
  mtx_destroy(&bundle->mutex);
  free(bundle);
}
