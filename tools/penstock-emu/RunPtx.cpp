//===- RunPtx.cpp - penstock-emu run-ptx, parse and coverage --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "PTX/InstructionTable.h"
#include "PTX/Parser.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace penstock::emu {
namespace {

constexpr const char *usage =
    "usage: penstock-emu run-ptx FILE.ptx KERNEL [options]\n"
    "  --grid X[,Y[,Z]]  --block X[,Y[,Z]]  --cluster X[,Y[,Z]]  --shared "
    "BYTES\n"
    "  --arg TYPE=VALUE       u32, s32, u64, s64, f32, f64, in order\n"
    "  --arg buffer=BYTES[:zero|:iota32|:file=PATH]   a pointer to new memory\n"
    "  --dump N=PATH          after the run, write buffer N (from 0) to a "
    "file\n"
    "  --timing eager|lazy|random:SEED|delay:N        --timings COUNT\n"
    "  --no-checks  --wait-before-use  --threads N  --format text|json|sarif\n";

bool parseSizes(const std::string &text, std::array<uint32_t, 3> &sizes) {
  sizes = {1, 1, 1};
  const char *at = text.c_str();
  for (size_t d = 0; d < 3; ++d) {
    char *end;
    sizes[d] = uint32_t(strtoul(at, &end, 0));
    if (end == at)
      return false;
    if (!*end)
      return true;
    if (*end != ',')
      return false;
    at = end + 1;
  }
  return false;
}

struct Buffer {
  uint64_t size = 0;
  std::vector<uint8_t> content; ///< empty: not initialised
  uint64_t address = 0;
};

struct Argument {
  std::vector<uint8_t> bytes; ///< a scalar
  int buffer = -1;
};

template <class T> std::vector<uint8_t> bytesOf(T value) {
  std::vector<uint8_t> bytes(sizeof value);
  memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

bool parseArgument(const std::string &text, std::vector<Argument> &arguments,
                   std::vector<Buffer> &buffers) {
  size_t equals = text.find('=');
  if (equals == std::string::npos)
    return false;
  std::string type = text.substr(0, equals), value = text.substr(equals + 1);
  Argument argument;
  if (type == "u32" || type == "s32")
    argument.bytes = bytesOf(uint32_t(strtoll(value.c_str(), nullptr, 0)));
  else if (type == "u64" || type == "s64")
    argument.bytes = bytesOf(uint64_t(strtoull(value.c_str(), nullptr, 0)));
  else if (type == "f32")
    argument.bytes = bytesOf(strtof(value.c_str(), nullptr));
  else if (type == "f64")
    argument.bytes = bytesOf(strtod(value.c_str(), nullptr));
  else if (type == "buffer") {
    Buffer buffer;
    char *rest;
    buffer.size = strtoull(value.c_str(), &rest, 0);
    if (!strcmp(rest, ":zero")) {
      buffer.content.resize(buffer.size);
    } else if (!strcmp(rest, ":iota32")) {
      buffer.content.resize(buffer.size);
      for (uint32_t i = 0; i + 4 <= buffer.size; i += 4) {
        uint32_t number = i / 4;
        memcpy(buffer.content.data() + i, &number, 4);
      }
    } else if (!strncmp(rest, ":file=", 6)) {
      std::string content;
      if (!readFile(rest + 6, content))
        return false;
      content.resize(buffer.size);
      buffer.content.assign(content.begin(), content.end());
    } else if (*rest) {
      return false;
    }
    argument.buffer = int(buffers.size());
    buffers.push_back(std::move(buffer));
  } else {
    return false;
  }
  arguments.push_back(std::move(argument));
  return true;
}

} // namespace

int runPtxCommand(const Arguments &args) {
  std::vector<std::string> names;
  LaunchConfig config;
  LaunchOptions options;
  std::vector<Argument> arguments;
  std::vector<Buffer> buffers;
  std::vector<std::pair<size_t, std::string>> dumps;
  std::string format = "text";
  unsigned timings = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string &arg = args[i];
    if (arg.rfind("--", 0) != 0) {
      names.push_back(arg);
      continue;
    }
    if (arg == "--no-checks") {
      options.checks = false;
      continue;
    }
    if (arg == "--wait-before-use") {
      options.waitBeforeUse = true;
      continue;
    }
    bool ok = i + 1 < args.size();
    std::string value = ok ? args[++i] : "";
    if (arg == "--grid")
      ok = ok && parseSizes(value, config.grid);
    else if (arg == "--block")
      ok = ok && parseSizes(value, config.block);
    else if (arg == "--cluster")
      ok = ok && parseSizes(value, config.cluster);
    else if (arg == "--shared")
      config.dynamicShared = uint32_t(strtoul(value.c_str(), nullptr, 0));
    else if (arg == "--arg")
      ok = ok && parseArgument(value, arguments, buffers);
    else if (arg == "--timing")
      ok = ok && parseTiming(value, options);
    else if (arg == "--timings")
      timings = unsigned(strtoul(value.c_str(), nullptr, 0));
    else if (arg == "--threads")
      options.threads = unsigned(strtoul(value.c_str(), nullptr, 0));
    else if (arg == "--format")
      format = value;
    else if (arg == "--dump" && value.find('=') != std::string::npos)
      dumps.emplace_back(strtoul(value.c_str(), nullptr, 0), value.substr(value.find('=') + 1));
    else
      ok = false;
    if (!ok) {
      fprintf(stderr, "penstock-emu: bad option `%s`\n%s", arg.c_str(), usage);
      return 2;
    }
  }
  std::string text;
  if (names.size() != 2) {
    fputs(usage, stderr);
    return 2;
  }
  if (!readFile(names[0], text)) {
    fprintf(stderr, "penstock-emu: cannot read `%s`\n", names[0].c_str());
    return 2;
  }
  options.print = [](const std::string &out) { fputs(out.c_str(), stdout); };
  int exitCode = 0;
  for (unsigned run = 0; run < std::max(1u, timings); ++run) {
    if (timings) {
      options.timing = run == 0 ? Timing::Eager : run == 1 ? Timing::Lazy : Timing::Random;
      options.seed = run;
    }
    Device device;
    std::vector<Diagnostic> diagnostics;
    auto module = device.load(text, names[0], diagnostics);
    if (!module) {
      printFindings(diagnostics, format);
      return 1;
    }
    config.params.clear();
    ParamPacker packer;
    for (const Argument &argument : arguments) {
      if (argument.buffer < 0) {
        packer.addBytes(argument.bytes.data(), argument.bytes.size(), argument.bytes.size());
        continue;
      }
      Buffer &buffer = buffers[size_t(argument.buffer)];
      buffer.address =
          device.memory.allocate(buffer.size, "buffer " + std::to_string(argument.buffer));
      if (!buffer.address) {
        fprintf(stderr, "penstock-emu: no memory for a buffer\n");
        return 2;
      }
      if (!buffer.content.empty())
        device.write(buffer.address, buffer.content.data(), buffer.content.size());
      packer.add(buffer.address);
    }
    config.params = packer.bytes;
    Report report = device.launch(*module, names[1], config, options);
    printFindings(report.findings, format);
    if (!report.ok())
      exitCode = 1;
    for (auto &[index, path] : dumps) {
      if (index >= buffers.size())
        continue;
      std::vector<char> content(buffers[index].size);
      device.read(buffers[index].address, content.data(), content.size());
      std::ofstream(path, std::ios::binary).write(content.data(), std::streamsize(content.size()));
    }
    if (format == "text" && run + 1 >= std::max(1u, timings))
      printf("%llu blocks, %llu warp instructions, %llu asynchronous "
             "operations, %.3f s, %u timings, %s\n",
             (unsigned long long)report.stats.blocks, (unsigned long long)report.stats.instructions,
             (unsigned long long)report.stats.asyncOps, report.stats.seconds, run + 1,
             exitCode ? "findings above" : "no findings");
    if (exitCode)
      break;
  }
  return exitCode;
}

