//===- AssemblerReport.cpp - Diagnostics from reports of ptxas ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ptxas names a line of the PTX only where it rejects an instruction. Lines of other diagnostics
// are those where the register model finds most registers, which their notes state.
//
//===----------------------------------------------------------------------===//
#include "Compiler/Registers/AssemblerReport.h"
#include "Diagnostics/Codes.h"
#include "llvm/ADT/StringRef.h"

using namespace penstock;

/// The number before or after words of the report; 0: there is none.
static int numberBefore(llvm::StringRef text, llvm::StringRef words) {
  size_t at = text.rfind(words);
  if (at == llvm::StringRef::npos)
    return 0;
  llvm::StringRef before = text.take_front(at).rtrim();
  int number = 0;
  (void)before.substr(before.find_last_not_of("0123456789") + 1).getAsInteger(10, number);
  return number;
}
static int numberAfter(llvm::StringRef text, llvm::StringRef words) {
  size_t at = text.find(words);
  int number = 0;
  if (at != llvm::StringRef::npos)
    (void)text.substr(at + words.size())
        .ltrim()
        .take_while([](char c) { return c >= '0' && c <= '9'; })
        .getAsInteger(10, number);
  return number;
}

AssemblerReport AssemblerReport::parse(const std::string &text) {
  AssemblerReport report;
  report.registers = numberBefore(text, " registers, used");
  report.spilledBytes =
      numberBefore(text, " bytes spill stores") + numberBefore(text, " bytes spill loads");
  if (llvm::StringRef(text).contains("Insufficient registers (")) {
    report.available = numberAfter(text, "Insufficient registers (");
    report.required = numberAfter(text, "register target of");
    report.line = numberAfter(text, "instruction at line");
  }
  // Its note on MMAs in flight at the end of a loop (C7519) costs nothing.
  for (llvm::StringRef rest = text; !rest.empty();) {
    auto [line, after] = rest.split('\n');
    rest = after;
    constexpr llvm::StringLiteral loss = "Potential Performance Loss: ";
    size_t at = line.find(loss);
    if (at == llvm::StringRef::npos)
      continue;
    llvm::StringRef code = line.take_front(at).rtrim();
    code = code.substr(std::min(code.size(), code.rfind('(')));
    std::string reason = line.substr(at + loss.size()).rtrim().str() +
                         (code.starts_with("(C") ? " " + code.str() : "");
    (line.contains("serialized") ? report.serialized : report.otherLoss) = reason;
  }
  return report;
}

namespace {

Diagnostic warning(unsigned code, std::string message) {
  Diagnostic d;
  d.severity = Severity::Warning;
  d.code = code;
  d.message = std::move(message);
  return d;
}

std::string threadsHave(int64_t threads, int64_t registers) {
  return "a thread of a block of " + std::to_string(threads) + " has " + std::to_string(registers);
}

/// Names the line where most registers are live.
void locate(Diagnostic &d, const RegisterModel &model) {
  d.location = model.liveAt;
  d.label = std::to_string(model.live) + " registers are live here";
  if (model.accumulators)
    d.label += ", " + std::to_string(model.accumulators) + " of them accumulators";
  std::string have = threadsHave(model.threads, model.available);
  if (model.requested > model.available)
    have += ", and requests " + std::to_string(model.requested);
  d.notes.push_back({{}, have + "; registers are counted in the PTX, ptxas may need fewer", ""});
  d.facts.emplace_back("threads", std::to_string(model.threads));
  d.facts.emplace_back("available", std::to_string(model.available));
  d.facts.emplace_back("live", std::to_string(model.live));
}

std::string fewerThreads(int64_t required, const hw::Architecture &architecture) {
  int64_t threads = mostThreadsWith(required, architecture);
  return threads ? "use a smaller accumulator, or at most " + std::to_string(threads) + " threads"
                 : "use a smaller accumulator";
}

constexpr const char *smallerTiles =
    "use smaller tiles in registers, or divide them among more threads";

} // namespace

