//===- RecordTiles.cpp - Tiles, tensors and operations on them ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Lang/RecordSupport.h"
#include "Lang/Recorder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::lang;

namespace {

/// Looks up several references; false, with the error reported, if one fails.
bool useAll(Recorder &r, penstock::detail::Refs refs, Loc at, StringRef what,
            SmallVectorImpl<mlir::Value> &values) {
  bool ok = true;
  for (Ref ref : refs) {
    Entry *entry = r.use(ref, at, what);
    if (!entry || entry->kind != Entry::Value)
      ok = false;
    else
      values.push_back(entry->value);
  }
  return ok;
}

StringAttr optionalName(Recorder &r, std::string_view name) {
  return name.empty() ? StringAttr() : r.builder.getStringAttr(name);
}

} // namespace

//===----------------------------------------------------------------------===//
// Storage and views
//===----------------------------------------------------------------------===//

Ref penstock::detail::allocate(Space space, Element element, Ints shape, int versions, Loc at) {
  RECORDING(r, at);
  std::string name = r->takeName(at);
  // A memref type with a negative extent cannot be made; the verifier would
  // have refused it.
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size < 0 || size > tile::maxTileElements) {
      r->error(TileShape, at,
               "dimension " + std::to_string(dim) + " of " +
                   (name.empty() ? "a tile" : "`" + name + "`") + " is " + std::to_string(size),
               size < 0 ? "the shape of a tile is known when the kernel is "
                          "compiled, and every extent is at least 1"
                        : "a tile holds at most 2^26 elements; let each block "
                          "work on a smaller part");
      return r->poison();
    }
  if (versions < 0) {
    r->error(TileShape, at,
             (name.empty() ? "a tile" : "`" + name + "`") + " is declared with " +
                 std::to_string(versions) + " versions; between 1 and 1024 are possible",
             "leave .versions out to have their number computed");
    return r->poison();
  }
  auto type = tile::tileType(ArrayRef<int64_t>(shape.data(), shape.size()), r->typeOf(element),
                             space == Space::Shared ? tile::Space::Shared : tile::Space::Local);
  // Tiles live as long as the block, wherever a helper asks for them.
  OpBuilder::InsertionGuard guard(r->builder);
  mlir::Block &entry = r->function.getBody().front();
  if (!r->scopes.empty()) {
    Operation *outermost = r->scopes.front().op;
    assert(outermost->getBlock() == &entry);
    r->builder.setInsertionPoint(outermost);
  }
  auto op =
      tile::AllocOp::create(r->builder, r->locationOf(at), type, optionalName(*r, name),
                            versions ? r->builder.getI64IntegerAttr(versions) : IntegerAttr());
  if (StringAttr packed = r->packedAttrOf(element))
    op->setAttr(tile::TileDialect::packedAttr, packed);
  return r->verify(op) ? r->add(op.getResult()) : r->poison();
}

void penstock::detail::name(Ref tile, std::string_view text, Loc at) {
  Recorder *r = Recorder::current();
  if (!r)
    return;
  Entry *entry = r->use(tile, at, "tile");
  if (!entry)
    return;
  if (auto alloc = tile::rootOf(entry->value).getDefiningOp<tile::AllocOp>())
    alloc.setLabel(StringRef(text));
}

static bool hasDimension(Recorder &r, Value value, int dim, Loc at) {
  int64_t rank = cast<MemRefType>(value.getType()).getRank();
  if (dim >= 0 && dim < rank)
    return true;
  r.error(OffsetCount, at, tile::describe(value) + " has no dimension " + std::to_string(dim),
          "dimensions are counted from 0; the last one is " + std::to_string(rank - 1));
  return false;
}

int64_t penstock::detail::extent(Ref tile, int dim, Loc at) {
  Recorder *r = Recorder::current();
  Entry *entry = r ? r->use(tile, at, "tile") : nullptr;
  if (!entry)
    return 1;
  auto type = cast<MemRefType>(entry->value.getType());
  return hasDimension(*r, entry->value, dim, at) ? type.getDimSize(dim) : 1;
}

Ref penstock::detail::size(Ref tensor, int dim, Loc at) {
  RECORDING(r, at);
  Entry *entry = r->use(tensor, at, "tensor");
  if (!entry)
    return r->poison();
  if (!hasDimension(*r, entry->value, dim, at))
    return r->poison();
  auto argument = dyn_cast<BlockArgument>(entry->value);
  if (!argument) {
    r->error(SpaceMismatch, at, tile::describe(entry->value) + " is a tile, not a tensor");
    return r->poison();
  }
  unsigned number = argument.getArgNumber();
  if (!r->sizeNames[number].empty()) {
    auto fixed = r->fixedSizes.find(r->sizeNames[number][dim]);
    if (fixed != r->fixedSizes.end())
      return r->add(r->constant(r->builder.getIndexAttr(fixed->second)));
  }
  return r->add(memref::DimOp::create(r->builder, r->locationOf(at), entry->value,
                                      r->constant(r->builder.getIndexAttr(dim)))
                    .getResult());
}

