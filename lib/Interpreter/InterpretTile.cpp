//===- InterpretTile.cpp - Operations on whole tiles ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileDialect.h"
#include "Interpreter/Models.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace penstock::tile;

namespace penstock::interpreter {

static void execute(AllocOp op, Frame &frame) {
  auto type = cast<MemRefType>(op.getResult().getType());
  View view;
  view.element = elementOf(type);
  view.sizes.assign(type.getShape().begin(), type.getShape().end());
  view.strides.assign(view.sizes.size(), 1);
  for (size_t dim = view.sizes.size(); dim-- > 1;)
    view.strides[dim - 1] = view.strides[dim] * view.sizes[dim];
  int64_t elements = view.numElements();
  if (!frame.launch.charge(op, elements))
    return;
  Storage &storage = frame.allocate(op, view.element, elements);
  view.data = storage.bytes.data();
  view.written = storage.written.data();
  view.shadow = frame.races.shadowOf(op.getResult());
  frame.setView(op.getResult(), std::move(view));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {

/// One side of a copy: a whole tile, or a box of a tensor.
struct Side {
  Value memref;
  View view;
  Indices offsets;             ///< empty for a tile
  ArrayRef<int64_t> dims;      ///< those of the tensor along which the box runs
  ArrayRef<int64_t> rows = {}; ///< extents that are the rows of a tile of rank 2; empty: none

  /// Returns the position of the box's element \p index on this side; none if it is out of bounds.
  std::optional<Indices> find(ArrayRef<int64_t> index) const {
    if (offsets.empty() && !rows.empty()) {
      int64_t row = 0;
      for (auto [i, extent] : llvm::zip(index, rows))
        row = row * extent + i;
      return Indices{row, index.back()};
    }
    if (offsets.empty())
      return Indices(index);
    Indices at = offsets;
    for (auto [i, dim] : llvm::zip(index, dims))
      if (__builtin_add_overflow(at[dim], i, &at[dim]))
        return std::nullopt;
    if (view.outside(at))
      return std::nullopt;
    return at;
  }
};

} // namespace

static uint64_t convert(Element from, Element to, uint64_t bits) {
  return from == to ? bits : encode(to, decode(from, bits));
}

/// All is read before anything is written: the sides may overlap. What would be
/// written outside of a tensor is not read: a tile's contents may be undefined
/// there.
static void copy(CopyOp op, Frame &frame, const Side &source, Side target, uint64_t fill) {
  SmallVector<std::pair<int64_t, uint64_t>, 0> writes;
  forEachIndex(op.getBoxShape(), [&](ArrayRef<int64_t> index) {
    std::optional<Indices> to = target.find(index);
    if (!to)
      return;
    uint64_t value = fill;
    if (std::optional<Indices> from = source.find(index))
      value = convert(source.view.element, target.view.element,
                      frame.read(op, source.memref, source.view, *from));
    writes.emplace_back(target.view.linearIndex(*to), value);
  });
  for (auto [linear, value] : writes)
    frame.write(op, target.memref, target.view, linear, value);
}

/// A statement of a pipelined loop is over, as far as the loop's meaning goes,
/// when the next one begins: the schedule was checked to keep that meaning, with
/// versions of tiles and waits that the program in source order does not have.
static bool completesLater(TileAccessOpInterface op) {
  Operation *parent = op->getParentOp();
  while (isa<scf::IfOp>(parent))
    parent = parent->getParentOp();
  bool inPipeline = isa<scf::ForOp>(parent) && parent->hasAttr(TileDialect::scheduleAttr);
  return op.getAsyncName() && !inPipeline;
}

static std::vector<Footprint> footprintsOf(CopyOp op, Frame &frame, Side source, Side target) {
  SmallVector<int64_t> dims;
  if (op.readsTensor() || op.writesTensor())
    dims = op.getTensorDims();
  source.dims = target.dims = dims;
  source.rows = target.rows = op.getRows().value_or(ArrayRef<int64_t>());
  std::vector<int64_t> reads, writes;
  forEachIndex(op.getBoxShape(), [&](ArrayRef<int64_t> index) {
    std::optional<Indices> to = target.find(index);
    if (!to)
      return;
    writes.push_back(target.view.linearIndex(*to));
    if (std::optional<Indices> from = source.find(index))
      reads.push_back(source.view.linearIndex(*from));
  });
  return {frame.footprint(op, source.memref, source.view, std::move(reads), /*writes=*/false),
          frame.footprint(op, target.memref, target.view, std::move(writes), /*writes=*/true)};
}

static void execute(CopyOp op, Frame &frame) {
  if (!frame.launch.charge(op, ShapedType::getNumElements(op.getTileShape())))
    return;
  Side source = {
      op.getSource(), frame.view(op.getSource()), frame.integers(op.getSourceOffsets()), {}};
  Side target = {
      op.getTarget(), frame.view(op.getTarget()), frame.integers(op.getTargetOffsets()), {}};
  if (LaunchObserver *observer = frame.launch.options.observer)
    for (const Side *side : {&source, &target})
      if (!side->offsets.empty())
        observer->onCopy(op, side->offsets, side->view.sizes);
  uint64_t fill = 0;
  if (Value value = op.getFill())
    fill = encode(target.view.element, frame.scalar(value));
  auto perform = [op, &frame, source, target, fill]() mutable {
    SmallVector<int64_t> dims;
    if (op.readsTensor() || op.writesTensor())
      dims = op.getTensorDims();
    source.dims = target.dims = dims;
    source.rows = target.rows = op.getRows().value_or(ArrayRef<int64_t>());
    copy(op, frame, source, target, fill);
  };
  if (!completesLater(op))
    return perform();
  frame.async.issue({op, op.getAsyncName(), frame.tagOf(op), nullptr,
                     footprintsOf(op, frame, source, target), std::move(perform)});
}

static void execute(FillOp op, Frame &frame) {
  View view = frame.view(op.getTarget());
  if (!frame.launch.charge(op, view.numElements()))
    return;
  uint64_t bits = encode(view.element, frame.scalar(op.getValue()));
  forEachIndex(view.sizes, [&](ArrayRef<int64_t> index) {
    frame.write(op, op.getTarget(), view, index, bits);
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The elements of a tile in row-major order.
template <class T, class Convert>
static SmallVector<T, 0> elementsOf(Operation *op, Frame &frame, Value memref, const View &view,
                                    Convert convert) {
  SmallVector<T, 0> elements;
  forEachIndex(view.sizes, [&](ArrayRef<int64_t> index) {
    elements.push_back(convert(decode(view.element, frame.read(op, memref, view, index))));
  });
  return elements;
}

/// A packed operand, in which \p group elements of a column are adjacent, as K x N.
template <class T>
static SmallVector<T, 0> unpacked(ArrayRef<T> packed, int64_t inner, int64_t columns,
                                  int64_t group) {
  constexpr int64_t panel = GemmOp::panelColumns;
  SmallVector<T, 0> plain(inner * columns);
  for (int64_t k = 0; k < inner; ++k)
    for (int64_t n = 0; n < columns; ++n)
      plain[k * columns + n] =
          packed[((n / panel * (inner / group) + k / group) * panel + n % panel) * group +
                 k % group];
  return plain;
}

template <class T>
static void multiply(GemmOp op, Frame &frame, const View &a, const View &b, View acc) {
  bool tf32 = op.getPrecision() == Precision::TF32;
  auto operand = [&](Scalar value) -> T {
    if constexpr (std::is_same_v<T, float>) {
      float real = static_cast<float>(value.real);
      return tf32 ? toTF32(real) : real;
    } else {
      return static_cast<T>(value.integer);
    }
  };
  auto leftOperand = [&](Scalar value) -> T {
    return op.getUnsignedA() ? static_cast<T>(value.integer & 0xff) : operand(value);
  };
  auto plain = [](Scalar value) -> T {
    return std::is_same_v<T, float> ? static_cast<T>(value.real) : static_cast<T>(value.integer);
  };
  SmallVector<T, 0> left = elementsOf<T>(op, frame, op.getA(), a, leftOperand);
  SmallVector<T, 0> right = elementsOf<T>(op, frame, op.getB(), b, operand);
  int64_t rows = acc.sizes[0], columns = acc.sizes[1], inner = a.sizes[1];
  if (op.isPacked())
    right = unpacked<T>(right, inner, columns, b.sizes[3]);
  SmallVector<T, 0> sums(rows * columns, T(0));
  if (!op.getOverwrite())
    sums = elementsOf<T>(op, frame, op.getAcc(), acc, plain);
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t n = 0; n < columns; ++n) {
        T product = left[m * inner + k] * right[k * columns + n];
        sums[m * columns + n] += product;
      }
  const T *next = sums.begin();
  forEachIndex(acc.sizes, [&](ArrayRef<int64_t> index) {
    Scalar value = std::is_same_v<T, float> ? Scalar::of(static_cast<double>(*next))
                                            : Scalar::of(static_cast<int64_t>(*next));
    frame.write(op, op.getAcc(), acc, index, encode(acc.element, value));
    ++next;
  });
}

/// The value in the low bits of a word.
static float decodePacked(Packing packing, uint32_t bits) {
  switch (packing) {
  case Packing::F6E2M3:
  case Packing::PaddedF6E2M3:
    return f6e2m3_packed::Format::toFloat(bits & 63);
  case Packing::F6E3M2:
  case Packing::PaddedF6E3M2:
    return f6e3m2_packed::Format::toFloat(bits & 63);
  case Packing::F4E2M1:
  case Packing::PaddedF4E2M1:
  case Packing::I4: // not multiplied
    break;
  }
  f4e2m1x2 pair;
  pair.raw = uint8_t(bits);
  return pair.low();
}

/// The operand of a product with scales, each value times its scale: rows of k. \p kDim is the
/// dimension of \p view along which k runs. \p packing: how bytes hold values.
static SmallVector<float, 0> scaledRows(GemmOp op, Frame &frame, Value memref, Value scales,
                                        unsigned kDim, std::optional<Packing> packing) {
  View view = frame.view(memref), scale = frame.view(scales);
  int64_t rows = view.sizes[1 - kDim], k = op.valuesOfK(), block = op.scaleBlock();
  SmallVector<float, 0> result(rows * k);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < k; ++i) {
      auto element = [&](int64_t along) {
        int64_t at[] = {r, along};
        if (kDim == 0)
          std::swap(at[0], at[1]);
        return frame.read(op, memref, view, at);
      };
      float value = 0;
      if (!packing) {
        value = float(decode(view.element, element(i)).real);
      } else {
        int64_t first = bitOf(*packing, i), last = first + bitsOf(*packing) - 1;
        uint64_t bits = element(first / 8);
        if (last / 8 != first / 8)
          bits |= element(last / 8) << 8;
        value = decodePacked(*packing, uint32_t(bits >> (first % 8)));
      }
      int64_t j = i / block;
      int64_t of[] = {r / 128, j / 4, r % 32, r / 32 % 4 * 4 + j % 4};
      double factor = std::fabs(decode(scale.element, frame.read(op, scales, scale, of)).real);
      result[r * k + i] = value * float(factor);
    }
  return result;
}

static void multiplyScaled(GemmOp op, Frame &frame) {
  SmallVector<float, 0> left = scaledRows(op, frame, op.getA(), op.getScaleA(), 1, op.packingOfA());
  SmallVector<float, 0> right =
      scaledRows(op, frame, op.getB(), op.getScaleB(), 0, op.packingOfB());
  View acc = frame.view(op.getAcc());
  int64_t inner = int64_t(left.size()) / acc.sizes[0];
  forEachIndex(acc.sizes, [&](ArrayRef<int64_t> index) {
    float sum = 0;
    if (!op.getOverwrite())
      sum = float(decode(acc.element, frame.read(op, op.getAcc(), acc, index)).real);
    for (int64_t k = 0; k < inner; ++k)
      sum += left[index[0] * inner + k] * right[index[1] * inner + k];
    frame.write(op, op.getAcc(), acc, index, encode(acc.element, Scalar::of(double(sum))));
  });
}

static void execute(GemmOp op, Frame &frame) {
  View a = frame.view(op.getA()), b = frame.view(op.getB()), acc = frame.view(op.getAcc());
  if (!frame.launch.charge(op, acc.numElements() * a.sizes[1]))
    return;
  if (op.isScaled())
    return multiplyScaled(op, frame);
  const void *chain = acc.data;
  auto perform = [op, &frame, a, b, acc] {
    if (acc.element == Element::f32)
      multiply<float>(op, frame, a, b, acc);
    else
      multiply<uint32_t>(op, frame, a, b, acc);
  };
  if (!completesLater(op))
    return perform();
  auto whole = [&](Value memref, const View &view, bool writes, const void *chain) {
    std::vector<int64_t> elements;
    forEachIndex(view.sizes,
                 [&](ArrayRef<int64_t> index) { elements.push_back(view.linearIndex(index)); });
    return frame.footprint(op, memref, view, std::move(elements), writes, chain);
  };
  std::vector<Footprint> footprints = {whole(op.getA(), a, false, nullptr),
                                       whole(op.getB(), b, false, nullptr),
                                       whole(op.getAcc(), acc, true, chain)};
  frame.async.issue(
      {op, op.getAsyncName(), frame.tagOf(op), chain, std::move(footprints), std::move(perform)});
}

//===----------------------------------------------------------------------===//
// Reductions and elementwise expressions
//===----------------------------------------------------------------------===//

static Scalar combine(ReduceKind kind, Element element, Scalar a, Scalar b) {
  switch (kind) {
  case ReduceKind::Sum:
    return sum(element, a, b);
  case ReduceKind::Prod:
    return product(element, a, b);
  case ReduceKind::Max:
    return greater(element, a, b);
  case ReduceKind::Min:
    return lesser(element, a, b);
  }
  return a;
}

static void execute(ReduceOp op, Frame &frame) {
  View source = frame.view(op.getSource()), target = frame.view(op.getTarget());
  if (!frame.launch.charge(op, source.numElements()))
    return;
  int64_t dim = op.getDim();
  // The order of a sum is undefined. A sequential sum in f32 of thousands of elements has a larger
  // error than that of any target, which has partial sums: f32 is summed in f64 and rounded once.
  bool wide = op.getKind() == ReduceKind::Sum && target.element == Element::f32;
  Element sumElement = wide ? Element::f64 : target.element;
  forEachIndex(target.sizes, [&](ArrayRef<int64_t> index) {
    std::optional<Scalar> total;
    if (op.getAccumulate())
      total = decode(target.element, frame.read(op, op.getTarget(), target, index));
    Indices at(index);
    at.insert(at.begin() + dim, 0);
    for (; at[dim] < source.sizes[dim]; ++at[dim]) {
      uint64_t bits = frame.read(op, op.getSource(), source, at);
      Scalar value = decode(target.element, convert(source.element, target.element, bits));
      total = total ? combine(op.getKind(), sumElement, *total, value) : value;
    }
    if (wide)
      total->real = roundTo(target.element, total->real);
    frame.write(op, op.getTarget(), target, index, encode(target.element, *total));
  });
}

static void execute(MapOp op, Frame &frame) {
  View target = frame.view(op.getTarget());
  SmallVector<View> inputs;
  SmallVector<SmallVector<int64_t>> dims;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    inputs.push_back(frame.view(input));
    dims.push_back(op.getInputDims(i));
  }
  Block &body = op.getBody().front();
  forEachIndex(target.sizes, [&](ArrayRef<int64_t> index) {
    if (frame.launch.stopped())
      return;
    for (auto [i, view] : llvm::enumerate(inputs)) {
      Indices at;
      for (int64_t dim : dims[i])
        at.push_back(index[dim]);
      frame.set(body.getArgument(i),
                decode(view.element, frame.read(op, op.getInputs()[i], view, at)));
    }
    frame.element.assign(index.begin(), index.end());
    if (frame.run(body))
      frame.write(op, op.getTarget(), target, index, encode(target.element, frame.yielded[0]));
  });
}

static void execute(ElementIndexOp op, Frame &frame) {
  frame.setInteger(op.getResult(), frame.element[op.getDim()]);
}

static void execute(YieldOp op, Frame &frame) {
  frame.yielded.clear();
  if (Value value = op.getValue())
    frame.yielded.push_back(frame.scalar(value));
}

void addTileModels(DialectRegistry &registry) {
  addModels<TileDialect, AllocOp, CopyOp, FillOp, GemmOp, ReduceOp, MapOp, ElementIndexOp, YieldOp>(
      registry);
}

} // namespace penstock::interpreter
