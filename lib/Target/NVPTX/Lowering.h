//===- Lowering.h - From tiles to what one thread executes ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One object lowers one kernel: it knows where every tile lies, who executes
// what, and how the kernel's parameter is laid out. Its methods are spread over
// files by subject: Lowering.cpp (order of work, scopes, scalars), Views.cpp
// (addresses of tiles), Registers.cpp (tiles in registers), RegisterPool.cpp,
// LowerBarriers.cpp, LowerCopies.cpp, LowerElementwise.cpp, LowerElements.cpp,
// LowerMmaSync.cpp, LowerPrint.cpp, LowerProducts.cpp, LowerReduce.cpp and
// LowerVectorAccess.cpp. Operations become PTX
// instructions as inline text: LLVM's intrinsics for some of them may be removed or moved by its
// optimizer (docs/architecture.md).
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_LOWERING_H
#define PENSTOCK_TARGET_NVPTX_LOWERING_H

#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Hardware/Architecture.h"
#include "Layout/Distribution.h"
#include "Runtime/DeviceKernel.h"
#include "Target/NVPTX/InlinePtx.h"
#include "Target/NVPTX/SharedTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include <map>

namespace penstock::nvptx {

using mlir::Location;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::SmallVector;
using mlir::Type;
using mlir::Value;

/// A view of a tile: its allocation or tensor, and where the view starts.
struct View {
  Value root;
  SmallVector<Value> offsets; ///< i32, one for each dimension of the root
  SmallVector<unsigned> dims; ///< the root's dimension of each of the view's
  SmallVector<int64_t> shape;
};

/// How memory and registers hold elements: 8-bit floating-point numbers and truth values
/// as bytes.
Type storedAs(Type element);

using Extents = std::optional<llvm::ArrayRef<int64_t>>;

/// The dimension of a tensor along which the rows of a box lie.
inline size_t rowDim(size_t rank, Extents dims) { return dims ? size_t(dims->front()) : rank - 2; }
/// The dimension of a tensor along which extent \p i of the rows of a box lies.
inline size_t rowDim(size_t rank, Extents dims, llvm::ArrayRef<int64_t> rows, size_t i) {
  return dims ? size_t((*dims)[i]) : rank - 1 - rows.size() + i;
}

/// A tile in registers.
struct RegisterTile {
  layout::Distribution layout;
  std::vector<Value> storage; ///< one variable for each of the thread's registers
  Type type;                  ///< of an element
  Type element;               ///< how a register holds it
  int64_t registers() const { return layout.registers(); }
};

/// Bytes of shared memory for a reduction along \p dim over several warps.
int64_t reductionScratch(const layout::Distribution &layout, int64_t dim, Type element);

/// The threads that execute what is being lowered.
struct ExecutionScope {
  nv::ThreadScope scope;
  Value leader;        ///< i1: the thread that issues copies and products
  int64_t barrier = 0; ///< the named barrier of the scope
  Value group = {};    ///< i32: the warpgroup among those of the scope, if something asks for it
};

struct MmaShape;

class Lowering {
public:
  Lowering(mlir::func::FuncOp kernel, mlir::func::FuncOp launch,
           const hw::Architecture &architecture, DeviceKernel &result);
  LogicalResult run();

private:
  // LowerParameter.cpp: what a launch computes and passes.
  LogicalResult readLaunch();
  void layOutParameter();
  Value parameter(ParameterField::Kind kind, unsigned index, unsigned dim = 0);

  // Lowering.cpp: order of work.
  LogicalResult lowerBlock(mlir::Block &block, const ExecutionScope &by);
  LogicalResult lowerOp(Operation *op, const ExecutionScope &by);
  LogicalResult lowerHardware(nv::HardwareOpInterface op, const ExecutionScope &by);
  LogicalResult lowerIssued(Operation *op, const ExecutionScope &by);
  LogicalResult lowerScope(Operation *op, Value condition, mlir::Region &body,
                           const ExecutionScope &by);
  void lowerFaults();
  void eraseDead();
  LogicalResult refuse(Operation *op, const llvm::Twine &why, const llvm::Twine &fix = "");
  /// Takes the next of the block's named barriers for an operation.
  LogicalResult takeBarrier(Operation *op);
  /// Threads reach whole tiles in registers and anything in shared memory.
  LogicalResult checkReach(Operation *op);

  // RegisterPool.cpp
  LogicalResult shareRegisters();

