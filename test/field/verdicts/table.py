# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table: bugs with the verdicts of hardware that their reports state, and correct kernels."""

from cases import BROKEN, FIXED, LUCKY, OPEN, Bug, Control, Side, github


def triton(name, role, version, function, timings=4, **options):
    side = Side(name, role, f"triton_cases:{function}", options, f"triton {version}", timings)
    return side


def cuda(name, role, function, kernel, *defines, timings=4, **options):
    options = dict(kernel=kernel, defines=list(defines), **options)
    return Side(name, role, f"cuda_sketches:{function}", options, timings=timings, nvcc=True)


def twins(function, kernel, *defines, **options):
    """The usual two sides of a sketch."""
    return [cuda("broken", BROKEN, function, kernel, *defines, **options),
            cuda("fixed", FIXED, function, kernel, *defines, "FIXED", **options)]


def ptx(name, role, function, variant, timings=4):
    return Side(name, role, f"ptx_sketches:{function}", dict(variant=variant), timings=timings)


def ptx_twins(function):
    return [ptx("broken", BROKEN, function, "broken"), ptx("fixed", FIXED, function, "fixed")]


def tilelang(name, role, version, function, timings=4, **options):
    return Side(name, role, f"tilelang_cases:{function}", options, f"tilelang {version}", timings)


def gluon(name, role, function, version="3.9.0", timings=4, **options):
    return Side(name, role, f"gluon_cases:{function}", options, f"triton {version}", timings)


def suite(kernel, subject, *flags):
    """Pairs of one kernel: 0 is correct; the other flags are broken."""
    link = "https://github.com/triton-lang/triton/blob/main/python/test/gluon/test_consan.py"
    correct = gluon("correct", FIXED, "suite", kernel=kernel)
    return [Bug(f"{kernel} {i}" if len(flags) > 1 else kernel, link, f"{subject}: {flag}", "suite", "by construction", "sketch",
                [gluon("broken", BROKEN, "suite", kernel=kernel, flag=i), correct])
            for i, flag in enumerate(flags, 1)]


