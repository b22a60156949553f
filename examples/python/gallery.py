"""Kernels that models need. The C++ twins are in examples/gallery."""

import penstock.lang as pl
from penstock.lang import In, Out, Scalar, f16, f32, f8e4m3, i32, i8, index_t

LOG2E = 1.4426950408889634


class OnlineSoftmax:
    """Softmax over tiles of scores: rows are rescaled when a larger score appears. `scale` is
    log2(e) / sqrt(D)."""

    def __init__(self, b: pl.Block, scale: pl.Value[f32], rows: int):
        self.b, self.scale = b, scale
        self.top = b.local(f32, rows)
        self.old = b.local(f32, rows)
        self.rescale = b.local(f32, rows)
        self.sum = b.local(f32, rows)
        self.part = b.local(f32, rows)
        b.fill(self.top, -pl.infinity)
        b.fill(self.sum, 0)

    def weigh(self, scores: pl.Tile[f32], weights: pl.Tile[f16], out: pl.Tile[f32]) -> None:
        """Turns scores into weights. Every row must see a key of its first tile."""
        b, scale = self.b, self.scale
        b.copy(self.top, self.old)
        b.reduce(pl.Max, scores, 1, self.top, accumulate=True)
        b.set(self.rescale, pl.exp2((self.old - self.top) * scale))
        b.set(weights, pl.exp2((scores - pl.broadcast_rows(self.top)) * scale))
        b.reduce(pl.Sum, weights, 1, self.part)  # of the rounded weights, so that they add up to one
        b.set(self.sum, self.sum * self.rescale + self.part)
        b.set(out, out * pl.broadcast_rows(self.rescale))

    def normalize(self, out: pl.Tile[f32]) -> None:
        b = self.b
        b.set(self.sum, pl.where(self.sum > 0, 1 / self.sum, 0))  # one division for each row
        b.set(out, out * pl.broadcast_rows(self.sum))


@pl.kernel("x[R,C], weight[C], eps -> y[R,C]")
class RmsNorm:
    """Normalizes rows by their root mean square."""

    rows: int = 4
    columns: int = 256

    def __call__(self, b: pl.Block, x: In[f16], weight: In[f16], eps: Scalar[f32], y: Out[f16]) -> None:
        rows, columns = self.rows, self.columns
        R, C = x.shape
        first = b.grid(pl.ceil_div(R, rows)) * rows
        t = b.local(f32, rows, columns)
        w = b.local(f32, columns)
        scale = b.local(f32, rows)

        b.fill(scale, 0)
        for c in b.range(pl.ceil_div(C, columns)):
            b.copy(x.at(first, c * columns), t)  # zeros outside of x add nothing
            b.set(t, t * t)
            b.reduce(pl.Sum, t, 1, scale, accumulate=True)
        b.set(scale, pl.rsqrt(scale / pl.cast(f32, C) + eps))
        for c in b.range(pl.ceil_div(C, columns)):
            b.copy(x.at(first, c * columns), t)
            b.copy(weight.at(c * columns), w)
            b.set(t, t * pl.broadcast_rows(scale) * pl.broadcast_cols(w))
            b.copy(t, y.at(first, c * columns))


@pl.kernel("gate[R,C], up[R,C] -> y[R,C]")
class SwiGlu:
    """The gate of a feed-forward layer."""

    rows: int = 4
    columns: int = 256

    def __call__(self, b: pl.Block, gate: In[f16], up: In[f16], y: Out[f16]) -> None:
        rows, columns = self.rows, self.columns
        R, C = gate.shape
        r, c = b.grid(pl.ceil_div(R, rows), pl.ceil_div(C, columns))
        g = b.local(f32, rows, columns)
        u = b.local(f32, rows, columns)
        b.copy(gate.at(r * rows, c * columns), g)
        b.copy(up.at(r * rows, c * columns), u)
        b.set(g, g / (1 + pl.exp(0 - g)) * u)
        b.copy(g, y.at(r * rows, c * columns))


