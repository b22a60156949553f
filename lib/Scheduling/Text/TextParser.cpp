//===- TextParser.cpp - Reading scheduling instances ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Text/Text.h"
#include "Scheduling/Text/TextCursor.h"

#include <array>
#include <functional>

namespace penstock::sched {
namespace {

constexpr size_t maxTextBytes = size_t(1) << 30;
constexpr size_t maxItems = 4096; ///< statements, buffers, accesses of one loop
constexpr size_t maxRank = 8;

class Parser : public TextCursor {
public:
  using TextCursor::TextCursor;

  bool skipToInstance() {
    while (token.kind == Token::Kind::Newline)
      take();
    return token.kind != Token::Kind::End;
  }
  Instance instance();

private:
  void line();
  void buffer();
  void queue();
  void statement();
  bool clause(Statement &s, StatementId id);
  void accesses(Statement &s, bool write);
  void awaits(StatementId id);
  void guard(Statement &s);
  void conflict();
  void schedule();
  Space space();
  Region box();
  AffineInterval dimension();
  DistanceSet distances();
  Proxy proxy();
  Engine engine();
  SourceLocation location();
  BufferId bufferRef();
  /// A statement that may be defined further down.
  void later(std::function<void(StatementId)> use);

  Instance result;
  struct Forward {
    std::string name;
    Token at;
    std::function<void(StatementId)> use;
  };
  std::vector<Forward> forwards;
};

Space Parser::space() {
  for (Space s : {Space::Global, Space::Shared, Space::Tensor, Space::Local})
    if (accept(spaceName(s)))
      return s;
  fail("expected global, shared, tensor or local, found " + found());
}

Proxy Parser::proxy() {
  if (accept("generic"))
    return Proxy::Generic;
  expect("async");
  return Proxy::Async;
}

Engine Parser::engine() {
  Token at = token;
  std::string text = name("engine");
  if (auto found = findEngine(text))
    return *found;
  token = at;
  fail("unknown engine `" + text + "`");
}

SourceLocation Parser::location() {
  SourceLocation at;
  at.file = name("file");
  at.line = uint32_t(number("a line number") & 0xffffffff);
  return at;
}

/// A sum of numbers and multiples of k, then the length.
AffineInterval Parser::dimension() {
  AffineInterval x;
  if (accept("?")) {
    x.unbounded = true;
    return x;
  }
  bool any = false;
  while (true) {
    int64_t sign = 1;
    if (accept("-"))
      sign = -1;
    else if (!accept("+") && any)
      break;
    int64_t factor = 1;
    bool hasNumber = token.kind == Token::Kind::Number;
    if (hasNumber)
      factor = number("a number");
    if (hasNumber ? accept("*") : token.is("k")) {
      if (!token.is("k"))
        fail("expected `k`, found " + found());
      take();
      x.scale += sign * factor;
    } else if (hasNumber) {
      x.offset += sign * factor;
    } else {
      fail("expected a number or `k`, found " + found());
    }
    any = true;
    if (!token.is("+") && !token.is("-"))
      break;
  }
  if (accept(":"))
    x.length = number("a length");
  return x;
}

Region Parser::box() {
  Region region;
  expect("[");
  region.kind = Region::Kind::Box;
  do {
    limit(region.box, "dimensions", maxRank);
    region.box.push_back(dimension());
  } while (accept(","));
  // Without a dimension that says more, it is not known to be a box.
  if (region.box.size() == 1 && region.box[0].unbounded)
    region = {Region::Kind::Unknown, {}};
  expect("]");
  return region;
}

DistanceSet Parser::distances() {
  std::vector<DistanceSet::Range> ranges;
  do {
    limit(ranges, "ranges of distances", maxItems);
    DistanceSet::Range range;
    range.lo = number("a distance");
    range.hi = range.lo;
    if (accept("..")) {
      range.hi.reset();
      if (token.kind == Token::Kind::Number)
        range.hi = number("a distance");
      if (accept("/"))
        range.step = number("a step");
    }
    ranges.push_back(range);
  } while (accept(","));
  return DistanceSet(std::move(ranges));
}

BufferId Parser::bufferRef() {
  Token at = token;
  std::string text = name("buffer");
  BufferId b = result.problem.findBuffer(text);
  if (b == none) {
    token = at;
    fail("unknown buffer `" + text + "`");
  }
  return b;
}

void Parser::later(std::function<void(StatementId)> use) {
  limit(forwards, "references to statements", 16 * maxItems);
  Token at = token;
  std::string text = name("statement");
  forwards.push_back({text, at, std::move(use)});
}

void Parser::buffer() {
  limit(result.problem.buffers, "buffers", maxItems);
  Buffer b;
  Token at = token;
  b.name = name("buffer");
  if (result.problem.findBuffer(b.name) != none) {
    token = at;
    fail("a second buffer is named `" + b.name + "`");
  }
  b.space = space();
  if (accept("[")) {
    do {
      limit(b.shape, "dimensions", maxRank);
      b.shape.push_back(number("an extent"));
    } while (accept(","));
    expect("]");
  }
  while (token.kind != Token::Kind::Newline && token.kind != Token::Kind::End) {
    if (accept("bytes"))
      b.bytes = number("a size");
    else if (accept("versions"))
      b.statedVersions = unsigned(std::min<int64_t>(number("a number of versions"), 1 << 30));
    else if (accept("versionable"))
      b.versioning = Buffer::Versioning::Allowed;
    else if (accept("fixed")) {
      b.versioning = Buffer::Versioning::Fixed;
      if (token.kind == Token::Kind::String)
        b.fixedBecause = name("reason");
    } else if (accept("after")) {
      limit(b.readAfter, "regions", maxItems);
      b.readAfter.push_back(token.is("[") ? box() : Region{});
    } else if (accept("given"))
      b.conflictsGiven = true;
    else if (accept("at"))
      b.location = location();
    else
      fail("expected bytes, versions, versionable, fixed, after, given or at, "
           "found " +
           found());
  }
  result.problem.buffers.push_back(std::move(b));
}

void Parser::queue() {
  limit(result.problem.queues, "queues", maxItems);
  Queue q;
  q.name = name("queue");
  if (result.problem.findQueue(q.name) != none)
    fail("a second queue is named `" + q.name + "`");
  if (accept("inorder")) {
    q.inOrder = true;
    if (token.kind == Token::Kind::Word || token.kind == Token::Kind::String)
      do {
        limit(q.orders, "buffers", maxItems);
        q.orders.push_back(bufferRef());
      } while (accept(","));
  }
  result.problem.queues.push_back(std::move(q));
}

void Parser::accesses(Statement &s, bool write) {
  std::vector<Access> &to = s.awaitsBefore ? s.settles : s.accesses;
  do {
    limit(to, "accesses", maxItems);
    Access access;
    access.buffer = bufferRef();
    access.write = write;
    if (token.is("["))
      access.region = box();
    while (accept("~"))
      if (accept("maybe"))
        access.maybe = true;
      else if (accept("holder"))
        access.holder = HolderId(number("a holder"));
      else
        access.proxy = proxy();
    to.push_back(std::move(access));
  } while (accept(","));
}

void Parser::awaits(StatementId id) {
  do {
    limit(result.problem.statements[id].awaits, "awaited statements", maxItems);
    size_t index = result.problem.statements[id].awaits.size();
    later([this, id, index](StatementId s) {
      result.problem.statements[id].awaits[index].statement = s;
    });
    Await await;
    if (accept("@"))
      await.distance = number("a distance");
    if (accept(":")) {
      if (accept("reads"))
        await.writes = false;
      else {
        expect("writes");
        await.reads = false;
      }
    }
    result.problem.statements[id].awaits.push_back(await);
  } while (accept(","));
}

void Parser::guard(Statement &s) {
  do {
    limit(s.guard, "conditions", maxItems);
    Literal literal;
    literal.negated = accept("!");
    literal.condition = name("condition");
    s.guard.push_back(std::move(literal));
  } while (accept("&"));
}

bool Parser::clause(Statement &s, StatementId id) {
  if (accept("reads"))
    accesses(s, false);
  else if (accept("writes"))
    accesses(s, true);
  else if (accept("async"))
    s.async = true;
  else if (accept("queue")) {
    Token at = token;
    std::string text = name("queue");
    s.queue = result.problem.findQueue(text);
    if (s.queue == none) {
      token = at;
      fail("unknown queue `" + text + "`");
    }
  } else if (accept("group"))
    s.group = number("a group");
  else if (accept("when"))
    guard(s);
  else if (accept("awaits"))
    awaits(id);
  else if (accept("before")) // what follows is touched by what was issued before
    s.awaitsBefore = true;
  else if (accept("count")) {
    s.count = number("a count");
    s.countReadsOnly = accept("reads");
  } else if (accept("users")) {
    do
      later([this, id](StatementId user) { result.problem.statements[id].users.push_back(user); });
    while (accept(","));
  } else if (accept("from"))
    s.fenceFrom.push_back(proxy());
  else if (accept("to"))
    s.fenceTo.push_back(proxy());
  else if (accept("in"))
    s.fenceSpaces.push_back(space());
  else if (accept("engine"))
    s.engine = name("engine");
  else if (accept("executes"))
    s.executedBy = engine();
  else if (accept("parent"))
    later([this, id](StatementId parent) { result.problem.statements[id].parent = parent; });
  else if (accept("busy"))
    s.busy = number("a time");
  else if (accept("latency"))
    s.latency = number("a time");
  else if (accept("at"))
    s.location = location();
  else
    return false;
  return true;
}

void Parser::statement() {
  limit(result.problem.statements, "statements", maxItems);
  StatementId id = StatementId(result.problem.statements.size());
  Token at = token;
  std::string text = name("statement");
  if (result.problem.findStatement(text) != none) {
    token = at;
    fail("a second statement is named `" + text + "`");
  }
  result.problem.statements.emplace_back();
  result.problem.statements[id].name = std::move(text);
  bool known = false;
  for (StatementKind kind : {StatementKind::Compute, StatementKind::Copy, StatementKind::Wait,
                             StatementKind::Commit, StatementKind::Fence, StatementKind::Scalar})
    if (!known && accept(kindName(kind))) {
      result.problem.statements[id].kind = kind;
      known = true;
    }
  if (!known)
    fail("expected compute, copy, wait, commit, fence or scalar, found " + found());
  while (token.kind != Token::Kind::Newline && token.kind != Token::Kind::End)
    if (!clause(result.problem.statements[id], id))
      fail("expected a clause of a statement, found " + found());
}

void Parser::conflict() {
  limit(result.problem.conflicts, "conflicts", 16 * maxItems);
  size_t index = result.problem.conflicts.size();
  result.problem.conflicts.emplace_back();
  auto side = [&](bool first) {
    later([this, index, first](StatementId s) {
      GivenConflict &c = result.problem.conflicts[index];
      (first ? c.first : c.second) = s;
    });
    GivenConflict &c = result.problem.conflicts[index];
    if (accept("writes"))
      (first ? c.firstWrites : c.secondWrites) = true;
    else
      expect("reads");
  };
  side(true);
  expect("->");
  side(false);
  expect("on");
  result.problem.conflicts[index].buffer = bufferRef();
  expect("distance");
  result.problem.conflicts[index].distances = distances();
}

void Parser::schedule() {
  if (result.schedule || result.numStages)
    fail("a second schedule");
  auto list = [&](std::vector<int64_t> &values) {
    while (token.kind == Token::Kind::Number || token.is("-")) {
      limit(values, "entries", maxItems);
      values.push_back(number("a number", true));
    }
  };
  Schedule s;
  expect("stage");
  list(s.stage);
  expect("order");
  list(s.order);
  result.schedule = std::move(s);
}

void Parser::line() {
  if (accept("capacity")) {
    Space s = space();
    result.problem.capacity[size_t(s)] = number("a capacity");
  } else if (accept("buffer"))
    buffer();
  else if (accept("queue"))
    queue();
  else if (accept("statement"))
    statement();
  else if (accept("conflict"))
    conflict();
  else if (accept("at"))
    result.problem.location = location();
  else if (accept("schedule"))
    schedule();
  else if (accept("num_stages")) {
    if (result.schedule || result.numStages)
      fail("a second schedule");
    result.numStages = number("a number of stages", true);
  } else
    fail("expected capacity, buffer, queue, statement, conflict, schedule, "
         "num_stages, at or `}`, found " +
         found());
  endOfLine();
}

Instance Parser::instance() {
  result = {};
  forwards.clear();
  expect("loop");
  result.problem.name = name("loop");
  expect("{");
  endOfLine();
  while (!token.is("}")) {
    if (token.kind == Token::Kind::End)
      fail("loop `" + result.problem.name + "` does not end");
    line();
  }
  Token close = token;
  for (const Forward &forward : forwards) {
    StatementId s = result.problem.findStatement(forward.name);
    if (s == none) {
      token = forward.at;
      fail("unknown statement `" + forward.name + "`");
    }
    forward.use(s);
  }
  token = close;
  take();
  endOfLine();
  return std::move(result);
}

} // namespace

ParsedInstances parseInstances(std::string_view text, const std::string &file) {
  ParsedInstances parsed;
  try {
    if (text.size() > maxTextBytes) {
      parsed.error.emplace();
      parsed.error->code = InstanceTooLarge;
      parsed.error->message = "the text is larger than 1 GiB";
      return parsed;
    }
    Parser parser(text, file);
    while (parser.skipToInstance())
      parsed.instances.push_back(parser.instance());
  } catch (TextError &error) {
    parsed.error = std::move(error.diagnostic);
  }
  return parsed;
}

} // namespace penstock::sched
