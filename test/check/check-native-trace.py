"""Checks a trace of a launch on the CPU: each block is there once, and the blocks of a thread
run one after the other.

  check-native-trace.py TRACE BLOCKS THREADS
"""

import json
import sys

with open(sys.argv[1]) as file:
    trace = json.load(file)
runs = [event for event in trace["traceEvents"] if event["ph"] == "X"]
assert trace["otherData"]["unit"] == "ns"
assert sorted(run["args"]["iteration"] for run in runs) == list(range(int(sys.argv[2])))
threads = {run["args"]["row"] for run in runs}
assert 1 <= len(threads) <= int(sys.argv[3]), threads
for thread in threads:
    own = sorted((run["ts"], run["dur"]) for run in runs if run["args"]["row"] == thread)
    for (start, duration), (following, _) in zip(own, own[1:]):
        # Times have three digits after the point.
        assert following >= start + duration - 1e-6, (thread, start, duration, following)
    # One row is one thread of the viewer: its slices do not overlap.
    assert len({run["tid"] for run in runs if run["args"]["row"] == thread}) == 1
