//===- Language.cpp - Operations allowed in a tile program ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/Language.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "penstock/limits.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::tile;

namespace {

/// Sizes beyond which a program is refused: far above any kernel, far below
/// what would exhaust memory or time.
constexpr size_t maxOperations = 200000;
constexpr unsigned maxArguments = 128;
constexpr unsigned maxNesting = 64;
constexpr size_t maxTextBytes = size_t(64) << 20;

bool isScalar(Type type) { return isElementType(type) || isa<IndexType>(type); }

/// The explicit level is a dialect of its own, above this one.
bool isExplicit(const Dialect &dialect) { return dialect.getNamespace() == "nv"; }

bool isLanguageType(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    return isElementType(memref.getElementType()) &&
           isa_and_nonnull<SpaceAttr>(memref.getMemorySpace()) && memref.getRank() <= maxTileRank &&
           (memref.getLayout().isIdentity() || isa<StridedLayoutAttr>(memref.getLayout()));
  return isScalar(type) || isExplicit(type.getDialect());
}

/// The operations of upstream dialects that are part of the language. Each is
/// understood by the interpreter and by every back end.
bool isLanguageOp(Operation *op) {
  if (isa_and_nonnull<TileDialect>(op->getDialect()) ||
      (op->getDialect() && isExplicit(*op->getDialect())))
    return true;
  return isa<func::ReturnOp, scf::ForOp, scf::IfOp, scf::WhileOp, scf::ConditionOp, scf::YieldOp,
             memref::DimOp, memref::SubViewOp, memref::TransposeOp, memref::CollapseShapeOp,
             arith::ConstantOp, arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp,
             arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
             arith::FloorDivSIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ShLIOp,
             arith::ShRSIOp, arith::ShRUIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp,
             arith::MaxUIOp, arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::RemFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::CmpIOp, arith::CmpFOp, arith::SelectOp, arith::ExtFOp,
             arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp,
             arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp, arith::IndexCastOp,
             arith::IndexCastUIOp, arith::BitcastOp, math::ExpOp, math::Exp2Op, math::LogOp,
             math::Log2Op, math::SqrtOp, math::RsqrtOp, math::TanhOp, math::ErfOp, math::SinOp,
             math::CosOp, math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp,
             math::RoundEvenOp, math::FmaOp>(op);
}

/// Attributes that only passes add change what an operation computes.
LogicalResult verifyProgramAttributes(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  auto gemm = dyn_cast<GemmOp>(op);
  if ((copy && (copy.getPadding() || copy.getHalved())) || (gemm && gemm.getStarts()))
    return emitCoded(op, MisplacedAttribute)
           << "`padding`, `halved` and `starts` are not part of the language";
  return success();
}

LogicalResult verifyTypes(Operation *op) {
  for (Type type : op->getResultTypes())
    if (!isLanguageType(type))
      return emitCoded(op, TextForeignType)
             << "`" << op->getName() << "` gives a value of type " << type
             << ", which is not a tile, a tensor or a scalar";
  SmallVector<Type> types(op->getResultTypes());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type type : block.getArgumentTypes()) {
        if (!isLanguageType(type))
          return emitCoded(op, TextForeignType)
                 << "a value of type " << type << " is not a tile, a tensor or a scalar";
        types.push_back(type);
      }
  // A tile is known by the allocation or argument that its views lead back to.
  // Choosing between tiles at run time, or carrying them through a loop, would
  // hide which one an operation touches.
  if (!isa<AllocOp, memref::SubViewOp, memref::TransposeOp, memref::CollapseShapeOp>(op) &&
      !isExplicit(*op->getDialect()) && llvm::any_of(types, llvm::IsaPred<MemRefType>))
    return emitCoded(op, TextForeignType)
           << "`" << op->getName()
           << "` chooses a tile at run time; tiles are named directly or "
              "through slices and transposes";
  return success();
}

LogicalResult verifyViewed(Operation *op, Value source, StringRef what) {
  if (!isa<BlockArgument>(rootOf(source)))
    return success();
  return emitCoded(op, SpaceMismatch)
         << "a " << what << " is taken of the tensor " << describe(source)
         << "; that is for tiles, tensors are read and written at offsets";
}

