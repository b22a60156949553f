//===- RecordHardware.cpp - Barriers, engines and roles -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileTypes.h"
#include "Lang/RecordSupport.h"
#include "Lang/Recorder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::lang;
namespace seam = penstock::detail::nv;

namespace {

/// One recording call: looks operands up, and is inert once one is missing.
class Call {
public:
  Call(Loc at) : r(Recorder::current()), at(at), ok(r != nullptr) {}

  mlir::Value use(Ref ref, StringRef what) {
    Entry *entry = ok ? r->use(ref, at, what) : nullptr;
    if (!entry || entry->kind != Entry::Value) {
      ok = false;
      return {};
    }
    return entry->value;
  }
  SmallVector<mlir::Value> useAll(penstock::detail::Refs refs, StringRef what) {
    SmallVector<mlir::Value> values;
    for (Ref ref : refs)
      values.push_back(use(ref, what));
    return values;
  }
  std::pair<mlir::Value, mlir::Value> barrier(seam::BarrierRef ref) {
    mlir::Value barriers = use(ref.barriers, "barrier");
    return {barriers, use(ref.index, "number of the barrier")};
  }
  template <class Op, class... Args> Op make(Args &&...args) {
    auto op = Op::create(r->builder, r->locationOf(at), std::forward<Args>(args)...);
    return r->verify(op) ? op : Op();
  }
  /// The name of the variable that is initialized on this line.
  StringAttr variable() {
    std::string name = r->takeName(at);
    return name.empty() ? StringAttr() : r->builder.getStringAttr(name);
  }
  /// The name of a part of the object that is declared on this line: "ring.full".
  StringAttr partOf(std::string part) {
    return r->builder.getStringAttr(r->takePartName(at, part));
  }
  /// Returns the value, or none if it is absent, which is no error.
  mlir::Value useIfThere(Ref ref, StringRef what) {
    return ref.id ? use(ref, what) : mlir::Value();
  }
  /// As operations name them; none if nothing is said.
  StringAttr nameOf(Cache cache) {
    static constexpr const char *names[] = {"", "evict_first", "evict_normal", "evict_last"};
    return cache == NoHint ? StringAttr() : r->builder.getStringAttr(names[cache]);
  }
  StringAttr nameOf(std::optional<Reduction> kind) {
    static constexpr const char *names[] = {"add", "mul", "max", "min"};
    return kind ? r->builder.getStringAttr(names[*kind]) : StringAttr();
  }
  DenseI64ArrayAttr dimsOf(const seam::BoxRef &box) {
    return box.dims.empty() ? DenseI64ArrayAttr()
                            : r->builder.getDenseI64ArrayAttr({box.dims.begin(), box.dims.end()});
  }
  /// The number of this block in its cluster.
  Ref rank() {
    auto op = make<penstock::nv::ClusterRankOp>(r->builder.getIndexType());
    return op ? r->add(op.getResult()) : r->poison();
  }
  /// Blocks that multiply as one form a cluster of their own; \p unstated is the
  /// number where nothing has been said of clusters.
  bool isPairCluster(int64_t blocks, int64_t unstated) {
    if (blocks == 2 || blocks == unstated)
      return true;
    r->error(HardwareScope, at, "a pair in a cluster of " + std::to_string(blocks) + " blocks",
             "a pair is a cluster of two blocks");
    return false;
  }
  /// An arrival releases and a wait acquires, or either is relaxed.
  bool isAllowed(seam::BarrierSemantics how, Semantics usual) {
    if (how.sem == usual || how.sem == Relaxed)
      return true;
    r->error(HardwareBarrier, at,
             usual == Release ? "an arrival cannot acquire" : "a wait cannot release",
             usual == Release ? "its semantics are Release or Relaxed"
                              : "its semantics are Acquire or Relaxed");
    return false;
  }
  /// Storage lives as long as the block, wherever a helper asks for it.
  template <class Op, class... Args> Op makeInKernel(Args &&...args) {
    OpBuilder::InsertionGuard guard(r->builder);
    if (!r->scopes.empty())
      r->builder.setInsertionPoint(r->scopes.front().op);
    return make<Op>(std::forward<Args>(args)...);
  }

