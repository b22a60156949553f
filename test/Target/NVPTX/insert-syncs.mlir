// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-insert-syncs --split-input-file | FileCheck %s

#s = #tile.space<shared>
#g = #tile.space<global>

// The second iteration overwrites what the first one reads, so that there is a barrier
// at both ends of the body.

// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy %{{.*}} to %X
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy %X to
// CHECK-NEXT: }
func.func @loop(%x: memref<?x?xf32, strided<[?, 1]>, #g>, %y: memref<?x?xf32, strided<[?, 1]>, #g>, %n: index) attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : memref<32x32xf32, #s>
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X : memref<?x?xf32, strided<[?, 1]>, #g> to memref<32x32xf32, #s>
    tile.copy %X to %y[%c0, %k] : memref<32x32xf32, #s> to memref<?x?xf32, strided<[?, 1]>, #g>
  }
  return
}

// -----

#s = #tile.space<shared>
#g = #tile.space<global>

// What the last statement writes, the first one of the next iteration reads. The barrier
// between them also orders %Y, which is written before the loop: there is no other one for it.

// CHECK-LABEL: func.func @one_for_both
// CHECK: scf.for
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy %Z to
// CHECK-NEXT: tile.copy %Y to
// CHECK-NEXT: tile.fill %Q
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy %Q to
// CHECK-NEXT: tile.fill %Z
// CHECK-NEXT: }
func.func @one_for_both(%y: memref<?x?xf32, strided<[?, 1]>, #g>, %z: memref<?x?xf32, strided<[?, 1]>, #g>, %q: memref<?x?xf32, strided<[?, 1]>, #g>, %n: index) attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %Y = tile.alloc "Y" : memref<32x32xf32, #s>
  %Z = tile.alloc "Z" : memref<32x32xf32, #s>
  %Q = tile.alloc "Q" : memref<32x32xf32, #s>
  tile.fill %Y, %zero : memref<32x32xf32, #s>, f32
  scf.for %k = %c0 to %n step %c32 {
    tile.copy %Z to %z[%c0, %k] : memref<32x32xf32, #s> to memref<?x?xf32, strided<[?, 1]>, #g>
    tile.copy %Y to %y[%c0, %k] : memref<32x32xf32, #s> to memref<?x?xf32, strided<[?, 1]>, #g>
    tile.fill %Q, %zero : memref<32x32xf32, #s>, f32
    tile.copy %Q to %q[%c0, %k] : memref<32x32xf32, #s> to memref<?x?xf32, strided<[?, 1]>, #g>
    tile.fill %Z, %zero : memref<32x32xf32, #s>, f32
  }
  return
}

// -----

#s = #tile.space<shared>
#g = #tile.space<global>

// Two reads do not conflict; a write in one branch conflicts with a read behind both.

// CHECK-LABEL: func.func @branch
// CHECK: tile.fill %X
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy %X to
// CHECK-NEXT: tile.copy %X to
// CHECK-NEXT: scf.if
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.fill %X
// CHECK-NEXT: }
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy %X to
// CHECK-NEXT: return
func.func @branch(%y: memref<?x?xf32, strided<[?, 1]>, #g>, %z: memref<?x?xf32, strided<[?, 1]>, #g>, %w: memref<?x?xf32, strided<[?, 1]>, #g>, %c: i1) attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %X = tile.alloc "X" : memref<32x32xf32, #s>
  tile.fill %X, %zero : memref<32x32xf32, #s>, f32
  tile.copy %X to %y[%c0, %c0] : memref<32x32xf32, #s> to memref<?x?xf32, strided<[?, 1]>, #g>
  tile.copy %X to %z[%c0, %c0] : memref<32x32xf32, #s> to memref<?x?xf32, strided<[?, 1]>, #g>
  scf.if %c {
    tile.fill %X, %zero : memref<32x32xf32, #s>, f32
  }
  tile.copy %X to %w[%c0, %c0] : memref<32x32xf32, #s> to memref<?x?xf32, strided<[?, 1]>, #g>
  return
}

// -----

#s = #tile.space<shared>
#g = #tile.space<global>

