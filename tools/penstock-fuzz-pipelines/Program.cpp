//===- Program.cpp - A random kernel with one pipelined loop --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include <algorithm>

using namespace penstock::fuzz;

namespace {

using Form = ProgramStatement::Form;
using OpKind = Operation::Kind;

Action actionOf(const Operation &op, int64_t round) {
  bool accumulates = (op.kind == OpKind::Gemm || op.kind == OpKind::Reduce) && !op.overwrite;
  Action action;
  for (const Touch &source : op.sources)
    action.reads.push_back(inRound(source, round));
  if (op.kind == OpKind::Atomic || accumulates)
    action.reads.push_back(inRound(op.target, round));
  if (hasTarget(op))
    action.writes.push_back(inRound(op.target, round));
  return action;
}

bool touched(const Program &program, int buffer) {
  bool found = false;
  forEachTouch(program, [&](const Touch &touch, int64_t) { found |= touch.buffer == buffer; });
  return found;
}

bool isScalar(const ProgramStatement &s) {
  return s.form == Form::Plain &&
         (s.operations[0].kind == OpKind::Load || s.operations[0].kind == OpKind::Atomic);
}

/// Scalars that a statement uses.
std::vector<int> usedScalars(const ProgramStatement &s) {
  std::vector<int> used;
  if (s.choiceScalar >= 0)
    used.push_back(s.choiceScalar);
  for (const auto *list : {&s.operations, &s.otherwise})
    for (const Operation &op : *list)
      if (op.scalar >= 0)
        used.push_back(op.scalar);
  return used;
}

} // namespace

bool penstock::fuzz::issued(const Program &program, int name) {
  return std::any_of(program.statements.begin(), program.statements.end(),
                     [&](const ProgramStatement &s) { return s.async == name; }) ||
         std::any_of(program.early.begin(), program.early.end(),
                     [&](const EarlyCopy &early) { return early.name == name; });
}

bool penstock::fuzz::prints(const Program &program) {
  return std::any_of(program.statements.begin(), program.statements.end(),
                     [](const ProgramStatement &s) { return s.form == Form::Print; });
}

bool penstock::fuzz::written(const Program &program, int buffer) {
  auto writes = [&](const Operation &op) { return hasTarget(op) && op.target.buffer == buffer; };
  return std::any_of(program.statements.begin(), program.statements.end(),
                     [&](const ProgramStatement &s) {
                       return std::any_of(s.operations.begin(), s.operations.end(), writes) ||
                              std::any_of(s.otherwise.begin(), s.otherwise.end(), writes);
                     });
}

int64_t penstock::fuzz::roundsOf(const ProgramStatement &s, const World &world, int64_t k) {
  return s.roundsLoaded ? world.table[size_t(k)] % (s.rounds + 1) : s.rounds;
}

Touch penstock::fuzz::inRound(Touch touch, int64_t round) {
  for (Span &span : touch.box.spans) {
    span.offset += round * span.perRound;
    span.perRound = 0;
  }
  return touch;
}

namespace {

/// The least and the greatest cell that a span touches, and one more.
struct Reach {
  int64_t from, to;
};
Reach reachOf(const Span &span, int64_t rounds) {
  int64_t last = span.motion == Span::Motion::Affine    ? maxTrips - 1
                 : span.motion == Span::Motion::Wrapped ? 255
                                                        : span.modulus - 1;
  Reach reach = {span.offset, span.offset + span.length};
  auto add = [&](int64_t factor, int64_t least, int64_t most) {
    reach.from += factor * (factor < 0 ? most : least);
    reach.to += factor * (factor < 0 ? least : most);
  };
  add(span.scale, 0, last);
  add(span.perRound, 0, rounds - 1);
  for (size_t i = 0; i < origins; ++i)
    add(span.origin[i], originChoices[i][0], originChoices[i][2]);
  return reach;
}

/// Offsets that move are written with the loop's own variable.
bool fitsStep(const Program &program) {
  bool fits = true;
  forEachTouch(program, [&](const Touch &touch, int64_t) {
    for (const Span &span : touch.box.spans)
      fits &= span.motion != Span::Motion::Affine || span.scale % program.step == 0;
  });
  return fits;
}

/// For each dimension of a buffer the origin to which its offsets are compared: none
/// where all of it is touched at once, else that of the first access.
std::vector<Origin> originsOf(const Program &program, int buffer) {
  const ProgramBuffer &b = program.buffers[size_t(buffer)];
  std::vector<std::optional<Origin>> found(b.extents.size());
  bool whole = b.readAfter;
  forEachTouch(program, [&](const Touch &touch, int64_t) {
    if (touch.buffer != buffer)
      return;
    whole |= touch.box.whole();
    for (size_t d = 0; d < touch.box.spans.size(); ++d)
      if (touch.box.spans[d].motion == Span::Motion::Affine && !found[d])
        found[d] = touch.box.spans[d].origin;
  });
  std::vector<Origin> chosen;
  for (const auto &origin : found)
    chosen.push_back(whole ? Origin() : origin.value_or(Origin()));
  return chosen;
}

} // namespace

