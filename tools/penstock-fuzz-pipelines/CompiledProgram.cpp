//===- CompiledProgram.cpp - A random kernel in the compiler --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../penstock-fuzz/Gpus.h"
#include "../penstock-fuzz/Random.h"
#include "Analysis/Loop/EngineCosts.h"
#include "Analysis/Loop/PipelineLoop.h"
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "Dialect/Tile/TileDialect.h"
#include "Product.h"
#include "Scheduling/Schedule/Predict.h"
#include "Scheduling/Schedule/VerifySchedule.h"
#include "Scheduling/Text/Text.h"
#include "StateRoles.h"
#include "penstock/diagnostics.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::fuzz;

struct CompiledProgram::Inside {
  PooledContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

namespace {

/// The number of the program's buffer that a value stands for.
int bufferOf(mlir::Value value, const Program &program) {
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value)) {
    int tensors = -1;
    for (size_t b = 0; b < program.buffers.size(); ++b)
      if (program.buffers[b].kind == LoopBuffer::Kind::Tensor &&
          ++tensors == int(argument.getArgNumber()))
        return int(b);
    return -1; // the tables
  }
  auto alloc = value.getDefiningOp<tile::AllocOp>();
  return std::stoi(alloc.getLabel()->drop_front().str());
}

std::set<unsigned> codesOf(const std::vector<Diagnostic> &diagnostics) {
  std::set<unsigned> codes;
  for (const Diagnostic &d : diagnostics)
    if (d.severity == Severity::Error)
      codes.insert(d.code);
  return codes;
}

bool weakened(sched::RuleSet rules) {
  auto all = sched::allRules();
  return std::any_of(all.begin(), all.end(),
                     [&](const sched::RuleInfo &info) { return !rules.has(info.rule); });
}

/// Compares the schedule of the exact solver with the inferred one: empty if it is not worse.
std::string slowerThanInferred(const sched::PipelinedLoop &solved, const sched::Problem &problem,
                               int64_t numStages) {
  sched::Inferred inferred = sched::infer(problem, numStages);
  if (!inferred.schedule)
    return "";
  sched::RoleAssignment roles = sched::oneRole(problem);
  sched::Rational other = sched::predictedInterval(problem, *inferred.schedule, roles);
  sched::Rational own = sched::predictedInterval(solved.problem, *solved.schedule, roles);
  return other < own
             ? "the solved schedule takes " + own.str() + " cycles, the inferred one " + other.str()
             : "";
}

void check(const PipelineLoop &loop, const Program &program, sched::RuleSet rules,
           ProductVerdict &verdict) {
  sched::Instance instance{loop.problem, std::nullopt, std::nullopt};
  verdict.codes = codesOf(sched::checkProblem(loop.problem));
  verdict.malformed = !verdict.codes.empty();
  sched::Verdict checked;
  if (program.plan) {
    verdict.plan = program.plan;
    instance.schedule = sched::Schedule{program.plan->stage, program.plan->order};
    if (!verdict.malformed) {
      checked = sched::verifySchedule(loop.problem, *instance.schedule, rules);
      for (const sched::Violation &violation : checked.violations)
        verdict.codes.insert(violation.code);
    }
  } else {
    instance.numStages = program.numStages;
  }
  verdict.instance = sched::printInstance(instance);
  if (verdict.malformed)
    return;
  // What is legal is compiled anyway; what is not must be refused by the compiler
  // too. Entries that are too many it may take for those of named scalars.
  bool complete = program.plan && program.plan->stage.size() == loop.problem.statements.size();
  if (complete && !verdict.codes.empty() && !weakened(rules) &&
      sched::resolve(loop.problem, loop.annotations, loop.namedScalars).schedule)
    verdict.failure = "the compiler accepts what the checker refuses";
  if (!program.plan) {
    PipelineLoop timed = loop;
    if (program.optimal)
      assignCosts(timed, *hw::findArchitecture("sm_90a"));
    sched::PipelinedLoop resolved =
        sched::resolve(timed.problem, loop.annotations, loop.namedScalars);
    verdict.codes = codesOf(resolved.diagnostics);
    checked = resolved.verdict;
    if (program.optimal && resolved.schedule) {
      verdict.failure = slowerThanInferred(resolved, timed.problem, program.numStages);
      // Its versions are those of asynchronous statements.
      checked = sched::verifySchedule(loop.problem, *resolved.schedule);
    }
    if (resolved.schedule)
      verdict.plan = Plan{resolved.schedule->stage, resolved.schedule->order};
  }
  verdict.versions.assign(program.buffers.size() + prints(program), 1);
  for (size_t i = 0; i < checked.versions.size(); ++i)
    if (int b = loop.buffers[i] ? bufferOf(loop.buffers[i], program) : -1; b >= 0)
      verdict.versions[size_t(b)] = checked.versions[i].needed;
}

} // namespace

