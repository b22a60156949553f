//===- MutateIR.cpp - Breaks programs in memory ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recorded program is changed at random: attributes, types, operands, places
// of operations. The verifiers decide what is still a tile program; that must
// compile, and run on the interpreter within a bound. What ended there is also
// run natively: it may compute something else, where it reads what nothing
// wrote or where operations race, but it must end.
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Language.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Interpreter/Interpreter.h"
#include "Modes.h"
#include "RunProgram.h"
#include "mlir/IR/Verifier.h"

#include <cstdio>

using namespace mlir;
using namespace penstock;
using namespace penstock::fuzz;

namespace {

enum MutateCounter { Refused, Accepted, Interpreted, Bounded, Native };

class Mutator {
public:
  Mutator(ModuleOp module, uint64_t seed)
      : module(module), context(module.getContext()), builder(context), random(seed) {}

  void run() {
    int64_t count = random.between(1, 4);
    for (int64_t i = 0; i < count; ++i)
      once();
  }

private:
  void once() {
    collect();
    if (ops.empty())
      return;
    Operation *op = random.of(ops);
    switch (random.below(9)) {
    case 0:
      return attribute(op);
    case 1:
      return resultType(op);
    case 2:
    case 3:
      return operand(op);
    case 4:
      return erase(op);
    case 5:
      return duplicate(op);
    case 6:
      return move(op);
    case 7:
      return argument();
    default:
      return constant();
    }
  }

  void collect() {
    ops.clear();
    values.clear();
    module.walk([&](Operation *op) {
      if (op == module)
        return;
      if (!isa<func::FuncOp>(op))
        ops.push_back(op);
      for (Value result : op->getResults())
        values.push_back(result);
      for (Region &region : op->getRegions())
        for (mlir::Block &block : region)
          for (Value argument : block.getArguments())
            values.push_back(argument);
    });
  }

  int64_t odd() {
    return random.of<int64_t>({0, 1, -1, 2, 3, 7, 64, 65, 1024, 1 << 20, int64_t(1) << 31,
                               int64_t(1) << 40, INT64_MAX, INT64_MIN, INT64_MIN + 1,
                               random.between(-40, 40)});
  }

