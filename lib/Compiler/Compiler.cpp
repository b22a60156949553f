//===- Compiler.cpp - From a tile program to an executable ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Compiler/Pipelines.h"
#include "Compiler/Preferences.h"
#include "Compiler/Registers/SuggestedStages.h"
#include "Compiler/RunPasses.h"
#include "Diagnostics/Codes.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Language.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/Signature.h"
#include "Dialect/Tile/TileDialect.h"
#include "Lang/Recorder.h"
#include "Runtime/BlockContext.h"
#include "Target/NVPTX/LLVM/LaunchAttribute.h"
#include "Target/NVPTX/Passes.h"
#include "Transforms/Launch/Faults.h"
#include "Transforms/Launch/KernelAbi.h"
#include "Transforms/Passes.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <mutex>

using namespace mlir;
using namespace penstock;

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

namespace {

/// Contexts only grow (types and attributes live as long as they do), so each
/// is given up after some use.
struct ContextPool {
  std::mutex mutex;
  std::vector<std::unique_ptr<MLIRContext>> idle;
  llvm::DenseMap<MLIRContext *, unsigned> uses;
  static constexpr unsigned maxUses = 200;
  static constexpr size_t maxIdle = 8;
};

ContextPool &pool() {
  // Never destroyed: kernels held in static variables may outlive it otherwise.
  static ContextPool *instance = new ContextPool;
  return *instance;
}

std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  loadRecordedDialects(*context);
  // Notes are for users, who have not written the operation that upstream shows.
  context->printOpOnDiagnostic(false);
  return context;
}

} // namespace

PooledContext::PooledContext(Dialects dialects) {
  ContextPool &p = pool();
  {
    std::lock_guard lock(p.mutex);
    if (!p.idle.empty()) {
      context = std::move(p.idle.back());
      p.idle.pop_back();
      ++p.uses[context.get()];
    }
  }
  if (!context)
    context = makeContext();
  if (dialects == Dialects::All)
    loadAllDialects();
}

PooledContext::~PooledContext() {
  if (!context)
    return;
  ContextPool &p = pool();
  std::lock_guard lock(p.mutex);
  if (p.idle.size() < ContextPool::maxIdle && p.uses[context.get()] < ContextPool::maxUses)
    p.idle.push_back(std::move(context));
  else
    p.uses.erase(context.get());
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> penstock::parseProgram(MLIRContext *context, StringRef text,
                                             StringRef fileName,
                                             std::vector<penstock::Diagnostic> &diagnostics) {
  if (tile::NestingFault fault = tile::checkNesting(text); fault.line) {
    penstock::Diagnostic d;
    d.code = TextTooDeep;
    d.location = {fileName.str(), fault.line, 0};
    d.message = fault.message;
    diagnostics.push_back(std::move(d));
    return {};
  }
  tile::DiagnosticCollector collector(context, diagnostics, TextSyntax);
  ParserConfig config(context);
  auto module = parseSourceString<ModuleOp>(text, config, fileName);
  if (!module || failed(tile::verifyLanguage(*module)))
    return {};
  return module;
}

OwningOpRef<ModuleOp> penstock::recordKernel(MLIRContext *context,
                                             const penstock::detail::KernelSource &source,
                                             const CompileOptions &options,
                                             std::vector<penstock::Diagnostic> &diagnostics) {
  lang::Recorder recorder(context, source, options, diagnostics);
  return recorder.record();
}

static Element elementOf(Type type) {
  if (type.isF16())
    return Element::f16;
  if (type.isBF16())
    return Element::bf16;
  if (type.isF32())
    return Element::f32;
  if (type.isF64())
    return Element::f64;
  if (isa<Float8E4M3FNType>(type))
    return Element::f8e4m3;
  if (isa<Float8E5M2Type>(type))
    return Element::f8e5m2;
  if (isa<Float8E8M0FNUType>(type))
    return Element::f8e8m0;
  if (type.isIndex())
    return Element::index;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return Element::i1;
  case 8:
    return Element::i8;
  case 16:
    return Element::i16;
  case 32:
    return Element::i32;
  default:
    return Element::i64;
  }
}