/// Views have constant shapes and unit steps, and constant offsets are inside.
LogicalResult verifyView(memref::SubViewOp view) {
  if (failed(verifyViewed(view, view.getSource(), "slice")))
    return failure();
  for (auto [dim, offset, size, stride] :
       llvm::enumerate(view.getMixedOffsets(), view.getMixedSizes(), view.getMixedStrides())) {
    auto constantSize = getConstantIntValue(size);
    auto constantOffset = getConstantIntValue(offset);
    if (!constantSize || isa<Value>(size) || *constantSize < 1 || getConstantIntValue(stride) != 1)
      return emitCoded(view, OutOfTile) << "a slice of " << describe(view.getSource())
                                        << " needs a constant size of at least 1 and unit steps";
    int64_t extent = view.getSourceType().getDimSize(dim);
    if (*constantSize > extent ||
        (constantOffset && (*constantOffset < 0 || *constantOffset > extent - *constantSize)))
      return emitCoded(view, OutOfTile)
             << "the slice " << (constantOffset ? *constantOffset : 0) << " to "
             << (constantOffset ? *constantOffset : 0) + *constantSize - 1 << " of dimension "
             << dim << " lies outside of " << describe(view.getSource());
  }
  return success();
}

/// A tile is viewed as a matrix: all dimensions but the last become one.
LogicalResult verifyMatrix(memref::CollapseShapeOp view) {
  if (failed(verifyViewed(view, view.getSrc(), "matrix")))
    return failure();
  auto type = cast<MemRefType>(view.getSrc().getType());
  auto dims = view.getReassociationIndices();
  if (type.getRank() >= 3 && dims.size() == 2 && dims[1].size() == 1)
    return success();
  return emitCoded(view, MatrixView)
         << "a view of " << describe(view.getSrc())
         << " merges other dimensions than all but the last of three or more";
}

LogicalResult verifyLoop(scf::ForOp loop) {
  if (failed(verifyScheduleNames(loop)))
    return failure();
  if (!loop.getInductionVar().getType().isIndex())
    return emitCoded(loop, OpForm) << "a loop runs over an index";
  if (auto step = getConstantIntValue(loop.getStep()); step && *step <= 0)
    return emitCoded(loop, DivisorForm)
           << "the step of a loop is " << *step << "; it must be positive";
  if (loop->getAttrOfType<IntegerAttr>(TileDialect::unrollAttr) &&
      loop->hasAttr(TileDialect::scheduleAttr))
    return emitCoded(loop, UnrollFactor) << "a pipelined loop cannot be unrolled as well";
  if (loop.getUnsignedCmp())
    return emitCoded(loop, OpForm) << "loops compare their index signed";
  return success();
}

LogicalResult verifyArguments(func::FuncOp kernel) {
  if (kernel.getNumArguments() > maxArguments)
    return emitCoded(kernel, TooLarge) << "a kernel has at most " << maxArguments << " arguments";
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      if (!isScalar(argument.getType()))
        return emitCoded(kernel, TextForeignType)
               << "argument " << argument.getArgNumber() << " is neither a tensor nor a scalar";
      continue;
    }
    if (type.getRank() < 1 || type.getRank() > maxTileRank ||
        !isElementType(type.getElementType()) ||
        type != tensorType(type.getElementType(), type.getRank()))
      return emitCoded(kernel, TextForeignType)
             << "argument " << argument.getArgNumber() << " has type " << type
             << "; a tensor has run-time sizes, is contiguous in its last "
                "dimension and lies in the global space";
  }
  return success();
}

