//===- NativeCode.cpp - Machine code for the host, in memory --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/NativeCode.h"
#include "Target/LLVMPipeline.h"
#include "Target/X86/TakeHighHalves.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
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

std::unique_ptr<llvm::TargetMachine> machineOf(const NativeCpu &cpu, bool optimized = true) {
  initializeOnce();
  llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(llvm::sys::getProcessTriple())};
  builder.setCPU(cpu.name);
  builder.addFeatures(cpu.features);
  builder.setCodeGenOptLevel(optimized ? llvm::CodeGenOptLevel::Default
                                       : llvm::CodeGenOptLevel::None);
  // Objects may be linked at any address.
  builder.setRelocationModel(llvm::Reloc::PIC_);
  builder.setCodeModel(llvm::CodeModel::Small);
  auto machine = builder.createTargetMachine();
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return nullptr;
  }
  return std::move(*machine);
}

/// Passes that improve loops over tiles. LLVM's O2 generates the same code for them and takes more
/// than twice as long.
constexpr const char *pipeline =
    "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm<allowspeculation>),loop-vectorize,"
    "instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm<allowspeculation>),adce)";

/// Code generation without loop strength reduction: it takes about as long as
/// all the rest together, and changes the speed of kernels by a few per cent at
/// most (docs/results/benchmarks-record.md). A gate of the context is LLVM's one
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

std::optional<NativeObject> penstock::generateNativeObject(mlir::ModuleOp module,
                                                           const NativeCpu &cpu, bool optimized,
                                                           std::string &error) {
  auto fail = [&](std::string text) {
    error = std::move(text);
    return std::nullopt;
  };
  auto machine = machineOf(cpu, optimized);
  if (!machine)
    return fail("this machine's processor cannot be described to LLVM");
  llvm::LLVMContext context;
  context.setOptPassGate(gate);
  auto llvmModule = mlir::translateModuleToLLVMIR(module, context, "kernel");
  if (!llvmModule)
    return fail("the translation to LLVM IR failed");
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setTargetTriple(machine->getTargetTriple());
  for (llvm::Function &function : *llvmModule)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", machine->getTargetCPU());
      function.addFnAttr("target-features", machine->getTargetFeatureString());
      // The loops here are written for the full width.
      function.addFnAttr("prefer-vector-width", std::to_string(cpu.vectorBits));
      function.addFnAttr("min-legal-vector-width", "0");
      function.addFnAttr(llvm::Attribute::NoUnwind);
    }
  if (llvm::verifyModule(*llvmModule))
    return fail("the LLVM IR of the kernel is not valid");
  if (optimized) {
    runLLVMPipeline(*llvmModule, *machine, pipeline);
    if (cpu.vectorBits == 512)
      takeHighHalves(*llvmModule);
  }

  NativeObject result;
  llvm::raw_string_ostream bitcode(result.bitcode);
  llvm::WriteBitcodeToFile(*llvmModule, bitcode);
  auto object = llvm::orc::SimpleCompiler(*machine)(*llvmModule);
  if (!object)
    return fail(llvm::toString(object.takeError()));
  result.object = (*object)->getBuffer().str();
  return result;
}

/// Members are destroyed after the session has ended.
struct NativeCode::Session {
  explicit Session(std::unique_ptr<llvm::orc::ExecutorProcessControl> control)
      : execution(std::move(control)),
        layer(execution, execution.getExecutorProcessControl().getMemMgr()),
        library(execution.createBareJITDylib("kernel")) {}
  ~Session() {
    if (auto failed = execution.endSession())
      llvm::consumeError(std::move(failed));
  }

  llvm::orc::ExecutionSession execution;
  llvm::orc::ObjectLinkingLayer layer;
  llvm::orc::JITDylib &library;
};

NativeCode::NativeCode() = default;
NativeCode::~NativeCode() = default;

std::unique_ptr<NativeCode>
NativeCode::link(NativeObject object, llvm::ArrayRef<std::pair<llvm::StringRef, void *>> symbols,
                 std::string &error) {
  auto fail = [&](llvm::Error failed) {
    error = llvm::toString(std::move(failed));
    return nullptr;
  };
  // On this thread: linking takes less time than starting another one.
  auto control = llvm::orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>());
  if (!control)
    return fail(control.takeError());
  std::unique_ptr<NativeCode> code(new NativeCode);
  code->source = std::move(object);
  code->session = std::make_unique<Session>(std::move(*control));
  Session &session = *code->session;
  llvm::orc::SymbolMap map;
  for (auto [name, address] : symbols)
    map[session.execution.intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                           llvm::JITSymbolFlags::Exported};
  if (auto failed = session.library.define(llvm::orc::absoluteSymbols(std::move(map))))
    return fail(std::move(failed));
  // Functions of libm and libc.
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
  if (!process)
    return fail(process.takeError());
  session.library.addGenerator(std::move(*process));
  auto buffer = llvm::MemoryBuffer::getMemBuffer(code->source.object, "kernel",
                                                 /*RequiresNullTerminator=*/false);
  if (auto failed = session.layer.add(session.library, std::move(buffer)))
    return fail(std::move(failed));
  return code;
}

NativeCode::Entry NativeCode::lookup(llvm::StringRef name) {
  auto found = session->execution.lookup({&session->library}, session->execution.intern(name));
  if (!found) {
    llvm::consumeError(found.takeError());
    return nullptr;
  }
  return found->getAddress().toPtr<Entry>();
}

/// Reads back what the code was made of.
static std::unique_ptr<llvm::Module> readBack(llvm::StringRef bitcode, llvm::LLVMContext &context) {
  return llvm::cantFail(llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "kernel"), context));
}

std::string NativeCode::llvmIR() const {
  llvm::LLVMContext context;
  std::string text;
  llvm::raw_string_ostream(text) << *readBack(source.bitcode, context);
  return text;
}

std::string NativeCode::assembly() const {
  // Functions carry the CPU that they were compiled for.
  auto machine = machineOf({.name = "x86-64", .features = {}});
  llvm::LLVMContext context;
  context.setOptPassGate(gate);
  auto module = readBack(source.bitcode, context);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (!machine ||
      machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return "";
  passes.run(*module);
  return text.str().str();
}
