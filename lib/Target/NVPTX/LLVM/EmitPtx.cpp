//===- EmitPtx.cpp - From the LLVM dialect to PTX -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/LLVMPipeline.h"
#include "Target/NVPTX/Passes.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace penstock;

namespace {

/// Enough for scalar code around instructions that stay where they are; LLVM's
/// own O3 gives the same registers and takes more than twice as long.
constexpr const char *pipeline =
    "function(sroa<modify-cfg>,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(licm<allowspeculation>),gvn,instcombine<no-verify-fixpoint>,simplifycfg,adce),"
    "globaldce";

std::unique_ptr<llvm::TargetMachine> machineFor(const std::string &architecture,
                                                std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, architecture, "+ptx90", {}, {}));
}

/// Adds properties of kernels and inline PTX that MLIR's LLVM dialect cannot express.
void annotate(llvm::Module &module, const DeviceKernel &kernel) {
  llvm::LLVMContext &context = module.getContext();
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.setCallingConv(llvm::CallingConv::PTX_Kernel);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr(llvm::Attribute::Convergent);
    function.addFnAttr("nvvm.reqntid", std::to_string(kernel.threads));
    if (kernel.registers)
      function.addFnAttr("nvvm.maxnreg", std::to_string(kernel.registers));
    if (kernel.cluster[0] > 1)
      function.addFnAttr("nvvm.cluster_dim", std::to_string(kernel.cluster[0]));
    // One parameter, read only, whose tensor maps have addresses.
    auto *bytes = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), kernel.parameterBytes);
    function.addParamAttr(0, llvm::Attribute::getWithByValType(context, bytes));
    function.addParamAttr(0, llvm::Attribute::getWithAlignment(context, llvm::Align(64)));
    function.addParamAttr(0, llvm::Attribute::get(context, "nvvm.grid_constant"));
    function.addParamAttr(0, llvm::Attribute::NoAlias);
    function.addParamAttr(0, llvm::Attribute::ReadOnly);
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm())
          call->setConvergent();
  }
}

} // namespace

std::unique_ptr<llvm::Module> penstock::translateForPtx(mlir::ModuleOp module,
                                                        const DeviceKernel &kernel,
                                                        llvm::LLVMContext &context,
                                                        std::string &error) {
  auto machine = machineFor(kernel.architecture, error);
  if (!machine)
    return nullptr;
  auto llvmModule = mlir::translateModuleToLLVMIR(module, context, "kernel");
  if (!llvmModule) {
    error = "the translation to LLVM IR failed";
    return nullptr;
  }
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setTargetTriple(machine->getTargetTriple());
  annotate(*llvmModule, kernel);
  std::string text;
  llvm::raw_string_ostream problems(text);
  if (llvm::verifyModule(*llvmModule, &problems)) {
    error = "the LLVM IR of the kernel is not valid: " + text;
    return nullptr;
  }
  return llvmModule;
}

std::string penstock::generatePtx(llvm::Module &module, const DeviceKernel &kernel,
                                  std::string &error) {
  auto machine = machineFor(kernel.architecture, error);
  if (!machine)
    return "";
  runLLVMPipeline(module, *machine, pipeline);
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    error = "LLVM cannot write PTX";
    return "";
  }
  passes.run(module);
  return ptx.str().str();
}

std::string penstock::emitPtx(mlir::ModuleOp module, const DeviceKernel &kernel,
                              std::string &error) {
  llvm::LLVMContext context;
  auto llvmModule = translateForPtx(module, kernel, context, error);
  return llvmModule ? generatePtx(*llvmModule, kernel, error) : "";
}
