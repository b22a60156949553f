//===- ReadBackTest.cpp - What the PTX says is the plan -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each role of each pipelined loop of these programs is looked for in the PTX that
// ships: one loop must have the waits, commits, expected bytes and arrivals of the
// plan that was verified, each as often and with the same counts, and no others.
// Passes after nv-write-plans, LLVM above all, could lose or repeat some.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include <map>
#include <regex>
#include <set>

using namespace penstock;
using namespace programs;

namespace {

using Counts = std::map<std::string, int>;

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

/// What a point of a plan is in PTX; empty for statements, fences and joins, of which
/// lowering adds more.
std::string instructionOf(const std::string &point) {
  std::smatch found;
  if (std::regex_search(point, found, std::regex("wait_group (\\S+) pending (\\d+)"))) {
    if (found[1] == "cp.async" || found[1] == "wgmma")
      return found[1].str() + ".wait_group " + found[2].str();
    return found[1] == "tcgen05.ld" ? "tcgen05.wait::ld" : "tcgen05.wait::st";
  }
  if (std::regex_search(point, std::regex("^(leader )?wait ")))
    return "mbarrier.try_wait";
  if (std::regex_search(point, std::regex("^(leader )?expect ")))
    return "expect_tx";
  if (std::regex_search(point, std::regex("^(leader )?arrive ")))
    return "mbarrier.arrive";
  if (std::regex_search(point, std::regex("commit cp.async to ")))
    return "mbarrier.arrive";
  if (std::regex_search(point, found, std::regex("commit (\\S+)( to)?")))
    return found[1] == "tcgen05.mma" ? "tcgen05.commit" : found[1].str() + ".commit_group";
  return "";
}

/// The synchronization in one step of each role of each pipelined loop, as `explain` prints
/// its plan. Warpgroups that compute parts share the code of the first.
std::vector<Counts> plansOf(const std::string &explained) {
  std::vector<Counts> plans;
  std::smatch point;
  // Barriers that count arrivals of several blocks of a cluster: threads arrive in each of them.
  std::map<std::string, int> wide;
  std::smatch counted;
  for (const std::string &line : linesOf(explained))
    if (std::regex_search(line, counted,
                          std::regex("^ *barrier (.*) counts \\d+ arrivals of (\\d+) blocks$")))
      wide[counted[1]] = std::stoi(counted[2]);
  auto blocksOf = [&](const std::string &arrive) {
    std::smatch name;
    bool known = std::regex_search(arrive, name, std::regex("arrive (.*) count"));
    auto found = known ? wide.find(name[1]) : wide.end();
    return found == wide.end() ? 1 : found->second;
  };
  bool again = false;
  for (const std::string &line : linesOf(explained)) {
    if (std::regex_search(line, std::regex("^ *role ")))
      again = std::regex_search(line, std::regex("^ *role compute part [1-9]"));
    if (again)
      continue;
    if (std::regex_search(line, std::regex("^ *role ")))
      plans.emplace_back();
    else if (std::regex_search(line, point, std::regex("\\[\\d+\\] (.*)$")) && !plans.empty())
      if (std::string instruction = instructionOf(point[1]); !instruction.empty())
        plans.back()[instruction] += instruction == "mbarrier.arrive" ? blocksOf(point[1]) : 1;
  }
  return plans;
}

/// The word of \p line at \p at, up to a character of \p ends.
std::string wordAt(const std::string &line, size_t at, const char *ends) {
  return line.substr(at, line.find_first_of(ends, at) - at);
}

std::string instructionIn(const std::string &line) {
  for (const char *engine : {"cp.async", "wgmma"}) {
    std::string name = engine;
    if (line.find(name + ".commit_group") != std::string::npos)
      return name + ".commit_group";
    if (size_t at = line.find(name + ".wait_group"); at != std::string::npos)
      return name + ".wait_group " + wordAt(line, line.find(' ', at) + 1, "; ");
  }
  for (const char *one : {"tcgen05.wait::ld", "tcgen05.wait::st", "tcgen05.commit",
                          "mbarrier.try_wait", "expect_tx", "mbarrier.arrive"})
    if (line.find(one) != std::string::npos)
      return one;
  return "";
}

/// A natural loop: what leads back to a block that dominates it. Blocks need not lie
/// together; LLVM puts some of them after the loop.
struct Loop {
  std::vector<size_t> lines;
  Counts counts;
};

class ControlFlow {
public:
  explicit ControlFlow(const std::vector<std::string> &lines) : lines(lines) {
    std::map<std::string, size_t> labels;
    blocks.push_back({});
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string &line = lines[i];
      if (line.starts_with("$L__BB")) {
        startBlock(true);
        labels[wordAt(line, 0, ":")] = blocks.size() - 1;
      }
      blocks.back().lines.push_back(i);
      if (size_t at = line.find("$L"); at && at != std::string::npos) {
        targets.emplace_back(blocks.size() - 1, wordAt(line, at, ";"));
        startBlock(line.find('@') != std::string::npos);
      } else if (line == "\tret;") {
        startBlock(false);
      }
    }
    for (auto &[block, label] : targets)
      if (auto found = labels.find(label); found != labels.end())
        blocks[block].next.push_back(found->second);
  }

