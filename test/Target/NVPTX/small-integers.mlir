// RUN: penstock-opt %s --nv-lower-to-llvm | FileCheck %s

// An integer of 4 bits becomes the significand of 2^23 = 0x4b000000; 2^23 + 8 is subtracted.
// CHECK-LABEL: llvm.func @nibble(
// CHECK-NOT: llvm.sitofp
// CHECK: llvm.mlir.constant(15 : i32)
// CHECK: llvm.mlir.constant(1258291200 : i32)
// CHECK: %[[B:.*]] = llvm.inline_asm {{.*}}"lop3.b32 $0, $1, $2, $3, 0xea;"
// CHECK: %[[F:.*]] = llvm.bitcast %[[B]] : i32 to f32
// CHECK: %[[C:.*]] = llvm.mlir.constant(0x4B000008 : f32)
// CHECK: llvm.fsub %[[F]], %[[C]] : f32
func.func @nibble(%x: i32) -> f32 {
  %mask = arith.constant 15 : i32
  %eight = arith.constant 8 : i32
  %low = arith.andi %x, %mask : i32
  %v = arith.subi %low, %eight : i32
  %f = arith.sitofp %v : i32 to f32
  return %f : f32
}

// The high bits of a byte stay where they are: (2^23 + 16 x) / 16 - (2^19 + 8).
// CHECK-LABEL: llvm.func @high(
// CHECK-NOT: llvm.sdiv
// CHECK: llvm.mlir.constant(240 : i32)
// CHECK: "lop3.b32 $0, $1, $2, $3, 0xea;"
// CHECK: llvm.mlir.constant(6.250000e-02 : f32)
// CHECK: llvm.mlir.constant(-5.242960e+05 : f32)
// CHECK: llvm.intr.fma
func.func @high(%x: i32) -> f32 {
  %mask = arith.constant 240 : i32
  %sixteen = arith.constant 16 : i32
  %eight = arith.constant 8 : i32
  %bits = arith.andi %x, %mask : i32
  %high = arith.divsi %bits, %sixteen : i32
  %v = arith.subi %high, %eight : i32
  %f = arith.sitofp %v : i32 to f32
  return %f : f32
}

// Bits are lost: the quotient is rounded.
// CHECK-LABEL: llvm.func @rounded(
// CHECK: llvm.sdiv
func.func @rounded(%x: i32) -> f32 {
  %mask = arith.constant 255 : i32
  %sixteen = arith.constant 16 : i32
  %bits = arith.andi %x, %mask : i32
  %high = arith.divsi %bits, %sixteen : i32
  %f = arith.sitofp %high : i32 to f32
  return %f : f32
}

// 23 bits may be too many.
// CHECK-LABEL: llvm.func @large(
// CHECK: llvm.sitofp
func.func @large(%x: i32) -> f32 {
  %mask = arith.constant 8388607 : i32
  %low = arith.andi %x, %mask : i32
  %f = arith.sitofp %low : i32 to f32
  return %f : f32
}

// The integer may be negative.
// CHECK-LABEL: llvm.func @unknown(
// CHECK: llvm.sitofp
func.func @unknown(%x: i32) -> f32 {
  %eight = arith.constant 8 : i32
  %v = arith.subi %x, %eight : i32
  %f = arith.sitofp %v : i32 to f32
  return %f : f32
}
