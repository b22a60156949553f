//===- RegisterModel.cpp - Registers that ptxas will need -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Registers/RegisterModel.h"
#include "PTX/InstructionTable.h"
#include "PTX/LiveRegisters.h"
#include "PTX/Parser.h"
#include "PTX/Registers.h"
#include "Target/NVPTX/Binding/RegisterNeeds.h"

#include <algorithm>
#include <set>

using namespace penstock;

/// Registers that ptxas saves by reordering instructions, before it spills. Between 20 and 40, the
/// model errs equally often (docs/results/register-model.md).
static constexpr int64_t savedByOrder = 24;

int64_t RegisterModel::required() const { return operands + nvptx::besideWgmma; }

bool RegisterModel::isSlow() const { return live > std::max(available, requested) + savedByOrder; }

std::optional<ModeledKernel> ModeledKernel::parse(const std::string &ptx) {
  ptx::ParseResult parsed = ptx::parse(ptx, "kernel.ptx");
  if (!parsed.module)
    return std::nullopt;
  ModeledKernel result;
  result.module = parsed.module;
  for (const auto &function : parsed.module->functions)
    if (function->isEntry && !function->body.empty()) {
      result.kernel = function.get();
      return result;
    }
  return std::nullopt;
}

static int64_t threadsOf(const ptx::Function &kernel) {
  const auto &threads = kernel.requiredThreads[0] ? kernel.requiredThreads : kernel.maxThreads;
  int64_t product = 1;
  for (uint32_t each : threads)
    product *= std::max<uint32_t>(1, each);
  return product;
}

static int64_t wordsOf(const ptx::Operand &operand) {
  int64_t words = 0;
  ptx::forRegisters(operand, [&](uint32_t) { ++words; });
  return words;
}

RegisterModel ModeledKernel::model(const hw::Architecture &architecture) const {
  RegisterModel result;
  result.threads = threadsOf(*kernel);
  result.available = nvptx::registersOfThread(result.threads, architecture);
  if (kernel->maxRegisters)
    result.available = std::min<int64_t>(result.available, kernel->maxRegisters);
  std::vector<ptx::LiveRegisters> live = ptx::liveRegisters(*kernel);
  for (size_t i = 0; i < live.size(); ++i) {
    const ptx::Instruction &inst = *kernel->body[i];
    if (live[i].words > result.live) {
      result.live = live[i].words;
      result.accumulators = live[i].accumulators;
      result.liveAt = locationOf(i);
    }
    if (inst.form->name == "setmaxnreg" && inst.has(".inc"))
      result.requested = std::max(result.requested, int64_t(inst.operands[0].value));
    if (!inst.form->name.starts_with("wgmma.mma_async"))
      continue;
    // The left operand is a descriptor, or a vector of registers.
    int64_t operands = wordsOf(inst.operands[0]);
    if (inst.operands[1].kind == ptx::Operand::Kind::Vector)
      operands += wordsOf(inst.operands[1]);
    if (operands > result.operands) {
      result.operands = operands;
      result.wgmmaAt = locationOf(i);
    }
  }
  return result;
}

SourceLocation ModeledKernel::locationOf(size_t instruction) const {
  for (size_t i = instruction + 1; i-- > 0;) {
    const ptx::SourceLoc &loc = kernel->body[i]->loc;
    auto file = module->files.find(loc.file);
    if (loc.line && file != module->files.end())
      return {file->second, loc.line, loc.column};
  }
  return {};
}

SourceLocation ModeledKernel::sourceOf(int64_t ptxLine) const {
  for (size_t i = 0; i < kernel->body.size(); ++i)
    if (int64_t(kernel->body[i]->line) >= ptxLine)
      return locationOf(i);
  return {};
}

SourceLocation ModeledKernel::accessInFlight() const {
  std::set<uint32_t> inFlight;
  for (size_t i = 0; i < kernel->body.size(); ++i) {
    const ptx::Instruction &inst = *kernel->body[i];
    if (inst.form->name == "wgmma.wait_group") {
      inFlight.clear(); // of the groups that it leaves, too: the first access counts
    } else if (inst.form->name.starts_with("wgmma.mma_async")) {
      ptx::forRegisters(inst.operands[0], [&](uint32_t reg) { inFlight.insert(reg); });
    } else {
      bool found = false;
      for (const ptx::Operand &operand : inst.operands)
        ptx::forRegisters(operand, [&](uint32_t reg) { found |= inFlight.contains(reg); });
      if (found)
        return locationOf(i);
    }
  }
  return {};
}

int64_t penstock::mostThreadsWith(int64_t registers, const hw::Architecture &architecture) {
  constexpr int64_t warpgroup = 128;
  int64_t threads = architecture.limits.threadsPerBlock / warpgroup * warpgroup;
  while (threads > 0 && nvptx::registersOfThread(threads, architecture) < registers)
    threads -= warpgroup;
  return threads;
}
