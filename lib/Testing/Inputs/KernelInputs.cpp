//===- KernelInputs.cpp - Shapes and data that a kernel is tested with ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Inputs/KernelInputs.h"
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"

#include <algorithm>

using namespace penstock;

ShapeHints KernelInputs::hints() const {
  ShapeHints hints;
  hints.conditions = conditions.get();
  hints.stages = facts.stages;
  for (const auto &[argument, divided] : facts.gridScalars)
    if (!inputs.rangeOf(argument, {}))
      hints.gridScalars[arguments[argument].name] = divided;
  // Copies of explicit kernels are not in tiles of the language.
  if (program->isExplicit())
    return hints;
  hints.tiles.emplace();
  for (size_t i = 0; i < arguments.size(); ++i)
    for (int d = 0; d < arguments[i].rank; ++d) {
      const TileSize &tile = facts.tiles[i][static_cast<size_t>(d)];
      if (tile.extent <= 1)
        continue;
      auto [known, isNew] = hints.tiles->emplace(sizeName(arguments[i], d), tile);
      known->second.extent = std::max(known->second.extent, tile.extent);
      // One tile holds a size only if it does in every tensor.
      bool held = known->second.end > 0 && tile.end > 0;
      known->second.end = held ? std::max(known->second.end, tile.end) : 0;
    }
  return hints;
}

std::vector<Shape> KernelInputs::allShapes() const {
  std::vector<Shape> all = shapesToCheck(arguments, fields, shapes, hints());
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = inputs.withScalars(std::move(all[i]), i);
  return all;
}

std::vector<Shape> KernelInputs::moreShapes() const {
  bool complete = !shapes.empty() && std::ranges::all_of(shapes, [&](const Shape &shape) {
    return isComplete(shape, arguments);
  });
  if (complete)
    return {};
  std::vector<Shape> more = longShapes(arguments, fields, hints());
  for (Shape &shape : more)
    shape = inputs.withScalars(std::move(shape));
  return more;
}

MadeArguments KernelInputs::make(const Shape &shape, Data data, uint64_t seed) const {
  Shape complete = inputs.withScalars(shape);
  if (std::string empty = inputs.emptyFor(complete); !empty.empty()) {
    MadeArguments made;
    Diagnostic d;
    d.code = LaunchSize;
    d.message = empty + " for " + textOf(complete);
    made.diagnostics.push_back(std::move(d));
    return made;
  }
  MadeArguments made = makeArguments(arguments, complete, data, seed, inputs);
  for (size_t i = 0; made.diagnostics.empty() && i < specs.size(); ++i)
    if (specs[i].tensor && specs[i].access == Access::Out)
      markOutput(made.arguments[i]);
  return made;
}

std::optional<KernelInputs> penstock::inputsOf(const detail::KernelSource &source,
                                               const std::vector<std::string> &stated,
                                               std::vector<Diagnostic> &diagnostics) {
  KernelInputs result;
  result.name = source.name;
  result.specs = source.arguments;
  result.program = TestedProgram::record(source, diagnostics);
  if (!result.program)
    return std::nullopt;
  for (const ArgumentInfo &from : infoOf(result.program->kernel()).arguments)
    result.arguments.push_back(
        {from.name, from.tensor, from.element, from.rank, from.written, from.sizes});
  result.facts = factsOf(result.program->kernel());
  size_t errors = diagnostics.size();
  result.inputs =
      InputRanges(result.arguments, source.signature, result.facts, stated, diagnostics);
  if (diagnostics.size() != errors)
    return std::nullopt;
  result.conditions = std::make_shared<SizeConditions>(result.program, result.arguments);
  return result;
}

Shape penstock::typical_shape(const std::string &kernel, const InspectOptions &options,
                              std::vector<Diagnostic> &diagnostics) {
  auto source = kernelSource(kernel, options, diagnostics);
  auto inputs = source ? inputsOf(*source, {}, diagnostics) : std::nullopt;
  if (!inputs)
    return {};
  if (!inputs->facts.indices.empty()) {
    Diagnostic d;
    d.code = TimingUnsupported;
    d.message = "the run time of `" + kernel + "` depends on the values of `" +
                inputs->arguments[inputs->facts.indices.begin()->first].name + "`";
    diagnostics.push_back(std::move(d));
    return {};
  }
  addRegistered(*inputs, kernel, options.set);
  return inputs->inputs.withScalars(
      typicalShape(inputs->arguments, inputs->fields, inputs->hints()));
}

void penstock::addRegistered(KernelInputs &inputs, const std::string &kernel,
                             const std::vector<std::pair<std::string, std::string>> &set) {
  for (const KernelDescription &description : registered_kernels())
    if (description.name == kernel)
      inputs.fields = {description.fields.begin(), description.fields.end()};
  for (const auto &[name, value] : set)
    inputs.fields[name] = value;
  inputs.shapes = shapesFor(kernel);
  // Sizes that the first grid leaves open are open for mutants, too.
  for (const Shape &shape : inputs.shapes)
    if (!isComplete(shape, inputs.arguments)) {
      inputs.fields = withSizes(std::move(inputs.fields), shape);
      break;
    }
}