  Recorder *r;
  Loc at;
  bool ok;
};

/// Opens a scope with an empty body.
template <class Op, class... Args> penstock::detail::Scope openScope(Loc at, Args... args) {
  Call call(at);
  if (!call.ok)
    return {};
  Location loc = call.r->locationOf(at);
  auto op = Op::create(call.r->builder, loc, args...);
  OpBuilder inner(call.r->context);
  mlir::Block *body = inner.createBlock(&op.getBody());
  penstock::nv::EndOp::create(inner, loc);
  // A wrong choice of threads is reported; its body is recorded all the same.
  (void)mlir::verify(op, /*verifyRecursively=*/false);
  return call.r->open(op, body);
}

} // namespace

void seam::threads(int64_t count, Loc at) {
  Call call(at);
  if (!call.ok)
    return;
  if (count < 32 || count > 1024 || count % 32) {
    call.r->error(HardwareScope, at,
                  "a block of " + std::to_string(count) + " threads is not possible",
                  "threads come in warps of 32, at most 1024 of them");
    return;
  }
  call.r->function->setAttr(penstock::nv::NVDialect::threadsAttr,
                            call.r->builder.getI64IntegerAttr(count));
}

Ref seam::pair(Loc at) {
  Call call(at);
  if (!call.ok)
    return {};
  if (!call.isPairCluster(penstock::nv::clusterSize(call.r->function), 1))
    return call.r->poison();
  call.r->function->setAttr(penstock::nv::NVDialect::pairAttr, call.r->builder.getUnitAttr());
  return call.rank();
}

Ref seam::cluster(int64_t blocks, Loc at) {
  Call call(at);
  if (!call.ok)
    return {};
  if (blocks < 1 || blocks > penstock::nv::maxClusterBlocks) {
    call.r->error(
        HardwareScope, at, "a cluster of " + std::to_string(blocks) + " blocks is not possible",
        "a cluster has 1 to " + std::to_string(penstock::nv::maxClusterBlocks) + " blocks");
    return call.r->poison();
  }
  if (call.r->function->hasAttr(penstock::nv::NVDialect::pairAttr) &&
      !call.isPairCluster(blocks, 2))
    return call.r->poison();
  call.r->function->setAttr(penstock::nv::NVDialect::clusterAttr,
                            call.r->builder.getI64IntegerAttr(blocks));
  return call.rank();
}

void seam::clusterSync(Loc at) {
  if (Call call(at); call.ok)
    call.make<penstock::nv::ClusterSyncOp>();
}

penstock::detail::Scope seam::openWarps(int64_t first, int64_t count, Loc at) {
  return openScope<penstock::nv::WarpsOp>(at, first, count);
}
penstock::detail::Scope seam::openElect(Loc at) { return openScope<penstock::nv::ElectOp>(at); }

void seam::sync(Loc at) {
  if (Call call(at); call.ok)
    call.make<penstock::nv::SyncOp>();
}

void seam::warpSync(Loc at) {
  if (Call call(at); call.ok)
    call.make<penstock::nv::WarpSyncOp>();
}

Ref seam::allocateNamedBarrier(int64_t threads, Loc at) {
  Call call(at);
  if (!call.ok)
    return {};
  auto type = penstock::nv::NamedBarrierType::get(call.r->context, threads);
  auto op = call.makeInKernel<penstock::nv::NamedBarrierAllocOp>(type, call.variable());
  return op ? call.r->add(op.getResult()) : call.r->poison();
}

void seam::meet(Ref ref, bool wait, Loc at) {
  Call call(at);
  mlir::Value barrier = call.use(ref, "barrier");
  if (!call.ok)
    return;
  if (wait)
    call.make<penstock::nv::NamedBarrierSyncOp>(barrier);
  else
    call.make<penstock::nv::NamedBarrierArriveOp>(barrier);
}

void seam::registers(int64_t count, bool request, Loc at) {
  Call call(at);
  if (!call.ok)
    return;
  if (request)
    call.make<penstock::nv::RegistersRequestOp>(uint64_t(count));
  else
    call.make<penstock::nv::RegistersReleaseOp>(uint64_t(count));
}

void seam::proxyFence(Loc at) {
  if (Call call(at); call.ok)
    call.make<penstock::nv::ProxyFenceOp>();
}

