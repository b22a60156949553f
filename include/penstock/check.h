//===- check.h - Proving kernels for GPUs without a GPU ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `penstock check` and `penstock mutate` are made of. check runs a kernel on
// the emulator over shapes and timings, beside the reference that it must equal;
// mutate breaks its synchronisation, one instruction at a time, and asks whether
// that is noticed. Both return data; nothing here throws or prints.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CHECK_H
#define PENSTOCK_CHECK_H

#include "penstock/inspect.h"
#include "penstock/registry.h"

namespace penstock {

/// A size, or the value of a scalar argument.
struct Number {
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr Number(T number) : value(static_cast<double>(number)) {}
  double value;
};
/// Sizes of a signature and scalar arguments, by name: {{"M", 512}, {"K", 64}}.
using Shape = std::vector<std::pair<std::string, Number>>;

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

/// How far results may be from the reference's if no data make them exact, as of
/// exponentials.
struct Tolerance {
  /// As a part of the largest magnitude in the tensors that are read; 0: results
  /// are sums of products, equal for exact data.
  double of_largest = 0;
};

namespace detail {

/// What a kernel must equal: a tile program, or a function of the host's.
struct Reference {
  std::string kernel; ///< whose reference it is
  std::string name;
  Loc at;
  KernelSource (*source)(const char *name, Loc at) = nullptr;
  void (*host)(List<const Argument>) = nullptr;
  Tolerance tolerance = {};
};
PENSTOCK_EXPORT int registerReference(Reference);
PENSTOCK_EXPORT int registerShapes(const char *kernel, std::vector<Shape> shapes);
/// Part of an instruction or of a source line, and why it is not needed.
struct RedundantText {
  const char *text, *reason;
};
PENSTOCK_EXPORT int registerRedundant(const char *kernel, List<const RedundantText> texts);

template <class H> struct HostArgument {
  static H unpack(const Argument &argument) {
    H value;
    std::memcpy(&value, &argument.scalar, sizeof value);
    return value;
  }
};
template <class T, int R> struct HostArgument<TensorView<T, R>> {
  static TensorView<T, R> unpack(const Argument &argument) {
    TensorView<T, R> view;
    view.data = static_cast<T *>(argument.data);
    for (size_t d = 0; d < size_t(R); ++d) {
      view.sizes[d] = argument.sizes[d];
      view.strides[d] = argument.strides[d];
    }
    return view;
  }
};
template <auto Function> struct HostCall;
template <class... H, void (*Function)(H...)> struct HostCall<Function> {
  static void call(List<const Argument> arguments) {
    unpack(arguments, std::index_sequence_for<H...>());
  }
  template <size_t... I>
  static void unpack(List<const Argument> arguments, std::index_sequence<I...>) {
    Function(HostArgument<std::remove_cvref_t<H>>::unpack(arguments.data()[I])...);
  }
};

// Overloads on the kind of template argument: PENSTOCK_REFERENCE takes both.
template <class K>
Reference referenceOf(const char *kernel, const char *name, Loc at, Tolerance tolerance = {}) {
  Reference result{kernel, name, at};
  result.tolerance = tolerance;
  result.source = [](const char *program, Loc place) {
    using Arguments = typename FunctionTraits<K>::Arguments;
    return sourceOf(K(), program, static_cast<Arguments *>(nullptr), place);
  };
  return result;
}
template <auto Function>
Reference referenceOf(const char *kernel, const char *name, Loc at, Tolerance tolerance = {}) {
  Reference result{kernel, name, at};
  result.tolerance = tolerance;
  result.host = HostCall<Function>::call;
  return result;
}

} // namespace detail

/// PENSTOCK_REFERENCE(MatmulV4, Matmul): what the kernel of that name computes is
/// what the tile program Matmul computes on the interpreter. Instead of a tile
/// program, a function may be named that takes the kernel's arguments as views
/// and values of the host: void reference(TensorView<const f16, 2> A, ..). A
/// Tolerance may follow: PENSTOCK_REFERENCE(Softmax, onHost, {.of_largest = 0x1p-10}).
#define PENSTOCK_REFERENCE(KERNEL, REFERENCE, ...)                                                 \
  [[maybe_unused]] static const int penstock_reference_##KERNEL =                                  \
      ::penstock::detail::registerReference(::penstock::detail::referenceOf<REFERENCE>(            \
          #KERNEL, #REFERENCE, ::penstock::here() __VA_OPT__(, ) __VA_ARGS__))

/// PENSTOCK_SHAPES(Attention, {{"H", 2}, {"D", 64}}): the shapes that check takes
/// if none is asked for. A shape that leaves sizes open stands for the grid over
/// these: {} is the whole grid.
#define PENSTOCK_SHAPES(KERNEL, ...)                                                               \
  [[maybe_unused]] static const int penstock_shapes_##KERNEL =                                     \
      ::penstock::detail::registerShapes(#KERNEL, {__VA_ARGS__})

/// PENSTOCK_REDUNDANT(MatmulV6, {"barrier.cluster.wait", "both blocks have ..."}): why a
/// kernel is right without instructions that have this text, or whose source line
/// has it. Mutants that survive are explained by it; those that are killed are killed.
#define PENSTOCK_REDUNDANT(KERNEL, ...)                                                            \
  [[maybe_unused]] static const int penstock_redundant_##KERNEL = [] {                             \
    const ::penstock::detail::RedundantText texts[] = {__VA_ARGS__};                               \
    return ::penstock::detail::registerRedundant(#KERNEL, texts);                                  \
  }()

//===----------------------------------------------------------------------===//
// Arguments made from a signature
//===----------------------------------------------------------------------===//

enum class Data : uint8_t {
  Exact, ///< small integers: sums of thousands of products are exact in f32
  Random ///< uniform in [-1, 1): results are compared within a bound
};

/// Arguments of a launch with memory of their own.
struct MadeArguments {
  std::vector<detail::Argument> arguments;
  std::vector<std::vector<char>> memory;
  /// Nothing, or the one thing that is missing or wrong.
  std::vector<Diagnostic> diagnostics;
};
PENSTOCK_EXPORT MadeArguments make_arguments(const std::vector<ArgumentDescription> &descriptions,
                                             const Shape &shape, Data data, uint64_t seed);
/// Element \p index of a contiguous tensor, as a number.
PENSTOCK_EXPORT double element_at(const detail::Argument &tensor, size_t index);

//===----------------------------------------------------------------------===//
// check
//===----------------------------------------------------------------------===//

/// What is about to run. A receiver that wants to stop sets `cancel`.
struct CheckProgress {
  std::string kernel;
  std::string what; ///< the shape, or the mutant
  int number = 0, total = 0;
  bool cancel = false;
};

struct CheckedShape;

struct CheckOptions {
  /// Empty: those of PENSTOCK_SHAPES, or a grid of shapes that divide by the
  /// kernel's tiles and do not, tiny ones, fewer k tiles than stages, none, and
  /// more than twice the stages.
  std::vector<Shape> shapes = {};
  /// The first is eager, the second lazy, all others are random. Beside these, before
  /// the random ones and with the first kind of data, each warp is starved once.
  int timings = 20;
  uint64_t seed = 1; ///< of the data and of the first random timing
  /// Every timing runs with each of these.
  std::vector<Data> data = {Data::Exact, Data::Random};
  /// Values for a registered kernel's fields, as text.
  std::vector<std::pair<std::string, std::string>> set = {};
  /// Runs that passed are noted in this file, and left out the next time.
  std::string state = {};
  /// Launches that run at the same time; 0: as many as the machine has threads.
  int jobs = 0;
  Callback<CheckProgress &> progress = {};
  /// Receives each shape when it is done.
  Callback<const CheckedShape &> finished = {};
};

/// One kernel with one shape, over all timings.
struct CheckedShape {
  std::string kernel, target, shape;
  std::string reference; ///< empty: none is registered, only findings are reported
  uint64_t blocks = 0;
  unsigned warps = 0;
  /// How results are compared with it.
  bool exactly = false, within_bounds = false;
  int runs = 0;    ///< a timing with one kind of data each
  int skipped = 0; ///< runs that had passed before
  int wrong = 0;   ///< runs whose results differ
  /// Each distinct finding once, where it was first seen.
  std::vector<Diagnostic> findings;
  /// Why a shape of the default grid is none for this kernel; empty: it is.
  std::string refused;
  double seconds = 0;
};

/// A kernel that was left out of all, because it is not for this target.
struct SkippedKernel {
  std::string kernel, target, reason;
};

struct CheckReport {
  std::vector<CheckedShape> shapes;
  std::vector<SkippedKernel> skipped;
  /// Mistakes of the call, and kernels that do not compile.
  std::vector<Diagnostic> diagnostics;
  bool cancelled = false;

  /// Nothing was wrong, and something ran.
  PENSTOCK_EXPORT bool sound() const;
};

/// A registered kernel; the target is one of the GPUs.
PENSTOCK_EXPORT CheckReport check_registered(const std::string &kernel, Target target,
                                             const CheckOptions &options = {});
/// All registered kernels that compile for the target.
PENSTOCK_EXPORT CheckReport check_all(Target target, const CheckOptions &options = {});

namespace detail {
PENSTOCK_EXPORT CheckReport check(const KernelSource &, Target, const CheckOptions &);
} // namespace detail

/// A kernel of the caller's. Its reference is the one that is registered for its
/// type's name; CheckOptions::set is not for it.
template <class K>
CheckReport check(K kernel, Target target, const CheckOptions &options = {}, Loc at = here()) {
  using Arguments = typename detail::FunctionTraits<K>::Arguments;
  return detail::check(detail::sourceOf(std::move(kernel), detail::typeName<K>(),
                                        static_cast<Arguments *>(nullptr), at),
                       target, options);
}

/// One line for each shape with its findings below, and the sums.
PENSTOCK_EXPORT std::string to_text(const CheckReport &report);
PENSTOCK_EXPORT std::string to_text(const CheckedShape &shape);
PENSTOCK_EXPORT std::string summary_of(const CheckReport &report);
PENSTOCK_EXPORT std::string to_json(const CheckReport &report);
PENSTOCK_EXPORT std::string to_sarif(const CheckReport &report);

//===----------------------------------------------------------------------===//
// Pictures
//===----------------------------------------------------------------------===//

/// One run on the emulator, on a clock that counts instructions.
struct RunPicture {
  std::string svg;   ///< a Gantt chart: warps, copies, the tensor core
  std::string trace; ///< the same for Perfetto
  std::vector<Diagnostic> diagnostics;
};
/// Draws what the first block or pair of a registered kernel's launch does.
PENSTOCK_EXPORT RunPicture
draw_run(const std::string &kernel, Target target, const Shape &shape,
         const std::vector<std::pair<std::string, std::string>> &set = {}, uint32_t block = 0);

//===----------------------------------------------------------------------===//
// mutate
//===----------------------------------------------------------------------===//

struct MutateOptions {
  /// Empty: a few small shapes that reach all of a kernel's loops.
  std::vector<Shape> shapes = {};
  int timings = 4; ///< as those of CheckOptions
  uint64_t seed = 1;
  std::vector<std::pair<std::string, std::string>> set = {};
  int jobs = 0;
  Callback<CheckProgress &> progress = {};
};

/// A kernel with one synchronising instruction removed or altered.
struct Mutant {
  enum Fate : uint8_t {
    Killed,
    Explained, ///< every run passes, for a reason that the runs show
    Survived,
    Harmless, ///< not run: the text shows that it changes nothing
    Unreached ///< no run of the unchanged kernel gets to the instruction
  };
  std::string kernel, target;
  std::string change;      ///< "removed", "waits for the other phase"
  std::string instruction; ///< as it stands in the PTX
  SourcePlace ptx, source;
  Fate fate = Survived;
  /// The code of the finding that gave it away; 0 for a wrong result.
  unsigned code = 0;
  std::string reason; ///< what killed it, or why it may survive
};

struct MutateReport {
  std::vector<Mutant> mutants;
  std::vector<SkippedKernel> skipped;
  /// Mistakes of the call, and kernels that do not compile or are not sound.
  std::vector<Diagnostic> diagnostics;
  bool cancelled = false;

  PENSTOCK_EXPORT size_t count(Mutant::Fate fate) const;
  /// Those that runs could judge: all but the harmless and the unreached.
  PENSTOCK_EXPORT size_t tried() const;
  /// Every mutant that was tried was killed or is explained, and there was one.
  PENSTOCK_EXPORT bool all_accounted_for() const;
};

PENSTOCK_EXPORT MutateReport mutate_registered(const std::string &kernel, Target target,
                                               const MutateOptions &options = {});
PENSTOCK_EXPORT MutateReport mutate_all(Target target, const MutateOptions &options = {});

/// Survivors with their lines, the reasons that were found, and the sums.
PENSTOCK_EXPORT std::string to_text(const MutateReport &report);
PENSTOCK_EXPORT std::string summary_of(const MutateReport &report);
PENSTOCK_EXPORT std::string to_json(const MutateReport &report);
PENSTOCK_EXPORT std::string to_sarif(const MutateReport &report);

} // namespace penstock

#endif // PENSTOCK_CHECK_H
