// RUN: penstock-opt %s --nv-lower-to-llvm | FileCheck %s

// Divisions and square roots become an approximation, FMAs, and a branch to a sequence for results
// that may be subnormal. `div.rn`, `rcp.rn` and `sqrt.rn` would be calls.

// Two comparisons decide: of the quotient, and of the dividend.
// CHECK-LABEL: llvm.func @quotient(
// CHECK-NOT: llvm.fdiv
// CHECK: "rcp.approx.ftz.f32 $0, $1;"
// CHECK: llvm.intr.fma
// CHECK: "fma.rp.f32 $0, $1, $2, $3;"
// CHECK-COUNT-3: llvm.intr.fma
// CHECK: llvm.fcmp "oge"
// CHECK: llvm.fcmp "oge"
// CHECK: llvm.cond_br
// CHECK: llvm.fptrunc {{.*}} : f64 to f32
func.func @quotient(%a: f32, %b: f32) -> f32 {
  %q = arith.divf %a, %b : f32
  return %q : f32
}

// CHECK-LABEL: llvm.func @reciprocal(
// CHECK: "rcp.approx.ftz.f32 $0, $1;"
// CHECK-COUNT-2: llvm.intr.fma
// CHECK: llvm.fcmp "oge"
// CHECK: llvm.cond_br
func.func @reciprocal(%b: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %q = arith.divf %one, %b : f32
  return %q : f32
}

// The reciprocal of a constant is one, too: 1 / 3 is 0x3eaaaaab.
// CHECK-LABEL: llvm.func @third(
// CHECK-NOT: rcp.approx
// CHECK: llvm.mlir.constant(0.333333343 : f32)
// CHECK-COUNT-2: llvm.intr.fma
// CHECK: llvm.cond_br
func.func @third(%a: f32) -> f32 {
  %three = arith.constant 3.0 : f32
  %q = arith.divf %a, %three : f32
  return %q : f32
}

// CHECK-LABEL: llvm.func @eighth(
// CHECK-NEXT: llvm.mlir.constant(1.250000e-01 : f32)
// CHECK-NEXT: llvm.fmul
// CHECK-NEXT: llvm.return
func.func @eighth(%a: f32) -> f32 {
  %eight = arith.constant 8.0 : f32
  %q = arith.divf %a, %eight : f32
  return %q : f32
}

// The reciprocal of this constant is subnormal.
// CHECK-LABEL: llvm.func @largest(
// CHECK: "rcp.approx.ftz.f32 $0, $1;"
func.func @largest(%a: f32) -> f32 {
  %b = arith.constant 3.0e+38 : f32
  %q = arith.divf %a, %b : f32
  return %q : f32
}

// CHECK-LABEL: llvm.func @root(
// CHECK-NOT: llvm.intr.sqrt
// CHECK: "rsqrt.approx.ftz.f32 $0, $1;"
// CHECK-COUNT-5: llvm.intr.fma
// CHECK: llvm.cond_br
func.func @root(%x: f32) -> f32 {
  %s = math.sqrt %x : f32
  return %s : f32
}

// f16 are computed in f32.
// CHECK-LABEL: llvm.func @half(
// CHECK-NOT: llvm.fdiv
// CHECK: llvm.fpext {{.*}} : f16 to f32
// CHECK: "rcp.approx.ftz.f32 $0, $1;"
// CHECK: llvm.fptrunc {{.*}} : f32 to f16
func.func @half(%a: f16, %b: f16) -> f16 {
  %q = arith.divf %a, %b : f16
  return %q : f16
}

// f64 are not.
// CHECK-LABEL: llvm.func @double(
// CHECK: llvm.fdiv {{.*}} : f64
func.func @double(%a: f64, %b: f64) -> f64 {
  %q = arith.divf %a, %b : f64
  return %q : f64
}
