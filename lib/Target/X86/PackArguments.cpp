//===- PackArguments.cpp - Entries that take arguments from memory --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/Passes.h"
#include "Transforms/Launch/KernelAbi.h"

namespace penstock {
#define GEN_PASS_DEF_PACKARGUMENTS
#include "Target/X86/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

constexpr int64_t slotBytes = 8;

struct PackArguments : penstock::impl::PackArgumentsBase<PackArguments> {
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> functions;
    SmallVector<LLVM::CallOp> requests;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (function->hasAttr(abi::packAttr))
        functions.push_back(function);
    getOperation().walk([&](LLVM::CallOp call) {
      if (call->hasAttr(abi::asyncAttr))
        requests.push_back(call);
    });
    for (LLVM::LLVMFuncOp function : functions)
      addPackedEntry(function);
    for (LLVM::CallOp call : requests)
      requestLater(call);
  }

  static Value slot(OpBuilder &b, Location loc, Value slots, unsigned index) {
    return LLVM::GEPOp::create(b, loc, slots.getType(), b.getI8Type(), slots,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index * slotBytes)});
  }

  void addPackedEntry(LLVM::LLVMFuncOp function) {
    OpBuilder b(function);
    Location loc = function.getLoc();
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()), {pointer});
    auto packed =
        LLVM::LLVMFuncOp::create(b, loc, (function.getName() + abi::packedSuffix).str(), type);
    b.setInsertionPointToStart(packed.addEntryBlock(b));
    SmallVector<Value> arguments;
    for (auto [i, argument] : llvm::enumerate(function.getArgumentTypes()))
      arguments.push_back(
          LLVM::LoadOp::create(b, loc, argument, slot(b, loc, packed.getArgument(0), i)));
    LLVM::CallOp::create(b, loc, function, arguments);
    LLVM::ReturnOp::create(b, loc, ValueRange());
  }

  /// The arguments are the iteration, the chain, the operation's own, and the
  /// runtime's handle.
  void requestLater(LLVM::CallOp call) {
    Location loc = call.getLoc();
    auto function = call->getParentOfType<LLVM::LLVMFuncOp>();
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    unsigned count = call.getArgOperands().size();
    OpBuilder entry = OpBuilder::atBlockBegin(&function.getBody().front());
    Value size = LLVM::ConstantOp::create(entry, loc, entry.getI64IntegerAttr(count));
    Value slots = LLVM::AllocaOp::create(entry, loc, pointer, entry.getI64Type(), size);
    OpBuilder b(call);
    for (auto [i, argument] : llvm::enumerate(call.getArgOperands()))
      LLVM::StoreOp::create(b, loc, argument, slot(b, loc, slots, i));
    Type i32 = b.getI32Type(), i64 = b.getI64Type();
    Type types[] = {pointer, i32, i64, i64, pointer, pointer, i32};
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()), types);
    auto issue = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(abi::asyncIssueFn);
    if (!issue) {
      OpBuilder top = OpBuilder::atBlockBegin(getOperation().getBody());
      issue = LLVM::LLVMFuncOp::create(top, loc, abi::asyncIssueFn, type);
    }
    auto number = call->getAttrOfType<IntegerAttr>(abi::asyncAttr).getInt();
    Value name = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(number));
    Value countValue = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(count));
    Value code =
        LLVM::AddressOfOp::create(b, loc, pointer, (*call.getCallee() + abi::packedSuffix).str());
    Value iteration = call.getArgOperands()[0], chain = call.getArgOperands()[1];
    LLVM::CallOp::create(
        b, loc, issue,
        ValueRange{call.getArgOperands().back(), name, iteration, chain, code, slots, countValue});
    call.erase();
  }
};

} // namespace