// Atomic updates of one kind commute with each other, not with reads. Tensors that may overlap
// are one piece of memory.

// CHECK-LABEL: func.func @atomics
// CHECK: tile.atomic
// CHECK-NEXT: tile.atomic
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.load %arg0
// CHECK: tile.store %{{.*}}, %arg1
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.load %arg2
func.func @atomics(%h: memref<?xi32, strided<[1]>, #g>, %p: memref<?xi32, strided<[1]>, #g> {tile.overlaps}, %q: memref<?xi32, strided<[1]>, #g> {tile.overlaps}) attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %a = tile.atomic add %one, %h[%c0] : i32, memref<?xi32, strided<[1]>, #g> -> i32
  %b = tile.atomic add %one, %h[%c0] : i32, memref<?xi32, strided<[1]>, #g> -> i32
  %c = tile.load %h[%c0] : memref<?xi32, strided<[1]>, #g> -> i32
  tile.store %c, %p[%c0] : i32, memref<?xi32, strided<[1]>, #g>
  %d = tile.load %q[%c0] : memref<?xi32, strided<[1]>, #g> -> i32
  tile.store %d, %h[%c0] : i32, memref<?xi32, strided<[1]>, #g>
  return
}

// -----

#g = #tile.space<global>

// Updates of different kinds have an order, and so do exchanges and updates whose old value is
// used. Updates of other memory stay unordered.

// CHECK-LABEL: func.func @ordered_atomics
// CHECK: tile.atomic max %{{.*}}, %arg0
// CHECK-NEXT: tile.atomic add %{{.*}}, %arg1
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.atomic add %{{.*}}, %arg0
// CHECK-NEXT: tile.atomic add %{{.*}}, %arg0
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.atomic exchange %{{.*}}, %arg0
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.atomic exchange %{{.*}}, %arg0
// CHECK-NEXT: %[[OLD:.*]] = tile.atomic add %{{.*}}, %arg1
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.atomic add %[[OLD]], %arg1
func.func @ordered_atomics(%h: memref<?xi32, strided<[1]>, #g>, %p: memref<?xi32, strided<[1]>, #g>) attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %a = tile.atomic max %one, %h[%c0] : i32, memref<?xi32, strided<[1]>, #g> -> i32
  %b = tile.atomic add %one, %p[%c0] : i32, memref<?xi32, strided<[1]>, #g> -> i32
  %c = tile.atomic add %one, %h[%c0] : i32, memref<?xi32, strided<[1]>, #g> -> i32
  %d = tile.atomic add %one, %h[%c0] : i32, memref<?xi32, strided<[1]>, #g> -> i32
  %e = tile.atomic exchange %one, %h[%c0] : i32, memref<?xi32, strided<[1]>, #g> -> i32
  %f = tile.atomic exchange %one, %h[%c0] : i32, memref<?xi32, strided<[1]>, #g> -> i32
  %i = tile.atomic add %one, %p[%c0] : i32, memref<?xi32, strided<[1]>, #g> -> i32
  %j = tile.atomic add %i, %p[%c0] : i32, memref<?xi32, strided<[1]>, #g> -> i32
  return
}

// -----

#l = #tile.space<local>
#g = #tile.space<global>

// One copy writes %y box by box: 32 columns with each step. %z is written at the same
// columns several times, by threads that may hold other ones.

// CHECK-LABEL: func.func @each_once
// CHECK: scf.for
// CHECK-NOT: nv.sync
// CHECK: tile.copy %{{.*}} to %arg0
// CHECK: nv.sync
// CHECK-NEXT: tile.copy %{{.*}} to %arg1
func.func @each_once(%y: memref<?x?xf32, strided<[?, 1]>, #g>, %z: memref<?x?xf32, strided<[?, 1]>, #g>, %n: index) attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %X = tile.alloc "X" : memref<32x32xf32, #l>
  scf.for %k = %c0 to %n step %c1 {
    %near = arith.muli %k, %c31 : index
    %far = arith.muli %k, %c32 : index
    tile.copy %X to %y[%c0, %far] : memref<32x32xf32, #l> to memref<?x?xf32, strided<[?, 1]>, #g>
    tile.copy %X to %z[%c0, %near] : memref<32x32xf32, #l> to memref<?x?xf32, strided<[?, 1]>, #g>
  }
  return
}

