!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<8xf32, #tile.space<shared>>
!a = memref<8xf32, #tile.space<local>>
func.func @sum(%A: !t {tile.access="in", tile.name="A"}, %n: index, %C: !t {tile.access="out", tile.name="C"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  %s = tile.alloc "s" : !s
  %acc = tile.alloc "acc" : !a
  tile.fill %acc, %z : !a, f32
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    tile.copy %A[%o] to %s : !t to !s
    tile.map %acc ins(%acc, %s) dims [[0], [0]] {
    ^bb0(%x: f32, %y: f32):
      %r = arith.addf %x, %y : f32
      tile.yield %r : f32
    } : !a ins(!a, !s)
  } {tile.schedule = #tile.schedule<num_stages = 3>}
  tile.copy %acc to %C[%c0] : !a to !t
  return
}
