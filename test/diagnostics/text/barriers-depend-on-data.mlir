// RUN: penstock compile %s k --target sm_90a -o /dev/null
!x = memref<?xi32, strided<[1]>, #tile.space<global>>
func.func @k(%x: !x) attributes {tile.kernel, nv.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %full = nv.mbarrier.alloc "full" [32] : !nv.barriers<1>
  %value = tile.load %x[%c0] : !x -> i32
  %more = arith.cmpi ne, %value, %zero : i32
  scf.if %more {
    nv.mbarrier.arrive %full[%c0] : !nv.barriers<1>
  }
  return
}

// EXPECT: barriers-depend-on-data.mlir:9: warning PS1617: not all of the barriers were checked: whether this is done depends on data
// EXPECT:     9 |   scf.if %more {
// EXPECT:       |   ^
// EXPECT:   help: barriers, phases and trip counts that follow from sizes of tensors are checked here; the emulator checks the rest: `penstock check`