Ref penstock::detail::slice(Ref tile, Refs offsets, Ints sizes, bool dropFirst, Loc at) {
  RECORDING(r, at);
  Entry *entry = r->use(tile, at, "tile");
  SmallVector<mlir::Value> values;
  if (!entry || !useAll(*r, offsets, at, "offset of a slice", values))
    return r->poison();
  mlir::Value source = entry->value;
  auto type = cast<MemRefType>(source.getType());
  SmallVector<OpFoldResult> mixedOffsets, mixedSizes, strides;
  for (auto [dim, offset, size] : llvm::enumerate(values, sizes)) {
    auto constant = getConstantIntValue(offset);
    int64_t extent = type.getDimSize(dim);
    if (size < 1 || size > extent || (constant && (*constant < 0 || *constant > extent - size))) {
      std::string from = constant ? std::to_string(*constant) : "..";
      r->error(OutOfTile, at,
               "a slice of " + std::to_string(size) +
                   (size == 1 ? " element at " : " elements at ") + from + " along dimension " +
                   std::to_string(dim) + " lies outside of " + tile::describe(source),
               size < 1
                   ? "a slice has at least one element"
                   : "offset and size together are at most " + std::to_string(extent) + " there");
      return r->poison();
    }
    mixedOffsets.push_back(constant ? OpFoldResult(r->builder.getIndexAttr(*constant))
                                    : OpFoldResult(offset));
    mixedSizes.push_back(r->builder.getIndexAttr(size));
    strides.push_back(r->builder.getIndexAttr(1));
  }
  auto full =
      cast<MemRefType>(memref::SubViewOp::inferResultType(type, mixedOffsets, mixedSizes, strides));
  MemRefType result = full;
  if (dropFirst)
    result = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
        full.getShape().drop_front(), type, mixedOffsets, mixedSizes, strides));
  auto op = memref::SubViewOp::create(r->builder, r->locationOf(at), result, source, mixedOffsets,
                                      mixedSizes, strides);
  return r->verify(op) ? r->add(op.getResult()) : r->poison();
}

Ref penstock::detail::transpose(Ref tile, Loc at) {
  RECORDING(r, at);
  Entry *entry = r->use(tile, at, "tile");
  if (!entry)
    return r->poison();
  auto map = AffineMapAttr::get(AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0}, r->context));
  auto op = memref::TransposeOp::create(r->builder, r->locationOf(at), entry->value, map);
  return r->verify(op) ? r->add(op.getResult()) : r->poison();
}

Ref penstock::detail::asMatrix(Ref tile, Loc at) {
  RECORDING(r, at);
  Entry *entry = r->use(tile, at, "tile");
  if (!entry)
    return r->poison();
  auto type = cast<MemRefType>(entry->value.getType());
  int64_t last = type.getRank() - 1;
  SmallVector<ReassociationIndices> dims = {llvm::to_vector(llvm::seq<int64_t>(0, last)), {last}};
  if (!memref::CollapseShapeOp::isGuaranteedCollapsible(type, dims)) {
    r->error(MatrixView, at,
             "the rows of " + tile::describe(entry->value) +
                 ", a slice, do not lie one after another, as those of a matrix",
             "take as_matrix(..) of the whole tile, and a slice(..) of that");
    return r->poison();
  }
  auto op = memref::CollapseShapeOp::create(r->builder, r->locationOf(at), entry->value, dims);
  return r->verify(op) ? r->add(op.getResult()) : r->poison();
}

//===----------------------------------------------------------------------===//
// Single elements
//===----------------------------------------------------------------------===//

Ref penstock::detail::load(Ref memory, Refs indices, Loc at) {
  RECORDING(r, at);
  Entry *entry = r->use(memory, at, "tensor or tile");
  if (!entry)
    return r->poison();
  auto type = cast<MemRefType>(entry->value.getType());
  mlir::Value source = entry->value;
  bool expression = false, ok = true;
  SmallVector<mlir::Value> values;
  for (Ref index : indices) {
    Entry *operand = r->use(index, at, "index");
    ok &= operand != nullptr;
    if (operand && operand->kind == Entry::Expr)
      expression = true;
    else if (operand)
      values.push_back(operand->value);
  }
  if (!ok)
    return r->poison();
  if (expression)
    return r->add(ExprNode{.kind = ExprNode::Load,
                           .type = type.getElementType(),
                           .operands = {indices.begin(), indices.end()},
                           .tile = source,
                           .loc = r->locationOf(at)});
  auto op =
      tile::LoadOp::create(r->builder, r->locationOf(at), type.getElementType(), source, values);
  return r->verify(op) ? r->add(op.getResult()) : r->poison();
}