static const std::pair<const char *, Target> gpus[] = {
    {"sm_90a", Target::sm_90a()}, {"sm_100a", Target::sm_100a()}, {"sm_80", Target::sm_80()},
    {"sm_86", Target::sm_86()},   {"sm_89", Target::sm_89()},     {"sm_120a", Target::sm_120a()}};

const hw::Architecture &penstock::architectureOf(Target target) {
  for (const auto &[name, gpu] : gpus)
    if (gpu.kind == target.kind)
      return *hw::findArchitecture(name);
  return *hw::findArchitecture("x86");
}

std::vector<std::string> penstock::gpu_names() {
  std::vector<std::string> names;
  for (const auto &[name, gpu] : gpus)
    names.push_back(name);
  return names;
}

std::optional<Target> penstock::find_gpu(std::string_view name) {
  for (const auto &[known, gpu] : gpus)
    if (known == name)
      return gpu;
  return std::nullopt;
}

KernelInfo penstock::infoOf(func::FuncOp kernel) {
  KernelInfo info;
  info.name = kernel.getName().str();
  info.location = tile::sourceLocationOf(kernel.getLoc());
  kernel.walk(
      [&](tile::GridOp grid) { info.gridLocation = tile::sourceLocationOf(grid.getLoc()); });
  Signature signature;
  if (auto text = kernel->getAttrOfType<StringAttr>(tile::TileDialect::signatureAttr))
    signature = parseSignature(info.signature = text.str());
  for (BlockArgument argument : kernel.getArguments()) {
    unsigned i = argument.getArgNumber();
    ArgumentInfo to;
    to.name = tile::nameOf(argument);
    if (to.name.empty())
      to.name = "arg" + std::to_string(i);
    Type element = argument.getType();
    if (auto type = dyn_cast<MemRefType>(element)) {
      to.tensor = true;
      to.rank = static_cast<int>(type.getRank());
      element = type.getElementType();
      auto access = kernel.getArgAttrOfType<StringAttr>(i, tile::TileDialect::accessAttr);
      to.written = !access || access != "in";
      to.mayOverlap = static_cast<bool>(kernel.getArgAttr(i, tile::TileDialect::overlapsAttr));
      if (i < signature.arguments.size() &&
          signature.arguments[i].sizes.size() == static_cast<size_t>(to.rank))
        to.sizes = signature.arguments[i].sizes;
    }
    to.element = elementOf(element);
    if (auto packed = kernel.getArgAttrOfType<StringAttr>(i, tile::TileDialect::packedAttr))
      to.element = tile::findPacked(packed)->element;
    info.arguments.push_back(std::move(to));
  }
  return info;
}

//===----------------------------------------------------------------------===//
// Back ends
//===----------------------------------------------------------------------===//

std::optional<NativeCpu> penstock::nativeCpuFor(Cpu level, StringRef kernel,
                                                const SourceLocation &location,
                                                std::vector<penstock::Diagnostic> &diagnostics) {
  std::string why;
  std::optional<NativeCpu> cpu = findNativeCpu(level, why);
  if (!cpu) {
    penstock::Diagnostic d;
    d.code = CpuLevel;
    d.location = location;
    d.message = "`" + kernel.str() + "` cannot be compiled for the given instruction set: " + why;
    d.helps.push_back(
        "leave .cpu (--cpu) and PENSTOCK_CPU out: the best one that the host has is then used");
    diagnostics.push_back(std::move(d));
  }
  return cpu;
}

namespace {

class Backend {
public:
  Backend(const BackendOptions &options, std::vector<penstock::Diagnostic> &diagnostics)
      : options(options), diagnostics(diagnostics) {}

  /// A wrong schedule is wrong on every target. The interpreter runs the program as it is.
  bool checkSchedules(ModuleOp module) {
    OwningOpRef<ModuleOp> checked = module.clone();
    PassManager passes(module->getName());
    passes.addNestedPass<func::FuncOp>(createFlattenTiles());
    passes.addNestedPass<func::FuncOp>(createResolveSchedules());
    return runPasses(passes, *checked, options, diagnostics);
  }

