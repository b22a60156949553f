//===- PublicApi.cpp - compile() and launch() of the public headers -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/CachedCompile.h"
#include "Cuda/Launch.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Counters.h"
#include "Diagnostics/Events.h"
#include "Interpreter/Interpreter.h"
#include "penstock/gpu.h"

#include <cstdio>

using namespace penstock;

detail::CompileResult detail::compile(const KernelSource &source, Target target,
                                      const CompileOptions &options) {
  CompileResult result;
  PooledContext context(PooledContext::Dialects::Recorded);
  auto module = [&] {
    TimedEvent event(LogLevel::Debug, "record", source.name);
    return recordKernel(context.get(), source, options, result.diagnostics);
  }();
  if (!module)
    return result;
  BackendOptions backend;
  backend.target = target;
  backend.lateCompletion = options.late_completion;
  backend.checkBarriers = options.check_barriers;
  backend.contract = options.contract;
  backend.cpu = options.cpu;
  backend.fixedSizes = {options.fix.begin(), options.fix.end()};
  result.executable = compileCached(options.cache, std::move(context), std::move(module),
                                    source.name, backend, result.diagnostics);
  if (result.executable && options.cache)
    result.executable->cache = *options.cache;
  return result;
}

detail::ExecutableRef::ExecutableRef(Executable *executable) : executable(executable) {
  ++executable->users;
}
detail::ExecutableRef::ExecutableRef(const ExecutableRef &other) : executable(other.executable) {
  if (executable)
    ++executable->users;
}
detail::ExecutableRef::~ExecutableRef() {
  if (executable && --executable->users == 0)
    delete executable;
}

static Diagnostic neverCompiled(const SourceLocation &location) {
  Diagnostic d;
  d.code = EmptyValue;
  d.location = location;
  d.message = "this kernel was never compiled";
  d.helps.push_back("assign the result of compile(..) before calling it");
  return d;
}

std::vector<Diagnostic> detail::prepare(Executable *kernel, const gpu::Device &device, Loc at) {
  SourceLocation location{at.file, at.line, at.column};
  if (!kernel)
    return {neverCompiled(location)};
  if (!kernel->devices.empty() && !kernel->emulated)
    return cuda::prepare(kernel->gpu(), device.number(), at);
  Diagnostic d;
  d.code = LaunchTarget;
  d.location = location.known() ? location : kernel->info.location;
  d.message = "`" + kernel->info.name + "` was not compiled for a GPU";
  d.helps.push_back("compile it for gpu::current().target()");
  return {d};
}

static std::vector<Diagnostic> launchOnGpu(detail::Executable &kernel,
                                           std::span<const detail::Argument> arguments,
                                           const LaunchOptions &options, Loc at) {
  std::vector<Diagnostic> errors;
  cuda::Program *program = kernel.gpuFor(arguments, errors);
  return program ? cuda::launch(*program, arguments, options, at) : errors;
}

/// Returns whether native code can be launched without another check; if not, what follows reports
/// why.
static bool canRunNatively(const detail::Executable &kernel,
                           std::span<const detail::Argument> arguments,
                           const LaunchOptions &options) {
  return !kernel.module && kernel.devices.empty() && !options.stream.given() &&
         options.starved_warp < 0 &&
         (options.completion == Completion::Eager || kernel.lateCompletion) &&
         argumentsFit(kernel.info, arguments) &&
         std::none_of(
             arguments.begin(), arguments.end(),
             [](const detail::Argument &argument) { return argument.onGpu; });
}

