//===- Records.h - Measurements in the cache --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TUNING_RECORDS_H
#define PENSTOCK_TUNING_RECORDS_H

#include "Cache/Store.h"
#include "Tuning/Points.h"
#include "Tuning/ShapeClasses.h"

namespace penstock::tuning {

/// Samples that one run of the tuner took of a candidate.
struct RecordedRun {
  std::string id; ///< differs between runs; predictions have one id
  std::vector<double> samples;
  std::vector<bool> disturbed;
  friend bool operator==(const RecordedRun &, const RecordedRun &) = default;
};

/// Everything that is known of a candidate.
struct Record {
  std::string removedBy; ///< empty: it can be timed
  unsigned code = 0;
  std::string reason;
  double predicted = 0;
  std::vector<RecordedRun> runs; ///< ordered by id

  /// Adds what another record of the same candidate knows. The order does not matter, and
  /// doing it twice changes nothing.
  void merge(const Record &other);
  friend bool operator==(const Record &, const Record &) = default;
};
std::string writeRecord(const Record &record);
/// No value if the text is not a record.
std::optional<Record> readRecord(std::string_view text);

Record recordOf(const TuneCandidate &candidate, const std::string &run);
void restore(TuneCandidate &candidate, const Record &record);

/// Records of one kernel, space and machine in a store.
class Records {
public:
  Records(cache::Store &store, const Points &points, Target target, TimeSource times,
          const std::string &machine);

  /// The key of a candidate.
  std::string key(const std::string &shapeClass, size_t point) const;
  std::optional<Record> lookup(const std::string &shapeClass, size_t point);
  /// Merges with what is stored. Returns whether it is stored now.
  bool add(const std::string &shapeClass, size_t point, const Record &record);

  /// Classes that have records.
  std::vector<std::string> classes();
  bool addClass(const std::string &shapeClass);

  /// All candidates of a class, with median and spread. Empty if none has a record.
  std::vector<TuneCandidate> read(const std::string &shapeClass);
  /// SHA-256 of the program without the tuned fields, and of the space.
  const std::string &program() const { return programHash; }
  const std::string &space() const { return spaceHash; }

private:
  std::string head(const char *kind) const;

  cache::Store &store;
  const Points &points;
  std::string target, times, machine, programHash, spaceHash;
};

/// 64 hexadecimal digits.
std::string sha256Text(std::string_view text);
/// SHA-256 of the program of a kernel whose tuned fields have the values of the first point
/// that can be recorded.
std::string programHash(const Points &points);
std::string spaceHash(const Points &points);

} // namespace penstock::tuning

#endif // PENSTOCK_TUNING_RECORDS_H