  bool native(penstock::detail::Executable &executable, ModuleOp module, StringRef kernel) {
    std::optional<NativeCpu> cpu =
        nativeCpuFor(options.cpu, kernel, executable.info.location, diagnostics);
    if (!cpu)
      return false;
    // The threads that a tile program states are those of a GPU.
    module.lookupSymbol<func::FuncOp>(kernel)->removeAttr(nv::NVDialect::threadsAttr);
    PassManager passes(module->getName());
    buildNativeLoopPipeline(passes, {options.lateCompletion, *cpu, options.contract});
    buildNativeLLVMPipeline(passes, *cpu);
    if (!runPasses(passes, module, options, diagnostics))
      return false;
    readAttributes(executable.info, module, kernel);
    std::string error;
    auto object = generateNativeObject(module, *cpu, options.optimized, error);
    if (object)
      executable.code = linkNative(std::move(*object), kernel, executable.entries, error);
    if (!executable.code)
      diagnostics.push_back(internalError(error));
    return executable.code != nullptr;
  }

  bool device(penstock::detail::Executable &executable, ModuleOp module, bool isExplicit) {
    if (isExplicit && !checkClusters(module))
      return false;
    executable.emulated = options.target.onEmulator;
    penstock::detail::Executable::CompileRest rest;
    if (!isExplicit)
      rest = compileRestOf(module, options);
    auto kernel = deviceKernel(module, {.warpSpecialize = !isExplicit});
    if (!kernel)
      return false;
    if (!kernel->kernel.rowAligned.empty())
      executable.compileRest = std::move(rest);
    executable.devices.push_back(std::move(kernel));
    return true;
  }

  std::shared_ptr<EmulatedKernel> deviceKernel(ModuleOp module, DevicePipelineOptions how) {
    PassManager passes(module->getName());
    how.checkBarriers = options.checkBarriers;
    how.contract = options.contract;
    how.omittedPoint = options.omittedPoint;
    buildDevicePipeline(passes, architectureOf(options.target), how);
    auto run = [&](std::vector<penstock::Diagnostic> &found) {
      return runPasses(passes, module, options, found);
    };
    if (!compileWithPreferences(module, diagnostics, run))
      return {};
    std::optional<DeviceKernel> kernel = launchDataOf(module);
    std::string error = "the kernel has no launch data";
    if (kernel)
      kernel->ptx = emitPtx(module, *kernel, error);
    if (!kernel || kernel->ptx.empty()) {
      diagnostics.push_back(internalError(error));
      return {};
    }
    return readForEmulation(std::move(*kernel), diagnostics);
  }

private:
  /// Copies of explicit kernels are divided by the kernel itself.
  bool checkClusters(ModuleOp module) {
    tile::GridOp preferring;
    module.walk([&](tile::GridOp grid) {
      if (grid.getCluster())
        preferring = grid;
    });
    if (!preferring)
      return true;
    penstock::Diagnostic d;
    d.code = GridForm;
    d.location = tile::sourceLocationOf(preferring.getLoc());
    d.message = "`prefer` asks for clusters in an explicit kernel, which divides its copies itself";
    d.helps.push_back("call b.cluster(blocks), and copy with {.multicast = mask}");
    diagnostics.push_back(std::move(d));
    return false;
  }

  static void readAttributes(KernelInfo &info, ModuleOp module, StringRef kernel) {
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel);
    if (auto bytes = function->getAttrOfType<IntegerAttr>(abi::scratchAttr))
      info.scratchBytes = bytes.getInt();
    if (auto count = function->getAttrOfType<IntegerAttr>(abi::launchSizeAttr))
      info.launchConstants = count.getInt();
    info.faults = faultsOf(module);
  }

  const BackendOptions &options;
  std::vector<penstock::Diagnostic> &diagnostics;
};

