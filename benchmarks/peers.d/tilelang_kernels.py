# Writes the CUDA that TileLang makes of our kernels' counterparts, without a GPU.
#
#   tilelang_kernels.py DIRECTORY
#
# Same tiles, element types and number of stages as the kernels of examples/. The
# sizes of the tensors are constants. The include directories that nvcc needs are
# reported; a kernel that TileLang cannot compile is reported and left out.
import os
import sys

import tilelang
import tilelang.cuda.language as cuda
import tilelang.language as T
from tvm.target import Target

SIZE, HEADS = 1024, 8


def matmul(stages, threads):
    @T.prim_func
    def kernel(A: T.Tensor((SIZE, SIZE), "float16"), B: T.Tensor((SIZE, SIZE), "float16"),
               C: T.Tensor((SIZE, SIZE), "float16")):
        with T.Kernel(SIZE // 128, SIZE // 128, threads=threads) as (bn, bm):
            As = T.alloc_shared((128, 64), "float16")
            Bs = T.alloc_shared((128, 64), "float16")
            acc = T.alloc_fragment((128, 128), "float32")
            T.clear(acc)
            for k in T.Pipelined(SIZE // 64, num_stages=stages):
                T.copy(A[bm * 128, k * 64], As)
                T.copy(B[bn * 128, k * 64], Bs)
                T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(acc, C[bm * 128, bn * 128])

    return kernel


def matmul_tensor_memory(stages):
    @T.prim_func
    def kernel(A: T.Tensor((SIZE, SIZE), "float16"), B: T.Tensor((SIZE, SIZE), "float16"),
               C: T.Tensor((SIZE, SIZE), "float16")):
        with T.Kernel(SIZE // 128, SIZE // 128, threads=128) as (bn, bm):
            As = T.alloc_shared((128, 64), "float16")
            Bs = T.alloc_shared((128, 64), "float16")
            sums = T.alloc_tmem((128, 128), "float32")
            done = T.alloc_barrier(1)
            out = T.alloc_fragment((128, 128), "float32")
            for k in T.Pipelined(SIZE // 64, num_stages=stages):
                T.copy(A[bm * 128, k * 64], As)
                T.copy(B[bn * 128, k * 64], Bs)
                cuda.gemm(As, Bs, sums, transpose_B=True, clear_accum=k == 0, mbar=done)
            T.copy(sums, out)
            T.copy(out, C[bm * 128, bn * 128])

    return kernel


def attention(rows, dim, stages, threads):
    rowwise = T.GemmWarpPolicy.FullRow  # a warp has whole rows of the scores

    @T.prim_func
    def kernel(Q: T.Tensor((HEADS, SIZE, dim), "float16"),
               K: T.Tensor((HEADS, SIZE, dim), "float16"),
               V: T.Tensor((HEADS, SIZE, dim), "float16"),
               O: T.Tensor((HEADS, SIZE, dim), "float16"), scale: T.float32):
        with T.Kernel(SIZE // rows, HEADS, threads=threads) as (bm, h):
            Qs = T.alloc_shared((rows, dim), "float16")
            Ks = T.alloc_shared((64, dim), "float16")
            Vs = T.alloc_shared((64, dim), "float16")
            scores = T.alloc_fragment((rows, 64), "float32")
            weights = T.alloc_fragment((rows, 64), "float16")
            out = T.alloc_fragment((rows, dim), "float32")
            top = T.alloc_fragment((rows,), "float32")
            old = T.alloc_fragment((rows,), "float32")
            rescale = T.alloc_fragment((rows,), "float32")
            part = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(Q[h, bm * rows : (bm + 1) * rows, :], Qs)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            for n in T.Pipelined(SIZE // 64, num_stages=stages):
                T.copy(K[h, n * 64 : (n + 1) * 64, :], Ks)
                T.clear(scores)
                T.gemm(Qs, Ks, scores, transpose_B=True, policy=rowwise)
                T.copy(top, old)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(rows):
                    rescale[i] = T.exp2((old[i] - top[i]) * scale)
                for i, j in T.Parallel(rows, 64):
                    scores[i, j] = T.exp2((scores[i, j] - top[i]) * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(rows):
                    total[i] = total[i] * rescale[i] + part[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(rows, dim):
                    out[i, j] *= rescale[i]
                T.copy(V[h, n * 64 : (n + 1) * 64, :], Vs)
                T.gemm(weights, Vs, out, policy=rowwise)
            for i, j in T.Parallel(rows, dim):
                out[i, j] /= total[i]
            T.copy(out, O[h, bm * rows : (bm + 1) * rows, :])

    return kernel


def write(directory, name, make, arch):
    try:
        target = Target({"kind": "cuda", "arch": arch})
        with target:
            made = tilelang.lower(make(), target=target)
    except Exception as problem:
        lines = str(problem).strip().splitlines() or [type(problem).__name__]
        print("skipped\t%s\tTileLang: %s" % (name, lines[0][:100]))
        return
    with open(os.path.join(directory, name + ".cu"), "w") as file:
        file.write(made.kernel_source)
    for function in made.device_mod.functions.values():
        if "dyn_shared_memory_buf" in function.attrs:
            print("shared\t%s\t%d" % (name, int(function.attrs["dyn_shared_memory_buf"])))


def main(directory):
    root = os.path.dirname(tilelang.__file__)
    print("version\tTileLang %s" % tilelang.__version__)
    print("include\t%s" % os.path.join(root, "src"))
    print("include\t%s" % os.path.join(root, "3rdparty", "cutlass", "include"))
    write(directory, "matmul.sm_90a.tilelang", lambda: matmul(4, 256), "sm_90a")
    write(directory, "matmul.sm_100a.tilelang-tmem", lambda: matmul_tensor_memory(3), "sm_100a")
    for arch in ("sm_80", "sm_86", "sm_89", "sm_100a", "sm_120a"):
        write(directory, "matmul.%s.tilelang" % arch, lambda: matmul(3, 128), arch)
    for arch in ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"):
        rows, threads = (128, 256) if arch == "sm_100a" else (64, 128)
        for kernel, dim in (("attention", 64), ("attention-d128", 128)):
            write(directory, "%s.%s.tilelang" % (kernel, arch),
                  lambda: attention(rows, dim, 2, threads), arch)


main(sys.argv[1])
