//===- Remote.cpp - A cache on a server -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/Remote.h"
#include "Cache/ActionResult.h"
#include "Cache/Entry.h"
#include "Cache/ForkSafe.h"
#include "Diagnostics/Codes.h"

#include <cstdlib>
#include <system_error>
#include <unistd.h>

using namespace penstock;
using namespace penstock::cache;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr size_t maxQueued = 64;
constexpr int failuresUntilClosed = 3;
constexpr std::chrono::seconds closedFor{30};
/// Of one upload. It delays nothing but the next upload.
constexpr milliseconds uploadTimeout{20000};

milliseconds until(Clock::time_point end) {
  return std::chrono::duration_cast<milliseconds>(end - Clock::now());
}

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string withoutSlash(std::string text) {
  while (!text.empty() && text.back() == '/')
    text.pop_back();
  return text;
}

std::string describe(const HttpResponse &response) {
  if (response.status == 0)
    return response.error;
  std::string text = "it answers " + std::to_string(response.status);
  if (response.status >= 300 && response.status < 400)
    text += ", a redirection, which is not followed";
  return text;
}

} // namespace

std::optional<RemoteAddress> penstock::cache::parseRemote(const std::string &address,
                                                          std::string &reason) {
  RemoteAddress result;
  if (address.starts_with("http://") || address.starts_with("https://")) {
    result.base = withoutSlash(address);
    return result;
  }
  if (!address.starts_with("s3://")) {
    reason = "it must begin with http://, https:// or s3://";
    return std::nullopt;
  }
  std::string path = withoutSlash(address.substr(5));
  std::string bucket = path.substr(0, path.find('/')), prefix = path.substr(bucket.size());
  if (bucket.empty()) {
    reason = "it names no bucket";
    return std::nullopt;
  }
  std::string key = environment("AWS_ACCESS_KEY_ID"), secret = environment("AWS_SECRET_ACCESS_KEY");
  if (key.empty() || secret.empty()) {
    reason = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set";
    return std::nullopt;
  }
  std::string region = environment("AWS_REGION");
  if (region.empty())
    region = environment("AWS_DEFAULT_REGION");
  if (region.empty())
    region = "us-east-1";
  std::string endpoint = environment("AWS_ENDPOINT_URL_S3");
  if (endpoint.empty())
    endpoint = environment("AWS_ENDPOINT_URL");
  result.base = endpoint.empty() ? "https://" + bucket + ".s3." + region + ".amazonaws.com" + prefix
                                 : withoutSlash(endpoint) + "/" + bucket + prefix;
  result.signature = "aws:amz:" + region + ":s3";
  result.credentials = key + ":" + secret;
  if (std::string token = environment("AWS_SESSION_TOKEN"); !token.empty())
    result.headers.push_back("x-amz-security-token: " + token);
  return result;
}

/// Shared with the thread that sends them, which may end after the Remote.
struct Remote::Uploads {
  std::deque<std::pair<std::string, std::string>> queue;
  bool sending = false, stopping = false, ended = false;
  std::atomic<bool> cancelled = false;
  int process = 0;
};

Remote::~Remote() { stop(); }

HttpResponse Remote::send(const std::string &path, std::optional<std::string_view> body,
                          milliseconds timeout, const std::atomic<bool> *cancelled) {
  std::unique_ptr<HttpConnection> connection;
  {
    std::lock_guard lock(sharedState().mutex);
    if (process != ::getpid()) {
      // After a fork the parent goes on using them.
      for (auto &each : idle)
        (void)each.release();
      idle.clear();
      process = ::getpid();
    }
    if (!idle.empty()) {
      connection = std::move(idle.back());
      idle.pop_back();
    }
  }
  if (!connection)
    connection = std::make_unique<HttpConnection>();
  HttpRequest request;
  request.url = address.base + path;
  request.body = body;
  request.headers = address.headers;
  request.signature = address.signature;
  request.credentials = address.credentials;
  request.timeout = timeout;
  request.cancelled = cancelled;
  if (!address.signature.empty())
    request.headers.push_back("x-amz-content-sha256: " + hexDigest(body.value_or("")));
  HttpResponse response = connection->send(request);
  std::lock_guard lock(sharedState().mutex);
  if (response.status != 0 && idle.size() < 8)
    idle.push_back(std::move(connection));
  return response;
}

bool Remote::isOpen() {
  std::lock_guard lock(sharedState().mutex);
  return !refused && Clock::now() >= closedUntil;
}

void Remote::succeed() {
  std::lock_guard lock(sharedState().mutex);
  failures = 0;
}

void Remote::fail(const HttpResponse &response) {
  if (response.status == 401 || response.status == 403) {
    std::lock_guard lock(sharedState().mutex);
    refused = true;
  }
  fail(describe(response));
}

