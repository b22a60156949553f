"""Counts of numbers, with atomics in shared memory and then in global memory. The C++ twin is
examples/histogram."""

import penstock.lang as pl
from penstock.lang import In, InOut, i32


@pl.kernel("X[N] in -1..B -> Counts[B]")
class Histogram:
    # A block counts `block` numbers; `bins` is the largest B that it can serve.
    block: int = 4096
    bins: int = 256
    space = pl.Space(block=[256, 1024, 4096])

    # Counts is added to, so it is InOut and the caller sets it to zero.
    def __call__(self, b: pl.Block, X: In[i32], Counts: InOut[i32]) -> None:
        i0 = b.grid(pl.ceil_div(X.size(0), self.block)) * self.block
        B = Counts.size(0)
        b.require(B <= self.bins, "the kernel was compiled for fewer bins")

        # Each block counts for itself first: atomics on memory that all blocks share are slow when
        # many of them meet.
        x = b.local(i32, self.block)
        counts = b.shared(i32, self.bins)
        b.fill(counts, 0)
        b.copy(X.at(i0), x, fill=-1)  # outside of X: nothing to count

        # The bodies of parallel() run in any order and at the same time, so two of them that meet
        # at one counter need an atomic.
        with b.parallel(self.block) as i:
            value = b.load(x, i)
            with b.when((value >= 0) & (value < self.bins)):
                b.atomic(pl.Add, counts, value, 1)
        with b.parallel(self.bins) as j:
            count = b.load(counts, j)
            with b.when((j < B) & (count != 0)):
                b.atomic(pl.Add, Counts.at(j), count)
