//===- Report.cpp - Violations as messages for people ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/Report.h"
#include "Diagnostics/Codes.h"

#include <algorithm>

namespace penstock::sched {
namespace {

std::string quoted(const std::string &name) { return "`" + name + "`"; }

class Reporter {
public:
  Reporter(const Problem &problem, const Schedule &schedule, const Verdict &verdict,
           const Violation &violation)
      : problem(problem), schedule(schedule), verdict(verdict), v(violation) {
    d.code = v.code;
    d.location = problem.location;
  }

  Diagnostic run() {
    facts();
    switch (v.code) {
    case ScheduleLength:
      d.message = "stage has " + std::to_string(schedule.stage.size()) + " entries and order " +
                  std::to_string(schedule.order.size()) + "; the loop has " +
                  std::to_string(problem.statements.size()) + " scheduled statements";
      d.helps.push_back("give one entry per scheduled statement, in source "
                        "order; scalars that can be recomputed take none");
      break;
    case StageOutOfRange:
      at(v.first);
      d.message = "stage " + std::to_string(schedule.stage[v.first]) + " of " + name(v.first) +
                  " is not between 0 and " + std::to_string(maxStage);
      break;
    case OrderTwice:
      at(v.second);
      d.message = name(v.first) + " and " + name(v.second) + " both have order " +
                  std::to_string(schedule.order[v.first]);
      note(v.first, name(v.first) + " is here", slot(v.first));
      d.helps.push_back("orders say what runs first within a step; give each "
                        "statement its own");
      break;
    case ReadBeforeWrite:
    case WriteBeforeWrite:
    case WriteBeforeRead:
      hazard();
      break;
    case WaitBeforeIssue:
      at(v.second);
      d.message = "this schedule lets " + name(v.second) + " wait for " + name(v.first) +
                  " before it has been issued";
      d.label = "awaits " + name(v.first) + " of iteration k at " + slot(v.second) +
                ", in iteration " + iterationName(v.distance);
      note(v.first, "issued only later, for iteration k", "at " + slot(v.first));
      d.helps.push_back("order the wait after " + name(v.first) +
                        " or give it a later stage; such a wait is refused "
                        "even where the values would be right");
      break;
    case ScalarOtherStage:
      at(v.second);
      d.message = name(v.second) + " uses the scalar " + name(v.first) + " from another stage";
      d.label = "at " + slot(v.second);
      note(v.first, "defined here", "at " + slot(v.first));
      d.helps.push_back("give both the same stage, or write the value to a "
                        "buffer: a scalar has no versions");
      break;
    case ScalarBeforeUse:
      at(v.second);
      d.message =
          name(v.second) + " is ordered before the scalar " + name(v.first) + " that it uses";
      d.label = "at " + slot(v.second);
      note(v.first, "defined here", "at " + slot(v.first));
      d.helps.push_back("give " + name(v.first) + " a smaller order than " +
                        std::to_string(schedule.order[v.second]));
      break;
    case CommitOtherStage:
      commit(" has another stage than ", "give both the same stage");
      break;
    case CommitBeforeGroup:
      commit(" commits a group before ", "order the commit after all statements of its group");
      break;
    case CommitNotAlone:
      at(v.second);
      d.message = name(v.second) + " stands between " + name(v.first) +
                  " and the commit of its group, and would join that group";
      d.label = "at " + slot(v.second);
      note(v.third, "the group is closed here", "at " + slot(v.third));
      d.helps.push_back("order " + name(v.second) + " before " + name(v.first) + " or after " +
                        name(v.third));
      break;
    case FenceMoved:
      at(v.third);
      d.message = name(v.third) + " no longer stands between " + name(v.first) + " and " +
                  name(v.second) + " on " + buffer();
      d.label = "at " + slot(v.third);
      note(v.first, "touches " + bufferName() + " for iteration k", slot(v.first));
      note(v.second, "touches " + bufferName() + " for iteration " + iterationName(v.distance),
           slot(v.second));
      d.helps.push_back("give the fence the stage of " + name(v.first) +
                        " and order it right after");
      break;
    case VersionsTooFew:
      d.location = problem.buffers[v.buffer].location;
      d.message = buffer() + " is declared with " + std::to_string(v.versionsHave) +
                  " versions and needs " + std::to_string(v.versionsNeeded);
      note(v.first, name(v.first) + " of iteration k must have ended", slot(v.first));
      note(v.second,
           "before " + name(v.second) + " of iteration " + iterationName(v.distance) + " begins",
           slot(v.second));
      versionsHelp();
      break;
    case VersionsOnFixed: {
      d.location = problem.buffers[v.buffer].location;
      LoopModel model(problem);
      d.message = buffer() + " is declared with " + std::to_string(v.versionsHave) +
                  " versions and can have only one: " + model.fixedBecause[v.buffer];
      d.helps.push_back("remove the number of versions");
      break;
    }
    case VersionsDoNotFit:
      overflow();
      break;
    default:
      d.message = codeSummary(v.code);
    }
    return std::move(d);
  }

private:
  std::string name(StatementId s) const { return quoted(problem.statements[s].name); }
  std::string bufferName() const { return problem.buffers[v.buffer].name; }
  std::string buffer() const { return quoted(bufferName()); }
  std::string slot(StatementId s) const {
    return "stage " + std::to_string(schedule.stage[s]) + ", order " +
           std::to_string(schedule.order[s]);
  }
  void at(StatementId s) { d.location = problem.statements[s].location; }
  void note(StatementId s, std::string message, std::string label) {
    if (s != none)
      d.notes.push_back({problem.statements[s].location, std::move(message), std::move(label)});
  }
  void facts() {
    auto fact = [&](const char *key, std::string value) {
      d.facts.emplace_back(key, std::move(value));
    };
    if (v.first != none)
      fact("first", problem.statements[v.first].name);
    if (v.second != none)
      fact("second", problem.statements[v.second].name);
    if (v.third != none)
      fact("third", problem.statements[v.third].name);
    if (v.buffer != none)
      fact("buffer", bufferName());
    if (v.first != none && v.second != none)
      fact("distance", std::to_string(v.distance));
    if (v.versionsNeeded)
      fact("versions-needed", std::to_string(v.versionsNeeded));
  }

