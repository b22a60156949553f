# Compiles Triton counterparts of Penstock's kernels to PTX, without a GPU.
#
#   triton_kernels.py DIRECTORY
#
# Same tiles, element types and number of stages as the kernels of examples/. A
# kernel that Triton cannot compile is reported on one line and left out.
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(A, B, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROLES: tl.constexpr):
    m0 = tl.program_id(0) * BM
    n0 = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=ROLES):
        acc = tl.dot(A.load([m0, k * BK]), B.load([n0, k * BK]).T, acc)
    C.store([m0, n0], acc.to(tl.float16))


@triton.jit
def matmul_pointers(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                    MASKED: tl.constexpr):
    """With MASKED, out-of-bounds rows of A and B are not read; otherwise row indices wrap around."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    rows, columns = (m, n) if MASKED else (m % M, n % N)
    a = A + rows[:, None] * K + k[None, :]
    b = B + columns[None, :] * K + k[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in tl.range(0, tl.cdiv(K, BK)):
        seen = k < K - k0 * BK
        if MASKED:
            x = tl.load(a, (m < M)[:, None] & seen[None, :], 0.0)
            y = tl.load(b, (n < N)[None, :] & seen[:, None], 0.0)
        else:
            x = tl.load(a, seen[None, :], 0.0)
            y = tl.load(b, seen[:, None], 0.0)
        acc = tl.dot(x, y, acc)
        a += BK
        b += BK
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16),
             (m < M)[:, None] & (n < N)[None, :])


@triton.jit
def matmul_persistent(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                      BLOCKS: tl.constexpr):
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, BLOCKS, flatten=True):
        m0 = tile // columns * BM
        n0 = tile % columns * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in tl.range(0, tl.cdiv(K, BK)):
            acc = tl.dot(A.load([m0, k * BK]), B.load([n0, k * BK]).T, acc)
        C.store([m0, n0], acc.to(tl.float16))


@triton.jit
def attention_pointers(Q, K, V, O, scale, M, N, BM: tl.constexpr, BN: tl.constexpr,
                       D: tl.constexpr):
    h = tl.program_id(1)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(Q + (h * M + m)[:, None] * D + d[None, :], (m < M)[:, None], 0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, D), tl.float32)
    for n0 in tl.range(0, N, BN):
        n = n0 + tl.arange(0, BN)
        k = tl.load(K + (h * N + n)[None, :] * D + d[:, None], (n < N)[None, :], 0.0)
        scores = tl.where((n < N)[None, :], tl.dot(q, k), float("-inf"))
        old, top = top, tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2((scores - top[:, None]) * scale)
        rescale = tl.exp2((old - top) * scale)
        total = total * rescale + tl.sum(weights, 1)
        out = out * rescale[:, None]
        v = tl.load(V + (h * N + n)[:, None] * D + d[None, :], (n < N)[:, None], 0.0)
        out = tl.dot(weights.to(tl.float16), v, out)
    out = tl.where((total > 0)[:, None], out / total[:, None], 0)
    tl.store(O + (h * M + m)[:, None] * D + d[None, :], out.to(tl.float16), (m < M)[:, None])


@triton.jit
def attention(Q, K, V, O, scale, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
              ROLES: tl.constexpr):
    m0 = tl.program_id(0) * BM
    h = tl.program_id(1)
    q = Q.load([h, m0, 0]).reshape(BM, D)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, D), tl.float32)
    for n0 in tl.range(0, N, BN, warp_specialize=ROLES):
        scores = tl.dot(q, K.load([h, n0, 0]).reshape(BN, D).T)
        seen = (n0 + tl.arange(0, BN) < N)[None, :]
        scores = tl.where(seen, scores, float("-inf"))
        old, top = top, tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2((scores - top[:, None]) * scale)
        rescale = tl.exp2((old - top) * scale)
        total = total * rescale + tl.sum(weights, 1)
        out = out * rescale[:, None]
        out = tl.dot(weights.to(tl.float16), V.load([h, n0, 0]).reshape(BN, D), out)
    out = tl.where((total > 0)[:, None], out / total[:, None], 0)
    O.store([h, m0, 0], out.to(tl.float16).reshape(1, BM, D))


@triton.jit
def vector_add(A, B, C, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(C + i, tl.load(A + i, i < N, 0.0) + tl.load(B + i, i < N, 0.0), i < N)


@triton.jit
def softmax(X, Y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None]
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for n0 in tl.range(0, N, BN):
        n = (n0 + tl.arange(0, BN))[None, :]
        x = tl.load(X + m * N + n, (m < M) & (n < N), float("-inf"))
        old, top = top, tl.maximum(top, tl.max(x, 1))
        total = total * tl.exp(old - top) + tl.sum(tl.exp(x - top[:, None]), 1)
    total = 1 / total
    for n0 in tl.range(0, N, BN):
        n = (n0 + tl.arange(0, BN))[None, :]
        x = tl.load(X + m * N + n, (m < M) & (n < N), 0.0)
        tl.store(Y + m * N + n, tl.exp(x - top[:, None]) * total[:, None], (m < M) & (n < N))


@triton.jit
def layer_norm(X, gamma, beta, Y, eps, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None]
    mean = tl.zeros((BM,), tl.float32)
    for n0 in tl.range(0, N, BN):
        n = (n0 + tl.arange(0, BN))[None, :]
        mean += tl.sum(tl.load(X + m * N + n, (m < M) & (n < N), 0.0).to(tl.float32), 1)
    mean = mean / N
    scale = tl.zeros((BM,), tl.float32)
    for n0 in tl.range(0, N, BN):
        n = (n0 + tl.arange(0, BN))[None, :]
        x = tl.load(X + m * N + n, (m < M) & (n < N), 0.0).to(tl.float32) - mean[:, None]
        scale += tl.sum(tl.where(n < N, x * x, 0.0), 1)
    scale = tl.rsqrt(scale / N + eps)
    for n0 in tl.range(0, N, BN):
        k = n0 + tl.arange(0, BN)
        n = k[None, :]
        x = tl.load(X + m * N + n, (m < M) & (n < N), 0.0).to(tl.float32)
        g = tl.load(gamma + k, k < N, 0.0)[None, :]
        h = tl.load(beta + k, k < N, 0.0)[None, :]
        y = (x - mean[:, None]) * scale[:, None] * g + h
        tl.store(Y + m * N + n, y.to(tl.bfloat16), (m < M) & (n < N))


@triton.jit
def transpose(X, Y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    x = tl.load(X + m[:, None] * N + n[None, :], (m < M)[:, None] & (n < N)[None, :], 0.0)
    tl.store(Y + n[:, None] * M + m[None, :], x.T, (n < N)[:, None] & (m < M)[None, :])


def tile(*sizes):
    return "tensordesc<fp16[%s]>" % ", ".join(map(str, sizes))


def write(directory, name, kernel, arguments, constants, arch, divisible=(), **options):
    signature = dict(arguments, **{constant: "constexpr" for constant in constants})
    names = list(signature)
    source = ASTSource(fn=kernel, signature=signature,
                       constexprs={(names.index(c),): v for c, v in constants.items()},
                       attrs={(names.index(d),): [["tt.divisibility", 16]] for d in divisible})
    try:
        made = triton.compile(source, target=GPUTarget("cuda", arch, 32),
                              options=dict(options, enable_fp_fusion=True))
    except Exception as problem:
        print("skipped\t%s\tTriton: %s" % (name, str(problem).splitlines()[0][:100]))
        return
    with open(os.path.join(directory, name + ".ptx"), "w") as file:
        file.write(made.asm["ptx"])
    print("shared\t%s\t%d" % (name, made.metadata.shared))


def architecture(arch):
    """Its name; GPUs since Hopper have instructions of their own."""
    return "sm_%d%s" % (arch, "a" if arch >= 90 else "")


def write_row_kernels(directory, arch):
    """Rows, and so the sizes, are multiples of 16 bytes."""
    name = "%s." + architecture(arch) + ".triton"
    f32, bf16, size = "*fp32", "*bf16", "i32"
    write(directory, name % "vector_add", vector_add, {"A": f32, "B": f32, "C": f32, "N": size},
          {"BLOCK": 1024}, arch, "ABCN")
    write(directory, name % "softmax", softmax, {"X": f32, "Y": f32, "M": size, "N": size},
          {"BM": 16, "BN": 128}, arch, "XYN")
    write(directory, name % "layer_norm", layer_norm,
          {"X": bf16, "gamma": f32, "beta": f32, "Y": bf16, "eps": "fp32", "M": size, "N": size},
          {"BM": 16, "BN": 128}, arch, ("X", "gamma", "beta", "Y", "N"))
    write(directory, name % "transpose", transpose, {"X": f32, "Y": f32, "M": size, "N": size},
          {"BM": 64, "BN": 64}, arch, "XYMN")


def write_tensor_core_kernels(directory, arch, warps, stages, rows, persistent):
    """Kernels for GPUs with TMA. `warps`: of a matmul block; `rows`: of an attention tile."""
    arguments = {"A": tile(128, 64), "B": tile(128, 64), "C": tile(128, 128)}
    for roles in (False, True):
        name = "%s." + architecture(arch) + (".triton-roles" if roles else ".triton")
        write(directory, name % "matmul", matmul, dict(arguments, K="i32"),
              {"BM": 128, "BN": 128, "BK": 64, "ROLES": roles}, arch,
              num_warps=warps, num_stages=stages)
        for kernel, dim in (("attention", 64), ("attention-d128", 128)):
            write(directory, name % kernel, attention,
                  {"Q": tile(1, rows, dim), "K": tile(1, 64, dim), "V": tile(1, 64, dim),
                   "O": tile(1, rows, dim), "scale": "fp32", "N": "i32"},
                  {"BM": rows, "BN": 64, "D": dim, "ROLES": roles}, arch,
                  num_warps=4, num_stages=2)
    write(directory, "matmul-persistent.%s.triton" % architecture(arch), matmul_persistent,
          dict(arguments, M="i32", N="i32", K="i32"),
          {"BM": 128, "BN": 128, "BK": 64, "BLOCKS": persistent}, arch,
          num_warps=warps, num_stages=stages)


def write_warp_kernels(directory, arch, suffix):
    """Kernels for GPUs with warp-level MMAs."""
    f16, size = "*fp16", "i32"
    for masked in (False, True):
        write(directory, "matmul.%s.triton%s%s" % (architecture(arch), suffix, "-masked" * masked),
              matmul_pointers, {"A": f16, "B": f16, "C": f16, "M": size, "N": size, "K": size},
              {"BM": 128, "BN": 128, "BK": 64, "MASKED": masked}, arch, "ABCNK",
              num_warps=4, num_stages=3)
    for kernel, dim in (("attention", 64), ("attention-d128", 128)):
        write(directory, "%s.%s.triton%s" % (kernel, architecture(arch), suffix),
              attention_pointers, {"Q": f16, "K": f16, "V": f16, "O": f16, "scale": "fp32",
                                   "M": size, "N": size},
              {"BM": 64, "BN": 64, "D": dim}, arch, "QKVO", num_warps=4, num_stages=2)


def main(directory):
    print("version\tTriton %s" % triton.__version__)
    for arch in (80, 86, 89, 90, 100, 120):
        write_row_kernels(directory, arch)
    for arch in (80, 86, 89):
        write_warp_kernels(directory, arch, "")
    write_warp_kernels(directory, 120, "-pointers")
    write_tensor_core_kernels(directory, 90, 8, 4, 64, 132)
    write_tensor_core_kernels(directory, 100, 4, 3, 128, 148)
    write_tensor_core_kernels(directory, 120, 4, 3, 64, 170)


main(sys.argv[1])