bool penstock::fuzz::staysInside(const Program &program, const Touch &touch, int64_t rounds) {
  const ProgramBuffer &buffer = program.buffers[size_t(touch.buffer)];
  for (size_t d = 0; d < touch.box.spans.size(); ++d) {
    Reach reach = reachOf(touch.box.spans[d], rounds);
    if (reach.from < 0 || (buffer.kind == LoopBuffer::Kind::Tile && reach.to > buffer.extents[d]))
      return false;
  }
  return true;
}

bool penstock::fuzz::earlyIsSafe(const Program &program, const EarlyCopy &early) {
  int tile = early.copy.target.buffer, tensor = early.copy.sources[0].buffer;
  int copies = 0;
  for (const EarlyCopy &other : program.early)
    copies += other.copy.target.buffer == tile;
  if (copies > 1)
    return false;
  bool awaited = false;
  for (const ProgramStatement &s : program.statements) {
    bool names = std::count(s.names.begin(), s.names.end(), early.name) != 0;
    if (names && (!s.guard.empty() || s.lag)) // a lag counts iterations of the loop
      return false;
    awaited |= names;
    bool meets = false;
    forEachTouchIn(s, [&](const Touch &touch) {
      meets |= touch.buffer == tile;
      meets |= touch.buffer == tensor && written(program, tensor);
    });
    if (meets && !awaited)
      return false;
  }
  return true;
}

bool penstock::fuzz::wellFormed(const Program &program) {
  if (program.statements.empty() || !fitsStep(program))
    return false;
  bool inside = true;
  forEachTouch(program, [&](const Touch &touch, int64_t rounds) {
    inside &= staysInside(program, touch, rounds);
  });
  if (!inside)
    return false;
  for (const EarlyCopy &early : program.early)
    if (!earlyIsSafe(program, early))
      return false;
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const ProgramStatement &s = program.statements[i];
    if (s.form == Form::Wait) {
      for (int name : s.names)
        if (!issued(program, name))
          return false;
      if (s.names.empty())
        return false;
      continue;
    }
    if (s.form == Form::Print)
      continue;
    if (s.operations.empty() || (s.inner && s.inner->stage.size() != s.operations.size()))
      return false;
    // Without an else it would be the condition of its statements.
    if (s.form == Form::Choice && s.choice >= 0 && s.otherwise.empty())
      return false;
    for (int scalar : usedScalars(s))
      if (scalar >= int(i) || !isScalar(program.statements[size_t(scalar)]))
        return false;
    // What can be loaded again is no statement.
    if (s.form == Form::Plain && s.operations[0].kind == OpKind::Load &&
        !written(program, s.operations[0].sources[0].buffer))
      return false;
  }
  return true;
}

void penstock::fuzz::settle(Program &program) {
  for (ProgramBuffer &buffer : program.buffers)
    if (buffer.kind == LoopBuffer::Kind::Tensor)
      std::fill(buffer.extents.begin(), buffer.extents.end(), 1);
  for (const EarlyCopy &early : program.early) {
    const Touch &from = early.copy.sources[0];
    int64_t &extent = program.buffers[size_t(from.buffer)].extents[0];
    extent = std::max(extent, reachOf(from.box.spans[0], 1).to);
  }
  forEachTouch(program, [&](Touch &touch, int64_t rounds) {
    ProgramBuffer &buffer = program.buffers[size_t(touch.buffer)];
    for (size_t d = 0; d < touch.box.spans.size(); ++d) {
      Span &span = touch.box.spans[d];
      span.origin[0] = program.firstAtRunTime && span.motion == Span::Motion::Affine
                           ? span.scale / program.step
                           : 0;
      if (buffer.kind == LoopBuffer::Kind::Tensor)
        buffer.extents[d] = std::max(buffer.extents[d], reachOf(span, rounds).to);
    }
  });
}

