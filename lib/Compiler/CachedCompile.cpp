//===- CachedCompile.cpp - Compiling through a cache ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/CachedCompile.h"
#include "Artifact/Container.h"
#include "Cache/Entry.h"
#include "Cache/Store.h"
#include "Compiler/BuildIds.h"
#include "Diagnostics/Counters.h"
#include "Diagnostics/Events.h"

using namespace penstock;
using detail::Executable;
using detail::ExecutableRef;

namespace {

/// A compiled kernel whose source locations are numbers.
struct CachedKernel {
  std::vector<Diagnostic> warnings;
  // Native code, shared by all executables of this process ...
  std::shared_ptr<NativeCode> code;
  NativeEntries entries;
  uint64_t scratchBytes = 0;
  unsigned launchConstants = 0;
  std::vector<Diagnostic> faults;
  // ... or a kernel for a GPU.
  Artifact artifact;
  bool hasRest = false; ///< another kernel takes the rows that this one does not
};

/// The parts of an executable that recordings do not repeat; null if one of its source
/// locations is not of the program.
std::shared_ptr<CachedKernel> cachedKernelOf(const Executable &executable,
                                             std::vector<Diagnostic> warnings,
                                             const LocationTable &locations) {
  auto kernel = std::make_shared<CachedKernel>();
  kernel->warnings = std::move(warnings);
  if (!locations.number(kernel->warnings))
    return nullptr;
  if (executable.code) {
    kernel->code = executable.code;
    kernel->entries = executable.entries;
    kernel->scratchBytes = executable.info.scratchBytes;
    kernel->launchConstants = executable.info.launchConstants;
    kernel->faults = executable.info.faults;
    return locations.number(kernel->faults) ? kernel : nullptr;
  }
  kernel->artifact = executable.artifactOf(executable.devices);
  kernel->hasRest = bool(executable.compileRest);
  // Recorded again by each process.
  kernel->artifact.info.location = kernel->artifact.info.gridLocation = {};
  for (DeviceKernel &variant : kernel->artifact.variants)
    if (!locations.number(variant))
      return nullptr;
  return kernel;
}

std::string writeKernel(const CachedKernel &kernel) {
  std::string warnings = writeDiagnostics(kernel.warnings);
  if (!kernel.code)
    return writeContainer({{"WARNINGS", warnings},
                           {"ARTIFACT", writeArtifact(kernel.artifact)},
                           {"REST", kernel.hasRest ? "1" : "0"}});
  ByteWriter numbers;
  numbers.number(kernel.scratchBytes);
  numbers.number(kernel.launchConstants);
  std::string faults = writeDiagnostics(kernel.faults);
  const NativeObject &object = kernel.code->object();
  return writeContainer({{"WARNINGS", warnings},
                         {"NATIVE", numbers.bytes},
                         {"FAULTS", faults},
                         {"OBJECT", object.object},
                         {"BITCODE", object.bitcode}});
}

std::shared_ptr<CachedKernel> readKernel(std::string_view bytes, llvm::StringRef name) {
  ContainerError error;
  auto sections = readContainer(bytes, error);
  if (!sections)
    return nullptr;
  auto section = [&](std::string_view wanted) {
    for (const Section &each : *sections)
      if (each.name == wanted)
        return each.bytes;
    return std::string_view();
  };
  auto kernel = std::make_shared<CachedKernel>();
  auto warnings = readDiagnostics(section("WARNINGS"));
  if (!warnings)
    return nullptr;
  kernel->warnings = std::move(*warnings);
  if (std::string_view artifact = section("ARTIFACT"); !artifact.empty()) {
    std::vector<Diagnostic> ignored;
    auto read = readArtifact(artifact, ignored);
    if (!read)
      return nullptr;
    kernel->artifact = std::move(*read);
    kernel->hasRest = section("REST") == "1";
    return kernel;
  }
  auto faults = readDiagnostics(section("FAULTS"));
  ByteReader numbers(section("NATIVE"));
  kernel->scratchBytes = numbers.number();
  kernel->launchConstants = unsigned(numbers.upTo(1 << 20));
  if (!faults || !numbers.complete())
    return nullptr;
  kernel->faults = std::move(*faults);
  std::string problem;
  kernel->code = linkNative({std::string(section("OBJECT")), std::string(section("BITCODE"))}, name,
                            kernel->entries, problem);
  return kernel->code ? kernel : nullptr;
}

/// A variant for a launch; null if its source locations are not those of this recording.
std::shared_ptr<EmulatedKernel> loadVariant(DeviceKernel variant, const LocationTable &locations,
                                            const BackendOptions &options,
                                            std::vector<Diagnostic> &warnings) {
  if (!locations.resolve(variant))
    return nullptr;
  if (options.target.onEmulator)
    return readForEmulation(std::move(variant), warnings);
  auto device = std::make_shared<EmulatedKernel>();
  device->kernel = std::move(variant);
  return device;
}

/// Lets the rest of a kernel come from the cache, under a key of its own.
void cacheRest(Executable &executable, std::shared_ptr<cache::Store> store, const std::string &key,
               const LocationTable &locations, const BackendOptions &options) {
  if (!executable.compileRest)
    return;
  executable.compileRest = [compile = std::move(executable.compileRest), store = std::move(store),
                            key = key + "variant rest\n", locations, options,
                            info = executable.info](std::vector<Diagnostic> &diagnostics) {
    std::shared_ptr<EmulatedKernel> rest;
    bool compiled = false;
    auto made = store->lookupOrMake(key, [&]() -> std::optional<std::string> {
      compiled = true;
      rest = compile(diagnostics);
      CachedKernel kernel;
      kernel.artifact.info = info;
      kernel.artifact.info.location = kernel.artifact.info.gridLocation = {};
      if (!rest)
        return std::nullopt;
      kernel.artifact.variants.push_back(rest->kernel);
      return locations.number(kernel.artifact.variants.front()) ? std::optional(writeKernel(kernel))
                                                                : std::nullopt;
    });
    if (!rest && made.bytes)
      if (auto found = readKernel(*made.bytes, info.name))
        rest = loadVariant(found->artifact.variants.front(), locations, options, diagnostics);
    return rest || compiled ? rest : compile(diagnostics);
  };
}

/// Completes an executable that has been recorded; null if the numbers of source locations
/// are not those of this recording.
ExecutableRef load(const CachedKernel &kernel, ExecutableRef executable,
                   const LocationTable &locations, const BackendOptions &options,
                   std::vector<Diagnostic> &diagnostics) {
  std::vector<Diagnostic> warnings = kernel.warnings;
  if (!locations.resolve(warnings))
    return {};
  if (kernel.code) {
    executable->code = kernel.code;
    executable->entries = kernel.entries;
    executable->info.scratchBytes = kernel.scratchBytes;
    executable->info.launchConstants = kernel.launchConstants;
    executable->info.faults = kernel.faults;
    if (!locations.resolve(executable->info.faults))
      return {};
  }
  executable->emulated = options.target.onEmulator;
  for (const DeviceKernel &variant : kernel.artifact.variants) {
    auto device = loadVariant(variant, locations, options, warnings);
    if (!device)
      return {};
    executable->devices.push_back(std::move(device));
  }
  diagnostics.insert(diagnostics.end(), warnings.begin(), warnings.end());
  return executable;
}

/// Compiles, counts it and emits an event.
ExecutableRef compileCounted(PooledContext context, mlir::OwningOpRef<mlir::ModuleOp> module,
                             llvm::StringRef kernel, const BackendOptions &options,
                             std::vector<Diagnostic> &diagnostics) {
  TimedEvent event(LogLevel::Info, "compile", kernel);
  auto begin = std::chrono::steady_clock::now();
  ExecutableRef result =
      compileProgram(std::move(context), std::move(module), kernel, options, diagnostics);
  auto taken = std::chrono::steady_clock::now() - begin;
  count(counters().compiled);
  count(counters().compileNanoseconds,
        uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count()));
  if (!result)
    count(counters().failedCompiles);
  return result;
}

