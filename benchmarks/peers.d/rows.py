# The rows of benchmarks/peers: kernels of Penstock, Triton and TileLang.

ARCHITECTURES = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
WARP_MMA = ["sm_80", "sm_86", "sm_89"]
TMA = ["sm_90a", "sm_100a", "sm_120a"]
LARGE_SHARED = ["sm_80", "sm_90a", "sm_100a"]
SMALL_SHARED = ["sm_86", "sm_89", "sm_120a"]
NOT_SM_100A = [arch for arch in ARCHITECTURES if arch != "sm_100a"]
BY_ROWS = ["vector_add", "softmax", "layer_norm", "transpose"]
KERNELS = ["matmul", "matmul-cluster", "matmul-pair", "matmul-persistent", "matmul-nvfp4",
           "attention", "attention-d128", "attention-tuned", "attention-backward",
           "attention-decode"] + BY_ROWS

LIBRARIES = {"tiles": "libexample_kernels.so", "device": "libexample_device_kernels.so",
             "gallery": "libpenstock_gallery.so"}

# Row, architectures, library, kernel, values of --set. The peers' attention tiles have 128 queries
# on sm_100a, and 64 elsewhere. A launch decides whether tensor sizes are multiples of 16 bytes,
# so the code contains both forms of an access.
OURS_BY_ROW = [
    ("matmul", ARCHITECTURES, "tiles", "Matmul", ""),
    ("matmul", ["sm_90a"], "device", "HopperMatmulTokens", ""),
    ("matmul", ["sm_100a"], "device", "MatmulV4", ""),
    ("matmul-cluster", ["sm_90a", "sm_100a"], "tiles", "Matmul", "block_n=256,cluster_m=2"),
    ("matmul-pair", ["sm_100a"], "tiles", "Matmul",
     "block_n=256,pipeline.num_stages=4,launch_control=1,pair=1"),
    ("matmul-pair", ["sm_100a"], "device", "MatmulV6", ""),
    ("matmul-persistent", LARGE_SHARED, "tiles", "PersistentMatmul", ""),
    ("matmul-persistent", SMALL_SHARED, "tiles", "PersistentMatmul", "stages=3"),
    ("matmul-nvfp4", ["sm_100a"], "tiles", "NvF4Matmul", ""),
    ("attention", ["sm_90a"], "device", "HopperAttention", ""),
    ("attention", ["sm_100a"], "device", "BlackwellAttention", ""),
    ("attention", ["sm_100a"], "device", "FlashAttentionWide", ""),
    ("attention", NOT_SM_100A, "tiles", "FlashAttention", ""),
    ("attention", ["sm_100a"], "tiles", "FlashAttention", "block_m=128"),
    ("attention-d128", NOT_SM_100A, "tiles", "FlashAttention", "dim=128"),
    ("attention-d128", ["sm_100a"], "tiles", "FlashAttention", "block_m=128,dim=128"),
    ("attention-tuned", ["sm_90a"], "tiles", "FlashAttention", "block_m=128,block_n=128,dim=128"),
    ("attention-tuned", ["sm_100a"], "tiles", "FlashAttention",
     "block_m=256,block_n=64,dim=128,stages=3,slack=8"),
    ("attention-backward", ARCHITECTURES, "tiles", "AttentionBackward", ""),
    ("attention-decode", ARCHITECTURES, "gallery", "AttentionDecode", ""),
    ("vector_add", ARCHITECTURES, "tiles", "VectorAdd", ""),
    ("softmax", ARCHITECTURES, "tiles", "RowSoftmax", ""),
    ("layer_norm", ARCHITECTURES, "tiles", "LayerNorm", ""),
    ("transpose", ARCHITECTURES, "tiles", "Transpose", ""),
]
OURS = [(row, arch, *kernel) for row, architectures, *kernel in OURS_BY_ROW
        for arch in architectures]


def product(kernels, architectures, systems):
    return ["%s.%s.%s" % (kernel, arch, system) for arch in architectures for kernel in kernels
            for system in systems]


# name.architecture.system, the names of the files that the scripts in peers.d write.
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
