"""Samples of the blocks of large launches, and names of kernels: test_sampling.py LIBRARY MODULES. Needs numpy."""

import importlib.util
import os
import sys
import unittest

os.environ["PENSTOCK_EMU_LIBRARY"] = sys.argv.pop(1)
sys.path.insert(0, sys.argv.pop(1))
if importlib.util.find_spec("numpy") is None:
    print("there is no numpy")
    sys.exit(77)

from penstock_emu._launches import Launch, Options, Pointer, run
from penstock_emu._host_memory import Range, Ranges
from penstock_emu._sampling import described, parts_of
from penstock_emu.device import known_names
import numpy

# Each block writes its index; block 0 is written by block 63, too, if `race` is not 0.
PTX = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry fill(.param .u64 out, .param .u32 race) {
  .reg .b32 %r<5>; .reg .b64 %d<4>; .reg .pred %p;
  ld.param.u64 %d0, [out]; ld.param.u32 %r2, [race];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %r0;
  setp.eq.u32 %p, %r0, %r2;
  @%p mov.u32 %r1, 0;
  mul.wide.u32 %d1, %r1, 4; add.u64 %d2, %d0, %d1;
  st.global.u32 [%d2], %r0;
  ret;
}
"""


def launch(blocks, race, out):
    return Launch("PTX", PTX, "fill", (blocks,), (1,), [Pointer(out.ctypes.data), int(race).to_bytes(4, "little")],
                  ["out", "race"], [Range(out.ctypes.data, out.nbytes)])


class Samples(unittest.TestCase):

    def test_first_and_evenly_spaced_blocks(self):
        half, steps, offsets = parts_of((200, 1, 1), 64)
        self.assertEqual((half[0], steps[0], offsets[0]), (32, 6, 13))
        self.assertEqual(described(200, 64), "x 0 to 31; x 13, 19, .., 199")
        self.assertEqual(described((64, 4, 1), 64), "x 0 to 7, y all; x 0, 9, .., 63, y all")

    def test_a_sample_is_checked_and_all_blocks_run(self):
        out = numpy.zeros(4096, numpy.uint32)
        report = run(launch(4096, 1 << 30, out), Ranges(), Options(timings=1, blocks=64))
        self.assertTrue((out == numpy.arange(4096)).all())
        self.assertEqual(report.sampled, 64)
        self.assertEqual(report.blocks, described(4096, 64))

    def test_all_blocks(self):
        # Block 2000 is not in the sample: its race with block 0 is not covered, and found with all blocks.
        for blocks, codes in ((64, set()), (0, {"PS2101"})):
            out = numpy.zeros(4096, numpy.uint32)
            report = run(launch(4096, 2000, out), Ranges(), Options(timings=1, blocks=blocks))
            self.assertEqual({each.code for each in report.findings}, codes)
            self.assertEqual(report.sampled, 64 if blocks else None)


class Names(unittest.TestCase):

    def test_close_names_are_first(self):
        names = ["copy", "_Z5scalePff"]
        self.assertEqual(known_names("scale", names), "did you mean `_Z5scalePff`? Known are `_Z5scalePff`, `copy`")
        self.assertEqual(known_names("cpoy", names), "did you mean `copy`? Known are `copy`, `_Z5scalePff`")
        self.assertEqual(known_names("gemm", names), "known are `copy`, `_Z5scalePff`")
        self.assertEqual(known_names("gemm", []), "there are none")
        self.assertTrue(known_names("a", [f"kernel{i}" for i in range(20)]).endswith("`kernel11` and 8 more"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
