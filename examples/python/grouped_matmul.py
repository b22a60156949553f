"""Matmuls of groups of rows, each with its own matrix. The C++ twin is examples/grouped_matmul."""

import penstock.lang as pl
from penstock.lang import In, Out, f16, f32, i32


@pl.kernel("A[T,K], B[G,N,K], Rows[G] in 0..T partition -> C[T,N]")
class GroupedMatmul:
    block_m: int = 64
    block_n: int = 128
    block_k: int = 64
    stages: int = 3
    space = pl.Space(block_m=[64, 128], block_n=[64, 128, 256], stages=[2, 3, 4])

    def __call__(self, b: pl.Block, A: In[f16], B: In[f16], Rows: In[i32], C: Out[f16]) -> None:
        block_m, block_n, block_k = self.block_m, self.block_n, self.block_k
        T, K = A.shape
        G = B.size(0)
        N = B.size(1)

        # A tile of rows must not mix groups, so each group may end in a partial tile. This many
        # tiles are enough for every division, and those left over do nothing.
        bn, tile = b.grid(pl.ceil_div(N, block_n), pl.ceil_div(T, block_m) + G)

        # Which group does this block's tile belong to? Walk over the groups and count tiles.
        mine = pl.cast(i32, tile)
        group, row0, end = b.var(i32, -1), b.var(i32, 0), b.var(i32, 0)  # of this block's tile
        tiles, rows = b.var(i32, 0), b.var(i32, 0)  # of the groups before g
        for g in b.range(G):
            count = b.bind("count", Rows.load(g))
            group_tiles = (count + (block_m - 1)) // block_m
            with b.when((mine >= tiles) & (mine < tiles + group_tiles)):
                group.set(pl.cast(i32, g))
                row0.set(rows + (mine - tiles) * block_m)
                end.set(rows + count)
            tiles += group_tiles
            rows += count
        # Faults are reported by the launch, with this line.
        b.require(rows == T, "the rows of all groups must be the rows of A")

        with b.when(group >= 0):
            As = b.shared(f16, block_m, block_k)
            Bs = b.shared(f16, block_n, block_k)
            acc = b.local(f32, block_m, block_n)

            b.fill(acc, 0)
            for k in b.pipelined(pl.ceil_div(K, block_k), num_stages=self.stages):
                b.copy(A.at(row0, k * block_k), As)
                # A tile of two dimensions runs along the last two of the tensor.
                b.copy(B.at(group, bn * block_n, k * block_k), Bs)
                b.gemm(As, pl.transposed(Bs), acc)

            # A copy is clipped at the tensor's edge, but not at the group's: the rows behind it
            # belong to another block, which writes them. So elements are stored one by one.
            with b.parallel(block_m, block_n) as (i, j):
                with b.when((row0 + i < end) & (bn * block_n + j < N)):
                    b.store(C.at(row0 + i, bn * block_n + j), pl.cast(f16, b.load(acc, i, j)))
