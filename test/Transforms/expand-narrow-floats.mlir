// RUN: penstock-opt %s --expand-narrow-floats | FileCheck %s

// CHECK-LABEL: func.func @extend
// CHECK-NOT: arith.extf %{{.*}} : f8E5M2
// CHECK: arith.bitcast %{{.*}} : f8E5M2 to i8
// CHECK: arith.extf %{{.*}} : f16 to f32
func.func @extend(%x: f8E5M2) -> f32 {
  %y = arith.extf %x : f8E5M2 to f32
  return %y : f32
}

// The exponent of f32; the smallest power is subnormal there, 255 is NaN.
// CHECK-LABEL: func.func @power
// CHECK-DAG: arith.constant 4194304 : i32
// CHECK-DAG: arith.constant 2143289344 : i32
// CHECK: arith.bitcast %{{.*}} : f8E8M0FNU to i8
// CHECK-NOT: arith.extf
func.func @power(%x: f8E8M0FNU) -> f32 {
  %y = arith.extf %x : f8E8M0FNU to f32
  return %y : f32
}

// CHECK-LABEL: func.func @round_to_power
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast %{{.*}} : i8 to f8E8M0FNU
func.func @round_to_power(%x: f32) -> f8E8M0FNU {
  %y = arith.truncf %x : f32 to f8E8M0FNU
  return %y : f8E8M0FNU
}

// CHECK-LABEL: func.func @round
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast %{{.*}} : i8 to f8E4M3FN
func.func @round(%x: f32) -> f8E4M3FN {
  %y = arith.truncf %x : f32 to f8E4M3FN
  return %y : f8E4M3FN
}

// Arithmetic on bf16 is done in f32 and rounded.
// CHECK-LABEL: func.func @add
// CHECK: arith.addf %{{.*}} : f32
// CHECK-NOT: arith.truncf
func.func @add(%x: bf16, %y: bf16) -> bf16 {
  %z = arith.addf %x, %y : bf16
  return %z : bf16
}

// Integers of 8 bits are exact: nothing is rounded.
// CHECK-LABEL: func.func @exact
// CHECK: %[[NUMBER:.*]] = arith.sitofp %{{.*}} : i8 to f32
// CHECK-NOT: arith.addi
// CHECK: arith.shrui
// CHECK: arith.bitcast %{{.*}} : i16 to bf16
func.func @exact(%x: i8) -> bf16 {
  %y = arith.sitofp %x : i8 to bf16
  return %y : bf16
}

// Of 16 bits they are not.
// CHECK-LABEL: func.func @rounded
// CHECK: arith.sitofp %{{.*}} : i16 to f32
// CHECK: arith.addi
func.func @rounded(%x: i16) -> bf16 {
  %y = arith.sitofp %x : i16 to bf16
  return %y : bf16
}
