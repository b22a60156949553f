//===- Names.cpp - Names of memory, barriers and warps --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Decode/Names.h"
#include "Emulator/Machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <vector>

namespace penstock::emu {
namespace {

/// Objects of one kind are numbered from here on.
enum ObjectKind : uint64_t {
  SymbolObject = 0,
  VariableObject = uint64_t(1) << 60,
  TensorObject = uint64_t(2) << 60,
  GlobalObject = uint64_t(3) << 60
};

std::string hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
  return text;
}

/// The symbol of a kind that holds a position, as a part of memory.
bool findSymbol(const Grid &grid, Symbol::Kind kind, uint64_t at, MemoryPart &part) {
  const std::vector<Symbol> &symbols = grid.config.symbols;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol &symbol = symbols[i];
    if (symbol.kind != kind || at < symbol.first || at - symbol.first >= symbol.size)
      continue;
    part.object = SymbolObject + i;
    part.name = symbol.name;
    part.unit = symbol.slot ? MemoryPart::Slot : MemoryPart::Whole;
    part.at = symbol.slot ? (at - symbol.first) / symbol.slot : 0;
    return true;
  }
  return false;
}

std::string joined(const std::vector<std::string> &items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 < items.size() ? ", " : " and ") + items[i];
  return text;
}

} // namespace

std::string demangled(const std::string &name) {
  int status = 0;
  char *text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : name;
  free(text);
  return result;
}

std::string sourceName(const std::string &name) {
  std::string text = demangled(name);
  // A variable of a function: its own name follows the function's parameters.
  if (size_t function = text.rfind(")::");
      name.rfind("_ZZ", 0) == 0 && function != std::string::npos)
    return text.substr(function + 3);
  return text;
}

MemoryPart sharedPart(const Grid &grid, uint64_t offset) {
  MemoryPart part;
  if (offset >= grid.dynamicBase &&
      findSymbol(grid, Symbol::Shared, offset - grid.dynamicBase, part))
    return part;
  const std::vector<SharedSymbol> &variables = grid.program->sharedSymbols;
  const SharedSymbol *best = nullptr;
  for (const SharedSymbol &variable : variables)
    if (variable.offset <= offset && (!best || variable.offset >= best->offset))
      best = &variable;
  part.unit = MemoryPart::Byte;
  part.object = VariableObject + (best ? 1 + uint64_t(best - variables.data()) : 0);
  part.name = best ? best->name : "shared address";
  part.at = best ? offset - best->offset : offset;
  return part;
}

MemoryPart tensorPart(const Grid &grid, uint32_t column) {
  MemoryPart part;
  if (findSymbol(grid, Symbol::Tensor, column, part))
    return part;
  part.object = TensorObject;
  part.name = "tensor memory";
  part.unit = MemoryPart::Column;
  part.at = column;
  return part;
}

MemoryPart globalPart(const Allocation &allocation, uint64_t offset) {
  MemoryPart part;
  part.object = GlobalObject + allocation.base;
  part.name = allocation.name.empty() ? hex(allocation.base) : allocation.name;
  part.unit = MemoryPart::Byte;
  part.at = offset;
  return part;
}

void MemoryParts::add(const MemoryPart &part) {
  auto [it, isNew] =
      objects.try_emplace(part.object, Extent{part.name, part.unit, part.at, part.at});
  if (isNew)
    return;
  it->second.first = std::min(it->second.first, part.at);
  it->second.last = std::max(it->second.last, part.at);
}

void MemoryParts::add(const MemoryParts &other) {
  for (const auto &[object, extent] : other.objects) {
    auto [it, isNew] = objects.try_emplace(object, extent);
    if (!isNew) {
      it->second.first = std::min(it->second.first, extent.first);
      it->second.last = std::max(it->second.last, extent.last);
    }
  }
}

bool MemoryParts::meets(const MemoryParts &other) const {
  return std::any_of(objects.begin(), objects.end(),
                     [&](const auto &entry) { return other.objects.count(entry.first) != 0; });
}

std::string MemoryParts::text() const {
  constexpr size_t most = 3;
  std::vector<std::string> items;
  for (const auto &[id, extent] : objects) {
    auto one = [&](uint64_t at) {
      std::string number = std::to_string(at);
      switch (extent.unit) {
      case MemoryPart::Whole:
        return "`" + extent.name + "`";
      case MemoryPart::Slot:
        return "`" + extent.name + "[" + number + "]`";
      case MemoryPart::Byte:
        return extent.name + "+" + number;
      case MemoryPart::Column:
        return extent.name + " column " + number;
      }
      return extent.name;
    };
    if (items.size() == most)
      break;
    std::string text = one(extent.first);
    if (extent.last > extent.first)
      text +=
          (extent.unit == MemoryPart::Slot && extent.last == extent.first + 1 ? " and " : " to ") +
          (extent.unit == MemoryPart::Column ? std::to_string(extent.last) : one(extent.last));
    items.push_back(text);
  }
  if (objects.size() > most)
    items.push_back(std::to_string(objects.size() - most) + " more");
  return joined(items);
}

std::string sharedName(const Grid &grid, uint64_t offset) {
  MemoryParts parts;
  parts.add(sharedPart(grid, offset));
  return parts.text();
}

std::string namedBarrier(const Grid &grid, unsigned id) {
  MemoryPart part;
  if (findSymbol(grid, Symbol::NamedBarrier, id, part))
    return "barrier `" + part.name + "`";
  return "barrier " + std::to_string(id);
}

std::string warpsText(const std::set<uint32_t> &warps) {
  std::vector<std::string> items;
  for (auto it = warps.begin(); it != warps.end();) {
    uint32_t first = *it, last = first;
    for (++it; it != warps.end() && *it == last + 1; ++it)
      ++last;
    items.push_back(
        std::to_string(first) +
        (last == first ? "" : (last == first + 1 ? " and " : " to ") + std::to_string(last)));
  }
  return (warps.size() == 1 ? "warp " : "warps ") + joined(items);
}

} // namespace penstock::emu