  // Lowering.cpp: small values.
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value asI32(Value value);
  Value asI64(Value value);
  /// Indices in 32 bits; those that do not fit become ones outside of every tensor.
  SmallVector<Value> coordinates(mlir::ValueRange indices);
  Value asIndex(Value value);
  Value add(Value a, Value b);
  Value mul(Value a, Value b);
  Value add(Value a, int64_t b) { return b ? add(a, i32(b)) : a; }
  Value mul(Value a, int64_t b);
  Value cmp(mlir::arith::CmpIPredicate predicate, Value a, Value b);
  Value andBits(Value a, int64_t mask);
  Value shiftRight(Value a, int64_t bits);
  /// A PTX instruction (or several) that must stay where it is. `@issuer` before one makes it
  /// that of the thread that issues the operation.
  void ptx(llvm::StringRef text, llvm::ArrayRef<Value> operands = {});
  /// One that computes a value; a predicate ($0 is a word, 0 or 1) stays where it is.
  Value ptxValue(Type type, llvm::StringRef text, llvm::ArrayRef<Value> operands = {});
  /// Bits for blocks of the cluster as engines take them.
  Value blockMask(Value mask);
  /// Whether this thread is the elected one of its warp; where all of the warp is.
  Value elected();
  /// Runs \p body under a condition; without one if it is null.
  void when(Value condition, llvm::function_ref<void()> body);
  /// The conjunction of two conditions, either of which may be null.
  Value both(Value a, Value b);
  /// Begins a statement of inline PTX.
  InlinePtx inlinePtx() { return {builder, loc}; }
  Value sizeOf(mlir::memref::DimOp op);

  // Views.cpp: where things lie.
  LogicalResult placeStorage();
  LogicalResult placeShared();
  std::map<int64_t, int64_t> scratchBytes();
  int64_t scratchOf(const ExecutionScope &by) const {
    return scratchOffsets.at(by.scope.firstWarp);
  }
  LogicalResult allocateRegisters();
  /// Tells the launch what the user calls a piece of storage.
  void nameStorage(Operation *alloc, StorageName::Kind kind, int64_t first, int64_t size,
                   int64_t slot);
  void nameBarriers(nv::BarrierAllocOp op);
  void nameSync(int64_t barrier) {
    result.names.push_back({StorageName::NamedBarrier, "b.sync()", uint32_t(barrier), 1, 0});
  }
  View viewOf(Value memref);
  /// Bytes from the start of the block's shared memory to the view's slot, or multiples of them.
  Value slotOffset(const View &view, int64_t unit = 1);
  /// The first row of a view that an engine copies: the same, and its address.
  Value engineOffset(const View &view, int64_t unit = 1);
  Value engineAddress(const View &view);
  /// The offset of a view of rank 1, which may be a row of a plain tile.
  Value rowOffset(const View &view);
  Value barrierOffset(Value barriers, Value index);
  Value sharedPointer(Value offset);
  Value sharedAddress(Value offset); ///< as engines take it, 32 bits
  /// The address of an element of a shared view, at \p at plus constants. \p at is the
  /// thread's part of a coordinate of \p layout, if there is one.
  Value sharedElement(const View &view, llvm::ArrayRef<Value> at, llvm::ArrayRef<int64_t> offset,
                      const layout::Distribution *layout = nullptr);
  Value tensorSize(Value tensor, unsigned dim);
  /// Whether an element lies inside of a tensor.
  Value insideTensor(Value tensor, llvm::ArrayRef<Value> indices);
  /// The address of an element of a tensor, from its indices in 32 bits; \p inRow is
  /// known now and added to the last one.
  Value globalElement(Value tensor, llvm::ArrayRef<Value> indices, int64_t inRow = 0);
  /// Whether an element of a box lies inside of the tensor, and its address. The
  /// box begins at \p start; its dimensions run along \p dims of the tensor.
  std::pair<Value, Value> tensorElement(Value tensor, mlir::ValueRange start,
                                        llvm::ArrayRef<int64_t> dims, Extents rows,
                                        llvm::ArrayRef<Value> at, llvm::ArrayRef<int64_t> offset);
  /// The coordinates of a row in the box that the rows of a tile are.
  SmallVector<Value> inRows(Value row, llvm::ArrayRef<int64_t> rows);
  /// An element of a tensor if \p inside holds, otherwise zero.
  Value loadInside(Value inside, Value address, Type element);
  void storeInside(Value inside, Value address, Value value);
  /// Tells the launch that rows of a tensor are multiples of \p bytes.
  void needRows(Value tensor, unsigned bytes, unsigned multiple = 0);
  /// The tensor map for boxes of this tile, and its address.
  Value tensorMap(Value tensor, Value tile, Extents dims, Extents rows,
                  std::optional<tile::Packing> padding = std::nullopt);

