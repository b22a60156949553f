# The rows of benchmarks/peers: ours, and those of the peers beside them.

ARCHITECTURES = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
WARP_MMA = ["sm_80", "sm_86", "sm_89"]
TMA = ["sm_90a", "sm_100a", "sm_120a"]
BY_ROWS = ["vector_add", "softmax", "layer_norm", "transpose"]
KERNELS = ["matmul", "matmul-cluster", "matmul-pair", "matmul-persistent", "matmul-nvfp4",
           "attention", "attention-d128", "attention-tuned", "attention-backward",
           "attention-decode"] + BY_ROWS

LIBRARIES = {"tiles": "libexample_kernels.so", "device": "libexample_device_kernels.so",
             "gallery": "libpenstock_gallery.so"}


def attention(arch, dim):
    """The peers have tiles of 128 queries on Blackwell, and of 64 elsewhere."""
    fields = ["block_m=128"] * (arch == "sm_100a") + ["dim=128"] * (dim == 128)
    return ("attention-d128" if dim == 128 else "attention", arch, "tiles", "FlashAttention",
            ",".join(fields))


# Row, architecture, library, kernel, values of --set. The sizes of tensors are multiples of 16
# bytes, which a launch decides: both forms of an access are in the code.
OURS = [("matmul", arch, "tiles", "Matmul", "") for arch in ARCHITECTURES] + [
    ("matmul", "sm_90a", "device", "HopperMatmulTokens", ""),
    ("matmul", "sm_100a", "device", "MatmulV4", ""),
    ("matmul-cluster", "sm_90a", "tiles", "Matmul", "block_n=256,cluster_m=2"),
    ("matmul-cluster", "sm_100a", "tiles", "Matmul", "block_n=256,cluster_m=2"),
    ("matmul-pair", "sm_100a", "tiles", "Matmul",
     "block_n=256,pipeline.num_stages=4,launch_control=1,pair=1"),
    ("matmul-pair", "sm_100a", "device", "MatmulV6", ""),
    ("matmul-nvfp4", "sm_100a", "tiles", "NvF4Matmul", ""),
    ("attention", "sm_90a", "device", "HopperAttention", ""),
    ("attention", "sm_100a", "device", "BlackwellAttention", ""),
    ("attention", "sm_100a", "device", "FlashAttentionWide", ""),
    ("attention-tuned", "sm_90a", "tiles", "FlashAttention", "block_m=128,block_n=128,dim=128"),
    ("attention-tuned", "sm_100a", "tiles", "FlashAttention",
     "block_m=256,block_n=64,dim=128,stages=3,slack=8"),
] + [("matmul-persistent", arch, "tiles", "PersistentMatmul",
      "" if arch in ("sm_80", "sm_90a", "sm_100a") else "stages=3") for arch in ARCHITECTURES
] + [attention(arch, dim) for arch in ARCHITECTURES for dim in (64, 128)
] + [(row, arch, library, kernel, "") for arch in ARCHITECTURES
     for row, library, kernel in (("attention-backward", "tiles", "AttentionBackward"),
                                  ("attention-decode", "gallery", "AttentionDecode"),
                                  ("vector_add", "tiles", "VectorAdd"),
                                  ("softmax", "tiles", "RowSoftmax"),
                                  ("layer_norm", "tiles", "LayerNorm"),
                                  ("transpose", "tiles", "Transpose"))]


def product(kernels, architectures, systems):
    return ["%s.%s.%s" % (kernel, arch, system) for arch in architectures for kernel in kernels
            for system in systems]


# name.architecture.system, as the scripts in peers.d write them.
PEERS = {
    "triton_kernels.py":
        product(["matmul"], WARP_MMA, ["triton", "triton-masked"])
        + product(["matmul"], ["sm_120a"], ["triton-pointers", "triton-pointers-masked"])
        + product(["matmul"], TMA, ["triton", "triton-roles"])
        + product(["matmul-persistent"], TMA, ["triton"])
        + product(["attention", "attention-d128"], WARP_MMA, ["triton"])
        + product(["attention", "attention-d128"], ["sm_120a"], ["triton-pointers"])
        + product(["attention", "attention-d128"], TMA, ["triton", "triton-roles"])
        + product(BY_ROWS, ARCHITECTURES, ["triton"]),
    "tilelang_kernels.py":
        product(["matmul", "attention", "attention-d128"], ARCHITECTURES, ["tilelang"])
        + ["matmul.sm_100a.tilelang-tmem"],
}
