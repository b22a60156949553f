"""Adds two vectors. The C++ twin is examples/vector_add."""

import penstock.lang as pl
from penstock.lang import In, Out, f32


@pl.kernel("a[N], b[N] -> c[N]", name="VectorAdd", space=pl.Space(block=[256, 1024, 4096]))
def vector_add(blk: pl.Block, a: In[f32], b: In[f32], c: Out[f32], *, block: int = 1024) -> None:
    # Sizes are only known at run time. A last, partial block is launched too.
    n = a.size(0)
    i = blk.grid(pl.ceil_div(n, block))

    x = blk.local(f32, block)
    y = blk.local(f32, block)

    # A copy fetches a tile from a slice of a tensor. What lies outside of the tensor reads as
    # zero, so the last block needs no special treatment.
    blk.copy(a.at(i * block), x)
    blk.copy(b.at(i * block), y)

    # Operators on tiles work element by element.
    blk.set(x, x + y)

    # Writing outside of the tensor does nothing: the copy is clipped.
    blk.copy(x, c.at(i * block))


if __name__ == "__main__":
    import numpy as np

    a, b = np.random.default_rng(1).standard_normal((2, 5000), np.float32)
    c = np.empty_like(a)
    vector_add(a, b, c)
    np.testing.assert_array_equal(c, a + b)
    print("vector_add: correct")
