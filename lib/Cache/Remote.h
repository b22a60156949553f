//===- Remote.h - A cache on a server ---------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PREFIX/cas/<SHA-256> and PREFIX/ac/<name>, as Bazel's HTTP caches have them
// (ActionResult.h), over HTTP or S3. A lookup takes at most the budget; three failures in
// a row keep the server from being asked for 30 seconds, and a refused permission for good.
// Uploads are sent by one thread.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CACHE_REMOTE_H
#define PENSTOCK_CACHE_REMOTE_H

#include "Cache/Http.h"
#include "Cache/Store.h"

#include <deque>
#include <thread>

namespace penstock::cache {

/// Address and signature of requests.
struct RemoteAddress {
  std::string base; ///< URL without a slash at the end
  std::string signature, credentials;
  std::vector<std::string> headers;
};

/// Reads http://, https:// and s3:// addresses; S3 takes credentials, region and endpoint
/// from AWS_ variables. No value, with the reason, for others.
std::optional<RemoteAddress> parseRemote(const std::string &address, std::string &reason);

class Remote {
public:
  Remote(RemoteAddress address, bool writes, std::chrono::milliseconds budget, Store &store)
      : address(std::move(address)), writes(writes), budget(budget), store(store) {}
  /// Stops the uploads, after the budget at the latest.
  ~Remote();

  /// Verified bytes of an entry.
  std::optional<std::string> get(const std::string &name);
  /// Queues an entry, unless writes are not allowed.
  void upload(const std::string &name, std::string entry);
  /// Sends an entry now. Returns the reason if that fails.
  std::string put(const std::string &name, const std::string &entry);
  /// Waits until the queue is empty.
  void flush();
  /// Waits for the queue until the budget is used up, and stops the thread.
  void stop();

private:
  struct Uploads;
  HttpResponse send(const std::string &path, std::optional<std::string_view> body,
                    std::chrono::milliseconds timeout,
                    const std::atomic<bool> *cancelled = nullptr);
  std::string put(const std::string &name, const std::string &entry,
                  const std::atomic<bool> *cancelled);
  bool isOpen();
  void succeed();
  void fail(const HttpResponse &response);
  void fail(const std::string &reason);
  static void run(Remote &remote, std::shared_ptr<Uploads> uploads);
  std::shared_ptr<Uploads> currentUploads(bool start);

  RemoteAddress address;
  bool writes;
  std::chrono::milliseconds budget;
  Store &store;
  // Guarded by the mutex of ForkSafe.h.
  int failures = 0;
  bool refused = false;
  std::chrono::steady_clock::time_point closedUntil{};
  std::vector<std::unique_ptr<HttpConnection>> idle;
  int process = 0; ///< that the connections belong to
  std::shared_ptr<Uploads> uploads;
};

} // namespace penstock::cache

#endif // PENSTOCK_CACHE_REMOTE_H
