/*===- Types.c - The part that all bundles share ------------------*- C -*-===*\
|*                                                                            *|
|* Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.      *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* A bundle is this text around the tables of its kernels. It checks the      *|
|* arguments of a launch, chooses a configuration, computes the grid, encodes *|
|* tensor maps and calls CUDA's driver, which it opens at run time. Every     *|
|* name is static or has the bundle's prefix, so that a program can contain   *|
|* several bundles.                                                           *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

/* `struct step`, `field`, `mapRecipe` and `rowRule` come with the tables. */
struct step;
struct field;
struct mapRecipe;
struct rowRule;

enum { maxRank = 8, maxDevices = 64, mapBytes = 128, maxMapRank = 5, cachedMaps = 64 };

struct argumentInfo {
  const char *name;
  const char *type;
  unsigned tensor, bytes, rank, written, mayOverlap;
};

/* A size that must equal a number (other < 0) or another size. */
struct sizeRule {
  unsigned argument, dim;
  int other;
  unsigned otherDim;
  int64_t value;
  const char *name; /* in the signature */
};

/* A text with its number. `step` of a requirement must not be zero. */
struct message {
  unsigned step;
  int code;
  const char *text;
};

/* A size of the signature that a configuration is restricted to. */
struct bound {
  unsigned argument, dim;
  int64_t least, most;
};

struct variant {
  const char *name;
  unsigned threads, cluster[3], sharedBytes, parameterBytes;
  const struct step *steps;
  size_t stepCount;
  const unsigned *results;
  size_t resultCount;
  const struct message *requirements;
  size_t requirementCount;
  const struct field *fields;
  size_t fieldCount;
  const struct mapRecipe *maps;
  size_t mapCount;
  const struct rowRule *rows;
  size_t rowCount;
  const struct message *faults;
  size_t faultCount;
  const unsigned char *cubin, *ptx;
  unsigned number; /* in the bundle */
};

struct configuration {
  unsigned capability; /* 90, 100 */
  const struct bound *bounds;
  size_t boundCount;
  const struct variant *variants;
  size_t variantCount;
};

struct kernel {
  const char *name;
  const struct argumentInfo *arguments;
  size_t argumentCount;
  const struct sizeRule *rules;
  size_t ruleCount;
  const struct configuration *configurations;
  size_t configurationCount;
};

/* An argument of a launch. */
struct argument {
  void *data;
  const int64_t *sizes, *strides;
  uint64_t scalar;
};