void penstock::detail::store(Ref value, Ref memory, Refs indices, Loc at) {
  Recorder *r = recorderFor(at);
  if (!r)
    return;
  Entry *stored = r->use(value, at, "value");
  Entry *target = r->use(memory, at, "tensor or tile");
  SmallVector<mlir::Value> values;
  if (!useAll(*r, indices, at, "index", values) || !stored || !target)
    return;
  r->verify(
      tile::StoreOp::create(r->builder, r->locationOf(at), stored->value, target->value, values));
}

Ref penstock::detail::atomic(Kind kind, Ref value, Ref memory, Refs indices, Loc at) {
  RECORDING(r, at);
  Entry *stored = r->use(value, at, "value");
  Entry *target = r->use(memory, at, "tensor or tile");
  SmallVector<mlir::Value> values;
  if (!useAll(*r, indices, at, "index", values) || !stored || !target)
    return r->poison();
  auto op = tile::AtomicOp::create(r->builder, r->locationOf(at), stored->value.getType(),
                                   kind == Kind::Add   ? tile::AtomicKind::Add
                                   : kind == Kind::Max ? tile::AtomicKind::Max
                                   : kind == Kind::Min ? tile::AtomicKind::Min
                                                       : tile::AtomicKind::Exchange,
                                   stored->value, target->value, values);
  return r->verify(op) ? r->add(op.getOld()) : r->poison();
}

//===----------------------------------------------------------------------===//
// Operations on whole tiles
//===----------------------------------------------------------------------===//

void penstock::detail::copy(const CopyArguments &arguments, Loc at) {
  Recorder *r = recorderFor(at);
  if (!r)
    return;
  Entry *source = r->use(arguments.source, at, "source of the copy");
  Entry *target = r->use(arguments.target, at, "target of the copy");
  SmallVector<mlir::Value> sourceOffsets, targetOffsets;
  bool ok = useAll(*r, arguments.sourceOffsets, at, "offset", sourceOffsets);
  ok &= useAll(*r, arguments.targetOffsets, at, "offset", targetOffsets);
  Entry *fill = arguments.fill.id ? r->use(arguments.fill, at, "fill") : nullptr;
  if (!ok || !source || !target)
    return;
  DenseI64ArrayAttr dims;
  if (!arguments.dims.empty())
    dims = r->builder.getDenseI64ArrayAttr(
        ArrayRef<int64_t>(arguments.dims.data(), arguments.dims.size()));
  r->verify(tile::CopyOp::create(r->builder, r->locationOf(at), source->value, sourceOffsets,
                                 target->value, targetOffsets, fill ? fill->value : mlir::Value(),
                                 mlir::Value(), dims, optionalName(*r, arguments.async)));
}

void penstock::detail::fill(Ref tile, Ref value, Loc at) {
  Recorder *r = recorderFor(at);
  if (!r)
    return;
  Entry *target = r->use(tile, at, "tile");
  Entry *scalar = r->use(value, at, "value");
  if (target && scalar)
    r->verify(tile::FillOp::create(r->builder, r->locationOf(at), target->value, scalar->value));
}

void penstock::detail::gemm(const GemmArguments &arguments, Loc at) {
  Recorder *r = recorderFor(at);
  if (!r)
    return;
  Entry *ea = r->use(arguments.a, at, "first operand of the gemm");
  Entry *eb = r->use(arguments.b, at, "second operand of the gemm");
  Entry *ec = r->use(arguments.acc, at, "accumulator of the gemm");
  SmallVector<mlir::Value, 2> scales;
  for (Ref ref : {arguments.scaleA, arguments.scaleB}) {
    Entry *scale = ref.id ? r->use(ref, at, "scales of the gemm") : nullptr;
    if (ref.id && !scale)
      return;
    scales.push_back(scale ? scale->value : mlir::Value());
  }
  if (ea && eb && ec &&
      checkScales(*r, {ea->value, arguments.elementA}, {eb->value, arguments.elementB},
                  scales[0] || scales[1], at))
    r->verify(tile::GemmOp::create(r->builder, r->locationOf(at), ea->value, eb->value, ec->value,
                                   mlir::Value(), scales[0], scales[1], !arguments.accumulate,
                                   arguments.tf32 ? tile::Precision::TF32 : tile::Precision::Full,
                                   arguments.unsignedA, optionalName(*r, arguments.async),
                                   packingOf(*r, arguments.elementA),
                                   packingOf(*r, arguments.elementB), /*starts=*/false));
}