CompiledProgram::CompiledProgram(const Program &program, sched::RuleSet rules)
    : program(program), inside(std::make_unique<Inside>()) {
  std::vector<Diagnostic> diagnostics;
  inside->module =
      parseProgram(inside->context.get(), emitKernel(program), "fuzz.mlir", diagnostics);
  if (!inside->module) {
    // Lists of different lengths are refused when they are read.
    std::set<unsigned> codes = codesOf(diagnostics);
    if (codes == std::set<unsigned>{1200}) {
      verdict.codes = codes;
      verdict.plan = program.plan;
      return;
    }
    verdict.failure = "the text is refused: " + to_text(diagnostics);
    return;
  }
  inside->module->walk([&](mlir::scf::ForOp loop) {
    // Loops inside are pipelined by a plan that the oracle calls legal.
    auto outer = loop->getParentOfType<mlir::scf::ForOp>();
    if (!loop->hasAttr(tile::TileDialect::scheduleAttr) ||
        (outer && outer->hasAttr(tile::TileDialect::scheduleAttr)))
      return;
    check(analyzeLoop(loop), program, rules, verdict);
  });
}

CompiledProgram::~CompiledProgram() = default;

namespace {

/// The arguments of one launch and what comes out.
class Launch {
public:
  /// Rows of tensors begin at multiples of \p alignment elements.
  Launch(const Program &program, const Memory &memory, const World &world, int64_t alignment = 1)
      : alignment(alignment) {
    for (size_t b = 0; b < program.buffers.size(); ++b)
      if (program.buffers[b].kind == LoopBuffer::Kind::Tensor)
        addTensor(int(b), program.buffers[b], memory.buffers[b]);
    ProgramBuffer flags, table;
    std::vector<int32_t> values;
    for (const auto &condition : world.conditions)
      for (int64_t k = 0; k <= maxTrips; ++k)
        values.push_back(condition[size_t(k)]);
    values.push_back(0);
    flags.extents = {int64_t(values.size())};
    addTensor(-1, flags, values);
    values.assign(world.table.begin(), world.table.end());
    table.extents = {int64_t(values.size())};
    addTensor(-1, table, values);
    addNumber(world.trips);
    for (int64_t value : world.origin)
      addNumber(value);
    for (size_t b = 0; b < program.buffers.size(); ++b)
      if (program.buffers[b].readAfter) {
        ProgramBuffer out = program.buffers[b];
        if (out.extents.empty())
          out.extents = {1};
        addTensor(int(b), out, std::vector<int32_t>(memory.buffers[b].size(), -77));
      }
    // Vectors do not move any more.
    size_t next = 0;
    for (detail::Argument &argument : arguments)
      if (argument.tensor)
        argument.data = storage[next++].bytes.data();
  }

  /// What is wrong with the outcome.
  std::string difference(const Memory &expected) const {
    for (const Storage &s : storage) {
      if (s.buffer < 0)
        continue;
      const std::vector<int32_t> &values = expected.buffers[size_t(s.buffer)];
      for (size_t i = 0; i < values.size(); ++i) {
        int32_t got = 0;
        size_t at = s.at(i);
        if (s.narrow)
          got = int8_t(s.bytes[at]);
        else
          std::memcpy(&got, s.bytes.data() + 4 * at, 4);
        if (got != values[i])
          return "element " + std::to_string(i) + " of buffer " + std::to_string(s.buffer) +
                 " is " + std::to_string(got) + " instead of " + std::to_string(values[i]);
      }
    }
    return "";
  }

