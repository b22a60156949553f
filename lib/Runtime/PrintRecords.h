//===- PrintRecords.h - Lines that GPU kernels print ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads of a GPU write records into a buffer in global memory, and the host
// formats them after the launch. The buffer is an array of 64-bit words:
//
//   word 0         words that threads asked for, records only
//   word 1         lines that did not fit
//   word 2         words that the buffer has for records
//   word 4 ..      records, one after the other
//
// One thread writes the record of a line: its scalars, and the tiles in shared
// memory. Every thread that holds elements of a tile in registers adds a record
// with these elements. A record starts with three words:
//
//   its size in words            | number of the print statement << 32
//   number of the block          | number of the thread << 32
//   operand that it is a part of | how often the statement was executed << 32
//
// The operand of a line is `PrintRecord::line`. Values are i64 or f64. In a line
// they follow each other; in a part, each follows its index in the tile.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_PRINTRECORDS_H
#define PENSTOCK_RUNTIME_PRINTRECORDS_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

/// A `print` of a GPU kernel.
struct PrintStatement {
  struct Operand {
    bool real = false;        ///< f64, otherwise i64
    bool inRegisters = false; ///< a tile whose elements come in parts
    std::vector<int64_t> shape;
    uint64_t elements() const;
  };
  std::vector<std::string> texts; ///< before, between and after the operands
  std::vector<Operand> operands;
};

namespace PrintBuffer {
enum : unsigned { Taken, Lost, Capacity, FirstRecord = 4 };
} // namespace PrintBuffer

namespace PrintRecord {
constexpr unsigned headerWords = 3;
constexpr uint32_t line = 0xffffffff;
} // namespace PrintRecord

/// Bytes of the buffer unless a launch states others.
constexpr uint64_t defaultPrintBytes = uint64_t(1) << 22;

/// The buffer as it is before a launch.
std::vector<uint64_t> emptyPrintBuffer(uint64_t bytes);

/// The lines of a buffer, with their ends: block by block, those of a block in the order
/// in which they were printed. The last one says how many did not fit.
std::vector<std::string> readPrintBuffer(std::span<const PrintStatement> statements,
                                         std::span<const uint64_t> buffer);

/// Numbers as `print` shows them on all targets but the interpreter, which has code of its own.
void appendInteger(std::string &line, int64_t value);
void appendReal(std::string &line, double value);

} // namespace penstock

#endif // PENSTOCK_RUNTIME_PRINTRECORDS_H
