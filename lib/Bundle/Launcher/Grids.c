/*===- Grids.c - Grids and configurations of a bundle -------------*- C -*-===*\
|*                                                                            *|
|* Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.      *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

/*===----------------------------------------------------------------------===*\
|* Grids                                                                      *|
\*===----------------------------------------------------------------------===*/

static int64_t signExtended(uint64_t value, int64_t bits) {
  uint64_t sign, mask;
  if (bits >= 64)
    return (int64_t)value;
  sign = (uint64_t)1 << (bits - 1);
  mask = (sign << 1) - 1;
  return (int64_t)(((value & mask) ^ sign) - sign);
}

/* Two's complement throughout; 0 for a division that has no result. */
static int combine(unsigned kind, int64_t x, int64_t y, int64_t *to) {
  uint64_t a = (uint64_t)x, b = (uint64_t)y;
  if (kind >= stepDivS && kind <= stepFloorDivS && (y == 0 || (x == INT64_MIN && y == -1)))
    return 0;
  switch (kind) {
  case stepAdd:
    *to = (int64_t)(a + b);
    return 1;
  case stepSub:
    *to = (int64_t)(a - b);
    return 1;
  case stepMul:
    *to = (int64_t)(a * b);
    return 1;
  case stepDivS:
    *to = x / y;
    return 1;
  case stepDivU:
    *to = (int64_t)(a / b);
    return 1;
  case stepRemS:
    *to = x % y;
    return 1;
  case stepRemU:
    *to = (int64_t)(a % b);
    return 1;
  case stepCeilDivS:
    *to = x / y + (x % y != 0 && (x < 0) == (y < 0));
    return 1;
  case stepFloorDivS:
    *to = x / y - (x % y != 0 && (x < 0) != (y < 0));
    return 1;
  case stepMinS:
    *to = x < y ? x : y;
    return 1;
  case stepMaxS:
    *to = x > y ? x : y;
    return 1;
  case stepMinU:
    *to = a < b ? x : y;
    return 1;
  case stepMaxU:
    *to = a > b ? x : y;
    return 1;
  case stepAnd:
    *to = x & y;
    return 1;
  case stepOr:
    *to = x | y;
    return 1;
  case stepXor:
    *to = x ^ y;
    return 1;
  case stepShl:
    *to = b < 64 ? (int64_t)(a << b) : 0;
    return 1;
  case stepShrS:
    *to = x >> (b < 64 ? b : 63);
    return 1;
  case stepShrU:
    *to = b < 64 ? (int64_t)(a >> b) : 0;
    return 1;
  case stepEq:
    *to = x == y;
    return 1;
  case stepNe:
    *to = x != y;
    return 1;
  case stepLtS:
    *to = x < y;
    return 1;
  case stepLeS:
    *to = x <= y;
    return 1;
  case stepGtS:
    *to = x > y;
    return 1;
  case stepGeS:
    *to = x >= y;
    return 1;
  case stepLtU:
    *to = a < b;
    return 1;
  case stepLeU:
    *to = a <= b;
    return 1;
  case stepGtU:
    *to = a > b;
    return 1;
  case stepGeU:
    *to = a >= b;
    return 1;
  default:
    return 0;
  }
}

/* Returns how many steps have a value. */
static size_t evaluate(const struct variant *variant, const struct argument *arguments,
                       int64_t *values) {
  size_t i;
  for (i = 0; i < variant->stepCount; ++i) {
    const struct step *step = &variant->steps[i];
    switch (step->kind) {
    case stepConstant:
      values[i] = step->value;
      break;
    case stepSize:
      values[i] = arguments[step->a].sizes[step->value];
      break;
    case stepScalar:
      values[i] = signExtended(arguments[step->a].scalar, step->value);
      break;
    case stepSelect:
      values[i] = values[step->a] & 1 ? values[step->b] : values[step->c];
      break;
    case stepSignExtend:
      values[i] = signExtended((uint64_t)values[step->a], step->value);
      break;
    case stepZeroExtend:
      values[i] = step->value >= 64
                      ? values[step->a]
                      : (int64_t)((uint64_t)values[step->a] & (((uint64_t)1 << step->value) - 1));
      break;
    default:
      if (!combine(step->kind, values[step->a], values[step->b], &values[i]))
        return i;
    }
  }
  return i;
}

/* The first row stride, in bytes, that violates the rule; 0 if there is none. */
static int64_t misalignedStride(const struct kernel *kernel, const struct rowRule *rule,
                                const struct argument *arguments) {
  const struct argumentInfo *info = &kernel->arguments[rule->argument];
  const struct argument *tensor = &arguments[rule->argument];
  unsigned d;
  for (d = 0; d + 1 < info->rank; ++d) {
    /* Strides of dimensions with one element are not bounded. */
    int64_t bytes = tensor->sizes[d] > 1 ? tensor->strides[d] * (int64_t)info->bytes : 0;
    if (bytes % rule->bytes)
      return bytes;
  }
  return 0;
}

