// RUN: penstock print missing.mlir k
func.func @k(%n: index) attributes {tile.kernel} {
  tile.print "{}" %n : index
  return
}

// EXPECT: error PS1502: `missing.mlir` cannot be read: No such file or directory
