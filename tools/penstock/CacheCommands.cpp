//===- CacheCommands.cpp - cache and warm ---------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/Entry.h"
#include "Cache/Store.h"
#include "Commands.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Session.h"
#include "penstock/assemble.h"
#include "penstock/statistics.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

using namespace penstock;
using namespace penstock::cache;

namespace {

constexpr const char *exportHeader = "penstock-cache-export 1\n";

struct CacheSession : Session {
  std::string action, directory, remote;
  int64_t maxBytes = CacheOptions().max_bytes;
  std::shared_ptr<Store> store;

  /// Opens the cache; false, with a diagnostic, if it has no directory.
  bool open() {
    store = Store::open({.directory = directory,
                         .remote = remote,
                         .max_bytes = maxBytes,
                         .remote_budget = std::chrono::seconds(20)});
    if (store->directory())
      return true;
    for (Diagnostic d : store->diagnostics()) {
      d.severity = Severity::Error;
      diagnostics.push_back(std::move(d));
    }
    return false;
  }
  std::vector<Directory::File> files() const {
    std::vector<Directory::File> all;
    store->directory()->forEach([&](const Directory::File &file) { all.push_back(file); });
    std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
    return all;
  }
};

std::string plural(uint64_t count, const char *one, const char *many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// The value of a line of a key, e.g. of "name Matmul".
std::string lineOf(std::string_view key, std::string_view name) {
  std::istringstream lines{std::string(key)};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(std::string(name) + " "))
      return line.substr(name.size() + 1);
  return "";
}

int stat(CacheSession &session) {
  int64_t bytes = 0;
  auto files = session.files();
  for (const Directory::File &file : files)
    bytes += file.bytes;
  const std::string &path = session.store->directory()->path();
  session.result(path + ": " + plural(files.size(), "entry", "entries") + ", " +
                     std::to_string(bytes) + " bytes\n",
                 JsonObject()
                     .text("directory", path)
                     .number("entries", files.size())
                     .number("bytes", bytes)
                     .str());
  return session.finish(0);
}

int verify(CacheSession &session) {
  uint64_t good = 0, bad = 0;
  for (const Directory::File &file : session.files()) {
    auto bytes = session.store->directory()->read(file.name);
    Entry entry;
    EntryState state = bytes ? readEntry(*bytes, entry) : EntryState::Damaged;
    if (state == EntryState::UnknownFormat ||
        (state == EntryState::Good && hexDigest(entry.key) == file.name)) {
      ++good;
      continue;
    }
    ++bad;
    session.error(CacheEntry, "`" + session.store->directory()->pathOf(file.name) + "` is damaged");
    session.diagnostics.back().helps.push_back("delete it; the kernel is compiled again");
  }
  session.result(plural(good, "entry", "entries") + " verified, " + std::to_string(bad) +
                     " damaged\n",
                 JsonObject().number("verified", good).number("damaged", bad).str());
  return session.finish(bad != 0);
}

int exportEntries(CacheSession &session) {
  std::string all = exportHeader;
  uint64_t count = 0;
  for (const Directory::File &file : session.files()) {
    auto bytes = session.store->directory()->read(file.name);
    Entry entry;
    if (!bytes || readEntry(*bytes, entry) != EntryState::Good)
      continue;
    all += std::to_string(bytes->size()) + "\n" + *bytes;
    ++count;
  }
  if (!session.write(session.input, all))
    return session.finish(1);
  session.result(plural(count, "entry", "entries") + " exported\n",
                 JsonObject().number("exported", count).str());
  return session.finish(0);
}

int importEntries(CacheSession &session) {
  auto fail = [&](const std::string &reason) {
    session.error(CacheArchive, "`" + session.input + "` cannot be imported: " + reason);
    session.diagnostics.back().helps.push_back("make it with `penstock cache export`");
    return session.finish(1);
  };
  auto bytes = readRegularFile(session.input);
  if (!bytes)
    return fail(std::strerror(errno));
  std::string_view rest = *bytes;
  if (!rest.starts_with(exportHeader))
    return fail("it is not an exported cache");
  rest.remove_prefix(std::strlen(exportHeader));
  uint64_t imported = 0;
  while (!rest.empty()) {
    size_t end = rest.find('\n');
    uint64_t size = 0;
    if (end == std::string_view::npos ||
        !cli::parseInteger(std::string(rest.substr(0, end)), size) || size > rest.size() - end - 1)
      return fail("it is cut off after " + plural(imported, "entry", "entries"));
    if (!session.store->import(rest.substr(end + 1, size)))
      return fail(session.store->diagnostics().empty()
                      ? "an entry is damaged"
                      : session.store->diagnostics().front().message);
    rest.remove_prefix(end + 1 + size);
    ++imported;
  }
  session.result(plural(imported, "entry", "entries") + " imported\n",
                 JsonObject().number("imported", imported).str());
  return session.finish(0);
}

int push(CacheSession &session) {
  uint64_t pushed = 0;
  for (const Directory::File &file : session.files()) {
    auto bytes = session.store->directory()->read(file.name);
    Entry entry;
    if (!bytes || readEntry(*bytes, entry) != EntryState::Good)
      continue;
    if (std::string reason = session.store->push(*bytes); !reason.empty()) {
      session.error(CacheRemote, "the remote cache took " + std::to_string(pushed) +
                                     " entries, and then failed: " + reason);
      session.diagnostics.back().helps.push_back(
          "name it with --remote or PENSTOCK_CACHE_REMOTE, and check that you may write to it");
      return session.finish(1);
    }
    ++pushed;
  }
  session.result(plural(pushed, "entry", "entries") + " pushed\n",
                 JsonObject().number("pushed", pushed).str());
  return session.finish(0);
}

int prune(CacheSession &session) {
  session.store->prune();
  uint64_t evicted = session.store->statistics().evicted;
  session.result(plural(evicted, "entry", "entries") + " removed\n",
                 JsonObject().number("removed", evicted).str());
  return session.finish(0);
}

/// Returns whether a kernel is cached, and if not, which lines of its key differ from the entry of
/// the same name that is nearest.
int explain(CacheSession &session) {
  if (!session.load())
    return session.finish(1);
  std::string key = cache_key_of_registered(session.kernel, session.options, session.diagnostics);
  if (key.empty())
    return session.finish(1);
  bool found = session.store->lookup(key).has_value();
  std::string text =
      key + (found ? "cached as " : "not cached; it would be ") + hexDigest(key) + "\n";
  std::string nearest;
  size_t fewest = SIZE_MAX;
  if (!found)
    for (const Directory::File &file : session.files()) {
      auto bytes = session.store->directory()->read(file.name);
      Entry entry;
      if (!bytes || readEntry(*bytes, entry) != EntryState::Good ||
          lineOf(entry.key, "name") != lineOf(key, "name"))
        continue;
      std::string differs;
      size_t count = 0;
      for (const char *line :
           {"compiler", "target", "options", "fix", "name", "program", "locations"})
        if (std::string theirs = lineOf(entry.key, line); theirs != lineOf(key, line)) {
          differs += std::string("  ") + line + " " + theirs + "\n";
          ++count;
        }
      if (count < fewest) {
        fewest = count;
        nearest = "the nearest entry, " + file.name + ", differs in\n" + differs;
      }
    }
  session.result(text + nearest, JsonObject()
                                     .text("key", key)
                                     .text("name", hexDigest(key))
                                     .boolean("cached", found)
                                     .text("nearest", nearest)
                                     .str());
  return session.finish(0);
}

int runCache(CacheSession &session, const cli::Command &command) {
  static const std::map<std::string, int (*)(CacheSession &)> actions = {
      {"stat", stat}, {"verify", verify}, {"explain", explain},     {"export", exportEntries},
      {"push", push}, {"prune", prune},   {"import", importEntries}};
  std::vector<std::string> names;
  for (const auto &[name, run] : actions)
    names.push_back(name);
  if (std::string wrong = cli::checkChoice(session.action, names); !wrong.empty())
    return command.usageError("`" + session.action + "`: " + wrong);
  bool takesFile = session.action == "export" || session.action == "import";
  bool takesKernel = session.action == "explain";
  if (takesFile && session.input.empty())
    return command.usageError("`cache " + session.action + "` needs a file");
  if (takesKernel && session.kernel.empty())
    return command.usageError("`cache explain` needs a library and a kernel");
  if ((!takesFile && !takesKernel && !session.input.empty()) ||
      (!takesKernel && !session.kernel.empty()))
    return command.usageError("unexpected argument `" +
                              (session.kernel.empty() ? session.input : session.kernel) + "`");
  if (!session.open())
    return session.finish(1);
  return actions.at(session.action)(session);
}

struct WarmSession : Session {
  std::vector<std::string> targets;
};

/// Compiles all kernels of a library, with their default fields. A kernel that is written for
/// another GPU is left out.
int warm(WarmSession &session) {
  session.target = "native";
  if (!session.load())
    return session.finish(1);
  if (session.targets.empty())
    session.targets = {"native"};
  uint64_t kernels = 0;
  std::vector<AnyKernel> forGpus;
  for (const KernelDescription &kernel : registered_kernels())
    for (const std::string &target : session.targets) {
      InspectOptions options;
      std::vector<Diagnostic> ignored;
      std::string needs = architecture_of_registered(kernel.name, options, ignored);
      if (!needs.empty() && needs != target)
        continue;
      options.target = target == "native" ? Target::native() : *find_gpu(target);
      AnyKernel compiled = compile_registered(kernel.name, options, session.diagnostics);
      kernels += bool(compiled);
      if (compiled && target != "native")
        forGpus.push_back(std::move(compiled));
    }
  KernelCache &cache = KernelCache::process();
  cache.flush();
  CacheStatistics s = cache.statistics();
  // Without an assembler, those of the machines that launch them do it.
  bool assembles = !find_assembler().empty();
  for (const AnyKernel &kernel : forGpus) {
    auto errors = assembles ? kernel.store_machine_code() : std::vector<Diagnostic>();
    session.diagnostics.insert(session.diagnostics.end(), errors.begin(), errors.end());
  }
  cache.flush();
  uint64_t assembled = statistics().assembled;
  for (const Diagnostic &d : cache.diagnostics())
    session.diagnostics.push_back(d);
  std::string text = plural(kernels, "kernel", "kernels") + ": " + std::to_string(s.hits) +
                     " cached, " + std::to_string(s.misses) + " compiled, " +
                     std::to_string(s.stored) + " stored";
  if (!forGpus.empty())
    text += assembles ? ", " + std::to_string(assembled) + " assembled"
                      : "; without machine code, because ptxas is not installed";
  session.result(text + "\n", JsonObject()
                                  .number("kernels", kernels)
                                  .number("cached", s.hits)
                                  .number("compiled", s.misses)
                                  .number("stored", s.stored)
                                  .number("assembled", assembled)
                                  .str());
  return session.finish(0);
}

} // namespace

