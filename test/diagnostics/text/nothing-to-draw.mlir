// RUN: penstock trace %s k
func.func @k(%n: index) attributes {tile.kernel} {
  tile.print "{}" %n : index
  return
}

// EXPECT: nothing-to-draw.mlir:2: error PS1504: `k` has no pipelined loop
// EXPECT:     2 | func.func @k(%n: index) attributes {tile.kernel} {
// EXPECT:       | ^
// EXPECT:   help: a run on the emulator is drawn for a shape: penstock trace --shape
