# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX on numpy arrays."""

import numpy
import pytest

import penstock_emu

REVERSE = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry reverse(.param .u64 in, .param .u64 out, .param .f32 factor) {
.reg .b32 %r<6>; .reg .b64 %x<4>; .reg .f32 %f<3>;
.shared .align 4 .b8 tile[512];
mov.u32 %r0, %tid.x; mov.u32 %r5, tile;
ld.param.u64 %x0, [in]; ld.param.u64 %x1, [out]; ld.param.f32 %f1, [factor];
mad.wide.u32 %x2, %r0, 4, %x0; ld.global.f32 %f0, [%x2]; mul.f32 %f0, %f0, %f1;
mad.lo.u32 %r1, %r0, 4, %r5; st.shared.f32 [%r1], %f0;
BARRIER
sub.u32 %r2, 127, %r0; mad.lo.u32 %r3, %r2, 4, %r5; ld.shared.f32 %f2, [%r3];
mad.wide.u32 %x3, %r0, 4, %x1; st.global.f32 [%x3], %f2; ret;
}
"""


def run(barrier, timings=4):
    x = numpy.arange(128, dtype=numpy.float32)
    y = numpy.zeros_like(x)
    report = penstock_emu.check(REVERSE.replace("BARRIER", barrier), "reverse", grid=1, block=128,
                                args=[x, penstock_emu.Output(y), 2.0], timings=timings)
    return report, x, y


def test_results_come_back():
    report, x, y = run("bar.sync 0;")
    report.raise_on("note")
    assert report.completed and not report.findings
    assert (y == 2 * x[::-1]).all()
    assert report.stats["blocks"] == 4  # one in each timing


def test_a_missing_barrier_is_one_finding():
    report, _, _ = run("")
    assert [(f.code, f.tier) for f in report.findings] == [("PS2101", "wrong")]
    assert report.findings[0].helps[0].startswith("nothing orders them")
    with pytest.raises(penstock_emu.FindingsError, match="data race on tile"):
        report.raise_on("wrong")


def test_reports_are_saved(tmp_path):
    report, _, _ = run("", timings="eager")
    report.save(tmp_path / "report.html")
    assert "wrong on hardware" in (tmp_path / "report.html").read_text()
    report.save(tmp_path / "report.sarif")
    assert '"2.1.0"' in (tmp_path / "report.sarif").read_text()


# Threads of a block store one value to a word (a note), and the last one reads beyond the end.
BOUNDS = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry bounds(.param .u64 out, .param .u32 at) {
.reg .b32 %r<4>; .reg .b64 %x<4>;
ld.param.u64 %x0, [out]; ld.param.u32 %r0, [at];
st.global.u32 [%x0], 7;
mul.wide.u32 %x1, %r0, 4; add.u64 %x1, %x0, %x1; st.global.u32 [%x1], 7;
ret;
}
"""


def test_notes_are_only_counted_beside_errors():
    out = numpy.zeros(8, numpy.uint32)
    noted = penstock_emu.check(BOUNDS, "bounds", 1, 32, [out, 1])
    assert {each.tier for each in noted.findings} == {"note"}
    noted.raise_on("undefined")
    assert "note PS1743" in noted.render() and "render(notes=True)" not in noted.render()
    with pytest.raises(penstock_emu.FindingsError, match="note PS1743"):
        noted.raise_on("note")
    report = penstock_emu.check(BOUNDS, "bounds", 1, 32, [out, 1000], timings=1)
    with pytest.raises(penstock_emu.FindingsError) as failed:
        report.raise_on("undefined")
    assert "error PS2104" in str(failed.value) and "note PS1743" not in str(failed.value)
    assert str(failed.value).endswith("1 note: render(notes=True)\n")
    assert "note PS1743" in report.render(notes=True)
    assert "PS1743" in report.render("json")


def test_a_run_that_stops_says_so():
    report = penstock_emu.check(BOUNDS, "bounds", 4, 32, [numpy.zeros(8, numpy.uint32), 1000])
    assert not report.completed and "The run stopped at a finding" in report.render()
    report, _, _ = run("")
    assert report.completed and "The run stopped" not in report.render()


