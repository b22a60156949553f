//===- SampleArtifact.h - An artifact with all kinds of fields --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_ARTIFACT_SAMPLEARTIFACT_H
#define PENSTOCK_UNITTESTS_ARTIFACT_SAMPLEARTIFACT_H

#include "Artifact/Artifact.h"

namespace penstock {

inline Diagnostic sampleDiagnostic(const char *message) {
  Diagnostic d;
  d.severity = Severity::Warning;
  d.code = 1401;
  d.location = {"kernel.h", 12, 3};
  d.message = message;
  d.label = "here";
  d.notes.push_back({{"other.h", 7, 1}, "a note", "label"});
  d.helps = {"first", "second"};
  d.facts = {{"key", "value"}};
  return d;
}

/// A matmul-like kernel of two variants, of which the second takes all tensors.
inline Artifact sampleArtifact() {
  Artifact artifact;
  artifact.info.name = "Matmul";
  artifact.info.signature = "A[M,K] -> C[M,16]";
  artifact.info.location = {"matmul.cpp", 5, 1};
  artifact.info.gridLocation = {"matmul.cpp", 9, 2};
  artifact.info.fixedSizes["K"] = 64;
  ArgumentInfo a, c, scale;
  a.name = "A";
  a.tensor = c.tensor = true;
  a.element = c.element = Element::f16;
  a.rank = c.rank = 2;
  a.sizes = {"M", "K"};
  c.name = "C";
  c.written = true;
  c.sizes = {"M", "16"};
  scale.name = "scale";
  scale.element = Element::i32;
  artifact.info.arguments = {a, c, scale};

  DeviceKernel kernel;
  kernel.name = "Matmul";
  kernel.architecture = "sm_90a";
  kernel.ptx = ".version 8.0\n.target sm_90a\n";
  kernel.threads = 128;
  kernel.registers = 168;
  kernel.cluster = {2, 1, 1};
  kernel.sharedBytes = 100000;
  kernel.parameterBytes = 192;
  kernel.maps = {{0, 6, {64, 128}, 3}};
  kernel.fields = {{ParameterField::Map, 0, 0, 0},      {ParameterField::Address, 1, 0, 128},
                   {ParameterField::Size, 0, 1, 136},   {ParameterField::Stride, 1, 0, 144},
                   {ParameterField::Scalar, 2, 0, 152}, {ParameterField::Constant, 3, 0, 160},
                   {ParameterField::Faults, 0, 0, 168}};
  kernel.rowAligned = {{0, 16, 64}};
  kernel.names = {{StorageName::Tensor, "acc", 0, 128, 64}};
  kernel.faults = {sampleDiagnostic("a fault")};
  LaunchProgram &program = kernel.launch;
  program.steps = {{LaunchStep::Size, 0, 0, 0, 0},     {LaunchStep::Constant, 0, 0, 0, 128},
                   {LaunchStep::CeilDivS, 0, 1, 0, 0}, {LaunchStep::Constant, 0, 0, 0, 1},
                   {LaunchStep::Scalar, 2, 0, 0, 32},  {LaunchStep::GtS, 4, 3, 0, 0},
                   {LaunchStep::Select, 5, 2, 3, 0},   {LaunchStep::SignExtend, 6, 0, 0, 32}};
  program.results = {2, 3, 3, 7};
  program.requirements = {{2, sampleDiagnostic("a requirement")}};
  artifact.variants = {kernel, kernel};
  artifact.variants[1].rowAligned.clear();
  artifact.variants[1].ptx += "// by threads\n";
  artifact.cubins = {{1, "sm_90a", "ptxas 13.0",
                      std::string("\x7f"
                                  "ELF\0code",
                                  9)}};
  return artifact;
}

} // namespace penstock

#endif // PENSTOCK_UNITTESTS_ARTIFACT_SAMPLEARTIFACT_H
