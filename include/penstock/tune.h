//===- tune.h - Tuning kernels ----------------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel declares which of its fields may vary:
//
//     static auto space() {
//       return Space<Matmul>()
//           .over(&Matmul::block_m, {64, 128, 256})
//           .over(&Matmul::stages, {2, 3, 4})
//           .where([](const Matmul &k) { return k.block_m >= 128 || k.stages > 2; })
//           .classes("M:log2, N, K");
//     }
//
// `penstock tune` and tune() fill records; tuned() reads them and never measures.
// Functions named try_ and tune do not throw.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TUNE_H
#define PENSTOCK_TUNE_H

#include "penstock/cache.h"
#include "penstock/check.h"

namespace penstock {

namespace detail {

/// Fields that vary together, and their values.
struct TuningAxis {
  std::vector<size_t> offsets; ///< of the fields in the kernel, in bytes
  /// By value, then by field.
  std::vector<std::vector<std::string>> values;
  Callback<void *, size_t> set; ///< sets the fields to values[i]
  Callback<const void *, std::vector<std::string> &> get;
};

struct TuningSpace {
  std::vector<TuningAxis> axes;
  /// Each clears its second argument if it excludes the kernel.
  std::vector<Callback<const void *, bool &>> where;
  std::string classes;
  Loc at;
};

/// Type-erased kernel with its space.
struct TunableKernel {
  std::string name;
  Loc at;
  std::vector<Field> fields; ///< registered fields; may be empty
  Callback<void *&> make;    ///< copies the kernel
  void (*destroy)(void *kernel) = nullptr;
  KernelSource (*source)(const void *kernel, const char *name, Loc at) = nullptr;
  TuningSpace space;
};

template <class F, class K> decltype(auto) fieldOf(F field, K &kernel) {
  if constexpr (std::is_member_object_pointer_v<F>)
    return (kernel.*field);
  else
    return field(kernel);
}

} // namespace detail

/// Space of values for the fields of a kernel: the product of its axes.
template <class K> class Space {
  template <class F>
  using Value =
      std::remove_cvref_t<decltype(detail::fieldOf(std::declval<F>(), std::declval<K &>()))>;

public:
  /// An empty space; over() adds axes.
  explicit Space(Loc where = here()) : at(where) {}

  /// Adds an axis for a field: a member pointer, or a function that returns a reference
  /// to it, `[](Matmul &k) -> int & { return k.pipeline.num_stages; }`.
  template <class F> Space &over(F field, std::initializer_list<Value<F>> values) {
    std::vector<std::tuple<Value<F>>> tuples;
    for (const auto &value : values)
      tuples.emplace_back(value);
    return add(std::move(tuples), field);
  }
  /// Adds an axis for two or three fields that vary together.
  template <class F, class G>
  Space &over(F first, G second, std::initializer_list<std::tuple<Value<F>, Value<G>>> values) {
    return add(std::vector<std::tuple<Value<F>, Value<G>>>(values), first, second);
  }
  template <class F, class G, class H>
  Space &over(F first, G second, H third,
              std::initializer_list<std::tuple<Value<F>, Value<G>, Value<H>>> values) {
    return add(std::vector<std::tuple<Value<F>, Value<G>, Value<H>>>(values), first, second, third);
  }

  /// Keeps only points that satisfy \p condition. All conditions apply.
  template <class F> Space &where(F condition) {
    conditions.push_back([condition](const K &kernel, bool &holds) {
      if (!condition(kernel))
        holds = false;
    });
    return *this;
  }

  /// Sizes of the signature that select a record: "M:log2, N, K". Launches whose sizes are
  /// equal, or with `:log2` between the same powers of two, share one. Default: all sizes.
  Space &classes(std::string text) {
    classText = std::move(text);
    return *this;
  }

  template <class D> void describe(detail::TuningSpace &to) const {
    for (const Axis &axis : axes) {
      detail::TuningAxis erased;
      erased.offsets = axis.offsets;
      erased.values = axis.values;
      erased.set = [set = axis.set](void *kernel, size_t value) {
        set(static_cast<K &>(*static_cast<D *>(kernel)), value);
      };
      erased.get = [get = axis.get](const void *kernel, std::vector<std::string> &texts) {
        get(static_cast<const K &>(*static_cast<const D *>(kernel)), texts);
      };
      to.axes.push_back(std::move(erased));
    }
    for (const auto &condition : conditions)
      to.where.push_back([condition](const void *kernel, bool &holds) {
        condition(static_cast<const K &>(*static_cast<const D *>(kernel)), holds);
      });
    to.classes = classText;
    to.at = at;
  }

private:
  struct Axis {
    std::vector<size_t> offsets;
    std::vector<std::vector<std::string>> values;
    Callback<K &, size_t> set;
    Callback<const K &, std::vector<std::string> &> get;
  };

  template <class... T, class... F> Space &add(std::vector<std::tuple<T...>> values, F... fields) {
    Axis axis;
    K kernel{};
    auto begin = reinterpret_cast<const char *>(&kernel);
    (axis.offsets.push_back(
         size_t(reinterpret_cast<const char *>(&detail::fieldOf(fields, kernel)) - begin)),
     ...);
    for (const auto &value : values)
      std::apply([&](const T &...each) { axis.values.push_back({detail::getField<T>(each)...}); },
                 value);
    axis.set = [values, fields...](K &to, size_t index) {
      std::apply([&](const T &...each) { ((detail::fieldOf(fields, to) = each), ...); },
                 values[index]);
    };
    axis.get = [fields...](const K &from, std::vector<std::string> &texts) {
      K &fromFields = const_cast<K &>(from); // functions take a kernel that can be changed
      (texts.push_back(detail::getField<T>(detail::fieldOf(fields, fromFields))), ...);
    };
    axes.push_back(std::move(axis));
    return *this;
  }

  std::vector<Axis> axes;
  std::vector<Callback<const K &, bool &>> conditions;
  std::string classText;
  Loc at;
};

//===----------------------------------------------------------------------===//
// Tuning
//===----------------------------------------------------------------------===//

/// Source of times.
enum class TimeSource : uint8_t {
  Best,     ///< the first of the following that is possible
  Events,   ///< events on a GPU
  Native,   ///< wall time on this CPU
  Predicted ///< the timing model; no hardware
};

/// One stage of pruning, and the points that it removed.
struct TuneStage {
  std::string name;
  size_t entered = 0, removed = 0;
  /// Codes of the reasons with their counts, most frequent first.
  std::vector<std::pair<unsigned, size_t>> reasons;
};

/// A point of a space.
struct TuneCandidate {
  /// Fields in the order of the axes.
  std::vector<std::pair<std::string, std::string>> fields;
  /// Stage that removed the point, and the reason; empty: it was timed, or is of another shard.
  std::string removed_by;
  unsigned code = 0;
  std::string reason;
  double predicted = 0;        ///< seconds; 0: not predicted
  std::vector<double> samples; ///< all of them, in seconds
  /// Samples that the state of the machine disturbed, by index. Predictions have none.
  std::vector<bool> disturbed;
  double seconds = 0; ///< median; 0: not timed
  double spread = 0;  ///< interquartile range divided by the median
  bool mine = true;   ///< belongs to this shard
  bool is_default = false;

