// RUN: penstock print %s kernel
func.func @k(%n: index) attributes {tile.kernel} {
  tile.print "{}" %n : index
  return
}

// EXPECT: error PS1503: `unknown-kernel.mlir` has no kernel `kernel`
// EXPECT:   help: it has: k
