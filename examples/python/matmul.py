"""C = A * transpose(B) in a software-pipelined loop. The C++ twin is examples/matmul."""

from typing import Generic, TypeVar

import penstock.lang as pl
from penstock.lang import In, Out, f16, f32

T = TypeVar("T", bound=pl.Element)


@pl.kernel("A[M,K], B[N,K] -> C[M,N]", flops="2*M*N*K")
class MatmulOf(Generic[T]):
    block_m: int = 128
    block_n: int = 128
    block_k: int = 64
    group: int = 8
    cluster_m: int = 1
    cluster_n: int = 1
    pair: int = 0
    launch_control: bool = False  # blocks take over others that have not started
    stages: int = 3
    space = (
        pl.Space(block_m=[64, 128, 256], block_n=[64, 128, 256], block_k=[64, 128], stages=[2, 3, 4])
        .where(lambda k: k.block_m < 256 or k.block_n < 256)
        .classes("M:log2, N, K"))

    def __call__(self, b: pl.Block, A: In[T], B: In[T], C: Out[T]) -> None:
        M, K = A.shape
        N = B.size(0)
        bm, bn = b.grid(pl.ceil_div(M, self.block_m), pl.ceil_div(N, self.block_n), swizzle=self.group)
        b.prefer(cluster=(self.cluster_m, self.cluster_n),  # of blocks that share copies
                 pair=self.pair != 0, launch_control=self.launch_control)
        As = b.shared(A.element, self.block_m, self.block_k)
        Bs = b.shared(A.element, self.block_n, self.block_k)
        acc = b.local(f32, self.block_m, self.block_n)

        b.fill(acc, 0)
        for ko in b.pipelined(pl.ceil_div(K, self.block_k), num_stages=self.stages):
            b.copy(A.at(bm * self.block_m, ko * self.block_k), As)
            b.copy(B.at(bn * self.block_n, ko * self.block_k), Bs)
            b.gemm(As, pl.transposed(Bs), acc)
        b.copy(acc, C.at(bm * self.block_m, bn * self.block_n))  # rounds, and clips at the edge


Matmul = MatmulOf.named("Matmul")[f16]  # type: ignore[attr-defined]  # mypy does not follow class decorators

if __name__ == "__main__":
    import numpy as np

    a, b = (np.random.default_rng(1).integers(-2, 3, s).astype(np.float16) for s in ((200, 96), (72, 96)))
    c = np.empty((200, 72), np.float16)
    Matmul(a, b, c)
    np.testing.assert_array_equal(c, a @ b.T)
    print("matmul: correct")
