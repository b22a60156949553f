//===- NativeCode.cpp - Machine code for the host, in memory --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/NativeCode.h"
#include "Target/LLVMPipeline.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>

using namespace penstock;

namespace {

void initializeOnce() {
  static std::once_flag flag;
  std::call_once(flag, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

/// The host, described once: finding it out takes a millisecond.
const llvm::orc::JITTargetMachineBuilder *hostBuilder() {
  initializeOnce();
  static const std::unique_ptr<llvm::orc::JITTargetMachineBuilder> builder = [] {
    auto detected = llvm::orc::JITTargetMachineBuilder::detectHost();
    if (!detected) {
      llvm::consumeError(detected.takeError());
      return std::unique_ptr<llvm::orc::JITTargetMachineBuilder>();
    }
    detected->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
    return std::make_unique<llvm::orc::JITTargetMachineBuilder>(std::move(*detected));
  }();
  return builder.get();
}

std::unique_ptr<llvm::TargetMachine> hostMachine() {
  const auto *builder = hostBuilder();
  if (!builder)
    return nullptr;
  auto copy = *builder;
  auto machine = copy.createTargetMachine();
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return nullptr;
  }
  return std::move(*machine);
}

/// What loops over tiles gain from, and no more: LLVM's own O2 gives the same
/// code for them and takes more than twice as long.
constexpr const char *pipeline =
    "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm<allowspeculation>),loop-vectorize,"
    "instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm<allowspeculation>),adce)";

/// Code generation without loop strength reduction: it takes about as long as
/// all the rest together, and changes the speed of kernels by a few per cent at
/// most (docs/benchmarks.md). A gate of the context is LLVM's one
/// way to leave out a pass without changing options of the whole process.
class WithoutStrengthReduction : public llvm::OptPassGate {
public:
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override {
    return pass != "Loop Strength Reduction";
  }
  bool isEnabled() const override { return true; }
};
WithoutStrengthReduction gate;

} // namespace

unsigned penstock::hostVectorBits() {
  auto features = llvm::sys::getHostCPUFeatures();
  if (features.lookup("avx512f"))
    return 512;
  return features.lookup("avx2") ? 256 : 128;
}

NativeCode::NativeCode() = default;
NativeCode::~NativeCode() = default;

std::unique_ptr<NativeCode>
NativeCode::compile(mlir::ModuleOp module,
                    llvm::ArrayRef<std::pair<llvm::StringRef, void *>> symbols, bool optimized,
                    std::string &error) {
  auto fail = [&](std::string text) {
    error = std::move(text);
    return nullptr;
  };
  auto machine = hostMachine();
  if (!machine)
    return fail("this machine's processor cannot be described to LLVM");
  auto context = std::make_unique<llvm::LLVMContext>();
  context->setOptPassGate(gate);
  auto llvmModule = mlir::translateModuleToLLVMIR(module, *context, "kernel");
  if (!llvmModule)
    return fail("the translation to LLVM IR failed");
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setTargetTriple(machine->getTargetTriple());
  for (llvm::Function &function : *llvmModule)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", machine->getTargetCPU());
      function.addFnAttr("target-features", machine->getTargetFeatureString());
      // The loops here are written for the full width.
      function.addFnAttr("prefer-vector-width", std::to_string(hostVectorBits()));
      function.addFnAttr("min-legal-vector-width", "0");
      function.addFnAttr(llvm::Attribute::NoUnwind);
    }
  if (llvm::verifyModule(*llvmModule))
    return fail("the LLVM IR of the kernel is not valid");
  if (optimized)
    runLLVMPipeline(*llvmModule, *machine, pipeline);

  auto code = std::make_unique<NativeCode>();
  llvm::raw_svector_ostream bitcode(code->bitcode);
  llvm::WriteBitcodeToFile(*llvmModule, bitcode);
  auto builder = llvm::orc::LLJITBuilder();
  auto target = *hostBuilder();
  if (!optimized)
    target.setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  builder.setJITTargetMachineBuilder(std::move(target));
  builder.setNumCompileThreads(0);
  auto jit = builder.create();
  if (!jit)
    return fail(llvm::toString(jit.takeError()));
  code->jit = std::move(*jit);
  auto &library = code->jit->getMainJITDylib();
  llvm::orc::SymbolMap map;
  for (auto [name, address] : symbols)
    map[code->jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                             llvm::JITSymbolFlags::Exported};
  if (auto failed = library.define(llvm::orc::absoluteSymbols(std::move(map))))
    return fail(llvm::toString(std::move(failed)));
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      code->jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return fail(llvm::toString(process.takeError()));
  library.addGenerator(std::move(*process));
  if (auto failed = code->jit->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(llvmModule), std::move(context))))
    return fail(llvm::toString(std::move(failed)));
  return code;
}

NativeCode::Entry NativeCode::lookup(llvm::StringRef name) {
  auto found = jit->lookup(name);
  if (!found) {
    llvm::consumeError(found.takeError());
    return nullptr;
  }
  return found->toPtr<Entry>();
}

/// Reads back what the code was made of.
static std::unique_ptr<llvm::Module> readBack(llvm::ArrayRef<char> bitcode,
                                              llvm::LLVMContext &context) {
  llvm::StringRef bytes(bitcode.data(), bitcode.size());
  return llvm::cantFail(llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, "kernel"), context));
}

std::string NativeCode::llvmIR() const {
  llvm::LLVMContext context;
  std::string text;
  llvm::raw_string_ostream(text) << *readBack(bitcode, context);
  return text;
}

std::string NativeCode::assembly() const {
  auto machine = hostMachine();
  llvm::LLVMContext context;
  context.setOptPassGate(gate);
  auto module = readBack(bitcode, context);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (!machine ||
      machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return "";
  passes.run(*module);
  return text.str().str();
}
