"""The loops of the TileLang guide on annotations of software pipelines, in the order of the guide, each
as a kernel that runs. A comment `[n]` refers to the table in README.md."""

import penstock.lang as pl
from penstock.lang import In, Out, f16, f32, i32


# ---- schedules that the compiler infers, and stated ones


@pl.kernel("A[M,K], B[K,N] -> C[M,N]")
def inferred(b: pl.Block, A: In[f16], B: In[f16], C: Out[f16], *, BM: int = 128, BN: int = 128, BK: int = 32) -> None:
    M, K = A.shape
    bx, by = b.grid(pl.ceil_div(B.size(1), BN), pl.ceil_div(M, BM))
    A_shared, B_shared = b.shared(f16, BM, BK), b.shared(f16, BK, BN)
    C_local = b.local(f32, BM, BN)
    b.fill(C_local, 0)
    for ko in b.pipelined(pl.ceil_div(K, BK), num_stages=3):
        b.copy(A.at(by * BM, ko * BK), A_shared)
        b.copy(B.at(ko * BK, bx * BN), B_shared)
        b.gemm(A_shared, B_shared, C_local)
    b.copy(C_local, C.at(by * BM, bx * BN))


@pl.kernel("A[M,K], B[K,N] -> C[M,N]")
def stage_and_order(b: pl.Block, A: In[f16], B: In[f16], C: Out[f16], *, BM: int = 128, BN: int = 128,
                    BK: int = 32) -> None:
    M, K = A.shape
    bx, by = b.grid(pl.ceil_div(B.size(1), BN), pl.ceil_div(M, BM))
    A_shared, B_shared = b.shared(f16, BM, BK), b.shared(f16, BK, BN)
    C_local = b.local(f32, BM, BN)
    b.fill(C_local, 0)
    for ko in b.pipelined(
        pl.ceil_div(K, BK),
        stage=[0, 0, 1],
        order=[0, 1, 2],
    ):
        b.copy(A.at(by * BM, ko * BK), A_shared)
        b.copy(B.at(ko * BK, bx * BN), B_shared)
        b.gemm(A_shared, B_shared, C_local)
    b.copy(C_local, C.at(by * BM, bx * BN))


@pl.kernel("A[R,K], B[K,N] -> C[M,N]")
def reordered(b: pl.Block, A: In[f16], B: In[f16], C: Out[f16], *, BK: int = 64, BN: int = 64) -> None:
    """The MMA of an iteration before the copy for the next one. C is the sum over tiles of A."""
    num_tiles = pl.ceil_div(A.size(0), BK)
    b.grid(1)
    A_shared, B_shared = b.shared(f16, BK, BK), b.shared(f16, BK, BN)
    C_local = b.local(f32, BK, BN)
    b.fill(C_local, 0)
    b.copy(B.at(0, 0), B_shared)
    for ko in b.pipelined(
        num_tiles,
        stage=[0, 1],
        order=[1, 0],
    ):
        b.copy(A.at(ko * BK, 0), A_shared)
        b.gemm(A_shared, B_shared, C_local)
    b.copy(C_local, C.at(0, 0))


# ---- scalars, which have no entry


@pl.kernel("A[R,K], B[K,N] -> C[M,N]")
def scalar(b: pl.Block, A: In[f16], B: In[f16], C: Out[f16], *, BK: int = 64, BN: int = 64) -> None:
    num_tiles = pl.ceil_div(A.size(0), BK)
    b.grid(1)
    A_shared, B_shared = b.shared(f16, BK, BK), b.shared(f16, BK, BN)
    C_local = b.local(f32, BK, BN)
    b.fill(C_local, 0)
    b.copy(B.at(0, 0), B_shared)
    for ko in b.pipelined(
        num_tiles,
        stage=[0, 1],
        order=[1, 0],
    ):
        base = b.bind("base", ko * BK)
        b.copy(A.at(base, 0), A_shared)
        b.gemm(A_shared, B_shared, C_local)
    b.copy(C_local, C.at(0, 0))


@pl.kernel("A[N] -> B[N]")
def scalar_of_two_stages(b: pl.Block, A: In[f32], B: Out[f32], *, BK: int = 128) -> None:
    num_tiles = pl.ceil_div(A.size(0), BK)
    b.grid(1)
    A_shared = b.shared(f32, BK)
    for ko in b.pipelined(
        num_tiles,
        stage=[0, 1],
        order=[1, 0],
    ):
        base = b.bind("base", ko * BK)
        b.copy(A.at(base), A_shared)
        with b.parallel(BK) as tx:
            b.store(B.at(base + tx), b.load(A_shared, tx))


@pl.kernel("Ids[T], A[R,C] -> B[R]")
def scalar_from_a_tensor(b: pl.Block, Ids: In[i32], A: In[f32], B: Out[f32], *, BK: int = 128) -> None:
    num_tiles = Ids.size(0)
    b.grid(1)
    A_shared = b.shared(f32, BK)
    for ko in b.pipelined(num_tiles, stage=[0, 1], order=[1, 0]):
        idx = b.bind("idx", Ids.load(ko))
        b.copy(A.at(idx, 0), A_shared)
        b.store(B.at(idx), b.load(A_shared, 0))


