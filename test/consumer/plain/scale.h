// A kernel that a consumer of the installed package might write.
#pragma once
#include <penstock/penstock.h>

struct Scale {
  int block = 256;
  static constexpr auto signature = "x[n], factor -> y[n]";

  void operator()(penstock::Block &b, penstock::In<float, 1> x, penstock::Scalar<float> factor,
                  penstock::Out<float, 1> y) const {
    auto start = b.grid(penstock::ceil_div(x.size(0), block)) * block;
    auto tile = b.local<float>(block);
    b.copy(x.at(start), tile);
    b.set(tile, tile * factor);
    b.copy(tile, y.at(start));
  }
};
