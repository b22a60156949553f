//===- check.cpp - Examples of the C++ reference --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/check.h>
#include <penstock/gtest.h>
#include <penstock/penstock.h>
using namespace penstock;

struct Copy {
  int block = 256;
  static constexpr auto signature = "x[N] -> y[N]";
  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    Index i = b.grid(ceil_div(x.size(0), block)) * block;
    auto t = b.local<f32>(block);
    b.copy(x.at(i), t);
    b.copy(t, y.at(i));
  }
};

// example: check, CheckReport::sound, Number::Number, summary_of, to_sarif
bool check_copy() {
  Shape shape = {{"N", 1000}}; // a name and a Number
  CheckReport report = check(Copy{}, Target::sm_90a(), {.shapes = {shape}});
  std::string line = summary_of(report), sarif = to_sarif(report);
  return report.sound();
}

// example: isSound
TEST(Copy, IsSound) { EXPECT_TRUE(isSound(Copy{}, Target::sm_100a(), Shape{{"N", 1000}})); }

// example: check_registered, check_all
void check_library() {
  load_library("./libkernels.so");
  CheckReport one = check_registered("Copy", Target::sm_90a());
  CheckReport all = check_all(Target::sm_90a());
}

// example: mutate_registered, mutate_all, mutate_program_registered, mutate_program_all,
// MutateReport::count, MutateReport::tried, MutateReport::all_accounted_for
bool mutate_library() {
  MutateReport report = mutate_registered("Copy", Target::sm_90a());
  size_t survived = report.count(Mutant::Survived), tried = report.tried();
  bool programs = mutate_program_registered("Copy").all_accounted_for();
  return mutate_all(Target::sm_90a()).all_accounted_for() &&
         mutate_program_all().all_accounted_for();
}

// example: make_arguments, element_at, compile_registered, AnyKernel::AnyKernel,
// AnyKernel::operator bool, AnyKernel::arguments, AnyKernel::launch
double first_result() {
  std::vector<Diagnostic> errors;
  AnyKernel kernel = compile_registered("Copy", {.target = Target::native()}, errors);
  if (!bool(kernel))
    return 0;
  MadeArguments made = make_arguments(kernel.arguments(), {{"N", 1000}}, Data::Exact, 1);
  errors = kernel.launch(made.arguments);
  return element_at(made.arguments[1], 0);
}

// example: draw_run, RunTimes::roofline
double busy() {
  RunPicture picture = draw_run("Matmul", Target::sm_100a(), {{"M", 128}, {"N", 256}, {"K", 1024}});
  return picture.times.roofline(); // picture.svg is the timeline
}

// example: draw_native_run
std::string timeline_of(const AnyKernel &kernel) {
  return draw_native_run(kernel, "Copy", {{"N", 1000}}).svg;
}

// example: typical_shape, predict_from_run, predict_registered
double predicted_seconds() {
  std::vector<Diagnostic> errors;
  Shape shape = typical_shape("Copy", {}, errors);
  PredictedRun exact =
      predict_from_run("Copy", "sm_90a", shape, {}, errors); // from the PTX of one block
  PredictedRun fast =
      predict_registered("Matmul", "sm_90a", {{"M", 4096}, {"N", 4096}, {"K", 4096}}, {}, errors);
  return exact.seconds + fast.seconds;
}
