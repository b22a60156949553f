# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the kernels of all languages share: CASE TIMING... on the command line, a line per timing on standard output."""

import json
import resource
import sys

import numpy

random = numpy.random.default_rng(1)


def values(*shape, dtype=numpy.float16):
    return random.standard_normal(shape).astype(dtype)


def matches(result, expected, tolerance=1e-2):
    return bool(abs(result.astype(float) - expected).max() <= tolerance * abs(expected).max())


def attention_of(q, k, v):
    scores = q.astype(float) @ k.astype(float).T / numpy.sqrt(q.shape[1])
    weights = numpy.exp(scores - scores.max(1, keepdims=True))
    return weights @ v.astype(float) / weights.sum(1, keepdims=True)


def most_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def runner(check, mutate):
    """`check` of an adapter, or `mutate` if the command line says `mutants` instead of timings."""
    if sys.argv[2:] != ["mutants"]:
        return check
    return lambda *args, timings, **more: mutate(*args, **more)


def counts(report):
    return {name: getattr(report, name)
            for name in ("mutants", "detected", "survivors", "unexecuted", "executed_lines", "lines")}


def main(cases):
    """`cases` maps a name to a function that runs the kernel in a timing and returns its report and whether the result
    is right."""
    case = cases(sys.argv[1])
    before = most_memory()
    for timing in sys.argv[2:]:
        report, right = case(timing)
        if timing == "mutants":
            print("result " + json.dumps(dict(counts=counts(report),
                                              findings=json.loads(report.render("json"))["diagnostics"])), flush=True)
            continue
        print("result " + json.dumps(dict(timing=timing, right=right and report.completed,
                                          findings=json.loads(report.render("json"))["diagnostics"],
                                          seconds=report.stats["seconds"], bytes=most_memory() - before)), flush=True)