  Attribute changed(Attribute attr) {
    if (auto integer = dyn_cast<IntegerAttr>(attr)) {
      Type type = integer.getType();
      unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
      if (random.chance(10))
        return builder.getI64IntegerAttr(odd());
      return IntegerAttr::get(type, APInt(width, static_cast<uint64_t>(odd()), true, true));
    }
    if (auto floating = dyn_cast<FloatAttr>(attr))
      return FloatAttr::get(floating.getType(),
                            random.of({0.0, -0.0, 1e300, -1e-300, 1.0 / 0.0, 0.0 / 0.0, 3.5}));
    if (auto array = dyn_cast<ArrayAttr>(attr)) {
      SmallVector<Attribute> all(array.begin(), array.end());
      return builder.getArrayAttr(changedList(all, [&](Attribute a) { return changed(a); }));
    }
    if (auto array = dyn_cast<DenseI64ArrayAttr>(attr)) {
      SmallVector<int64_t> all(array.asArrayRef());
      return builder.getDenseI64ArrayAttr(changedList(all, [&](int64_t) { return odd(); }));
    }
    if (auto array = dyn_cast<DenseI32ArrayAttr>(attr)) {
      SmallVector<int32_t> all(array.asArrayRef());
      return builder.getDenseI32ArrayAttr(
          changedList(all, [&](int32_t) { return static_cast<int32_t>(odd()); }));
    }
    if (isa<StringAttr>(attr))
      return builder.getStringAttr(random.of<StringRef>(
          {"", "{}", "{} {}", "a\"b", StringRef("z\0z", 3), "in", "out", "\xff\xfe", "copy3"}));
    if (auto schedule = dyn_cast<tile::ScheduleAttr>(attr)) {
      SmallVector<int64_t> stage(schedule.getStage()), order(schedule.getOrder());
      int64_t stages = schedule.getNumStages();
      if (random.chance(50))
        stages = odd();
      else
        stage = changedList(stage, [&](int64_t) { return odd(); });
      SmallVector<int64_t> late(schedule.getAsyncStages()), producers(schedule.getAsyncProducers()),
          groups(schedule.getAsyncProducerGroups());
      if (random.chance(20))
        producers = changedList(producers, [&](int64_t) { return odd(); });
      else if (random.chance(20))
        groups = changedList(groups, [&](int64_t) { return odd(); });
      auto quiet = [&] { return mlir::emitError(UnknownLoc::get(context)); };
      auto changed = tile::ScheduleAttr::getChecked(
          quiet, context, stages, ArrayRef<int64_t>(stage), ArrayRef<int64_t>(order),
          ArrayRef<int64_t>(late), ArrayRef<int64_t>(producers), ArrayRef<int64_t>(groups),
          schedule.getSolverSeconds());
      return changed ? changed : schedule;
    }
    if (auto position = dyn_cast<tile::ScheduledAttr>(attr)) {
      bool async = random.chance(20) ? !position.getAsync() : position.getAsync();
      int64_t stage = random.chance(40) ? odd() : position.getStage(),
              order = random.chance(40) ? odd() : position.getOrder(),
              group = random.chance(20) ? odd() : position.getGroup();
      return tile::ScheduledAttr::get(context, stage, order, async, group);
    }
    return random.chance(50) ? Attribute(builder.getUnitAttr())
                             : Attribute(builder.getI64IntegerAttr(odd()));
  }
  template <class List, class Change> List changedList(List all, Change change) {
    size_t at = all.empty() ? 0 : static_cast<size_t>(random.below(int64_t(all.size())));
    if (random.chance(20) && !all.empty())
      all.erase(all.begin() + static_cast<int64_t>(at));
    else if (random.chance(20) && !all.empty())
      all.push_back(all[at]);
    else if (!all.empty())
      all[at] = change(all[at]);
    return all;
  }

  void attribute(Operation *op) {
    // Recorded programs have no positions; they are valid on statements of pipelined loops.
    if (Operation *around = op->getParentOp();
        around && around->hasAttr(tile::TileDialect::scheduleAttr) && random.chance(30)) {
      op->setAttr(tile::TileDialect::scheduledAttr,
                  tile::ScheduledAttr::get(context, random.between(-1, 3), odd(), random.chance(20),
                                           random.chance(20) ? odd() : -1));
      return;
    }
    // Properties as a dictionary: an entry of a wrong kind is refused there.
    DictionaryAttr all = op->getAttrDictionary();
    if (all.empty() || random.chance(5)) {
      op->setAttr(random.of<StringRef>(
                      {"tile.unroll", "tile.schedule", "tile.kernel", "async", "lag", "foo"}),
                  builder.getI64IntegerAttr(odd()));
      return;
    }
    NamedAttribute one = all.getValue()[static_cast<size_t>(random.below(int64_t(all.size())))];
    Attribute value = random.chance(10) ? Attribute() : changed(one.getValue());
    if (auto properties = op->getPropertiesAsAttribute()) {
      auto dictionary = dyn_cast<DictionaryAttr>(properties);
      if (dictionary && dictionary.get(one.getName())) {
        NamedAttrList list(dictionary);
        if (value)
          list.set(one.getName(), value);
        else
          list.erase(one.getName());
        (void)op->setPropertiesFromAttribute(list.getDictionary(context),
                                             [&] { return mlir::emitError(op->getLoc()); });
        return;
      }
    }
    if (value)
      op->setAttr(one.getName(), value);
    else
      op->removeAttr(one.getName());
  }