@pl.kernel("x[T,H,D], cosines[T,E], sines[T,E] -> y[T,H,D]")
class Rotary:
    """Rotates the halves of each head by the angles of its position."""

    rows: int = 16
    half: int = 32  # heads have 2 * half elements

    def __call__(self, b: pl.Block, x: In[f16], cosines: In[f32], sines: In[f32], y: Out[f16]) -> None:
        rows, half = self.rows, self.half
        T, H, D = x.shape
        b.require((D == 2 * half) & (cosines.size(1) == half), "D must be 2 * half, and E half")
        t, h = b.grid(pl.ceil_div(T, rows), H)
        first = t * rows
        low, high = b.local(f32, rows, half), b.local(f32, rows, half)
        c, s = b.local(f32, rows, half), b.local(f32, rows, half)
        turned = b.local(f32, rows, half)
        b.copy(x.at(first, h, 0).dims(0, 2), low)
        b.copy(x.at(first, h, half).dims(0, 2), high)
        b.copy(cosines.at(first, 0), c)
        b.copy(sines.at(first, 0), s)
        b.set(turned, low * c - high * s)
        b.copy(turned, y.at(first, h, 0).dims(0, 2))
        b.set(turned, high * c + low * s)
        b.copy(turned, y.at(first, h, half).dims(0, 2))


@pl.kernel("Q[H,M,D], K[G,N,D], V[G,N,D], scale -> O[H,M,D]")
class AttentionForward:
    """Attention of H query heads that share G heads of keys and values."""

    block_m: int = 64
    block_n: int = 64
    dim: int = 64  # the largest head
    stages: int = 2
    causal: bool = True

    def __call__(self, b: pl.Block, Q: In[f16], K: In[f16], V: In[f16], scale: Scalar[f32], O: Out[f16]) -> None:
        block_m, block_n, dim = self.block_m, self.block_n, self.dim
        H, M, D = Q.shape
        N = K.size(1)
        b.require(D <= dim, "the kernel was compiled for smaller heads")
        bm, h = b.grid(pl.ceil_div(M, block_m), H)
        m0, g = bm * block_m, h * K.size(0) // H
        Qs, Ks = b.shared(f16, block_m, dim), b.shared(f16, block_n, dim)
        Vs = b.shared(f16, block_n, dim)
        S = b.local(f32, block_m, block_n)
        P = b.local(f16, block_m, block_n)
        out = b.local(f32, block_m, dim)
        softmax = OnlineSoftmax(b, scale * LOG2E, block_m)
        b.copy(Q.at(h, m0, 0), Qs)
        b.fill(out, 0)
        # The last query sees the last key.
        keys = pl.min(N, pl.max(N - M + m0 + block_m, 0)) if self.causal else N
        for n in b.pipelined(pl.ceil_div(keys, block_n), num_stages=self.stages):
            b.copy(K.at(g, n * block_n, 0), Ks)
            b.gemm(Qs, pl.transposed(Ks), S, accumulate=False)
            with b.statement("softmax"):
                seen = pl.col(S) + n * block_n < N
                if self.causal:
                    seen = seen & (pl.row(S) + m0 + N - M >= pl.col(S) + n * block_n)
                b.set(S, pl.where(seen, S, -pl.infinity))
                softmax.weigh(S, P, out)
            b.copy(V.at(g, n * block_n, 0), Vs)
            b.gemm(P, Vs, out)
        softmax.normalize(out)
        b.copy(out, O.at(h, m0, 0))


@pl.kernel("q[B,G,R,D], K[B,G,N,D], V[B,G,N,D], lengths[B] in 0..N, scale -> o[B,G,R,D]")
class AttentionDecode:
    """One new token of each of B sequences against its cache of keys and values. R query heads share
    each of G heads of the cache; they are the rows of a tile."""

    rows: int = 16
    block_n: int = 64
    dim: int = 64
    stages: int = 2

    def __call__(self, b: pl.Block, q: In[f16], K: In[f16], V: In[f16], lengths: In[i32], scale: Scalar[f32],
                 o: Out[f16]) -> None:
        rows, block_n, dim = self.rows, self.block_n, self.dim
        b.require((q.size(2) <= rows) & (q.size(3) <= dim), "the kernel was compiled for smaller heads")
        g, sequence = b.grid(q.size(1), q.size(0))
        length = pl.max(pl.cast(index_t, b.bind("length", lengths.load(sequence))), 0)
        b.require(length <= K.size(2), "a sequence is longer than its cache")
        Qs, Ks = b.shared(f16, rows, dim), b.shared(f16, block_n, dim)
        Vs = b.shared(f16, block_n, dim)
        S = b.local(f32, rows, block_n)
        P = b.local(f16, rows, block_n)
        out = b.local(f32, rows, dim)
        softmax = OnlineSoftmax(b, scale * LOG2E, rows)
        b.copy(q.at(sequence, g, 0, 0), Qs)  # zeros after the last head
        b.fill(out, 0)
        for n in b.pipelined(pl.ceil_div(length, block_n), num_stages=self.stages):
            b.copy(K.at(sequence, g, n * block_n, 0), Ks)
            b.gemm(Qs, pl.transposed(Ks), S, accumulate=False)
            with b.statement("softmax"):
                b.set(S, pl.where(pl.col(S) + n * block_n < length, S, -pl.infinity))
                softmax.weigh(S, P, out)
            b.copy(V.at(sequence, g, n * block_n, 0), Vs)
            b.gemm(P, Vs, out)
        softmax.normalize(out)
        b.copy(out, o.at(sequence, g, 0, 0))


