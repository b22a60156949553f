# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one side in a process of its own, because several versions of one compiler cannot be imported together.

The argument is JSON: module, function, options, timings. The last line of the output is the result.
"""

import importlib
import json
import sys
import time


def main():
    job = json.loads(sys.argv[1])
    start = time.monotonic()
    function = getattr(importlib.import_module(job["module"]), job["function"])
    report, right = function(timings=job["timings"], **job["options"])
    findings = report if isinstance(report, list) else [
        dict(code=each.code, tier=each.tier, message=each.message, line=each.line, file=each.file,
             notes=[note.message for note in each.notes]) for each in report.findings]
    print("result " + json.dumps(dict(findings=findings, right=right, seconds=time.monotonic() - start)), flush=True)


main()