/// Waits name asynchronous operations that exist, and a lag counts iterations
/// of one loop.
LogicalResult verifyWaits(func::FuncOp kernel) {
  llvm::StringMap<SmallVector<Operation *>> issued;
  LogicalResult result = success();
  kernel.walk([&](TileAccessOpInterface op) {
    if (StringAttr name = op.getAsyncName())
      issued[name.getValue()].push_back(op);
  });
  kernel.walk([&](WaitOp wait) {
    auto loop = wait->getParentOfType<scf::ForOp>();
    if (wait.getLag() > 0 && !loop) {
      auto diagnostic = emitCoded(wait, WaitUnknown) << "`wait` has a lag but is not in a loop";
      tile::attachHelp(diagnostic) << "a lag counts iterations of the loop around the wait; leave "
                                      "it out to wait for everything of that name";
      result = failure();
      return;
    }
    for (Attribute name : wait.getNames()) {
      StringRef text = cast<StringAttr>(name).getValue();
      auto found = issued.find(text);
      if (found == issued.end()) {
        auto diagnostic = emitCoded(wait, WaitUnknown)
                          << "`wait` names `" << text
                          << "`, but no asynchronous operation has that name";
        tile::attachHelp(diagnostic) << "give the copy or gemm {.async = \"" << text << "\"}";
        result = failure();
        continue;
      }
      for (Operation *op : found->second) {
        if (wait.getLag() == 0 || op->getParentOfType<scf::ForOp>() == loop)
          continue;
        auto diagnostic = emitCoded(wait, WaitUnknown) << "`wait` has a lag for `" << text
                                                       << "`, which is issued in another loop";
        diagnostic.attachNote(op->getLoc()) << "it is issued here";
        tile::attachHelp(diagnostic) << "a lag counts iterations of the loop around both; leave "
                                        "it out to wait for everything of that name";
        result = failure();
      }
    }
  });
  return result;
}

/// Which size is asked for is known, so that there is one.
LogicalResult verifySize(memref::DimOp size) {
  std::optional<int64_t> dim = size.getConstantIndex();
  if (!dim)
    return emitCoded(size, OpForm) << "the dimension whose size is asked for must be a constant";
  int64_t rank = cast<MemRefType>(size.getSource().getType()).getRank();
  if (*dim >= 0 && *dim < rank)
    return success();
  auto diagnostic = emitCoded(size, OffsetCount)
                    << describe(size.getSource()) << " has no dimension " << *dim;
  tile::attachHelp(diagnostic) << "dimensions are counted from 0; the last one is " << rank - 1;
  return diagnostic;
}

/// Conversions round to nearest even; other modes exist in MLIR's text.
LogicalResult verifyRounding(arith::TruncFOp op) {
  if (!op.getRoundingmode() || *op.getRoundingmode() == arith::RoundingMode::to_nearest_even)
    return success();
  return emitCoded(op, OpForm) << "conversions round to nearest even";
}

} // namespace