Ref seam::allocateBarriers(Ints counts, const char *part, Loc at) {
  Call call(at);
  if (!call.ok)
    return {};
  auto type = penstock::nv::BarriersType::get(call.r->context, int64_t(counts.size()));
  auto op = call.makeInKernel<penstock::nv::BarrierAllocOp>(
      type, part ? call.partOf(part) : call.variable(),
      ArrayRef<int64_t>(counts.data(), counts.size()));
  return op ? call.r->add(op.getResult()) : call.r->poison();
}

void seam::arrive(BarrierRef ref, Ref bytes, Ref cta, BarrierSemantics how, Loc at) {
  Call call(at);
  auto [barriers, index] = call.barrier(ref);
  mlir::Value announced = call.useIfThere(bytes, "number of bytes");
  mlir::Value block = call.useIfThere(cta, "number of the block");
  if (call.ok && call.isAllowed(how, Release))
    call.make<penstock::nv::ArriveOp>(barriers, index, announced, block, how.sem == Relaxed,
                                      how.scope == Cluster);
}

void seam::wait(BarrierRef ref, Ref phase, BarrierSemantics how, Loc at) {
  Call call(at);
  auto [barriers, index] = call.barrier(ref);
  mlir::Value parity = call.use(phase, "phase");
  if (call.ok && call.isAllowed(how, Acquire))
    call.make<penstock::nv::WaitOp>(barriers, index, parity, how.sem == Relaxed,
                                    how.scope == Cluster);
}

Ref seam::tryWait(BarrierRef ref, Ref phase, BarrierSemantics how, int64_t nanoseconds, Loc at) {
  Call call(at);
  auto [barriers, index] = call.barrier(ref);
  mlir::Value parity = call.use(phase, "phase");
  auto time =
      nanoseconds && call.ok ? call.r->builder.getI64IntegerAttr(nanoseconds) : IntegerAttr();
  auto op = call.ok ? call.make<penstock::nv::TryWaitOp>(call.r->builder.getI1Type(), barriers,
                                                         index, parity, time, how.scope == Cluster)
                    : penstock::nv::TryWaitOp();
  if (op)
    return call.r->add(op.getResult());
  return call.r ? call.r->poison() : Ref();
}

/// The offset of a box along packed values, of which tensors count the bytes. It is a multiple of
/// 128 values, as boxes need, only if it is one in bytes.
static mlir::Value offsetInValues(Call &call, mlir::Value bytes, tile::Packing packing) {
  OpBuilder &b = call.r->builder;
  Location loc = bytes.getLoc();
  auto number = [&](int64_t value) -> mlir::Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  mlir::Value bits = arith::MulIOp::create(b, loc, bytes, number(8));
  return arith::DivUIOp::create(b, loc, bits, number(tile::bitsOf(packing)));
}

void seam::tmaLoad(const BoxRef &box, Ref tile, BarrierRef ref, Ref multicast, Cache cache,
                   std::optional<Element> padded, Loc at) {
  Call call(at);
  mlir::Value source = call.use(box.tensor, "tensor");
  auto offsets = call.useAll(box.offsets, "offset");
  mlir::Value target = call.use(tile, "tile");
  auto [barriers, index] = call.barrier(ref);
  mlir::Value blocks = call.useIfThere(multicast, "mask of blocks");
  if (!call.ok)
    return;
  tile::PackingAttr padding;
  if (padded) {
    const tile::PackedElement *packed = tile::findPacked(*padded);
    if (!packed || packed->packing == tile::Packing::I4) {
      call.r->error(PackedElements, at, "TMA does not pad " + tile::describe(source),
                    "leave .padded out; f4e2m1x2, f6e2m3_packed and f6e3m2_packed are padded");
      return;
    }
    padding = tile::PackingAttr::get(call.r->context, tile::padded(packed->packing));
    offsets.back() = offsetInValues(call, offsets.back(), packed->packing);
  }
  call.make<penstock::nv::TmaLoadOp>(source, offsets, target, barriers, index, blocks,
                                     call.dimsOf(box), call.nameOf(cache), DenseI64ArrayAttr(),
                                     padding);
}

