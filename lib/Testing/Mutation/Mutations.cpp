//===- Mutations.cpp - Kernels with broken synchronization ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Mutation/Mutations.h"
#include "Testing/Mutation/EquivalentMutants.h"

#include <algorithm>

using namespace penstock;

namespace {

/// "guard opcode operand, operand;" taken apart.
struct Statement {
  std::string guard, opcode;
  std::vector<std::string> operands;

  explicit Statement(std::string_view text, const std::string &opcode) : opcode(opcode) {
    size_t at = text.find(opcode);
    guard = text.substr(0, at);
    std::string_view rest = text.substr(at + opcode.size());
    rest = rest.substr(0, rest.rfind(';'));
    int depth = 0;
    std::string operand;
    auto take = [&] {
      size_t first = operand.find_first_not_of(" \t\n\r");
      if (first != std::string::npos)
        operands.push_back(operand.substr(first, operand.find_last_not_of(" \t\n\r") - first + 1));
      operand.clear();
    };
    for (char c : rest) {
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
      if (c == ',' && depth == 0)
        take();
      else
        operand += c;
    }
    take();
  }

  std::string text() const {
    std::string all = guard + opcode;
    for (size_t i = 0; i < operands.size(); ++i)
      all += (i ? ", " : " ") + operands[i];
    return all + ";";
  }

  /// The statement with operand \p index replaced by what \p operation makes of it.
  std::string withOperand(size_t index, const std::string &operation, int64_t value) const {
    Statement changed = *this;
    changed.operands[index] = "penstock_changed";
    return "{ .reg .b32 penstock_changed; " + operation + " penstock_changed, " + operands[index] +
           ", " + std::to_string(value) + "; " + changed.text() + " }";
  }
  std::string withOpcode(std::string_view from, std::string_view to) const {
    Statement changed = *this;
    changed.opcode.replace(changed.opcode.find(from), from.size(), to);
    return changed.text();
  }
  /// A number that must be a constant, increased.
  std::optional<std::string> withMore(size_t index, int64_t more) const {
    const std::string &operand = operands[index];
    if (operand.empty() || operand.find_first_not_of("0123456789") != std::string::npos ||
        operand.size() > 9)
      return std::nullopt;
    Statement changed = *this;
    changed.operands[index] = std::to_string(std::stoll(operand) + more);
    return changed.text();
  }
};

class Collector {
public:
  Collector(const ptx::Module &module, const ptx::Function &kernel)
      : module(module), equivalents(kernel) {
    lines.push_back(0);
    for (size_t i = 0; i < module.text.size(); ++i)
      if (module.text[i] == '\n')
        lines.push_back(i + 1);
    for (const auto &instruction : kernel.body)
      if (auto kind = syncKindOf(instruction->opcode))
        collect(*instruction, *kind);
  }

  std::vector<Mutation> result;

private:
  void collect(const ptx::Instruction &instruction, SyncKind kind) {
    Mutation from;
    from.kind = kind;
    from.line = instruction.line;
    from.column = instruction.column;
    from.loc = instruction.loc;
    from.begin = lines[instruction.line - 1] + instruction.column - 1;
    from.length = module.text.find(';', from.begin) + 1 - from.begin;
    from.instruction = module.text.substr(from.begin, from.length);
    Statement statement(from.instruction, instruction.opcode);
    auto add = [&](Change change, std::optional<std::string> replacement) {
      if (!replacement)
        return;
      Mutation mutation = from;
      mutation.change = change;
      mutation.replacement = std::move(*replacement);
      mutation.equivalent = equivalents.reasonFor(instruction, kind, change);
      mutation.ifUnnoticed = equivalents.reasonIfUnnoticed(instruction, change);
      result.push_back(std::move(mutation));
    };
    const std::string &opcode = instruction.opcode;
    switch (kind) {
    case SyncKind::BarrierWait:
      // The loop around it goes on only when the predicate holds.
      add(Change::Removed, statement.guard + "setp.eq.u32 " + statement.operands[0] + ", 0, 0;");
      if (contains(opcode, ".parity"))
        add(Change::OtherPhase, statement.withOperand(2, "xor.b32", 1));
      if (contains(opcode, ".acquire"))
        add(Change::NotAcquired, statement.withOpcode(".acquire", ".relaxed"));
      return;
    case SyncKind::BarrierInit:
      add(Change::Removed, ";");
      add(Change::OneMore, statement.withOperand(1, "add.u32", 1));
      return;
    case SyncKind::BarrierArrive: {
      add(Change::Removed, ";");
      bool bytes = contains(opcode, "expect_tx");
      if (bytes) {
        add(Change::MoreBytes, statement.withOperand(statement.operands.size() - 1, "add.u32", 16));
        add(Change::FewerBytes,
            statement.withOperand(statement.operands.size() - 1, "sub.u32", 16));
      } else {
        add(Change::Doubled, from.instruction + " " + from.instruction);
      }
      if (contains(opcode, ".release"))
        add(Change::NotReleased, statement.withOpcode(".release", ".relaxed"));
      else if (std::string_view(opcode).starts_with("mbarrier.arrive") &&
               !contains(opcode, ".relaxed") && contains(opcode, ".shared"))
        add(Change::NotReleased, statement.withOpcode(".shared", ".relaxed.cta.shared"));
      return;
    }
    case SyncKind::NamedBarrier:
      add(Change::Removed, ";");
      if (statement.operands.size() == 2)
        add(Change::MoreThreads, statement.withMore(1, 32));
      return;
    case SyncKind::GroupWait:
      add(Change::Removed, ";");
      if (!statement.operands.empty())
        add(Change::OnePendingMore, statement.withMore(0, 1));
      return;
    default:
      add(Change::Removed, ";");
      return;
    }
  }

