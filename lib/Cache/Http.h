//===- Http.h - Requests through libcurl ------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libcurl is opened at run time: only users of remote caches need it, and its TLS and
// signatures are those that the system keeps up to date.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CACHE_HTTP_H
#define PENSTOCK_CACHE_HTTP_H

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cache {

struct HttpRequest {
  std::string url;
  std::optional<std::string_view> body; ///< PUT if there is one, else GET
  std::vector<std::string> headers;
  /// For S3: "aws:amz:REGION:s3", and "KEY:SECRET". Empty: not signed.
  std::string signature, credentials;
  std::chrono::milliseconds timeout{1000};
  /// Ends the request early when it becomes true.
  const std::atomic<bool> *cancelled = nullptr;
};

struct HttpResponse {
  long status = 0; ///< 0 if there was no answer; then `error` is the reason
  std::string body, error;
};

/// One connection, which is kept open between requests. For one thread at a time.
class HttpConnection {
public:
  HttpConnection();
  HttpConnection(const HttpConnection &) = delete;
  HttpConnection &operator=(const HttpConnection &) = delete;
  ~HttpConnection();

  HttpResponse send(const HttpRequest &request);

private:
  void *handle = nullptr;
};

/// Opens libcurl. Returns the reason if it cannot be used.
std::string openCurl();

} // namespace penstock::cache

#endif // PENSTOCK_CACHE_HTTP_H
