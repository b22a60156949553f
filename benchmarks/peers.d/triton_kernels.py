# Writes the PTX that Triton makes of our kernels' counterparts, without a GPU.
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


def tile(*sizes):
    return "tensordesc<fp16[%s]>" % ", ".join(map(str, sizes))


def write(directory, name, kernel, arguments, constants, arch, **options):
    signature = dict(arguments, **{constant: "constexpr" for constant in constants})
    names = list(signature)
    source = ASTSource(fn=kernel, signature=signature,
                       constexprs={(names.index(c),): v for c, v in constants.items()})
    try:
        made = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
    except Exception as problem:
        print("skipped\t%s\tTriton: %s" % (name, str(problem).splitlines()[0][:100]))
        return
    with open(os.path.join(directory, name + ".ptx"), "w") as file:
        file.write(made.asm["ptx"])
    print("shared\t%s\t%d" % (name, made.metadata.shared))


def main(directory):
    print("version\tTriton %s" % triton.__version__)
    for roles in (False, True):
        kind = "triton-roles" if roles else "triton"
        for arch, warps, stages in ((90, 8, 4), (100, 4, 3)):
            write(directory, "matmul.sm_%da.%s" % (arch, kind), matmul,
                  {"A": tile(128, 64), "B": tile(128, 64), "C": tile(128, 128), "K": "i32"},
                  {"BM": 128, "BN": 128, "BK": 64, "ROLES": roles}, arch,
                  num_warps=warps, num_stages=stages)
        for arch, rows in ((90, 64), (100, 128)):
            write(directory, "attention.sm_%da.%s" % (arch, kind), attention,
                  {"Q": tile(1, rows, 64), "K": tile(1, 64, 64), "V": tile(1, 64, 64),
                   "O": tile(1, rows, 64), "scale": "fp32", "N": "i32"},
                  {"BM": rows, "BN": 64, "D": 64, "ROLES": roles}, arch,
                  num_warps=4, num_stages=2)


main(sys.argv[1])