/// Launches on the host: native code, the emulator or the interpreter.
static std::vector<Diagnostic> launchOnHost(detail::Executable &executable,
                                            detail::List<const detail::Argument> arguments,
                                            const LaunchOptions &options,
                                            const SourceLocation &location) {
  if (options.stream.given()) {
    Diagnostic d;
    d.code = LaunchTarget;
    d.location = location.known() ? location : executable.info.location;
    d.message = "`" + executable.info.name + "` was not compiled for a GPU; it takes no stream";
    d.helps.push_back("compile it for gpu::current().target(), or launch it without a stream");
    return {d};
  }
  auto diagnostics = checkArguments(executable.info, arguments, location);
  if (!diagnostics.empty())
    return diagnostics;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].onGpu) {
      Diagnostic d;
      d.code = LaunchTarget;
      d.location = location.known() ? location : executable.info.location;
      d.message = "`" + executable.info.arguments[i].name + "` is on a GPU, and `" +
                  executable.info.name + "` was compiled for the host";
      d.helps.push_back("compile it for gpu::current().target(), or copy the tensor to the host");
      return {d};
    }
  if (options.starved_warp >= 0 && !executable.emulated) {
    Diagnostic d;
    d.code = LaunchTarget;
    d.location = location.known() ? location : executable.info.location;
    d.message = "`" + executable.info.name +
                "` has no warps to starve: it does not run on the "
                "emulator";
    d.helps.push_back("starved_warp is for targets with .emulated()");
    return {d};
  }
  if (executable.module) {
    std::lock_guard lock(executable.interpreting);
    InterpretOptions interpreting;
    interpreting.completion = options.completion;
    interpreting.seed = options.seed;
    if (options.print) // an empty one would make a function that is not empty
      interpreting.print = options.print;
    return interpret(executable.kernel, {arguments.data(), arguments.size()}, interpreting).faults;
  }
  if (!executable.devices.empty()) {
    emu::LaunchOptions emulation;
    emulation.timing = options.completion == Completion::Eager    ? emu::Timing::Eager
                       : options.completion == Completion::Latest ? emu::Timing::Lazy
                                                                  : emu::Timing::Random;
    emulation.seed = options.seed;
    emulation.starvedWarp = options.starved_warp;
    emulation.threads = unsigned(std::max(0, options.threads));
    emulation.print = [&](const std::string &text) {
      if (options.print)
        options.print(text);
      else
        std::fwrite(text.data(), 1, text.size(), stdout);
    };
    const EmulatedKernel *device =
        executable.deviceFor({arguments.data(), arguments.size()}, diagnostics);
    return device
               ? launchEmulated(*device, executable.info, arguments, emulation, options.print_bytes)
                     .findings
               : diagnostics;
  }
  if (options.completion != Completion::Eager && !executable.lateCompletion) {
    Diagnostic d;
    d.code = LaunchTarget;
    d.location = location.known() ? location : executable.info.location;
    d.message = "`" + executable.info.name +
                "` was compiled without late completion; its asynchronous operations are "
                "complete when they are issued";
    d.helps.push_back("compile with {.late_completion = true}, or for Target::interpreter()");
    return {d};
  }
  // All that can be wrong with a native launch has been reported above.
  return launchNative(executable.info, executable.entries, arguments, options);
}

std::vector<Diagnostic> detail::launch(Executable *kernel, List<const Argument> arguments,
                                       const LaunchOptions &options, Loc at) {
  if (!kernel)
    return {neverCompiled({at.file, at.line, at.column})};
  // The paths that have to be short: nothing is copied or allocated before them.
  TimedEvent event(LogLevel::Debug, "launch", kernel->info.name);
  bool isGpu = !kernel->devices.empty() && !kernel->emulated && options.starved_warp < 0;
  ProcessCounters &all = counters();
  count(isGpu ? all.gpuLaunches : kernel->code ? all.nativeLaunches : all.emulatedLaunches);
  std::span<const Argument> given = {arguments.data(), arguments.size()};
  std::vector<Diagnostic> errors =
      isGpu ? launchOnGpu(*kernel, given, options, at)
      : canRunNatively(*kernel, given, options)
          ? launchNative(kernel->info, kernel->entries, arguments, options)
          : launchOnHost(*kernel, arguments, options, {at.file, at.line, at.column});
  if (!errors.empty())
    count(all.failedLaunches);
  return errors;
}

std::string detail::text(Executable *kernel, Form form) {
  if (!kernel)
    return "";
  Executable &executable = *kernel;
  if (form == Form::Tile)
    return executable.tileProgram;
  if (form == Form::Artifact) {
    std::vector<Diagnostic> errors;
    if (executable.devices.empty())
      return "";
    Artifact artifact = executable.artifact(errors);
    return errors.empty() ? writeArtifact(artifact) : "";
  }
  if (form == Form::Ptx) {
    if (executable.devices.empty())
      return "";
    // Launch data that the PTX text lacks; at the end, so that lines of findings do not change.
    const DeviceKernel &device = executable.devices.front()->kernel;
    return device.ptx + "\n// " + device.name + ": " + std::to_string(device.sharedBytes) +
           " bytes of dynamic shared memory\n";
  }
  if (!executable.code)
    return "";
  return form == Form::LLVM ? executable.code->llvmIR() : executable.code->assembly();
}