BUGS = [
    Bug("triton#10590", github("triton-lang/triton", 10590), "missing proxy fence between `st.shared` and `tcgen05.mma`", "HW",
        "B300: 4 or 8 warps with 2 or 3 stages differ in every call, 2 and 16 warps never", "compiled", [
            triton("3.7.0, 4 warps, 2 stages", BROKEN, "3.7.0", "delta_rule", warps=4, stages=2, width=32),
            triton("3.6.0, 4 warps, 2 stages", BROKEN, "3.6.0", "delta_rule", warps=4, stages=2, width=32),
            triton("3.7.1, 4 warps, 2 stages", FIXED, "3.7.1", "delta_rule", warps=4, stages=2, width=32),
            triton("3.7.0, 2 warps, 2 stages", FIXED, "3.7.0", "delta_rule", warps=2, stages=2, width=32),
        ]),
    Bug("triton#9871", github("triton-lang/triton", 9871), "missing proxy fence between `st.shared` and `tcgen05.mma`", "HW",
        "GB200, B200: wrong with 4 warps, BV 32 and a loop bound from memory; right with 2 warps, BV 64, or a bound as argument; Hopper "
        "right", "compiled", [
            triton("3.6.0, 4 warps, bound from memory", BROKEN, "3.6.0", "recurrence", warps=4, stages=2, width=32),
            triton("3.7.1, 4 warps, bound from memory", FIXED, "3.7.1", "recurrence", warps=4, stages=2, width=32),
            triton("3.6.0, 2 warps", FIXED, "3.6.0", "recurrence", warps=2, stages=2, width=32),
            triton("3.6.0, BV 64", LUCKY, "3.6.0", "recurrence", warps=4, stages=2, width=64
                   ).because("the fence is missing here, too, and 3.7.1 adds it; the sibling triton#10590 fails with BV 64"),
            triton("3.7.1, BV 64", FIXED, "3.7.1", "recurrence", warps=4, stages=2, width=64),
            triton("3.6.0, bound as argument", LUCKY, "3.6.0", "recurrence", warps=4, stages=2, width=32, memory=False
                   ).because("the fence is missing here, too, and 3.7.1 adds it"),
            triton("3.7.1, bound as argument", FIXED, "3.7.1", "recurrence", warps=4, stages=2, width=32, memory=False),
            triton("3.6.0, Hopper", FIXED, "3.6.0", "recurrence", warps=4, stages=2, width=32, capability=90),
        ]),
    Bug("pytorch#181248", github("pytorch/pytorch", 181248), "missing proxy fence, persistent matmul", "HW",
        "B200: 3.7.0 nondeterministic, 3.6.0 right; H100 right", "compiled", [
            triton("3.7.0", BROKEN, "3.7.0", "persistent"),
            triton("3.7.1", FIXED, "3.7.1", "persistent"),
            triton("3.7.1, Hopper", FIXED, "3.7.1", "persistent", capability=90),
            triton("3.7.0, Hopper", LUCKY, "3.7.0", "persistent", capability=90
                   ).because("the fence before `wgmma` is missing here, too, and 3.7.1 adds it"),
            triton("3.6.0", LUCKY, "3.6.0", "persistent"
                   ).because("the fence is missing here, too; the report supposes that more instructions hide it"),
        ]),
    Bug("triton#6691", github("triton-lang/triton", 6691), "`cp.async` overwrites a tile that `wgmma` reads", "HW",
        "wrong with more than one stage, depends on the order of two statements", "compiled", [
            triton("3.9.0, sum first, 3 stages", BROKEN, "3.9.0", "two_uses", sum_first=True, stages=3),
            triton("3.9.0, dot first, 3 stages", LUCKY, "3.9.0", "two_uses", sum_first=False, stages=3
                   ).because("the ring is one buffer too short in both orders; in this one, the product has usually ended"),
            triton("3.9.0, 1 stage", FIXED, "3.9.0", "two_uses", sum_first=True, stages=1),
        ]),
    Bug("triton#8139", github("triton-lang/triton", 8139, "pull"), "pipelined load with one buffer too few, used under a condition", "HW",
        "3.5.1 wrong, values in the report; right after the fix", "compiled", [
            triton("3.5.1, 2 stages", BROKEN, "3.5.1", "conditional_store", stages=2),
            triton("3.6.0, 2 stages", FIXED, "3.6.0", "conditional_store", stages=2),
            triton("3.9.0, 2 stages", FIXED, "3.9.0", "conditional_store", stages=2),
            triton("3.5.1, 1 stage", FIXED, "3.5.1", "conditional_store", stages=1),
        ]),
    Bug("triton#8259", github("triton-lang/triton", 8259), "the pipeliner moves a global load over a store", "HW",
        "differences with 2 stages and flatten, none with 1 stage", "compiled", [
            triton("3.5.1, 2 stages, flattened", BROKEN, "3.5.1", "store_then_load", stages=2, flatten=True),
            triton("3.5.1, 1 stage", FIXED, "3.5.1", "store_then_load", stages=1, flatten=False),
        ]),
    Bug("tilelang#2556", github("tile-ai/tilelang", 2556), "`__syncthreads` dropped for 48 of 64 threads", "HW",
        "H100: wrong and varying for 48 threads; only counts that 32 does not divide", "compiled", [
            tilelang("0.1.11, 48 threads", BROKEN, "0.1.11", "part_of_threads", active=48),
            tilelang("0.1.11, 32 threads", FIXED, "0.1.11", "part_of_threads", active=32),
            tilelang("0.1.11, 64 threads", FIXED, "0.1.11", "part_of_threads", active=64)]),
    Bug("tilelang#2612", github("tile-ai/tilelang", 2612), "barrier moved out of a divergent `if`", "HW",
        "H100, L40S: wrong for every fourth thread and for a mask from memory; right for whole warps", "compiled", [
            tilelang("0.1.11, every fourth thread", BROKEN, "0.1.11", "divergent", rule="fourth"),
            tilelang("0.1.11, mask", BROKEN, "0.1.11", "divergent", rule="mask"),
            tilelang("0.1.11, whole warps", FIXED, "0.1.11", "divergent", rule="warps")]),
    Bug("tilelang#2613", github("tile-ai/tilelang", 2613), "no barrier at the end of a loop, two warpgroups share an operand", "HW",
        "H100: 21 to 27 of 30 runs wrong with K 128; right with K 64 and with 2 stages; L40S right", "compiled", [
            tilelang("0.1.11, K 128", BROKEN, "0.1.11", "shared_operand", depth=128, stages=0),
            tilelang("0.1.11, K 128, 2 stages", FIXED, "0.1.11", "shared_operand", depth=128, stages=2),
            tilelang("0.1.11, K 64", LUCKY, "0.1.11", "shared_operand", depth=64, stages=0
                     ).because("the barrier is missing here, too")]),
    Bug("tilelang#2566", github("tile-ai/tilelang", 2566), "mbarrier never gets its arrival", "HW",
        "H100 (0.1.11), GB300 (0.1.12): one iteration always hangs; two, and a serial loop, complete", "compiled", [
            tilelang("0.1.11, 1 iteration", BROKEN, "0.1.11", "few_iterations", count=1),
            tilelang("0.1.12, 1 iteration", BROKEN, "0.1.12", "few_iterations", count=1),
            tilelang("0.1.11, 2 iterations", LUCKY, "0.1.11", "few_iterations", count=2).because(
                "no thread waits for warps 1 to 3 before the next phase: a warp that is late by two phases waits for ever"),
            tilelang("0.1.11, serial loop", FIXED, "0.1.11", "few_iterations", count=1, serial=True)]),
    Bug("tilelang#2699", github("tile-ai/tilelang", 2699), "`st.bulk` is not counted as a write: barrier missing", "HW",
        "RTX 5070 Ti: nondeterministic and wrong", "compiled", [
            tilelang("0.1.12, sm_100a", BROKEN, "0.1.12", "cleared", arch="sm_100a"),
            tilelang("0.1.13, sm_100a", FIXED, "0.1.13", "cleared", arch="sm_100a"),
            tilelang("0.1.12, sm_90a", FIXED, "0.1.12", "cleared", arch="sm_90a")]),
    Bug("tilelang#2698", github("tile-ai/tilelang", 2698), "copy, then fill at an offset: barrier missing", "HW",
        "fill lost at offset 10, right at offset 0", "compiled", [
            tilelang("0.1.12, offset 10", BROKEN, "0.1.12", "fill_after_copy", offset=10),
            tilelang("0.1.12, offset 0", FIXED, "0.1.12", "fill_after_copy", offset=0)]),
    Bug("tilelang#2668", github("tile-ai/tilelang", 2668), "pipelined copy moved before the read of its buffer", "HW",
        "L40S: wrong with 2 or more stages, right with 0", "compiled", [
            tilelang("0.1.12, 2 stages", BROKEN, "0.1.12", "read_before_copy", stages=2),
            tilelang("0.1.12, 0 stages", FIXED, "0.1.12", "read_before_copy", stages=0)]),
    Bug("tilelang#2927", github("tile-ai/tilelang", 2927), "parity of a wait from the loop counter, another barrier each time", "HW",
        "H200, 0.1.13: silent corruption; right if one barrier is reused", "compiled", [
            tilelang("0.1.13, 4 barriers", BROKEN, "0.1.13", "cluster_copies", barriers=4),
            tilelang("0.1.13, 1 barrier", FIXED, "0.1.13", "cluster_copies", barriers=1)]),
    Bug("sglang#32467", github("sgl-project/sglang", 32467, "pull"), "initialization of shared slots races with results of warps", "HW",
        "B300: 594 and 1998 of 2000 ragged batches wrong, uniform ones right; after the fix 0 of 30000", "sketch",
        twins("threads", "plan_lengths") + [
            cuda("uniform", LUCKY, "threads", "plan_lengths", uniform=True).because("the race is there, but all values are equal"),
        ]),
    Bug("llama.cpp#13469", github("ggml-org/llama.cpp", 13469, "pull"), "barrier that only part of the warps execute", "HW",
        "long contexts wrong after #13438, right after #13469", "sketch", [
            cuda("barrier of some warps", BROKEN, "threads", "combine_pairs", "STATE=1"),
            cuda("fixed", FIXED, "threads", "combine_pairs", "STATE=2"),
            cuda("no barrier (before #13438)", BROKEN, "threads", "combine_pairs", "STATE=0"),
        ]),
    Bug("flashinfer#3439", github("flashinfer-ai/flashinfer", 3439, "pull"), "`cp.async` awaited by each warp, read by all", "HW",
        "5 launches give 5 results; small batches nearly right", "sketch", twins("threads", "awaited_by_warp")),
    Bug("Fuser#2000", github("NVIDIA/Fuser", 2000), "last `cp.async` not drained before the buffer is reused", "HW",
        "A100, H100: about 10 of a million elements wrong", "sketch", twins("threads", "undrained")),
    Bug("flashinfer#2996", github("flashinfer-ai/flashinfer", 2996, "pull"), "`__syncthreads` that 248 of 384 threads skip", "HW",
        "H100: hangs now and then on some machines; synccheck reports it", "sketch", twins("threads", "skipped_barrier"), "undefined"),
    Bug("DeepEP#621", github("deepseek-ai/DeepEP", 621), "generic read, then bulk overwrite without a proxy fence", "HW",
        "GB200: wrong sums above 256 tokens; right with the fence of #642", "sketch", [
            cuda("broken", BROKEN, "copies", "read_then_overwrite"),
            cuda("broken, with `__syncwarp`", BROKEN, "copies", "read_then_overwrite", "SYNC"),
            cuda("fixed", LUCKY, "copies", "read_then_overwrite", "FIXED").because(
                "one lane arrives for 32 that read; nothing orders their reads before its arrival but that the warp runs in step"),
            cuda("fixed, with `__syncwarp`", FIXED, "copies", "read_then_overwrite", "FIXED", "SYNC"),
        ], "undefined"),
    Bug("flashinfer#3630", github("flashinfer-ai/flashinfer", 3630, "pull"), "poll of the mbarrier of another slot", "HW",
        "wrong only while other traffic delays the producer", "sketch", twins("copies", "stale_pointer")),
    Bug("TileOPs#1550", github("tile-ai/TileOPs", 1550), "staging tile refilled while a bulk store reads it", "HW",
        "Hopper: right for 8 experts, NaN for 384", "sketch", twins("copies", "refilled_staging") + [
            cuda("one tile for each block", FIXED, "copies", "refilled_staging", grid=12)]),
    Bug("flash-attention#2760", github("Dao-AILab/flash-attention", 2760), "warps disagree on the number of tiles", "HW",
        "B200: varlen with block sparsity and SplitKV always hangs", "sketch",
        [cuda("broken", BROKEN, "copies", "tile_counts", timings=4), cuda("fixed", FIXED, "copies", "tile_counts", "FIXED"),
         cuda("dense", FIXED, "copies", "tile_counts", sparse=False)]),
    Bug("tilelang#2410", github("tile-ai/tilelang", 2410), "slot released before it is read; too few arrivals counted", "HW",
        "SM100: intermittent hang of a GEMM with launch control", "sketch", [
            cuda("released too early", BROKEN, "copies", "early_release"),
            cuda("one arrival counted", BROKEN, "copies", "early_release", "COUNT=1", "FIXED"),
            cuda("fixed", FIXED, "copies", "early_release", "FIXED")]),
    Bug("tilelang#2674", github("tile-ai/tilelang", 2674, "pull"), "phases are not carried from tile to tile", "HW",
        "H100: wrong or a launch failure in the second wave, unless the steps are a multiple of 2 x stages", "sketch", [
            cuda("2 tiles, 3 steps", BROKEN, "copies", "restarted_phases", tiles=2, steps=3),
            cuda("2 tiles, 2 steps", BROKEN, "copies", "restarted_phases", tiles=2, steps=2),
            cuda("2 tiles, 3 steps, fixed", FIXED, "copies", "restarted_phases", "FIXED", tiles=2, steps=3),
            cuda("2 tiles, 4 steps", FIXED, "copies", "restarted_phases", tiles=2, steps=4),
            cuda("1 tile, 3 steps", FIXED, "copies", "restarted_phases", tiles=1, steps=3)]),
    Bug("facebookexperimental/triton#2292", github("facebookexperimental/triton", 2292), "remote store before the peer has started", "HW",
        "with a delayed peer -1 instead of 142; right with a barrier", "sketch", twins("copies", "early_remote_store")),
    Bug("facebookexperimental/triton#1992", github("facebookexperimental/triton", 1992), "tensor memory: store over columns that another "
        "warp loads", "HW", "B200: 44 of 380 runs wrong with two blocks, 0 of 150 with one", "sketch",
        ptx_twins("tmem_layouts") + [ptx("one block", FIXED, "tmem_layouts", "own")]),
    Bug("cudnn-frontend#985", github("NVIDIA/cudnn-frontend", 985, "pull"), "tensor memory: probabilities over scores that another "
        "warpgroup reads", "HW", "SM100: 0.1 % wrong with a causal mask, never without", "sketch", ptx_twins("tmem_overlap")),
    Bug("flashinfer#5252", github("flashinfer-ai/flashinfer", 5252), "`tcgen05.st` published without `wait::st`", "HW",
        "B300: 99 % of the output wrong if one load is delayed", "sketch", ptx_twins("tmem_unpublished")),
    Bug("sglang#39124", github("sgl-project/sglang", 39124, "pull"), "missing proxy fence between `st.shared` and `tcgen05.mma` (TF32)",
        "HW", "B300: 86 of 100 calls wrong, 0 of 100 with the fence", "sketch", ptx_twins("widened_operand")),
    Bug("DeepGEMM#449", github("deepseek-ai/DeepGEMM", 449), "registers of A overwritten under `wgmma`", "HW",
        "SM90: several K blocks wrong; all 24 configurations right after the wait has moved", "sketch", ptx_twins("wgmma_registers")),
    Bug("Fuser#3865", github("NVIDIA/Fuser", 3865, "pull"), "`wgmma.wait_group` after instead of before the block barrier", "HW",
        "H100: wrong with 64 as K of the tile", "sketch",
        [ptx("broken", BROKEN, "wgmma_order", "late"), ptx("fixed", FIXED, "wgmma_order", "fixed")]),
    Bug("quack#146", github("Dao-AILab/quack", 146), "named barrier counts 2 warps, 5 arrive", "HW",
        "SM100: hangs with 4 loading warps, right with 1", "sketch", ptx_twins("named_count")),
    Bug("flashinfer#4732", github("flashinfer-ai/flashinfer", 4732, "pull"), "second arrival at a named barrier before its phase ends", "HW",
        "GB10: hangs, shown by the debugger", "sketch", ptx_twins("arrive_twice")),
    Bug("DeepGEMM#343", github("deepseek-ai/DeepGEMM", 343), "tensor map changed while a load uses it", "HW",
        "RTX 5090 D: 13 of 14 runs wrong, 0 of 100 after the fix; H200: now and then", "sketch", ptx_twins("edited_map")),
    Bug("cutlass#3165", github("NVIDIA/cutlass", 3165), "tensor map changed while the load of the peer uses it", "HW",
        "Blackwell: illegal address with skewed groups, cluster 2x1", "sketch", ptx_twins("shared_map")),
    Bug("cutlass#2230", github("NVIDIA/cutlass", 2230), "tensor memory used without allocation", "HW",
        "Blackwell: right also for large sizes", "sketch", [
            ptx("not allocated", LUCKY, "tmem_unallocated", "broken").because("no other block of the SM allocates these columns"),
            ptx("allocated", FIXED, "tmem_unallocated", "fixed")]),
    Bug("CUTracer#106", github("facebookresearch/CUTracer", 106, "pull"), "product before the wait for its tile", "hw",
        "H100: right in normal runs, wrong with random delays", "sketch",
        [ptx("broken", BROKEN, "wgmma_order", "unawaited"), ptx("fixed", FIXED, "wgmma_order", "fixed")]),
    Bug("DeepGEMM#292", github("deepseek-ai/DeepGEMM", 292, "pull"), "tensor memory freed while other warps use it", "hw",
        "repaired without numbers", "sketch", ptx_twins("tmem_early_free")),
    Bug("triton#11047", github("triton-lang/triton", 11047), "`wgmma.wait_group` of one warpgroup does not cover the other", "hw",
        "8 warps wrong; 4 warps are one warpgroup and cannot fail", "compiled", [
            gluon("3.7.1, 2 warpgroups", BROKEN, "warpgroup_wait", "3.7.1", groups=2),
            gluon("3.9.0, 2 warpgroups", FIXED, "warpgroup_wait", groups=2),
            gluon("3.7.1, 1 warpgroup", FIXED, "warpgroup_wait", "3.7.1", groups=1)]),
    Bug("llama.cpp#13294", github("ggml-org/llama.cpp", 13294, "pull"), "shared ids overwritten while other warps read them", "hw",
        "depends on the shape and the number of SMs; repairs #13287", "sketch", twins("threads", "rows_by_id")),
    Bug("llama.cpp#13742", github("ggml-org/llama.cpp", 13742, "pull"), "mask overwritten by warps that skip a tile", "hw",
        "repairs #13733", "sketch", twins("threads", "skip_masked")),
    Bug("DeepEP#399", github("deepseek-ai/DeepEP", 399, "pull"), "mbarrier inside the bytes that a copy writes", "hw",
        "repaired without numbers", "sketch", twins("copies", "barrier_in_copy")),
    Bug("cutlass#3636", github("NVIDIA/cutlass", 3636, "pull"), "ring of staging tiles restarts at slot 0", "hw",
        "Blackwell: short K corrupts results, long K hides it", "sketch", twins("copies", "restarted_ring")),
    Bug("cudnn-frontend#426", github("NVIDIA/cudnn-frontend", 426), "32 lanes store, one lane arrives", "san",
        "racecheck: 620 hazards, 0 after `__syncwarp`; results always right", "sketch", twins("threads", "one_lane_arrives"), "undefined"),
]
BUGS += suite("tma_unawaited", "TMA load", "not awaited")
BUGS += suite("tma_two_barriers", "two TMA loads", "one awaited")
BUGS += suite("tma_bytes", "TMA load", "64 bytes too many expected", "64 bytes too few expected")
BUGS += suite("tma_store_tile", "TMA store", "no proxy fence", "source overwritten")
BUGS += suite("copy_groups", "`cp.async`", "one group too many in flight")
BUGS += suite("wgmma_overwrite", "`wgmma`", "operand overwritten")
BUGS += suite("wgmma_ring", "`wgmma` in a ring", "slot refilled too early")
BUGS += suite("tcgen05_product", "`tcgen05.mma`", "accumulator read too early", "operand overwritten", "no proxy fence")
BUGS += suite("ws_ring", "warp specialization", "reader does not wait", "writer does not wait", "slot released too early")
BUGS += suite("ws_deadlock", "warp specialization", "partitions wait for each other")
BUGS += suite("barrier_life", "mbarrier", "too few arrivals", "too many arrivals", "wait for a later phase", "initialized while in use",
              "not initialized", "used after its end")