int parseCommand(const Arguments &args) {
  int exitCode = 0;
  for (const std::string &path : args) {
    std::string text;
    if (!readFile(path, text)) {
      fprintf(stderr, "penstock-emu: cannot read `%s`\n", path.c_str());
      return 2;
    }
    ptx::ParseResult result = ptx::parse(std::move(text), path);
    std::vector<Diagnostic> diagnostics = result.diagnostics;
    size_t kernels = 0;
    if (result.module) {
      // Decoding finds what parses but is not executed.
      std::vector<uint64_t> globals(result.module->variables.size(), 0x1000);
      for (auto &function : result.module->functions)
        if (function->isEntry && !function->isDeclaration) {
          ++kernels;
          decode(result.module, function->name, globals, diagnostics);
        }
    }
    printFindings(diagnostics, "text");
    printf("%s: %zu kernels, %zu problems\n", path.c_str(), kernels, diagnostics.size());
    exitCode |= !diagnostics.empty();
  }
  return exitCode;
}

int coverageCommand(const Arguments &args) {
  if (args.size() == 1 && args[0] == "--markdown") {
    fputs(ptx::instructionPage(isExecuted).c_str(), stdout);
    return 0;
  }
  size_t executed = 0, total = 0;
  for (const ptx::InstructionForm &form : ptx::instructionForms()) {
    ++total;
    if (isExecuted(form))
      ++executed;
    else
      printf("not executed: %s %s\n", form.name.c_str(), form.modifierText.c_str());
  }
  printf("forms=%zu executed=%zu\n", total, executed);
  return 0;
}

} // namespace penstock::emu
