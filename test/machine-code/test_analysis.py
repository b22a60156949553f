#!/usr/bin/env python3
"""Tests the analysis of benchmarks/peers.d on small listings written by hand.

    test_analysis.py PEERS

Expected values are counted by hand; comments show how.
"""
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
sys.dont_write_bytecode = True
from analysis import KernelCosts  # noqa: E402
from registers import results_of, sources_of  # noqa: E402
from sass import loops_of, main_loops, natural_loops, read_sass  # noqa: E402


def listing(text):
    """Formats code as nvdisasm does: labels at the margin, an address before each instruction."""
    lines, address = [], 0
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.endswith(":"):
            lines.append(line)
            continue
        lines.append("        /*%04x*/                   %s ;" % (address, line))
        address += 16
    return read_sass("\n".join(lines))


def costs(text):
    return KernelCosts(listing(text))


def loop(body):
    """Returns the costs of a loop with this body. An MMA and a branch make it a main loop."""
    found = costs("""
        MOV R0, RZ
        .L_x_0:
        HMMA.16816.F32 R200, R204, R208, R200
        %s
        ISETP.NE.AND P6, PT, R0, RZ, PT
        @P6 BRA `(.L_x_0)
        EXIT""" % body).main
    assert len(found) == 1
    return found[0]


class Registers(unittest.TestCase):
    def expect(self, text, *results):
        self.assertEqual(results_of(text), list(results), text)

    def test_widths(self):
        self.expect("FADD R4, R5, R6", "R4")
        self.expect("FADD2 R10, R10.F32x2.HI_LO, -R12.F32x2.HI_LO", "R10", "R11")
        self.expect("LDS.128 R36, [UR24+0x18890]", "R36", "R37", "R38", "R39")
        self.expect("LDG.E.64 R2, desc[UR26][R8.64]", "R2", "R3")
        self.expect("LDSM.16.M88.4 R144, [R157+0x12000]", "R144", "R145", "R146", "R147")
        self.expect("LDSM.16.MT88.2 R12, [R178+0x1000]", "R12", "R13")
        self.expect("HMMA.16816.F32 R52, R68, R8, R52", "R52", "R53", "R54", "R55")
        self.expect("HMMA.16816.F16 R52, R68, R8, R52", "R52", "R53")
        self.expect("IMAD.WIDE.U32 R78, R78, c[0x0][0x200], RZ", "R78", "R79")
        self.expect("CS2R R22, SRZ", "R22", "R23")
        self.expect("UIADD3.64 UR52, UPT, UPT, UR48, 0x2c0, URZ", "UR52", "UR53")
        # 64 x 128 sums of f32 in 128 threads: 64 registers each. 64 x 16 in f16: 4.
        self.assertEqual(len(results_of("HGMMA.64x128x16.F32 R24, gdesc[UR16], R24")), 64)
        self.assertEqual(len(results_of("HGMMA.64x16x16.F16 R24, gdesc[UR16], R24")), 4)
        # 32 columns of 32 bits in each lane; 8 times 256 bits of 16 lanes: 4 registers each.
        self.assertEqual(len(results_of("LDTM.x32 R36, tmem[UR6]")), 32)
        self.assertEqual(len(results_of("LDTM.16dp256bit.x8 R4, tmem[UR8]")), 32)

    def test_predicates_come_first(self):
        self.expect("SHFL.BFLY PT, R22, R21, 0x8, 0x1f", "R22")
        self.expect("@!P0 LEA R43, P6, R38, c[0x0][0x1b0], 0x1", "R43")

    def test_no_result(self):
        for text in ("STG.E [R38.64], R45", "STS.128 [R16+UR24+0xa800], R4", "MOV RZ, R3",
                     "ISETP.GE.AND P2, PT, R92, RZ, PT", "BAR.SYNC.DEFER_BLOCKING 0x0",
                     "LDGSTS.E.BYPASS.128.ZFILL [R56], [R12.64], P4", "STTM.x32 tmem[UR4], R8",
                     "SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR8+0x18838], R0"):
            self.expect(text)

    def test_sources(self):
        self.assertEqual(sources_of("FFMA R6, -R9, |R7|.reuse, R8"), [["R9"], ["R7"], ["R8"]])
        self.assertEqual(sources_of("FMUL2 R10, R12.F32x2.HI_LO, R55.F32"), [["R12", "R13"], ["R55"]])
        self.assertEqual(sources_of("@P1 FMNMX R4, R4, R5, !PT"), [["R4"], ["R5"]])


