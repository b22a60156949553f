// RUN: penstock-opt %s --tile-attach-target=target=sm_89 | FileCheck %s
// RUN: not penstock-opt %s --tile-attach-target=target=sm_1 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: `tile.target`: unknown architecture "sm_1"

// A kernel.
// CHECK: func.func @k() attributes {tile.kernel, tile.target = "sm_89"}
func.func @k() attributes {tile.kernel} {
  return
}

// Other functions have no target.
// CHECK: func.func @helper() {
func.func @helper() {
  return
}