void seam::tmaStore(Ref tile, const BoxRef &box, std::optional<Reduction> combined, Cache cache,
                    Loc at) {
  Call call(at);
  mlir::Value source = call.use(tile, "tile");
  mlir::Value target = call.use(box.tensor, "tensor");
  auto offsets = call.useAll(box.offsets, "offset");
  if (call.ok)
    call.make<penstock::nv::TmaStoreOp>(source, target, offsets, call.dimsOf(box),
                                        call.nameOf(combined), call.nameOf(cache),
                                        DenseI64ArrayAttr());
}

void seam::asyncArrive(BarrierRef ref, Loc at) {
  Call call(at);
  auto [barriers, index] = call.barrier(ref);
  if (call.ok)
    call.make<penstock::nv::AsyncArriveOp>(barriers, index);
}

void seam::asyncCopy(const BoxRef &box, Ref tile, int64_t bytes, bool l1, Loc at) {
  Call call(at);
  mlir::Value source = call.use(box.tensor, "tensor");
  auto offsets = call.useAll(box.offsets, "offset");
  mlir::Value target = call.use(tile, "tile");
  if (call.ok)
    call.make<penstock::nv::AsyncCopyOp>(source, offsets, target, call.dimsOf(box), uint64_t(bytes),
                                         l1, DenseI64ArrayAttr());
}

void seam::group(Group group, Loc at) {
  Call call(at);
  if (!call.ok)
    return;
  switch (group) {
  case Group::TmaCommit:
    call.make<penstock::nv::TmaCommitOp>();
    break;
  case Group::AsyncCommit:
    call.make<penstock::nv::AsyncCommitOp>();
    break;
  case Group::WgmmaCommit:
    call.make<penstock::nv::WgmmaCommitOp>();
    break;
  case Group::WgmmaFence:
    call.make<penstock::nv::WgmmaFenceOp>();
    break;
  case Group::TensorWaitLoad:
    call.make<penstock::nv::TensorWaitLoadOp>();
    break;
  case Group::TensorWaitStore:
    call.make<penstock::nv::TensorWaitStoreOp>();
    break;
  }
}

void seam::waitGroup(Engine engine, int64_t pending, bool read, Loc at) {
  Call call(at);
  if (!call.ok)
    return;
  switch (engine) {
  case Engine::Tma:
    call.make<penstock::nv::TmaWaitOp>(uint64_t(pending), read);
    break;
  case Engine::Async:
    call.make<penstock::nv::AsyncWaitOp>(uint64_t(pending));
    break;
  case Engine::Wgmma:
    call.make<penstock::nv::WgmmaWaitOp>(uint64_t(pending));
    break;
  }
}

void seam::clcRequest(Ref answer, BarrierRef ref, Loc at) {
  Call call(at);
  mlir::Value tile = call.use(answer, "tile");
  auto [barriers, index] = call.barrier(ref);
  if (call.ok)
    call.make<penstock::nv::ClcRequestOp>(tile, barriers, index);
}

void seam::clcAnswer(Ref answer, Ref result[2], Loc at) {
  Call call(at);
  mlir::Value tile = call.use(answer, "tile");
  auto op = call.ok ? call.make<penstock::nv::ClcAnswerOp>(call.r->builder.getI1Type(),
                                                           call.r->builder.getIndexType(), tile)
                    : penstock::nv::ClcAnswerOp();
  for (int i = 0; i < 2; ++i)
    result[i] = op ? call.r->add(op->getResult(unsigned(i))) : call.r ? call.r->poison() : Ref();
}

penstock::detail::Scope seam::openWhile(Loc at) {
  Call call(at);
  if (!call.ok)
    return {};
  Location loc = call.r->locationOf(at);
  auto op = scf::WhileOp::create(call.r->builder, loc, TypeRange(), ValueRange());
  OpBuilder inner(call.r->context);
  mlir::Block *before = inner.createBlock(&op.getBefore());
  inner.createBlock(&op.getAfter());
  scf::YieldOp::create(inner, loc);
  return call.r->open(op, before);
}

void seam::openWhileBody(Scope scope, Ref condition, Loc at) {
  Call call(at);
  if (!call.r || !call.r->isOpen(scope.token))
    return;
  mlir::Value holds = call.use(condition, "condition");
  if (!holds)
    holds = call.r->constant(call.r->builder.getBoolAttr(false));
  scf::ConditionOp::create(call.r->builder, call.r->locationOf(at), holds, ValueRange());
  call.r->openSecondBranch(scope.token);
}