  Type scalarType() {
    return random.of<Type>(
        {builder.getF16Type(), builder.getBF16Type(), builder.getF32Type(), builder.getF64Type(),
         builder.getI1Type(), builder.getI8Type(), builder.getIntegerType(16), builder.getI32Type(),
         builder.getI64Type(), builder.getIndexType(), Float8E4M3FNType::get(context),
         Float8E5M2Type::get(context), builder.getIntegerType(7), builder.getIntegerType(128)});
  }
  Type changed(Type type) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref || random.chance(5))
      return scalarType();
    SmallVector<int64_t> shape(memref.getShape());
    Type element = memref.getElementType();
    MemRefLayoutAttrInterface layout = memref.getLayout();
    Attribute space = memref.getMemorySpace();
    switch (random.below(4)) {
    case 0:
      shape = changedList(shape, [&](int64_t old) {
        if (ShapedType::isDynamic(old))
          old = 8;
        return random.chance(20) ? ShapedType::kDynamic
                                 : random.of<int64_t>({0, 1, 2, old, old + 1, old * 2, 1 << 14,
                                                       1 << 26, int64_t(1) << 40});
      });
      break;
    case 1:
      if (Type other = scalarType(); MemRefType::isValidElementType(other))
        element = other;
      break;
    case 2: {
      SmallVector<int64_t> strides;
      for (size_t i = 0; i < shape.size(); ++i)
        strides.push_back(random.of<int64_t>({0, 1, -1, 4, 100, ShapedType::kDynamic}));
      layout = StridedLayoutAttr::get(context, random.of<int64_t>({0, 3, ShapedType::kDynamic}),
                                      strides);
      break;
    }
    default:
      space = tile::SpaceAttr::get(
          context, random.of({tile::Space::Global, tile::Space::Shared, tile::Space::Local}));
    }
    if (auto strided = dyn_cast_or_null<StridedLayoutAttr>(layout);
        strided && strided.getStrides().size() != shape.size())
      layout = {};
    auto quiet = [&] { return mlir::emitError(UnknownLoc::get(context)); };
    MemRefType result = MemRefType::getChecked(quiet, shape, element, layout, space);
    return result ? Type(result) : type;
  }
  void resultType(Operation *op) {
    if (op->getNumResults())
      op->getResult(static_cast<unsigned>(random.below(op->getNumResults())))
          .setType(changed(op->getResult(0).getType()));
  }

  void operand(Operation *op) {
    if (!op->getNumOperands())
      return;
    auto at = static_cast<unsigned>(random.below(op->getNumOperands()));
    Value old = op->getOperand(at);
    SmallVector<Value> same;
    for (Value value : values)
      if (value.getType() == old.getType())
        same.push_back(value);
    Value chosen = random.chance(15) || same.empty()
                       ? random.of(values)
                       : same[static_cast<size_t>(random.below(int64_t(same.size())))];
    op->setOperand(at, chosen);
  }

  void erase(Operation *op) {
    if (!op->use_empty() && !random.chance(10))
      return;
    for (Value result : op->getResults()) {
      Value other = random.of(values);
      if (other.getDefiningOp() == op || op->isAncestor(other.getParentRegion()->getParentOp()))
        return;
      result.replaceAllUsesWith(other);
    }
    bool used = false;
    op->walk([&](Operation *inner) {
      for (Value result : inner->getResults())
        used |=
            llvm::any_of(result.getUsers(), [&](Operation *user) { return !op->isAncestor(user); });
    });
    if (!used)
      op->erase();
  }
  void duplicate(Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>() && random.chance(90))
      return;
    builder.setInsertionPoint(random.chance(50) ? op : random.of(ops));
    builder.clone(*op);
  }
  void move(Operation *op) {
    Operation *to = random.of(ops);
    if (op == to || op->isAncestor(to))
      return;
    if (random.chance(50))
      op->moveBefore(to);
    else
      op->moveAfter(to);
  }

  void argument() {
    auto kernel = *module.getOps<func::FuncOp>().begin();
    if (!kernel.getNumArguments())
      return;
    auto at = static_cast<unsigned>(random.below(kernel.getNumArguments()));
    if (random.chance(50)) {
      kernel.getArgument(at).setType(changed(kernel.getArgument(at).getType()));
      kernel.setType(builder.getFunctionType(kernel.getBody().getArgumentTypes(), {}));
    } else {
      kernel.setArgAttr(
          at, random.of<StringRef>({"tile.access", "tile.name", "tile.overlaps"}),
          random.of<Attribute>({builder.getStringAttr("in"), builder.getStringAttr("out"),
                                builder.getStringAttr(""), builder.getUnitAttr(),
                                builder.getI64IntegerAttr(1)}));
    }
  }
  void constant() {
    SmallVector<arith::ConstantOp> all;
    module.walk([&](arith::ConstantOp op) { all.push_back(op); });
    if (all.empty())
      return;
    auto op = all[static_cast<size_t>(random.below(int64_t(all.size())))];
    if (auto value = dyn_cast<TypedAttr>(changed(op.getValue()));
        value && value.getType() == op.getType())
      op.setValueAttr(value);
  }

  ModuleOp module;
  MLIRContext *context;
  OpBuilder builder;
  Random random;
  std::vector<Operation *> ops;
  std::vector<Value> values;
};

} // namespace