  // LowerBarriers.cpp
  void divideTensorMemory();
  void initialize();
  void lowerTensorDealloc(nv::TensorDeallocOp op);
  void lowerSync(const ExecutionScope &by);
  void lowerClusterSync();
  void lowerNamedBarrier(Operation *op);
  void lowerCommit(nv::TensorCommitOp op);
  void lowerArrive(nv::ArriveOp op);
  void lowerTryWait(nv::TryWaitOp op);
  void lowerWait(nv::WaitOp op);

  // LowerCopies.cpp
  void lowerTmaLoad(nv::TmaLoadOp op, const ExecutionScope &by);
  void lowerTmaStore(nv::TmaStoreOp op, const ExecutionScope &by);
  /// Returns the policy of the L2 cache, as copies take it.
  Value cachePolicy(llvm::StringRef name);
  void lowerClcRequest(nv::ClcRequestOp op);
  void lowerClcAnswer(nv::ClcAnswerOp op);
  LogicalResult lowerAsyncCopy(nv::AsyncCopyOp op, const ExecutionScope &by);

  // LowerProducts.cpp
  LogicalResult lowerTensorMma(nv::TensorMmaOp op, const ExecutionScope &by);
  void lowerTensorLoad(nv::TensorLoadOp op, const ExecutionScope &by);
  void lowerTensorStore(nv::TensorStoreOp op, const ExecutionScope &by);
  LogicalResult lowerScaledMma(nv::TensorMmaOp op);
  void lowerScalesCopy(nv::TensorCopyOp op);
  LogicalResult lowerTensorCopy(nv::TensorCopyOp op);
  /// The first cell of a tensor tile's view; its lanes begin at 0.
  Value tensorAddress(Value tile);
  /// The same, with the lanes that this warp reaches and, of \p columns for each
  /// warpgroup, the columns of its own.
  Value ownLanes(Value tile, int64_t columns, const ExecutionScope &by);
  /// The low word of the descriptor of a shared tile with the given fixed bits; \p extraUnits
  /// after its start.
  Value descriptorStart(Value tile, uint64_t fixed, Value extraUnits = {});
  /// The descriptor with this low word.
  Value matrixDescriptor(Value start, uint64_t fixed);
  void lowerTensorWaitLoad();
  void lowerWarpDiffers(nv::WarpDiffersOp op);
  /// The number of a thread's warpgroup in a scope of several where something asks for it;
  /// else null.
  Value warpgroupOf(Operation *scope, int64_t firstWarp, int64_t warps);
  LogicalResult lowerWgmma(nv::WgmmaOp op, const ExecutionScope &by);
  void lowerWgmmaFence(nv::WgmmaFenceOp op);
  /// Keeps what touches these registers on its side of an instruction.
  void ptxWithRegisters(llvm::StringRef text, llvm::ArrayRef<RegisterTile *> tiles);

  // Registers.cpp
  RegisterTile *registersOf(Value tile);
  RegisterTile makeRegisters(const layout::Distribution &layout, Type element);
  Value readRegister(RegisterTile &tile, int64_t reg);
  void writeRegister(RegisterTile &tile, int64_t reg, Value value);
  /// The registers of the hardware that hold a tile's: 32 bits, i32 unless they
  /// are an f32.
  int64_t words(const RegisterTile &tile) const;
  Value readWord(RegisterTile &tile, int64_t word);
  void writeWord(RegisterTile &tile, int64_t word, Value value);
  /// Returns whether two elements of a tile share a register of the hardware.
  static bool hasHalves(const RegisterTile &tile);
  void writeHalves(RegisterTile &tile, int64_t reg, Value low, Value high);
  Value packed(llvm::ArrayRef<Value> values);
  Value digitOf(Value number, int64_t weight, int64_t extent);
  SmallVector<Value> coordinateOf(llvm::ArrayRef<layout::Distribution::Digit> digits, Value number,
                                  size_t rank);
  Value threadInScope(const ExecutionScope &by);
  /// The thread's part of coordinates.
  SmallVector<Value> baseOf(const layout::Distribution &layout, const ExecutionScope &by);
  /// Whether a register holds an element of the tile; null if all do.
  Value holdsElement(const layout::Distribution &layout, llvm::ArrayRef<Value> base,
                     llvm::ArrayRef<int64_t> offset);
  /// Whether the thread holds the first of several copies; null if there is one.
  Value holdsFirstCopy(const layout::Distribution &layout, const ExecutionScope &by);
  /// Calls \p body for every \p step -th register of a layout, with the sum of two
  /// coordinates, one computed and one constant, and with the layout unless a loop
  /// computes the first.
  void forElements(const layout::Distribution &layout, llvm::ArrayRef<Value> base, int64_t step,
                   llvm::function_ref<void(llvm::ArrayRef<Value>, llvm::ArrayRef<int64_t>,
                                           const layout::Distribution *)>
                       body);
  /// The value as an element of type \p to.
  Value converted(Value value, Type to);
  Value fromStored(Value value, Type element);
  Value toStored(Value value);
  /// Returns the number of registers of a layout that go to or come from a shared view at once.
  int64_t together(const layout::Distribution &layout, Value tile);
  /// Returns how many neighbors from register \p offset on may come from a shared view at once.
  int64_t neighborsFrom(const layout::Distribution &layout, Value tile,
                        llvm::ArrayRef<int64_t> offset);
  /// \p aligned: the address is that of as many neighbors, which LLVM may load at once.
  SmallVector<Value> loadShared(Value address, Type element, int64_t count, int64_t aligned = 1);
  void storeShared(Value address, llvm::ArrayRef<Value> elements);