@pl.kernel("x[T,K], weights[E,N,K], experts[B] in -1..E-1 -> y[T,N]")
class MoeMatmul:
    """Tokens are sorted by expert, and padded so that each block of rows has one: experts[i] is the
    expert of rows i * block_m .. (i + 1) * block_m - 1; blocks of a negative expert are skipped."""

    block_m: int = 64
    block_n: int = 128
    block_k: int = 64
    stages: int = 3

    def __call__(self, b: pl.Block, x: In[f16], weights: In[f16], experts: In[i32], y: Out[f16]) -> None:
        block_m, block_n, block_k = self.block_m, self.block_n, self.block_k
        T, K = x.shape
        N = weights.size(1)
        b.require(experts.size(0) == pl.ceil_div(T, block_m), "one expert for each block of rows")
        bn, bm = b.grid(pl.ceil_div(N, block_n), pl.ceil_div(T, block_m))
        expert = pl.cast(index_t, b.bind("expert", experts.load(bm)))
        b.require(expert < weights.size(0), "an expert without weights")
        with b.when(expert >= 0):
            Xs = b.shared(f16, block_m, block_k)
            Ws = b.shared(f16, block_n, block_k)
            acc = b.local(f32, block_m, block_n)
            b.fill(acc, 0)
            for k in b.pipelined(pl.ceil_div(K, block_k), num_stages=self.stages):
                b.copy(x.at(bm * block_m, k * block_k), Xs)
                b.copy(weights.at(expert, bn * block_n, k * block_k), Ws)
                b.gemm(Xs, pl.transposed(Ws), acc)
            b.copy(acc, y.at(bm * block_m, bn * block_n))


@pl.kernel("x[M,K], weight[N,K], x_scale[M], weight_scale[N] -> y[M,N]")
class Fp8Linear:
    """Both operands are e4m3, with a scale for each token and each output."""

    block_m: int = 64
    block_n: int = 128
    block_k: int = 64
    stages: int = 3

    def __call__(self, b: pl.Block, x: In[f8e4m3], weight: In[f8e4m3], x_scale: In[f32], weight_scale: In[f32],
                 y: Out[f16]) -> None:
        block_m, block_n, block_k = self.block_m, self.block_n, self.block_k
        M, K = x.shape
        N = weight.size(0)
        bm, bn = b.grid(pl.ceil_div(M, block_m), pl.ceil_div(N, block_n), swizzle=8)
        Xs = b.shared(f8e4m3, block_m, block_k)
        Ws = b.shared(f8e4m3, block_n, block_k)
        acc = b.local(f32, block_m, block_n)
        left, right = b.local(f32, block_m), b.local(f32, block_n)
        b.fill(acc, 0)
        for k in b.pipelined(pl.ceil_div(K, block_k), num_stages=self.stages):
            b.copy(x.at(bm * block_m, k * block_k), Xs)
            b.copy(weight.at(bn * block_n, k * block_k), Ws)
            b.gemm(Xs, pl.transposed(Ws), acc)
        b.copy(x_scale.at(bm * block_m), left)
        b.copy(weight_scale.at(bn * block_n), right)
        b.set(acc, acc * pl.broadcast_rows(left) * pl.broadcast_cols(right))
        b.copy(acc, y.at(bm * block_m, bn * block_n))


