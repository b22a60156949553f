//===- TestServers.h - Servers for tests of remote caches -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nginx with WebDAV, and a listener that answers every request alike or never. Both listen
// on the loopback interface and end with the test.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_CACHE_TESTSERVERS_H
#define PENSTOCK_UNITTESTS_CACHE_TESTSERVERS_H

#include "ChildProcess.h"
#include "TemporaryDirectory.h"

#include <arpa/inet.h>
#include <atomic>
#include <fstream>
#include <memory>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace penstock {

/// A socket that listens on a free port of the loopback interface.
inline int listenOnLoopback(int &port) {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr *>(&address), size) != 0 ||
      ::listen(fd, 64) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size) != 0)
    return -1;
  port = ntohs(address.sin_port);
  return fd;
}

/// A free port.
inline int freePort() {
  int port = 0;
  ::close(listenOnLoopback(port));
  return port;
}

/// Answers each request with the same text; none: accepts, and stays silent.
class FixedServer {
public:
  explicit FixedServer(std::string answer) : answer(std::move(answer)) {
    fd = listenOnLoopback(portNumber);
    thread = std::thread([this] { serve(); });
  }
  ~FixedServer() {
    stopping = true;
    thread.join();
    ::close(fd);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(portNumber) + "/cache"; }
  int connections() const { return accepted; }

private:
  void serve() {
    std::vector<int> open;
    while (!stopping) {
      pollfd waiting{fd, POLLIN, 0};
      if (::poll(&waiting, 1, 10) <= 0)
        continue;
      int client = ::accept(fd, nullptr, nullptr);
      if (client < 0)
        continue;
      ++accepted;
      if (answer.empty()) {
        open.push_back(client);
        continue;
      }
      char buffer[65536];
      if (::recv(client, buffer, sizeof buffer, 0) > 0)
        (void)!::write(client, answer.data(), answer.size());
      ::shutdown(client, SHUT_WR);
      ::close(client);
    }
    for (int client : open)
      ::close(client);
  }
  std::string answer;
  int fd = -1, portNumber = 0;
  std::atomic<bool> stopping = false;
  std::atomic<int> accepted = 0;
  std::thread thread;
};

/// nginx that stores what is PUT. Another port sends 8 kB a second from the same files.
class Nginx {
public:
  static bool installed() { return !program().empty(); }

  Nginx() : port(freePort()), slowPort(freePort()) {
    std::string root = folder.path();
    std::filesystem::create_directories(root + "/files");
    std::ofstream(root + "/nginx.conf")
        << (::geteuid() == 0 ? "user root root;\n" : "") << "daemon off; worker_processes 1; pid "
        << root << "/pid; error_log " << root << "/error.log;\nevents {}\nhttp { access_log "
        << root << "/access.log; client_max_body_size 64m; client_body_temp_path " << root
        << "/body; proxy_temp_path " << root << "/proxy; fastcgi_temp_path " << root
        << "/fastcgi; uwsgi_temp_path " << root << "/uwsgi; scgi_temp_path " << root
        << "/scgi;\nserver { listen 127.0.0.1:" << port << "; root " << root
        << "/files; location / { dav_methods PUT DELETE; create_full_put_path on; } }\n"
        << "server { listen 127.0.0.1:" << slowPort << "; root " << root
        << "/files; limit_rate 8k; } }\n";
    process = std::make_unique<ChildProcess>([&] {
      std::string file = root + "/nginx.conf", log = root + "/error.log";
      ::execl(program().c_str(), "nginx", "-c", file.c_str(), "-e", log.c_str(), nullptr);
      return 127;
    });
    for (int i = 0; i < 1000 && !answers(port); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  /// SIGTERM, so that the workers end as well.
  ~Nginx() {
    if (pid_t pid = master())
      ::kill(pid, SIGTERM);
    process->wait(std::chrono::seconds(20));
  }

  /// Sends a signal to all of its processes.
  void signal(int number) const {
    pid_t first = master();
    std::ifstream children("/proc/" + std::to_string(first) + "/task/" + std::to_string(first) +
                           "/children");
    ::kill(first, number);
    for (pid_t worker = 0; children >> worker;)
      ::kill(worker, number);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port) + "/team"; }
  std::string slowUrl() const { return "http://127.0.0.1:" + std::to_string(slowPort) + "/team"; }
  /// Folder of what was PUT below url().
  std::string files() const { return folder.path() + "/files/team"; }
  std::string accessLog() const {
    std::ifstream log(folder.path() + "/access.log");
    return {std::istreambuf_iterator<char>(log), {}};
  }

private:
  /// 0 if it does not run.
  pid_t master() const {
    std::ifstream file(folder.path() + "/pid");
    pid_t pid = 0;
    return file >> pid ? pid : 0;
  }
  static std::string program() {
    for (const char *path : {"/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"})
      if (::access(path, X_OK) == 0)
        return path;
    return "";
  }
  static bool answers(int port) {
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(uint16_t(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool connected = ::connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
    ::close(fd);
    return connected;
  }
  TemporaryDirectory folder;
  int port, slowPort;
  std::unique_ptr<ChildProcess> process;
};

} // namespace penstock

#endif // PENSTOCK_UNITTESTS_CACHE_TESTSERVERS_H
