//===- PrintRecords.cpp - Lines that GPU kernels print --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/PrintRecords.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>

using namespace penstock;

void penstock::appendInteger(std::string &line, int64_t value) { line += std::to_string(value); }

void penstock::appendReal(std::string &line, double value) {
  char text[32];
  // The sign of a NaN is not defined.
  std::snprintf(text, sizeof text, "%g", std::isnan(value) ? std::fabs(value) : value);
  line += text;
}

uint64_t PrintStatement::Operand::elements() const {
  uint64_t count = 1;
  for (int64_t size : shape)
    count *= uint64_t(size);
  return count;
}

std::vector<uint64_t> penstock::emptyPrintBuffer(uint64_t bytes) {
  uint64_t words = std::max<uint64_t>(bytes / 8, PrintBuffer::FirstRecord);
  std::vector<uint64_t> buffer(words, 0);
  buffer[PrintBuffer::Capacity] = words - PrintBuffer::FirstRecord;
  return buffer;
}

namespace {

uint32_t low(uint64_t word) { return uint32_t(word); }
uint32_t high(uint64_t word) { return uint32_t(word >> 32); }

/// The execution of a statement by a block.
using Key = std::tuple<uint32_t, uint32_t, uint32_t>; // statement, block, execution

struct Line {
  uint32_t block = 0;
  Key key;
  std::span<const uint64_t> values;
};

class Reader {
public:
  Reader(std::span<const PrintStatement> statements, std::span<const uint64_t> buffer)
      : statements(statements), buffer(buffer) {}

  std::vector<std::string> run() {
    readRecords();
    // Lines of a block are in buffer order, because one thread wrote them.
    std::ranges::sort(lines, [](const Line &a, const Line &b) {
      return std::pair(a.block, a.values.data()) < std::pair(b.block, b.values.data());
    });
    std::vector<std::string> result;
    uint64_t lost = buffer[PrintBuffer::Lost];
    for (const Line &line : lines)
      if (std::optional<std::string> text = format(line))
        result.push_back(std::move(*text));
      else
        ++lost;
    if (lost)
      result.push_back(
          "print: " + std::to_string(lost) + (lost == 1 ? " line was lost" : " lines were lost") +
          ", because the buffer of the launch has " + std::to_string(buffer.size() * 8) +
          " bytes; LaunchOptions::print_bytes sets its size\n");
    return result;
  }

private:
  void readRecords() {
    uint64_t capacity = buffer.size() - PrintBuffer::FirstRecord;
    uint64_t taken = std::min(buffer[PrintBuffer::Taken], capacity);
    std::span<const uint64_t> rest = buffer.subspan(PrintBuffer::FirstRecord, taken);
    while (rest.size() >= PrintRecord::headerWords) {
      uint32_t words = low(rest[0]), statement = high(rest[0]);
      // A record that did not fit left the end of the buffer unchanged.
      if (words < PrintRecord::headerWords || words > rest.size() || statement >= statements.size())
        return;
      Key key(statement, low(rest[1]), high(rest[2]));
      auto values = rest.subspan(PrintRecord::headerWords, words - PrintRecord::headerWords);
      if (low(rest[2]) == PrintRecord::line)
        lines.push_back({low(rest[1]), key, values});
      else
        parts[key].push_back({low(rest[2]), values});
      rest = rest.subspan(words);
    }
  }

  /// No value if a part is missing.
  std::optional<std::string> format(const Line &line) {
    const PrintStatement &statement = statements[std::get<0>(line.key)];
    std::string text;
    size_t next = 0;
    for (size_t i = 0; i < statement.operands.size(); ++i) {
      const PrintStatement::Operand &operand = statement.operands[i];
      text += statement.texts[i];
      std::vector<uint64_t> values;
      if (operand.inRegisters) {
        if (!assemble(line.key, uint32_t(i), operand, values))
          return std::nullopt;
      } else {
        uint64_t count = operand.elements();
        if (count > line.values.size() - next)
          return std::nullopt;
        values.assign(line.values.begin() + ptrdiff_t(next),
                      line.values.begin() + ptrdiff_t(next + count));
        next += count;
      }
      append(text, operand, values);
    }
    return text + statement.texts.back() + "\n";
  }

  bool assemble(const Key &key, uint32_t number, const PrintStatement::Operand &operand,
                std::vector<uint64_t> &values) {
    values.assign(operand.elements(), 0);
    std::vector<bool> known(values.size());
    for (const auto &[of, words] : parts[key])
      for (size_t i = 0; of == number && i + 1 < words.size(); i += 2)
        if (words[i] < values.size()) {
          values[words[i]] = words[i + 1];
          known[words[i]] = true;
        }
    return std::ranges::all_of(known, [](bool is) { return is; });
  }

  /// A tile as nested brackets.
  static void append(std::string &text, const PrintStatement::Operand &operand,
                     const std::vector<uint64_t> &values) {
    for (uint64_t i = 0; i < values.size(); ++i) {
      // Brackets open where indices start over, and close where they end.
      size_t opening = 0, closing = 0;
      uint64_t inner = 1;
      for (size_t dim = operand.shape.size(); dim-- > 0;) {
        inner *= uint64_t(operand.shape[dim]);
        opening += i % inner == 0;
        closing += (i + 1) % inner == 0;
      }
      if (i)
        text += ", ";
      text.append(opening, '[');
      if (operand.real)
        appendReal(text, std::bit_cast<double>(values[i]));
      else
        appendInteger(text, int64_t(values[i]));
      text.append(closing, ']');
    }
  }

  std::span<const PrintStatement> statements;
  std::span<const uint64_t> buffer;
  std::vector<Line> lines;
  std::map<Key, std::vector<std::pair<uint32_t, std::span<const uint64_t>>>> parts;
};

} // namespace

std::vector<std::string> penstock::readPrintBuffer(std::span<const PrintStatement> statements,
                                                   std::span<const uint64_t> buffer) {
  if (buffer.size() < PrintBuffer::FirstRecord)
    return {};
  return Reader(statements, buffer).run();
}