  const ptx::Module &module;
  EquivalentMutants equivalents;
  std::vector<size_t> lines; ///< where each begins
};

} // namespace

std::optional<SyncKind> penstock::syncKindOf(std::string_view opcode) {
  // Prefixes; where one begins another, the longer is first.
  static constexpr std::pair<std::string_view, SyncKind> kinds[] = {
      {"mbarrier.init", SyncKind::BarrierInit},
      {"mbarrier.try_wait", SyncKind::BarrierWait},
      {"mbarrier.test_wait", SyncKind::BarrierWait},
      {"mbarrier.arrive", SyncKind::BarrierArrive},
      {"mbarrier.expect_tx", SyncKind::BarrierArrive},
      {"cp.async.mbarrier.arrive", SyncKind::BarrierArrive},
      {"fence.mbarrier_init", SyncKind::InitFence},
      {"fence.proxy", SyncKind::ProxyFence},
      {"fence", SyncKind::MemoryFence},
      {"membar", SyncKind::MemoryFence},
      {"tcgen05.commit", SyncKind::TensorCommit},
      {"tcgen05.wait", SyncKind::TensorWait},
      {"tcgen05.fence", SyncKind::TensorFence},
      {"bar.warp.sync", SyncKind::WarpBarrier},
      {"bar.", SyncKind::NamedBarrier},
      {"barrier.cluster", SyncKind::ClusterBarrier},
      {"barrier.", SyncKind::NamedBarrier},
      {"wgmma.fence", SyncKind::WgmmaFence},
      {"wgmma.commit_group", SyncKind::GroupCommit},
      {"wgmma.wait_group", SyncKind::GroupWait},
      {"cp.async.bulk.commit_group", SyncKind::GroupCommit},
      {"cp.async.bulk.wait_group", SyncKind::GroupWait},
      {"cp.async.commit_group", SyncKind::GroupCommit},
      {"cp.async.wait_group", SyncKind::GroupWait},
      {"cp.async.wait_all", SyncKind::GroupWait},
  };
  for (auto &[prefix, kind] : kinds)
    if (std::string_view(opcode).starts_with(prefix))
      return kind;
  return std::nullopt;
}

std::vector<Mutation> penstock::mutationsOf(const ptx::Module &module, const std::string &name) {
  const ptx::Function *kernel = module.function(name);
  return kernel ? Collector(module, *kernel).result : std::vector<Mutation>();
}

std::string penstock::applied(const std::string &text, std::span<const Mutation *const> mutations) {
  std::vector<const Mutation *> sorted(mutations.begin(), mutations.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Mutation *a, const Mutation *b) { return a->begin > b->begin; });
  std::string result = text;
  for (const Mutation *mutation : sorted)
    result.replace(mutation->begin, mutation->length, mutation->replacement);
  return result;
}

std::string penstock::trapped(const std::string &text, const Mutation &mutation) {
  std::string result = text;
  return result.replace(mutation.begin, mutation.length, "trap;");
}

const char *penstock::describe(Change change) {
  switch (change) {
  case Change::Removed:
    return "removed";
  case Change::OtherPhase:
    return "waits for the other phase";
  case Change::NotAcquired:
    return "waits without acquiring";
  case Change::NotReleased:
    return "arrives without releasing";
  case Change::Doubled:
    return "arrives twice";
  case Change::MoreBytes:
    return "announces 16 bytes more";
  case Change::FewerBytes:
    return "announces 16 bytes fewer";
  case Change::OneMore:
    return "counts one arrival more";
  case Change::MoreThreads:
    return "counts 32 threads more";
  case Change::OnePendingMore:
    return "lets one group more be under way";
  }
  return "";
}
