//===- Inspect.cpp - Kernels without their C++ types ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "penstock/inspect.h"
#include "Compiler/CachedCompile.h"
#include "Compiler/Registry.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Suggest.h"
#include "Dialect/Tile/TileDialect.h"

#include <dlfcn.h>
#include <link.h>

using namespace penstock;

namespace {

Diagnostic problem(DiagnosticCode code, std::string message, std::string help = "") {
  Diagnostic d;
  d.code = code;
  d.message = std::move(message);
  if (!help.empty())
    d.helps.push_back(std::move(help));
  return d;
}

/// A bare name would be looked up in the system's directories.
std::string fileName(const std::string &path) {
  return path.find('/') == std::string::npos ? "./" + path : path;
}

/// Returns whether the code of a registered kernel is in the library at a path.
bool isOf(const RegisteredKernel &registration, const std::string &path) {
  if (registration.definition || isDefinition(path))
    return registration.definition && nameOfDefinition(registration.definition.get()) == path;
  void *library = dlopen(fileName(path).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  link_map *map = nullptr;
  Dl_info code;
  bool is = library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 &&
            dladdr(reinterpret_cast<void *>(registration.make), &code) &&
            code.dli_fbase == reinterpret_cast<void *>(map->l_addr);
  if (library)
    dlclose(library); // RTLD_NOLOAD counts as a use, too
  return is;
}

KernelDescription describe(const RegisteredKernel &registration) {
  std::shared_ptr<void> object = registration.object();
  KernelDescription to;
  to.name = registration.name;
  auto source = registration.source(object.get(), registration.name, registration.at);
  to.signature = source.signature;
  to.flops = source.flops;
  to.location = {registration.at.file, registration.at.line, 0};
  for (const detail::Field &field : registration.fields)
    to.fields.emplace_back(field.name, field.get(field, object.get()));
  return to;
}

} // namespace

Diagnostic penstock::noKernel(mlir::ModuleOp module, const std::string &file,
                              const std::string &kernel) {
  std::vector<std::string> known;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    known.push_back(function.getName().str());
  return problem(ToolKernel, "`" + file + "` has no kernel `" + kernel + "`",
                 known.empty() ? "" : suggestName(kernel, known, "it has: "));
}

std::optional<detail::KernelSource> penstock::kernelSource(const std::string &kernel,
                                                           const InspectOptions &options,
                                                           std::vector<Diagnostic> &diagnostics) {
  std::vector<std::string> known;
  for (const RegisteredKernel &registration : registeredKernels()) {
    if (!options.library.empty() && !isOf(registration, options.library))
      continue;
    known.push_back(registration.name);
    if (registration.name != kernel)
      continue;
    std::shared_ptr<void> object = makeKernel(registration, options.set, diagnostics);
    if (!object)
      return std::nullopt;
    return registration.source(object.get(), registration.name, registration.at);
  }
  diagnostics.push_back(problem(ToolKernel, "no kernel `" + kernel + "` is registered",
                                known.empty() ? "the library registers none; use "
                                                "PENSTOCK_KERNEL(..)"
                                              : suggestName(kernel, known, "registered are: ")));
  return std::nullopt;
}

namespace {

BackendOptions backendOf(const InspectOptions &options) {
  BackendOptions backend;
  backend.target = options.target;
  backend.lateCompletion = options.compile.late_completion;
  backend.checkBarriers = options.compile.check_barriers;
  backend.contract = options.compile.contract;
  backend.cpu = options.compile.cpu;
  backend.fixedSizes = {options.compile.fix.begin(), options.compile.fix.end()};
  backend.timing = options.timing;
  backend.reproducer = options.reproducer;
  if (options.after_pass)
    backend.afterPass = [&](llvm::StringRef pass, llvm::StringRef text) {
      options.after_pass({pass.data(), pass.size()}, {text.data(), text.size()});
    };
  return backend;
}

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module << "\n";
  return text;
}

} // namespace

std::vector<Diagnostic> penstock::load_library(const std::string &path) {
  if (dlopen(fileName(path).c_str(), RTLD_NOW | RTLD_LOCAL))
    return {};
  const char *reason = dlerror();
  return {problem(ToolFile,
                  "`" + path + "` cannot be loaded: " + (reason ? reason : "no reason is given"))};
}

std::vector<KernelDescription> penstock::registered_kernels() {
  std::vector<KernelDescription> result;
  for (const RegisteredKernel &registration : registeredKernels())
    result.push_back(describe(registration));
  return result;
}

