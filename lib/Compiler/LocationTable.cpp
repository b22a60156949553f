//===- LocationTable.cpp - Source locations of a program by number --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/LocationTable.h"
#include "Dialect/Tile/Locations.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"

#include <filesystem>

using namespace mlir;
using namespace penstock;

namespace {

/// File of a location that is a number; its line is the number.
constexpr const char *numbered = "#";

template <class F> bool allLocations(std::vector<penstock::Diagnostic> &diagnostics, F each) {
  for (penstock::Diagnostic &d : diagnostics) {
    if (!each(d.location))
      return false;
    for (DiagnosticNote &note : d.notes)
      if (!each(note.location))
        return false;
  }
  return true;
}

/// Everything but PTX.
template <class F> bool allLocations(DeviceKernel &kernel, F each) {
  if (!allLocations(kernel.faults, each))
    return false;
  for (LaunchRequirement &requirement : kernel.launch.requirements) {
    std::vector<penstock::Diagnostic> one{std::move(requirement.broken)};
    bool good = allLocations(one, each);
    requirement.broken = std::move(one[0]);
    if (!good)
      return false;
  }
  return true;
}

/// Returns whether a text contains a line number, which cannot be resolved.
bool mentionsLine(const penstock::Diagnostic &d) {
  auto mentions = [](StringRef text) {
    for (size_t at = text.find("line "); at != StringRef::npos; at = text.find("line ", at + 1))
      if (at + 5 < text.size() && llvm::isDigit(text[at + 5]))
        return true;
    return false;
  };
  return mentions(d.message) || mentions(d.label) || llvm::any_of(d.helps, mentions) ||
         llvm::any_of(d.notes, [&](const DiagnosticNote &note) {
           return mentions(note.message) || mentions(note.label);
         });
}

/// Calls \p each with the words of each line of PTX that names a location, `.loc FILE LINE
/// COLUMN` or `.file NUMBER "NAME"`, and replaces the line by what it returns; an empty text
/// is a failure.
template <class F> bool rewritePtx(std::string &ptx, F each) {
  std::string result;
  result.reserve(ptx.size());
  StringRef rest(ptx);
  while (!rest.empty()) {
    auto [line, after] = rest.split('\n');
    bool ended = line.size() < rest.size();
    rest = after;
    StringRef text = line.ltrim(), word = text.take_until(llvm::isSpace);
    if (word == ".loc" || word == ".file") {
      std::string changed = each(text);
      if (changed.empty())
        return false;
      result += '\t' + changed;
    } else {
      result += line;
    }
    if (ended)
      result += '\n';
  }
  ptx = std::move(result);
  return true;
}

/// Words of a line after the first, at most \p count of them.
SmallVector<StringRef> argumentsOf(StringRef line, int count) {
  SmallVector<StringRef> words;
  line.drop_until(llvm::isSpace).ltrim().split(words, ' ', count - 1, /*KeepEmpty=*/false);
  return words;
}

/// LLVM writes relative names with the current directory.
std::string inCurrentDirectory(const std::string &file) {
  std::error_code ignored;
  return (std::filesystem::current_path(ignored) / file).string();
}

/// Calls \p each with the line in a name that was made up for an unnamed tile or barrier,
/// and replaces it by what it returns; an empty text is a failure.
template <class F> bool rewriteNames(std::vector<StorageName> &names, F each) {
  for (StorageName &name : names) {
    size_t at = name.name.rfind(" of line ");
    if (at == std::string::npos)
      continue;
    at += StringRef(" of line ").size();
    std::string changed = each(StringRef(name.name).substr(at));
    if (changed.empty())
      return false;
    name.name.replace(at, std::string::npos, changed);
  }
  return true;
}

} // namespace

LocationTable::LocationTable(ModuleOp module) {
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    add(op->getLoc());
    if (op->getName().getStringRef().contains("alloc") && !op->hasAttr("label"))
      if (SourceLocation at = tile::sourceLocationOf(op->getLoc()); at.known())
        unnamed[at.line].insert(lines.at({at.file, at.line}));
    for (Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (BlockArgument argument : block.getArguments())
          add(argument.getLoc());
    patternText += '\n';
  });
}

void LocationTable::add(LocationAttr location) {
  // Locations nest without bound when helpers call helpers.
  SmallVector<LocationAttr> work = {location};
  while (!work.empty()) {
    LocationAttr current = work.pop_back_val();
    if (auto range = dyn_cast<FileLineColRange>(current)) {
      SourceLocation at{range.getFilename().str(), range.getStartLine(), range.getStartColumn()};
      unsigned next = unsigned(locations.size());
      auto [found, fresh] = numbers.try_emplace({at.file, at.line, at.column}, next);
      patternText += std::to_string(found->second);
      if (fresh) {
        locations.push_back(at);
        unsigned line = lines.try_emplace({at.file, at.line}, next).first->second;
        unsigned file = files.try_emplace(at.file, next).first->second;
        patternText += '/' + std::to_string(line) + '/' + std::to_string(file);
      }
      patternText += ' ';
    } else if (auto name = dyn_cast<NameLoc>(current)) {
      patternText += '"' + name.getName().str() + '"';
      work.push_back(name.getChildLoc());
    } else if (auto call = dyn_cast<CallSiteLoc>(current)) {
      patternText += '@';
      work.push_back(call.getCallee());
      work.push_back(call.getCaller());
    } else if (auto fused = dyn_cast<FusedLoc>(current)) {
      patternText += '[' + std::to_string(fused.getLocations().size());
      for (Location part : llvm::reverse(fused.getLocations()))
        work.push_back(part);
    } else if (auto opaque = dyn_cast<OpaqueLoc>(current)) {
      work.push_back(opaque.getFallbackLocation());
    } else {
      patternText += '?';
    }
  }
}