void Remote::fail(const std::string &reason) {
  ++store.counters().remoteFailures;
  {
    std::lock_guard lock(sharedState().mutex);
    if (++failures >= failuresUntilClosed) {
      closedUntil = Clock::now() + closedFor;
      failures = 0;
    }
  }
  store.warn(CacheRemote, "the remote cache at `" + address.base + "` cannot be used: " + reason,
             "kernels are compiled here instead; check the address in PENSTOCK_CACHE_REMOTE or "
             "CacheOptions::remote, and the server");
}

std::optional<std::string> Remote::get(const std::string &name) {
  if (!isOpen())
    return std::nullopt;
  auto end = Clock::now() + budget;
  HttpResponse result = send("/ac/" + name, std::nullopt, budget);
  if (result.status == 404) {
    succeed();
    return std::nullopt;
  }
  if (result.status != 200) {
    fail(result);
    return std::nullopt;
  }
  auto digest = readActionResult(result.body);
  if (!digest) {
    fail("`/ac/" + name + "` is not an action result");
    return std::nullopt;
  }
  HttpResponse blob = send("/cas/" + digest->hash, std::nullopt, until(end));
  if (blob.status == 404) {
    succeed(); // servers evict blobs before the results that name them
    return std::nullopt;
  }
  if (blob.status != 200) {
    fail(blob);
    return std::nullopt;
  }
  if (blob.body.size() != digest->bytes || hexDigest(blob.body) != digest->hash) {
    ++store.counters().damaged;
    fail("`/cas/" + digest->hash + "` has other bytes");
    return std::nullopt;
  }
  succeed();
  return std::move(blob.body);
}

std::string Remote::put(const std::string &name, const std::string &entry) {
  return put(name, entry, nullptr);
}

std::string Remote::put(const std::string &name, const std::string &entry,
                        const std::atomic<bool> *cancelled) {
  if (!isOpen())
    return "it has failed before, and is not asked again for some time";
  BlobDigest digest{hexDigest(entry), entry.size()};
  // The blob first: a result without it would be a miss for everybody.
  for (const auto &[path, body] : {std::pair("/cas/" + digest.hash, entry),
                                   std::pair("/ac/" + name, writeActionResult(digest))}) {
    HttpResponse response = send(path, body, uploadTimeout, cancelled);
    if (response.status < 200 || response.status >= 300) {
      fail(response);
      return describe(response);
    }
  }
  succeed();
  ++store.counters().uploads;
  return "";
}

std::shared_ptr<Remote::Uploads> Remote::currentUploads(bool start) {
  std::lock_guard lock(sharedState().mutex);
  // The thread of the parent does not exist in a child.
  if (uploads && uploads->process != ::getpid())
    uploads = nullptr;
  if (!uploads && start) {
    auto fresh = std::make_shared<Uploads>();
    fresh->process = ::getpid();
    try {
      std::thread(run, std::ref(*this), fresh).detach();
      uploads = fresh;
    } catch (const std::system_error &) {
      // No more threads; the entry is dropped.
    }
  }
  return uploads;
}

void Remote::upload(const std::string &name, std::string entry) {
  if (!writes)
    return;
  auto to = currentUploads(true);
  SharedState &state = sharedState();
  {
    std::lock_guard lock(state.mutex);
    if (!to || to->queue.size() >= maxQueued || to->stopping) {
      ++store.counters().droppedUploads;
      return;
    }
    to->queue.emplace_back(name, std::move(entry));
  }
  state.changed.notify_all();
}

void Remote::run(Remote &remote, std::shared_ptr<Uploads> uploads) {
  SharedState &state = sharedState();
  std::unique_lock lock(state.mutex);
  while (true) {
    state.changed.wait(lock, [&] { return uploads->stopping || !uploads->queue.empty(); });
    if (uploads->queue.empty() || uploads->cancelled)
      break;
    auto [name, entry] = std::move(uploads->queue.front());
    uploads->queue.pop_front();
    uploads->sending = true;
    lock.unlock();
    if (!remote.put(name, entry, &uploads->cancelled).empty())
      ++remote.store.counters().droppedUploads;
    lock.lock();
    uploads->sending = false;
    state.changed.notify_all();
  }
  remote.store.counters().droppedUploads += uploads->queue.size();
  uploads->queue.clear();
  uploads->ended = true;
  state.changed.notify_all();
}

void Remote::flush() {
  auto from = currentUploads(false);
  if (!from)
    return;
  SharedState &state = sharedState();
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return from->ended || (from->queue.empty() && !from->sending); });
}

void Remote::stop() {
  auto from = currentUploads(false);
  if (!from)
    return;
  SharedState &state = sharedState();
  std::unique_lock lock(state.mutex);
  state.changed.wait_for(lock, budget, [&] { return from->queue.empty() && !from->sending; });
  from->stopping = from->cancelled = true;
  state.changed.notify_all();
  // curl looks at `cancelled` once a second at least.
  state.changed.wait(lock, [&] { return from->ended; });
}