  /// "block_m=64 stages=3".
  PENSTOCK_EXPORT std::string point() const;
};

struct TuneProgress {
  std::string kernel, stage;
  size_t done = 0, total = 0;
  /// The fastest so far, best first; at most five.
  std::vector<const TuneCandidate *> best;
  bool cancel = false;
};

struct TuneOptions {
  TimeSource times = TimeSource::Best;
  /// Machine file (`penstock bench --calibrate`) that predictions are scaled by; empty: none.
  std::string machine = {};
  /// Candidates to measure: the best predicted ones, and some random ones; natively at least a
  /// quarter of them. Only used if all have a prediction.
  size_t keep = 16, random = 4;
  /// Rounds of measuring. Each times every candidate once; slow ones drop out.
  int rounds = 15;
  /// Upper bound of the time for measuring; 0: none.
  double seconds = 0;
  /// Works on the candidates of one shard of many.
  unsigned shard = 0, shards = 1;
  int jobs = 0; ///< threads that compile; 0: all
  /// Cache of the records; null: KernelCache::process().
  KernelCache *cache = nullptr;
  /// Times candidates that have records, too.
  bool again = false;
  /// Times nothing: reports the existing records.
  bool only_records = false;
  uint64_t seed = 1;
  Callback<TuneProgress &> progress = {};
};

struct TuneReport {
  std::string kernel, target, machine, shape, shape_class;
  TimeSource times = TimeSource::Best;
  std::vector<TuneStage> stages;
  /// All points, in the order of the space.
  std::vector<TuneCandidate> candidates;
  /// Index of the fastest; -1: none.
  int best = -1;
  /// Errors, and candidates with wrong results.
  std::vector<Diagnostic> diagnostics;
  bool cancelled = false;
};

/// Tunes a registered kernel that has a space for a shape.
PENSTOCK_EXPORT TuneReport tune_registered(const std::string &kernel, Target target,
                                           const Shape &shape, const TuneOptions &options = {});
/// Writes the winners to a table, and keeps its entries of other kernels. Returns errors.
PENSTOCK_EXPORT std::vector<Diagnostic> export_table(const std::string &file,
                                                     const std::vector<TuneReport> &reports);
/// Names of registered kernels that have a space.
PENSTOCK_EXPORT std::vector<std::string> tunable_kernels();

/// Returns a report as text: the fastest points, and the reasons why others were removed.
PENSTOCK_EXPORT std::string to_text(const TuneReport &report);
/// Returns a report as JSON.
PENSTOCK_EXPORT std::string to_json(const TuneReport &report);
/// Draws every point of the space: a bar for its time, or the stage that removed it.
PENSTOCK_EXPORT std::string to_svg(const TuneReport &report);
/// Returns the name of a source of times: "events".
PENSTOCK_EXPORT std::string name_of(TimeSource times);

namespace detail {

PENSTOCK_EXPORT TuneReport tune(const TunableKernel &, Target, const Shape &, const TuneOptions &);

template <class K> TunableKernel tunableOf(K kernel, std::string name, Loc at) {
  static_assert(
      requires { K::space(); }, "a kernel that is tuned has a static member `space()` "
                                "that returns a penstock::Space");
  TunableKernel result;
  result.name = std::move(name);
  result.at = at;
  result.make = [kernel](void *&made) { made = new K(kernel); };
  result.destroy = [](void *made) { delete static_cast<K *>(made); };
  result.source = [](const void *made, const char *called, Loc where) {
    using Arguments = typename FunctionTraits<K>::Arguments;
    return sourceOf(*static_cast<const K *>(made), called, static_cast<Arguments *>(nullptr),
                    where);
  };
  K::space().template describe<K>(result.space);
  return result;
}

} // namespace detail

/// Tunes a kernel object; fields that are not in its space do not change.
template <class K>
TuneReport tune(K kernel, Target target, const Shape &shape, const TuneOptions &options = {},
                Loc at = here()) {
  return detail::tune(detail::tunableOf(std::move(kernel), detail::typeName<K>(), at), target,
                      shape, options);
}

//===----------------------------------------------------------------------===//
// Tuned kernels
//===----------------------------------------------------------------------===//

struct TunedOptions {
  /// Cache of the records; null: KernelCache::process().
  KernelCache *cache = nullptr;
  /// Table of `penstock tune --export`. If set, records are not read.
  std::string table = {};
};

/// Origin of a choice.
enum class TunedFrom : uint8_t {
  Default,       ///< the kernel with the given fields
  Model,         ///< the best predicted point
  NearestRecord, ///< the record of another class of shapes
  Record,
  Table
};

struct TunedChoice {
  std::vector<std::pair<std::string, std::string>> fields;
  TunedFrom from = TunedFrom::Default;
  std::string shape_class; ///< class of the record or table entry
  std::vector<Diagnostic> diagnostics;
};

namespace detail {
class TunedKernel;
PENSTOCK_EXPORT std::shared_ptr<TunedKernel> tuned(TunableKernel, Target, TunedOptions);
PENSTOCK_EXPORT std::vector<Diagnostic> launchTuned(TunedKernel &, List<const Argument>,
                                                    const LaunchOptions &, Loc at);
PENSTOCK_EXPORT std::vector<Diagnostic> prepareTuned(TunedKernel &, const Shape &);
PENSTOCK_EXPORT TunedChoice choiceOf(TunedKernel &, const Shape &);
PENSTOCK_EXPORT std::vector<Diagnostic> diagnosticsOf(const TunedKernel &);
} // namespace detail

template <class Arguments> class TunedOf;

/// Kernel that chooses its configuration by the shapes of its arguments. The first launch of
/// a class of shapes compiles it. Copies share the code. Calls are thread-safe.
template <class... A> class TunedOf<std::tuple<A...>> {
public:
  explicit TunedOf(std::shared_ptr<detail::TunedKernel> kernel) : shared(std::move(kernel)) {}

  /// Runs the kernel to completion. Throws Error if the launch is invalid or the kernel
  /// faults.
  void operator()(typename detail::ArgumentTraits<A>::Host... arguments, Loc at = here()) const {
    launch({}, arguments..., at);
  }
  /// Runs the fastest known point with options. Throws Error like a call.
  void launch(const LaunchOptions &options, typename detail::ArgumentTraits<A>::Host... arguments,
              Loc at = here()) const {
    auto problems = try_launch(options, arguments..., at);
    if (!problems.empty())
      detail::raise(std::move(problems));
  }
  /// Runs the kernel and returns errors; empty on success.
  std::vector<Diagnostic> try_launch(const LaunchOptions &options,
                                     typename detail::ArgumentTraits<A>::Host... arguments,
                                     Loc at = here()) const {
    std::array<detail::Argument, sizeof...(A)> packed{
        detail::ArgumentTraits<A>::pack(arguments)...};
    return detail::launchTuned(*shared, packed, options, at);
  }

  /// Compiles for the class of a shape now. Throws Error.
  void prepare(const Shape &shape) const {
    auto problems = detail::prepareTuned(*shared, shape);
    if (!problems.empty())
      detail::raise(std::move(problems));
  }
  /// Returns the configuration for a shape, and its origin.
  TunedChoice choice(const Shape &shape) const { return detail::choiceOf(*shared, shape); }
  /// Returns problems of the space or table, and launches so far without a record of their class.
  std::vector<Diagnostic> diagnostics() const { return detail::diagnosticsOf(*shared); }

private:
  std::shared_ptr<detail::TunedKernel> shared;
};

namespace detail {
// Not in penstock: a kernel may be called Tuned.
template <class K> using TunedFor = TunedOf<typename FunctionTraits<K>::Arguments>;
} // namespace detail

/// Returns a kernel whose launches use the fastest known configuration: the record of their class
/// of shapes, else of the nearest class, else the best predicted one, else the given fields. It
/// never measures.
template <class K>
detail::TunedFor<K> tuned(K kernel, Target target, TunedOptions options = {}, Loc at = here()) {
  return detail::TunedFor<K>(detail::tuned(
      detail::tunableOf(std::move(kernel), detail::typeName<K>(), at), target, std::move(options)));
}

} // namespace penstock

#endif // PENSTOCK_TUNE_H