/// Returns whether the result of these options is worth keeping, and depends on the key alone.
bool isCacheable(const BackendOptions &options) {
  return options.target.kind != Target::Kind::Interpreter && !options.afterPass &&
         !options.timing && options.omittedPoint < 0 && options.optimized && options.verify;
}

} // namespace

std::string penstock::cacheKey(llvm::StringRef kernel, const std::string &program,
                               const LocationTable &locations, const BackendOptions &options) {
  if (!isCacheable(options) || compilerBuildIds().empty())
    return "";
  bool native = options.target.kind == Target::Kind::Native;
  std::string why;
  std::optional<NativeCpu> cpu = findNativeCpu(native ? options.cpu : Cpu::Host, why);
  if (!cpu)
    return "";
  std::string key =
      "penstock-key 1\ncompiler " + compilerBuildIds() + "\ntarget " +
      (native ? "native " + cpu->description() : architectureOf(options.target).name) +
      "\noptions check_barriers=" + std::to_string(options.checkBarriers) +
      " late_completion=" + std::to_string(options.lateCompletion) +
      " contract=" + std::to_string(options.contract) + "\nfix";
  for (const auto &[name, size] : options.fixedSizes)
    key += " " + name + "=" + std::to_string(size);
  return key + "\nname " + kernel.str() + "\nprogram " + cache::hexDigest(program) +
         "\nlocations " + cache::hexDigest(locations.pattern()) + "\n";
}

