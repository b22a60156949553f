/*===- Arguments.c - Checks of arguments in a bundle --------------*- C -*-===*\
|*                                                                            *|
|* Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.      *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

/*===----------------------------------------------------------------------===*\
|* Arguments                                                                  *|
\*===----------------------------------------------------------------------===*/

static const int64_t maxElements = (int64_t)1 << 56;

/* Whether different elements of a written tensor have the same address. */
static int selfOverlaps(const struct argumentInfo *info, const struct argument *tensor) {
  unsigned order[maxRank], i, j;
  int64_t reach = 0;
  for (i = 0; i < info->rank; ++i) {
    for (j = i; j > 0 && tensor->strides[order[j - 1]] > tensor->strides[i]; --j)
      order[j] = order[j - 1];
    order[j] = i;
  }
  for (i = 0; i < info->rank; ++i) {
    unsigned d = order[i];
    if (tensor->sizes[d] <= 1)
      continue;
    if (tensor->strides[d] <= reach)
      return 1;
    reach += (tensor->sizes[d] - 1) * tensor->strides[d];
  }
  return 0;
}

static int checkTensor(const struct argumentInfo *info, const struct argument *tensor,
                       struct report *to) {
  int64_t elements = 1;
  unsigned d, last = info->rank - 1;
  for (d = 0; d < info->rank; ++d) {
    int64_t size = tensor->sizes[d], stride = tensor->strides[d];
    if (size < 0)
      return fail(to, launchSize, "size %u of `%s` is %lld; it must not be negative", d, info->name,
                  (long long)size);
    if (size && elements > maxElements / size)
      return fail(to, launchSize, "`%s` has more elements than memory can hold", info->name);
    elements *= size;
    if (stride < 0 || (size > 1 && stride > maxElements / size))
      return fail(to, launchStride,
                  "stride %u of `%s` is %lld; strides are counted in elements and are not negative",
                  d, info->name, (long long)stride);
  }
  if (elements == 0)
    return 0;
  if (tensor->sizes[last] > 1 && tensor->strides[last] != 1)
    return fail(to, launchStride,
                "`%s` has a stride of %lld in its last dimension; kernels need it to be 1",
                info->name, (long long)tensor->strides[last]);
  if (info->written && selfOverlaps(info, tensor))
    return fail(to, launchStride,
                "`%s` is written, but its strides map different elements to the same memory",
                info->name);
  if (!tensor->data)
    return fail(to, launchNull, "`%s` has %lld elements, but its data is a null pointer",
                info->name, (long long)elements);
  if ((uintptr_t)tensor->data % info->bytes)
    return fail(to, launchNull, "`%s` holds %s and is not aligned to %u bytes", info->name,
                info->type, info->bytes);
  return 0;
}

struct span {
  uintptr_t begin, end; /* equal if it is empty */
  uintptr_t row, width; /* bytes between rows and in one; 0: unknown */
};

static struct span spanOf(const struct argumentInfo *info, const struct argument *tensor) {
  struct span span = {0, 0, 0, 0};
  int64_t last = 0, outer = 0, inner = 0;
  unsigned d;
  for (d = 0; d < info->rank; ++d) {
    if (tensor->sizes[d] == 0)
      return span;
    last += (tensor->sizes[d] - 1) * tensor->strides[d];
    if (tensor->sizes[d] > 1 && tensor->strides[d] > outer)
      outer = tensor->strides[d];
  }
  for (d = 0; d < info->rank; ++d)
    if (tensor->sizes[d] > 1 && tensor->strides[d] != outer)
      inner += (tensor->sizes[d] - 1) * tensor->strides[d];
  span.begin = (uintptr_t)tensor->data;
  span.end = span.begin + (uintptr_t)(last + 1) * info->bytes;
  if (outer > inner) {
    span.row = (uintptr_t)outer * info->bytes;
    span.width = (uintptr_t)(inner + 1) * info->bytes;
  }
  return span;
}

static int overlap(struct span a, struct span b) {
  if (a.begin >= b.end || b.begin >= a.end)
    return 0;
  /* Column slices of one matrix interleave without touching. */
  if (a.row && a.row == b.row) {
    struct span first = a.begin <= b.begin ? a : b, second = a.begin <= b.begin ? b : a;
    uintptr_t between = (second.begin - first.begin) % first.row;
    return between < first.width || between + second.width > first.row;
  }
  return 1;
}

static int checkArguments(const struct kernel *kernel, const struct argument *arguments,
                          struct report *to) {
  const struct argumentInfo *info = kernel->arguments;
  struct span spans[argumentMost];
  size_t i, j;
  for (i = 0; i < kernel->argumentCount; ++i)
    if (info[i].tensor && checkTensor(&info[i], &arguments[i], to))
      return to->code;
  for (i = 0; i < kernel->ruleCount; ++i) {
    const struct sizeRule *rule = &kernel->rules[i];
    int64_t have = arguments[rule->argument].sizes[rule->dim];
    int64_t want = rule->other < 0 ? rule->value : arguments[rule->other].sizes[rule->otherDim];
    if (have == want)
      continue;
    if (rule->other < 0)
      return fail(to, launchSize, "size %u of `%s` is %lld, but must be %lld", rule->dim,
                  info[rule->argument].name, (long long)have, (long long)want);
    return fail(to, launchSize, "`%s` is %lld as size %u of `%s`, but %lld as size %u of `%s`",
                rule->name, (long long)have, rule->dim, info[rule->argument].name, (long long)want,
                rule->otherDim, info[rule->other].name);
  }
  for (i = 0; i < kernel->argumentCount; ++i)
    if (info[i].tensor)
      spans[i] = spanOf(&info[i], &arguments[i]);
  for (i = 0; i < kernel->argumentCount; ++i)
    for (j = 0; j < i; ++j) {
      if (!info[i].tensor || !info[j].tensor || (!info[i].written && !info[j].written) ||
          (info[i].mayOverlap && info[j].mayOverlap))
        continue;
      if (overlap(spans[i], spans[j]))
        return fail(to, launchOverlap, "`%s` and `%s` share memory, and `%s` is written",
                    info[j].name, info[i].name, info[info[i].written ? i : j].name);
    }
  return 0;
}
