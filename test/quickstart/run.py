#!/usr/bin/env python3
"""Does what docs/start/first-kernel.md says, in a directory of its own: takes the
files and commands from the page itself, so that it cannot go stale.

    run.py PAGE INSTALL WORK [COMPILER ..]"""
import os
import re
import subprocess
import sys

page, install, work = sys.argv[1:4]
text = open(page, encoding="utf-8").read()
# `name`: ... ```lang\ncode\n``` ; the name is the last `file` before the block.
blocks = [(m.start(), m.group(1), m.group(2)) for m in re.finditer(r"```(\w*)\n(.*?)```", text, re.S)]
files, commands, expected = {}, [], []
for position, language, code in blocks:
    names = re.findall(r"`([\w.]+\.(?:txt|cpp|h))`", text[:position])
    if language in ("cpp", "cmake"):
        files[names[-1]] = code
    elif language == "sh":
        commands.append(code)
    elif language == "python":
        pass  # test/python/lang/page.py compares it with the C++ kernel
    elif "error PS" not in code:  # test/docs/readme.py compares the message
        expected.append(code.strip())
assert set(files) == {"CMakeLists.txt", "main.cpp", "softmax.h", "kernels.cpp"}, sorted(files)
assert len(commands) == 2 and len(expected) == 1

subprocess.run(["rm", "-rf", work], check=True)
os.makedirs(work)
for name, code in files.items():
    with open(os.path.join(work, name), "w", encoding="utf-8") as out:
        out.write(code)
script = "set -e\n" + "".join(commands).replace("/path/to/install", install)
run = subprocess.run(["bash", "-c", script], cwd=work, capture_output=True, text=True)
print(run.stdout, run.stderr)
if run.returncode != 0:
    sys.exit(f"the commands of the page failed with {run.returncode}")
if expected[0] not in run.stdout:
    sys.exit(f"expected {expected[0]!r}")
if "largest difference from the interpreter" not in run.stdout:
    sys.exit("the tool did not compare with the interpreter")
if "wrong=0 findings=0" not in run.stdout or "wrong=0 findings=0" not in text:
    sys.exit("the check for Blackwell did not pass")

# The same program without CMake: what pkg-config says is all that a compiler needs.
environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(install, "lib", "pkgconfig"))
flags = subprocess.run(["pkg-config", "--cflags", "--libs", "penstock"], env=environment, check=True,
                       capture_output=True, text=True).stdout.split()
for compiler in sys.argv[4:] or ("g++-12", "clang++-22"):
    program = os.path.join(work, "quickstart-" + compiler)
    subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "main.cpp", "-o", program, *flags],
                   cwd=work, check=True)
    run = subprocess.run([program], capture_output=True, text=True)
    if run.returncode != 0 or expected[0] not in run.stdout:
        sys.exit(f"{compiler} with pkg-config: {run.returncode} {run.stdout} {run.stderr}")
