// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --tile-lower-launch | FileCheck %s --check-prefix=GPU
// RUN: penstock-opt %s --tile-lower-launch | FileCheck %s --check-prefix=CPU

!t = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!v = memref<32xi64, #tile.space<local>>

// A GPU launches fewer than 2^31 blocks: words hold their numbers, and a launch computes the
// reciprocals of both divisors, the blocks of a group and the columns of the last group. A group
// may have more blocks than 2^31; all are in the first one then, as the launch takes 2^31 for it.

// GPU-LABEL: func.func @k.launch(
// GPU: %[[WORD:.*]] = arith.constant 2147483648 : i64
// GPU: arith.minui %{{.*}}, %[[WORD]] : i64
// GPU-LABEL: func.func @k(
// GPU: %[[BLOCK:.*]] = arith.index_castui %{{.*}} : index to i32
// GPU: arith.divui %[[BLOCK]], %{{.*}} {penstock.reciprocal = 3 : i64, penstock.safe} : i32
// GPU: arith.remui %[[BLOCK]], %{{.*}} {penstock.reciprocal = 3 : i64, penstock.safe} : i32
// GPU: %[[LAST:.*]] = arith.cmpi slt
// GPU: arith.divui %{{.*}} {penstock.safe} : i32
// GPU: arith.divui %{{.*}} {penstock.reciprocal = 6 : i64, penstock.safe} : i32
// GPU: arith.select %[[LAST]]
// GPU: tile.print

// A CPU divides by one instruction.
// CPU-LABEL: func.func @k(
// CPU: arith.divui {{.*}} : index
// CPU-NOT: arith.divui {{.*}} : i32
func.func @k(%m: index, %n: index) attributes {tile.kernel} {
  %i, %j = tile.grid %m, %n swizzle 8 : index, index
  tile.print "{} {}" %i, %j : index, index
  return
}

// Coordinates and sizes fit into words, their products do not; nothing is known of scalars.
// GPU-LABEL: func.func @operators(
// GPU: arith.divui %{{.*}} {penstock.reciprocal = 3 : i64} : i32
// GPU: arith.remui %{{.*}} {penstock.reciprocal = 6 : i64} : i64
// GPU: arith.divsi %{{.*}} {penstock.reciprocal = 9 : i64} : i64
// CPU-LABEL: func.func @operators(
// CPU: arith.divsi %{{.*}} : index
// CPU: arith.remsi %{{.*}} : index
// CPU: arith.divsi %{{.*}} : index
func.func @operators(%A: !t, %x: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c1 : !t
  %m = memref.dim %A, %c0 : !t
  %i = tile.grid %m : index
  %q = arith.divsi %i, %m : index
  %square = arith.muli %i, %m : index
  %r = arith.remsi %square, %n : index
  %p = arith.divsi %i, %x : index
  tile.print "{} {} {}" %q, %r, %p : index, index, index
  return
}

// The cube of a coordinate may wrap around.
// GPU-LABEL: func.func @hash(
// GPU: arith.remsi %{{.*}} {penstock.reciprocal = 3 : i64} : i64
func.func @hash(%A: !t) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %m = memref.dim %A, %c0 : !t
  %i = tile.grid %m : index
  %square = arith.muli %i, %i : index
  %cube = arith.muli %square, %i : index
  %r = arith.remsi %cube, %m : index
  tile.print "{}" %r : index
  return
}

// Divisors that only exist in a block: words are enough for numbers that fit.
// GPU-LABEL: func.func @blocks(
// GPU: arith.divui %{{.*}}, %{{.*}} : i32
// GPU: arith.remsi %{{.*}}, %{{.*}} : index
func.func @blocks(%A: !t, %x: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %m = memref.dim %A, %c0 : !t
  %i, %j = tile.grid %m, %m : index, index
  %q = arith.divsi %i, %j : index
  %odd = arith.muli %j, %x : index
  %r = arith.remsi %i, %odd : index
  tile.print "{} {}" %q, %r : index, index
  return
}

// The coordinate of a grid with one extent is the number of the block, which no launch knows.
// GPU-LABEL: func.func @number(
// GPU: arith.remsi %{{.*}}, %{{.*}} : index
func.func @number(%m: index, %x: index) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %i = tile.grid %m : index
  %odd = arith.ori %i, %c1 : index
  %r = arith.remsi %x, %odd : index
  tile.print "{}" %r : index
  return
}

// A launch that divided by zero would fail, although no block may do so.
// GPU-LABEL: func.func @partial.launch(
// GPU-NOT: arith.divsi
// GPU-LABEL: func.func @partial(
// GPU: arith.divsi %{{.*}}, %{{.*}} {penstock.reciprocal = 3 : i64} : i64
// GPU: arith.divsi %{{.*}}, %{{.*}} : index
func.func @partial(%m: index, %x: index) attributes {tile.kernel} {
  %i = tile.grid %m : index
  %d = arith.divsi %m, %x : index
  %q = arith.divsi %i, %d : index
  tile.print "{}" %q : index
  return
}

// Bodies of maps load nothing.
// GPU-LABEL: func.func @map(
// GPU: tile.map
// GPU: arith.divsi %{{.*}}, %{{.*}} : i64
func.func @map(%x: i64) attributes {tile.kernel} {
  %t = tile.alloc "t" : !v
  tile.map %t dims [] {
    %i = tile.element_index 0
    %n = arith.index_cast %i : index to i64
    %q = arith.divsi %n, %x : i64
    tile.yield %q : i64
  } : !v
  return
}

// A divisor that another division computes, which multiplies itself. A launch does not take the
// remainder, either: it may be one by zero.
// GPU-LABEL: func.func @chain.launch(
// GPU-NOT: arith.remsi
// GPU-LABEL: func.func @chain(
// GPU: arith.remsi %{{.*}}, %{{.*}} {penstock.reciprocal = 3 : i64} : i64
// GPU: arith.divsi %{{.*}}, %{{.*}} : index
func.func @chain(%m: index, %x: index) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %i = tile.grid %m : index
  %r = arith.remsi %m, %x : index
  %odd = arith.ori %r, %c1 : index
  %q = arith.divsi %i, %odd : index
  tile.print "{}" %q : index
  return
}

// GPU-LABEL: func.func @pair.launch(
// GPU-NOT: tile.divmod
// GPU-LABEL: func.func @pair(
// GPU: arith.divsi %{{.*}}, %{{.*}} : index
func.func @pair(%m: index, %x: index) attributes {tile.kernel} {
  %i = tile.grid %m : index
  %q, %r = tile.divmod %m, %x
  %p = arith.divsi %i, %q : index
  tile.print "{}" %p : index
  return
}
