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
// (where tiles lie), RegisterPool.cpp, LowerBarriers.cpp, LowerCopies.cpp,
// LowerProducts.cpp and LowerRegisters.cpp. Operations become PTX instructions as inline text:
// LLVM's intrinsics for some of them may be removed or moved by its optimiser
// (docs/architecture.md).
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_LOWERING_H
#define PENSTOCK_TARGET_NVPTX_LOWERING_H

#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Layout/Fragment.h"
#include "Runtime/DeviceKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

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

/// A shared tile's place in the block's shared memory.
struct SharedPlace {
  int64_t offset = 0;
  int64_t slotBytes = 0; ///< of the last two dimensions
  layout::SharedTile layout;
};

/// How tiles in registers are spread over the threads of a scope.
enum class Spread : uint8_t { TensorRows, Accumulator, Coalesced };

/// How memory and registers hold elements: 8-bit floating-point numbers are only moved,
/// as integers.
Type storedAs(Type element);

/// The dimension of a tensor along which the rows of a box lie.
inline size_t rowDim(size_t rank, std::optional<llvm::ArrayRef<int64_t>> dims) {
  return dims ? size_t(dims->front()) : rank - 2;
}

/// A tile in registers.
struct RegisterTile {
  Spread spread = Spread::Coalesced;
  layout::Fragment fragment; ///< rank 1: of the tile whose rows it goes with
  Value storage;             ///< array of the thread's registers
  Type element;
  int64_t rank = 2;
  /// Rank 1: the register of each distinct row of the fragment's registers.
  SmallVector<int64_t> rowOf;
  int64_t registers() const;
};

/// The threads that execute what is being lowered.
struct Executing {
  nv::ThreadScope scope;
  Value leader;        ///< i1: the thread that issues copies and products
  int64_t barrier = 0; ///< the named barrier of the scope
};

class Lowering {
public:
  Lowering(mlir::func::FuncOp kernel, mlir::func::FuncOp launch, llvm::StringRef architecture,
           DeviceKernel &result);
  LogicalResult run();

private:
  // LowerParameter.cpp: what a launch computes and passes.
  LogicalResult readLaunch();
  void layOutParameter();
  Value parameter(ParameterField::Kind kind, unsigned index, unsigned dim = 0);

  // Lowering.cpp: order of work.
  LogicalResult lowerBlock(mlir::Block &block, const Executing &by);
  LogicalResult lowerOp(Operation *op, const Executing &by);
  LogicalResult lowerScope(Operation *op, Value condition, mlir::Region &body, const Executing &by);
  void eraseDead();
  LogicalResult checkElementAccess(Operation *op);
  /// The address of one element, from its indices in 32 bits.
  Value elementAddress(Value memref, llvm::ArrayRef<Value> at);
  Value loadElement(Value memref, mlir::ValueRange indices);
  void storeElement(Value value, Value memref, mlir::ValueRange indices);
  LogicalResult checkScalar(Operation *op);
  LogicalResult refuse(Operation *op, const llvm::Twine &why);
  /// Takes the next of the block's named barriers for an operation.
  LogicalResult takeBarrier(Operation *op);
  LogicalResult checkElements(Operation *op);
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
  /// A PTX instruction (or several) that must stay where it is.
  void ptx(llvm::StringRef text, llvm::ArrayRef<Value> operands, llvm::StringRef constraints);
  /// One that computes a value and has no other effect.
  Value ptxValue(Type type, llvm::StringRef text, llvm::ArrayRef<Value> operands,
                 llvm::StringRef constraints);
  /// Bits for blocks of the cluster as engines take them.
  Value blockMask(Value mask);
  /// Whether this thread is the elected one of its warp; where all of the warp is.
  Value elected();
  /// Runs \p body under a condition.
  void when(Value condition, llvm::function_ref<void()> body);