/* The length of the rows, in bytes, if that violates the rule; else 0. */
static int64_t misalignedLength(const struct kernel *kernel, const struct rowRule *rule,
                                const struct argument *arguments) {
  const struct argumentInfo *info = &kernel->arguments[rule->argument];
  int64_t bytes;
  if (!rule->multiple || !info->rank)
    return 0;
  bytes = arguments[rule->argument].sizes[info->rank - 1] * (int64_t)info->bytes;
  return bytes % rule->multiple ? bytes : 0;
}

/* The first variant that takes these rows, otherwise the last. */
static const struct variant *chooseVariant(const struct kernel *kernel,
                                           const struct configuration *configuration,
                                           const struct argument *arguments) {
  size_t i, r;
  for (i = 0; i + 1 < configuration->variantCount; ++i) {
    const struct variant *variant = &configuration->variants[i];
    int fits = 1;
    for (r = 0; r < variant->rowCount; ++r)
      if (misalignedStride(kernel, &variant->rows[r], arguments) ||
          misalignedLength(kernel, &variant->rows[r], arguments) ||
          (uintptr_t)arguments[variant->rows[r].argument].data % variant->rows[r].bytes)
        fits = 0;
    if (fits)
      break;
  }
  return &configuration->variants[i];
}

/* Computes the grid and the launch's constants; 0 with an error if it is invalid. */
static int prepareGrid(const struct kernel *kernel, const struct variant *variant,
                       const struct argument *arguments, int64_t *constants, uint64_t *blocks,
                       struct report *to) {
  int64_t values[stepMost];
  size_t i, count;
  unsigned d;
  for (i = 0; i < variant->rowCount; ++i) {
    int64_t bytes = misalignedStride(kernel, &variant->rows[i], arguments);
    if (bytes) {
      fail(to, hardwareAlignment,
           "rows of `%s` are %lld bytes apart; the kernel copies them with an engine that needs "
           "multiples of %u: pad the rows",
           kernel->arguments[variant->rows[i].argument].name, (long long)bytes,
           variant->rows[i].bytes);
      return 0;
    }
    bytes = misalignedLength(kernel, &variant->rows[i], arguments);
    if (bytes) {
      fail(to, hardwareAlignment,
           "rows of `%s` have %lld bytes; the kernel accesses multiples of %u: pad the rows",
           kernel->arguments[variant->rows[i].argument].name, (long long)bytes,
           variant->rows[i].multiple);
      return 0;
    }
  }
  for (i = 0; i < kernel->argumentCount; ++i)
    for (d = 0; kernel->arguments[i].tensor && d < kernel->arguments[i].rank; ++d)
      if (arguments[i].sizes[d] > INT32_MAX) {
        fail(to, launchSize, "`%s` has %lld elements along a dimension; GPU kernels count to 2^31",
             kernel->arguments[i].name, (long long)arguments[i].sizes[d]);
        return 0;
      }
  count = evaluate(variant, arguments, values);
  for (i = 0; i < variant->requirementCount; ++i) {
    const struct message *requirement = &variant->requirements[i];
    if (requirement->step < count && values[requirement->step] == 0) {
      fail(to, requirement->code, "%s", requirement->text);
      return 0;
    }
  }
  if (count != variant->stepCount) {
    fail(to, launchGrid, "a division by zero while the grid of `%s` was computed", kernel->name);
    return 0;
  }
  *blocks = 1;
  for (i = 0; i < variant->resultCount; ++i)
    constants[i] = values[variant->results[i]];
  for (i = 0; i < 3; ++i)
    if (constants[i] < 0 || constants[i] > INT32_MAX ||
        (*blocks *= (uint64_t)constants[i]) > INT32_MAX) {
      fail(to, launchGrid, "the grid of `%s` is negative or has 2^31 blocks or more", kernel->name);
      return 0;
    }
  return 1;
}

/* The first configuration for the GPU that accepts the arguments. */
static const struct variant *choose(const struct kernel *kernel, unsigned capability,
                                    const struct argument *arguments, int64_t *constants,
                                    uint64_t *blocks, struct report *to) {
  struct report first = {NULL, 0, 0};
  const struct variant *refused = NULL;
  int known = 0;
  size_t i, b;
  for (i = 0; i < kernel->configurationCount; ++i) {
    const struct configuration *each = &kernel->configurations[i];
    const struct variant *variant;
    struct report wrong = {NULL, 0, 0};
    int inside = 1;
    if (each->capability != capability)
      continue;
    known = 1;
    for (b = 0; b < each->boundCount; ++b) {
      int64_t size = arguments[each->bounds[b].argument].sizes[each->bounds[b].dim];
      inside &= size >= each->bounds[b].least && size <= each->bounds[b].most;
    }
    if (!inside)
      continue;
    variant = chooseVariant(kernel, each, arguments);
    if (prepareGrid(kernel, variant, arguments, constants, blocks, &wrong))
      return variant;
    if (!first.code) {
      first = wrong;
      refused = variant;
    }
  }
  if (refused)
    prepareGrid(kernel, refused, arguments, constants, blocks, to);
  else if (known)
    fail(to, launchSize, "no configuration of `%s` is for these sizes", kernel->name);
  else
    fail(to, gpuDevice, "`%s` was not compiled for this GPU, which is sm_%u", kernel->name,
         capability);
  return NULL;
}