Ref seam::allocateTensor(Element element, Ints shape, Loc at) {
  Call call(at);
  if (!call.ok)
    return {};
  for (int64_t size : shape)
    if (size < 1 || size > tile::maxTileElements) {
      call.r->error(TileShape, at, "a dimension of a tile is " + std::to_string(size));
      return call.r->poison();
    }
  auto type = tile::tileType(ArrayRef<int64_t>(shape.data(), shape.size()), call.r->typeOf(element),
                             tile::Space::Tensor);
  auto op = call.makeInKernel<penstock::nv::TensorAllocOp>(type, call.variable());
  return op ? call.r->add(op.getResult()) : call.r->poison();
}

void seam::deallocateTensor(Ref ref, Loc at) {
  Call call(at);
  mlir::Value tile = call.use(ref, "tile");
  if (call.ok)
    call.make<penstock::nv::TensorDeallocOp>(tile);
}

void seam::mma(bool blackwell, Ref a, Ref b, Ref acc, Ref accumulate, Loc at) {
  Call call(at);
  mlir::Value left = call.use(a, "left operand"), right = call.use(b, "right operand"),
              sum = call.use(acc, "accumulator"), more = call.use(accumulate, "condition");
  if (!call.ok)
    return;
  if (blackwell)
    call.make<penstock::nv::TensorMmaOp>(left, right, sum, more);
  else
    call.make<penstock::nv::WgmmaOp>(left, right, sum, more);
}

/// The format in which the tensor core reads an operand beside another one, if it is not two
/// f4e2m1.
static tile::PackingAttr paddedPackingOf(Recorder &r, Element element, Element other) {
  const tile::PackedElement *packed = tile::findPacked(element);
  if (!packed || (packed->packing == tile::Packing::F4E2M1 && other == element))
    return {};
  return tile::PackingAttr::get(r.context, tile::padded(packed->packing));
}

void seam::scaledMma(Ref a, Ref b, Ref acc, Ref scaleA, Ref scaleB, Element elementA,
                     Element elementB, Ref accumulate, Loc at) {
  Call call(at);
  mlir::Value left = call.use(a, "left operand"), right = call.use(b, "right operand"),
              sum = call.use(acc, "accumulator"), more = call.use(accumulate, "condition"),
              first = call.useIfThere(scaleA, "scales"), second = call.useIfThere(scaleB, "scales");
  if (call.ok && checkScales(*call.r, {left, elementA}, {right, elementB}, first || second, at))
    call.make<penstock::nv::TensorMmaOp>(left, right, sum, more, first, second, IntegerAttr(),
                                         paddedPackingOf(*call.r, elementA, elementB),
                                         paddedPackingOf(*call.r, elementB, elementA));
}

void seam::commit(BarrierRef ref, Ref multicast, Loc at) {
  Call call(at);
  auto [barriers, index] = call.barrier(ref);
  mlir::Value blocks = call.useIfThere(multicast, "mask of blocks");
  if (call.ok)
    call.make<penstock::nv::TensorCommitOp>(barriers, index, blocks);
}

Ref seam::loadTensor(Ref ref, Loc at) {
  Call call(at);
  mlir::Value source = call.use(ref, "tile");
  if (!call.ok)
    return call.r ? call.r->poison() : Ref();
  auto from = cast<MemRefType>(source.getType());
  auto type = tile::tileType(from.getShape(), from.getElementType(), tile::Space::Local);
  auto target = call.makeInKernel<tile::AllocOp>(type, call.variable(), IntegerAttr());
  if (!target || !call.make<penstock::nv::TensorLoadOp>(source, target.getResult()))
    return call.r->poison();
  return call.r->add(target.getResult());
}

void seam::storeTensor(Ref from, Ref to, Loc at) {
  Call call(at);
  mlir::Value source = call.use(from, "tile"), target = call.use(to, "tile");
  if (call.ok)
    call.make<penstock::nv::TensorStoreOp>(source, target);
}

void seam::copyTensor(Ref from, Ref to, Loc at) {
  Call call(at);
  mlir::Value source = call.use(from, "tile"), target = call.use(to, "tile");
  if (call.ok)
    call.make<penstock::nv::TensorCopyOp>(source, target);
}
