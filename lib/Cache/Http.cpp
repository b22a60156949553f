//===- Http.cpp - Requests through libcurl --------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/Http.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

using namespace penstock::cache;

namespace {

// Numbers of libcurl's binary interface, which never change.
enum Option : int {
  TimeoutMs = 155,
  ConnectTimeoutMs = 156,
  NoProgress = 43,
  Upload = 46,
  NoSignal = 99,
  Protocols = 181, // 1: http, 2: https
  WriteData = 10001,
  Url = 10002,
  UserPassword = 10005,
  ReadData = 10009,
  Headers = 10023,
  ProgressData = 10057,
  AwsSigV4 = 10305,
  WriteFunction = 20011,
  ReadFunction = 20012,
  ProgressFunction = 20219,
  InFileSize = 30115
};
constexpr int responseCode = 0x200000 + 2;
/// No entry is larger; a server that sends more is not a cache.
constexpr size_t maxBody = size_t(1) << 30;

struct Curl {
  int (*globalInit)(long) = nullptr;
  void *(*init)() = nullptr;
  void (*reset)(void *) = nullptr;
  int (*setOption)(void *, int, ...) = nullptr;
  int (*perform)(void *) = nullptr;
  int (*getInfo)(void *, int, ...) = nullptr;
  void (*cleanup)(void *) = nullptr;
  const char *(*errorText)(int) = nullptr;
  void *(*append)(void *, const char *) = nullptr;
  void (*freeList)(void *) = nullptr;
  std::string problem;
};

Curl *load() {
  auto *curl = new Curl;
  void *library = nullptr;
  for (const char *name : {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"})
    if ((library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)))
      break;
  if (!library) {
    curl->problem = "libcurl.so.4 is not installed";
    return curl;
  }
  auto find = [&](auto &to, const char *name) {
    void *symbol = ::dlsym(library, name);
    if (!symbol)
      curl->problem = std::string("libcurl has no ") + name;
    std::memcpy(&to, &symbol, sizeof symbol);
  };
  find(curl->globalInit, "curl_global_init");
  find(curl->init, "curl_easy_init");
  find(curl->reset, "curl_easy_reset");
  find(curl->setOption, "curl_easy_setopt");
  find(curl->perform, "curl_easy_perform");
  find(curl->getInfo, "curl_easy_getinfo");
  find(curl->cleanup, "curl_easy_cleanup");
  find(curl->errorText, "curl_easy_strerror");
  find(curl->append, "curl_slist_append");
  find(curl->freeList, "curl_slist_free_all");
  if (curl->problem.empty() && curl->globalInit(3) != 0)
    curl->problem = "libcurl cannot be initialized";
  return curl;
}

const Curl &curl() {
  static const Curl *instance = load();
  return *instance;
}

size_t receive(const char *data, size_t size, size_t count, void *to) {
  auto &body = *static_cast<std::string *>(to);
  if (body.size() + size * count > maxBody)
    return 0; // ends the transfer
  body.append(data, size * count);
  return size * count;
}

size_t transmit(char *to, size_t size, size_t count, void *from) {
  auto &body = *static_cast<std::string_view *>(from);
  size_t bytes = std::min(size * count, body.size());
  std::memcpy(to, body.data(), bytes);
  body.remove_prefix(bytes);
  return bytes;
}

int progress(void *data, int64_t, int64_t, int64_t, int64_t) {
  return static_cast<const std::atomic<bool> *>(data)->load();
}

} // namespace

std::string penstock::cache::openCurl() { return curl().problem; }

HttpConnection::HttpConnection() {
  if (curl().problem.empty())
    handle = curl().init();
}

HttpConnection::~HttpConnection() {
  if (handle)
    curl().cleanup(handle);
}

HttpResponse HttpConnection::send(const HttpRequest &request) {
  HttpResponse response;
  if (!handle) {
    response.error = curl().problem.empty() ? "libcurl is out of memory" : curl().problem;
    return response;
  }
  const Curl &c = curl();
  c.reset(handle); // keeps its connections
  int problem = 0;
  auto set = [&](Option option, auto value) {
    if (int result = c.setOption(handle, option, value); result != 0 && problem == 0)
      problem = result;
  };
  set(Url, request.url.c_str());
  set(NoSignal, 1L);
  set(Protocols, 3L);
  long timeout = long(std::max<int64_t>(1, request.timeout.count()));
  set(TimeoutMs, timeout);
  set(ConnectTimeoutMs, timeout);
  set(WriteFunction, &receive);
  set(WriteData, static_cast<void *>(&response.body));
  std::string_view body = request.body.value_or("");
  // An empty "Expect:" keeps curl from waiting for servers to ask for the body. Signatures
  // would cover it although it is not sent.
  void *headers = request.signature.empty() ? c.append(nullptr, "Expect:") : nullptr;
  for (const std::string &header : request.headers)
    headers = c.append(headers, header.c_str());
  set(Headers, headers);
  if (request.body) {
    set(Upload, 1L);
    set(ReadFunction, &transmit);
    set(ReadData, static_cast<void *>(&body));
    set(InFileSize, int64_t(request.body->size()));
  }
  if (!request.signature.empty()) {
    set(AwsSigV4, request.signature.c_str());
    set(UserPassword, request.credentials.c_str());
  }
  if (request.cancelled) {
    set(NoProgress, 0L);
    set(ProgressFunction, &progress);
    set(ProgressData, static_cast<const void *>(request.cancelled));
  }
  if (problem == 0)
    problem = c.perform(handle);
  if (problem == 0)
    c.getInfo(handle, responseCode, &response.status);
  else
    response.error = c.errorText(problem);
  c.freeList(headers);
  return response;
}