  // Views.cpp: where things lie.
  LogicalResult placeStorage();
  LogicalResult placeShared();
  LogicalResult placeRegisters();
  /// Tells the launch what the user calls a piece of storage.
  void nameStorage(Operation *alloc, StorageName::Kind kind, int64_t first, int64_t size,
                   int64_t slot);
  void nameBarriers(nv::BarrierAllocOp op);
  void nameSync(int64_t barrier) {
    result.names.push_back({StorageName::NamedBarrier, "b.sync()", uint32_t(barrier), 1, 0});
  }
  View viewOf(Value memref);
  /// Bytes from the start of the block's shared memory to the view's slot.
  Value slotOffset(const View &view);
  /// The address of the first row of a view that an engine copies.
  Value engineAddress(const View &view);
  /// The offset of a view of rank 1, which may be a row of a plain tile.
  Value rowOffset(const View &view);
  Value barrierOffset(Value barriers, Value index);
  Value sharedPointer(Value offset);
  Value sharedAddress(Value offset); ///< as engines take it, 32 bits
  /// The address of an element of a shared view; \p inRow is a column known
  /// now, added to \p col.
  Value sharedElement(const View &view, Value row, Value col, int64_t inRow);
  Value tensorSize(Value tensor, unsigned dim);
  /// Whether an element lies inside of a tensor.
  Value insideTensor(Value tensor, llvm::ArrayRef<Value> indices);
  /// What the hardware hands out for an accumulator: a power of two, at least 32.
  static int64_t allocatedColumns(Value tile);
  /// The address of an element of a tensor, from its indices in 32 bits; \p inRow is
  /// known now and added to the last one.
  Value globalElement(Value tensor, llvm::ArrayRef<Value> indices, int64_t inRow = 0);
  /// Whether an element of a box lies inside of the tensor, and its address. The
  /// box begins at \p start; \p inRow is known now and added to \p col.
  std::pair<Value, Value> tensorElement(Value tensor, mlir::ValueRange start,
                                        llvm::ArrayRef<int64_t> dims, Value row, Value col,
                                        int64_t inRow);
  /// An element of a tensor if \p inside holds, otherwise zero.
  Value loadInside(Value inside, Value address, Type element);
  void storeInside(Value inside, Value address, Value value);
  /// Tells the launch that rows of a tensor are multiples of so many bytes.
  void needRows(Value tensor, unsigned bytes);
  /// The tensor map for boxes of this tile, and its address.
  Value tensorMap(Value tensor, Value tile, std::optional<llvm::ArrayRef<int64_t>> dims);

  // LowerBarriers.cpp
  void initialise();
  void lowerSync(const Executing &by);
  void lowerClusterSync();
  void lowerNamedBarrier(Operation *op);
  void lowerCommit(nv::TensorCommitOp op);
  void lowerArrive(nv::ArriveOp op);
  void lowerTryWait(nv::TryWaitOp op);
  void lowerWait(nv::WaitOp op);

  // LowerCopies.cpp
  void lowerTmaLoad(nv::TmaLoadOp op, const Executing &by);
  void lowerTmaStore(nv::TmaStoreOp op, const Executing &by);
  /// What the second-level cache is told, as copies take it.
  Value cachePolicy(llvm::StringRef name);
  void lowerClcRequest(nv::ClcRequestOp op);
  void lowerClcAnswer(nv::ClcAnswerOp op);
  LogicalResult lowerAsyncCopy(nv::AsyncCopyOp op, const Executing &by);

  // LowerProducts.cpp
  LogicalResult lowerTensorMma(nv::TensorMmaOp op, const Executing &by);
  void lowerTensorLoad(nv::TensorLoadOp op);
  void lowerTensorStore(nv::TensorStoreOp op);
  LogicalResult lowerTensorCopy(nv::TensorCopyOp op);
  /// The first cell of a tensor tile's view; its lanes begin at 0.
  Value tensorAddress(Value tile);
  /// The same, with the lanes that this warp reaches.
  Value ownLanes(Value tile);
  /// The descriptor of a shared tile with the given fixed bits.
  Value matrixDescriptor(Value tile, uint64_t fixed, Value extraBytes = {});
  void lowerTensorWaitLoad();
  LogicalResult lowerWgmma(nv::WgmmaOp op, const Executing &by);
  void lowerWgmmaFence(nv::WgmmaFenceOp op);
  /// Keeps what touches these registers on its side of an instruction.
  void ptxWithRegisters(llvm::StringRef text, llvm::ArrayRef<RegisterTile *> tiles);

