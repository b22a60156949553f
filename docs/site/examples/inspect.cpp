//===- inspect.cpp - Examples of the C++ reference ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/inspect.h>
#include <penstock/penstock.h>
using namespace penstock;

// example: load_library, registered_kernels, kernels_of_library, kernels_of_text
void list_kernels(const std::string &text) {
  std::vector<Diagnostic> errors = load_library("./libkernels.so");
  for (const KernelDescription &kernel : registered_kernels())
    std::string line = kernel.name + " " + kernel.signature;
  auto of_one = kernels_of_library("./libkernels.so");
  auto of_text = kernels_of_text(text, "kernel.mlir", errors);
}

// example: print_registered, compile_text, AnyKernel::tile_program, AnyKernel::llvm_ir,
// AnyKernel::assembly
std::string round_trip() {
  std::vector<Diagnostic> errors;
  std::string text = print_registered("Matmul", {.set = {{"block_m", "64"}}}, errors);
  AnyKernel kernel =
      compile_text(text, "matmul.mlir", "Matmul", {.target = Target::native()}, errors);
  return kernel.tile_program() + kernel.llvm_ir() + kernel.assembly();
}

// example: AnyKernel::ptx, AnyKernel::artifact, AnyKernel::store_machine_code, load_artifact
void deploy(const AnyKernel &kernel) {
  std::string ptx = kernel.ptx(), bytes = kernel.artifact();
  std::vector<Diagnostic> errors = kernel.store_machine_code();
  AnyKernel same = load_artifact(bytes, errors);
}

// example: architecture_of_registered, architecture_of_text
std::string required(const std::string &text) {
  std::vector<Diagnostic> errors;
  return architecture_of_registered("MatmulV4", {}, errors) + // "sm_100a"
         architecture_of_text(text, "kernel.mlir", "kernel", errors);
}

// example: summarize_registered, explain_registered, engines_of_registered
void explain() {
  std::vector<Diagnostic> errors;
  KernelSummary summary = summarize_registered("Matmul", "sm_100a", {}, errors);
  std::string plan = explain_registered("Matmul", "sm_100a", {}, errors);
  for (const EngineUse &use : engines_of_registered("Matmul", "sm_100a", {}, errors))
    std::string line = use.operands + ": " + use.engine; // "A -> As: tma.load"
}

// example: summarize_text, explain_text, predict_text, trace_text
void explain_program(const std::string &text) {
  std::vector<Diagnostic> errors;
  KernelSummary summary = summarize_text(text, "kernel.mlir", "kernel", "sm_90a", errors);
  std::string plan = explain_text(text, "kernel.mlir", "kernel", "sm_90a", errors);
  PredictedRun run = predict_text(text, "kernel.mlir", "kernel", "sm_90a", {{"M", 512}}, errors);
  auto loops = trace_text(text, "kernel.mlir", "kernel", "sm_90a", 8, errors);
}

// example: trace_registered
std::string drawn() {
  std::vector<Diagnostic> errors;
  auto loops = trace_registered("Matmul", "sm_90a", 8, {}, errors);
  return loops.empty() ? "" : loops[0].svg;
}

// example: add_calibration, machine_factor
double calibrate() {
  std::vector<Diagnostic> errors = add_calibration("machine", {"H100", 0.00171, 0.00155, "Matmul"});
  return machine_factor("machine", "H100", errors); // 1.10
}

// example: bytes_of, name_of
std::string element_size(Element element) {
  return name_of(element) + ": " + std::to_string(bytes_of(element));
}