bool LocationTable::number(SourceLocation &location) const {
  if (!location.known())
    return true;
  auto found = numbers.find({location.file, location.line, location.column});
  if (found == numbers.end())
    return false;
  location = {numbered, found->second, 0};
  return true;
}

bool LocationTable::resolve(SourceLocation &location) const {
  if (!location.known())
    return true;
  if (location.file != numbered || location.line >= locations.size())
    return false;
  location = locations[location.line];
  return true;
}

bool LocationTable::number(std::vector<penstock::Diagnostic> &diagnostics) const {
  for (const penstock::Diagnostic &d : diagnostics)
    if (mentionsLine(d))
      return false;
  return allLocations(diagnostics, [&](SourceLocation &at) { return number(at); });
}

bool LocationTable::resolve(std::vector<penstock::Diagnostic> &diagnostics) const {
  return allLocations(diagnostics, [&](SourceLocation &at) { return resolve(at); });
}

bool LocationTable::number(DeviceKernel &kernel) const {
  auto lineNumber = [&](StringRef line) -> std::string {
    unsigned at = 0;
    if (line.getAsInteger(10, at))
      return "";
    if (auto alloc = unnamed.find(at); alloc != unnamed.end())
      return alloc->second.size() == 1 ? "~" + std::to_string(*alloc->second.begin()) : "";
    auto found = lines.end();
    for (auto each = lines.begin(); each != lines.end(); ++each)
      if (each->first.second == at) {
        if (found != lines.end())
          return ""; // of two files; the name does not say which
        found = each;
      }
    return found == lines.end() ? "" : "~" + std::to_string(found->second);
  };
  for (const penstock::Diagnostic &fault : kernel.faults)
    if (mentionsLine(fault))
      return false;
  return allLocations(kernel, [&](SourceLocation &at) { return number(at); }) &&
         rewriteNames(kernel.names, lineNumber) && numberPtx(kernel.ptx);
}

bool LocationTable::resolve(DeviceKernel &kernel) const {
  auto lineOf = [&](StringRef text) -> std::string {
    unsigned at = 0;
    if (!text.consume_front("~") || text.getAsInteger(10, at) || at >= locations.size())
      return "";
    return std::to_string(locations[at].line);
  };
  return allLocations(kernel, [&](SourceLocation &at) { return resolve(at); }) &&
         rewriteNames(kernel.names, lineOf) && resolvePtx(kernel.ptx);
}

// `.loc FILE LINE COLUMN` becomes `.loc FILE =NUMBER`, or `.loc FILE ~NUMBER COLUMN` if only
// the line is one of the program: LLVM forgets columns when it merges instructions, and
// lines, too, which is line 0. FILE is the number of a `.file`, which follows.
bool LocationTable::numberPtx(std::string &ptx) const {
  std::map<std::string, std::string> names;
  auto fileOf = [&](const std::string &path) {
    auto found = files.find(path);
    for (auto each = files.begin(); found == files.end() && each != files.end(); ++each)
      if (inCurrentDirectory(each->first) == path)
        found = each;
    return found;
  };
  (void)rewritePtx(ptx, [&](StringRef line) {
    auto words = argumentsOf(line, 2);
    if (line.starts_with(".file") && words.size() == 2)
      names[words[0].str()] = words[1].trim('"').str();
    return line.str();
  });
  return rewritePtx(ptx, [&](StringRef line) -> std::string {
    auto words = argumentsOf(line, 3);
    if (line.starts_with(".file")) {
      auto file = fileOf(names[words[0].str()]);
      if (file == files.end())
        return "";
      return ".file\t" + words[0].str() + (file->first == names[words[0].str()] ? " =" : " ~") +
             std::to_string(file->second);
    }
    unsigned at = 0, column = 0;
    if (words.size() != 3 || words[1].getAsInteger(10, at) || words[2].getAsInteger(10, column))
      return "";
    std::string start = ".loc\t" + words[0].str() + " ";
    if (at == 0)
      return line.str();
    auto file = fileOf(names[words[0].str()]);
    if (file == files.end())
      return "";
    if (auto exact = numbers.find({file->first, at, column}); exact != numbers.end())
      return start + "=" + std::to_string(exact->second);
    if (auto same = lines.find({file->first, at}); same != lines.end())
      return start + "~" + std::to_string(same->second) + " " + std::to_string(column);
    // Upstream attributes some lines of included files to the file of the function.
    auto other = numbers.end();
    for (auto each = numbers.begin(); each != numbers.end(); ++each)
      if (std::get<1>(each->first) == at && std::get<2>(each->first) == column) {
        if (other != numbers.end())
          return "";
        other = each;
      }
    return other == numbers.end() ? "" : start + "=" + std::to_string(other->second);
  });
}

bool LocationTable::resolvePtx(std::string &ptx) const {
  return rewritePtx(ptx, [&](StringRef line) -> std::string {
    auto words = argumentsOf(line, 3);
    if (words.size() < 2)
      return "";
    StringRef value = words[1];
    bool exact = value.consume_front("="), lineOnly = !exact && value.consume_front("~");
    unsigned at = 0;
    if (!exact && !lineOnly)
      return line.str(); // line 0
    if (value.getAsInteger(10, at) || at >= locations.size())
      return "";
    const SourceLocation &location = locations[at];
    if (line.starts_with(".file"))
      return ".file\t" + words[0].str() + " \"" +
             (exact ? location.file : inCurrentDirectory(location.file)) + "\"";
    std::string start = ".loc\t" + words[0].str() + " " + std::to_string(location.line) + " ";
    if (exact)
      return start + std::to_string(location.column);
    return words.size() == 3 ? start + words[2].str() : "";
  });
}
