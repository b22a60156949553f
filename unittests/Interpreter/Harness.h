//===- Harness.h - Running tile programs in tests ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests write programs as text and compare with plain C++. To keep the text
// short, these names are known in it: `!g1f32` to `!g3f32` (and so on for each
// element type) for tensors, `#s` and `#l` for the shared and the local space.
// Line 1 of a program is the line after the opening of its raw string.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_INTERPRETER_HARNESS_H
#define PENSTOCK_UNITTESTS_INTERPRETER_HARNESS_H

#include "Interpreter/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "gtest/gtest.h"

#include <limits>
#include <random>

namespace penstock::test {

/// A tensor of the host, contiguous unless a wider row is asked for.
template <class T> struct Tensor {
  std::vector<int64_t> sizes, strides;
  /// Not std::vector, whose bools are not bytes.
  std::unique_ptr<T[]> data;
  int64_t length = 0;

  explicit Tensor(std::vector<int64_t> sizes, T value = T(), int64_t row = 0)
      : sizes(sizes), strides(sizes.size(), 1) {
    for (size_t dim = sizes.size(); dim-- > 1;)
      strides[dim - 1] = dim + 1 == sizes.size() && row ? row : strides[dim] * sizes[dim];
    length = sizes.empty() ? 1 : sizes[0] * strides[0];
    data = std::make_unique<T[]>(length ? length : 1);
    std::fill_n(data.get(), length, value);
  }
  /// One dimension with these elements.
  static Tensor with(const std::vector<T> &values) {
    Tensor tensor({static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.data.get());
    return tensor;
  }

  template <class... Index> T &operator()(Index... index) {
    int64_t at = 0, dim = 0;
    ((at += index * strides[dim++]), ...);
    return data[at];
  }

  operator detail::Argument() {
    return {true, detail::ElementOf<T>::value, length ? data.get() : nullptr, sizes, strides};
  }

  /// Small integers, exact in every element type.
  void randomize(uint64_t seed, int from = -4, int to = 4) {
    std::mt19937_64 random(seed);
    for (int64_t i = 0; i < length; ++i)
      data[i] =
          static_cast<T>(static_cast<float>(from + static_cast<int>(random() % (to - from + 1))));
  }
};

template <class T> detail::Argument scalar(T value) {
  detail::Argument argument;
  argument.element = detail::ElementOf<T>::value;
  std::memcpy(&argument.scalar, &value, sizeof value);
  return argument;
}
inline detail::Argument index(int64_t value) {
  detail::Argument argument;
  argument.element = Element::index;
  argument.scalar = static_cast<uint64_t>(value);
  return argument;
}

/// A verified program, ready to run many times.
class Program {
public:
  explicit Program(std::string text);
  InterpretResult run(std::vector<detail::Argument> arguments,
                      const InterpretOptions &options = {});
  /// Runs, and fails the test if there are faults.
  void runClean(std::vector<detail::Argument> arguments, const InterpretOptions &options = {});

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Runs \p text, and fails the test if there are faults.
void runClean(std::string text, std::vector<detail::Argument> arguments,
              const InterpretOptions &options = {});
InterpretResult run(std::string text, std::vector<detail::Argument> arguments,
                    const InterpretOptions &options = {});

/// Runs a kernel without arguments in a context that lacks the models.
InterpretResult runWithoutModels(std::string text);

/// The first error that reading or verifying \p text gives, or "".
std::string refusal(std::string text);

/// Replaces every occurrence of \p from.
std::string replaceAll(std::string text, std::string_view from, std::string_view to);

/// "PS1402 at 3: message", one line for each fault.
std::string summary(const InterpretResult &result);

/// "f32", "f8E4M3FN": the element type in MLIR's text.
const char *mlirName(Element element);
/// As in the names of tensors: "f32", "e4m3".
const char *shortName(Element element);

/// In \p text, T becomes an element type and gNT the tensors of that type.
std::string withElement(std::string text, Element element);

/// Integers at the edges of their type and around zero, and some between.
template <class T> std::vector<T> interesting() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {Limits::min(),
                           T(Limits::min() + 1),
                           T(-2),
                           T(-1),
                           T(0),
                           T(1),
                           T(2),
                           T(3),
                           T(7),
                           T(8),
                           T(sizeof(T) * 8 - 1),
                           T(sizeof(T) * 8),
                           T(Limits::max() - 1),
                           Limits::max()};
  std::mt19937_64 random(11);
  for (int i = 0; i < 12; ++i)
    values.push_back(static_cast<T>(random()));
  return values;
}

/// A kernel that applies \p op to each pair of elements of A and B, or to each
/// element of A.
std::string binaryText(const std::string &op, Element in, Element out, const std::string &suffix);
std::string unaryText(const std::string &op, Element in, Element out, const std::string &suffix);

} // namespace penstock::test

#endif // PENSTOCK_UNITTESTS_INTERPRETER_HARNESS_H
