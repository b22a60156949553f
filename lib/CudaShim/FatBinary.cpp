//===- FatBinary.cpp - PTX images inside of CUDA programs -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/FatBinary.h"

#include <cstdint>
#include <cstring>

namespace penstock::shim {
namespace {

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const uint8_t *data;
  const void *extra;
};

struct Header {
  uint32_t magic;
  uint16_t version;
  uint16_t headerSize;
  uint64_t size;
};

/// The beginning of an entry, as far as it is needed here.
struct Entry {
  uint16_t kind; ///< 1: PTX, 2: machine code
  uint16_t version;
  uint32_t headerSize;
  uint64_t size;
  uint32_t compressedSize;
};

constexpr uint32_t wrapperMagic = 0x466243b1, headerMagic = 0xba55ed50;

/// Reads `.target sm_90a` from the text.
void readTarget(PtxImage &image) {
  size_t at = image.text.find(".target sm_");
  if (at == std::string::npos)
    return;
  for (at += 11; at < image.text.size() && isdigit((unsigned char)image.text[at]); ++at)
    image.arch = image.arch * 10 + unsigned(image.text[at] - '0');
  image.archSpecific = at < image.text.size() && isalpha((unsigned char)image.text[at]);
}

} // namespace

PtxImage ptxImage(std::string text) {
  PtxImage image;
  image.text = std::move(text);
  readTarget(image);
  return image;
}

std::vector<PtxImage> readFatBinary(const void *pointer, std::string &problem) {
  std::vector<PtxImage> images;
  Wrapper wrapper;
  memcpy(&wrapper, pointer, sizeof wrapper);
  if (wrapper.magic != wrapperMagic || !wrapper.data) {
    problem = "the fat binary is of an unknown kind";
    return images;
  }
  Header header;
  memcpy(&header, wrapper.data, sizeof header);
  if (header.magic != headerMagic) {
    problem = "the fat binary is of an unknown kind";
    return images;
  }
  const uint8_t *at = wrapper.data + header.headerSize;
  const uint8_t *end = at + header.size;
  bool compressed = false;
  while (at + 64 <= end) {
    Entry entry;
    memcpy(&entry, at, sizeof entry);
    if (entry.headerSize < 32 || uint64_t(end - at) < entry.headerSize ||
        entry.size > uint64_t(end - at) - entry.headerSize)
      break;
    const char *payload = reinterpret_cast<const char *>(at + entry.headerSize);
    if (entry.kind == 1) {
      if (entry.compressedSize) {
        compressed = true;
      } else {
        images.push_back(ptxImage({payload, strnlen(payload, entry.size)}));
      }
    }
    at += entry.headerSize + entry.size;
  }
  if (images.empty())
    problem = compressed ? "its PTX is compressed: build with --no-compress" : "it holds no PTX";
  return images;
}

const PtxImage *chooseImage(const std::vector<PtxImage> &images, unsigned arch) {
  const PtxImage *best = nullptr;
  for (const PtxImage &image : images) {
    if (image.arch > arch || (image.archSpecific && image.arch != arch))
      continue;
    if (!best || image.arch > best->arch || (image.arch == best->arch && image.archSpecific))
      best = &image;
  }
  return best;
}

} // namespace penstock::shim
