// RUN: penstock-opt %s --tile-narrow-index-casts | FileCheck %s
// RUN: penstock-opt %s --tile-narrow-index-casts --canonicalize | FileCheck %s --check-prefix=FOLDED

// 300 through i8 is 44. Upstream folds the pair of casts to %x; it must not.
// CHECK-LABEL: @wraps
// CHECK: %[[WIDE:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: %[[NARROW:.*]] = arith.trunci %[[WIDE]] : i64 to i8
// CHECK: arith.index_cast %[[NARROW]] : i8 to index
// FOLDED-LABEL: @wraps
// FOLDED: arith.trunci
func.func @wraps(%x: index) -> index {
  %narrow = arith.index_cast %x : index to i8
  %back = arith.index_cast %narrow : i8 to index
  return %back : index
}

// CHECK-LABEL: @unsigned
// CHECK: %[[WIDE:.*]] = arith.index_castui %{{.*}} : index to i64
// CHECK: arith.trunci %[[WIDE]] : i64 to i32
func.func @unsigned(%x: index) -> i32 {
  %narrow = arith.index_castui %x : index to i32
  return %narrow : i32
}

// As wide as an index: nothing is lost.
// CHECK-LABEL: @wide
// CHECK-NOT: arith.trunci
// CHECK: return
func.func @wide(%x: index, %y: i8) -> (i64, index) {
  %wide = arith.index_cast %x : index to i64
  %index = arith.index_cast %y : i8 to index
  return %wide, %index : i64, index
}
