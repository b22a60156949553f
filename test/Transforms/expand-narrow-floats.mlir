// RUN: penstock-opt %s --expand-narrow-floats | FileCheck %s

// CHECK-LABEL: func.func @extend
// CHECK-NOT: arith.extf %{{.*}} : f8E5M2
// CHECK: arith.bitcast %{{.*}} : f8E5M2 to i8
// CHECK: arith.extf %{{.*}} : f16 to f32
func.func @extend(%x: f8E5M2) -> f32 {
  %y = arith.extf %x : f8E5M2 to f32
  return %y : f32
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