// -----

#l = #tile.space<local>
#g = #tile.space<global>

// Another access to the tensor, or an outer loop, and boxes may meet. One barrier in each
// step orders both tensors.

// CHECK-LABEL: func.func @again
// CHECK: tile.copy %{{.*}} to %arg0[%c0, %c0]
// CHECK: nv.sync
// CHECK-NEXT: tile.copy %{{.*}} to %arg0
// CHECK-NEXT: tile.copy %{{.*}} to %arg1
// CHECK-NOT: nv.sync
func.func @again(%y: memref<?x?xf32, strided<[?, 1]>, #g>, %z: memref<?x?xf32, strided<[?, 1]>, #g>, %n: index) attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %X = tile.alloc "X" : memref<32x32xf32, #l>
  tile.copy %X to %y[%c0, %c0] : memref<32x32xf32, #l> to memref<?x?xf32, strided<[?, 1]>, #g>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %n step %c1 {
      %far = arith.muli %k, %c32 : index
      tile.copy %X to %y[%c0, %far] : memref<32x32xf32, #l> to memref<?x?xf32, strided<[?, 1]>, #g>
      tile.copy %X to %z[%c0, %far] : memref<32x32xf32, #l> to memref<?x?xf32, strided<[?, 1]>, #g>
    }
  }
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// The plan of a loop orders its statements: here the two groups. Inside of a group, and behind
// the loop, threads must meet.

// CHECK-LABEL: func.func @groups
// CHECK: scf.for
// CHECK-NEXT: tile.fill %X
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy %X to %L
// CHECK-NEXT: tile.fill %X
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy %X to %L
func.func @groups(%n: index) attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %X = tile.alloc "X" : memref<32x32xf32, #s>
  %L = tile.alloc "L" : memref<32x32xf32, #l>
  scf.for %k = %c0 to %n step %c1 {
    tile.fill %X, %zero {nv.planned = 0 : i64, nv.group = 0 : i64} : memref<32x32xf32, #s>, f32
    tile.copy %X to %L {nv.planned = 0 : i64, nv.group = 0 : i64} : memref<32x32xf32, #s> to memref<32x32xf32, #l>
    tile.fill %X, %zero {nv.planned = 0 : i64, nv.group = 1 : i64} : memref<32x32xf32, #s>, f32
  }
  tile.copy %X to %L : memref<32x32xf32, #s> to memref<32x32xf32, #l>
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// A group with a condition: what one branch has accessed, and not met since, counts behind it.

// CHECK-LABEL: func.func @condition
// CHECK: scf.if
// CHECK-NEXT: tile.fill %X
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy %X to %L
// CHECK: else
// CHECK-NEXT: tile.fill %X
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy %X to %L
func.func @condition(%c: i1) attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %zero = arith.constant 0.0 : f32
  %X = tile.alloc "X" : memref<32x32xf32, #s>
  %L = tile.alloc "L" : memref<32x32xf32, #l>
  scf.if %c {
    tile.fill %X, %zero {nv.planned = 0 : i64, nv.group = 0 : i64} : memref<32x32xf32, #s>, f32
    tile.copy %X to %L {nv.planned = 0 : i64, nv.group = 0 : i64} : memref<32x32xf32, #s> to memref<32x32xf32, #l>
  } else {
    tile.fill %X, %zero {nv.planned = 0 : i64, nv.group = 0 : i64} : memref<32x32xf32, #s>, f32
  }
  tile.copy %X to %L {nv.planned = 0 : i64, nv.group = 0 : i64} : memref<32x32xf32, #s> to memref<32x32xf32, #l>
  return
}

// -----

#l = #tile.space<local>
#s = #tile.space<shared>
#g = #tile.space<global>
!T = memref<?x?xf32, strided<[?, 1]>, #g>

// Blocks that are taken over have no order among each other: what they write to tensors needs no
// barrier from one to the next, what they have in shared memory does.

