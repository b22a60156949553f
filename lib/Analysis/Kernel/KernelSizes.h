//===- KernelSizes.h - For which sizes a kernel is simulated ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How often loops with barriers run depends on sizes of tensors and on coordinates
// of the block. This chooses sizes so that every small number of iterations comes
// up, and, where loops over different sizes are nested, their combinations.
// Private to this library.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_KERNEL_KERNELSIZES_H
#define PENSTOCK_ANALYSIS_KERNEL_KERNELSIZES_H

#include "Analysis/Kernel/KernelTrace.h"

#include <functional>
#include <set>

namespace penstock {

class KernelSizes {
public:
  /// \p trace counts the iterations of `while` loops.
  KernelSizes(mlir::func::FuncOp kernel, KernelTrace &trace);

  struct Choice {
    SizeAssignment assignment;
    int64_t iterations; ///< of the inner loops
    int64_t rounds;     ///< of the loops around them
  };
  /// Returns the choices, those with few iterations first.
  std::vector<Choice> choices();

  /// Choices were left out because a `require` excludes them.
  bool excluded() const { return leftOut; }
  /// The n-th choice has n iterations, and there are so many that each slot of a ring
  /// is used twice.
  bool countsOneLoop() const { return oneLoop && !leftOut; }

private:
  using Sizes = std::map<std::string, int64_t>;
  using Names = std::set<std::string>;
  /// Requirement of the kernel on sizes.
  struct Requirement {
    mlir::Value condition;
    Names sizes;
  };
  /// Loops that depend on common sizes.
  struct Group {
    llvm::SmallVector<mlir::scf::ForOp> loops;
    llvm::SmallVector<mlir::scf::ForOp> different; ///< one for each trip count
    llvm::SmallVector<mlir::scf::WhileOp> whiles;
    Names sizes;
    bool around = false; ///< a loop of another group stands inside of one of them
    bool nested = false; ///< one of its own does
  };
  /// One size that moves, so that the loops of a group run 0, 1, 2, .. times.
  struct Variant {
    std::string mover;
    std::vector<std::optional<Sizes>> byTrips;
    const Sizes *of(int64_t trips) const {
      return trips < int64_t(byTrips.size()) && byTrips[size_t(trips)] ? &*byTrips[size_t(trips)]
                                                                       : nullptr;
    }
  };

  void findLoops();
  void addGroup(Group group);
  void findRequirements();
  /// The sizes that a value depends on.
  void findSizes(mlir::Value value, Names &found, llvm::DenseSet<mlir::Value> &seen);
  /// Counts iterations for given sizes.
  using Counter = std::function<int64_t(const Sizes &)>;
  /// The numbers that matter of a group: of each loop where several sizes decide,
  /// otherwise the largest.
  std::vector<Counter> countersOf(const Group &group);
  /// The larger number of the first and the last iterations of the loops around it.
  int64_t trips(mlir::scf::ForOp loop, const Sizes &given);
  int64_t tripsOfWhiles(const Group &group, const Sizes &given);
  /// The smallest size of at least \p atLeast for which there are so many iterations;
  /// no value if there is none.
  std::optional<int64_t> sizeFor(const Counter &trips, Sizes given, const std::string &name,
                                 int64_t iterations, int64_t atLeast);
  std::vector<Variant> variants(const Group &group, int64_t most);
  /// No value if the size does not decide. Where numbers of iterations are left out, the
  /// next larger ones stand for them unless \p exact.
  std::optional<Variant> variant(const Group &group, const Counter &trips, const std::string &mover,
                                 bool largeOthers, bool exact, int64_t most);
  Sizes allLarge() const;
  /// Returns whether the requirements hold.
  bool holds(const Sizes &given);
  /// Raises one of the sizes until they do; false if numbers of iterations would
  /// change before.
  bool permit(Sizes &given, llvm::ArrayRef<std::string> movers);
  void add(const Sizes &sizes, llvm::ArrayRef<std::string> movers, int64_t iterations,
           int64_t rounds);
  /// Combinations of sizes that decide about loops in one group.
  void addCombined(llvm::ArrayRef<Variant> variants, int64_t most);
  void addAround(const Group &inner, llvm::ArrayRef<Variant> innerVariants, int64_t most);

  mlir::func::FuncOp kernel;
  KernelTrace &trace;
  KnownScalars scalars;
  std::vector<Group> groups;
  std::vector<Requirement> requirements;
  int64_t slots = 1;
  bool asksForWork = false, leftOut = false, oneLoop = false;
  std::vector<Choice> chosen;
};

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_KERNEL_KERNELSIZES_H