  std::vector<Loop> loops() const {
    std::map<size_t, std::set<size_t>> bodies; // by head
    for (size_t from = 0; from < blocks.size(); ++from)
      for (size_t head : blocks[from].next)
        if (reached(none)[from] && !reached(head)[from])
          bodies[head].merge(bodyOf(head, from));
    std::vector<Loop> found;
    for (auto &[head, body] : bodies) {
      Loop &loop = found.emplace_back();
      for (size_t block : body) {
        Pieces pieces;
        for (size_t line : blocks[block].lines) {
          std::string instruction = instructionIn(lines[line]);
          bool same = pieces.goesOn(lines[line], instruction);
          if (!instruction.empty() && !same) {
            loop.lines.push_back(line);
            ++loop.counts[instruction];
          }
        }
      }
    }
    return found;
  }

private:
  /// Columns of an accumulator that are loaded while those before are scaled and stored: a plan has
  /// one wait for all of them.
  class Pieces {
  public:
    /// Whether a line is a wait for a piece after the first.
    bool goesOn(const std::string &line, const std::string &instruction) {
      if (instruction == "tcgen05.wait::ld") {
        bool same = state == Stored;
        state = Awaited;
        return same;
      }
      if (!instruction.empty())
        state = Elsewhere;
      else if (line.find("tcgen05.ld") != std::string::npos)
        state = state == Awaited ? Ahead : Elsewhere;
      else if (line.find("tcgen05.st") != std::string::npos)
        state = state == Ahead ? Stored : Elsewhere;
      return false;
    }

  private:
    enum { Elsewhere, Awaited, Ahead, Stored } state = Elsewhere;
  };

  static constexpr size_t none = size_t(-1);
  struct Block {
    std::vector<size_t> lines, next;
  };

  void startBlock(bool fallsThrough) {
    if (fallsThrough)
      blocks.back().next.push_back(blocks.size());
    blocks.push_back({});
  }

  /// What the first block leads to, if one block is taken out.
  std::vector<bool> reached(size_t without) const {
    std::vector<bool> seen(blocks.size());
    std::vector<size_t> open;
    if (without != 0)
      open.push_back(0);
    while (!open.empty()) {
      size_t block = open.back();
      open.pop_back();
      if (seen[block] || block == without)
        continue;
      seen[block] = true;
      open.insert(open.end(), blocks[block].next.begin(), blocks[block].next.end());
    }
    return seen;
  }

