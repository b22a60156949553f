//===- Evaluate.cpp - Reference execution of a program --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a program sequentially on plain integers. Native code is held against
// this, not against another part of the compiler.
//
//===----------------------------------------------------------------------===//
#include "../penstock-fuzz/Random.h"
#include "Program.h"

#include <algorithm>

using namespace penstock::fuzz;

namespace {

using OpKind = Operation::Kind;

class Evaluation {
public:
  Evaluation(const Program &program, const World &world, Memory &memory)
      : program(program), world(world), memory(memory), scalars(program.statements.size()) {}

  void run() {
    int32_t unused = 0;
    for (const EarlyCopy &early : program.early)
      execute(early.copy, 0, unused);
    runLoop();
    if (program.again)
      runLoop();
  }

private:
  void runLoop() {
    for (int64_t k = 0; k < world.trips; ++k)
      for (size_t i = 0; i < program.statements.size(); ++i) {
        const ProgramStatement &s = program.statements[i];
        if (s.form == ProgramStatement::Form::Wait || !world.holds(s.guard, k))
          continue;
        if (s.form == ProgramStatement::Form::Print)
          memory.printed += "p" + std::to_string(i) + " " + std::to_string(k) + "\n";
        bool then = s.form != ProgramStatement::Form::Choice || decide(s, k);
        for (int64_t round = 0; round < roundsOf(s, world, k); ++round)
          for (Operation op : then ? s.operations : s.otherwise) {
            op.target = inRound(op.target, round);
            for (Touch &source : op.sources)
              source = inRound(source, round);
            execute(op, k, scalars[i]);
          }
      }
  }

  bool decide(const ProgramStatement &s, int64_t k) const {
    return s.choice >= 0 ? bool(world.conditions[size_t(s.choice)][size_t(k)])
                         : (scalars[size_t(s.choiceScalar)] & 1) != 0;
  }

  std::vector<int64_t> cellsOf(const Touch &touch, int64_t k) const {
    const ProgramBuffer &buffer = program.buffers[size_t(touch.buffer)];
    LoopBuffer shape;
    shape.extents = buffer.extents;
    std::vector<int64_t> cells;
    forEachCell(shape, touch.box, k, world, [&](int64_t cell) { cells.push_back(cell); });
    return cells;
  }
  std::vector<uint32_t> read(const Touch &touch, int64_t k) const {
    std::vector<uint32_t> values;
    for (int64_t cell : cellsOf(touch, k))
      values.push_back(uint32_t(memory.buffers[size_t(touch.buffer)][size_t(cell)]));
    return values;
  }
  /// A source of an operation; those that are transposed have four rows and columns.
  std::vector<uint32_t> source(const Operation &op, size_t i, int64_t k) const {
    std::vector<uint32_t> values = read(op.sources[i], k);
    if (op.transposed >> i & 1)
      for (size_t row = 0; row < 4; ++row)
        for (size_t column = 0; column < row; ++column)
          std::swap(values[4 * row + column], values[4 * column + row]);
    return values;
  }
  void write(const Touch &touch, int64_t k, const std::vector<uint32_t> &values) {
    bool narrow = program.buffers[size_t(touch.buffer)].narrow;
    std::vector<int64_t> cells = cellsOf(touch, k);
    for (size_t i = 0; i < cells.size(); ++i)
      memory.buffers[size_t(touch.buffer)][size_t(cells[i])] =
          narrow ? int32_t(int8_t(values[i])) : int32_t(values[i]);
  }

  /// What the scalars and the constant of an operation add up to.
  uint32_t plain(const Operation &op, int64_t k) const {
    uint32_t sum = uint32_t(op.constant);
    if (op.scalar >= 0)
      sum += 11 * uint32_t(scalars[size_t(op.scalar)]);
    if (op.replayed == 1)
      sum += 13 * uint32_t(k);
    if (op.replayed == 2)
      sum += 13 * uint32_t(world.table[size_t(k)]);
    return sum;
  }

  void execute(const Operation &op, int64_t k, int32_t &result) {
    switch (op.kind) {
    case OpKind::Copy:
      return write(op.target, k, source(op, 0, k));
    case OpKind::Fill:
    case OpKind::Store:
      return write(op.target, k, std::vector<uint32_t>(cellsOf(op.target, k).size(), plain(op, k)));
    case OpKind::Map:
    case OpKind::Parallel: {
      std::vector<uint32_t> values(cellsOf(op.target, k).size(), plain(op, k));
      uint32_t factor = 3;
      for (size_t from = 0; from < op.sources.size(); ++from) {
        std::vector<uint32_t> input = source(op, from, k);
        for (size_t i = 0; i < values.size(); ++i)
          values[i] += factor * input[i];
        factor += 2;
      }
      return write(op.target, k, values);
    }
    case OpKind::Gemm: {
      std::vector<uint32_t> a = source(op, 0, k), b = source(op, 1, k);
      std::vector<uint32_t> sum = op.overwrite ? std::vector<uint32_t>(16, 0) : read(op.target, k);
      for (size_t i = 0; i < 4; ++i)
        for (size_t j = 0; j < 4; ++j)
          for (size_t l = 0; l < 4; ++l)
            sum[4 * i + j] += a[4 * i + l] * b[4 * l + j];
      return write(op.target, k, sum);
    }
    case OpKind::Reduce: {
      std::vector<uint32_t> square = source(op, 0, k);
      std::vector<uint32_t> sum = op.overwrite ? std::vector<uint32_t>(4, 0) : read(op.target, k);
      for (size_t i = 0; i < 16; ++i)
        sum[i / 4] += square[i];
      return write(op.target, k, sum);
    }
    case OpKind::Load:
      result = int32_t(read(op.sources[0], k)[0]);
      return;
    case OpKind::Atomic: {
      uint32_t old = read(op.target, k)[0];
      result = int32_t(old);
      return write(op.target, k, {old + plain(op, k)});
    }
    }
  }

  const Program &program;
  const World &world;
  Memory &memory;
  std::vector<int32_t> scalars;
};

} // namespace

Memory penstock::fuzz::initialMemory(const Program &program, uint64_t seed) {
  Memory memory;
  Random random(seed);
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const ProgramBuffer &buffer = program.buffers[b];
    int64_t cells = 1;
    for (int64_t extent : buffer.extents)
      cells *= extent;
    // A tile is filled with one number before the loop.
    auto &values = memory.buffers.emplace_back(size_t(cells), int32_t(b) + 50);
    if (buffer.kind == LoopBuffer::Kind::Tensor)
      for (int32_t &value : values)
        value = buffer.narrow ? int32_t(random.between(-9, 9)) : int32_t(random.next());
  }
  return memory;
}

void penstock::fuzz::evaluate(const Program &program, const World &world, Memory &memory) {
  Evaluation(program, world, memory).run();
}
