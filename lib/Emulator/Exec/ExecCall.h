//===- ExecCall.h - Handlers that the decoder itself emits ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_EXEC_EXECCALL_H
#define PENSTOCK_EMULATOR_EXEC_EXECCALL_H

namespace penstock::emu {

struct Exec;
struct DInst;

void runBranch(Exec &, const DInst &);
/// Branches where operand 0 is imm[0]; the others go on.
void runBranchIfIndex(Exec &, const DInst &);
/// Operand 0 of brx.idx is below imm[0].
void runCheckIndex(Exec &, const DInst &);
/// Of an indirect call: the address is one of Program::callTables[imm[0]].
void runCheckCallee(Exec &, const DInst &);
void runExit(Exec &, const DInst &);
/// Copies imm[2] bytes of local memory from imm[1] to imm[0].
void runCopyLocal(Exec &, const DInst &);
void runPrintf(Exec &, const DInst &);
void runAssertFail(Exec &, const DInst &);
// griddepcontrol (RunGrids.cpp).
void runWaitForPrevious(Exec &, const DInst &);
void runLaunchDependents(Exec &, const DInst &);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_EXEC_EXECCALL_H