def test_tiers_and_ignored_codes():
    report, _, _ = run("")
    for tier in ("warning", "WRONG", None):
        with pytest.raises(penstock_emu.EmulatorError, match='tiers are "note", "undefined", "wrong"'):
            report.raise_on(tier)
    with pytest.raises(penstock_emu.EmulatorError, match='expected one like "PS2102"'):
        report.raise_on("wrong", ignore=["race"])
    report.raise_on("wrong", ignore="PS2101")
    assert "ignored: 1 finding PS2101\n" in report.render()
    with pytest.raises(penstock_emu.FindingsError):
        report.raise_on("wrong")


def test_mutants():
    x, y = numpy.arange(128, dtype=numpy.float32), numpy.zeros(128, numpy.float32)
    report = penstock_emu.mutate(REVERSE.replace("BARRIER", "bar.sync 0; bar.sync 1;"), "reverse", 1, 128,
                                 [x, penstock_emu.Output(y), 2.0])
    # Either barrier is enough.
    assert (report.mutants, report.detected, report.survivors, report.unexecuted) == (2, 0, 2, 0)
    assert [f.code for f in report.findings] == ["PS2202", "PS2202"]
    assert report.executed_lines == report.lines
    assert not y.any()
    assert report.render().endswith("2 mutants, 0 detected, 2 survivors, 0 never executed\n")
    # Without findings, the counts are the report.
    needed = penstock_emu.mutate(REVERSE.replace("BARRIER", "bar.sync 0;"), "reverse", 1, 128,
                                 [x, penstock_emu.Output(y), 2.0])
    assert needed.render() == "1 mutants, 1 detected, 0 survivors, 0 never executed\n"


def test_wrong_calls():
    with pytest.raises(penstock_emu.EmulatorError, match="has no kernel `absent`; known are `reverse`"):
        penstock_emu.check(REVERSE.replace("BARRIER", ""), "absent")
    two = REVERSE[:REVERSE.index(".visible")] + ".visible .entry copy() { ret; }\n.visible .entry _Z5scalePff() { ret; }\n"
    with pytest.raises(penstock_emu.EmulatorError, match="did you mean `_Z5scalePff`\\? Known are `_Z5scalePff`, `copy`"):
        penstock_emu.check(two, "scale")
    with pytest.raises(penstock_emu.EmulatorError, match="3 parameters and got 1"):
        penstock_emu.check(REVERSE.replace("BARRIER", ""), block=128, args=[1])
    with pytest.raises(penstock_emu.EmulatorError, match="PS2001"):
        penstock_emu.Device().load("nonsense")


# The first kernel writes x, and lets the next one start before that; the next one copies x to y.
PAIR = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry first(.param .u64 x) {
.reg .b32 %r<2>; .reg .b64 %d<3>;
griddepcontrol.launch_dependents;
ld.param.u64 %d0, [x]; mov.u32 %r0, %tid.x; mad.wide.u32 %d1, %r0, 4, %d0; st.global.u32 [%d1], %r0; ret;
}
.visible .entry second(.param .u64 x, .param .u64 y) {
.reg .b32 %r<2>; .reg .b64 %d<5>;
WAIT
ld.param.u64 %d0, [x]; ld.param.u64 %d2, [y]; mov.u32 %r0, %tid.x;
mad.wide.u32 %d1, %r0, 4, %d0; mad.wide.u32 %d3, %r0, 4, %d2;
ld.global.u32 %r1, [%d1]; st.global.u32 [%d3], %r1; ret;
}
"""


@pytest.mark.parametrize("wait", ["griddepcontrol.wait;", ""])
def test_overlapping_kernels(wait):
    x, y = (numpy.zeros(32, numpy.uint32) for _ in range(2))
    ptx = PAIR.replace("WAIT", wait)
    report = penstock_emu.check_overlapping([dict(ptx=ptx, kernel="first", block=32, args=[x]),
                                             dict(ptx=ptx, kernel="second", block=32, args=[x, penstock_emu.Output(y)])])
    assert {f.code for f in report.findings} == (set() if wait else {"PS1772"}), report.render()
    assert (x == numpy.arange(32)).all()
    if wait:
        assert (y == numpy.arange(32)).all()
    else:
        with pytest.raises(penstock_emu.FindingsError, match="griddepcontrol.wait is missing"):
            report.raise_on("wrong")
