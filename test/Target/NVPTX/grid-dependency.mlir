// RUN: penstock-opt %s --split-input-file --tile-attach-target=target=sm_90a --nv-start-kernel=aligned-rows=true --tile-resolve-schedules --nv-choose-threads --nv-assign-spaces --nv-bind-engines --nv-place-accumulators --nv-assign-roles --nv-write-plans --nv-execute-in-order | FileCheck %s --check-prefix=ROLES
// RUN: penstock-opt %s --split-input-file --penstock-gpu=target=sm_90a | FileCheck %s --check-prefixes=PTX,HOPPER
// RUN: penstock-opt %s --split-input-file --penstock-gpu=target=sm_100a | FileCheck %s --check-prefix=PTX
// RUN: penstock-opt %s --split-input-file --penstock-gpu=target=sm_80 | FileCheck %s --check-prefix=AMPERE

#s = #tile.space<shared>
#g = #tile.space<global>

// Every warp waits, the one that loads by TMA as well, before anything that accesses
// tensors. The wait comes before the fill, which accesses none: accumulators stay in one
// region. Only the warps that compute let the next kernel start.
// ROLES-LABEL: func.func @matmul
// ROLES-NOT: nv.warps
// ROLES: {{^  }}tile.wait_for_previous
// ROLES: nv.warps 8, 1 {
// ROLES-NOT: tile.launch_dependents
// ROLES: nv.tma.load
// ROLES: nv.warps 0, 8 {
// ROLES: tile.fill
// ROLES: nv.wgmma.mma
// ROLES: {{^    }}tile.launch_dependents
// ROLES-NOT: tile.wait_for_previous

// PTX-LABEL: llvm.func @matmul
// PTX-NOT: cp.async.bulk
// PTX: griddepcontrol.wait;{{.*}}~{memory}
// PTX-NOT: griddepcontrol
// PTX: cp.async.bulk.tensor
// PTX: griddepcontrol.launch_dependents;
// PTX-NOT: griddepcontrol.wait

// Kernels do not overlap there.
// AMPERE-LABEL: llvm.func @matmul
// AMPERE-NOT: griddepcontrol
func.func @matmul(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.access = "in"},
                  %B: memref<?x?xf16, strided<[?, 1]>, #g> {tile.access = "in"},
                  %C: memref<?x?xf16, strided<[?, 1]>, #g> {tile.access = "out"})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %K = memref.dim %A, %c1 : memref<?x?xf16, strided<[?, 1]>, #g>
  %n = arith.ceildivsi %K, %c64 : index
  %As = tile.alloc "As" : memref<128x64xf16, #s>
  %Bs = tile.alloc "Bs" : memref<128x64xf16, #s>
  %acc = tile.alloc "acc" : memref<128x128xf32, #tile.space<local>>
  tile.fill %acc, %zero : memref<128x128xf32, #tile.space<local>>, f32
  tile.wait_for_previous
  scf.for %k = %c0 to %n step %c1 {
    %at = arith.muli %k, %c64 : index
    tile.copy %A[%c0, %at] to %As : memref<?x?xf16, strided<[?, 1]>, #g> to memref<128x64xf16, #s>
    tile.copy %B[%c0, %at] to %Bs : memref<?x?xf16, strided<[?, 1]>, #g> to memref<128x64xf16, #s>
    %Bt = memref.transpose %Bs (i, j) -> (j, i) : memref<128x64xf16, #s> to memref<64x128xf16, strided<[1, 64]>, #s>
    tile.gemm %As, %Bt into %acc : memref<128x64xf16, #s>, memref<64x128xf16, strided<[1, 64]>, #s>, memref<128x128xf32, #tile.space<local>>
  } {tile.schedule = #tile.schedule<num_stages = 3>}
  tile.launch_dependents
  tile.copy %acc to %C[%c0, %c0] : memref<128x128xf32, #tile.space<local>> to memref<?x?xf16, strided<[?, 1]>, #g>
  return
}

// -----

// A load before the wait stays there, and one after it does not move up, although both
// read the same tensor.
// ROLES-LABEL: func.func @twice
// PTX-LABEL: llvm.func @twice
// PTX: llvm.load
// PTX: griddepcontrol.wait;
// HOPPER: llvm.load
func.func @twice(%x: memref<?xf32, strided<[1]>, #tile.space<global>> {tile.access = "in"},
                 %y: memref<?xf32, strided<[1]>, #tile.space<global>> {tile.access = "out"})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %early = tile.load %x[%c0] : memref<?xf32, strided<[1]>, #tile.space<global>> -> f32
  tile.wait_for_previous
  %late = tile.load %x[%c0] : memref<?xf32, strided<[1]>, #tile.space<global>> -> f32
  tile.store %early, %y[%c0] : f32, memref<?xf32, strided<[1]>, #tile.space<global>>
  tile.store %late, %y[%c1] : f32, memref<?xf32, strided<[1]>, #tile.space<global>>
  return
}