Diagnostic penstock::rejectionOf(const AssemblerReport &report, const std::string &text,
                                 const std::optional<ModeledKernel> &kernel,
                                 const hw::Architecture &architecture) {
  Diagnostic d;
  if (!report.required) {
    d.code = HardwareAssembler;
    d.message = "ptxas rejects the kernel: " + text;
    d.helps.push_back("this is a bug in Penstock or in inline PTX; please report it");
    if (int line = numberAfter(text, ", line"); line && kernel)
      d.location = kernel->sourceOf(line);
    return d;
  }
  d.code = RegistersRejected;
  d.message = "ptxas rejects the kernel (C7602): an instruction needs " +
              std::to_string(report.required) + " registers of a thread, which has " +
              std::to_string(report.available);
  d.helps.push_back(fewerThreads(report.required, architecture));
  d.facts = {{"required", std::to_string(report.required)},
             {"available", std::to_string(report.available)}};
  if (!kernel)
    return d;
  d.location = kernel->sourceOf(report.line);
  RegisterModel model = kernel->model(architecture);
  if (model.operands)
    d.label = "wgmma with " + std::to_string(model.operands) + " registers of operands";
  d.notes.push_back(
      {{},
       "a block has " + std::to_string(model.threads) + " threads, which share the registers",
       ""});
  return d;
}

std::vector<Diagnostic> penstock::warningsOf(const AssemblerReport &report,
                                             const std::optional<ModeledKernel> &kernel,
                                             const hw::Architecture &architecture) {
  std::vector<Diagnostic> warnings;
  std::optional<RegisterModel> model;
  if (kernel)
    model = kernel->model(architecture);
  if (report.spilledBytes) {
    Diagnostic d =
        warning(RegistersSpilled, "ptxas spills registers: " + std::to_string(report.spilledBytes) +
                                      " bytes of stores and loads");
    if (model)
      locate(d, *model);
    // Then fewer live registers do not always help.
    constexpr int granularity = 8;
    if (model && report.registers + granularity <= model->available)
      d.notes.push_back({{},
                         "ptxas uses " + std::to_string(report.registers) + " of the " +
                             std::to_string(model->available) +
                             " registers that a thread can have, and spills all the same",
                         ""});
    d.helps.push_back(smallerTiles);
    d.facts.emplace_back("spilled_bytes", std::to_string(report.spilledBytes));
    warnings.push_back(std::move(d));
  }
  if (!report.serialized.empty()) {
    Diagnostic d = warning(WgmmaSerialized, "ptxas serializes MMAs: " + report.serialized);
    bool registers = report.serialized.find("insufficient register") != std::string::npos;
    if (model && registers)
      locate(d, *model);
    else if (model)
      d.location = model->wgmmaAt;
    bool accessed = report.serialized.find("non wgmma") != std::string::npos;
    if (accessed && kernel)
      if (SourceLocation at = kernel->accessInFlight(); at.known()) {
        d.location = at;
        d.label = "accesses registers of a wgmma before its wait";
      }
    d.helps.push_back(registers  ? smallerTiles
                      : accessed ? "wait for the MMA before its accumulators and operands are "
                                   "accessed"
                                 : "issue the MMAs and their wait in one block of code, without "
                                   "calls or branches between them");
    warnings.push_back(std::move(d));
  }
  if (!report.otherLoss.empty()) {
    Diagnostic d = warning(HardwareAssembler, "ptxas warns: " + report.otherLoss);
    d.helps.push_back("state the number of threads, and request registers only where all warps of "
                      "a warpgroup execute the request");
    warnings.push_back(std::move(d));
  }
  return warnings;
}

std::vector<Diagnostic> penstock::predictionsOf(const ModeledKernel &kernel,
                                                const hw::Architecture &architecture) {
  RegisterModel model = kernel.model(architecture);
  constexpr const char *missing = "ptxas is not installed, and predicted to ";
  if (model.isRejected()) {
    Diagnostic d =
        warning(PredictedRejection, std::string(missing) + "reject the kernel: a wgmma needs " +
                                        std::to_string(model.required()) + " registers, and " +
                                        threadsHave(model.threads, model.available));
    d.location = model.wgmmaAt;
    d.label = "wgmma with " + std::to_string(model.operands) + " registers of operands";
    d.helps.push_back(fewerThreads(model.required(), architecture));
    return {d};
  }
  if (!model.isSlow())
    return {};
  Diagnostic d = warning(PredictedSpills, std::string(missing) +
                                              (model.operands ? "spill registers or serialize MMAs"
                                                              : "spill registers"));
  locate(d, model);
  d.helps.push_back(smallerTiles);
  return {d};
}