  // LowerElementwise.cpp
  layout::Distribution workLayoutOf(Operation *op, const ExecutionScope &by);
  LogicalResult lowerFill(tile::FillOp op, const ExecutionScope &by);
  LogicalResult lowerMap(tile::MapOp op, const ExecutionScope &by);
  LogicalResult lowerCopy(tile::CopyOp op, const ExecutionScope &by);
  void copyElements(tile::CopyOp op, const layout::Distribution &layout, llvm::ArrayRef<Value> base,
                    Value first, int64_t run, const ExecutionScope &by);
  LogicalResult convertLayout(RegisterTile &from, RegisterTile &to, const ExecutionScope &by);

  // LowerMapBody.cpp
  Value compareCoordinates(mlir::arith::CmpIOp op, Value with, llvm::ArrayRef<Value> base,
                           llvm::ArrayRef<int64_t> offset);
  Value mapInput(tile::MapOp op, unsigned i, const layout::Distribution &layout, int64_t reg,
                 llvm::ArrayRef<Value> base, llvm::ArrayRef<int64_t> offset,
                 const layout::Distribution *known);
  LogicalResult mapOperation(Operation &inner, mlir::IRMapping &mapping, llvm::ArrayRef<Value> base,
                             llvm::ArrayRef<int64_t> offset);
  mlir::FailureOr<Value> mapElement(tile::MapOp op, const layout::Distribution &layout, int64_t reg,
                                    llvm::ArrayRef<Value> base, llvm::ArrayRef<int64_t> offset,
                                    const layout::Distribution *known);
  /// Whether instructions for two elements save any, and each thread holds all of its registers.
  bool computesPairs(tile::MapOp op, const layout::Distribution &layout,
                     llvm::ArrayRef<Value> base);
  LogicalResult lowerMapByPairs(tile::MapOp op, RegisterTile &target,
                                const layout::Distribution &layout, llvm::ArrayRef<Value> base);

  // LowerVectorAccess.cpp
  /// Returns the number of elements of a tensor, at most 16 bytes, that a thread can access
  /// together.
  int64_t vectorOfTensor(Value tensor, llvm::ArrayRef<int64_t> dims,
                         const layout::Distribution &layout);
  /// The bytes of an element.
  int64_t bytesInTensor(Value tensor);
  /// Whether groups of \p vector elements of a box are aligned, and none is partly inside
  /// of the tensor. The box has \p extent elements along a row.
  Value rowsAreAligned(Value tensor, mlir::ValueRange start, int64_t extent, int64_t vector);
  /// As loadInside and storeInside, for several elements of a row.
  SmallVector<Value> loadVector(Value inside, Value address, Type element, int64_t count);
  void storeVector(Value inside, Value address, llvm::ArrayRef<Value> values);

  // LowerReduce.cpp
  LogicalResult lowerReduce(tile::ReduceOp op, const ExecutionScope &by);
  Value combine(tile::ReduceKind kind, Value a, Value b, bool contract = false);
  /// The value of the lane at a distance, by exclusive or.
  Value shuffled(Value value, int64_t distance);
  void computeNow(llvm::ArrayRef<Value> values);
  void combineWarps(tile::ReduceKind kind, RegisterTile &totals, const layout::Distribution &layout,
                    int64_t dim, const ExecutionScope &by);

