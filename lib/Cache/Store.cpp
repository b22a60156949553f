//===- Store.cpp - Bytes by key, shared between processes -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/Store.h"
#include "Cache/Entry.h"
#include "Cache/ForkSafe.h"
#include "Cache/HostLocks.h"
#include "Cache/Remote.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Events.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

using namespace penstock;
using namespace penstock::cache;

namespace {

/// Longest time that a process waits for another one to compile.
constexpr std::chrono::milliseconds longestWait{30000};

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// Empty if the environment names none.
std::string defaultDirectory() {
  if (std::string named = environment("PENSTOCK_CACHE_DIR"); !named.empty())
    return named;
  // The specification of these variables says to ignore relative paths.
  if (std::string base = environment("XDG_CACHE_HOME"); !base.empty() && base[0] == '/')
    return base + "/penstock";
  if (std::string home = environment("HOME"); !home.empty() && home[0] == '/')
    return home + "/.cache/penstock";
  return "";
}

/// Marks an entry as being made by this thread, after waiting for others to finish it.
class Flight {
public:
  Flight(const Store *store, std::string name) : id(store, std::move(name)) {
    SharedState &state = sharedState();
    std::unique_lock lock(state.mutex);
    while (!state.flights.insert(id).second) {
      contended = true;
      state.changed.wait(lock);
    }
  }
  Flight(const Flight &) = delete;
  Flight &operator=(const Flight &) = delete;
  ~Flight() {
    SharedState &state = sharedState();
    {
      std::lock_guard lock(state.mutex);
      state.flights.erase(id);
    }
    state.changed.notify_all();
  }
  bool waited() const { return contended; }

private:
  std::pair<const Store *, std::string> id;
  bool contended = false;
};

} // namespace

std::shared_ptr<Store> Store::open(const CacheOptions &options) {
  std::shared_ptr<Store> store(new Store);
  store->maxBytes = options.max_bytes;
  store->openDirectory(options);
  store->openSeeds(options);
  store->openRemote(options);
  return store;
}

Store::~Store() = default;

void Store::stop() {
  if (remote)
    remote->stop();
}

void Store::openDirectory(const CacheOptions &options) {
  std::string path = options.directory.empty() ? defaultDirectory() : options.directory;
  if (path.empty()) {
    warn(CacheDirectory, "there is no directory for the cache: HOME is not set",
         "set PENSTOCK_CACHE_DIR, or CacheOptions::directory");
    return;
  }
  Directory directory(path);
  std::string reason = directory.prepare();
  if (reason.empty()) {
    local = std::move(directory);
    return;
  }
  // A directory that cannot be written to can still be read.
  if (directory.checkSeed().empty())
    seeds.push_back(directory);
  warn(CacheDirectory, "the cache in `" + path + "` cannot be used: " + reason,
       "name a directory that you own in PENSTOCK_CACHE_DIR or CacheOptions::directory");
}

