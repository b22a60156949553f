// RUN: penstock cache import %s
func.func @k() attributes {tile.kernel} {
  return
}

// EXPECT: error PS1725: `cache-archive.mlir` cannot be imported: it is not an exported cache
// EXPECT:   help: make it with `penstock cache export`
