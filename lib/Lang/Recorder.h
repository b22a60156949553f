//===- Recorder.h - Builds a tile program from the calls of a kernel -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state behind penstock/record.h while one kernel function runs. The
// exported functions are in Record*.cpp; each looks its operands up here,
// creates operations and verifies them at once, so that every error is
// reported with its own line and recording goes on.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LANG_RECORDER_H
#define PENSTOCK_LANG_RECORDER_H

#include "Diagnostics/Codes.h"
#include "Dialect/Tile/Signature.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "penstock/compile.h"

#include <map>
#include <optional>
#include <tuple>

namespace penstock::lang {

using detail::Ref;

/// A node of an elementwise expression; becomes scalar operations in the body
/// of the tile.map that it is assigned by.
struct ExprNode {
  enum Kind { Elements, ElementIndex, Unary, Binary, Select, Convert, Load };
  Kind kind;
  detail::Op op = detail::Op::Add;
  bool isUnsigned = false;
  mlir::Type type;                ///< of the element it stands for
  std::vector<Ref> operands = {}; ///< expressions or scalars
  mlir::Value tile = {};          ///< Elements, Load
  std::vector<int64_t> dims = {}; ///< Elements: empty for the target's own
  int64_t dim = 0;                ///< ElementIndex
  unsigned depth = 1;             ///< of the expression; set by Recorder::add
  mlir::Location loc;
};

/// Meaning of a Ref.
struct Entry {
  enum Kind { Poison, Value, Expr };
  Kind kind = Poison;
  mlir::Value value;
  uint32_t scope = 0; ///< number of the scope that made it; 0: the kernel
  std::shared_ptr<ExprNode> expr;
};

struct OpenScope {
  uint32_t token;  ///< closes it
  uint32_t number; ///< what the values made in it carry
  mlir::Operation *op;
  mlir::OpBuilder::InsertPoint after;
};

class Recorder {
public:
  Recorder(mlir::MLIRContext *context, const detail::KernelSource &source,
           const CompileOptions &options, std::vector<Diagnostic> &diagnostics);
  ~Recorder();

  /// Runs the kernel function and gives the module, or null with errors in the
  /// diagnostics.
  mlir::OwningOpRef<mlir::ModuleOp> record();

  /// The recorder that is at work on this thread; null outside of kernels.
  static Recorder *current();
  /// Reports a call on a block that this thread is not recording.
  static void reportStray(Loc at);

  //===------------------------------------------------------------------===//
  // Values
  //===------------------------------------------------------------------===//

  /// The entry of a reference that must be usable here; null, after an error
  /// if it is the first sign of one, if it is not.
  Entry *use(Ref ref, Loc at, llvm::StringRef what);
  Ref add(mlir::Value value);
  Ref add(ExprNode node);
  Ref poison();
  mlir::Value constant(mlir::TypedAttr attr);
  mlir::Type typeOf(Element element);
  /// The value of `tile.packed` for an element; null if it is not packed.
  mlir::StringAttr packedAttrOf(Element element);
  mlir::Type typeOf(const Entry &entry);

  /// Emits scalar arithmetic, for scalars and for the bodies of maps.
  mlir::Value emitArithmetic(detail::Op, bool isUnsigned, mlir::ArrayRef<mlir::Value> operands,
                             mlir::Location);
  mlir::Value emitConvert(mlir::Value, mlir::Type to, bool isUnsigned, mlir::Location);

  //===------------------------------------------------------------------===//
  // Errors
  //===------------------------------------------------------------------===//

  void error(DiagnosticCode code, Loc at, std::string message, std::string help = "");
  mlir::Location locationOf(Loc at);
  /// A note that shows the last place something was recorded at, for errors
  /// that leave no trace themselves.
  void noteLast(Diagnostic &diagnostic, std::string message);
  /// Verifies a new operation; erases it and gives false if it is wrong.
  bool verify(mlir::Operation *op);

  //===------------------------------------------------------------------===//
  // Scopes
  //===------------------------------------------------------------------===//

  detail::Scope open(mlir::Operation *op, mlir::Block *body);
  void close(uint32_t token);
  /// Goes on in the second region of a condition or while loop. The scope keeps its token and
  /// gets a new number, so that values of the first branch are foreign here.
  void openSecondBranch(uint32_t token);
  /// Opens an else branch of the condition that was closed last, if nothing followed it.
  detail::Scope reopenCondition(Loc at);
  bool isOpen(uint32_t token) const;
  /// Reports that the body of an open loop was left by force, and closes it.
  void abandon(uint32_t token);
  /// Reports a scope that an exception left.
  void reportLeft(const OpenScope &scope);

  //===------------------------------------------------------------------===//
  // Names
  //===------------------------------------------------------------------===//

  /// Name of a tile or barrier that is allocated now: the one that the front end gave, or that of
  /// the variable on the source line; empty if neither is known.
  std::string takeName(Loc at);
  /// The same for a part of an object: "ring.full" for `Ring ring(b, ..)` and the part "full".
  std::string takePartName(Loc at, const std::string &part);

  /// Depths beyond which recording and compiling would exhaust the stack.
  static constexpr size_t maxNesting = 64;
  static constexpr unsigned maxExprDepth = 1000;

  uint32_t id;
  mlir::MLIRContext *context;
  mlir::OpBuilder builder;
  mlir::func::FuncOp function;
  std::vector<OpenScope> scopes;
  std::vector<Diagnostic> &diagnostics;
  /// Name of the next allocation, if the front end knows it.
  std::optional<std::string> nextName;
  std::map<std::string, int64_t> fixedSizes;
  std::vector<std::vector<std::string>> sizeNames; ///< by argument, dimension

private:
  bool applySignature();
  /// Checks the description of an input's values.
  bool checkValues(const Signature &signature, const SignatureArgument &argument,
                   const penstock::detail::ArgumentSpec &spec);
  bool runKernel();
  void beginListening();
  void endListening();

  /// Tiles allocated so far on each source line, to tell `auto a = .., b = ..`
  /// apart.
  std::map<std::pair<std::string, unsigned>, unsigned> allocationsOnLine;
  /// The same for parts of objects, by the name of the part.
  std::map<std::tuple<std::string, unsigned, std::string>, unsigned> partsOnLine;

  const detail::KernelSource &source;
  mlir::Operation *closedCondition = nullptr; ///< the last one, if it has no else branch
  std::vector<Entry> entries;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  uint32_t nextToken = 1;
  Loc last;                          ///< of the last call that recorded something
  uint64_t recorded = 0;             ///< calls so far
  uint64_t abandonedAt = UINT64_MAX; ///< calls when a loop was left by force
  int exceptions;                    ///< in flight when recording began
  std::vector<Diagnostic> strays;    ///< of other threads, guarded by their mutex
  Recorder *previous;
};

} // namespace penstock::lang

#endif // PENSTOCK_LANG_RECORDER_H