bool tile::isKernelName(StringRef name) {
  return !name.empty() && name.size() <= 200 && !llvm::isDigit(name[0]) &&
         !name.starts_with("penstock_") && // the runtime's own
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// Tiles have constant shapes: how much memory they need is known here. Each is
/// bounded by its verifier, so the sum does not overflow.
static LogicalResult countBytes(AllocOp alloc, int64_t &bytes) {
  auto type = cast<MemRefType>(alloc.getResult().getType());
  bytes += type.getNumElements() * std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
  if (bytes <= limits::maxBlockBytes)
    return success();
  auto diagnostic = emitCoded(alloc, MemoryLimit) << "the tiles of a block need more than 2 GiB";
  tile::attachHelp(diagnostic) << "let each block work on smaller tiles";
  return diagnostic;
}

LogicalResult tile::verifyScheduleNames(scf::ForOp loop) {
  for (NamedAttribute attribute : loop->getDiscardableAttrs()) {
    StringRef name = attribute.getName().getValue();
    StringRef field = name;
    if (!field.consume_front("software_pipeline_") && !field.consume_front("tl_pipeline_") &&
        !field.consume_front("tl_pipelined_") && field != "num_stages")
      continue;
    auto diagnostic = emitCoded(loop, MisplacedAttribute)
                      << "`" << name << "` does not schedule a loop";
    attachHelp(diagnostic) << "say it in `tile.schedule = #tile.schedule<" << field
                           << " = ..>`; its fields are num_stages, stage, order, async_stages, "
                              "async_producers and async_producer_groups";
    return diagnostic;
  }
  return success();
}

LogicalResult tile::verifyKernel(Operation *op) {
  auto kernel = dyn_cast<func::FuncOp>(op);
  if (!kernel || kernel.isDeclaration() || kernel.getNumResults() ||
      !kernel.getBody().hasOneBlock())
    return emitCoded(op, OpForm) << "a kernel is a `func.func` with one block and without results";
  if (!kernel->hasAttr(TileDialect::kernelAttr)) {
    auto diagnostic = emitCoded(op, OpForm)
                      << "`" << kernel.getName() << "` is not marked as a kernel";
    tile::attachHelp(diagnostic) << "add `attributes {tile.kernel}`";
    return diagnostic;
  }
  if (!isKernelName(kernel.getName()))
    return emitCoded(op, BadName) << "`" << kernel.getName()
                                  << "` cannot be the name of a kernel, which has letters, digits "
                                     "and _";
  if (failed(verifyArguments(kernel)))
    return failure();
  size_t operations = 0;
  int64_t bytes = 0;
  Operation *grid = nullptr;
  WalkResult walk = kernel.walk([&](Operation *inner) {
    if (inner == kernel.getOperation())
      return WalkResult::advance();
    if (++operations > maxOperations) {
      auto diagnostic = emitCoded(kernel, TooLarge)
                        << "the kernel has more than " << maxOperations << " operations";
      tile::attachHelp(diagnostic) << "a C++ loop is unrolled fully; use b.range(..) where that is "
                                      "too much";
      return WalkResult::interrupt();
    }
    unsigned depth = 0;
    for (Operation *parent = inner->getParentOp(); parent && parent != kernel;
         parent = parent->getParentOp())
      ++depth;
    if (depth > maxNesting) {
      emitCoded(inner, TooLarge) << "loops and conditions are nested more than " << maxNesting
                                 << " deep";
      return WalkResult::interrupt();
    }
    if (!isLanguageOp(inner)) {
      emitCoded(inner, TextForeignOp)
          << "`" << inner->getName() << "` is not part of a tile program";
      return WalkResult::interrupt();
    }
    LogicalResult ok = verifyTypes(inner);
    if (succeeded(ok))
      ok = verifyProgramAttributes(inner);
    if (isa<MapOp>(inner->getParentOp()) && inner->getNumRegions())
      ok = emitCoded(inner, ParallelRace)
           << "the body of `map` only computes values; `" << inner->getName() << "` does more";
    if (auto view = dyn_cast<memref::SubViewOp>(inner); view && succeeded(ok))
      ok = verifyView(view);
    else if (auto loop = dyn_cast<scf::ForOp>(inner); loop && succeeded(ok))
      ok = verifyLoop(loop);
    else if (auto view = dyn_cast<memref::CollapseShapeOp>(inner); view && succeeded(ok))
      ok = verifyMatrix(view);
    else if (auto view = dyn_cast<memref::TransposeOp>(inner); view && succeeded(ok))
      ok = verifyViewed(view, view.getIn(), "transpose");
    else if (auto size = dyn_cast<memref::DimOp>(inner); size && succeeded(ok))
      ok = verifySize(size);
    else if (auto cut = dyn_cast<arith::TruncFOp>(inner); cut && succeeded(ok))
      ok = verifyRounding(cut);
    else if (auto alloc = dyn_cast<AllocOp>(inner); alloc && alloc->getParentOp() != kernel)
      ok = emitCoded(alloc, OpForm) << "a tile is allocated inside a loop, condition or statement; "
                                       "allocate it at the start of the kernel";
    else if (auto alloc = dyn_cast<AllocOp>(inner); alloc && succeeded(ok))
      ok = countBytes(alloc, bytes);
    else if (isa<GridOp>(inner)) {
      if (grid) {
        auto diagnostic = emitCoded(inner, GridForm) << "the grid is stated a second time";
        diagnostic.attachNote(grid->getLoc()) << "the first time is here";
        tile::attachHelp(diagnostic) << "a kernel has one grid; state all its extents in one "
                                        "call";
        ok = diagnostic;
      }
      grid = inner;
    }
    return failed(ok) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  return verifyWaits(kernel);
}

LogicalResult tile::verifyLanguage(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (failed(verifyKernel(&op)))
      return failure();
  return success();
}

namespace {

/// Computes the recursion depth of readers of a text: by brackets, by the operators of one affine
/// expression, and by nested aliases of attributes and types.
class NestingScanner {
public:
  explicit NestingScanner(StringRef text) : text(text) {}

  NestingFault run() {
    while (at < text.size())
      if (!step())
        return {line, message};
    return {};
  }

private:
  static constexpr unsigned maxDepth = 200;
  static constexpr size_t maxExpansion = size_t(1) << 22;

  bool step() {
    char c = text[at];
    if (StringRef("[]{}<>,=:%#!@").contains(c))
      operators = 0; // no part of an affine expression
    if (c == '\n')
      ++line;
    if (c == '"')
      return skipString();
    if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
      return true;
    }
    if (c == '#' || c == '!')
      return alias();
    if (llvm::isAlpha(c))
      return word();
    ++at;
    if (StringRef("([{<").contains(c))
      return open(c);
    if (StringRef(")]}>").contains(c))
      close(c);
    if (StringRef("+-*").contains(c))
      return countOperator();
    return true;
  }

  bool word() {
    size_t from = at;
    while (at < text.size() && llvm::isAlnum(text[at]))
      ++at;
    StringRef name = text.slice(from, at);
    return (name != "floordiv" && name != "ceildiv" && name != "mod") || countOperator();
  }
  bool countOperator() {
    if (++operators > maxDepth)
      return fail("an affine expression has more than 200 operators");
    return true;
  }

  bool skipString() {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      at += text[at] == '\\';
    at = std::min(at + (at < text.size() && text[at] == '"'), text.size());
    return true;
  }

  bool open(char c) {
    brackets.push_back(c);
    return reach(brackets.size());
  }
  /// Closes the innermost bracket of this kind. `>` is also part of arrows and
  /// comparisons: it closes nothing but a `<` right inside of which it stands.
  void close(char c) {
    char opening = c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : '<';
    if (c == '>') {
      bool arrow = at >= 2 && text[at - 2] == '-';
      if (!arrow && !brackets.empty() && brackets.back() == '<')
        brackets.pop_back();
      return;
    }
    size_t found = brackets.rfind(opening);
    if (found != std::string::npos)
      brackets.resize(found);
  }

  /// A use of an alias is as deep and as large as what it stands for. The
  /// definition of an alias is taken to last until the next one.
  bool alias() {
    size_t from = at++;
    while (at < text.size() && (llvm::isAlnum(text[at]) || StringRef("_$.-").contains(text[at])))
      ++at;
    StringRef name = text.slice(from, at);
    size_t next = text.find_first_not_of(" \t\r\n", at);
    if (brackets.empty() && next < text.size() && text[next] == '=') {
      defined = name;
      aliases[defined] = Extent();
      return true;
    }
    auto known = aliases.find(name);
    if (known == aliases.end() || name == defined)
      return true;
    Extent used = known->second;
    if (!defined.empty())
      aliases[defined].size += used.size;
    if ((expanded += used.size) > maxExpansion)
      return fail("aliases expand to more than 2^22 others");
    return reach(brackets.size() + used.depth);
  }

  bool reach(size_t depth) {
    if (!defined.empty()) {
      size_t &deepest = aliases[defined].depth;
      deepest = std::max(deepest, depth + 1);
    }
    if (depth <= maxDepth)
      return true;
    return fail(depth == brackets.size() ? "brackets are nested more than 200 deep"
                                         : "aliases are nested more than 200 deep");
  }
  bool fail(const char *text) {
    message = text;
    return false;
  }

  StringRef text;
  size_t at = 0;
  unsigned line = 1, operators = 0;
  std::string brackets;
  StringRef defined; ///< the alias whose definition is being read
  struct Extent {
    size_t depth = 1, size = 1;
  };
  llvm::StringMap<Extent> aliases;
  size_t expanded = 0;
  const char *message = "";
};

} // namespace

NestingFault tile::checkNesting(StringRef text) {
  if (text.size() > maxTextBytes)
    return {1, "the text is larger than 64 MiB"};
  return NestingScanner(text).run();
}
