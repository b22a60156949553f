"""What a user does with the wheel alone: softmax and matmul on the CPU and emulated, an error, tuning.

Also holds the limits of recording and the import, in CPU time: --limits prints them alone.
"""

import pathlib
import resource
import subprocess
import sys
import time

import numpy as np

import penstock
import penstock.lang as pl
from penstock.lang import In, Out, f32

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/python"))
from flash_attention import FlashAttention
from blackwell_matmul import MatmulV4
from matmul import Matmul
from row_softmax import RowSoftmax

random = np.random.default_rng(7)


def results():
    x = random.standard_normal((21, 300), np.float32)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    a, b = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((150, 96), (72, 96)))
    for target in ("native", "sm_90a:emulated", "sm_100a:emulated"):
        y, c = np.empty_like(x), np.empty((150, 72), np.float16)
        RowSoftmax.compile(target)(x, y)
        np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)
        Matmul.compile(target)(a, b, c)
        np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
        print(f"{target}: softmax and matmul are correct")


def error():
    @pl.kernel("A[N] -> C[N]")
    def wrong(b: pl.Block, A: In[f32], C: Out[f32]):
        if b.grid(A.size(0)) > 0:
            b.store(C.at(0), 1)

    try:
        wrong.program()
    except penstock.Error as found:
        text = str(found)
    assert "no_compiler.py" in text and "if b.grid(A.size(0)) > 0:" in text and "with b.when(condition):" in text, text
    print(text.splitlines()[0].rsplit("/", 1)[-1])


def tuning():
    report = Matmul.tune("native", {"M": 256, "N": 256, "K": 256})
    fastest = Matmul(**report["fields"])
    a = random.integers(-2, 3, (256, 256)).astype(np.float16)
    c = np.empty((256, 256), np.float16)
    fastest(a, a, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ a.astype(np.float32).T)
    print(f"tuned: {report['fields']}")


def best_of(count, action):
    """CPU seconds of the fastest of some calls."""
    times = []
    for _ in range(count):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def import_time(statement):
    """CPU seconds that an import adds to an interpreter, the best of ten."""
    def of(statement):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", statement], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(of(statement) for _ in range(10)) - min(of("pass") for _ in range(10))


def limits():
    """Figures with their limits. Another process on the same core slows all of them, so a test allows twice the limit."""
    figures = {
        "recording of FlashAttention": (best_of(40, FlashAttention.program) * 1e3, 2, "ms"),
        "recording of MatmulV4": (best_of(40, MatmulV4.program) * 1e3, 3, "ms"),
        "import of penstock": (import_time("import penstock") * 1e3, 50, "ms"),
        "import of penstock and penstock.lang": (import_time("import penstock.lang") * 1e3, 50, "ms"),
    }
    for name, (figure, limit, unit) in figures.items():
        print(f"{name}: {figure:.2f} {unit} of CPU time, limit {limit}")
        assert figure <= 2 * limit, name


if "--limits" not in sys.argv:
    results()
    error()
    tuning()
limits()
