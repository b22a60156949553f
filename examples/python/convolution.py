"""A 3 x 3 convolution as a matmul over taps and channels. The C++ twin is examples/convolution."""

import penstock.lang as pl
from penstock.lang import In, Out, f16, f32


@pl.kernel("X[B,H,W,C], F[O,T,C] -> Y[B,H,W,O]")
class Convolution:
    block_h: int = 8
    block_w: int = 16
    block_n: int = 128
    block_k: int = 64
    stages: int = 3
    space = pl.Space(block_h=[4, 8, 16], block_n=[64, 128, 256], stages=[2, 3, 4])

    def __call__(self, b: pl.Block, X: In[f16], F: In[f16], Y: Out[f16]) -> None:
        block_h, block_w, block_n, block_k = self.block_h, self.block_w, self.block_n, self.block_k
        B, H, W, C = X.shape
        O = F.size(0)
        b.require(F.size(1) == 9, "filters have 3 x 3 taps")
        tiles_w = pl.ceil_div(W, block_w)
        image, bh, tile = b.grid(B, pl.ceil_div(H, block_h), tiles_w * pl.ceil_div(O, block_n))
        bn, bw = pl.fast_divmod(tile, pl.max(tiles_w, 1))
        y0, x0, n0 = bh * block_h, bw * block_w, bn * block_n

        Xs = b.shared(f16, block_h, block_w, block_k)
        Fs = b.shared(f16, block_n, block_k)
        acc = b.local(f32, block_h, block_w, block_n)
        b.fill(acc, 0)
        steps = pl.ceil_div(C, block_k)
        for k in b.pipelined(9 * steps, num_stages=self.stages):
            tap, step = pl.fast_divmod(k, pl.max(steps, 1))
            c0 = step * block_k
            b.copy(X.at(image, y0 + tap // 3 - 1, x0 + tap % 3 - 1, c0), Xs)
            b.copy(F.at(n0, tap, c0).dims(0, 2), Fs)
            b.gemm(pl.as_matrix(Xs), pl.transposed(Fs), pl.as_matrix(acc))
        b.copy(acc, Y.at(image, y0, x0, n0))
