//===- check.h - Testing GPU kernels on the emulator ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The API of `penstock check` and `penstock mutate`. check runs a kernel on the
// emulator over shapes and timings and compares it with a reference. mutate runs
// mutants, each with one broken synchronizing instruction, and reports those that
// survive. Both return data; no function throws or prints.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CHECK_H
#define PENSTOCK_CHECK_H

#include "penstock/inspect.h"
#include "penstock/registry.h"

#include <new>

namespace penstock {

/// Size, or value of a scalar argument.
struct Number {
  /// Converts from any C++ number.
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

/// Tolerance for kernels whose results are never exact, e.g. with exponentials.
struct Tolerance {
  /// Error bound relative to the largest input magnitude; 0: results are sums of
  /// products, which are equal for exact data.
  double of_largest = 0;
};

namespace detail {

/// Reference implementation: a tile program or a host function.
struct Reference {
  std::string kernel; ///< kernel under test
  std::string name;
  Loc at;
  KernelSource (*source)(const char *name, Loc at) = nullptr;
  void (*host)(List<const Argument>) = nullptr;
  Tolerance tolerance = {};
};
PENSTOCK_EXPORT int registerReference(Reference);
PENSTOCK_EXPORT int registerShapes(const char *kernel, std::vector<Shape> shapes);
/// Text of an instruction or of its source line, and the reason why its mutants are
/// equivalent.
struct EquivalenceEvidence {
  const char *text, *reason;
};
PENSTOCK_EXPORT int registerEvidence(const char *kernel, List<const EquivalenceEvidence> texts);
PENSTOCK_EXPORT int registerWaivers(const char *kernel, List<const EquivalenceEvidence> texts);

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
  result.source = [](const char *program, Loc where) {
    using Arguments = typename FunctionTraits<K>::Arguments;
    return sourceOf(K(), program, static_cast<Arguments *>(nullptr), where);
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

/// PENSTOCK_REFERENCE(MatmulV4, Matmul): registers the tile program Matmul, run by the
/// interpreter, as the reference of the kernel MatmulV4. A host function can be the
/// reference, too; it takes the kernel's arguments as views and values:
/// void reference(TensorView<const f16, 2> A, ..). The optional last argument is a
/// Tolerance: PENSTOCK_REFERENCE(Softmax, onHost, {.of_largest = 0x1p-10}).
#define PENSTOCK_REFERENCE(KERNEL, REFERENCE, ...)                                                 \
  [[maybe_unused]] static const int penstock_reference_##KERNEL =                                  \
      ::penstock::detail::registerReference(::penstock::detail::referenceOf<REFERENCE>(            \
          #KERNEL, #REFERENCE, ::penstock::here() __VA_OPT__(, ) __VA_ARGS__))

/// PENSTOCK_SHAPES(Attention, {{"H", 2}, {"D", 64}}): registers the default shapes of
/// check. A shape without some of the sizes expands to the default grid over these;
/// {} is the whole grid.
#define PENSTOCK_SHAPES(KERNEL, ...)                                                               \
  [[maybe_unused]] static const int penstock_shapes_##KERNEL =                                     \
      ::penstock::detail::registerShapes(#KERNEL, {__VA_ARGS__})

/// PENSTOCK_EQUIVALENT(MatmulV6, {"barrier.cluster.wait", "both blocks have ..."}): gives
/// the reason why mutants of instructions with this text, or whose source line has it,
/// are equivalent. It explains surviving mutants. Killed mutants are unaffected.
#define PENSTOCK_EQUIVALENT(KERNEL, ...)                                                           \
  [[maybe_unused]] static const int penstock_equivalent_##KERNEL = [] {                            \
    const ::penstock::detail::EquivalenceEvidence texts[] = {__VA_ARGS__};                         \
    return ::penstock::detail::registerEvidence(#KERNEL, texts);                                   \
  }()
/// PENSTOCK_WAIVE(Decode, {"b.when(expert >= 0", "experts are padded by the caller"}): gives the
/// reason why check may leave holes in the coverage of source lines with this text.
#define PENSTOCK_WAIVE(KERNEL, ...)                                                                \
  [[maybe_unused]] static const int penstock_waive_##KERNEL = [] {                                 \
    const ::penstock::detail::EquivalenceEvidence texts[] = {__VA_ARGS__};                         \
    return ::penstock::detail::registerWaivers(#KERNEL, texts);                                    \
  }()
/// Deprecated: PENSTOCK_EQUIVALENT.
#define PENSTOCK_REDUNDANT(KERNEL, ...) PENSTOCK_EQUIVALENT(KERNEL, __VA_ARGS__)

//===----------------------------------------------------------------------===//
// Arguments made from a signature
//===----------------------------------------------------------------------===//

enum class Data : uint8_t {
  Exact, ///< small integers: sums of thousands of products are exact in f32
  Random ///< in [-1, 1), in stripes of different magnitude: results are compared within a bound
};

namespace detail {
/// Aligns allocations as a GPU does: some TMA copies need more than malloc guarantees.
template <class T> struct GpuAlignment {
  using value_type = T;
  static constexpr std::align_val_t alignment{256};

  GpuAlignment() = default;
  template <class U> GpuAlignment(const GpuAlignment<U> &) {}
  T *allocate(size_t count) {
    return static_cast<T *>(::operator new(count * sizeof(T), alignment));
  }
  void deallocate(T *memory, size_t) { ::operator delete(memory, alignment); }
  bool operator==(const GpuAlignment &) const { return true; }
};
} // namespace detail

/// Arguments of a launch that own their memory.
struct MadeArguments {
  std::vector<detail::Argument> arguments;
  std::vector<std::vector<char, detail::GpuAlignment<char>>> memory;
  /// Empty, or one error.
  std::vector<Diagnostic> diagnostics;
};
/// Makes tensors and scalars for a shape, with data that depends on the seed only.
PENSTOCK_EXPORT MadeArguments make_arguments(const std::vector<ArgumentDescription> &descriptions,
                                             const Shape &shape, Data data, uint64_t seed);
/// Returns element \p index of a contiguous tensor as a number.
PENSTOCK_EXPORT double element_at(const detail::Argument &tensor, size_t index);

//===----------------------------------------------------------------------===//
// check
//===----------------------------------------------------------------------===//

/// The next run, or the next step before runs. The receiver sets `cancel` to stop.
struct CheckProgress {
  std::string kernel;
  std::string what;          ///< the shape, or the mutant
  int number = 0, total = 0; ///< of runs; 0: a run of the reference
  bool cancel = false;
};

struct CheckedShape;
struct CheckedCoverage;

struct CheckOptions {
  /// Shapes to run. Empty: those of PENSTOCK_SHAPES, or a default grid: multiples of the
  /// tile sizes and others, tiny sizes, and 0, fewer than `stages` and more than twice
  /// `stages` k-tiles; untiled sizes are small.
  std::vector<Shape> shapes = {};
  /// Number of timings: eager, lazy, then random ones. In addition each warp is starved
  /// once, with the first kind of data.
  int timings = 20;
  uint64_t seed = 1; ///< seed of the data and of the first random timing
  /// Kinds of data; every timing runs with each of them.
  std::vector<Data> data = {Data::Exact, Data::Random};
  /// Values for a registered kernel's fields, as text.
  std::vector<std::pair<std::string, std::string>> set = {};
  /// Input descriptions, e.g. "lengths=1..N". They override the signature.
  std::vector<std::string> inputs = {};
  /// Waived coverage: a part of a source line, or "file.h:12", and a reason.
  std::vector<std::pair<std::string, std::string>> waive = {};
  /// Time limit for one kernel and target. Runs that do not fit are reported.
  double seconds = 120;
  /// File that records passed runs; they are skipped the next time.
  std::string state = {};
  /// Concurrent launches; 0: one per hardware thread.
  int jobs = 0;
  /// Checks the shapes of one shard of many. Shards are disjoint.
  unsigned shard = 0, shards = 1;
  Callback<CheckProgress &> progress = {};
  /// Called after each shape.
  Callback<const CheckedShape &> finished = {};
  /// Called after the last shape of a kernel.
  Callback<const CheckedCoverage &> covered = {};
};

/// Results of one kernel with one shape, over all timings.
struct CheckedShape {
  std::string kernel, target, shape;
  std::string reference; ///< empty: none is registered, only findings are reported
  uint64_t blocks = 0;
  unsigned warps = 0;
  /// Kinds of comparison with the reference that were made.
  bool exactly = false, within_bounds = false;
  int runs = 0;    ///< one timing with one kind of data each
  int skipped = 0; ///< runs that passed before
  int not_run = 0; ///< runs after the time limit
  int wrong = 0;   ///< runs whose results differ
  /// Distinct findings, each from the first run that has it.
  std::vector<Diagnostic> findings;
  /// Reason why the kernel does not support this shape of the default grid; not a failure.
  std::string refused;
  double seconds = 0;
};

/// Kernel that check_all skipped because it is for another target.
struct SkippedKernel {
  std::string kernel, target, reason;
};

/// Coverage of a tile program over all shapes of a check. Explicit kernels have none.
struct CheckedCoverage {
  std::string kernel, target;
  /// Ranges of inputs, and whether they are stated, of the signature or inferred; empty: none.
  std::string inputs;
  /// Holes: errors, or warnings if the caller chose the shapes.
  std::vector<Diagnostic> holes;
  /// Waived holes with their reasons.
  std::vector<std::pair<Diagnostic, std::string>> waived;
};

struct CheckReport {
  std::vector<CheckedShape> shapes;
  std::vector<CheckedCoverage> coverage;
  std::vector<SkippedKernel> skipped;
  /// Errors in the options, and kernels that do not compile.
  std::vector<Diagnostic> diagnostics;
  bool cancelled = false;

  /// True if at least one run was made, all passed, and no hole in the coverage is an error.
  PENSTOCK_EXPORT bool sound() const;
};

/// Checks a registered kernel. The target must be a GPU.
PENSTOCK_EXPORT CheckReport check_registered(const std::string &kernel, Target target,
                                             const CheckOptions &options = {});
/// Checks all registered kernels that compile for the target.
PENSTOCK_EXPORT CheckReport check_all(Target target, const CheckOptions &options = {});

namespace detail {
PENSTOCK_EXPORT CheckReport check(const KernelSource &, Target, const CheckOptions &);
} // namespace detail

/// Checks a kernel object against the reference that is registered for its type's name.
/// CheckOptions::set is not supported.
template <class K>
CheckReport check(K kernel, Target target, const CheckOptions &options = {}, Loc at = here()) {
  using Arguments = typename detail::FunctionTraits<K>::Arguments;
  return detail::check(detail::sourceOf(std::move(kernel), detail::typeName<K>(),
                                        static_cast<Arguments *>(nullptr), at),
                       target, options);
}

/// Renders one line per shape with its findings, and a summary.
PENSTOCK_EXPORT std::string to_text(const CheckReport &report);
PENSTOCK_EXPORT std::string to_text(const CheckedShape &shape);
PENSTOCK_EXPORT std::string to_text(const CheckedCoverage &coverage);
/// Returns the last line of to_text(): numbers of kernels, runs and findings.
PENSTOCK_EXPORT std::string summary_of(const CheckReport &report);
/// Returns a report as JSON.
PENSTOCK_EXPORT std::string to_json(const CheckReport &report);
/// Returns a report as SARIF, for code review tools.
PENSTOCK_EXPORT std::string to_sarif(const CheckReport &report);

//===----------------------------------------------------------------------===//
// Pictures
//===----------------------------------------------------------------------===//

/// Times of one block's run on the emulator, in cycles of the timing model. The block has
/// an SM to itself.
struct RunTimes {
  std::string chip;
  double cycles = 0; ///< of the whole run
  /// Utilization of parts of the SM in the middle half of the MMAs, or in the whole run if
  /// there are no MMAs; for issue slots and units, of the busiest quarter.
  double tensor = 0, exponentials = 0, shared = 0, issue = 0, tma = 0;
  /// Multiply-adds of asynchronous MMAs per cycle, in the same part of the run. An MMA of a small
  /// shape keeps the tensor core busy at less than its peak rate.
  double multiplyAdds = 0;
  /// Tests of barriers that no loop repeats (`try_wait`), by line.
  struct Probe {
    unsigned line = 0;
    uint64_t succeeded = 0, total = 0;
    friend bool operator==(const Probe &, const Probe &) = default;
  };
  std::vector<Probe> probes;
  /// The largest of tensor, exponentials and shared: 1 is the roofline.
  PENSTOCK_EXPORT double roofline() const;
};
/// Renders the times as one line.
PENSTOCK_EXPORT std::string to_text(const RunTimes &times);

/// Timeline of one run: on the emulator, in cycles, or on the CPU, in nanoseconds.
struct RunPicture {
  RunTimes times;    ///< on the emulator
  std::string svg;   ///< a Gantt chart: warps, copies, the tensor core; or threads of the CPU
  std::string trace; ///< the same for Perfetto
  std::vector<Diagnostic> diagnostics;
};
struct DrawOptions {
  std::vector<std::pair<std::string, std::string>> set = {}; ///< fields
  uint32_t block = 0;                                        ///< whose timeline, with its cluster
  bool contract = false;                                     ///< as CompileOptions::contract
  bool slots = false; ///< adds a row for each slot of a ring: in flight, full or empty
};
/// Draws the timeline of one block or pair of a registered kernel's launch.
PENSTOCK_EXPORT RunPicture draw_run(const std::string &kernel, Target target, const Shape &shape,
                                    const DrawOptions &options = {});

/// Draws the second of two launches of a kernel on the CPU: the blocks that each thread ran.
/// \p threads: as LaunchOptions::threads.
PENSTOCK_EXPORT RunPicture draw_native_run(const AnyKernel &kernel, const std::string &name,
                                           const Shape &shape, int threads = 0);

/// Returns a large shape that a registered kernel accepts: up to 4096 along sizes in tiles
/// (2^24 if all tensors are vectors), the whole tile along sizes that one tile holds, 16 along the
/// others. It is empty, with an error (PS1750), if run times depend on values of inputs. `penstock
/// explain` predicts the run time for it if no shape is given.
PENSTOCK_EXPORT Shape typical_shape(const std::string &kernel, const InspectOptions &options,
                                    std::vector<Diagnostic> &diagnostics);

/// Predicts the run time of a registered kernel on H100 ("sm_90a") or B200 ("sm_100a") from a
/// run of one block's PTX on the emulator. Also supports non-specialized kernels, which
/// predict_registered rejects. The text is empty if there is an error.
PENSTOCK_EXPORT PredictedRun predict_from_run(const std::string &kernel,
                                              const std::string &architecture, const Shape &shape,
                                              const InspectOptions &options,
                                              std::vector<Diagnostic> &diagnostics);

//===----------------------------------------------------------------------===//
// mutate
//===----------------------------------------------------------------------===//

struct MutateOptions {
  /// Shapes to run; empty: a few small ones that enter all loops of the kernel.
  std::vector<Shape> shapes = {};
  int timings = 4; ///< see CheckOptions
  uint64_t seed = 1;
  std::vector<std::pair<std::string, std::string>> set = {};
  std::vector<std::string> inputs = {}; ///< see CheckOptions
  int jobs = 0;
  /// Tries the mutants of one shard of many. Shards are disjoint.
  unsigned shard = 0, shards = 1;
  Callback<CheckProgress &> progress = {};
};

/// Kernel with one synchronizing instruction, or one operation of its tile program, removed or
/// altered.
struct Mutant {
  enum Fate : uint8_t {
    Killed,
    Explained, ///< survived, with a reason why it is equivalent
    Survived,
    Equivalent,           ///< not run: equivalent by the text of the PTX or program alone
    Unreached,            ///< no run of the original kernel executes the instruction
    Harmless = Equivalent ///< deprecated: Equivalent
  };
  std::string kernel, target; ///< target: "program" for mutants of tile programs
  std::string change;         ///< "removed", "waits for the other phase"
  std::string instruction;    ///< PTX text, or an operation of the program
  SourceLocation ptx, source; ///< ptx is unknown for mutants of tile programs
  Fate fate = Survived;
  /// Code of the finding that killed it; 0: a wrong result.
  unsigned code = 0;
  std::string reason; ///< why it was killed, or why it is equivalent
};

struct MutateReport {
  std::vector<Mutant> mutants;
  std::vector<SkippedKernel> skipped;
  /// Errors in the options, and kernels that do not compile or are not sound.
  std::vector<Diagnostic> diagnostics;
  bool cancelled = false;

  /// Returns the number of mutants with this fate.
  PENSTOCK_EXPORT size_t count(Mutant::Fate fate) const;
  /// Number of mutants that were run.
  PENSTOCK_EXPORT size_t tried() const;
  /// True if at least one mutant was run and each was killed or is explained.
  PENSTOCK_EXPORT bool all_accounted_for() const;
};

/// Breaks the synchronization of a registered kernel, one instruction at a time.
PENSTOCK_EXPORT MutateReport mutate_registered(const std::string &kernel, Target target,
                                               const MutateOptions &options = {});
/// Mutates all registered kernels that compile for the target.
PENSTOCK_EXPORT MutateReport mutate_all(Target target, const MutateOptions &options = {});
/// Mutates the tile program of a registered kernel, and compares each mutant with the unchanged
/// program, for the shapes and data of check. All run on the interpreter.
PENSTOCK_EXPORT MutateReport mutate_program_registered(const std::string &kernel,
                                                       const MutateOptions &options = {});
/// Mutates the tile programs of all registered kernels that have one.
PENSTOCK_EXPORT MutateReport mutate_program_all(const MutateOptions &options = {});

/// Renders surviving mutants with their lines, reasons, and a summary.
PENSTOCK_EXPORT std::string to_text(const MutateReport &report);
PENSTOCK_EXPORT std::string summary_of(const MutateReport &report);
PENSTOCK_EXPORT std::string to_json(const MutateReport &report);
PENSTOCK_EXPORT std::string to_sarif(const MutateReport &report);

} // namespace penstock

#endif // PENSTOCK_CHECK_H
