//===- NvJitLink.cpp - PTX to machine code, by CUDA's library -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libnvJitLink comes with frameworks that bring parts of the toolkit, and then there is
// often no ptxas. It is opened at run time, as the driver is.
//
//===----------------------------------------------------------------------===//
#include "Cuda/Assembler.h"

#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

using namespace penstock::cuda;

namespace {

/// The functions of nvJitLink.h that are called here.
struct Library {
  using Handle = void *;
  int (*create)(Handle *, uint32_t, const char **) = nullptr;
  int (*destroy)(Handle *) = nullptr;
  int (*addData)(Handle, int, const void *, size_t, const char *) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubinSize)(Handle, size_t *) = nullptr;
  int (*cubin)(Handle, void *) = nullptr;
  int (*logSize)(Handle, size_t *) = nullptr;
  int (*log)(Handle, char *) = nullptr;

  /// False if a function is missing.
  bool open(void *library) {
    auto find = [&](const char *name, auto &function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    return find("nvJitLinkCreate", create) && find("nvJitLinkDestroy", destroy) &&
           find("nvJitLinkAddData", addData) && find("nvJitLinkComplete", complete) &&
           find("nvJitLinkGetLinkedCubinSize", cubinSize) &&
           find("nvJitLinkGetLinkedCubin", cubin) && find("nvJitLinkGetErrorLogSize", logSize) &&
           find("nvJitLinkGetErrorLog", log);
  }
};

constexpr int inputPtx = 2; // NVJITLINK_INPUT_PTX

} // namespace

std::string penstock::cuda::findNvJitLink() {
  const char *stated = getenv("PENSTOCK_PTXAS");
  if (stated && !*stated)
    return "";
  std::vector<std::string> folders = {""};
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *folder = getenv(variable))
      folders.push_back(folder + std::string("/lib64/"));
  folders.push_back("/usr/local/cuda/lib64/");
  for (const std::string &folder : folders)
    for (const char *name : {"libnvJitLink.so.13", "libnvJitLink.so.12"})
      // It stays open: it is used at once.
      if (dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL))
        return folder + name;
  return "";
}

Assembly penstock::cuda::runNvJitLink(const std::string &path, const std::string &ptx,
                                      const std::string &architecture) {
  Assembly result;
  void *opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  Library library;
  if (!opened || !library.open(opened)) {
    const char *reason = opened ? "a function is missing" : dlerror();
    result.report = "`" + path + "` cannot be used: " + (reason ? reason : "dlopen failed");
    return result;
  }
  std::string arch = "-arch=" + architecture;
  const char *options[] = {arch.c_str()};
  Library::Handle handle = nullptr;
  int status = library.create(&handle, 1, options);
  if (status == 0)
    status = library.addData(handle, inputPtx, ptx.c_str(), ptx.size() + 1, "kernel.ptx");
  if (status == 0)
    status = library.complete(handle);
  size_t size = 0;
  if (status == 0)
    status = library.cubinSize(handle, &size);
  if (status == 0) {
    result.cubin.resize(size);
    status = library.cubin(handle, result.cubin.data());
  }
  result.ok = status == 0 && size != 0;
  if (!result.ok) {
    result.cubin.clear();
    result.report = "error " + std::to_string(status);
    if (handle && library.logSize(handle, &size) == 0 && size > 1) {
      std::string log(size, 0);
      if (library.log(handle, log.data()) == 0)
        result.report += ": " + std::string(log.c_str());
    }
  }
  if (handle)
    library.destroy(&handle);
  return result;
}
