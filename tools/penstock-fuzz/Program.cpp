//===- Program.cpp - Tensors and outline of a program ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Program.h"

using namespace penstock;
using namespace penstock::fuzz;

bool penstock::fuzz::isFloat(Element element) { return element <= Element::f8e5m2; }

bool Program::manyBlocks() const {
  int64_t blocks = 1;
  for (int64_t extent : grid)
    blocks *= extent;
  return blocks > 1;
}

static bool anyAsynchronous(const std::vector<Statement> &body, const std::set<unsigned> &dropped) {
  for (const Statement &statement : body)
    if (!dropped.count(statement.id) &&
        (statement.kind >= Statement::AsyncCopy || anyAsynchronous(statement.body, dropped) ||
         anyAsynchronous(statement.otherwise, dropped)))
      return true;
  return false;
}

bool Program::asynchronous(const std::set<unsigned> &dropped) const {
  return anyAsynchronous(body, dropped);
}

namespace {

class Outline {
public:
  explicit Outline(uint64_t seed) : random(derive(seed, 0)) { program.seed = seed; }

  Program make() {
    for (int i = 0; i < 3; ++i)
      extents.push_back(random.of<int64_t>({1, 2, 3, 4, 5, 7, 8, 16, 17, 32}));
    makeGrid();
    makeTensors();
    makeTiles();
    int64_t count = random.between(2, 10);
    for (int64_t i = 0; i < count; ++i)
      program.body.push_back(statement(0));
    addLayouts();
    program.statements = nextId;
    return std::move(program);
  }

private:
  void makeGrid() {
    if (random.chance(50))
      return;
    int64_t rank = random.between(1, 3);
    for (int64_t d = 0; d < rank; ++d)
      program.grid.push_back(random.chance(3) ? 0 : random.between(1, 3));
    if (rank == 2 && random.chance(50))
      program.swizzle = random.between(1, 3);
  }

  Element element() {
    return random.of({Element::f16, Element::bf16, Element::f32, Element::f32, Element::f64,
                      Element::f8e4m3, Element::f8e5m2, Element::i1, Element::i8, Element::i16,
                      Element::i32, Element::i32, Element::i64});
  }
  std::vector<int64_t> shape(int64_t rank) {
    std::vector<int64_t> result;
    int64_t elements = 1;
    for (int64_t d = 0; d < rank; ++d) {
      int64_t extent = random.of(extents);
      if (elements * extent > 2048)
        extent = 2;
      elements *= extent;
      result.push_back(extent);
    }
    return result;
  }

  void addTensor(Element element, Access access, Class holds) {
    TensorDecl tensor{element, access, {}, 0, holds};
    int64_t rank = random.of<int64_t>({1, 2, 2, 2, 3, 4});
    for (int64_t d = 0; d < rank; ++d)
      tensor.sizes.push_back(random.chance(4)    ? 0
                             : random.chance(30) ? random.of(extents) * random.between(1, 2)
                                                 : random.between(1, rank > 2 ? 9 : 40));
    if (random.chance(30))
      tensor.padding = random.between(1, 5);
    if (program.manyBlocks() && access != Access::In && holds != Class::Counter) {
      tensor.access = Access::Out;
      tensor.box = shape(rank);
    }
    if (holds == Class::Counter)
      tensor.counter = random.of({detail::Kind::Add, detail::Kind::Max, detail::Kind::Min});
    program.tensors.push_back(tensor);
  }
  void makeTensors() {
    int64_t inputs = random.between(1, 4), outputs = random.between(1, 3);
    for (int64_t i = 0; i < inputs; ++i)
      addTensor(element(), Access::In, random.chance(50) ? Class::Wild : Class::Small);
    for (int64_t i = 0; i < outputs; ++i)
      addTensor(element(), random.of({Access::InOut, Access::Out}), Class::Wild);
    if (random.chance(30))
      addTensor(random.of({Element::f32, Element::f64}), Access::InOut, Class::Rounded);
    if (random.chance(40))
      addTensor(random.of({Element::i32, Element::i64}), Access::InOut, Class::Counter);
    int64_t scalars = random.below(4);
    for (int64_t i = 0; i < scalars; ++i) {
      Element type = random.of(
          {Element::index, Element::index, Element::i32, Element::i64, Element::f32, Element::i8});
      program.scalars.push_back({type, random.between(-2, 5)});
    }
  }