void penstock::detail::reduce(Kind kind, Ref source, int dim, Ref target, bool accumulate, Loc at) {
  Recorder *r = recorderFor(at);
  if (!r)
    return;
  Entry *from = r->use(source, at, "source of the reduction");
  Entry *to = r->use(target, at, "target of the reduction");
  if (!from || !to)
    return;
  tile::ReduceKind reduction = kind == Kind::Sum    ? tile::ReduceKind::Sum
                               : kind == Kind::Prod ? tile::ReduceKind::Prod
                               : kind == Kind::Max  ? tile::ReduceKind::Max
                                                    : tile::ReduceKind::Min;
  r->verify(tile::ReduceOp::create(r->builder, r->locationOf(at), reduction, from->value, dim,
                                   to->value, accumulate));
}

namespace {

/// Turns an expression into the body of a tile.map.
class MapBuilder {
public:
  MapBuilder(Recorder &r, mlir::Value target, Loc at)
      : r(r), target(target), rank(cast<MemRefType>(target.getType()).getRank()), at(at) {}

  bool build(Ref expression) {
    collect(expression);
    if (!ok)
      return false;
    Location loc = r.locationOf(at);
    SmallVector<mlir::Value> inputs;
    SmallVector<Attribute> dims;
    for (const auto &[key, number] : leaves) {
      (void)number;
      inputs.push_back(key.first);
    }
    // Inputs are numbered by first use; maps order them by address.
    for (const auto &[key, number] : leaves) {
      inputs[number] = key.first;
      dims.resize(leaves.size());
      dims[number] = r.builder.getI64ArrayAttr(key.second);
    }
    auto map = tile::MapOp::create(r.builder, loc, target, inputs, r.builder.getArrayAttr(dims));
    mlir::Block *body = r.builder.createBlock(&map.getBody());
    for (mlir::Value input : inputs)
      body->addArgument(cast<MemRefType>(input.getType()).getElementType(), loc);
    mlir::Value value = emit(expression, body);
    tile::YieldOp::create(r.builder, loc, value);
    r.builder.setInsertionPointAfter(map);
    return r.verify(map);
  }

private:
  using Leaf = std::pair<mlir::Value, std::vector<int64_t>>;
  struct LeafLess {
    bool operator()(const Leaf &a, const Leaf &b) const {
      if (a.first != b.first)
        return a.first.getAsOpaquePointer() < b.first.getAsOpaquePointer();
      return a.second < b.second;
    }
  };

  Leaf leafOf(const ExprNode &node) {
    std::vector<int64_t> dims = node.dims;
    if (dims.empty())
      for (int64_t d = 0; d < cast<MemRefType>(node.tile.getType()).getRank(); ++d)
        dims.push_back(d);
    return {node.tile, dims};
  }

  /// A tile that is not broadcast has the shape of the target. (In MLIR a
  /// vector would run along the rows of a matrix unless told otherwise.)
  void checkShape(mlir::Value operand) {
    ArrayRef<int64_t> have = cast<MemRefType>(operand.getType()).getShape();
    ArrayRef<int64_t> want = cast<MemRefType>(target.getType()).getShape();
    if (have == want)
      return;
    std::string name = tile::nameOf(operand), fix;
    if (name.empty())
      name = "..";
    if (have.size() == 1 && want.size() == 2) {
      if (have[0] == want[0])
        fix = "`broadcast_rows(" + name + ")`";
      if (have[0] == want[1])
        fix += (fix.empty() ? "`broadcast_cols(" : " or `broadcast_cols(") + name + ")`";
    }
    r.error(BroadcastForm, at,
            tile::describe(operand) + " does not have the shape of " + tile::describe(target),
            fix.empty() ? "an operand has the target's shape, or is broadcast "
                          "with broadcast_rows(..) or broadcast_cols(..)"
                        : "did you mean " + fix + "?");
    ok = false;
  }