  std::vector<detail::Argument> arguments;

private:
  struct Storage {
    int buffer;
    bool narrow;
    size_t columns, pitch; ///< elements of a row, and from one row to the next
    std::vector<char> bytes;
    size_t at(size_t i) const { return i / columns * pitch + i % columns; }
  };

  void addNumber(int64_t value) {
    detail::Argument number;
    number.element = Element::index;
    number.scalar = uint64_t(value);
    arguments.push_back(number);
  }

  void addTensor(int b, const ProgramBuffer &buffer, const std::vector<int32_t> &values) {
    int64_t unit = buffer.narrow ? 4 * alignment : alignment;
    size_t columns = size_t(std::max<int64_t>(1, buffer.extents.back()));
    size_t pitch = (columns + size_t(unit) - 1) / size_t(unit) * size_t(unit);
    size_t rows = (values.size() + columns - 1) / columns;
    Storage s{b, buffer.narrow, columns, pitch,
              std::vector<char>(rows * pitch * (buffer.narrow ? 1 : 4))};
    for (size_t i = 0; i < values.size(); ++i)
      if (buffer.narrow)
        s.bytes[s.at(i)] = char(values[i]);
      else
        std::memcpy(s.bytes.data() + 4 * s.at(i), &values[i], 4);
    detail::Argument argument;
    argument.tensor = true;
    argument.element = buffer.narrow ? Element::i8 : Element::i32;
    argument.sizes = buffer.extents;
    argument.strides.assign(buffer.extents.size(), 1);
    if (buffer.extents.size() == 2)
      argument.strides[0] = int64_t(pitch);
    arguments.push_back(argument);
    storage.push_back(std::move(s));
  }

  int64_t alignment;
  std::vector<Storage> storage;
};

/// What a launch depends on besides tensors, for some number of iterations.
World drawWorld(const Program &program, int64_t trips, Random &random) {
  World world;
  world.trips = trips;
  world.origin = drawOrigin(random);
  for (int64_t k = 0; k <= maxTrips; ++k)
    world.table.push_back(random.below(64));
  for (int c = 0; c < program.conditions; ++c) {
    auto &values = world.conditions.emplace_back();
    for (int64_t k = 0; k <= maxTrips; ++k)
      values.push_back(random.chance(65));
  }
  return world;
}

/// One way for asynchronous operations to complete.
struct Timing {
  const char *name;
  Completion completion;
  int starved = -1;
};
constexpr Timing nativeTimings[] = {{"eager", Completion::Eager},
                                    {"latest", Completion::Latest},
                                    {"random", Completion::Random},
                                    {"random", Completion::Random}};
constexpr Timing deviceTimings[] = {{"eager", Completion::Eager},
                                    {"lazy", Completion::Latest},
                                    {"random", Completion::Random},
                                    {"starved", Completion::Random, 1}};

} // namespace

/// Runs a kernel in each timing and says what differs from sequential execution.
static std::string runTimings(const Program &program, const detail::ExecutableRef &executable,
                              int64_t trips, llvm::ArrayRef<Timing> timings, int64_t alignment,
                              Random &random, uint64_t &runs, uint64_t &findings) {
  World world = drawWorld(program, trips, random);
  Memory before = initialMemory(program, random.next()), expected = before;
  evaluate(program, world, expected);
  for (const Timing &timing : timings) {
    LaunchOptions launch;
    launch.threads = 1;
    launch.completion = timing.completion;
    launch.starved_warp = timing.starved;
    launch.seed = random.next();
    std::string printed;
    launch.print = [&](std::string_view line) { printed += line; };
    Launch one(program, before, world, alignment);
    ++runs;
    auto faults = detail::launch(executable.get(), one.arguments, launch, {});
    for (const Diagnostic &d : faults)
      findings += d.code / 100 == 21;
    std::string wrong = faults.empty() ? one.difference(expected) : to_text(faults);
    if (wrong.empty() && printed != expected.printed)
      wrong = "prints\n" + printed + "instead of\n" + expected.printed;
    if (!wrong.empty())
      return std::string(timing.name) + " completion, n = " + std::to_string(trips) + ": " + wrong;
  }
  return "";
}

