//===- Mutate.cpp - penstock-emu mutate -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Removes the synchronizing instructions of a kernel one by one and runs what is left. A mutant
// with the same findings and results in all timings is a survivor: the instruction is redundant
// in this launch, is never executed, or orders something that the emulator does not check.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Diagnostics/ReadFile.h"
#include "LaunchArguments.h"
#include "PTX/InstructionTable.h"
#include "PTX/Parser.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace penstock::emu {
namespace {

struct MutateOptions {
  std::shared_ptr<PtxLaunch> launch = std::make_shared<PtxLaunch>();
  std::string format = "text";
  unsigned timings = 4;
};

/// Whether removing an instruction can only remove order, not data.
bool synchronizes(const ptx::Instruction &inst) {
  static constexpr std::string_view prefixes[] = {"bar.",
                                                  "barrier.",
                                                  "membar",
                                                  "fence",
                                                  "wgmma.fence",
                                                  "wgmma.wait_group",
                                                  "wgmma.commit_group",
                                                  "cp.async.wait_",
                                                  "cp.async.commit_group",
                                                  "cp.async.bulk.wait_group",
                                                  "cp.async.bulk.commit_group",
                                                  "mbarrier.arrive",
                                                  "mbarrier.try_wait",
                                                  "mbarrier.test_wait",
                                                  "tcgen05.commit",
                                                  "tcgen05.wait",
                                                  "tcgen05.fence"};
  const std::string &name = inst.form->name;
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

struct Outcome {
  std::set<std::array<uint32_t, 3>> findings; ///< codes and PTX lines
  std::vector<std::vector<uint8_t>> results;  ///< contents of the buffers
  bool loaded = false;

  bool operator==(const Outcome &other) const {
    return findings == other.findings && results == other.results;
  }
};

/// Runs \p text in one timing, on one thread: findings do not depend on the host.
Outcome runMutant(const std::string &text, PtxLaunch &launch, LaunchOptions options,
                  uint64_t budget) {
  Outcome outcome;
  Device device;
  std::vector<Diagnostic> diagnostics;
  auto module = device.load(text, launch.file, diagnostics);
  if (!module || launch.allocate(device) >= 0)
    return outcome;
  outcome.loaded = true;
  options.threads = 1;
  if (budget)
    options.maxInstructions = budget;
  Report report = device.launch(*module, launch.kernel, launch.config, options);
  for (const FindingSite &site : report.sites)
    outcome.findings.insert({site.code, site.line, site.otherLine});
  for (const Diagnostic &d : report.findings) // those without an instruction
    outcome.findings.insert({d.code, d.location.line, 0});
  for (const Buffer &buffer : launch.buffers) {
    outcome.results.emplace_back(buffer.size);
    device.read(buffer.address, outcome.results.back().data(), buffer.size);
  }
  return outcome;
}

/// The text without an instruction. Lines keep their numbers. A wait becomes one that is over.
std::string without(const std::string &text, const ptx::Function &kernel,
                    const ptx::Instruction &inst) {
  size_t from = 0;
  for (uint32_t line = 1; line < inst.line; ++line)
    from = text.find('\n', from) + 1;
  from += inst.column - 1;
  size_t to = text.find(';', from);
  std::string replacement;
  bool waits = inst.form->name.find("_wait") != std::string::npos &&
               inst.form->name.starts_with("mbarrier.");
  if (waits && inst.operands[0].kind == ptx::Operand::Kind::Register)
    replacement = "setp.eq.u32 " + kernel.registers[inst.operands[0].index].name + ", 0, 0;";
  std::string out = text.substr(0, from) + replacement;
  for (size_t i = from; i <= to && i < text.size(); ++i)
    if (text[i] == '\n')
      out += '\n';
  return out + text.substr(std::min(to + 1, text.size()));
}

int mutate(MutateOptions &o) {
  PtxLaunch &launch = *o.launch;
  std::string text;
  if (auto problem = readFile(launch.file, text))
    return refuse(*problem);
  ptx::ParseResult parsed = ptx::parse(text, launch.file);
  const ptx::Function *kernel = parsed.module ? parsed.module->function(launch.kernel) : nullptr;
  if (!kernel) {
    if (parsed.module) {
      Diagnostic d;
      d.code = EmuBadLaunch;
      d.message = launch.file + " has no kernel `" + launch.kernel + "`";
      parsed.diagnostics.push_back(d);
    }
    printFindings(parsed.diagnostics, o.format);
    return 2;
  }
  TimingSequence tried{std::max(1u, o.timings), 0, 2};
  std::vector<Outcome> expected;
  for (uint64_t i = 0; i < tried.size(); ++i)
    expected.push_back(runMutant(text, launch, tried[i], 0));
  if (!expected[0].loaded)
    return 2;
  unsigned mutants = 0;
  std::vector<const ptx::Instruction *> survivors;
  for (const auto &inst : kernel->body) {
    if (!synchronizes(*inst))
      continue;
    ++mutants;
    std::string mutant = without(text, *kernel, *inst);
    bool detected = false;
    for (uint64_t i = 0; i < tried.size() && !detected; ++i)
      detected = !(runMutant(mutant, launch, tried[i], uint64_t(1) << 28) == expected[i]);
    if (!detected)
      survivors.push_back(inst.get());
  }
  std::vector<Diagnostic> findings;
  for (const ptx::Instruction *inst : survivors) {
    Diagnostic d;
    d.code = MutantSurvived;
    d.severity = Severity::Warning;
    d.location = parsed.module->location(inst->line, inst->column);
    if (auto file = parsed.module->files.find(inst->loc.file);
        inst->loc.line && file != parsed.module->files.end())
      d.location = {file->second, inst->loc.line, inst->loc.column};
    d.message = "surviving mutant: without `" + inst->opcode + "` (" + launch.file + ":" +
                std::to_string(inst->line) + ") findings and results are the same in " +
                std::to_string(tried.size()) + " timings";
    d.helps.push_back("it is redundant in this launch or never executed; try other sizes");
    d.facts.emplace_back("ptx_line", std::to_string(inst->line));
    findings.push_back(std::move(d));
  }
  printFindings(findings, o.format);
  if (o.format == "text")
    printf("%u mutants, %zu detected, %zu survivors\n", mutants, mutants - survivors.size(),
           survivors.size());
  return survivors.empty() ? 0 : 1;
}

} // namespace

void addMutate(cli::Tool &tool) {
  auto o = std::make_shared<MutateOptions>();
  addLaunch(
      tool.command("mutate",
                   "Removes synchronizing instructions of a kernel one by one and lists those "
                   "that are not missed.",
                   [o](const cli::Command &) { return mutate(*o); }),
      o->launch)
      .number("timings", "timings of each mutant: eager, lazy, then random ones", o->timings, 1,
              1000)
      .format(o->format, {"text", "json", "sarif", "html"})
      .example("penstock-emu mutate kernel.ptx gemm --grid 2 --block 128 --arg buffer=4096:zero");
}

} // namespace penstock::emu