@pl.kernel("x[M,K], packed[N,P], scales[N,S] -> y[M,N]")
class Int4Linear:
    """Weights are 0 .. 15 minus 8, times a scale for each output and each 64 inputs. The 32 bytes of a
    group hold inputs 0 .. 31 in their low halves and 32 .. 63 in their high halves."""

    block_m: int = 64
    block_n: int = 64
    stages: int = 2

    def __call__(self, b: pl.Block, x: In[f16], packed: In[i8], scales: In[f16], y: Out[f16]) -> None:
        block_m, block_n = self.block_m, self.block_n
        M, K = x.shape
        N = packed.size(0)
        b.require((K % 64 == 0) & (packed.size(1) * 2 == K) & (scales.size(1) * 64 == K),
                  "K must be a multiple of 64, with K/2 bytes and K/64 scales for each output")
        bm, bn = b.grid(pl.ceil_div(M, block_m), pl.ceil_div(N, block_n))
        Xs = b.shared(f16, block_m, 64)
        bytes = b.local(i8, block_n, 32)
        scale = b.local(f32, block_n)
        low, high = b.local(f16, block_n, 32), b.local(f16, block_n, 32)
        acc = b.local(f32, block_m, block_n)
        b.fill(acc, 0)
        for k in b.pipelined(pl.ceil_div(K, 64), num_stages=self.stages):
            b.copy(x.at(bm * block_m, k * 64), Xs)
            b.copy(packed.at(bn * block_n, k * 32), bytes)
            b.copy(scales.at(bn * block_n, k).dims(0), scale)
            with b.statement("dequantize"):
                value = pl.cast(i32, bytes)
                b.set(low, pl.cast(f32, (value & 15) - 8) * pl.broadcast_rows(scale))
                b.set(high, pl.cast(f32, (value & 240) // 16 - 8) * pl.broadcast_rows(scale))
            b.gemm(pl.slice(Xs, (0, 0), (block_m, 32)), pl.transposed(low), acc)
            b.gemm(pl.slice(Xs, (0, 32), (block_m, 32)), pl.transposed(high), acc)
        b.copy(acc, y.at(bm * block_m, bn * block_n))


@pl.kernel("x[R,C] -> values[R,K], indices[R,K]")
class TopK:
    """Values in decreasing order, and their columns; of equal values the first column comes first."""

    rows: int = 4
    columns: int = 1024  # the longest row

    def __call__(self, b: pl.Block, x: In[f32], values: Out[f32], indices: Out[i32]) -> None:
        rows, columns = self.rows, self.columns
        R, C = x.shape
        K = values.size(1)
        b.require((C <= columns) & (K <= C), "a row is longer than the tile, or shorter than K")
        first = b.grid(pl.ceil_div(R, rows)) * rows
        t = b.local(f32, rows, columns)
        at = b.local(i32, rows, columns)
        top = b.local(f32, rows)
        index = b.local(i32, rows)
        taken = b.local(i32, rows, columns)
        b.copy(x.at(first, 0), t, fill=-pl.infinity)
        b.fill(taken, 1)
        b.set(taken, pl.where(pl.col(taken) < C, taken - 1, taken))
        for k in b.range(K):
            # Rows may hold -infinity themselves: what was taken is marked apart.
            b.set(t, pl.where(taken > 0, -pl.infinity, t))
            b.reduce(pl.Max, t, 1, top)
            b.set(at, pl.where((taken == 0) & (t == pl.broadcast_rows(top)), pl.cast(i32, pl.col(at)), columns))
            b.reduce(pl.Min, at, 1, index)
            b.set(taken, pl.where(pl.cast(i32, pl.col(taken)) == pl.broadcast_rows(index), 1, taken))
            b.copy(top, values.at(first, k).dims(0))
            b.copy(index, indices.at(first, k).dims(0))


@pl.kernel("logits[R,C], labels[R] in 0..C-1 -> loss[R]")
class CrossEntropy:
    """loss = log(sum(exp(logits))) - logits[label]."""

    rows: int = 4
    columns: int = 512

    def __call__(self, b: pl.Block, logits: In[f32], labels: In[i32], loss: Out[f32]) -> None:
        rows, columns = self.rows, self.columns
        R, C = logits.shape
        first = b.grid(pl.ceil_div(R, rows)) * rows
        t = b.local(f32, rows, columns)
        top, old, sum = b.local(f32, rows), b.local(f32, rows), b.local(f32, rows)
        part, chosen = b.local(f32, rows), b.local(f32, rows)
        label = b.local(i32, rows)
        scratch = b.local(f32, rows, columns)
        b.copy(labels.at(first), label)
        b.fill(top, -pl.infinity)
        b.fill(sum, 0)
        b.fill(chosen, 0)
        for c in b.range(pl.ceil_div(C, columns)):
            b.copy(logits.at(first, c * columns), t, fill=-pl.infinity)
            b.copy(top, old)
            b.reduce(pl.Max, t, 1, top, accumulate=True)
            b.set(sum, sum * pl.where(old == top, 1, pl.exp(old - top)))
            # Takes the label's logit out of the tile that has it.
            b.set(scratch, pl.where(pl.cast(i32, pl.col(t) + c * columns) == pl.broadcast_rows(label), t, 0))
            b.reduce(pl.Sum, scratch, 1, chosen, accumulate=True)
            b.set(t, pl.exp(t - pl.broadcast_rows(top)))
            b.reduce(pl.Sum, t, 1, part)
            b.set(sum, sum + part)
        b.set(part, pl.log(sum) + top - chosen)
        b.copy(part, loss.at(first))
