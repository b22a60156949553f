//===- EngineCosts.cpp - Engine and cycles of each statement --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/EngineCosts.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace penstock;

namespace {

enum Engine { Load, Product, General, Special, NumEngines };

int64_t bytesOf(Type element) { return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8); }

/// Cycles of each engine that one statement occupies.
class Work {
public:
  explicit Work(const hw::Architecture &architecture) : architecture(architecture) {}

  void add(Operation *op) {
    if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      auto type = cast<MemRefType>(copy.getTarget().getType());
      int64_t elements = 1;
      for (int64_t size : copy.getTileShape())
        elements *= size;
      int64_t bytes = bytesOf(type.getElementType());
      int64_t row = copy.getTileShape().empty() ? 1 : copy.getTileShape().back();
      if (copy.readsTensor() || copy.writesTensor())
        count(Load, architecture.load(elements * bytes, row * bytes));
      else
        count(General, architecture.elementwise(elements));
    } else if (auto gemm = dyn_cast<tile::GemmOp>(op)) {
      auto a = cast<MemRefType>(gemm.getA().getType());
      auto acc = cast<MemRefType>(gemm.getAcc().getType());
      count(Product, architecture.gemm(acc.getDimSize(0), acc.getDimSize(1), a.getDimSize(1),
                                       bytesOf(a.getElementType())));
    } else if (auto map = dyn_cast<tile::MapOp>(op)) {
      int64_t elements = cast<MemRefType>(map.getTarget().getType()).getNumElements();
      int64_t special = 0, plain = 0;
      map.getBody().walk([&](Operation *inner) {
        bool isSpecial = isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::TanhOp,
                             math::ErfOp, math::RsqrtOp, math::SqrtOp>(inner);
        (isSpecial ? special : plain) += 1;
      });
      count(General, architecture.elementwise(elements * plain));
      if (special)
        count(Special, architecture.exponentials(elements * special));
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      auto type = cast<MemRefType>(reduce.getSource().getType());
      count(General, architecture.elementwise(type.getNumElements()));
    } else if (auto fill = dyn_cast<tile::FillOp>(op)) {
      auto type = cast<MemRefType>(fill.getTarget().getType());
      count(General, architecture.elementwise(type.getNumElements()));
    }
  }

  void store(sched::Statement &statement) const {
    size_t busiest = General;
    int64_t latency = 0;
    for (size_t e = 0; e < NumEngines; ++e) {
      latency += cost[e].latency;
      if (cost[e].busy > cost[busiest].busy)
        busiest = e;
    }
    if (!latency)
      return; // waits and the like
    size_t last = architecture.engines.size() - 1;
    statement.engine = architecture.engines[std::min(busiest, last)].name;
    statement.busy = cost[busiest].busy;
    statement.latency = latency;
  }

private:
  void count(Engine engine, hw::Cost more) {
    cost[engine].busy += more.busy;
    cost[engine].latency += more.latency;
  }

  const hw::Architecture &architecture;
  hw::Cost cost[NumEngines];
};

/// Products of wgmma and tcgen05 run while threads compute, those into one accumulator in order.
void queueProduct(PipelineLoop &loop, size_t statement, tile::GemmOp gemm,
                  const hw::Architecture &architecture) {
  sched::Statement &product = loop.problem.statements[statement];
  if (product.async)
    return; // in a queue of the language
  product.async = true;
  Value left = tile::rootOf(gemm.getA());
  bool inRegisters = !architecture.limits.tensorColumns &&
                     tile::spaceOf(cast<MemRefType>(left.getType())) == tile::Space::Local;
  for (size_t buffer = 0; buffer < loop.buffers.size(); ++buffer) {
    // Loops carry versions of registers from step to step, which wgmma must not read then.
    if (unsigned &versions = loop.problem.buffers[buffer].statedVersions;
        inRegisters && loop.buffers[buffer] == left && !versions)
      versions = 1;
    if (loop.buffers[buffer] != tile::rootOf(gemm.getAcc()))
      continue;
    std::string name = "products into " + loop.problem.buffers[buffer].name;
    product.queue = loop.problem.findQueue(name);
    if (product.queue == sched::none) {
      product.queue = sched::QueueId(loop.problem.queues.size());
      loop.problem.queues.push_back({name, /*inOrder=*/true, {sched::BufferId(buffer)}});
    }
  }
}

} // namespace

void penstock::assignCosts(PipelineLoop &loop, const hw::Architecture &architecture) {
  for (size_t i = 0; i < loop.statements.size(); ++i) {
    Work work(architecture);
    loop.statements[i].op->walk([&](Operation *op) { work.add(op); });
    work.store(loop.problem.statements[i]);
    // Copies from tensors run on an engine of their own there.
    if (architecture.family != hw::Architecture::Family::X86 &&
        loop.problem.statements[i].kind == sched::StatementKind::Copy)
      loop.problem.statements[i].async = true;
    auto gemm = dyn_cast<tile::GemmOp>(loop.statements[i].op);
    if (gemm && loop.annotations.solverSeconds && architecture.tma)
      queueProduct(loop, i, gemm, architecture);
  }
}
