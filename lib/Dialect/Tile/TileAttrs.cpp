//===- TileAttrs.cpp - Attributes of the tile dialect ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::tile;

#include "Dialect/Tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "Dialect/Tile/TileAttrs.cpp.inc"

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Dialect/Tile/TileAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// #tile.schedule
//===----------------------------------------------------------------------===//

static ParseResult parseIntegers(AsmParser &parser, SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(values.emplace_back()); });
}

namespace {

/// The lists of a schedule, by the names that the text form has for them.
struct ScheduleLists {
  SmallVector<int64_t> stage, order, asyncStages, asyncProducers, asyncProducerGroups;

  SmallVector<int64_t> *find(StringRef key) {
    return llvm::StringSwitch<SmallVector<int64_t> *>(key)
        .Case("stage", &stage)
        .Case("order", &order)
        .Case("async_stages", &asyncStages)
        .Case("async_producers", &asyncProducers)
        .Case("async_producer_groups", &asyncProducerGroups)
        .Default(nullptr);
  }
};

} // namespace

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  int64_t numStages = 0, solverSeconds = 0;
  ScheduleLists lists;
  llvm::SmallSet<StringRef, 4> seen;
  auto field = [&]() -> ParseResult {
    StringRef key;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&key))
      return failure();
    if (!seen.insert(key).second)
      return parser.emitError(loc) << "`" << key << "` is given twice";
    SmallVector<int64_t> *list = lists.find(key);
    if (key != "num_stages" && key != "solver_seconds" && !list)
      return parser.emitError(loc, "expected `num_stages`, `stage`, `order`, `async_stages`, "
                                   "`async_producers`, `async_producer_groups` or "
                                   "`solver_seconds`");
    if (parser.parseEqual())
      return failure();
    if (list)
      return parseIntegers(parser, *list);
    if (key == "num_stages" && succeeded(parser.parseOptionalKeyword("auto"))) {
      numStages = autoStages;
      return success();
    }
    return parser.parseInteger(key == "num_stages" ? numStages : solverSeconds);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, field))
    return {};
  return parser.getChecked<ScheduleAttr>(parser.getContext(), numStages, lists.stage, lists.order,
                                         lists.asyncStages, lists.asyncProducers,
                                         lists.asyncProducerGroups, solverSeconds);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<";
  bool first = true;
  auto key = [&](StringRef name) -> AsmPrinter & {
    if (!first)
      printer << ", ";
    first = false;
    return printer << name;
  };
  auto list = [&](StringRef name, ArrayRef<int64_t> values) {
    if (values.empty())
      return;
    key(name) << " = [";
    llvm::interleaveComma(values, printer);
    printer << "]";
  };
  if (isAuto())
    key("num_stages") << " = auto";
  else if (getNumStages())
    key("num_stages") << " = " << getNumStages();
  list("stage", getStage());
  list("order", getOrder());
  list("async_stages", getAsyncStages());
  list("async_producers", getAsyncProducers());
  list("async_producer_groups", getAsyncProducerGroups());
  if (getSolverSeconds())
    key("solver_seconds") << " = " << getSolverSeconds();
  printer << ">";
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t numStages,
                                   ArrayRef<int64_t> stage, ArrayRef<int64_t> order,
                                   ArrayRef<int64_t> asyncStages, ArrayRef<int64_t> asyncProducers,
                                   ArrayRef<int64_t> asyncProducerGroups, int64_t solverSeconds) {
  auto error = [&](DiagnosticCode code) { return withCode(emitError(), code); };
  bool stated = !stage.empty() || !order.empty();
  if (solverSeconds < 0)
    return error(SolverTimeLimit) << "the exact solver needs `solver_seconds` of at least 1";
  if (solverSeconds && stated)
    return error(StageAndNumStages) << "`stage` and `order` state a schedule; they cannot be "
                                       "combined with that of the exact solver";
  if ((numStages < 0 && numStages != autoStages) ||
      (!stated && numStages == 0 && solverSeconds == 0))
    return error(NumStagesTooSmall)
           << "`num_stages` is " << numStages
           << "; a pipelined loop needs `num_stages` of at least 1 or `Auto`, or "
              "`stage` and `order`";
  if (stated && numStages)
    return error(StageAndNumStages)
           << "`num_stages` cannot be combined with `stage` and `order`; the "
              "depth of a stated schedule is its largest stage + 1";
  if (stage.empty() != order.empty())
    return error(StageWithoutOrder)
           << "`" << (stage.empty() ? "order" : "stage") << "` is given without `"
           << (stage.empty() ? "stage" : "order") << "`; state both or neither";
  if (stage.size() != order.size())
    return error(ScheduleLength) << "`stage` has " << stage.size() << " entries and `order` has "
                                 << order.size() << "; each needs one per scheduled statement";
  bool marked = !asyncStages.empty() || !asyncProducers.empty() || !asyncProducerGroups.empty();
  if (marked && !stated)
    return error(AsyncAnnotation)
           << "copies are marked as asynchronous, and `stage` and `order` are not stated; "
              "`num_stages` chooses for itself what runs ahead";
  // Which statements the entries belong to, only the loop knows; the numbers are
  // checked with it.
  return success();
}
