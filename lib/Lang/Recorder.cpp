//===- Recorder.cpp - Builds a tile program from the calls of a kernel ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lang/Recorder.h"
#include "Diagnostics/SourceText.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Language.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/Signature.h"
#include "Dialect/Tile/TileTypes.h"
#include "Lang/CanonicalOrder.h"
#include "Lang/FrontEnd.h"
#include "Lang/VariableNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <set>
#include <tuple>

using namespace mlir;
using namespace penstock;
using namespace penstock::lang;

static thread_local Recorder *currentRecorder = nullptr;

Recorder *Recorder::current() { return currentRecorder; }

static uint32_t nextRecorderId() {
  static std::atomic<uint32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

//===----------------------------------------------------------------------===//
// Calls on blocks that are not being recorded here
//===----------------------------------------------------------------------===//

namespace {

/// The recordings under way on all threads, by their number.
struct LiveRecorders {
  std::mutex mutex;
  std::map<uint32_t, Recorder *> byId;
};

LiveRecorders &live() {
  // Never destroyed: static variables may compile kernels until the very end.
  static LiveRecorders *instance = new LiveRecorders;
  return *instance;
}

} // namespace

void Recorder::beginListening() {
  std::lock_guard lock(live().mutex);
  live().byId[id] = this;
}

void Recorder::endListening() {
  std::lock_guard lock(live().mutex);
  live().byId.erase(id);
  llvm::append_range(diagnostics, strays);
}

void Recorder::reportStray(Loc at) {
  penstock::Diagnostic d;
  d.code = StrayCall;
  d.location = {at.file, at.line, at.column};
  {
    std::lock_guard lock(live().mutex);
    if (auto found = live().byId.find(at.recorder); found != live().byId.end()) {
      d.message = currentRecorder ? "this block is called while another kernel is being recorded"
                                  : "this block is called from another thread than the one that "
                                    "records its kernel";
      d.helps.push_back("a kernel function may only use its own block, on the thread that "
                        "compiles it");
      found->second->strays.push_back(std::move(d));
      return;
    }
  }
  d.message = "this block is called after its kernel has been recorded";
  d.helps.push_back("a block lives as long as its kernel function runs; do not keep it");
  if (!currentRecorder)
    penstock::detail::raise({std::move(d)});
  currentRecorder->diagnostics.push_back(std::move(d));
}

Recorder::Recorder(MLIRContext *context, const penstock::detail::KernelSource &source,
                   const CompileOptions &options, std::vector<Diagnostic> &diagnostics)
    : id(nextRecorderId()), context(context), builder(context), diagnostics(diagnostics),
      fixedSizes(options.fix.begin(), options.fix.end()), source(source), entries(1),
      exceptions(std::uncaught_exceptions()), previous(currentRecorder) {
  currentRecorder = this;
}

Recorder::~Recorder() {
  currentRecorder = previous;
  // An error inside of a C++ loop is one error.
  std::set<std::tuple<unsigned, std::string, uint32_t, std::string>> seen;
  llvm::erase_if(diagnostics, [&](const penstock::Diagnostic &d) {
    return !seen.emplace(d.code, d.location.file, d.location.line, d.message).second;
  });
}

//===----------------------------------------------------------------------===//
// Recording a kernel
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> Recorder::record() {
  tile::DiagnosticCollector collector(context, diagnostics, OpForm);
  if (!tile::isKernelName(source.name)) {
    error(BadName, source.at, "`" + source.name + "` cannot be the name of a kernel",
          "use letters, digits and _, and another start than penstock_; give "
          "{.name = \"..\"} when compiling");
    return {};
  }
  Location loc = locationOf(source.at);
  SmallVector<Type> types;
  for (const penstock::detail::ArgumentSpec &spec : source.arguments)
    types.push_back(spec.tensor ? Type(tile::tensorType(typeOf(spec.element), spec.rank))
                                : typeOf(spec.element));
  module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, loc, source.name, builder.getFunctionType(types, {}));
  function->setAttr(tile::TileDialect::kernelAttr, builder.getUnitAttr());
  mlir::Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  bool ok = applySignature() && runKernel();
  if (ok && !scopes.empty()) {
    // Loops say so when their range dies; other scopes are left by exceptions.
    ok = false;
    if (diagnostics.empty())
      reportLeft(scopes.back());
  }
  if (!ok || llvm::any_of(diagnostics, [](const penstock::Diagnostic &d) {
        return d.severity == Severity::Error;
      }))
    return {};
  func::ReturnOp::create(builder, loc);
  canonicalizeOrder(function);
  if (failed(mlir::verify(*module)) || failed(tile::verifyKernel(function)))
    return {};
  return std::move(module);
}