class Chains(unittest.TestCase):
    def expect(self, body, **chains):
        self.assertEqual(loop(body).chains, dict({"max": 0, "add": 0}, **chains), body)

    def test_one_after_the_other(self):
        # R4 = max(max(max(max(R4, R5), R6), R7), R8)
        self.expect("\n".join("FMNMX R4, R4, R%d, !PT" % i for i in (5, 6, 7, 8)), max=4)
        self.expect("\n".join("FADD R4, R4, R%d" % i for i in (5, 6, 7, 8)), add=4)

    def test_tree(self):
        # max(max(R4, R5), max(R6, R7))
        self.expect("""FMNMX R4, R4, R5, !PT
                       FMNMX R6, R6, R7, !PT
                       FMNMX R4, R4, R6, !PT""", max=2)

    def test_three_operands(self):
        # Five values: max3(max3(R4, R5, R6), R7, R8).
        self.expect("""FMNMX3.NAN R4, R4, R5, R6, !PT
                       FMNMX3.NAN R4, R4, R7, R8, !PT""", max=2)

    def test_pairs(self):
        # The second addition reads R5, which the first one writes beside R4.
        self.expect("""FADD2 R4, R6.F32x2.HI_LO, R8.F32x2.HI_LO
                       FADD R10, R5, R11""", add=2)

    def test_classes_are_separate(self):
        # A sum of maxima: one of each.
        self.expect("""FMNMX R4, R4, R5, !PT
                       FADD R6, R4, R7""", max=1, add=1)

    def test_lanes_and_copies(self):
        # max, shuffle, max, copy, max: 3.
        self.expect("""FMNMX R4, R4, R5, !PT
                       SHFL.BFLY PT, R5, R4, 0x2, 0x1f
                       FMNMX R4, R4, R5, !PT
                       IMAD.MOV.U32 R9, RZ, RZ, R4
                       FMNMX R6, R6, R9, !PT""", max=3)

    def test_other_arithmetic_ends_a_chain(self):
        # An exponential is not an addition: 1 before it and 1 after it.
        self.expect("""FADD R4, R4, R5
                       MUFU.EX2 R4, R4
                       FADD R6, R6, R4""", add=1)

    def test_overwritten(self):
        # The load replaces R4 to R7: the second sum is the first one of a new chain.
        self.expect("""FADD R6, R6, R8
                       LDS.128 R4, [R20]
                       FADD R9, R6, R9""", add=1)
        # This one replaces R4 and R5 only.
        self.expect("""FADD R6, R6, R8
                       LDS.64 R4, [R20]
                       FADD R9, R6, R9""", add=2)
        # An MMA replaces four.
        self.expect("""FADD R6, R6, R8
                       HMMA.16816.F32 R4, R40, R44, R48
                       FADD R9, R6, R9""", add=1)

    def test_guarded(self):
        # The copy may not happen, so that the last sum may be the third.
        self.expect("""FADD R4, R4, R5
                       @P0 FADD R4, R4, R6
                       @P1 MOV R4, R9
                       FADD R7, R4, R7""", add=3)

    def test_paths_join(self):
        # 1 on one path, 2 on the other, and 1 after they join.
        self.expect("""FADD R4, R4, R5
                       @P0 BRA `(.L_x_1)
                       FADD R4, R4, R6
                       .L_x_1:
                       FADD R4, R4, R7""", add=3)
        # The paths exclude each other: not 3.
        self.expect("""@P0 BRA `(.L_x_1)
                       FADD R4, R4, R6
                       FADD R4, R4, R5
                       BRA `(.L_x_2)
                       .L_x_1:
                       FADD R4, R4, R7
                       .L_x_2:
                       NOP""", add=2)

    def test_addends(self):
        # A sum of three squares.
        self.expect("""FFMA R4, R5, R5, R4
                       FFMA R4, R6, R6, R4
                       FFMA R4, R7, R7, R4""", add=3)
        # A polynomial in R5: each coefficient is added to a product, not to a sum.
        self.expect("""FFMA R4, R5, R4, R6
                       FFMA R4, R5, R4, R7""", add=1)

    def test_conversions(self):
        # HADD2.F32 converts, FHADD adds a half to a float.
        self.expect("""HADD2.F32 R4, -RZ, R4.H0_H0
                       HADD2.F32 R4, -RZ, R4.H0_H0""")
        self.expect("""FHADD R4, R4, R5
                       FHADD R4, R4, R6""", add=2)