ExecutableRef penstock::compileCached(KernelCache *cache, PooledContext context,
                                      mlir::OwningOpRef<mlir::ModuleOp> module,
                                      llvm::StringRef kernel, const BackendOptions &options,
                                      std::vector<Diagnostic> &diagnostics) {
  auto compile = [&] {
    return compileCounted(std::move(context), std::move(module), kernel, options, diagnostics);
  };
  if (!isCacheable(options))
    return compile();
  const auto &store = (cache ? *cache : KernelCache::process()).store();
  if (!store)
    return compile();
  ExecutableRef recorded = beginExecutable(*module, kernel, options);
  LocationTable locations(*module);
  std::string key = cacheKey(kernel, recorded->tileProgram, locations, options);
  if (key.empty())
    return compile();

  auto found = std::static_pointer_cast<const CachedKernel>(store->recall(key));
  ExecutableRef result;
  if (!found) {
    bool compiled = false;
    auto made = store->lookupOrMake(key, [&]() -> std::optional<std::string> {
      std::vector<Diagnostic> said;
      compiled = true;
      logEvent(LogLevel::Debug, "cache miss", kernel);
      result = compileCounted(std::move(context), std::move(module), kernel, options, said);
      diagnostics.insert(diagnostics.end(), said.begin(), said.end());
      if (!result)
        return std::nullopt;
      found = cachedKernelOf(*result, std::move(said), locations);
      if (!found)
        ++store->counters().notStored;
      return found ? std::optional(writeKernel(*found)) : std::nullopt;
    });
    if (!compiled && made.bytes)
      found = readKernel(*made.bytes, kernel);
    if (found)
      store->remember(key, std::const_pointer_cast<CachedKernel>(found));
    if (compiled) {
      if (result)
        cacheRest(*result.get(), store, key, locations, options);
      return result;
    }
  }
  TimedEvent event(LogLevel::Debug, "load", kernel);
  if (found)
    result = load(*found, std::move(recorded), locations, options, diagnostics);
  if (result && found->hasRest) {
    result->compileRest = compileRestOf(*module, options);
    cacheRest(*result.get(), store, key, locations, options);
  }
  // Only if an entry was written by other code with the same build ids.
  if (!result)
    return compile();
  logEvent(LogLevel::Debug, "cache hit", kernel);
  module = {}; // before its context goes back to the pool
  return result;
}
