// A program without exceptions and RTTI: try_compile and try_launch give errors
// as data.
#include "../plain/scale.h"

#include <cstdio>

int main() {
  std::vector<float> x(10, 3.0f), y(10);
  auto result = penstock::try_compile(Scale{}, penstock::Target::native());
  if (!result)
    return 1;
  if (!result.kernel.try_launch({}, penstock::view(x, {10}), 2.0f, penstock::view(y, {10})).empty())
    return 2;
  for (float value : y)
    if (value != 6.0f)
      return 3;
  auto wrong = penstock::try_compile(Scale{.block = 0}, penstock::Target::native());
  // The first error is ceil_div(.., 0).
  if (wrong || wrong.diagnostics.empty() || wrong.diagnostics[0].code != 1111)
    return 4;
  std::puts("consumer ok");
}