std::vector<KernelDescription> penstock::kernels_of_library(const std::string &path) {
  std::vector<KernelDescription> result;
  for (const RegisteredKernel &registration : registeredKernels())
    if (isOf(registration, path))
      result.push_back(describe(registration));
  return result;
}

std::vector<KernelDescription> penstock::kernels_of_text(const std::string &text,
                                                         const std::string &file,
                                                         std::vector<Diagnostic> &diagnostics) {
  PooledContext context;
  auto module = parseProgram(context.get(), text, file, diagnostics);
  std::vector<KernelDescription> result;
  if (!module)
    return result;
  for (auto kernel : module->getOps<mlir::func::FuncOp>()) {
    KernelDescription to;
    KernelInfo info = infoOf(kernel);
    to.name = info.name;
    to.location = info.location;
    if (auto signature = kernel->getAttrOfType<mlir::StringAttr>(tile::TileDialect::signatureAttr))
      to.signature = signature.str();
    result.push_back(std::move(to));
  }
  return result;
}

std::string penstock::print_registered(const std::string &kernel, const InspectOptions &options,
                                       std::vector<Diagnostic> &diagnostics) {
  auto source = kernelSource(kernel, options, diagnostics);
  if (!source)
    return "";
  PooledContext context;
  auto module = recordKernel(context.get(), *source, options.compile, diagnostics);
  return module ? textOf(*module) : "";
}

AnyKernel penstock::compile_registered(const std::string &kernel, const InspectOptions &options,
                                       std::vector<Diagnostic> &diagnostics) {
  auto source = kernelSource(kernel, options, diagnostics);
  if (!source)
    return {};
  PooledContext context;
  auto module = recordKernel(context.get(), *source, options.compile, diagnostics);
  if (!module)
    return {};
  return AnyKernel(compileCached(options.compile.cache, std::move(context), std::move(module),
                                 kernel, backendOf(options), diagnostics));
}

std::string penstock::cache_key_of_registered(const std::string &kernel,
                                              const InspectOptions &options,
                                              std::vector<Diagnostic> &diagnostics) {
  auto source = kernelSource(kernel, options, diagnostics);
  if (!source)
    return "";
  PooledContext context;
  auto module = recordKernel(context.get(), *source, options.compile, diagnostics);
  if (!module)
    return "";
  BackendOptions backend = backendOf(options);
  return cacheKey(kernel, beginExecutable(*module, kernel, backend)->tileProgram,
                  LocationTable(*module), backend);
}

AnyKernel penstock::compile_text(const std::string &text, const std::string &file,
                                 const std::string &kernel, const InspectOptions &options,
                                 std::vector<Diagnostic> &diagnostics) {
  PooledContext context;
  auto module = parseProgram(context.get(), text, file, diagnostics);
  if (!module)
    return {};
  if (!module->lookupSymbol<mlir::func::FuncOp>(kernel)) {
    diagnostics.push_back(noKernel(*module, file, kernel));
    return {};
  }
  return AnyKernel(compileCached(options.compile.cache, std::move(context), std::move(module),
                                 kernel, backendOf(options), diagnostics));
}

AnyKernel::AnyKernel(detail::ExecutableRef executable) : executable(std::move(executable)) {}

std::vector<ArgumentDescription> AnyKernel::arguments() const {
  std::vector<ArgumentDescription> result;
  if (!executable)
    return result;
  for (const ArgumentInfo &from : executable->info.arguments)
    result.push_back({from.name, from.tensor, from.element, from.rank, from.written, from.sizes});
  return result;
}

std::vector<Diagnostic> AnyKernel::launch(detail::List<const detail::Argument> arguments,
                                          const LaunchOptions &options) const {
  return detail::launch(executable.get(), arguments, options, {});
}

std::string AnyKernel::tile_program() const {
  return detail::text(executable.get(), detail::Form::Tile);
}
std::string AnyKernel::llvm_ir() const {
  return detail::text(executable.get(), detail::Form::LLVM);
}
std::string AnyKernel::assembly() const {
  return detail::text(executable.get(), detail::Form::Assembly);
}

std::string AnyKernel::ptx() const { return detail::text(executable.get(), detail::Form::Ptx); }
std::string AnyKernel::artifact() const {
  return detail::text(executable.get(), detail::Form::Artifact);
}

size_t penstock::bytes_of(Element element) { return bytesOf(element); }
std::string penstock::name_of(Element element) { return nameOf(element); }
