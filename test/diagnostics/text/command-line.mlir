// RUN: penstock compile %s k --set block=64
func.func @k(%n: index) attributes {tile.kernel} {
  tile.print "{}" %n : index
  return
}

// EXPECT: error PS1501: --set and --fix need a kernel of a library; `command-line.mlir` is text
