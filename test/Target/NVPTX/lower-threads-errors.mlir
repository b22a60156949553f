// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --nv-lower-threads --verify-diagnostics

// The values of a launch are computed by a function that an earlier pass creates.
// expected-error @+1 {{`nv-lower-threads` requires `@k.launch`, which `tile-lower-launch` creates}}
func.func @k() attributes {tile.kernel, nv.threads = 64 : i64} {
  nv.sync
  return
}