def control(name, function, capabilities=(90, 100), **options):
    """A kernel of another project for Hopper and Blackwell, in `control_cases.py`."""
    return [Control(f"{name}, sm_{capability}", Side("control", FIXED, f"control_cases:{function}",
                                                     dict(capability=capability, **options), "controls", 2))
            for capability in capabilities]
for _bug in BUGS:
    if _bug.name in ("tma_store_tile 1", "tcgen05_product 3"):
        _bug.comment = "Triton 3.9.0 adds the missing fence: the PTX of the broken variant has it, so that there is no bug to find."


def sage(name, reason, **options):
    return Side(name, OPEN, "control_cases:sage_attention", options, "controls", 2).because(reason)


EARLY_UNPACK = ("Triton 3.9.0 unpacks the f16 accumulators before `wgmma.wait_group`. The ISA does not allow it; ptxas may move the "
                "unpacking or serialize the products")
BUGS.append(Bug("SageAttention 1.0.6", "https://pypi.org/project/sageattention/1.0.6/", "findings in configurations that are no controls",
                "open", "unknown", "compiled", [
                    sage("sm_90", EARLY_UNPACK, capability=90),
                    sage("sm_90, 128 columns", EARLY_UNPACK, capability=90, width=128),
                    sage("sm_80, causal, 192 rows", "the loop is not clipped to the number of keys: the kernel reads one scale after the "
                         "end of the array. PyTorch's allocator leaves room there", capability=80, causal=True)]))

