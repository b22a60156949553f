"""Executes examples/python/notebook.ipynb and looks at what its cells show."""

import pathlib
import sys

import nbclient
import nbformat

import penstock

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples/python/notebook.ipynb"
notebook = nbformat.read(NOTEBOOK, as_version=4)
nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
shown = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def expect(condition, what):
    if not condition:
        sys.exit(f"the notebook does not show {what}")


results = [output.get("data", {}) for outputs in shown for output in outputs]
texts = [data.get("text/plain", "") for data in results]
expect("True" in texts, "that the result is right")
expect(any("stages" in d.get("text/html", "") and "gemm" in d.get("text/html", "") for d in results), "the kernel's plan")
expect(any("<svg" in d.get("image/svg+xml", "") for d in results), "the timeline")
expect(any(text.isdigit() and int(text) > 0 for text in texts), "the number of runs")
error = shown[-1][-1]
expect(error.output_type == "error", "the error")
trace = "\n".join(error.traceback)
expect("PS1012" in trace and "    if i > 0:" in trace and "with b.when(condition)" in trace, f"the line and a fix:\n{trace}")
expect("<ipython" not in trace.split("error")[0] or "5: error" in trace, "the line of the cell")

try:
    penstock.parse("nonsense", "text")
except penstock.Error as caught:
    expect("color:#c0392b" in caught._repr_html_() and "<pre>" in caught._repr_html_(), "an error in colors")
print("the notebook shows what it should")
