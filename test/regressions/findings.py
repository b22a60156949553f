#!/usr/bin/env python3
"""Runs the tests of bugs that were found from outside, finding by finding.

  test/regressions/findings.py [BUILD]        build-ci or build-dev if it is left out

Each line has a finding and its tests by regular expression, as for `ctest -R`. A finding whose
tests fail, or that has no test, is still wrong. The last line is `still wrong: none`, or the
findings. Exit code: 0 or 1.
"""
import pathlib
import re
import subprocess
import sys

FINDINGS = {
    "atomics of different kinds are not ordered on GPUs": r"AtomicOrder\..*|fuzz-atomics",
    "a pair with a preloaded accumulator races": r"Preferences\.OfAccumulators|Pairs\..*",
    "the barrier check counts bytes of another block's copy as a release":
        r"ProtocolOracle\..*|fuzz-pipelines-protocols",
    "races with red.async and too narrow scopes are missed": r"ScopePrograms\..*|emulator-selftest",
    "f32 and f64 AtomicMax and AtomicMin fail checks": r"Atomics\..*",
    "fast_divmod of negative numbers differs between targets": r"FastDivmod\..*",
    "an exception of a print callback ends the process": r"Print\.ExceptionsOfTheCallbackLeaveTheLaunch",
    "preferences reject right programs": r"Preferences\..*|fuzz-preferred",
    "check passes wrong kernels with index tensors": r"DefaultInputs\..*|Inputs\..*|Coverage\..*",
    "check is silent for minutes": r"lit\.tools|lit\.check",
    "compile, explain and run --check accept what ptxas rejects": r"lit\.tools",
    "tune suggests what ptxas rejects": r"TunePredicted\.PointsThatPtxasRejectsAreNotSuggested",
    "messages of relaxed waits and of K = 0 do not name the cause":
        r"diagnostics\.barrier-(relaxed-ring|relaxed-wait|unwritten-accumulator)",
    "names of kernels collide with those of the headers": r"KernelNames\..*|Names\..*",
    "reduce does not widen integers": r".*Rules\.ReduceWidensIntegers.*|TilePrograms\.ReductionsOfEveryKind",
    "rings have no readable names": r"ObjectNames\..*",
    "num_stages = Auto does not exist": r"AutoStages\..*",
    "kernels written from the guide": r"User(Rows|Products|Attention)\..*",
    "native code differs between levels of one machine": r"native-levels-.*",
}


def build_tree():
    root = pathlib.Path(__file__).resolve().parents[2]
    for folder in sys.argv[1:2] or ["build-ci", "build-dev"]:
        if (root / folder / "CTestTestfile.cmake").exists():
            return root / folder
    sys.exit("no build found")


def main():
    build, wrong = build_tree(), []
    listed = subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True, check=True)
    names = re.findall(r"^ *Test *#\d+: (\S+)", listed.stdout, re.MULTILINE)
    for finding, pattern in FINDINGS.items():
        parts = pattern.split("|")
        missing = [p for p in parts if not any(re.fullmatch(p, n) for n in names)] if "(" not in pattern else []
        found = [n for n in names if re.fullmatch(pattern, n)]
        run = subprocess.run(["ctest", "--test-dir", build, "-j2", "--timeout", "900", "-R", f"^({pattern})$"],
                             capture_output=True, text=True)
        right = run.returncode == 0 and found and not missing
        state = "right" if right else "WRONG"
        note = f" (no test matches {', '.join(missing)})" if missing else ""
        print(f"{state}  {finding}: {len(found)} tests{note}", flush=True)
        if not right:
            wrong.append(finding)
    print("still wrong: " + (", ".join(wrong) or "none"))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