  void collect(Ref ref) {
    Entry *entry = r.use(ref, at, "expression");
    if (!entry) {
      ok = false;
      return;
    }
    if (entry->kind != Entry::Expr || !seen.insert(ref.id).second)
      return;
    std::shared_ptr<ExprNode> node = entry->expr;
    if (node->kind == ExprNode::Elements) {
      if (node->dims.empty())
        checkShape(node->tile);
      leaves.try_emplace(leafOf(*node), leaves.size());
    } else if (node->kind == ExprNode::ElementIndex && (node->dim < 0 || node->dim >= rank)) {
      r.error(BroadcastForm, at,
              "an element of " + tile::describe(target) + " has no index along dimension " +
                  std::to_string(node->dim),
              "dimensions are counted from 0; the last one is " + std::to_string(rank - 1));
      ok = false;
    }
    for (Ref operand : node->operands)
      collect(operand);
  }

  mlir::Value emit(Ref ref, mlir::Block *body) {
    Entry *entry = r.use(ref, at, "expression");
    if (entry->kind == Entry::Value)
      return entry->value;
    if (auto found = emitted.find(ref.id); found != emitted.end())
      return found->second;
    std::shared_ptr<ExprNode> node = entry->expr;
    SmallVector<mlir::Value> operands;
    if (node->kind != ExprNode::Elements)
      for (Ref operand : node->operands)
        operands.push_back(emit(operand, body));
    OpBuilder &b = r.builder;
    Location loc = node->loc;
    mlir::Value value;
    switch (node->kind) {
    case ExprNode::Elements:
      value = body->getArgument(leaves.at(leafOf(*node)));
      break;
    case ExprNode::ElementIndex:
      value = tile::ElementIndexOp::create(b, loc, b.getIndexType(), node->dim);
      break;
    case ExprNode::Unary:
    case ExprNode::Binary:
      value = r.emitArithmetic(node->op, node->isUnsigned, operands, loc);
      break;
    case ExprNode::Select:
      value = arith::SelectOp::create(b, loc, operands[0], operands[1], operands[2]);
      break;
    case ExprNode::Convert:
      value = r.emitConvert(operands[0], node->type, node->isUnsigned, loc);
      break;
    case ExprNode::Load:
      value = tile::LoadOp::create(b, loc, node->type, node->tile, operands);
      break;
    }
    emitted[ref.id] = value;
    return value;
  }

  Recorder &r;
  mlir::Value target;
  int64_t rank;
  Loc at;
  bool ok = true;
  std::map<Leaf, unsigned, LeafLess> leaves;
  llvm::DenseSet<uint32_t> seen;
  llvm::DenseMap<uint32_t, mlir::Value> emitted;
};

} // namespace

void penstock::detail::assign(Ref target, Ref expression, Loc at) {
  Recorder *r = recorderFor(at);
  if (!r)
    return;
  Entry *tile = r->use(target, at, "tile");
  Entry *value = r->use(expression, at, "expression");
  if (!tile || !value)
    return;
  if (value->kind == Entry::Value) {
    r->verify(tile::FillOp::create(r->builder, r->locationOf(at), tile->value, value->value));
    return;
  }
  MapBuilder(*r, tile->value, at).build(expression);
}

//===----------------------------------------------------------------------===//
// Waits and looking inside
//===----------------------------------------------------------------------===//

void penstock::detail::wait(List<const std::string_view> names, int lag, Loc at) {
  Recorder *r = recorderFor(at);
  if (!r)
    return;
  SmallVector<StringRef> texts(names.begin(), names.end());
  r->verify(tile::WaitOp::create(r->builder, r->locationOf(at), r->builder.getStrArrayAttr(texts),
                                 static_cast<uint64_t>(static_cast<int64_t>(lag)), mlir::Value()));
}

void penstock::detail::waitForPrevious(Loc at) {
  if (Recorder *r = recorderFor(at))
    r->verify(tile::WaitForPreviousOp::create(r->builder, r->locationOf(at)));
}

void penstock::detail::launchDependents(Loc at) {
  if (Recorder *r = recorderFor(at))
    r->verify(tile::LaunchDependentsOp::create(r->builder, r->locationOf(at)));
}

void penstock::detail::print(std::string_view text, Refs operands, Loc at) {
  Recorder *r = recorderFor(at);
  SmallVector<mlir::Value> values;
  if (r && useAll(*r, operands, at, "value", values))
    r->verify(tile::PrintOp::create(r->builder, r->locationOf(at), r->builder.getStringAttr(text),
                                    values));
}

void penstock::detail::require(Ref condition, std::string_view message, Loc at) {
  Recorder *r = recorderFor(at);
  Entry *entry = r ? r->use(condition, at, "condition") : nullptr;
  if (entry)
    r->verify(tile::AssertOp::create(r->builder, r->locationOf(at), entry->value,
                                     r->builder.getStringAttr(message)));
}
