// The headers of bundles from C++, and what a bundle says without a GPU.
#include "add.h"
#include "matmul.h"
#include <cstdio>
#include <type_traits>

static_assert(std::is_standard_layout_v<matmul_args> && std::is_trivial_v<add_args>);

int main() {
  add_t *add = nullptr;
  char why[512] = "";
  int code = add_load(&add, why, sizeof why);
  std::printf("%d %s\n", code, why);
  add_args args{};
  if (!code)
    code = add_launch(add, nullptr, &args, why, sizeof why);
  add_unload(add);
  return code;
}