/// \p show: prints what becomes of the program, for those that crash.
static CaseResult mutateOne(uint64_t seed, Counters &counters, bool show) {
  Program program = makeProgram(derive(seed, 5));
  std::set<unsigned> none;
  PooledContext context;
  std::vector<penstock::Diagnostic> diagnostics;
  auto module = recordKernel(context.get(), sourceOf(program, none), {}, diagnostics);
  if (!module)
    return {};
  {
    tile::DiagnosticCollector collector(context.get(), diagnostics, OpForm);
    Mutator(*module, derive(seed, 6)).run();
    if (failed(mlir::verify(*module)) || failed(tile::verifyLanguage(*module))) {
      ++counters[Refused];
      return {};
    }
  }
  ++counters[Accepted];
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  if (show) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
  auto kernel = *module->getOps<func::FuncOp>().begin();
  KernelInfo info = infoOf(kernel);
  Data data(program);
  auto arguments = data.arguments();
  InterpretOptions interpreting;
  interpreting.maxSteps = 300000;
  interpreting.print = [](std::string_view) {};
  bool ended = false;
  if (checkArguments(info, arguments).empty()) {
    ended = true;
    for (const penstock::Diagnostic &fault : interpret(kernel, arguments, interpreting).faults)
      ended &= fault.code != FaultSteps && fault.code != MemoryLimit && fault.code != LaunchGrid;
    ++counters[ended ? Interpreted : Bounded];
  }
  diagnostics.clear();
  BackendOptions options;
  options.lateCompletion = seed & 1;
  auto executable =
      compileProgram(std::move(context), std::move(module), info.name, options, diagnostics);
  if (!executable) {
    bool internal = llvm::any_of(
        diagnostics, [](const penstock::Diagnostic &d) { return d.code == InternalError; });
    if (internal)
      return {true, to_text(diagnostics).substr(0, 2000) + "\n" + text};
    return {};
  }
  if (!ended)
    return {};
  Data fresh(program);
  LaunchOptions launching;
  launching.print = interpreting.print;
  if (options.lateCompletion)
    launching.completion = Completion::Latest;
  penstock::detail::launch(executable.get(), fresh.arguments(), launching, {"fuzz.cpp", 1});
  ++counters[Native];
  return {};
}

int penstock::fuzz::runMutations(const BatchOptions &options) {
  BatchResult result = runBatches(options, [&](uint64_t seed, Counters &counters) {
    return mutateOne(seed, counters, options.count == 1);
  });
  for (const FailedCase &failed : result.failures)
    std::printf("%s with --mutate 1 --seed %llu: %s\n", nameOf(failed.failure),
                static_cast<unsigned long long>(failed.seed), failed.message.c_str());
  Counters &c = result.counters;
  std::printf(
      "mutants=%llu refused=%llu accepted=%llu interpreted=%llu bounded=%llu "
      "native=%llu failures=%zu\n",
      static_cast<unsigned long long>(result.cases), static_cast<unsigned long long>(c[Refused]),
      static_cast<unsigned long long>(c[Accepted]), static_cast<unsigned long long>(c[Interpreted]),
      static_cast<unsigned long long>(c[Bounded]), static_cast<unsigned long long>(c[Native]),
      result.failures.size());
  return result.failures.empty() ? 0 : 1;
}
