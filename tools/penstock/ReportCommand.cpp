//===- ReportCommand.cpp - penstock report --------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects what is needed to understand a kernel that fails on somebody's GPU. Every part
// is collected on its own: what fails is part of the report.
//
//===----------------------------------------------------------------------===//
#include "Artifact/Artifact.h"
#include "Commands.h"
#include "Compare.h"
#include "GpuArguments.h"
#include "penstock/assemble.h"

#include <cstdio>
#include <dlfcn.h>
#include <filesystem>
#include <sys/utsname.h>

using namespace penstock;

namespace {

struct ReportSession : Session {
  std::vector<Shape> shapes;
  std::string output = "penstock-report";
};

/// Output of a constant command, or that it cannot be run.
std::string outputOf(const char *command) {
  std::string text;
  FILE *pipe = popen(command, "r");
  char piece[4096];
  while (pipe && fgets(piece, sizeof piece, pipe))
    text += piece;
  int status = pipe ? pclose(pipe) : -1;
  return status == 0 ? text : text + "`" + command + "` failed\n";
}

/// "13.0"; why there is none otherwise.
std::string driverVersion() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return std::string("none: ") + (reason ? reason : "dlopen failed");
  }
  auto get = reinterpret_cast<int (*)(int *)>(dlsym(library, "cuDriverGetVersion"));
  int version = 0;
  if (!get || get(&version) != 0)
    return "unknown: cuDriverGetVersion failed";
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

class Reporter {
public:
  explicit Reporter(ReportSession &session)
      : session(session), shape(session.shapes.empty() ? Shape() : session.shapes[0]) {}

  int run() {
    if (!session.load())
      return session.finish(1);
    std::error_code failed;
    std::filesystem::create_directories(session.output, failed);
    if (!write("versions.txt", versions()) || !write("kernel.txt", kernelText()))
      return session.finish(1);
    std::optional<gpu::Device> device = findGpu(session);
    std::string gpuText = device ? "" : taken();
    if (!device)
      session.target = targetFor(requiredArchitecture(session));
    AnyKernel onGpu = compiledFor(session.target);
    bool ok = write("compile.txt", onGpu ? "compiled for " + session.target + "\n" : taken()) &&
              writeCode(onGpu);
    ok = ok && write("emulator.txt", emulated());
    if (ok && device && onGpu)
      gpuText = runOn(*device, onGpu);
    if (!ok || !write("gpu.txt", gpuText))
      return session.finish(1);
    std::string list;
    for (const std::string &file : written)
      list += "  " + file + "\n";
    session.result(
        session.output + "\n" + list,
        JsonObject()
            .text("folder", session.output)
            .json("files",
                  jsonArray(written, [](const std::string &file) { return jsonString(file); }))
            .str());
    return session.finish(0);
  }

private:
  bool write(const std::string &file, const std::string &text) {
    written.push_back(file);
    return session.write(session.output + "/" + file, text);
  }

  /// The diagnostics so far, which are part of the report.
  std::string taken() {
    std::string text = to_text(session.diagnostics);
    session.diagnostics.clear();
    return text;
  }

  std::string versions() const {
    utsname machine = {};
    uname(&machine);
    std::string text = "penstock " PENSTOCK_VERSION "\ndriver " + driverVersion() + "\nsystem " +
                       machine.sysname + " " + machine.release + " " + machine.machine +
                       "\nptxas " + (find_assembler().empty() ? "none" : find_assembler()) + "\n";
    for (int i = 0; i < gpu::count(); ++i)
      try {
        text += describeGpu(gpu::Device(i)) + "\n";
      } catch (const Error &error) {
        text += to_text(error.diagnostics());
      }
    return text + "\n" + outputOf("nvidia-smi 2>&1");
  }

  std::string kernelText() {
    std::string text = "kernel " + session.kernel + " of " + session.input + "\n";
    for (const auto &[name, value] : session.options.set)
      text += "field " + name + " = " + value + "\n";
    for (const auto &[name, value] : shape)
      text += "size " + name + " = " + formatted("%.17g", value.value) + "\n";
    std::string program =
        session.isText() ? session.text
                         : print_registered(session.kernel, session.options, session.diagnostics);
    return text + "\n" + program + taken();
  }

  AnyKernel compiledFor(const std::string &target) {
    if (std::optional<Target> gpu = find_gpu(target))
      session.options.target = *gpu;
    return session.compiled();
  }

  /// PTX and machine code of all variants.
  bool writeCode(const AnyKernel &kernel) {
    auto artifact = kernel ? readArtifact(kernel.artifact(), session.diagnostics) : std::nullopt;
    if (!artifact)
      return write("ptx.txt", kernel ? taken() : "the kernel does not compile\n");
    for (size_t i = 0; i < artifact->variants.size(); ++i) {
      std::string name = "variant-" + std::to_string(i);
      if (!write(name + ".ptx", artifact->variants[i].ptx))
        return false;
      Assembled code = assemble(artifact->variants[i].ptx, session.options.target);
      std::string text = "registers " + std::to_string(code.registers) + "\nspilled bytes " +
                         std::to_string(code.spilled_bytes) + "\n" + to_text(code.diagnostics);
      if (!write(name + ".ptxas.txt", text) ||
          (!code.cubin.empty() && !write(name + ".cubin", code.cubin)))
        return false;
    }
    return true;
  }

  /// Findings of the emulator with the shape, and its results against the interpreter's.
  std::string emulated() {
    InspectOptions options = session.options;
    session.options.target = session.options.target.emulated();
    AnyKernel kernel = session.compiled();
    std::string text =
        kernel
            ? compared(kernel,
                       [&](MadeArguments &arguments) { return kernel.launch(arguments.arguments); })
            : taken();
    session.options = options;
    return text;
  }

  std::string runOn(const gpu::Device &device, const AnyKernel &kernel) {
    return describeGpu(device) + "\n" + compared(kernel, [&](MadeArguments &arguments) {
             return launchOnGpu(kernel, arguments, {}, device);
           });
  }

  std::string compared(const AnyKernel &kernel,
                       const std::function<std::vector<Diagnostic>(MadeArguments &)> &launch) {
    auto make = [&] { return make_arguments(kernel.arguments(), shape, Data::Exact, 0); };
    MadeArguments first = make();
    session.diagnostics = first.diagnostics;
    if (session.diagnostics.empty())
      session.diagnostics = launch(first);
    if (!session.diagnostics.empty())
      return taken();
    std::string text = "no findings\n";
    JsonObject ignored;
    // Explicit kernels on the emulator have nothing to be compared with.
    if (!session.options.target.onEmulator || requiredArchitecture(session).empty())
      compareWithInterpreter(session, make, launch, 1e-2, text, ignored);
    return text + taken();
  }

  ReportSession &session;
  Shape shape;
  std::vector<std::string> written;
};

} // namespace

void addReport(cli::Tool &tool) {
  auto session = std::make_shared<ReportSession>();
  cli::Command &command = tool.command(
      "report",
      "Collects versions, code, findings and results of a kernel in a folder, for bug reports.",
      [session](const cli::Command &self) {
        return session->shapes.size() > 1 ? self.usageError("`--shape` is given twice")
                                          : Reporter(*session).run();
      });
  session->declareKernel(command);
  command
      .values("shape", "SIZE=NUMBER,..", "sizes of the signature, and scalars by name",
              shapeReader(session->shapes))
      .output("FOLDER", "folder to write", session->output)
      .example("penstock report libexample_kernels.so Matmul --shape M=512,N=512,K=256");
}
