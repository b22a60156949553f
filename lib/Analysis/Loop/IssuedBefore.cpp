//===- IssuedBefore.cpp - Operations in flight when a loop starts ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/IssuedBefore.h"

using namespace mlir;
using namespace penstock;

namespace {

class Search {
public:
  explicit Search(StringAttr name) : name(name) {}

  SmallVector<IssuedBefore> run(scf::ForOp loop) {
    for (Operation *at = loop; !isa<func::FuncOp>(at); at = at->getParentOp()) {
      if (scanBackward(at->getPrevNode(), nullptr))
        break;
      // Later statements ran in an earlier iteration of the loop around it.
      if (isa<scf::ForOp>(at->getParentOp())) {
        repeated = true;
        scanBackward(&at->getBlock()->back(), at);
      }
    }
    // An operation before the loop may have been left by an earlier iteration, too.
    for (IssuedBefore &issued : found)
      issued.sameIteration = !repeated;
    return std::move(found);
  }

private:
  /// Returns whether a wait completes all earlier operations.
  bool scanBackward(Operation *from, Operation *end) {
    for (Operation *op = from; op && op != end; op = op->getPrevNode()) {
      if (auto wait = dyn_cast<tile::WaitOp>(op); wait && wait.getLag() == 0 &&
                                                  !wait.getThrough() &&
                                                  llvm::is_contained(wait.getNames(), name))
        return true;
      op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
        // A pipelined loop ends all that it issues.
        if (inner->hasAttr(tile::TileDialect::scheduleAttr))
          return WalkResult::skip();
        if (auto access = dyn_cast<tile::TileAccessOpInterface>(inner);
            access && access.getAsyncName() == name)
          found.push_back({access});
        return WalkResult::advance();
      });
    }
    return false;
  }

  StringAttr name;
  bool repeated = false;
  SmallVector<IssuedBefore> found;
};

} // namespace

SmallVector<IssuedBefore> penstock::issuedBefore(scf::ForOp loop, StringAttr name) {
  return Search(name).run(loop);
}
