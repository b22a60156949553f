//===- Statistics.cpp - Counts of this process ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Counters.h"

#include <cstdio>

using namespace penstock;

ProcessCounters &penstock::counters() {
  static ProcessCounters all = {};
  return all;
}

Statistics penstock::statistics() {
  const ProcessCounters &c = counters();
  Statistics s;
  s.compiled = c.compiled;
  s.failed_compiles = c.failedCompiles;
  s.compile_seconds = 1e-9 * double(c.compileNanoseconds);
  s.native_launches = c.nativeLaunches;
  s.gpu_launches = c.gpuLaunches;
  s.emulated_launches = c.emulatedLaunches;
  s.failed_launches = c.failedLaunches;
  s.gpu_loads = c.gpuLoads;
  s.assembled = c.assembled;
  s.tuned_shapes = c.tunedShapes;
  s.tune_examined = c.tuneExamined;
  s.tune_removed = c.tuneRemoved;
  s.tune_wrong = c.tuneWrong;
  s.tune_samples = c.tuneSamples;
  s.tune_disturbed = c.tuneDisturbed;
  s.chosen_from_record = c.chosenFromRecord;
  s.chosen_from_nearest = c.chosenFromNearest;
  s.chosen_from_table = c.chosenFromTable;
  s.chosen_from_model = c.chosenFromModel;
  s.chosen_default = c.chosenDefault;
  return s;
}

std::string penstock::to_prometheus(const Statistics &s) {
  std::string text, family;
  auto begin = [&](const char *name, const char *help) {
    family = std::string("penstock_") + name + "_total";
    text += "# HELP " + family + " " + help + "\n# TYPE " + family + " counter\n";
  };
  auto value = [&](const std::string &label, uint64_t number) {
    text += family + label + " " + std::to_string(number) + "\n";
  };
  auto counter = [&](const char *name, const char *help, uint64_t number) {
    begin(name, help);
    value("", number);
  };
  counter("compiles", "Kernels that were not in a cache.", s.compiled);
  counter("failed_compiles", "Compilations with errors.", s.failed_compiles);
  begin("compile_seconds", "Time for compiling, summed over threads.");
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, " %.9g\n", s.compile_seconds);
  text += family + seconds;
  begin("launches", "Launches of kernels.");
  value("{target=\"native\"}", s.native_launches);
  value("{target=\"gpu\"}", s.gpu_launches);
  value("{target=\"emulated\"}", s.emulated_launches);
  counter("failed_launches", "Launches that returned errors.", s.failed_launches);
  counter("gpu_loads", "Kernels that were loaded on GPUs.", s.gpu_loads);
  counter("assembled", "Kernels that an assembler or the driver translated to machine code.",
          s.assembled);
  counter("tune_shapes", "Tuned pairs of a kernel and a shape.", s.tuned_shapes);
  counter("tune_examined", "Candidates that were checked and predicted.", s.tune_examined);
  counter("tune_removed", "Candidates that a stage removed.", s.tune_removed);
  counter("tune_wrong", "Candidates with wrong results.", s.tune_wrong);
  counter("tune_samples", "Measurements of candidates.", s.tune_samples);
  counter("tune_disturbed", "Measurements that others disturbed.", s.tune_disturbed);
  begin("tuned_choices", "Choices of tuned kernels, by their origin.");
  value("{from=\"record\"}", s.chosen_from_record);
  value("{from=\"nearest\"}", s.chosen_from_nearest);
  value("{from=\"table\"}", s.chosen_from_table);
  value("{from=\"model\"}", s.chosen_from_model);
  value("{from=\"default\"}", s.chosen_default);
  return text;
}