CONTROLS = sum([
    control("liger-kernel RMS norm", "rms_norm"),
    control("liger-kernel RMS norm, backward", "rms_norm_backward"),
    control("liger-kernel layer norm", "layer_norm"),
    control("liger-kernel layer norm, backward", "layer_norm_backward"),
    control("liger-kernel softmax", "softmax"),
    control("liger-kernel softmax, backward", "softmax_backward"),
    control("liger-kernel SwiGLU", "swiglu"),
    control("liger-kernel SwiGLU, backward", "swiglu_backward"),
    control("liger-kernel GeGLU", "geglu"),
    control("liger-kernel dynamic tanh", "dyt"),
    control("liger-kernel KL divergence", "kl_divergence"),
    control("liger-kernel fused add and RMS norm", "fused_add_rms_norm"),
    control("liger-kernel squared ReLU", "relu_squared"),
    control("liger-kernel total variation", "total_variation"),
    control("SageAttention quantization", "sage_quantize"),
    control("SageAttention", "sage_attention", (80, 100)),
    control("SageAttention, causal", "sage_attention", (80, 100), causal=True, length=256),
    control("SageAttention, 128 columns", "sage_attention", (80, 100), width=128),
], [])


def is_sketch(case):
    """Whether a case needs no package but numpy."""
    sides = [case.side] if isinstance(case, Control) else case.sides
    return all(side.packages == "plain" for side in sides)
