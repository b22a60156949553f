//===- Shapes.cpp - Shapes worth trying -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Inputs/Shapes.h"
#include "Testing/Inputs/TestData.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

using namespace penstock;

namespace {

class Maker {
public:
  Maker(const std::vector<ArgumentDescription> &arguments, const FieldValues &fields,
        const ShapeHints &hints)
      : hints(hints) {
    for (const ArgumentDescription &argument : arguments) {
      for (int d = 0; d < argument.rank; ++d)
        add(arguments, fields, sizeName(argument, d));
      if (auto value = fixedValue(fields, argument.name); value && !argument.tensor)
        sizes.push_back({argument.name, false, 0, value});
    }
    for (Size &size : sizes)
      size.small = !size.fixed && size.tile == 1;
    manyKept = std::ranges::count_if(sizes, [](const Size &size) {
                 return !size.fixed && !size.small && !size.most && !size.summed;
               }) > 2;
    if (hints.stages > 0)
      stages = hints.stages;
    for (const auto &[name, value] : fields)
      if (name == "stages" || name.ends_with("num_stages"))
        stages = std::max<int64_t>(1, asNumber(value).value_or(stages));
  }

  /// Each kept size is \p blocks tiles and \p more, the first one tile less if
  /// \p narrow says so; each summed size \p tiles tiles and \p rest. Where more than two sizes are
  /// kept, blocks multiply: only two of them have several, and small sizes are 2 or 3.
  Shape shape(int64_t blocks, int64_t more, int64_t tiles, int64_t rest, bool narrow = false) {
    Shape result;
    bool first = true;
    int kept = 0;
    size_t next = shapes++;
    for (const Size &size : sizes) {
      if (size.fixed || size.small) {
        double small = double(smallSizes[next % (manyKept ? 2 : std::size(smallSizes))]);
        next += size.small;
        result.emplace_back(size.name, size.fixed.value_or(small));
        continue;
      }
      if (size.most) {
        int64_t less = size.summed ? rest : more;
        result.emplace_back(size.name, less < size.most ? size.most - less : size.most);
        continue;
      }
      int64_t count = size.summed ? tiles : blocks - (narrow && first && !size.summed);
      int64_t extra = size.summed ? rest : first ? more : 3 * more;
      if (manyKept && !size.summed) {
        if (!narrow && kept++ >= 2)
          count = 1;
        if (extra >= size.tile)
          extra = size.tile / 2;
      }
      result.emplace_back(size.name, count * size.tile + extra);
      first &= size.summed;
    }
    return finished(std::move(result));
  }
  /// All sizes in tiles have one value, and all others another one.
  Shape all(int64_t value, int64_t others = 1) {
    Shape result;
    for (const Size &size : sizes)
      result.emplace_back(size.name,
                          size.fixed.value_or(double(size.small  ? others
                                                     : size.most ? std::min(value, size.most)
                                                                 : value)));
    return finished(std::move(result));
  }

  int64_t stages = 3;

private:
  struct Size {
    std::string name;
    bool summed;
    int64_t tile;
    std::optional<double> fixed; ///< no other value is tried
    bool small = false;          ///< not in tiles
    int64_t most = 0;            ///< of a size that one tile holds; 0: no limit
  };
  /// Distinct, so that exchanged sizes are noticed. Each shape begins with another one.
  static constexpr int64_t smallSizes[] = {2, 3, 5, 4, 7, 6};
  size_t shapes = 0;

  /// Adds scalars that the grid depends on, and changes what the kernel does not accept.
  Shape finished(Shape shape) {
    double largest = 1;
    for (const auto &[name, number] : shape)
      largest = std::max(largest, number.value);
    for (const auto &[name, divided] : hints.gridScalars)
      if (std::ranges::none_of(shape, [&](const auto &entry) { return entry.first == name; }))
        shape.emplace_back(name, divided ? largest : 2.0);
    std::set<std::string> fixed;
    for (const Size &size : sizes)
      if (size.fixed)
        fixed.insert(size.name);
    if (hints.conditions)
      hints.conditions->satisfy(shape, fixed);
    return shape;
  }

  static std::optional<double> fixedValue(const FieldValues &fields, const std::string &name) {
    auto found = fields.find(name);
    if (found == fields.end())
      return std::nullopt;
    char *end = nullptr;
    double value = std::strtod(found->second.c_str(), &end);
    return end != found->second.c_str() && !*end ? std::optional(value) : std::nullopt;
  }

  void add(const std::vector<ArgumentDescription> &arguments, const FieldValues &fields,
           const std::string &name) {
    if (asNumber(name))
      return;
    for (const Size &known : sizes)
      if (known.name == name)
        return;
    Size size{name, isReduced(arguments, name), 0, fixedValue(fields, name)};
    if (hints.tiles) {
      auto found = hints.tiles->find(name);
      TileSize tile = found == hints.tiles->end() ? TileSize() : found->second;
      size.tile = tile.extent;
      size.most = tile.extent > 1 ? tile.end : 0;
    }
    std::string field = "block_";
    for (char c : name)
      field += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    auto found = fields.find(field);
    if (found != fields.end())
      size.tile = asNumber(found->second).value_or(size.tile);
    if (size.tile <= 0)
      size.tile = size.summed ? 64 : 128;
    sizes.push_back(size);
  }