void addCache(cli::Tool &tool) {
  auto session = std::make_shared<CacheSession>();
  cli::Command &command = tool.command(
      "cache",
      "Looks after the cache of compiled kernels: stat, verify, prune, explain LIBRARY KERNEL, "
      "export FILE, import FILE, push.",
      [session](const cli::Command &self) { return runCache(*session, self); });
  command.argument("ACTION", session->action, cli::Complete::Nothing)
      .optionalArgument("FILE|LIBRARY", session->input, cli::Complete::Files)
      .optionalArgument("KERNEL", session->kernel, cli::Complete::Kernels)
      .text("directory", "DIR", "the cache; default: as for compiling", session->directory,
            cli::Complete::Files)
      .text("remote", "URL", "with push: the server; default: PENSTOCK_CACHE_REMOTE",
            session->remote)
      .number("max-bytes", "with prune: size to reduce the cache to", session->maxBytes, 0);
  session->target = "native";
  command
      .choice("target", withGpus({"native"}), "with explain: compilation target", session->target)
      .values("set", "FIELD=VALUE,..", "with explain: sets fields of the kernel",
              pairReader(session->options.set, "FIELD=VALUE,.."))
      .format(session->format, {"text", "json"})
      .example("penstock cache explain libexample_kernels.so Matmul --set stages=4");
}

void addWarm(cli::Tool &tool) {
  auto session = std::make_shared<WarmSession>();
  cli::Command &command = tool.command("warm", "Compiles all kernels of a library into the cache.",
                                       [session](const cli::Command &) { return warm(*session); });
  command.argument("LIBRARY", session->input)
      .values("target", "TARGET", "compilation target; may be repeated (native)",
              [session](const std::string &text) {
                session->targets.push_back(text);
                return cli::checkChoice(text, withGpus({"native"}));
              })
      .format(session->format, {"text", "json"})
      .example("penstock warm libexample_kernels.so --target native --target sm_90a");
}
