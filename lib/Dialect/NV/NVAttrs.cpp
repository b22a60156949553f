//===- NVAttrs.cpp - Typed attributes of nv -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nv;

//===----------------------------------------------------------------------===//
// Text forms
//===----------------------------------------------------------------------===//

static ParseResult parseEngine(AsmParser &parser, sched::Engine &engine) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  auto found = sched::findEngine(name.str());
  if (!found)
    return parser.emitError(loc) << "there is no engine `" << name << "`";
  engine = *found;
  return success();
}

static void printEngine(AsmPrinter &printer, sched::Engine engine) {
  printer << sched::engineName(engine);
}

static ParseResult parseRoleName(AsmParser &parser, std::string &name) {
  return parser.parseKeywordOrString(&name);
}

static void printRoleName(AsmPrinter &printer, StringRef name) { printer << name; }

static ParseResult parseDistribution(AsmParser &parser, layout::Distribution &layout) {
  SMLoc loc = parser.getCurrentLocation();
  std::string text;
  if (parser.parseString(&text))
    return failure();
  auto parsed = layout::parseDistribution(text);
  if (!parsed)
    return parser.emitError(loc) << "\"" << text << "\" is not a distribution over registers";
  layout = std::move(*parsed);
  return success();
}

static void printDistribution(AsmPrinter &printer, const layout::Distribution &layout) {
  printer << '"' << layout::toString(layout) << '"';
}

/// Found by argument-dependent look-up when attributes are made unique.
namespace penstock::layout {
static llvm::hash_code hash_value(const Distribution &layout) {
  auto digits = [](const std::vector<Distribution::Digit> &of) {
    llvm::hash_code hash = llvm::hash_value(of.size());
    for (const Distribution::Digit &digit : of)
      hash = llvm::hash_combine(hash, digit.extent, digit.dim, digit.stride);
    return hash;
  };
  return llvm::hash_combine(llvm::hash_combine_range(layout.shape), digits(layout.threadDigits),
                            digits(layout.registerDigits));
}
} // namespace penstock::layout

#include "Dialect/NV/NVEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "Dialect/NV/NVAttrs.cpp.inc"

void NVDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Dialect/NV/NVAttrs.cpp.inc"
      >();
}

LogicalResult RoleAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, StringRef name) {
  if (tile::TileDialect::isRoleName(name))
    return success();
  return emitError() << "`" << name << "` is not the name of a role";
}