Loop penstock::fuzz::loopOf(const Program &program) {
  Loop loop;
  loop.conditions = program.conditions;
  for (const ProgramBuffer &buffer : program.buffers) {
    LoopBuffer &b = loop.buffers.emplace_back();
    b.kind = buffer.kind;
    b.extents = buffer.extents;
    b.statedVersions = buffer.statedVersions;
    b.readAfter = buffer.readAfter;
  }
  // A number that is stated for a tile of other loops says nothing of this one.
  for (size_t b = 0; b < program.buffers.size(); ++b)
    if (!touched(program, int(b)))
      loop.buffers[b].statedVersions = 0;
  std::vector<std::vector<Origin>> compared;
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    compared.push_back(originsOf(program, int(b)));
    loop.buffers[b].absolute = std::all_of(compared[b].begin(), compared[b].end(),
                                           [](const Origin &origin) { return origin == Origin(); });
  }
  int lines = int(loop.buffers.size());
  if (prints(program)) {
    LoopBuffer &b = loop.buffers.emplace_back();
    b.kind = LoopBuffer::Kind::Tensor;
    b.extents = {1};
  }
  std::vector<int> ended; // names that were issued before the loop and awaited
  // Products into one accumulator are issued to one queue, which executes them
  // in order.
  std::vector<int> queueOf(program.buffers.size(), -1);
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const ProgramStatement &s = program.statements[i];
    LoopStatement &l = loop.statements.emplace_back();
    l.guard = s.guard;
    if (s.form == Form::Wait) {
      l.kind = LoopStatement::Kind::Wait;
      for (size_t other = 0; other < program.statements.size(); ++other)
        if (program.statements[other].async >= 0 &&
            std::count(s.names.begin(), s.names.end(), program.statements[other].async))
          // What stands below the wait has last been issued one iteration ago.
          l.names.push_back(
              {int(other), other > i ? std::max<int64_t>(s.lag, 1) : s.lag, true, true});
      for (const EarlyCopy &early : program.early) {
        if (!std::count(s.names.begin(), s.names.end(), early.name))
          continue;
        l.before = true;
        // The first wait ends it.
        if (std::count(ended.begin(), ended.end(), early.name))
          continue;
        Touch from = early.copy.sources[0];
        // Where the loop is run again, what an earlier run left is not compared.
        if (program.again)
          from.box = {};
        l.settles.reads.push_back(from);
        l.settles.writes.push_back(early.copy.target);
      }
      ended.insert(ended.end(), s.names.begin(), s.names.end());
      continue;
    }
    if (s.form == Form::Print) {
      l.actions = {Action{{}, {Touch{lines, {}}}, {}}};
      continue;
    }
    std::vector<Term> then, otherwise;
    if (s.form == Form::Choice) {
      int condition = loop.conditions++;
      then.push_back({condition, false});
      otherwise.push_back({condition, true});
    }
    for (int64_t round = 0; round < s.rounds; ++round) {
      if (s.roundsLoaded)
        then = {{loop.conditions++, false}};
      for (const Operation &op : s.operations)
        l.actions.push_back(actionOf(op, round)), l.actions.back().when = then;
    }
    for (const Operation &op : s.otherwise)
      l.actions.push_back(actionOf(op, 0)), l.actions.back().when = otherwise;
    if (s.form != Form::Choice &&
        std::all_of(s.operations.begin(), s.operations.end(), [&](const Operation &op) {
          return op.kind == OpKind::Copy &&
                 program.buffers[size_t(op.sources[0].buffer)].kind == LoopBuffer::Kind::Tensor;
        }))
      l.kind = LoopStatement::Kind::Copy;
    if (s.form == Form::Plain) {
      const Operation &op = s.operations[0];
      if (isScalar(s))
        l.kind = LoopStatement::Kind::Scalar;
      l.async = s.async >= 0;
      if (l.async && op.kind == OpKind::Gemm) {
        int &queue = queueOf[size_t(op.target.buffer)];
        if (queue < 0) {
          queue = int(loop.queues.size());
          loop.queues.push_back({true, {op.target.buffer}});
        }
        l.queue = queue;
      }
    }
    for (int scalar : usedScalars(s)) {
      auto &users = loop.statements[size_t(scalar)].users;
      if (!std::count(users.begin(), users.end(), int(i)))
        users.push_back(int(i));
    }
  }
  auto compare = [&](Action &action) {
    for (auto *side : {&action.reads, &action.writes})
      for (Touch &touch : *side)
        for (size_t d = 0; d < touch.box.spans.size(); ++d)
          if (Span &span = touch.box.spans[d]; span.motion == Span::Motion::Affine &&
                                               span.origin != compared[size_t(touch.buffer)][d])
            span.motion = Span::Motion::Unrelated;
  };
  for (LoopStatement &statement : loop.statements) {
    std::for_each(statement.actions.begin(), statement.actions.end(), compare);
    compare(statement.settles);
  }
  return loop;
}

