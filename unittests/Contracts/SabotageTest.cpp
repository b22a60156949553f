//===- SabotageTest.cpp - Broken kernels are rejected between passes ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test changes a kernel after one pass of the GPU pipeline, as a wrong pass would,
// and expects an error that names the pass after which it was found, and the phase.
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Compiler/Pipelines.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace penstock;
using nv::NVDialect;
using testing::AllOf;
using testing::HasSubstr;

namespace {

/// A matmul whose result is also reduced, so that tiles stay in registers.
const char *const program = R"(
!T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!C = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
!t = memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
!c = memref<128x128xf32, #tile.space<local>>
!v = memref<128xf32, #tile.space<local>>
func.func @k(%x: !T {tile.name = "x", tile.access = "in"}, %y: !T {tile.name = "y", tile.access = "in"},
             %z: !C {tile.name = "z", tile.access = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %x, %c0 : !T
  %n = memref.dim %y, %c0 : !T
  %depth = memref.dim %x, %c1 : !T
  %rows = arith.ceildivsi %m, %c128 : index
  %columns = arith.ceildivsi %n, %c128 : index
  %steps = arith.ceildivsi %depth, %c64 : index
  %bm, %bn = tile.grid %rows, %columns : index, index
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  %acc = tile.alloc "acc" : !c
  %sum = tile.alloc "sum" : !v
  %row = arith.muli %bm, %c128 : index
  %column = arith.muli %bn, %c128 : index
  tile.fill %acc, %zero : !c, f32
  scf.for %k = %c0 to %steps step %c1 {
    %at = arith.muli %k, %c64 : index
    tile.copy %x[%row, %at] to %X : !T to !s
    tile.copy %y[%column, %at] to %Y : !T to !s
    %Yt = memref.transpose %Y (i, j) -> (j, i) : !s to !t
    tile.gemm %X, %Yt into %acc : !s, !t, !c
  } {tile.schedule = #tile.schedule<num_stages = 3>}
  tile.reduce sum %acc along 1 into %sum : !c, !v
  tile.print "{}" %sum : !v
  tile.copy %acc to %z[%row, %column] : !c to !C
  return
}
)";

using Change = std::function<void(func::FuncOp)>;

/// Applies a change after a pass has run for the first time.
class Sabotage : public PassInstrumentation {
public:
  Sabotage(StringRef after, Change change) : after(after), change(std::move(change)) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    auto kernel = dyn_cast<func::FuncOp>(op);
    if (!change || !kernel || pass->getArgument() != after)
      return;
    change(kernel);
    change = nullptr;
  }

private:
  std::string after;
  Change change;
};

/// Compiles the program, with a change after pass \p after; returns the errors.
std::string errorsAfter(StringRef after, Change change, StringRef architecture = "sm_100a") {
  PooledContext context;
  std::vector<penstock::Diagnostic> found;
  auto module = parseProgram(context.get(), program, "kernel.mlir", found);
  EXPECT_TRUE(module) << to_text(found);
  if (!module)
    return "";
  PassManager passes(context.get());
  buildDevicePipeline(passes, *hw::findArchitecture(architecture.str()),
                      {.warpSpecialize = true, .verifyPhases = true});
  passes.addInstrumentation(std::make_unique<Sabotage>(after, std::move(change)));
  LogicalResult result = failure();
  {
    tile::DiagnosticCollector collector(context.get(), found, InternalError);
    result = passes.run(*module);
  }
  EXPECT_EQ(succeeded(result), found.empty());
  return to_text(found);
}

/// Expects an error that names a pass, a phase and the violation.
void expectRejected(StringRef after, Change change, const std::string &pass,
                    const std::string &phase, const std::string &why) {
  EXPECT_THAT(
      errorsAfter(after, std::move(change)),
      AllOf(HasSubstr("`" + pass + "`"), HasSubstr("phase `" + phase + "`"), HasSubstr(why)));
}

template <typename Op> Change drop(StringRef attribute) {
  return
      [attribute](func::FuncOp kernel) { kernel.walk([&](Op op) { op->removeAttr(attribute); }); };
}

template <typename Op> Op firstOf(func::FuncOp kernel) {
  Op first;
  kernel.walk([&](Op op) {
    first = op;
    return WalkResult::interrupt();
  });
  EXPECT_TRUE(first);
  return first;
}

Attribute unitOf(func::FuncOp kernel) { return UnitAttr::get(kernel.getContext()); }

TEST(Sabotage, TheProgramCompilesOtherwise) {
  for (const char *gpu : {"sm_80", "sm_90a", "sm_100a", "sm_120a"})
    EXPECT_EQ(errorsAfter("", nullptr, gpu), "") << gpu;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

TEST(Sabotage, NoTarget) {
  EXPECT_THAT(errorsAfter("tile-resolve-schedules", drop<func::FuncOp>("tile.target")),
              HasSubstr("`nv-choose-threads` requires `tile.target`"));
}

TEST(Sabotage, NoTargetLater) {
  expectRejected("nv-write-plans", drop<func::FuncOp>("tile.target"), "nv-write-plans", "pipelined",
                 "has no `tile.target`");
}

TEST(Sabotage, NoPhase) {
  expectRejected("nv-share-copies", drop<func::FuncOp>("nv.phase"), "nv-share-copies", "bound",
                 "has no `nv.phase`");
}

TEST(Sabotage, AnotherPhase) {
  auto skip = [](func::FuncOp kernel) {
    kernel->setAttr(NVDialect::phaseAttr,
                    nv::PhaseAttr::get(kernel.getContext(), nv::Phase::Ordered));
  };
  expectRejected("nv-place-operands", skip, "nv-assign-roles", "ordered",
                 "requires a kernel in phase `bound`");
}

TEST(Sabotage, NoThreads) {
  expectRejected("nv-choose-threads", drop<func::FuncOp>("nv.threads"), "nv-bind-engines", "bound",
                 "has no `nv.threads`");
}

TEST(Sabotage, OperationOfALaterPhase) {
  auto add = [](func::FuncOp kernel) {
    OpBuilder b(kernel.getBody().front().getTerminator());
    nv::SyncOp::create(b, kernel.getLoc());
  };
  expectRejected("nv-choose-threads", add, "nv-take-over-blocks", "tile",
                 "`nv.sync` does not exist");
}

//===----------------------------------------------------------------------===//
// Engines and schedules
//===----------------------------------------------------------------------===//

TEST(Sabotage, AnMmaWithoutEngine) {
  expectRejected("nv-bind-engines", drop<tile::GemmOp>("nv.engine"), "nv-bind-engines", "bound",
                 "`tile.gemm` has no `nv.engine`");
}

TEST(Sabotage, APipelinedCopyWithoutEngine) {
  expectRejected("nv-overlap-products", drop<tile::CopyOp>("nv.engine"), "nv-place-accumulators",
                 "bound", "is a statement of a pipelined loop and has no `nv.engine`");
}

TEST(Sabotage, AnEngineTooEarly) {
  auto add = [](func::FuncOp kernel) {
    firstOf<tile::GemmOp>(kernel)->setAttr(
        NVDialect::engineAttr, nv::EngineAttr::get(kernel.getContext(), sched::Engine::Threads));
  };
  expectRejected("nv-choose-threads", add, "nv-take-over-blocks", "tile",
                 "has `nv.engine`, which does not exist in this phase");
}

TEST(Sabotage, AStatementWithoutAPosition) {
  expectRejected("nv-bind-engines", drop<tile::CopyOp>("tile.scheduled"), "nv-bind-engines",
                 "bound", "is a statement of a pipelined loop and has no `tile.scheduled`");
}

TEST(Sabotage, APositionBesideNoLoop) {
  auto add = [](func::FuncOp kernel) {
    firstOf<tile::FillOp>(kernel)->setAttr(
        tile::TileDialect::scheduledAttr,
        tile::ScheduledAttr::get(kernel.getContext(), 0, 0, false, -1));
  };
  expectRejected("nv-execute-in-order", add, "nv-load-tiles", "ordered", "has `tile.scheduled`");
}

TEST(Sabotage, AScheduleThatStays) {
  auto add = [](func::FuncOp kernel) {
    firstOf<scf::ForOp>(kernel)->setAttr(
        tile::TileDialect::scheduleAttr,
        tile::ScheduleAttr::get(kernel.getContext(), 2, {}, {}, {}, {}, {}, 0));
  };
  expectRejected("nv-execute-in-order", add, "nv-load-tiles", "ordered", "has `tile.schedule`");
}

//===----------------------------------------------------------------------===//
// What plans have replaced
//===----------------------------------------------------------------------===//

TEST(Sabotage, ACopyThatClustersStillShare) {
  auto add = [](func::FuncOp kernel) {
    firstOf<tile::CopyOp>(kernel)->setAttr(NVDialect::sharedAlongAttr,
                                           DenseI64ArrayAttr::get(kernel.getContext(), {0}));
  };
  expectRejected("nv-write-plans", add, "nv-write-plans", "pipelined", "has `nv.shared_along`");
}

TEST(Sabotage, AHalvedCopy) {
  auto halve = [](func::FuncOp kernel) { firstOf<tile::CopyOp>(kernel).setHalved(true); };
  expectRejected("nv-write-plans", halve, "nv-write-plans", "pipelined", "is padded or halved");
}

TEST(Sabotage, AnAsynchronousCopyThatStays) {
  auto add = [](func::FuncOp kernel) {
    firstOf<tile::CopyOp>(kernel).setAsyncAttr(StringAttr::get(kernel.getContext(), "late"));
  };
  expectRejected("nv-execute-in-order", add, "nv-load-tiles", "ordered", "is asynchronous");
}

TEST(Sabotage, AGroupThatStays) {
  auto add = [](func::FuncOp kernel) {
    OpBuilder b(kernel.getBody().front().getTerminator());
    auto group = tile::StatementOp::create(b, kernel.getLoc(), "group");
    group.getBody().emplaceBlock();
    tile::StatementOp::ensureTerminator(group.getBody(), b, kernel.getLoc());
  };
  expectRejected("nv-execute-in-order", add, "nv-load-tiles", "ordered", "`tile.statement`");
}

//===----------------------------------------------------------------------===//
// Layouts and memory
//===----------------------------------------------------------------------===//

TEST(Sabotage, ATileWithoutLayout) {
  expectRejected("nv-plan-memory", drop<tile::AllocOp>("nv.layout"), "nv-insert-syncs", "placed",
                 "is in registers and has no `nv.layout`");
}

TEST(Sabotage, ATileWithoutOffset) {
  expectRejected("nv-insert-syncs", drop<tile::AllocOp>("nv.offset"), "nv-insert-syncs", "placed",
                 "is in shared memory and has no `nv.offset`");
}

TEST(Sabotage, ALayoutOfAnotherShape) {
  auto change = [](func::FuncOp kernel) {
    kernel.walk([](tile::AllocOp alloc) {
      if (nv::layoutOf(alloc.getResult()))
        nv::setLayout(alloc, layout::blocked({7}, 32, 1));
    });
  };
  EXPECT_THAT(errorsAfter("nv-assign-layouts", change),
              HasSubstr("`nv.layout` is a distribution of a tile's shape"));
}

TEST(Sabotage, ADeallocationThatStays) {
  auto add = [](func::FuncOp kernel) {
    OpBuilder b(kernel.getBody().front().getTerminator());
    memref::DeallocOp::create(b, kernel.getLoc(), firstOf<tile::AllocOp>(kernel).getResult());
  };
  expectRejected("nv-plan-memory", add, "nv-insert-syncs", "placed", "`memref.dealloc`");
}

TEST(Sabotage, ADeallocationThatIsMarkedLate) {
  auto add = [](func::FuncOp kernel) {
    OpBuilder b(kernel.getBody().front().getTerminator());
    auto free =
        memref::DeallocOp::create(b, kernel.getLoc(), firstOf<tile::AllocOp>(kernel).getResult());
    free->setAttr(NVDialect::syncedAttr, unitOf(kernel));
  };
  expectRejected("nv-insert-syncs", add, "nv-insert-syncs", "placed", "has `nv.synced`");
}

TEST(Sabotage, CoordinatesTooEarly) {
  auto add = [](func::FuncOp kernel) {
    OpBuilder b(kernel.getBody().front().getTerminator());
    Value zero = arith::ConstantIndexOp::create(b, kernel.getLoc(), 0);
    auto compare = arith::CmpIOp::create(b, kernel.getLoc(), arith::CmpIPredicate::slt, zero, zero);
    compare->setAttr(NVDialect::coordinatesAttr, b.getDenseI64ArrayAttr({1, 1}));
  };
  expectRejected("nv-assign-layouts", add, "nv-plan-memory", "ordered", "has `nv.coordinates`");
}

//===----------------------------------------------------------------------===//
// Moved passes
//===----------------------------------------------------------------------===//

/// Runs passes on the program for sm_100a, with a change after one of them; returns the errors.
std::string errorsOf(std::vector<std::unique_ptr<Pass>> list, StringRef after = "",
                     Change change = nullptr) {
  PooledContext context;
  std::vector<penstock::Diagnostic> found;
  auto module = parseProgram(context.get(), program, "kernel.mlir", found);
  PassManager passes(context.get());
  const hw::Architecture &architecture = *hw::findArchitecture("sm_100a");
  passes.addNestedPass<func::FuncOp>(createStartKernel({/*alignedRows=*/true}));
  buildSchedulePipeline(passes, architecture);
  for (std::unique_ptr<Pass> &pass : list)
    passes.addNestedPass<func::FuncOp>(std::move(pass));
  passes.addInstrumentation(std::make_unique<Sabotage>(after, std::move(change)));
  tile::DiagnosticCollector collector(context.get(), found, InternalError);
  EXPECT_TRUE(failed(passes.run(*module)));
  return to_text(found);
}

TEST(MovedPass, RolesBeforeEngines) {
  std::vector<std::unique_ptr<Pass>> passes;
  passes.push_back(createChooseThreads());
  passes.push_back(createAssignRoles());
  EXPECT_THAT(
      errorsOf(std::move(passes)),
      HasSubstr("`nv-assign-roles` requires a kernel in phase `bound`; this one is in phase "
                "`tile`"));
}

TEST(MovedPass, PlansTwice) {
  std::vector<std::unique_ptr<Pass>> passes;
  passes.push_back(createChooseThreads());
  passes.push_back(createBindEngines());
  passes.push_back(createPlaceAccumulators());
  passes.push_back(createWritePlans());
  passes.push_back(createWritePlans());
  EXPECT_THAT(errorsOf(std::move(passes)),
              HasSubstr("`nv-write-plans` requires a kernel in phase `bound`; this one is in phase "
                        "`pipelined`"));
}

TEST(MovedPass, LayoutsBeforePlans) {
  std::vector<std::unique_ptr<Pass>> passes;
  passes.push_back(createChooseThreads());
  passes.push_back(createBindEngines());
  passes.push_back(createAssignLayouts());
  EXPECT_THAT(errorsOf(std::move(passes)),
              HasSubstr("`nv-assign-layouts` requires a kernel in phase `ordered`; this one is in "
                        "phase `bound`"));
}

TEST(MovedPass, AStatementAddedUnderAPreservedAnalysis) {
  std::vector<std::unique_ptr<Pass>> passes;
  passes.push_back(createChooseThreads());
  passes.push_back(createBindEngines());
  passes.push_back(createPlaceAccumulators());
  passes.push_back(createAssignRoles());
  passes.push_back(createVerifyPhase({"bound", "nv-assign-roles"}));
  auto repeat = [](func::FuncOp kernel) {
    auto gemm = firstOf<tile::GemmOp>(kernel);
    OpBuilder b(gemm);
    b.setInsertionPointAfter(gemm);
    b.clone(*gemm);
  };
  EXPECT_THAT(errorsOf(std::move(passes), "nv-assign-roles", repeat),
              AllOf(HasSubstr("after `nv-assign-roles`"), HasSubstr("phase `bound`"),
                    HasSubstr("preserved `PipelineLoops`")));
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string errorsOfText(const std::string &attributes, const std::string &body = "") {
  PooledContext context;
  std::vector<penstock::Diagnostic> found;
  std::string text =
      "func.func @k() attributes {tile.kernel" + attributes + "} {\n" + body + "  return\n}\n";
  EXPECT_FALSE(parseProgram(context.get(), text, "kernel.mlir", found));
  return to_text(found);
}

const std::string mma = R"(
  %A = tile.alloc "A" : memref<64x64xf16, #tile.space<shared>>
  %acc = tile.alloc "acc" : memref<64x64xf32, #tile.space<local>>
  tile.gemm %A, %A into %acc {ATTRIBUTES} : memref<64x64xf16, #tile.space<shared>>, memref<64x64xf16, #tile.space<shared>>, memref<64x64xf32, #tile.space<local>>
)";

std::string errorsOfMma(const std::string &attributes) {
  std::string body = mma;
  body.replace(body.find("ATTRIBUTES"), 10, attributes);
  return errorsOfText("", body);
}

TEST(AttributeText, UnknownEngine) {
  EXPECT_THAT(errorsOfMma("nv.engine = #nv.engine<wgmma2>"),
              HasSubstr("there is no engine `wgmma2`"));
}

TEST(AttributeText, EngineAsAString) {
  EXPECT_THAT(errorsOfMma("nv.engine = \"wgmma\""), HasSubstr("`nv.engine` is an `#nv.engine`"));
}

TEST(AttributeText, RoleThatIsNoName) {
  EXPECT_THAT(errorsOfMma("nv.role = #nv.role<\"two words\">"),
              HasSubstr("`two words` is not the name of a role"));
}

TEST(AttributeText, AttributesOfPassesAreNotPartOfTheLanguage) {
  std::string body = mma;
  body.replace(body.find("into %acc {ATTRIBUTES}"), 22, "into %acc starts");
  EXPECT_THAT(errorsOfText("", body), HasSubstr("are not part of the language"));
}

TEST(AttributeText, UnknownTarget) {
  EXPECT_THAT(errorsOfText(", tile.target = \"sm_1\""), HasSubstr("unknown architecture"));
}

TEST(AttributeText, UnknownPhase) {
  EXPECT_THAT(errorsOfText(", nv.phase = #nv.phase<done>"),
              HasSubstr("to be one of: tile, bound, pipelined"));
}

TEST(AttributeText, UnknownAttribute) {
  EXPECT_THAT(errorsOfText(", nv.thread = 128 : i64"), HasSubstr("unknown attribute"));
}

TEST(AttributeText, MalformedLayout) {
  EXPECT_THAT(errorsOfText("",
                           "  %x = tile.alloc \"x\" {nv.layout = #nv.layout<\"32 threads [\">} : "
                           "memref<32xf32, #tile.space<local>>\n"),
              HasSubstr("is not a distribution over registers"));
}

} // namespace