void Store::openSeeds(const CacheOptions &options) {
  std::vector<std::string> paths = options.seeds;
  if (paths.empty()) {
    std::string all = environment("PENSTOCK_CACHE_SEEDS");
    for (size_t begin = 0; begin < all.size();) {
      size_t end = std::min(all.find(':', begin), all.size());
      if (end > begin)
        paths.push_back(all.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  for (std::string &path : paths) {
    Directory seed(std::move(path));
    if (std::string reason = seed.checkSeed(); reason.empty())
      seeds.push_back(std::move(seed));
    else
      warn(CacheSeed, "the seed `" + seed.path() + "` cannot be used: " + reason,
           "name directories that were written as caches, owned by you or root, in "
           "PENSTOCK_CACHE_SEEDS or CacheOptions::seeds");
  }
}

void Store::openRemote(const CacheOptions &options) {
  std::string address =
      options.remote.empty() ? environment("PENSTOCK_CACHE_REMOTE") : options.remote;
  if (address.empty())
    return;
  std::string reason;
  auto parsed = parseRemote(address, reason);
  if (parsed)
    reason = openCurl();
  if (!parsed || !reason.empty()) {
    warn(CacheRemote, "the remote cache at `" + address + "` cannot be used: " + reason,
         parsed ? "install libcurl (Debian: libcurl4)"
                : "name it in PENSTOCK_CACHE_REMOTE or CacheOptions::remote, e.g. "
                  "http://host/prefix or s3://bucket/prefix");
    return;
  }
  bool writes = options.remote_writes || environment("PENSTOCK_CACHE_REMOTE_WRITES") == "1";
  remote = std::make_unique<Remote>(std::move(*parsed), writes, options.remote_budget, *this);
}

std::optional<std::string> Store::findLocally(std::string_view keyText, const std::string &name) {
  if (!local)
    return std::nullopt;
  errno = 0;
  auto bytes = local->read(name);
  if (!bytes) {
    // Neither missing nor a passing failure of the file system: something else has its name.
    if (errno == EINVAL) {
      ++counts.damaged;
      local->remove(name);
    }
    return std::nullopt;
  }
  Entry entry;
  EntryState state = readEntry(*bytes, keyText, entry);
  if (state == EntryState::Good) {
    counts.bytesRead += bytes->size();
    local->touch(name);
    return std::string(entry.data);
  }
  if (state != EntryState::UnknownFormat) {
    ++counts.damaged;
    local->remove(name);
    warn(CacheEntry, "the cache in `" + local->path() + "` had a damaged entry; it was removed",
         "if this happens again, check the disk; `penstock cache verify` reads all entries");
  }
  return std::nullopt;
}

std::optional<std::string> Store::findInSeeds(std::string_view keyText, const std::string &name) {
  for (const Directory &seed : seeds) {
    auto bytes = seed.read(name);
    if (!bytes)
      continue;
    Entry entry;
    if (readEntry(*bytes, keyText, entry) == EntryState::Good) {
      ++counts.seedHits;
      counts.bytesRead += bytes->size();
      return std::string(entry.data);
    }
    ++counts.damaged;
    warn(CacheEntry, "the seed `" + seed.path() + "` has a damaged entry, `" + name + "`",
         "make the seed again");
  }
  return std::nullopt;
}

std::optional<std::string> Store::findRemotely(std::string_view keyText, const std::string &name) {
  if (!remote)
    return std::nullopt;
  auto bytes = remote->get(name);
  if (!bytes)
    return std::nullopt;
  Entry entry;
  if (readEntry(*bytes, keyText, entry) != EntryState::Good) {
    ++counts.damaged;
    warn(CacheEntry, "the remote cache has a damaged entry, `" + name + "`",
         "check who writes to the server");
    return std::nullopt;
  }
  ++counts.remoteHits;
  counts.bytesRead += bytes->size();
  write(name, *bytes);
  return std::string(entry.data);
}

std::optional<std::string> Store::find(std::string_view keyText, const std::string &name) {
  if (auto bytes = findLocally(keyText, name))
    return bytes;
  if (auto bytes = findInSeeds(keyText, name))
    return bytes;
  return findRemotely(keyText, name);
}

std::optional<std::string> Store::lookup(std::string_view keyText) {
  auto bytes = find(keyText, hexDigest(keyText));
  ++(bytes ? counts.hits : counts.misses);
  return bytes;
}

bool Store::write(const std::string &name, std::string_view entry) {
  if (!local)
    return false;
  if (int error = local->write(name, entry)) {
    ++counts.failedWrites;
    warn(CacheWrite,
         "the cache in `" + local->path() + "` cannot be written to: " + std::strerror(error),
         "kernels are compiled again by the next process; free some space, or name another "
         "directory in PENSTOCK_CACHE_DIR");
    return false;
  }
  ++counts.stored;
  counts.bytesWritten += entry.size();
  if (local->pruningIsDue())
    prune();
  return true;
}

bool Store::publish(std::string_view keyText, std::string_view bytes) {
  std::string name = hexDigest(keyText), entry = writeEntry(keyText, bytes);
  bool written = write(name, entry);
  if (remote)
    remote->upload(name, std::move(entry));
  return written;
}

Store::Made Store::lookupOrMake(std::string_view keyText,
                                const std::function<std::optional<std::string>()> &make) {
  std::string name = hexDigest(keyText);
  auto hit = [&](std::optional<std::string> bytes) {
    ++counts.hits;
    return Made{std::move(bytes), true};
  };
  if (auto bytes = find(keyText, name))
    return hit(std::move(bytes));
  Flight flight(this, name);
  HostLock lock(name, local ? longestWait : std::chrono::milliseconds(0));
  // Also without having waited: another process may have finished in between.
  if (auto bytes = findLocally(keyText, name)) {
    if (flight.waited() || lock.waited())
      ++counts.waits;
    return hit(std::move(bytes));
  }
  ++counts.misses;
  Made made{make(), false};
  // The caller goes on with the bytes in hand, whether or not they could be written.
  if (made.bytes)
    publish(keyText, *made.bytes);
  return made;
}

bool Store::import(std::string_view bytes) {
  Entry entry;
  return readEntry(bytes, entry) == EntryState::Good && write(hexDigest(entry.key), bytes);
}

std::string Store::push(std::string_view bytes) {
  Entry entry;
  if (!remote)
    return "there is no remote cache";
  if (readEntry(bytes, entry) != EntryState::Good)
    return "the entry is damaged";
  return remote->put(hexDigest(entry.key), std::string(bytes));
}

void Store::flush() {
  if (remote)
    remote->flush();
}

void Store::prune() {
  if (!local)
    return;
  HostLock lock("prune", std::chrono::milliseconds(0));
  // Without locks on this host, two processes may prune at once, and both are right.
  if (lock.held() || !lock.waited())
    counts.evicted += local->prune(maxBytes);
}

void Store::warn(unsigned code, std::string message, std::string help) {
  Diagnostic d;
  d.severity = Severity::Warning;
  d.code = code;
  d.message = std::move(message);
  d.helps.push_back(std::move(help));
  std::string text = codeName(code) + ": " + d.message;
  {
    std::lock_guard lock(sharedState().mutex);
    for (const Diagnostic &problem : problems)
      if (problem.code == code)
        return;
    problems.push_back(std::move(d));
  }
  logEvent(LogLevel::Warning, "warning", text);
}

std::shared_ptr<const void> Store::recall(std::string_view keyText) {
  std::lock_guard lock(sharedState().mutex);
  for (auto each = remembered.begin(); each != remembered.end(); ++each)
    if (each->first == keyText) {
      remembered.splice(remembered.begin(), remembered, each);
      ++counts.hits;
      ++counts.memoryHits;
      return remembered.front().second;
    }
  return nullptr;
}

void Store::remember(std::string_view keyText, std::shared_ptr<const void> object) {
  // Destroyed after the mutex is released: what it owns may take other locks.
  std::shared_ptr<const void> evicted;
  std::lock_guard lock(sharedState().mutex);
  remembered.emplace_front(keyText, std::move(object));
  if (remembered.size() > 64) {
    evicted = std::move(remembered.back().second);
    remembered.pop_back();
  }
}

std::vector<Diagnostic> Store::diagnostics() const {
  std::lock_guard lock(sharedState().mutex);
  return problems;
}

CacheStatistics Store::statistics() const {
  CacheStatistics s;
  s.hits = counts.hits;
  s.memory_hits = counts.memoryHits;
  s.seed_hits = counts.seedHits;
  s.remote_hits = counts.remoteHits;
  s.misses = counts.misses;
  s.waits = counts.waits;
  s.stored = counts.stored;
  s.not_stored = counts.notStored;
  s.failed_writes = counts.failedWrites;
  s.damaged = counts.damaged;
  s.evicted = counts.evicted;
  s.bytes_read = counts.bytesRead;
  s.bytes_written = counts.bytesWritten;
  s.remote_failures = counts.remoteFailures;
  s.uploads = counts.uploads;
  s.dropped_uploads = counts.droppedUploads;
  return s;
}
