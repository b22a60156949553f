#include "scale.h"

#include <cstdio>

int main() {
  std::vector<float> x(1000), y(1000);
  for (int i = 0; i < 1000; ++i)
    x[i] = float(i);
  auto scale = penstock::compile(Scale{}, penstock::Target::native());
  scale(penstock::view(x, {1000}), 0.5f, penstock::view(y, {1000}));
  for (int i = 0; i < 1000; ++i)
    if (y[i] != 0.5f * float(i))
      return 1;
  try {
    scale(penstock::view(x, {1000}), 0.5f, penstock::view(y, {999}));
    return 2;
  } catch (const penstock::Error &error) {
    if (error.diagnostics().size() != 1 || error.diagnostics()[0].code != 1302)
      return 3;
  }
  std::puts("consumer ok");
}