// CHECK-LABEL: func.func @taken_over
// CHECK: scf.while
// CHECK: do
// CHECK: nv.sync
// CHECK-NEXT: tile.fill %X
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy %X to %L
// CHECK-NEXT: tile.copy %L to
// CHECK-NOT: nv.sync
func.func @taken_over(%y: !T, %n: i1, %m: index) attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %zero = arith.constant 0.0 : f32
  %X = tile.alloc "X" : memref<32x32xf32, #s>
  %L = tile.alloc "L" : memref<32x32xf32, #l>
  scf.while : () -> () {
    scf.condition(%n)
  } do {
    tile.fill %X, %zero : memref<32x32xf32, #s>, f32
    tile.copy %X to %L : memref<32x32xf32, #s> to memref<32x32xf32, #l>
    tile.copy %L to %y[%m, %m] : memref<32x32xf32, #l> to !T
    scf.yield
  } attributes {nv.takes_over}
  return
}

// -----

#l = #tile.space<local>
#s = #tile.space<shared>
#t = #tile.space<tensor>

// Threads that have loaded from tensor memory meet before it is freed, unless they have met since.

// CHECK-LABEL: func.func @freed
// CHECK: nv.tcgen05.wait_load
// CHECK-NEXT: nv.sync
// CHECK-NEXT: nv.tcgen05.dealloc
func.func @freed() attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %acc = nv.tcgen05.alloc "acc" : memref<128x64xf32, #t>
  %L = tile.alloc "L" : memref<128x64xf32, #l>
  nv.tcgen05.load %acc to %L : memref<128x64xf32, #t>, memref<128x64xf32, #l>
  nv.tcgen05.wait_load
  nv.tcgen05.dealloc %acc : memref<128x64xf32, #t>
  return
}

// CHECK-LABEL: func.func @met
// CHECK: nv.tcgen05.wait_load
// CHECK-NEXT: nv.sync
// CHECK-NOT: nv.sync
// CHECK: return
func.func @met() attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %acc = nv.tcgen05.alloc "acc" : memref<128x64xf32, #t>
  %L = tile.alloc "L" : memref<128x64xf32, #l>
  nv.tcgen05.load %acc to %L : memref<128x64xf32, #t>, memref<128x64xf32, #l>
  nv.tcgen05.wait_load
  nv.sync
  nv.tcgen05.dealloc %acc : memref<128x64xf32, #t>
  return
}

// One allocation may have all tiles: they are freed after the last access to any of them.

// CHECK-LABEL: func.func @freed_together
// CHECK: nv.sync
// CHECK-NEXT: nv.tcgen05.dealloc %other
// CHECK-NEXT: nv.tcgen05.dealloc %acc
func.func @freed_together() attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %acc = nv.tcgen05.alloc "acc" : memref<128x64xf32, #t>
  %other = nv.tcgen05.alloc "other" : memref<128x64xf32, #t>
  %L = tile.alloc "L" : memref<128x64xf32, #l>
  nv.tcgen05.load %acc to %L : memref<128x64xf32, #t>, memref<128x64xf32, #l>
  nv.tcgen05.wait_load
  nv.tcgen05.dealloc %other : memref<128x64xf32, #t>
  nv.tcgen05.dealloc %acc : memref<128x64xf32, #t>
  return
}

// Another role has loaded from it: a barrier of the warps that compute is not enough.

// CHECK-LABEL: func.func @freed_after_role
// CHECK: nv.warps 0, 4
// CHECK: nv.sync
// CHECK: }
// CHECK-NEXT: nv.sync
// CHECK-NEXT: nv.tcgen05.dealloc
func.func @freed_after_role() attributes {nv.tile_program, nv.threads = 256, tile.kernel} {
  %acc = nv.tcgen05.alloc "acc" : memref<128x64xf32, #t>
  %L = tile.alloc "L" : memref<128x64xf32, #l>
  nv.warps 4, 4 {
    nv.tcgen05.load %acc to %L : memref<128x64xf32, #t>, memref<128x64xf32, #l>
    nv.tcgen05.wait_load
  } {nv.role = #nv.role<scale>}
  nv.warps 0, 4 {
    nv.sync
  }
  nv.tcgen05.dealloc %acc : memref<128x64xf32, #t>
  return
}
