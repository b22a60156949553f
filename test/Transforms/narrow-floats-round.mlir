// Each operation on a narrow type rounds: nothing may contract a rounding and
// the extension that follows it.
// RUN: penstock-opt %s --expand-narrow-floats | FileCheck %s

// CHECK-LABEL: func.func @chain
// CHECK-NOT: contract
// Two results are rounded to f8.
// CHECK-COUNT-2: arith.trunci %{{.*}} : i32 to i8
// CHECK: return
func.func @chain(%a: f8E4M3FN, %b: f8E4M3FN) -> f8E4M3FN {
  %q = arith.divf %a, %b : f8E4M3FN
  %r = arith.remf %a, %q : f8E4M3FN
  return %r : f8E4M3FN
}