  void hazard();
  void issuedBefore();
  void hazardHelp();
  void versionsHelp();
  void commit(const std::string &verb, const std::string &help);
  void overflow();

  const Problem &problem;
  const Schedule &schedule;
  const Verdict &verdict;
  const Violation &v;
  Diagnostic d;
};

void Reporter::commit(const std::string &verb, const std::string &help) {
  at(v.second);
  d.message = name(v.second) + verb + name(v.first) + " of its group";
  d.label = "at " + slot(v.second);
  note(v.first, name(v.first) + " is here", "at " + slot(v.first));
  d.helps.push_back(help);
}

/// A statement that an operation issued before the loop can still disturb.
void Reporter::issuedBefore() {
  at(v.second);
  std::string verb = v.code == ReadBeforeWrite ? "read " : "write ";
  d.message = "this schedule lets " + name(v.second) + " " + verb + buffer() + " before " +
              name(v.third) + " has ended an operation that was issued before the loop";
  d.label = "at " + slot(v.second) + ", in iteration " + std::to_string(v.distance);
  note(v.third, "the wait of iteration 0 ends it", "at " + slot(v.third));
  int64_t stage = schedule.stage[v.third] - v.distance +
                  (schedule.order[v.second] > schedule.order[v.third] ? 0 : 1);
  d.helps.push_back("give " + name(v.second) + " stage " + std::to_string(stage) +
                    " or later, or wait before the loop");
}

void Reporter::hazard() {
  if (v.first == none)
    return issuedBefore();
  at(v.second);
  std::string then = iterationName(v.distance);
  bool dead = false;
  std::string doing;
  if (v.code == WriteBeforeRead) {
    d.message = "this schedule lets " + name(v.second) + " overwrite " + buffer() + " while " +
                name(v.first) + " still reads it";
    d.label = "writes " + bufferName() + " for iteration " + then;
    doing = "still reading ";
  } else if (v.code == ReadBeforeWrite) {
    d.message = "this schedule lets " + name(v.second) + " read " + buffer() + " before " +
                name(v.first) + " has written it";
    d.label = "reads " + bufferName() + " for iteration " + then;
    doing = "still writing ";
  } else {
    d.message = "this schedule lets " + name(v.second) + " write " + buffer() +
                " before the earlier write of " + name(v.first) + " has ended";
    d.label = "writes " + bufferName() + " for iteration " + then;
    doing = "still writing ";
    dead = true;
  }
  d.label += " at " + slot(v.second);
  std::string ends = "at " + slot(v.first);
  if (v.third != none) {
    const SourceLocation &location = problem.statements[v.third].location;
    ends = location.line ? "completes at the wait on line " + std::to_string(location.line)
                         : "completes at " + name(v.third);
    ends += " (" + slot(v.third) + ")";
  }
  note(v.first, doing + bufferName() + " for iteration k", ends);
  hazardHelp();
  if (dead)
    d.helps.push_back("exchanged writes are refused even if nothing reads the "
                      "value in between; remove the one that is not needed");
}

void Reporter::hazardHelp() {
  if (v.versionsHave && v.versionsHave < v.versionsNeeded && v.distance > 0)
    return versionsHelp();
  StatementId end = v.third == none ? v.first : v.third;
  LoopModel model(problem);
  Order order(model, schedule);
  bool writes = v.code != WriteBeforeRead;
  Position done = order.completion(v.first, writes);
  int64_t stage = done.step - v.distance + (schedule.order[v.second] > done.order ? 0 : 1);
  std::string help = "give " + name(v.second) + " stage " + std::to_string(stage) + " or later";
  // Within the same step the order alone can cure it.
  if (order.issue(v.second).later(v.distance).step == done.step)
    help += ", or order it after " + name(end);
  d.helps.push_back(std::move(help));
  if (v.distance > 0 && !model.versionable[v.buffer])
    d.helps.push_back(buffer() + " has one version: " + model.fixedBecause[v.buffer]);
}

void Reporter::versionsHelp() {
  const Buffer &b = problem.buffers[v.buffer];
  std::string help = bufferName() + " needs " + std::to_string(v.versionsNeeded) +
                     " versions and is declared with " + std::to_string(v.versionsHave);
  int64_t more = b.bytes * int64_t(v.versionsNeeded - v.versionsHave);
  int64_t capacity = problem.capacityOf(b.space);
  if (b.bytes) {
    help +=
        " (" + std::to_string(more) + (b.space == Space::Tensor ? " more columns" : " more bytes");
    if (capacity) {
      int64_t used = 0;
      for (BufferId i = 0; i < problem.buffers.size(); ++i)
        if (problem.buffers[i].space == b.space)
          used += problem.buffers[i].bytes * verdict.versions[i].count;
      help += "; " + sizeText(b.space, used) + " of " + sizeText(b.space, capacity) + " of " +
              spaceName(b.space) + " memory are used";
    }
    help += ")";
  }
  StatementId end = v.third == none ? v.first : v.third;
  // Within the same step the order alone can cure it.
  LoopModel model(problem);
  Order order(model, schedule);
  bool sameStep = order.issue(v.second).later(v.distance).step ==
                  order.completion(v.first, v.code != WriteBeforeRead).step;
  if (end != v.second && sameStep)
    help += "; or order " + name(v.second) + " after " + name(end);
  d.helps.push_back(std::move(help));
}

void Reporter::overflow() {
  const Overflow &o = v.overflow;
  d.message = "the versions of this loop need " + sizeText(o.space, o.needed) + " of " +
              spaceName(o.space) + " memory; there are " + sizeText(o.space, o.capacity);
  for (BufferId b = 0; b < problem.buffers.size(); ++b)
    if (problem.buffers[b].space == o.space && problem.buffers[b].bytes)
      d.notes.push_back({problem.buffers[b].location,
                         quoted(problem.buffers[b].name) + " takes " +
                             std::to_string(verdict.versions[b].count) + " x " +
                             std::to_string(problem.buffers[b].bytes),
                         ""});
  d.helps.push_back(o.fits ? "at most " + std::to_string(o.fits) +
                                 (o.fits == 1 ? " version" : " versions") + " of each buffer fit"
                           : "not even one version of each buffer fits; use smaller tiles");
  d.facts.emplace_back("fits", std::to_string(o.fits));
}

} // namespace

std::string iterationName(int64_t distance) {
  return distance == 0 ? "k" : "k+" + std::to_string(distance);
}

std::string sizeText(Space space, int64_t size) {
  if (space == Space::Tensor)
    return std::to_string(size) + " columns";
  if (size % 1024 == 0)
    return std::to_string(size / 1024) + " KiB";
  return std::to_string(size) + " bytes";
}

Diagnostic toDiagnostic(const Problem &problem, const Schedule &schedule, const Verdict &verdict,
                        const Violation &violation) {
  return Reporter(problem, schedule, verdict, violation).run();
}

std::vector<Diagnostic> toDiagnostics(const Problem &problem, const Schedule &schedule,
                                      const Verdict &verdict) {
  std::vector<Diagnostic> result;
  for (const Violation &violation : verdict.violations)
    result.push_back(toDiagnostic(problem, schedule, verdict, violation));
  return result;
}

} // namespace penstock::sched
