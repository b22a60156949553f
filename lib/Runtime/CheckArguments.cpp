//===- CheckArguments.cpp - Checks of launch arguments --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Runtime/KernelInfo.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace penstock {

const char *nameOf(Element element) {
  static const char *const names[] = {
      "f16",    "bf16",     "f32",  "f64",           "f8e4m3",       "f8e5m2",
      "bool",   "i8",       "i16",  "i32",           "i64",          "index",
      "f8e8m0", "f4e2m1x2", "i4x2", "f6e2m3_packed", "f6e3m2_packed"};
  return names[static_cast<int>(element)];
}

namespace {

/// Larger tensors cannot be addressed on any machine; keeps sums from wrapping.
constexpr int64_t maxElements = int64_t(1) << 56;

class Checker {
public:
  Checker(const KernelInfo &info, std::span<const detail::Argument> arguments,
          const SourceLocation &location)
      : info(info), arguments(arguments), location(location) {}

  std::vector<Diagnostic> run() {
    if (arguments.size() != info.arguments.size()) {
      error(LaunchRank, "`" + info.name + "` takes " + std::to_string(info.arguments.size()) +
                            " arguments and is given " + std::to_string(arguments.size()));
      return std::move(diagnostics);
    }
    for (size_t i = 0; i < arguments.size(); ++i)
      checkKind(i);
    if (!diagnostics.empty())
      return std::move(diagnostics);
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].tensor)
        checkTensor(i);
    if (diagnostics.empty())
      checkSizes();
    if (diagnostics.empty())
      checkOverlap();
    return std::move(diagnostics);
  }