  const ShapeHints &hints;
  std::vector<Size> sizes;
  bool manyKept = false;
};

/// Conditions may make shapes equal.
std::vector<Shape> distinct(std::vector<Shape> shapes) {
  std::set<std::string> seen;
  std::erase_if(shapes, [&](const Shape &shape) { return !seen.insert(textOf(shape)).second; });
  return shapes;
}

struct RegisteredShapes {
  std::mutex mutex;
  std::map<std::string, std::vector<Shape>> of;
};

RegisteredShapes &registeredShapes() {
  static RegisteredShapes *instance = new RegisteredShapes; // outlives all static objects
  return *instance;
}

std::string numberText(const Number &number) {
  char value[32];
  std::snprintf(value, sizeof value, "%.15g", number.value);
  return value;
}

} // namespace

int detail::registerShapes(const char *kernel, std::vector<Shape> shapes) {
  std::lock_guard lock(registeredShapes().mutex);
  registeredShapes().of[kernel] = std::move(shapes);
  return 0;
}

std::vector<Shape> penstock::shapesFor(const std::string &kernel) {
  std::lock_guard lock(registeredShapes().mutex);
  auto found = registeredShapes().of.find(kernel);
  return found == registeredShapes().of.end() ? std::vector<Shape>() : found->second;
}

std::vector<Shape> penstock::defaultShapes(const std::vector<ArgumentDescription> &arguments,
                                           const FieldValues &fields, const ShapeHints &hints) {
  Maker make(arguments, fields, hints);
  return distinct({
      make.shape(1, 0, make.stages, 0),         // divides, the ring is filled once
      make.shape(2, 0, 2 * make.stages + 1, 0), // several blocks, the ring turns
      make.shape(1, 8, 1, 8),                   // does not divide, rows of 16 bytes
      make.all(8),                              // tiny
      make.shape(2, 0, 1, 0, true),             // fewer k tiles than stages
      make.shape(1, 0, 0, 0),                   // nothing to sum
      make.shape(1, 1, make.stages, 3),         // rows that engines cannot copy
  });
}

std::vector<Shape> penstock::smallShapes(const std::vector<ArgumentDescription> &arguments,
                                         const FieldValues &fields, const ShapeHints &hints) {
  Maker make(arguments, fields, hints);
  return distinct({make.shape(1, 0, 2 * make.stages + 1, 0), make.shape(1, 8, 1, 8),
                   make.shape(1, 0, 0, 0), make.shape(1, 1, 2 * make.stages, 3)});
}

std::vector<Shape> penstock::longShapes(const std::vector<ArgumentDescription> &arguments,
                                        const FieldValues &fields, const ShapeHints &hints) {
  Maker make(arguments, fields, hints);
  int64_t tiles = 2 * make.stages + 1;
  return distinct({make.shape(3, 0, 2 * tiles, 0), make.shape(5, 0, 4 * tiles, 0)});
}

Shape penstock::typicalShape(const std::vector<ArgumentDescription> &arguments,
                             const FieldValues &fields, const ShapeHints &hints) {
  constexpr int64_t others = 16;
  constexpr double mostElements = 1 << 25; // of a tensor
  Maker make(arguments, fields, hints);
  Shape shape;
  for (int64_t value = int64_t(1) << 24; value >= 64; value = value > 4096 ? 4096 : value / 2) {
    shape = make.all(value, others);
    auto fits = [&](const ArgumentDescription &argument) {
      double elements = 1;
      for (int d = 0; d < argument.rank; ++d)
        for (const auto &[name, number] : shape)
          if (name == sizeName(argument, d))
            elements *= number.value;
      return elements <= mostElements;
    };
    if (std::ranges::all_of(arguments, fits))
      break;
  }
  return shape;
}

bool penstock::isComplete(const Shape &shape, const std::vector<ArgumentDescription> &arguments) {
  for (const ArgumentDescription &argument : arguments)
    for (int d = 0; d < argument.rank; ++d) {
      std::string size = sizeName(argument, d);
      auto named = [&](const auto &entry) { return entry.first == size; };
      if (!asNumber(size) && std::none_of(shape.begin(), shape.end(), named))
        return false;
    }
  return true;
}

FieldValues penstock::withSizes(FieldValues fields, const Shape &shape) {
  for (const auto &[name, number] : shape)
    fields[name] = numberText(number);
  return fields;
}

std::vector<Shape> penstock::shapesToCheck(const std::vector<ArgumentDescription> &arguments,
                                           const FieldValues &fields,
                                           const std::vector<Shape> &registered,
                                           const ShapeHints &hints) {
  if (registered.empty())
    return defaultShapes(arguments, fields, hints);
  std::vector<Shape> result;
  for (const Shape &shape : registered) {
    if (isComplete(shape, arguments)) {
      result.push_back(shape);
      continue;
    }
    std::vector<Shape> grid = defaultShapes(arguments, withSizes(fields, shape), hints);
    result.insert(result.end(), grid.begin(), grid.end());
  }
  return result;
}

std::string penstock::textOf(const Shape &shape) {
  std::string text;
  for (const auto &[name, number] : shape)
    text += (text.empty() ? "" : ",") + name + "=" + numberText(number);
  return text;
}
