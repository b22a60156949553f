//===- compile.cpp - How long compiling for a GPU takes -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// device/compile-NAME-ptx     from the C++ struct to PTX that has been read by the
//                             emulator's parser, when the process has compiled
//                             before; milliseconds, and our limit
// device/compile-NAME-cold    the same, the first thing that a process does
// device/compile-NAME-engine  warm, against LLVM alone on the same module
// device/compile-NAME-cubin   warm and on to machine code, against ptxas alone
// device/compile-NAME-nvcc    cold, against nvcc -ptx on a CUDA kernel that does
//                             the same
//
//===----------------------------------------------------------------------===//
#include "../native/Measure.h"
#include "Compiler/Compiler.h"
#include "Compiler/Pipelines.h"
#include "Target/NVPTX/LLVM/LaunchAttribute.h"
#include "Target/NVPTX/Passes.h"
#include "attention/blackwell.h"
#include "attention/hopper.h"
#include "blackwell_matmul/v4.h"
#include "blackwell_matmul/v6.h"
#include "flash_attention/kernel.h"
#include "hopper_matmul/steps.h"
#include "layer_norm/kernel.h"
#include "matmul/kernel.h"
#include "matmul_bias_gelu/kernel.h"
#include "mlir/Pass/PassManager.h"
#include "row_softmax/kernel.h"
#include "vector_add/kernel.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <penstock/assemble.h>
#include <penstock/cache.h>

using namespace penstock;

namespace {

int count;
char **arguments;
bool wanted(const std::string &name) { return bench::wanted(count, arguments, name); }

/// Milliseconds that a process of its own takes for its first compilation.
double coldTime(const std::string &kernel) {
  double best = 1e30;
  for (int i = 0; i < 3; ++i) {
    std::string command = std::string(arguments[0]) + " --cold " + kernel;
    FILE *child = popen(command.c_str(), "r");
    double ms = 0;
    if (!child)
      return 0;
    if (std::fscanf(child, "%lf", &ms) == 1)
      best = std::min(best, ms);
    pclose(child);
  }
  return best;
}

/// The device's module and how it is launched, as LLVM gets them.
struct ForEngine {
  explicit ForEngine(const std::string &tileProgram, Target target, bool warpSpecialize) {
    PooledContext mlirContext;
    std::vector<Diagnostic> diagnostics;
    auto program = parseProgram(mlirContext.get(), tileProgram, "kernel.mlir", diagnostics);
    if (!program)
      return;
    mlir::PassManager passes(mlirContext.get());
    DevicePipelineOptions options;
    const hw::Architecture &architecture = architectureOf(target);
    options.warpSpecialize = warpSpecialize;
    kernel.architecture = architecture.name;
    buildDevicePipeline(passes, architecture, options);
    if (mlir::failed(passes.run(*program)))
      return;
    kernel = launchDataOf(*program).value_or(kernel);
    module = translateForPtx(*program, kernel, context, error);
  }

  llvm::LLVMContext context;
  DeviceKernel kernel;
  std::unique_ptr<llvm::Module> module;
  std::string error;
};

template <class K>
void measure(const std::string &kernelName, const K &kernel, Target target, const char *cuda = "") {
  constexpr double limit = 60;
  std::string stem = "device/compile-" + kernelName;
  auto build = [&] {
    return compile(kernel, target, {.name = "kernel", .cache = &KernelCache::none()});
  };
  if (count == 3 && std::string(arguments[1]) == "--cold") {
    if (kernelName == arguments[2])
      std::printf("%f\n", 1e3 * bench::secondsOf([&] { build(); }));
    return;
  }
  if (std::string name = stem + "-ptx"; wanted(name)) {
    double ms = 1e3 * bench::bestAlone([&] { build(); });
    bench::line(name, ms, limit, ms / limit, "ms (limit)");
  }
  if (std::string name = stem + "-cold"; wanted(name)) {
    double ms = coldTime(kernelName);
    bench::line(name, ms, limit, ms / limit, "ms (limit of warm)");
  }
  if (std::string name = stem + "-engine"; wanted(name)) {
    bool warpSpecialize = kernelName == "automatic";
    ForEngine engine(build().tile_program(), target, warpSpecialize);
    if (!engine.module)
      return bench::skipped(name, "the module could not be made");
    auto times = bench::best([&] { build(); },
                             [&] {
                               auto copy = llvm::CloneModule(*engine.module);
                               generatePtx(*copy, engine.kernel, engine.error);
                             });
    bench::line(name, 1e3 * times.ours, 1e3 * times.theirs, times.ours / times.theirs,
                "ms (LLVM alone)");
  }
  if (std::string name = stem + "-cubin"; wanted(name)) {
    if (find_assembler().empty())
      return bench::skipped(name, "there is no ptxas");
    std::string ptx = build().ptx();
    auto times =
        bench::best([&] { assemble(build().ptx(), target); }, [&] { assemble(ptx, target); });
    bench::line(name, 1e3 * times.ours, 1e3 * times.theirs, times.ours / times.theirs,
                "ms (ptxas alone)");
  }
  if (std::string name = stem + "-nvcc"; *cuda && wanted(name)) {
    std::string command = "nvcc -std=c++17 -ptx -arch=" + architectureOf(target).name +
                          " -o /dev/null " + PENSTOCK_SOURCE_DIR + "/test/emulator/kernels/" +
                          cuda + " 2> /dev/null";
    if (std::system("nvcc --version > /dev/null 2>&1") != 0 || std::system(command.c_str()) != 0)
      return bench::skipped(name, "there is no nvcc");
    double start = bench::now(CLOCK_MONOTONIC);
    if (std::system(command.c_str()) != 0)
      return;
    double theirs = 1e3 * (bench::now(CLOCK_MONOTONIC) - start), ours = coldTime(kernelName);
    bench::line(name, ours, theirs, ours / theirs, "ms (nvcc -ptx)");
  }
}

/// Tile programs other than matmuls, with the kernel for rows that engines cannot copy.
template <class K>
void measureProgram(const std::string &program, const K &kernel, double limit = 120) {
  for (auto [gpu, target] :
       {std::pair("sm90", Target::sm_90a()), std::pair("sm100", Target::sm_100a())})
    if (std::string name = "device/compile-" + program + "-" + gpu + "-ptx"; wanted(name)) {
      double ms = 1e3 * bench::bestAlone([&] {
                    compile(kernel, target, {.name = "kernel", .cache = &KernelCache::none()});
                  });
      bench::line(name, ms, limit, ms / limit, "ms (limit)");
    }
}

} // namespace

int main(int argc, char **argv) {
  count = argc;
  arguments = argv;
  measure("v4", blackwell::MatmulV4{}, Target::sm_100a(), "gemm_tcgen05.cu");
  measure("v6", blackwell::MatmulV6{}, Target::sm_100a());
  measure("hopper", hopper::Matmul{.in_flight = 1}, Target::sm_90a(), "gemm_wgmma.cu");
  measure("automatic", examples::Matmul{}, Target::sm_100a());
  measure("attention-sm90", attention::HopperAttention{}, Target::sm_90a());
  measure("attention-sm100", attention::BlackwellAttention{}, Target::sm_100a());
  measureProgram("vector-add", examples::VectorAdd{});
  measureProgram("softmax", examples::RowSoftmax{});
  measureProgram("layer-norm", examples::LayerNorm{});
  measureProgram("gelu", examples::MatmulBiasGelu{});
  measureProgram("flash-attention", examples::FlashAttention{}, 80);
}
