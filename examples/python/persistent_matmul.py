"""A matmul with a fixed number of blocks that take tile after tile. The C++ twin is
examples/persistent_matmul."""

import penstock.lang as pl
from penstock.lang import In, Out, f16, f32


@pl.kernel("A[M,K], B[N,K] -> C[M,N]")
class PersistentMatmul:
    blocks: int = 132  # multiprocessors of an H100; a B200 has 148
    block_m: int = 128
    block_n: int = 128
    block_k: int = 64
    stages: int = 4
    pair: int = 0  # 1: two blocks, one tile below the other, multiply as one on Blackwell
    space = pl.Space(block_m=[64, 128], block_n=[64, 128, 256], stages=[3, 4, 5])

    def __call__(self, b: pl.Block, A: In[f16], B: In[f16], C: Out[f16]) -> None:
        M, K = A.shape
        columns = pl.ceil_div(B.size(0), self.block_n)
        members = 2 if self.pair else 1
        teams = max(self.blocks // members, 1)
        tiles = pl.ceil_div(M, members * self.block_m) * columns  # of a team
        member, team = b.grid(members, pl.min(tiles, teams))
        b.prefer(pair=self.pair != 0)

        As, Bs = b.shared(f16, self.block_m, self.block_k), b.shared(f16, self.block_n, self.block_k)
        acc = b.local(f32, self.block_m, self.block_n)
        for tile in b.range(team, tiles, teams):
            m0, n0 = (tile // columns * members + member) * self.block_m, tile % columns * self.block_n
            b.fill(acc, 0)
            for k in b.pipelined(pl.ceil_div(K, self.block_k), num_stages=self.stages):
                b.copy(A.at(m0, k * self.block_k), As)
                b.copy(B.at(n0, k * self.block_k), Bs)
                b.gemm(As, pl.transposed(Bs), acc)
            b.copy(acc, C.at(m0, n0))  # under the next tile's loads and products
