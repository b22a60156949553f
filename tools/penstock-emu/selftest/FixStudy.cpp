//===- FixStudy.cpp - Repairs of mutants of the self-test -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "selftest/FixStudy.h"
#include "Diagnostics/Json.h"
#include "Emulator/Repair/Study.h"
#include "PTX/Parser.h"
#include "selftest/RunKernel.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace penstock::emu {
namespace {

using namespace selftest;

/// Timings of each trial, and more in which patched kernels are compared with the original.
constexpr unsigned trialTimings = 6, moreTimings = 24;

RepairSubject subjectOf(const Kernel &kernel) {
  RepairSubject subject;
  subject.module = ptx::parse(kernel.text, kernel.name + ".ptx").module;
  subject.kernel = "k";
  uint32_t warps = warpsOf(kernel.config);
  subject.blockWarps =
      (kernel.config.block[0] * kernel.config.block[1] * kernel.config.block[2] + 31) / 32;
  subject.clusterBlocks = warps / subject.blockWarps;
  subject.run = [&kernel](const std::shared_ptr<const ptx::Module> &module,
                          const LaunchOptions &options) {
    Run run = runKernel(kernel, module, options, kernel.iterations);
    std::vector<uint8_t> bytes(run.result.size() * 4);
    if (!bytes.empty())
      memcpy(bytes.data(), run.result.data(), bytes.size());
    return Trial{std::move(run.report), {std::move(bytes)}};
  };
  for (unsigned t = 0; t < trialTimings; ++t)
    subject.timings.push_back(timing(t));
  for (uint32_t warp = 0; warp < std::min(warps, 8u); ++warp)
    subject.timings.push_back(starving(warp));
  return subject;
}

} // namespace

int runFixStudy(const std::vector<Kernel> &kernels, unsigned count, bool verbose, bool json) {
  struct Item {
    size_t kernel, instruction;
  };
  std::vector<Item> items;
  std::vector<RepairSubject> subjects;
  for (size_t k = 0; k < kernels.size(); ++k) {
    subjects.push_back(subjectOf(kernels[k]));
    size_t instructions =
        syncInstructions(*subjects[k].module, *subjects[k].module->function("k")).size();
    for (size_t i = 0; i < instructions; ++i)
      items.push_back({k, i});
  }
  std::vector<LaunchOptions> more;
  for (unsigned t = trialTimings; t < trialTimings + moreTimings; ++t)
    more.push_back(timing(t));
  StudyTotals totals;
  std::map<size_t, RepairStudy> studies;
  for (size_t index : spreadOrder(items.size())) {
    if (totals.all().reported() >= count)
      break;
    const Item &item = items[index];
    auto study =
        studies.try_emplace(item.kernel, subjects[item.kernel], more, RepairOptions()).first;
    if (!study->second.problem().empty())
      continue;
    RepairedMutant mutant = study->second.study(study->second.instructions()[item.instruction]);
    totals.add(mutant);
    if (verbose && mutant.fate != RepairedMutant::Unreported)
      puts((kernels[item.kernel].name + ":" + mutant.text()).c_str());
  }
  StudyTotals::Counts all = totals.all();
  if (json)
    puts(JsonObject()
             .number("reported", all.reported())
             .number("restored", all.restored)
             .number("wrong", all.wrong)
             .number("gave_up", all.gaveUp)
             .str()
             .c_str());
  else
    fputs(totals.text().c_str(), stdout);
  return all.wrong ? 1 : 0;
}

} // namespace penstock::emu
