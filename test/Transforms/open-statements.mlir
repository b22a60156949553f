// RUN: penstock-opt %s --tile-open-statements | FileCheck %s

!s = memref<64xf32, #tile.space<shared>>

// Operations of a group become statements with its role, under conditions as well. Scalars have
// none.

// CHECK-LABEL: func.func @group
// CHECK-NOT: tile.statement
// CHECK: arith.cmpi
// CHECK-NOT: tile.role
// CHECK: tile.fill {{.*}}{tile.role = "mover"}
// CHECK: scf.if
// CHECK: tile.copy {{.*}}{tile.role = "mover"}
// CHECK: } {tile.role = "mover"}
// CHECK: tile.fill
// CHECK-NOT: tile.role
// CHECK: return
func.func @group(%n: index, %zero: f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  scf.for %k = %c0 to %n step %c1 {
    tile.statement "move" {
      %first = arith.cmpi eq, %k, %c0 : index
      tile.fill %X, %zero : !s, f32
      scf.if %first {
        tile.copy %X to %Y : !s to !s
      }
    } {tile.role = "mover"}
    tile.fill %X, %zero : !s, f32
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// A stated schedule has one entry for a group: only those of one operation are opened.

// CHECK-LABEL: func.func @stated
// CHECK: tile.statement "two"
// CHECK: } {tile.role = "mover"}
// CHECK-NOT: tile.statement
// CHECK: tile.copy {{.*}}{tile.role = "mover"}
// CHECK: tile.statement "none"
func.func @stated(%n: index, %zero: f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  scf.for %k = %c0 to %n step %c1 {
    tile.statement "two" {
      tile.fill %X, %zero : !s, f32
      tile.copy %X to %Y : !s to !s
    } {tile.role = "mover"}
    tile.statement "one" {
      tile.copy %X to %Y : !s to !s
    } {tile.role = "mover"}
    tile.statement "none" {
      tile.copy %X to %Y : !s to !s
    }
  } {tile.schedule = #tile.schedule<stage = [0, 0, 0], order = [0, 1, 2]>}
  return
}