class Counts(unittest.TestCase):
    def expect(self, body, **counts):
        nothing = dict.fromkeys("fpbslk", 0)
        self.assertEqual(loop(body).counts, dict(nothing, **counts), body)

    def test_fences(self):
        # fence.acq_rel.gpu is the first three; then fence.sc.sys, and an acquire of GPU scope.
        self.expect("""MEMBAR.ALL.GPU
                       ERRBAR
                       CCTL.IVALL
                       MEMBAR.SC.SYS
                       LD.E.STRONG.GPU R4, [R2.64]
                       CCTL.IVALL""", f=4)

    def test_cheap_fences(self):
        self.expect("""MEMBAR.ALL.CTA
                       MEMBAR.SC.CTA
                       FENCE.VIEW.ASYNC.S
                       CCTL.E.C.LDCU.IV.DEEP [R2.64]""", p=1)

    def test_barriers(self):
        self.expect("""BAR.SYNC.DEFER_BLOCKING 0x0
                       BAR.ARV 0x1, 0x80
                       UCGABAR_ARV
                       UCGABAR_WAIT
                       WARPSYNC.ALL
                       SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4], RZ""", b=3)

    def test_local_memory(self):
        self.expect("""STL.64 [R1], R4
                       LDL.LU R4, [R1+0x8]
                       STG.E [R2.64], R4""", l=2)

    def test_calls(self):
        self.expect("""CALL.REL.NOINC `($__internal_1_$__cuda_sm3x_div_rn_noftz_f32_slowpath)
                       CALL.ABS.NOINC R2
                       CALL.REL.NOINC `($__internal_0_$__cuda_sm10x_tcgen05_guardrail_trap_col)""", k=2)

    def test_calls_of_labels_are_branches(self):
        found = costs("""
            .L_x_0:
            HMMA.16816.F32 R200, R204, R208, R200
            @P1 CALL.REL.NOINC `(.L_x_1)
            BRA `(.L_x_0)
            .L_x_1:
            STG.E [R2.64], R200
            EXIT""")
        self.assertEqual((found.counts["k"], found.main[0].loop.size, found.epilogue_size), (0, 3, 2))

    def test_failed_waits_are_not_in_the_loop(self):
        found = costs("""
            .L_x_0:
            SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR16], R3
            @!P0 BRA `(.L_x_2)
            .L_x_1:
            HGMMA.64x128x16.F32 R24, gdesc[UR16], R24
            @P1 BRA `(.L_x_0)
            STG.E [R2.64], R24
            EXIT
            .L_x_2:
            SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR16], R3
            @!P0 BRA `(.L_x_2)
            BRA `(.L_x_1)""")
        self.assertEqual((found.main[0].loop.size, found.main[0].counts["s"]), (4, 1))
        self.assertEqual(found.epilogue_size, 2)


MMA_LOOP = """
    .L_x_{0}:
    HMMA.16816.F32 R200, R204, R208, R200
    @P0 BRA `(.L_x_{0})"""


