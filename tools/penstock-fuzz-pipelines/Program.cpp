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

template <class Visit> void forEachOperation(const Program &program, Visit visit) {
  for (const ProgramStatement &statement : program.statements) {
    for (const Operation &op : statement.operations)
      visit(op, statement.rounds);
    for (const Operation &op : statement.otherwise)
      visit(op, statement.rounds);
  }
}

bool writes(const Operation &op) { return op.kind != OpKind::Load; }

Action actionOf(const Operation &op, int64_t round) {
  bool accumulates = (op.kind == OpKind::Gemm || op.kind == OpKind::Reduce) && !op.overwrite;
  Action action;
  for (const Touch &source : op.sources)
    action.reads.push_back(inRound(source, round));
  if (op.kind == OpKind::Atomic || accumulates)
    action.reads.push_back(inRound(op.target, round));
  if (writes(op))
    action.writes.push_back(inRound(op.target, round));
  return action;
}

bool touched(const Program &program, int buffer) {
  bool found = false;
  forEachOperation(program, [&](const Operation &op, int64_t) {
    found |= writes(op) && op.target.buffer == buffer;
    for (const Touch &source : op.sources)
      found |= source.buffer == buffer;
  });
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

bool penstock::fuzz::written(const Program &program, int buffer) {
  bool found = false;
  forEachOperation(program, [&](const Operation &op, int64_t) {
    found |= writes(op) && op.target.buffer == buffer;
  });
  return found;
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

/// Places that move are written with the loop's own variable.
static bool fitsStep(const Program &program) {
  bool fits = true;
  auto look = [&](const Touch &touch) {
    for (const Span &span : touch.box.spans)
      fits &= span.motion != Span::Motion::Affine || span.scale % program.step == 0;
  };
  forEachOperation(program, [&](const Operation &op, int64_t) {
    look(op.target);
    for (const Touch &source : op.sources)
      look(source);
  });
  return fits;
}

bool penstock::fuzz::wellFormed(const Program &program) {
  if (program.statements.empty() || !fitsStep(program))
    return false;
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const ProgramStatement &s = program.statements[i];
    if (s.form == Form::Wait) {
      for (int name : s.names)
        if (std::none_of(program.statements.begin(), program.statements.end(),
                         [&](const ProgramStatement &other) { return other.async == name; }))
          return false;
      if (s.names.empty())
        return false;
      continue;
    }
    if (s.operations.empty())
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

void penstock::fuzz::fitTensors(Program &program) {
  for (ProgramBuffer &buffer : program.buffers)
    if (buffer.kind == LoopBuffer::Kind::Tensor)
      std::fill(buffer.extents.begin(), buffer.extents.end(), 1);
  auto fit = [&](const Touch &touch, int64_t rounds) {
    ProgramBuffer &buffer = program.buffers[size_t(touch.buffer)];
    if (buffer.kind != LoopBuffer::Kind::Tensor)
      return;
    for (size_t d = 0; d < touch.box.spans.size(); ++d) {
      const Span &span = touch.box.spans[d];
      int64_t last = span.motion == Span::Motion::Affine ? maxTrips : span.modulus - 1;
      int64_t end = std::max<int64_t>(span.scale, 0) * last + span.offset + span.length +
                    span.perRound * (rounds - 1);
      buffer.extents[d] = std::max(buffer.extents[d], end);
    }
  };
  forEachOperation(program, [&](const Operation &op, int64_t rounds) {
    for (const Touch &touch : op.sources)
      fit(touch, rounds);
    if (writes(op))
      fit(op.target, rounds);
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
  return loop;
}