  void addTile(Element element, std::vector<int64_t> shape, Class holds) {
    program.tiles.push_back({element, random.of({detail::Space::Shared, detail::Space::Local}),
                             std::move(shape), holds});
  }
  void makeTiles() {
    int64_t wild = random.between(2, 5);
    for (int64_t i = 0; i < wild; ++i)
      addTile(element(), shape(random.of<int64_t>({1, 1, 2, 2, 2, 3})), Class::Wild);
    if (random.chance(70)) { // a product and its operands
      Element type = random.of({Element::f16, Element::bf16, Element::f32, Element::f8e4m3,
                                Element::f8e5m2, Element::i8});
      Element second = type == Element::f8e4m3 && random.chance(40) ? Element::f8e5m2 : type;
      // More than one block of the accumulator, and more than one step along K, at times.
      auto extent = [&] {
        return random.chance(15) ? random.of<int64_t>({33, 48, 65, 70}) : random.of(extents);
      };
      int64_t m = extent(), n = extent(), k = extent();
      addTile(type, random.chance(50) ? std::vector{m, k} : std::vector{k, m}, Class::Small);
      addTile(second, random.chance(50) ? std::vector{k, n} : std::vector{n, k}, Class::Small);
      addTile(type == Element::i8 ? Element::i32 : Element::f32, {m, n}, Class::Sum);
      if (random.chance(50))
        addTile(type == Element::i8 ? Element::i32 : Element::f32, {n}, Class::Sum);
    }
    if (random.chance(30))
      addTile(random.of({Element::f32, Element::f64}), shape(random.between(1, 2)), Class::Rounded);
    if (random.chance(30))
      addTile(random.of({Element::i32, Element::i64}), shape(1), Class::Counter);
    int64_t vars = random.below(3);
    for (int64_t i = 0; i < vars; ++i)
      addTile(random.of({Element::i32, Element::i64, Element::f32, Element::i1, Element::f16}), {},
              Class::Wild);
  }

  Statement statement(int depth) {
    using S = Statement;
    S result{S::Fill, ++nextId, random.next(), {}, {}};
    bool leaf = depth >= 3 || random.chance(65);
    result.kind =
        leaf ? random.of({S::Fill,   S::CopyIn, S::CopyIn, S::CopyOut, S::CopyOut, S::CopyTile,
                          S::Gemm,   S::Gemm,   S::Reduce, S::Reduce,  S::Map,     S::Map,
                          S::Map,    S::Map,    S::Store,  S::Scalar,  S::Scalar,  S::SetVar,
                          S::Atomic, S::Print,  S::Assert})
             : random.of({S::Loop, S::Loop, S::Pipeline, S::Condition, S::Group, S::Parallel,
                          S::AsyncCopy, S::AsyncGemm, S::Ring});
    if (!leaf && result.kind != S::Parallel) {
      fill(result.body, depth + 1);
      if (result.kind == S::Condition && random.chance(50))
        fill(result.otherwise, depth + 1);
    }
    return result;
  }
  /// Adds statements on layouts, with a tensor of their own. All else of the program does
  /// not depend on whether there are any.
  void addLayouts() {
    Random own(derive(program.seed, 40));
    if (!own.chance(45))
      return;
    program.layoutTensor = static_cast<int>(program.tensors.size());
    TensorDecl tensor{own.of({Element::f32, Element::i32}), Access::Out, {96, 96}, 0, Class::Wild};
    tensor.padding = own.of<int64_t>({0, 0, 4, 5});
    if (program.manyBlocks())
      tensor.box = {32, 32};
    program.tensors.push_back(std::move(tensor));
    addLayouts(program.body, own);
    program.body.push_back({Statement::Layouts, ++nextId, own.next(), {}, {}});
  }
  void addLayouts(std::vector<Statement> &body, Random &own) {
    for (Statement &statement : body) {
      bool holdsOthers = !statement.body.empty() && statement.kind != Statement::Parallel;
      addLayouts(statement.body, own);
      if (holdsOthers && own.chance(25))
        statement.body.push_back({Statement::Layouts, ++nextId, own.next(), {}, {}});
    }
  }
  void fill(std::vector<Statement> &body, int depth) {
    int64_t count = random.between(1, 3);
    for (int64_t i = 0; i < count; ++i)
      body.push_back(statement(depth));
  }

  Random random;
  Program program;
  std::vector<int64_t> extents;
  unsigned nextId = 0;
};

} // namespace

Program penstock::fuzz::makeProgram(uint64_t seed) { return Outline(seed).make(); }