/// For each statement the one that a load belongs to, or -1.
static std::vector<int> ownersOf(const Program &program) {
  auto isLoad = [&](int i) {
    const ProgramStatement &s = program.statements[size_t(i)];
    return s.form == Form::Plain && s.operations[0].kind == OpKind::Load;
  };
  std::vector<int> owners(program.statements.size(), -1);
  for (int i = 0; i < int(owners.size()); ++i) {
    if (!isLoad(i))
      continue;
    std::vector<int> users;
    for (int j = 0; j < int(owners.size()); ++j) {
      std::vector<int> used = usedScalars(program.statements[size_t(j)]);
      if (std::count(used.begin(), used.end(), i))
        users.push_back(j);
    }
    if (users.size() != 1 ||
        program.statements[size_t(users[0])].guard != program.statements[size_t(i)].guard)
      continue;
    bool apart = false;
    for (int between = i + 1; between < users[0]; ++between)
      apart |= !isLoad(between);
    if (!apart)
      owners[size_t(i)] = users[0];
  }
  return owners;
}

Loop penstock::fuzz::joinedLoopOf(const Program &program) {
  Loop loop = loopOf(program);
  std::vector<int> owners = ownersOf(program), number(owners.size());
  std::vector<LoopStatement> kept;
  for (size_t i = owners.size(); i-- > 0;)
    if (owners[i] >= 0) {
      auto &actions = loop.statements[size_t(owners[i])].actions;
      const auto &load = loop.statements[i].actions;
      actions.insert(actions.begin(), load.begin(), load.end());
    }
  for (size_t i = 0; i < owners.size(); ++i) {
    number[i] = int(kept.size());
    if (owners[i] < 0)
      kept.push_back(loop.statements[i]);
  }
  for (LoopStatement &s : kept) {
    for (Naming &name : s.names)
      name.statement = number[size_t(name.statement)];
    for (int &user : s.users)
      user = number[size_t(user)];
  }
  loop.statements = std::move(kept);
  return loop;
}

Loop penstock::fuzz::annotatedLoopOf(const Program &program) {
  Loop loop = loopOf(program);
  if (!program.plan || int(program.plan->stage.size()) == loop.size())
    return loop;
  Loop joined = joinedLoopOf(program);
  return int(program.plan->stage.size()) == joined.size() ? joined : loop;
}

/// Each operation is a statement, and a round is an iteration. To the inner loop, the
/// iteration of the outer one is a number that is fixed before it.
Loop penstock::fuzz::innerLoopOf(const Program &program, const ProgramStatement &repeat) {
  Program inner;
  inner.buffers = program.buffers;
  for (const ProgramStatement &s : program.statements) {
    if (&s == &repeat)
      continue;
    for (const auto *list : {&s.operations, &s.otherwise})
      for (const Operation &op : *list)
        for (const Touch &read : actionOf(op, 0).reads)
          inner.buffers[size_t(read.buffer)].readAfter |=
              inner.buffers[size_t(read.buffer)].kind != LoopBuffer::Kind::Tensor;
  }
  auto move = [](Touch &touch) {
    for (Span &span : touch.box.spans) {
      span.origin[0] = span.scale;
      span.scale = span.perRound;
      span.perRound = 0;
    }
  };
  for (Operation op : repeat.operations) {
    move(op.target);
    for (Touch &source : op.sources)
      move(source);
    op.scalar = -1; // has its value before the inner loop
    inner.statements.push_back({.operations = {op}});
  }
  return loopOf(inner);
}
