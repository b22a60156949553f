"""A matmul with 4-bit weights, which have a scale for each output and each `group` inputs. The C++
twin is examples/int4_matmul."""

import penstock.lang as pl
from penstock.lang import In, Out, f16, f32, i4x2


@pl.kernel("x[M,K], weight[N,P], scale[N,S] -> y[M,N]")
class Int4Matmul:
    block_m: int = 64
    block_n: int = 128
    block_k: int = 64
    group: int = 64
    stages: int = 3
    space = pl.Space(block_m=[64, 128], block_n=[64, 128], stages=[2, 3, 4])

    def __call__(self, b: pl.Block, x: In[f16], weight: In[i4x2], scale: In[f16], y: Out[f16]) -> None:
        block_m, block_n, block_k, group = self.block_m, self.block_n, self.block_k, self.group
        M, K = x.shape
        N = weight.size(0)
        b.require(
            (weight.size(1) * 2 == K) & (scale.size(1) * group == K) & (K % block_k == 0),
            "K is a multiple of `group` and `block_k`, with K/2 bytes and K/group scales for each output")
        bm, bn = b.grid(pl.ceil_div(M, block_m), pl.ceil_div(N, block_n), swizzle=8)
        Xs = b.shared(f16, block_m, block_k)
        Ws = b.shared(i4x2, block_n, block_k // 2)
        w = b.local(f16, block_n, block_k)
        s = b.local(f16, block_n)
        acc = b.local(f32, block_n, block_m)
        Ys = b.shared(f16, block_n, block_m)

        # The product is weight * transpose(x), so that the weights that threads unpack and scale
        # are its left operand, which tensor cores read from registers or tensor memory.
        b.fill(acc, 0)
        for k in b.pipelined(K // block_k, num_stages=self.stages):
            b.copy(weight.at(bn * block_n, k * (block_k // 2)), Ws)
            b.copy(x.at(bm * block_m, k * block_k), Xs)
            b.copy(scale.at(bn * block_n, k * block_k // group).dims(0), s)
            with b.statement("dequantize"):
                b.unpack(Ws, w)
                b.set(w, w * pl.broadcast_rows(s))
            b.gemm(w, pl.transposed(Xs), acc)
        b.copy(acc, Ys)
        b.copy(pl.transposed(Ys), y.at(bm * block_m, bn * block_n))