private:
  void error(DiagnosticCode code, std::string message, std::string help = "") {
    Diagnostic d;
    d.code = code;
    d.location = location.known() ? location : info.location;
    d.message = std::move(message);
    if (location.known() && info.location.known())
      d.notes.push_back({info.location, "`" + info.name + "` was compiled here", ""});
    if (!help.empty())
      d.helps.push_back(std::move(help));
    diagnostics.push_back(std::move(d));
  }
  std::string signatureHelp() const {
    return info.signature.empty() ? "" : "its signature is \"" + info.signature + "\"";
  }
  std::string called(size_t i) const { return "`" + info.arguments[i].name + "`"; }

  void checkKind(size_t i) {
    const ArgumentInfo &want = info.arguments[i];
    const detail::Argument &have = arguments[i];
    if (want.tensor != have.tensor)
      error(LaunchRank, called(i) + (want.tensor ? " is a tensor and is given a scalar"
                                                 : " is a scalar and is given a tensor"));
    else if (want.element != have.element)
      error(LaunchRank,
            called(i) + " holds " + nameOf(want.element) + " and is given " + nameOf(have.element));
    else if (want.tensor && (have.sizes.size() != static_cast<size_t>(want.rank) ||
                             have.strides.size() != have.sizes.size()))
      error(LaunchRank, called(i) + " has rank " + std::to_string(want.rank) +
                            " and is given rank " + std::to_string(have.sizes.size()));
  }

  void checkTensor(size_t i) {
    const detail::Argument &tensor = arguments[i];
    int64_t elements = 1;
    for (size_t d = 0; d < tensor.sizes.size(); ++d) {
      int64_t size = tensor.sizes[d], stride = tensor.strides[d];
      if (size < 0) {
        error(LaunchSize, "size " + std::to_string(d) + " of " + called(i) + " is " +
                              std::to_string(size) + "; it must not be negative");
        return;
      }
      if (size && elements > maxElements / size) {
        error(LaunchSize, called(i) + " has more elements than memory can hold");
        return;
      }
      elements *= size;
      if (stride < 0 || (size > 1 && stride > maxElements / size)) {
        error(LaunchStride,
              "stride " + std::to_string(d) + " of " + called(i) + " is " + std::to_string(stride),
              "strides are counted in elements and are not negative");
        return;
      }
    }
    if (elements == 0)
      return;
    if (tensor.sizes.back() > 1 && tensor.strides.back() != 1)
      error(LaunchStride,
            called(i) + " has a stride of " + std::to_string(tensor.strides.back()) +
                " in its last dimension; kernels need it to be 1",
            "pass a contiguous copy, or write the kernel for the transposed tensor");
    if (info.arguments[i].written && selfOverlaps(tensor))
      error(LaunchStride,
            called(i) + " is written, but its strides map different elements to "
                        "the same memory",
            "give every row memory of its own: a stride of at least " +
                std::to_string(tensor.sizes.back()) + " elements");
    if (!tensor.data)
      error(LaunchNull, called(i) + " has " + std::to_string(elements) +
                            " elements, but its data is a null pointer");
    else if (reinterpret_cast<uintptr_t>(tensor.data) % bytesOf(tensor.element))
      error(LaunchNull,
            called(i) + " holds " + nameOf(tensor.element) + " and is not aligned to " +
                std::to_string(bytesOf(tensor.element)) + " bytes",
            "pass memory that was allocated as " + std::string(nameOf(tensor.element)));
  }

  /// Elements are distinct if each stride steps over all that the smaller ones
  /// reach. (Exotic strides that happen to be distinct are refused too.)
  static bool selfOverlaps(const detail::Argument &tensor) {
    std::vector<size_t> order(tensor.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return tensor.strides[a] < tensor.strides[b]; });
    int64_t reach = 0;
    for (size_t d : order) {
      if (tensor.sizes[d] <= 1)
        continue;
      if (tensor.strides[d] <= reach)
        return true;
      reach += (tensor.sizes[d] - 1) * tensor.strides[d];
    }
    return false;
  }

  void checkSizes() {
    struct Seen {
      int64_t value;
      std::string where; ///< empty if it was fixed
      bool reported = false;
    };
    std::map<std::string, Seen> seen;
    for (const auto &[name, value] : info.fixedSizes)
      seen[name] = {value, ""};
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::vector<std::string> &names = info.arguments[i].sizes;
      for (size_t d = 0; d < names.size(); ++d) {
        int64_t value = arguments[i].sizes[d];
        std::string where = "size " + std::to_string(d) + " of " + called(i);
        if (names[d][0] >= '0' && names[d][0] <= '9') {
          if (names[d] != std::to_string(value))
            error(LaunchSize,
                  where + " is " + std::to_string(value) + ", but the signature says " + names[d],
                  signatureHelp());
          continue;
        }
        auto [known, isNew] = seen.try_emplace(names[d], Seen{value, where});
        if (!isNew && known->second.value != value && !std::exchange(known->second.reported, true))
          error(LaunchSize,
                "`" + names[d] + "` is " + std::to_string(value) + " as " + where + ", but " +
                    (known->second.where.empty()
                         ? "`fix` made it " + std::to_string(known->second.value) +
                               " when the kernel was compiled"
                         : std::to_string(known->second.value) + " as " + known->second.where),
                signatureHelp());
      }
    }
  }

  //===------------------------------------------------------------------===//
  // Overlap
  //===------------------------------------------------------------------===//

  struct Span {
    uintptr_t begin = 0, end = 0; ///< bytes, end exclusive; equal if empty
    uintptr_t row = 0, width = 0; ///< bytes between rows and in one; 0: unknown
  };

  Span spanOf(const detail::Argument &tensor) const {
    Span span;
    int64_t last = 0, outer = 0, inner = 0;
    for (size_t d = 0; d < tensor.sizes.size(); ++d) {
      if (tensor.sizes[d] == 0)
        return span;
      int64_t reach = (tensor.sizes[d] - 1) * tensor.strides[d];
      last += reach;
      if (tensor.sizes[d] > 1 && tensor.strides[d] > outer)
        outer = tensor.strides[d];
    }
    for (size_t d = 0; d < tensor.sizes.size(); ++d)
      if (tensor.sizes[d] > 1 && tensor.strides[d] != outer)
        inner += (tensor.sizes[d] - 1) * tensor.strides[d];
    size_t bytes = bytesOf(tensor.element);
    span.begin = reinterpret_cast<uintptr_t>(tensor.data);
    span.end = span.begin + static_cast<uintptr_t>(last + 1) * bytes;
    if (outer > inner) {
      span.row = static_cast<uintptr_t>(outer) * bytes;
      span.width = static_cast<uintptr_t>(inner + 1) * bytes;
    }
    return span;
  }

  static bool overlap(const Span &a, const Span &b) {
    if (a.begin >= b.end || b.begin >= a.end)
      return false;
    // Column slices of one matrix interleave without touching.
    if (a.row && a.row == b.row) {
      const Span &first = a.begin <= b.begin ? a : b, &second = a.begin <= b.begin ? b : a;
      uintptr_t between = (second.begin - first.begin) % first.row;
      return between < first.width || between + second.width > first.row;
    }
    return true;
  }

  void checkOverlap() {
    for (size_t i = 0; i < arguments.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const ArgumentInfo &a = info.arguments[i], &b = info.arguments[j];
        if (!a.tensor || !b.tensor || (!a.written && !b.written) || (a.mayOverlap && b.mayOverlap))
          continue;
        if (overlap(spanOf(arguments[i]), spanOf(arguments[j])))
          error(LaunchOverlap,
                called(j) + " and " + called(i) + " share memory, and " +
                    called(a.written ? i : j) + " is written",
                "give the kernel separate tensors, or one InOut tensor");
      }
  }

  const KernelInfo &info;
  std::span<const detail::Argument> arguments;
  const SourceLocation &location;
  std::vector<Diagnostic> diagnostics;
};

} // namespace

std::vector<Diagnostic> checkArguments(const KernelInfo &info,
                                       std::span<const detail::Argument> arguments,
                                       const SourceLocation &location) {
  if (argumentsFit(info, arguments))
    return {};
  return Checker(info, arguments, location).run();
}

} // namespace penstock