  // LowerRegisters.cpp
  LogicalResult lowerFill(tile::FillOp op, const Executing &by);
  /// A tile spread over the scope's threads so that neighbours are together.
  layout::Fragment coalesced(mlir::MemRefType type, const Executing &by);
  /// How many elements of a row a thread has together: at most 16 bytes.
  static int64_t neighbours(mlir::MemRefType type);
  LogicalResult lowerMap(tile::MapOp op, const Executing &by);
  mlir::FailureOr<Value> mapElement(tile::MapOp op, RegisterTile *decides, int64_t reg,
                                    layout::Coordinate offset, Value row, Value col);
  LogicalResult lowerCopy(tile::CopyOp op, const Executing &by);
  LogicalResult loadByThreads(tile::CopyOp op, const Executing &by);
  LogicalResult lowerReduce(tile::ReduceOp op, const Executing &by);
  RegisterTile *registersOf(Value tile);
  Value readRegister(RegisterTile &tile, int64_t reg);
  void writeRegister(RegisterTile &tile, int64_t reg, Value value);
  /// The registers of the hardware that hold a tile's: 32 bits, i32 unless they
  /// are an f32.
  int64_t words(const RegisterTile &tile) const;
  Value readWord(RegisterTile &tile, int64_t word);
  void writeWord(RegisterTile &tile, int64_t word, Value value);
  Value sumOf(const std::vector<layout::Fragment::Term> &terms, Value index);
  /// Calls \p body for every register of a fragment that lies nowhere yet, with the
  /// sum of two offsets: one that a loop computes and one that is known.
  void forRegisters(const layout::Fragment &fragment,
                    llvm::function_ref<void(Value, Value, layout::Coordinate)> body);
  /// The thread's part of a fragment's coordinates.
  std::pair<Value, Value> baseOf(const layout::Fragment &fragment, const Executing &by);
  /// The value as an element of memory or registers that hold \p to.
  Value converted(Value value, Type to);
  /// How many registers of a fragment can go to or come from a shared view at once.
  int64_t together(const layout::Fragment &fragment, Value tile);
  Value loadShared(Value address, Type element, int64_t count);
  void storeShared(Value address, llvm::ArrayRef<Value> values);
  Value packed(llvm::ArrayRef<Value> values);
  Value elementOf(Value loaded, int64_t i);
  /// Runs \p body unless the register stands for nothing.
  void whenHeld(const layout::Fragment &fragment, Value row, Value col,
                llvm::function_ref<void()> body);

  mlir::func::FuncOp kernel, launch;
  std::string architecture;
  DeviceKernel &result;
  mlir::OpBuilder builder;
  Location loc;

  std::map<int32_t, Value> constants;
  llvm::DenseMap<size_t, Value> parameters; ///< by their place in the result's fields
  llvm::DenseMap<Value, SharedPlace> shared;
  llvm::DenseMap<Value, int64_t> barrierOffsets; ///< of nv.mbarrier.alloc
  llvm::DenseMap<Value, int64_t> tensorSlots;    ///< where alloc puts its address
  llvm::DenseMap<Value, Value> tensorBases;      ///< of nv.tcgen05.alloc, i32
  llvm::DenseMap<Value, RegisterTile> registers;
  llvm::DenseMap<Value, int64_t> namedBarriers; ///< the number of each
  llvm::DenseMap<Value, Value> variables;       ///< rank-0 tiles
  SmallVector<RegisterTile *> loading;          ///< by tcgen05.load, not awaited yet
  SmallVector<RegisterTile *> accumulators;     ///< of wgmma
  unsigned ownArguments = 0;                    ///< of the kernel, before those of the launch
  bool usesTensorMemory = false;
  bool pair = false;   ///< two blocks multiply as one
  int64_t cluster = 1; ///< blocks of a cluster
  std::string ctaGroup() const { return pair ? ".cta_group::2" : ".cta_group::1"; }
  int64_t nextBarrier = 1;
  Value base;   ///< of the block's shared memory, !llvm.ptr<3>
  Value base32; ///< the same as engines take it
  Value params; ///< !llvm.ptr
  Value thread; ///< i32
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_LOWERING_H
