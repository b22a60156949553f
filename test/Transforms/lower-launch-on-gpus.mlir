// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --tile-lower-launch | FileCheck %s --check-prefix=GPU
// RUN: penstock-opt %s --tile-lower-launch | FileCheck %s --check-prefix=CPU

// A GPU launches fewer than 2^31 blocks, and divides words without a call. A group may have more
// blocks than that: then all are in the first one.

// GPU-LABEL: func.func @k(
// GPU: %[[GROUP:.*]] = arith.muli %{{.*}}, %c8
// GPU: %[[MOST:.*]] = arith.constant 2147483647 : index
// GPU: %[[CLAMPED:.*]] = arith.minui %[[GROUP]], %[[MOST]] : index
// GPU: %[[DIVISOR:.*]] = arith.index_castui %[[CLAMPED]] : index to i32
// GPU: %[[BLOCK:.*]] = arith.index_castui %{{.*}} : index to i32
// GPU: arith.divui %[[BLOCK]], %[[DIVISOR]] {{.*}} : i32
// GPU: arith.remui %[[BLOCK]], %[[DIVISOR]] {{.*}} : i32
// GPU-NOT: arith.divui {{.*}} : index

// A CPU may have more blocks.
// CPU-LABEL: func.func @k(
// CPU: arith.divui {{.*}} : index
// CPU-NOT: arith.divui {{.*}} : i32
func.func @k(%m: index, %n: index) attributes {tile.kernel} {
  %i, %j = tile.grid %m, %n swizzle 8 : index, index
  tile.print "{} {}" %i, %j : index, index
  return
}