  // LowerElements.cpp
  LogicalResult checkElementAccess(Operation *op);
  /// The address of one element, from its indices in 32 bits.
  Value elementAddress(Value memref, llvm::ArrayRef<Value> at);
  /// Whether indices are inside of a tensor or tile; null if they are known to be.
  Value insideMemory(Value memref, llvm::ArrayRef<Value> at);
  Value loadElement(Value memref, mlir::ValueRange indices);
  void storeElement(Value value, Value memref, mlir::ValueRange indices, const ExecutionScope &by);
  /// Which thread does what the block does once; null inside of parallel bodies.
  Value oneThread(const ExecutionScope &by);
  LogicalResult lowerAtomic(tile::AtomicOp op, const ExecutionScope &by);
  LogicalResult lowerParallel(tile::ParallelOp op, const ExecutionScope &by);

  // LowerPrint.cpp
  LogicalResult lowerPrint(tile::PrintOp op, const ExecutionScope &by);
  /// Reserves a record and calls \p body with its address; counts a line that does not
  /// fit as lost.
  void writeRecord(int64_t words, bool isLine, llvm::function_ref<void(Value)> body);
  Value printedWord(Value value);

  // LowerMmaSync.cpp
  LogicalResult lowerGemm(tile::GemmOp op, const ExecutionScope &by);
  void multiplyByWarps(tile::GemmOp op, const MmaShape &shape, RegisterTile &sums,
                       const ExecutionScope &by);
  void multiplyByThreads(tile::GemmOp op, RegisterTile &sums, const ExecutionScope &by);
  /// A fragment of 16 (\p rowBlocks 2) or 8 rows of A, or columns of B, and 32 bytes
  /// of k, as mma.sync takes it.
  SmallVector<Value> loadFragment(Value operand, bool rowsAreFirstDim, Value row, int64_t rowOffset,
                                  int64_t k, int64_t rowBlocks, int64_t bits);

  mlir::func::FuncOp kernel, launch;
  const hw::Architecture &architecture;
  DeviceKernel &result;
  mlir::OpBuilder builder;
  Location loc;

  std::map<int32_t, Value> constants;
  llvm::DenseMap<size_t, Value> parameters; ///< by their place in the result's fields
  llvm::DenseMap<Value, SharedAllocation> shared;
  llvm::DenseMap<Value, int64_t> barrierOffsets; ///< of nv.mbarrier.alloc
  /// Tiles of tensor memory that the hardware allocates at once.
  struct TensorAllocation {
    int64_t columns;
    llvm::SmallVector<nv::TensorAllocOp> tiles;
    int64_t slot = 0; ///< where alloc puts the address
  };
  llvm::SmallVector<TensorAllocation> tensorAllocations;
  llvm::DenseMap<Value, Value> tensorBases; ///< of nv.tcgen05.alloc, i32
  llvm::DenseMap<Value, RegisterTile> registers;
  llvm::DenseMap<Value, int64_t> namedBarriers; ///< the number of each
  llvm::DenseMap<Value, Value> variables;       ///< rank-0 tiles
  SmallVector<RegisterTile *> loading;          ///< by tcgen05.load, not awaited yet
  SmallVector<RegisterTile *> accumulators;     ///< of wgmma
  unsigned ownArguments = 0;                    ///< of the kernel, before those of the launch
  bool usesTensorMemory = false;
  bool inOrder = false;     ///< a tile program that all threads execute in order
  bool alignedRows = false; ///< launches with other rows take another kernel
  /// Of shared memory for conversions and reductions, by the first warp of a scope.
  std::map<int64_t, int64_t> scratchOffsets;
  bool pair = false;   ///< two blocks multiply as one
  int64_t cluster = 1; ///< blocks of a cluster
  std::string ctaGroup() const { return pair ? ".cta_group::2" : ".cta_group::1"; }
  int64_t nextBarrier = 1;
  std::map<std::pair<int64_t, int64_t>, int64_t> roleBarriers; ///< by first warp and warps
  Value base;   ///< of the block's shared memory, !llvm.ptr<3>
  Value base32; ///< the same as engines take it
  /// Whether instructions elect the thread of the warp that issues them.
  bool electsIssuer = false;
  /// Address of the block's shared memory as descriptors have it, by the bits around it.
  llvm::DenseMap<uint32_t, Value> descriptorBases;
  Value params; ///< !llvm.ptr
  Value thread; ///< i32
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_LOWERING_H