  /// What leads to \p from without passing \p head.
  std::set<size_t> bodyOf(size_t head, size_t from) const {
    std::set<size_t> body = {head};
    std::vector<size_t> open = {from};
    while (!open.empty()) {
      size_t block = open.back();
      open.pop_back();
      if (!body.insert(block).second)
        continue;
      for (size_t i = 0; i < blocks.size(); ++i)
        if (std::count(blocks[i].next.begin(), blocks[i].next.end(), block))
          open.push_back(i);
    }
    return body;
  }

  const std::vector<std::string> &lines;
  std::vector<Block> blocks;
  std::vector<std::pair<size_t, std::string>> targets;
};

std::vector<Loop> loopsOf(const std::vector<std::string> &ptx) { return ControlFlow(ptx).loops(); }

/// Steps are repeated where registers have versions.
bool isRepeated(const Counts &once, const Counts &all) {
  for (int times = 1; times <= 8; ++times) {
    Counts product = once;
    for (auto &[instruction, count] : product)
      count *= times;
    if (product == all)
      return true;
  }
  return false;
}

std::string textOf(const Counts &counts) {
  std::string text;
  for (const auto &[instruction, count] : counts)
    text += "  " + instruction + " x" + std::to_string(count) + "\n";
  return text;
}

/// The loop that does what a plan says.
std::vector<Loop>::iterator find(const Counts &plan, std::vector<Loop> &loops) {
  return std::find_if(loops.begin(), loops.end(),
                      [&](const Loop &loop) { return isRepeated(plan, loop.counts); });
}

/// Looks for each plan in a loop of its own; what is not there is said.
std::string missing(const std::vector<Counts> &plans, std::vector<Loop> loops) {
  std::string text;
  for (const Counts &plan : plans) {
    auto found = find(plan, loops);
    if (found == loops.end())
      text += "no loop has\n" + textOf(plan);
    else
      found->counts.clear();
  }
  for (const Loop &loop : loops)
    text += text.empty() || loop.counts.empty() ? "" : "but one has\n" + textOf(loop.counts);
  return text;
}

/// The plans with synchronization of a program on a GPU, and its PTX.
struct Written {
  Written(const std::string &name, Target target) {
    std::vector<Diagnostic> diagnostics;
    plans = plansOf(explain_registered(
        name, target.kind == Target::sm_90a().kind ? "sm_90a" : "sm_100a", {}, diagnostics));
    std::erase_if(plans, [](const Counts &plan) { return plan.empty(); });
    if (!plans.empty())
      ptx = linesOf(compileFor(name, target).ptx());
  }
  std::vector<Counts> plans;
  std::vector<std::string> ptx;
};

TEST(ReadBack, LoopsOfThePtxAreThePlans) {
  size_t plans = 0;
  for (const KernelDescription &kernel : registered_kernels())
    for (Target target : gpus) {
      Written written(kernel.name, target);
      EXPECT_EQ(missing(written.plans, loopsOf(written.ptx)), "") << kernel.name;
      plans += written.plans.size();
    }
  // All programs of these tests that have engines in loops.
  EXPECT_GE(plans, 30u);
}

/// Whatever is taken out of the loop is missed.
TEST(ReadBack, LostSynchronizationIsMissed) {
  for (const char *name : {"NormThreePasses", "MatmulBiasUneven", "Attention64"})
    for (Target target : gpus) {
      Written written(name, target);
      ASSERT_FALSE(written.plans.empty()) << name;
      std::vector<Loop> loops = loopsOf(written.ptx);
      auto loop = find(written.plans.front(), loops);
      ASSERT_NE(loop, loops.end()) << name;
      size_t taken = 0;
      for (size_t i : loop->lines) {
        std::vector<std::string> less = written.ptx;
        less[i].clear();
        EXPECT_NE(missing(written.plans, loopsOf(less)), "") << name << ": " << written.ptx[i];
        ++taken;
      }
      EXPECT_GE(taken, 2u) << name;
    }
}

} // namespace