std::string CompiledProgram::run(int64_t most, uint64_t seed, uint64_t &runs) {
  std::vector<Diagnostic> diagnostics;
  BackendOptions options;
  options.lateCompletion = true;
  options.optimized = false;
  auto executable = compileProgram(std::move(inside->context), std::move(inside->module), "k",
                                   options, diagnostics);
  if (!executable)
    return "legal, but not compiled: " + to_text(diagnostics);
  Random random(seed);
  uint64_t findings = 0;
  for (int64_t trips = 0; trips <= most; ++trips) {
    std::string wrong =
        runTimings(program, executable, trips, nativeTimings, 1, random, runs, findings);
    if (!wrong.empty())
      return "native code with " + wrong;
  }
  return "";
}

DeviceRun CompiledProgram::runOnDevice(int64_t most, uint64_t seed, int64_t omitted,
                                       bool oneGroup) {
  DeviceRun result;
  std::vector<Diagnostic> diagnostics;
  Random random(seed);
  BackendOptions options;
  Target gpu = fuzz::anyGpu(random);
  options.target = gpu.emulated();
  bool stated = random.chance(50) && !oneGroup;
  inside->module->walk([&](mlir::scf::ForOp loop) {
    auto outer = loop->getParentOfType<mlir::scf::ForOp>();
    bool statement = outer && outer->hasAttr(tile::TileDialect::scheduleAttr);
    if (stated && !statement && loop->hasAttr(tile::TileDialect::scheduleAttr))
      loop->setAttr(
          tile::TileDialect::formAttr,
          mlir::StringAttr::get(loop.getContext(), tile::TileDialect::warpSpecializedForm));
    if (stated && !statement && loop->hasAttr(tile::TileDialect::scheduleAttr) && random.chance(60))
      result.stated += stateRoles(loop, random);
  });
  options.omittedPoint = omitted;
  options.checkBarriers = omitted < 0;
  options.afterPass = [&](llvm::StringRef pass, llvm::StringRef text) {
    if (pass == "nv-write-plans") {
      result.joins += text.count("] join");
      result.ends += text.count("[end] ");
    }
    if (pass.contains("nv-bind-engines") && !result.engineCopies)
      result.engineCopies = text.count("\"tma.load\"") + text.count("\"cp.async\"");
    result.specialized |= pass == "nv-write-plans" && text.contains("nv.role");
  };
  auto executable = compileProgram(std::move(inside->context), std::move(inside->module), "k",
                                   options, diagnostics);
  auto isRefused = [&](unsigned code) { return codesOf(diagnostics) == std::set<unsigned>{code}; };
  if (!executable && (isRefused(FormNotPossible) || isRefused(RoleNotPossible) ||
                      (result.stated && isRefused(PlanNotDerived)))) {
    DeviceRun again = CompiledProgram(program, {}).runOnDevice(most, seed, omitted, true);
    again.refusedRoles = result.stated > 0;
    return again;
  }
  if (!executable) {
    result.refused = to_text(diagnostics);
    return result;
  }
  result.kernel = executable->devices.front()->kernel.ptx;
  // Rows of tensors are multiples of 16 bytes, so that engines copy; every eighth program
  // takes the kernel in which threads do.
  int64_t alignment = random.chance(12) ? 1 : 4;
  for (int64_t trips = 0; trips <= most && result.mismatch.empty(); ++trips)
    result.mismatch = runTimings(program, executable, trips, deviceTimings, alignment, random,
                                 result.runs, result.findings);
  if (!result.mismatch.empty())
    result.mismatch = architectureOf(gpu).name + " with " + result.mismatch;
  return result;
}