bool checkRunsHere(func::FuncOp kernel, std::vector<penstock::Diagnostic> &diagnostics) {
  Operation *first = nv::firstExplicit(kernel);
  if (!first)
    return true;
  penstock::Diagnostic d;
  d.code = HardwareTarget;
  d.location = tile::sourceLocationOf(first->getLoc());
  d.message = "`" + kernel.getName().str() + "` uses GPU operations; it cannot run on the CPU";
  d.helps.push_back("compile it for Target::sm_90a() or Target::sm_100a(), with .emulated() to "
                    "run it without a GPU");
  diagnostics.push_back(std::move(d));
  return false;
}

} // namespace

penstock::detail::Executable::CompileRest penstock::compileRestOf(ModuleOp recorded,
                                                                  const BackendOptions &options) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(writeBytecodeToFile(recorded, stream)))
    bytes.clear(); // cannot happen: no other version is asked for
  // Listeners are gone when the rest is compiled.
  BackendOptions later = options;
  later.afterPass = {};
  later.timing = false;
  later.reproducer.clear();
  return [bytes = std::move(bytes), later](std::vector<penstock::Diagnostic> &diagnostics) {
    PooledContext context;
    auto module = parseSourceString<ModuleOp>(bytes, ParserConfig(context.get()));
    if (!module) {
      diagnostics.push_back(internalError("the recorded program cannot be read back"));
      return std::shared_ptr<EmulatedKernel>();
    }
    return Backend(later, diagnostics)
        .deviceKernel(*module, {.warpSpecialize = true, .plain = true});
  };
}

penstock::detail::ExecutableRef penstock::beginExecutable(ModuleOp module, StringRef kernel,
                                                          const BackendOptions &options) {
  penstock::detail::ExecutableRef executable(new penstock::detail::Executable());
  executable->info = infoOf(module.lookupSymbol<func::FuncOp>(kernel));
  executable->info.fixedSizes = options.fixedSizes;
  resolveSizes(executable->info);
  executable->lateCompletion = options.lateCompletion;
  llvm::raw_string_ostream(executable->tileProgram) << module;
  return executable;
}

std::unique_ptr<NativeCode> penstock::linkNative(NativeObject object, StringRef kernel,
                                                 NativeEntries &entries, std::string &error) {
  std::vector<std::pair<StringRef, void *>> symbols;
  for (auto [name, address] : runtimeFunctions())
    symbols.emplace_back(name, address);
  auto code = NativeCode::link(std::move(object), symbols, error);
  if (!code)
    return nullptr;
  entries.block = code->lookup((kernel + abi::packedSuffix).str());
  entries.launch = code->lookup((kernel + abi::launchSuffix + abi::packedSuffix).str());
  if (entries.block && entries.launch)
    return code;
  error = "the code of the kernel could not be linked";
  return nullptr;
}

penstock::detail::ExecutableRef
penstock::compileProgram(PooledContext context, OwningOpRef<ModuleOp> module, StringRef kernel,
                         const BackendOptions &options,
                         std::vector<penstock::Diagnostic> &diagnostics) {
  context.loadAllDialects();
  auto function = module->lookupSymbol<func::FuncOp>(kernel);
  penstock::detail::ExecutableRef executable = beginExecutable(*module, kernel, options);
  if (options.target.kind == Target::Kind::Interpreter) {
    if (!checkRunsHere(function, diagnostics))
      return {};
    if (!Backend(options, diagnostics).checkSchedules(*module))
      return {};
    executable->kernel = function;
    executable->context = std::make_unique<PooledContext>(std::move(context));
    executable->module = std::move(module);
    return executable;
  }
  bool isDevice = options.target.kind != Target::Kind::Native;
  if (!isDevice && !checkRunsHere(function, diagnostics))
    return {};
  if (isDevice ? !Backend(options, diagnostics)
                      .device(*executable, *module, nv::firstExplicit(function) != nullptr)
               : !Backend(options, diagnostics).native(*executable, *module, kernel)) {
    if (isDevice)
      checkSuggestedStages(executable->tileProgram, kernel, options, diagnostics);
    return {};
  }
  module = {}; // before its context goes back to the pool
  return executable;
}