class Structure(unittest.TestCase):
    def main(self, text):
        code = listing(text)
        return [found.size for found in main_loops(code, natural_loops(code))]

    def test_outer_loops_are_none(self):
        # The inner loop has two instructions; the outer one copies too.
        self.assertEqual(self.main("""
            .L_x_1:
            LDGSTS.E [R56], [R12.64]""" + MMA_LOOP.format(0) + """
            @P1 BRA `(.L_x_1)
            EXIT"""), [2])

    def test_load_warps(self):
        # A loop that copies beside the loop of MMAs; the loop that stores is part of the epilogue.
        self.assertEqual(self.main("""
            @P2 BRA `(.L_x_2)
            .L_x_1:
            UTMALDG.2D [UR8], [UR16]
            UTMALDG.2D [UR8], [UR16]
            @P1 BRA `(.L_x_1)
            EXIT
            .L_x_2:""" + MMA_LOOP.format(0) + """
            .L_x_3:
            STG.E [R2.64], R200
            @P1 BRA `(.L_x_3)
            EXIT"""), [3, 2])

    def test_row_kernels(self):
        # Without MMAs and exponentials, loops that access global memory.
        self.assertEqual(self.main("""
            .L_x_0:
            LDG.E R4, [R2.64]
            STS [R9], R4
            @P0 BRA `(.L_x_0)
            .L_x_1:
            STS [R9], R4
            @P0 BRA `(.L_x_1)
            EXIT"""), [3])

    def test_loops_over_lanes(self):
        # The assembler issues a copy for one group of lanes after the other.
        self.assertEqual(self.main(MMA_LOOP.format(0) + """
            .L_x_1:
            R2UR UR8, R2
            UTMALDG.2D [UR8], [UR16]
            BRA.U.ANY `(.L_x_1)
            EXIT"""), [2])

    def test_mmas_of_every_type(self):
        for name in ("HMMA.16816.F32", "IMMA.16832.S8.S8", "QMMA.16832.F32.E4M3.E4M3",
                     "QMMA.SF.16832.F32.E4M3.E2M1.E8", "OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X"):
            code = listing("""
                .L_x_0:
                %s R200, R204, R208, R200, R2, R3, URZ
                @P0 BRA `(.L_x_0)
                EXIT""" % name)
            self.assertEqual([found.counts["m"] for found in main_loops(code, natural_loops(code))], [1])

    def test_loops_that_copy_are_found_within_others(self):
        code = listing("""
            .L_x_1:
            HMMA.16816.F32 R200, R204, R208, R200
            .L_x_0:
            UTMALDG.2D [UR8], [UR16]
            @P0 BRA `(.L_x_0)
            @P1 BRA `(.L_x_1)
            EXIT""")
        self.assertEqual([found.size for found in loops_of(code)], [4, 2])
        # An iteration of the loop of MMAs includes it.
        self.assertEqual([found.size for found in main_loops(code, natural_loops(code))], [4])


class Epilogue(unittest.TestCase):
    def test_to_the_end(self):
        # Four instructions, one barrier; not what comes before the loop.
        found = costs("""
            BAR.SYNC.DEFER_BLOCKING 0x0
            MOV R0, RZ""" + MMA_LOOP.format(0) + """
            STS [R9], R200
            BAR.SYNC.DEFER_BLOCKING 0x0
            NOP
            STG.E [R2.64], R4
            EXIT""")
        self.assertEqual((found.epilogue_size, found.epilogue["b"]), (4, 1))
        self.assertEqual(found.epilogue_text(), "4 (1b)")

    def test_of_a_persistent_loop(self):
        # From the inner loop to the branch back: three. What follows the outer loop is not per tile.
        found = costs("""
            .L_x_1:
            MOV R200, RZ""" + MMA_LOOP.format(0) + """
            BAR.SYNC.DEFER_BLOCKING 0x0
            STG.E [R2.64], R200
            @P1 BRA `(.L_x_1)
            MEMBAR.ALL.GPU
            EXIT""")
        self.assertEqual((found.epilogue_size, found.epilogue["b"], found.epilogue["f"]), (3, 1, 0))

    def test_of_other_warps(self):
        # Warps with P2 store: four instructions, or three in a persistent loop.
        for head, back, size in ("", "", 4), (".L_x_3:", "@P1 BRA `(.L_x_3)", 3):
            found = costs("""
                @P2 BRA `(.L_x_2)""" + MMA_LOOP.format(0) + """
                EXIT
                .L_x_2:
                MOV R0, RZ
                %s
                LDTM.x32 R36, tmem[UR6]
                UTMASTG.2D [UR4], [UR24]
                %s
                EXIT""" % (head, back))
            self.assertEqual(found.epilogue_size, size)

    def test_without_loops(self):
        self.assertEqual(costs("""
            LDG.E R4, [R2.64]
            STG.E [R8.64], R4
            EXIT""").epilogue_text(), "-")


unittest.main()