static std::string counted(size_t number, const char *what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

bool Recorder::checkValues(const Signature &signature, const SignatureArgument &argument,
                           const penstock::detail::ArgumentSpec &spec) {
  if (argument.values.text.empty())
    return true;
  bool result = spec.tensor && spec.access == Access::Out;
  std::string wrong = result ? "it is a result, and only values of inputs are described"
                             : checkInputValues(signature, argument.values,
                                                !isa<FloatType>(typeOf(spec.element)), spec.tensor);
  if (wrong.empty())
    return true;
  error(BadSignature, source.at,
        "the signature \"" + source.signature + "\" describes the values of `" + argument.name +
            "`: " + wrong,
        result ? "leave the description out"
               : "bounds are sums and products of integers, sizes and scalars, as in "
                 "\"lengths[B] in 1..N\"");
  return false;
}

bool Recorder::applySignature() {
  static constexpr StringRef accessNames[] = {"in", "out", "inout"};
  Signature signature = parseSignature(source.signature);
  if (!signature.error.empty()) {
    error(BadSignature, source.at,
          "the signature \"" + source.signature + "\" cannot be read: " + signature.error,
          signature.arguments.empty() || signature.arguments.back().values.text.empty()
              ? "a signature looks like \"A[M,K], B[N,K], scale -> C[M,N]\""
              : "values are described as in \"lengths[B] in 1..N, starts[S] in 0..T ascending, "
                "order[N] permutation\"");
    return false;
  }
  bool stated = !source.signature.empty();
  if (stated && signature.arguments.size() != source.arguments.size()) {
    error(BadSignature, source.at,
          "the signature \"" + source.signature + "\" names " +
              counted(signature.arguments.size(), "argument") + " and the kernel takes " +
              std::to_string(source.arguments.size()),
          "name every tensor and scalar that the kernel takes, in their order");
    return false;
  }
  std::set<std::string> known;
  for (auto [i, spec] : llvm::enumerate(source.arguments)) {
    std::string name = "arg" + std::to_string(i);
    sizeNames.emplace_back();
    if (stated) {
      SignatureArgument &argument = signature.arguments[i];
      if (argument.tensor != spec.tensor ||
          (spec.tensor && argument.sizes.size() != static_cast<size_t>(spec.rank))) {
        error(
            BadSignature, source.at,
            "the signature \"" + source.signature + "\" gives `" + argument.name + "` " +
                (argument.tensor ? counted(argument.sizes.size(), "dimension") : "no dimensions") +
                ", but argument " + std::to_string(i) + " of the kernel " +
                (spec.tensor ? "has " + std::to_string(spec.rank) : "is a scalar"),
            spec.tensor ? "name one size for each dimension, as in \"A[M,K]\""
                        : "a scalar is a bare name");
        return false;
      }
      if (!checkValues(signature, argument, spec))
        return false;
      name = argument.name;
      sizeNames.back() = argument.sizes;
      known.insert(argument.sizes.begin(), argument.sizes.end());
    }
    function.setArgAttr(i, tile::TileDialect::nameAttr, builder.getStringAttr(name));
    if (spec.tensor)
      function.setArgAttr(i, tile::TileDialect::accessAttr,
                          builder.getStringAttr(accessNames[static_cast<int>(spec.access)]));
    if (StringAttr packed = packedAttrOf(spec.element))
      function.setArgAttr(i, tile::TileDialect::packedAttr, packed);
  }
  if (stated)
    function->setAttr(tile::TileDialect::signatureAttr, builder.getStringAttr(source.signature));
  for (const auto &[name, value] : fixedSizes) {
    if (!known.count(name)) {
      error(UnknownSize, source.at,
            "`fix` names the size `" + name +
                (stated ? "`, which the signature does not have"
                        : "`, but the kernel has no signature"),
            stated ? "the signature is \"" + source.signature + "\""
                   : "give it one, as in: static constexpr auto signature = "
                     "\"A[M,K] -> C[M]\";");
      return false;
    }
    if (value < 0) {
      error(UnknownSize, source.at,
            "`fix` sets the size `" + name + "` to " + std::to_string(value) +
                "; sizes must be non-negative");
      return false;
    }
  }
  return true;
}

bool Recorder::runKernel() {
  std::vector<Ref> refs;
  for (BlockArgument argument : function.getArguments())
    refs.push_back(add(argument));
  penstock::Block block(id);
  beginListening();
  llvm::scope_exit over([&] { endListening(); });
  try {
    source.record(block, refs);
    return true;
  } catch (const Reported &) {
    return false;
  } catch (const std::exception &thrown) {
    error(ThrowingKernel, source.at,
          "the kernel function threw while it was recorded: " + std::string(thrown.what()));
  } catch (...) {
    error(ThrowingKernel, source.at, "the kernel function threw while it was recorded");
  }
  noteLast(diagnostics.back(), "this was recorded last before it threw");
  return false;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Entry *Recorder::use(Ref ref, Loc at, StringRef what) {
  if (ref.id == 0) {
    error(EmptyValue, at, "the " + what.str() + " has no value",
          "it was default-constructed, or made while no kernel was being "
          "recorded; assign it before it is used");
    return nullptr;
  }
  if (ref.recorder != id || ref.id >= entries.size()) {
    error(ForeignValue, at, "the " + what.str() + " belongs to another kernel",
          "tiles and scalars live as long as the recording of their kernel; "
          "do not keep them");
    return nullptr;
  }
  Entry &entry = entries[ref.id];
  if (entry.kind == Entry::Poison)
    return nullptr;
  bool reachable = !entry.scope || llvm::any_of(scopes, [&](const OpenScope &scope) {
    return scope.number == entry.scope;
  });
  if (!reachable) {
    error(ForeignValue, at,
          "the " + what.str() +
              " was computed inside a loop, condition or statement that has "
              "ended",
          "keep it in a tile or in a Var that is declared outside");
    return nullptr;
  }
  return &entry;
}

Ref Recorder::add(mlir::Value value) {
  Entry entry;
  entry.kind = Entry::Value;
  entry.value = value;
  bool inKernel = value.getParentBlock() == &function.getBody().front();
  entry.scope = inKernel || scopes.empty() ? 0 : scopes.back().number;
  entries.push_back(std::move(entry));
  return {id, static_cast<uint32_t>(entries.size() - 1)};
}

Ref Recorder::add(ExprNode node) {
  for (Ref operand : node.operands)
    if (const Entry &from = entries[operand.id]; from.kind == Entry::Expr)
      node.depth = std::max(node.depth, from.expr->depth + 1);
  if (node.depth > maxExprDepth) {
    penstock::Diagnostic diagnostic;
    diagnostic.code = TooLarge;
    diagnostic.location = tile::sourceLocationOf(node.loc);
    diagnostic.message =
        "an expression is nested more than " + std::to_string(maxExprDepth) + " deep";
    diagnostic.helps.push_back("`set` a tile to a part of it first");
    diagnostics.push_back(std::move(diagnostic));
    return poison();
  }
  Entry entry;
  entry.kind = Entry::Expr;
  entry.expr = std::make_shared<ExprNode>(std::move(node));
  entry.scope = scopes.empty() ? 0 : scopes.back().number;
  entries.push_back(std::move(entry));
  return {id, static_cast<uint32_t>(entries.size() - 1)};
}

Ref Recorder::poison() {
  entries.emplace_back();
  return {id, static_cast<uint32_t>(entries.size() - 1)};
}

mlir::Value Recorder::constant(TypedAttr attr) {
  mlir::Value &value = constants[attr];
  if (!value) {
    // At the start of the kernel, where it can be used from everywhere.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    value = arith::ConstantOp::create(builder, function.getLoc(), attr);
  }
  return value;
}

StringAttr Recorder::packedAttrOf(Element element) {
  const tile::PackedElement *packed = tile::findPacked(element);
  return packed ? builder.getStringAttr(packed->name) : StringAttr();
}

Type Recorder::typeOf(Element element) {
  switch (element) {
  case Element::f16:
    return builder.getF16Type();
  case Element::bf16:
    return builder.getBF16Type();
  case Element::f32:
    return builder.getF32Type();
  case Element::f64:
    return builder.getF64Type();
  case Element::f8e4m3:
    return Float8E4M3FNType::get(context);
  case Element::f8e5m2:
    return Float8E5M2Type::get(context);
  case Element::f8e8m0:
    return Float8E8M0FNUType::get(context);
  case Element::i1:
    return builder.getI1Type();
  case Element::i8:
  case Element::f4e2m1x2: // bytes; `tile.packed` says of what
  case Element::i4x2:
  case Element::f6e2m3_packed:
  case Element::f6e3m2_packed:
    return builder.getI8Type();
  case Element::i16:
    return builder.getI16Type();
  case Element::i32:
    return builder.getI32Type();
  case Element::i64:
    return builder.getI64Type();
  case Element::index:
    break;
  }
  return builder.getIndexType();
}

Type Recorder::typeOf(const Entry &entry) {
  return entry.kind == Entry::Expr ? entry.expr->type : entry.value.getType();
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

void Recorder::error(DiagnosticCode code, Loc at, std::string message, std::string help) {
  penstock::Diagnostic diagnostic;
  diagnostic.code = code;
  diagnostic.location = {at.file, at.line, at.column};
  diagnostic.message = std::move(message);
  if (!help.empty())
    diagnostic.helps.push_back(std::move(help));
  diagnostics.push_back(std::move(diagnostic));
}

Location Recorder::locationOf(Loc at) {
  last = at;
  ++recorded;
  if (!at.line)
    return UnknownLoc::get(context);
  return FileLineColLoc::get(context, at.file, at.line, at.column);
}

void Recorder::noteLast(penstock::Diagnostic &diagnostic, std::string message) {
  if (last.line)
    diagnostic.notes.push_back({{last.file, last.line, last.column}, std::move(message), ""});
}

bool Recorder::verify(Operation *op) {
  if (succeeded(mlir::verify(op)))
    return true;
  op->dropAllUses();
  op->erase();
  return false;
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

penstock::detail::Scope Recorder::open(Operation *op, mlir::Block *body) {
  builder.setInsertionPointAfter(op);
  scopes.push_back({nextToken, nextToken, op, builder.saveInsertionPoint()});
  ++nextToken;
  if (scopes.size() > maxNesting) {
    // The body is recorded beside the scope, not inside, only to find further errors.
    if (scopes.size() == maxNesting + 1)
      tile::emitCoded(op, TooLarge)
          << "loops and conditions are nested more than " << maxNesting << " deep";
    return {id, scopes.back().token};
  }
  if (!body->empty() && body->back().hasTrait<OpTrait::IsTerminator>())
    builder.setInsertionPoint(&body->back());
  else
    builder.setInsertionPointToEnd(body);
  return {id, scopes.back().token};
}

void Recorder::close(uint32_t token) {
  if (!isOpen(token))
    return;
  // Scopes inside that were left by force were reported when that happened.
  while (scopes.back().token != token)
    scopes.pop_back();
  auto condition = dyn_cast<scf::IfOp>(scopes.back().op);
  closedCondition = condition && condition.getElseRegion().empty() ? condition : nullptr;
  builder.restoreInsertionPoint(scopes.back().after);
  scopes.pop_back();
}

void Recorder::reportLeft(const OpenScope &scope) {
  penstock::Diagnostic diagnostic;
  diagnostic.code = LeftLoop;
  diagnostic.location = tile::sourceLocationOf(scope.op->getLoc());
  diagnostic.message = "this condition, statement or parallel body was left "
                       "before its end, by an exception";
  diagnostic.helps.push_back(
      "an exception that is thrown while a kernel is recorded must leave the kernel function");
  diagnostics.push_back(std::move(diagnostic));
}

bool Recorder::isOpen(uint32_t token) const {
  return llvm::any_of(scopes, [&](const OpenScope &scope) { return scope.token == token; });
}

void Recorder::abandon(uint32_t token) {
  auto scope = llvm::find_if(scopes, [&](const OpenScope &open) { return open.token == token; });
  // An exception is reported as such, and one `return` out of several loops
  // once.
  if (std::uncaught_exceptions() == exceptions && abandonedAt != recorded) {
    penstock::Diagnostic diagnostic;
    diagnostic.code = LeftLoop;
    diagnostic.location = tile::sourceLocationOf(scope->op->getLoc());
    diagnostic.message = "the body of this loop was left before its end, by break or return";
    if (last.line != diagnostic.location.line || last.file != diagnostic.location.file)
      noteLast(diagnostic, "this was recorded last before it was left");
    diagnostic.helps.push_back("the body of a tile loop is recorded once and runs for every "
                               "iteration; use b.when(..) for what depends on the iteration");
    diagnostics.push_back(std::move(diagnostic));
  }
  abandonedAt = recorded;
  close(token);
}

void Recorder::openSecondBranch(uint32_t token) {
  while (scopes.back().token != token)
    scopes.pop_back();
  scopes.back().number = nextToken++;
  if (scopes.size() > maxNesting)
    return;
  builder.setInsertionPoint(scopes.back().op->getRegion(1).front().getTerminator());
}

penstock::detail::Scope Recorder::reopenCondition(Loc at) {
  Operation *op = std::exchange(closedCondition, nullptr);
  if (!op || builder.getInsertionBlock() != op->getBlock() ||
      builder.getInsertionPoint() != std::next(op->getIterator())) {
    error(OpForm, at, "`otherwise` does not follow a condition",
          "write `with b.otherwise():` directly after the block of `with b.when(..):`");
    // Its body is recorded all the same, to find further errors.
    return penstock::detail::openCondition(poison(), false, at);
  }
  OpBuilder::InsertPoint after = builder.saveInsertionPoint();
  mlir::Block &body = cast<scf::IfOp>(op).getElseRegion().emplaceBlock();
  builder.setInsertionPointToEnd(&body);
  scf::YieldOp::create(builder, op->getLoc());
  builder.setInsertionPointToStart(&body);
  scopes.push_back({nextToken, nextToken, op, after});
  ++nextToken;
  return {id, scopes.back().token};
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string Recorder::takeName(Loc at) {
  if (auto given = std::exchange(nextName, std::nullopt))
    return *given;
  auto line = readSourceLine(at.file, at.line);
  return line ? variableName(*line, allocationsOnLine[{at.file, at.line}]++) : "";
}

std::string Recorder::takePartName(Loc at, const std::string &part) {
  std::string object;
  if (auto line = readSourceLine(at.file, at.line))
    object = objectName(*line, partsOnLine[{at.file, at.line, part}]++);
  return object.empty() ? part : object + "." + part;
}