@pl.kernel("Ids[T], A[R,C] -> B[R]")
def stored_scalar(b: pl.Block, Ids: In[i32], A: In[f32], B: Out[f32], *, BK: int = 128) -> None:
    """A store into a tile is a statement, and the tile has versions."""
    num_tiles = Ids.size(0)
    b.grid(1)
    A_shared = b.shared(f32, BK)
    idx_shared = b.shared(i32, 1)
    for ko in b.pipelined(num_tiles, stage=[0, 0, 1], order=[0, 1, 2]):
        b.store(idx_shared, 0, Ids.load(ko))
        b.copy(A.at(b.load(idx_shared, 0), 0), A_shared)
        b.store(B.at(b.load(idx_shared, 0)), b.load(A_shared, 0))


@pl.kernel("A[N] -> C[N]")
def value_of_a_tile(b: pl.Block, A: In[f32], C: Out[f32], *, BK: int = 128, tx: int = 3) -> None:
    """A scalar that reads a tile of the loop is a statement, in the stage of its uses."""
    num_tiles = pl.ceil_div(A.size(0), BK)
    b.grid(1)
    A_shared = b.shared(f32, BK)
    for ko in b.pipelined(num_tiles, stage=[0, 1, 1], order=[0, 1, 2]):
        b.copy(A.at(ko * BK), A_shared)
        value = b.bind("value", b.load(A_shared, tx))
        b.store(C.at(ko * BK + tx), value)


@pl.kernel("A[N] -> C[N]")
def stored_value(b: pl.Block, A: In[f32], C: Out[f32], *, BK: int = 128, tx: int = 3) -> None:
    """A value for a later stage is stored."""
    num_tiles = pl.ceil_div(A.size(0), BK)
    b.grid(1)
    A_shared = b.shared(f32, BK)
    value = b.local(f32, 1)
    for ko in b.pipelined(num_tiles, stage=[0, 1, 2], order=[0, 1, 2]):
        b.copy(A.at(ko * BK), A_shared)
        b.store(value, 0, b.load(A_shared, tx))
        b.store(C.at(ko * BK + tx), b.load(value, 0))


@pl.kernel("A[N], shift -> B[N]")
def scalars_of_scalars(b: pl.Block, A: In[f32], shift: pl.Index, B: Out[f32], *, BK: int = 128) -> None:
    """B is A, shifted to the left."""
    num_tiles = pl.ceil_div(A.size(0), BK)
    b.grid(1)
    A_shared = b.shared(f32, BK)
    for ko in b.pipelined(num_tiles, stage=[0, 1], order=[1, 0]):
        base = b.bind("base", ko * BK)
        offset = b.bind("offset", base + shift)
        b.copy(A.at(offset), A_shared)
        with b.parallel(BK) as tx:
            b.store(B.at(base + tx), b.load(A_shared, tx))


# ---- other forms of annotations


@pl.kernel("A[N] -> B[N]")
def entry_for_a_scalar(b: pl.Block, A: In[f32], B: Out[f32], *, BK: int = 128) -> None:
    """The first entries are for `base`: they are ignored, with the warning PS1228."""
    num_tiles = pl.ceil_div(A.size(0), BK)
    b.grid(1)
    A_shared = b.shared(f32, BK)
    for ko in b.pipelined(
        num_tiles,
        stage=[3, 0, 1],
        order=[1, 2, 0],
    ):
        base = b.bind("base", ko * BK)
        b.copy(A.at(base), A_shared)
        with b.parallel(BK) as tx:
            b.store(B.at(base + tx), b.load(A_shared, tx))


@pl.kernel("A[N] -> B[N]")
def async_stage(b: pl.Block, A: In[f32], B: Out[f32], *, BK: int = 128) -> None:
    num_tiles = pl.ceil_div(A.size(0), BK)
    b.grid(1)
    A_shared = b.shared(f32, BK)
    for ko in b.pipelined(
        num_tiles,
        stage=[0, 1],
        order=[1, 0],
        async_stages=[0],
    ):
        base = b.bind("base", ko * BK)
        b.copy(A.at(base), A_shared)
        with b.parallel(BK) as tx:
            b.store(B.at(base + tx), b.load(A_shared, tx))


@pl.kernel("A[M,K], B[K,N] -> C[M,N]")
def async_producers(b: pl.Block, A: In[f16], B: In[f16], C: Out[f16], *, BM: int = 128, BN: int = 128,
                    BK: int = 32) -> None:
    """The copies share a wait."""
    M, K = A.shape
    bx, by = b.grid(pl.ceil_div(B.size(1), BN), pl.ceil_div(M, BM))
    A_shared, B_shared = b.shared(f16, BM, BK), b.shared(f16, BK, BN)
    C_local = b.local(f32, BM, BN)
    b.fill(C_local, 0)
    for ko in b.pipelined(
        pl.ceil_div(K, BK),
        stage=[0, 0, 1],
        order=[0, 1, 2],
        async_producers=[1, 1, 0],
        async_producer_groups=[0, 0, -1],
    ):
        b.copy(A.at(by * BM, ko * BK), A_shared)
        b.copy(B.at(ko * BK, bx * BN), B_shared)
        b.gemm(A_shared, B_shared, C_local)
    b.copy(C_local, C.at(by * BM, bx * BN))
