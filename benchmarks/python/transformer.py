#!/usr/bin/env python3
"""Times a transformer block on the CPU: kernels of the gallery beside torch's own functions.

    transformer.py [--tokens N] [--width N]

Both are compiled by torch.compile without graph breaks; only RMSNorm, attention and SwiGLU differ.
Fails if the results differ by more than 1e-2, absolute or relative. Prints the best and the median
of interleaved runs. Run it in an environment with penstock and torch. On a machine that others use,
PENSTOCK_BENCH_CPU_TIME=1 OMP_NUM_THREADS=1 taskset -c 0 counts the time of one processor.
"""

import argparse
import os
import pathlib
import statistics
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "python"))
from transformer_block import Block, half  # noqa: E402

from penstock import kernels  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--tokens", type=int, default=256)
parser.add_argument("--width", type=int, default=512)
parser.add_argument("--runs", type=int, default=30)
options = parser.parse_args()

torch.manual_seed(1)
kernels.register_all()
blocks = {"ours": Block(options.width, options.width // 64), "torch": Block(options.width, options.width // 64, ours=False)}
blocks["torch"].load_state_dict(blocks["ours"].state_dict())
x = half(options.tokens, options.width)
parts = {}
for name, block in blocks.items():
    compiled = torch.compile(block, fullgraph=True)
    parts[f"block, {name}"] = lambda f=compiled: f(x)
weight, eps = blocks["ours"].first.detach(), 1e-5
q, k, v = (half(options.width // 64, options.tokens, 64) for _ in range(3))
gate, up = (half(options.tokens, 2 * options.width) for _ in range(2))
for name, block in blocks.items():
    parts[f"RMSNorm, {name}"] = lambda f=torch.compile(block.norm, fullgraph=True): f(x, weight)
    parts[f"attention, {name}"] = lambda f=torch.compile(block.attend, fullgraph=True): f(q, k, v)
    parts[f"SwiGLU, {name}"] = lambda f=torch.compile(block.activate, fullgraph=True): f(gate, up)

clock = time.process_time if os.environ.get("PENSTOCK_BENCH_CPU_TIME") else time.perf_counter
times = {name: [] for name in parts}
with torch.no_grad():
    for name in ("block", "RMSNorm", "attention", "SwiGLU"):  # also compiles
        torch.testing.assert_close(parts[f"{name}, ours"](), parts[f"{name}, torch"](), rtol=1e-2, atol=1e-2)
    for _ in range(options.runs):
        for name, function in parts.items():
            started = clock()
            function()
            times[name].append((clock() - started) * 1e3)

print(f"{options.tokens} tokens, width {options.width}, {torch.get_num_threads()} threads, torch {torch.__version__}")
for name in ("block", "RMSNorm", "attention", "SwiGLU"):
    for kind, choose in (("best", min), ("median", statistics.median)):
        ours, theirs = (choose(times[f"{name}, {who}"]) for who in ("ours", "torch"))
        print(f"{name:10} {kind:6} {ours:8.3f} ms   torch {theirs:8.3f} ms   ratio {ours / theirs:.2f}")
