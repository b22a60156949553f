"""Rows of a table by their numbers. The C++ twin is examples/gather."""

import penstock.lang as pl
from penstock.lang import In, Out, f16, i32, index_t


@pl.kernel("Table[V,D], Ids[M] -> Y[M,D]")
class Gather:
    block_m: int = 32
    block_n: int = 128
    space = pl.Space(block_m=[16, 32, 64], block_n=[32, 64, 128])

    def __call__(self, b: pl.Block, Table: In[f16], Ids: In[i32], Y: Out[f16]) -> None:
        M, D = Y.shape
        bn, bm = b.grid(pl.ceil_div(D, self.block_n), pl.ceil_div(M, self.block_m))
        m0, n0 = bm * self.block_m, bn * self.block_n

        ids = b.local(i32, self.block_m)
        y = b.local(f16, self.block_m, self.block_n)
        b.copy(Ids.at(m0), ids)

        # gather() reads the element at the given indices, for each element of y. Unlike a copy it
        # is not clipped: reading outside of the table is a fault that the launch reports, so a
        # wrong id is found and not hidden. The tile's own elements outside of Y must therefore be
        # led to a valid index; what they read is dropped by the last copy.
        column = pl.col(y) + n0
        id = pl.cast(index_t, pl.broadcast_rows(ids))  # ids outside of Ids were read as zero
        b.set(y, Table.gather(id, pl.where(column < D, column, 0)))
        b.copy(y, Y.at(m0, n0))
