//===- RunPtx.cpp - penstock-emu run-ptx, parse and coverage --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Diagnostics/ReadFile.h"
#include "Diagnostics/Render.h"
#include "PTX/InstructionTable.h"
#include "PTX/Parser.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace penstock::emu {
namespace {

/// X[,Y[,Z]]; returns what is wrong, or "".
std::string parseSizes(const std::string &text, std::array<uint32_t, 3> &sizes) {
  sizes = {1, 1, 1};
  size_t at = 0;
  for (size_t d = 0; d < 3; ++d) {
    size_t comma = std::min(text.find(',', at), text.size());
    uint64_t size = 0;
    if (!cli::parseInteger(text.substr(at, comma - at), size) || size > UINT32_MAX)
      break;
    sizes[d] = static_cast<uint32_t>(size);
    if (comma == text.size())
      return "";
    at = comma + 1;
  }
  return "expected X[,Y[,Z]]";
}

struct Buffer {
  uint64_t size = 0;
  std::vector<uint8_t> content; ///< empty: not initialized
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

template <class T> bool parseScalar(const std::string &text, std::vector<uint8_t> &bytes) {
  T value = 0;
  if constexpr (std::is_integral_v<T>) {
    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t> wide = 0;
    if (!cli::parseInteger(text, wide) || !std::in_range<T>(wide))
      return false;
    value = static_cast<T>(wide);
  } else {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      return false;
  }
  bytes = bytesOf(value);
  return true;
}

/// What all buffers of a launch may take: the emulator holds three bytes for each
/// of theirs, and a host that runs out of memory ends the process.
uint64_t mostBufferBytes() {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  uint64_t host = pages > 0 && size > 0 ? uint64_t(pages) * uint64_t(size) : uint64_t(4) << 30;
  return std::min(DeviceMemory().limit, host / 4);
}

/// BYTES[:zero|:iota32|:file=PATH]; returns what is wrong, or "". \p others is what
/// the buffers before it take.
std::string parseBuffer(const std::string &text, uint64_t others, Buffer &buffer) {
  size_t colon = std::min(text.find(':'), text.size());
  std::string rest = text.substr(colon);
  if (!cli::parseInteger(text.substr(0, colon), buffer.size))
    return "expected a number of bytes";
  if (buffer.size > mostBufferBytes() - others)
    return "the buffers of a launch may take " + std::to_string(mostBufferBytes()) +
           " bytes on this machine";
  if (rest == ":zero") {
    buffer.content.resize(buffer.size);
  } else if (rest == ":iota32") {
    buffer.content.resize(buffer.size);
    for (uint64_t i = 0; i + 4 <= buffer.size; i += 4) {
      uint32_t number = static_cast<uint32_t>(i / 4);
      memcpy(buffer.content.data() + i, &number, 4);
    }
  } else if (rest.rfind(":file=", 0) == 0) {
    std::string content;
    if (auto problem = readFile(rest.substr(6), content, buffer.size))
      return problem->message;
    buffer.content.assign(content.begin(), content.end());
    buffer.content.resize(buffer.size);
  } else if (!rest.empty()) {
    return "expected buffer=BYTES[:zero|:iota32|:file=PATH]";
  }
  return "";
}

std::string parseArgument(const std::string &text, std::vector<Argument> &arguments,
                          std::vector<Buffer> &buffers) {
  size_t equals = std::min(text.find('='), text.size());
  std::string type = text.substr(0, equals);
  std::string value = equals < text.size() ? text.substr(equals + 1) : "";
  static const std::vector<std::string> types = {"u32", "s32", "u64", "s64", "f32", "f64"};
  Argument argument;
  if (type == "buffer") {
    Buffer buffer;
    uint64_t others = 0;
    for (const Buffer &other : buffers)
      others += other.size;
    if (std::string wrong = parseBuffer(value, others, buffer); !wrong.empty())
      return wrong;
    argument.buffer = int(buffers.size());
    buffers.push_back(std::move(buffer));
  } else if (std::find(types.begin(), types.end(), type) == types.end()) {
    return "expected TYPE=VALUE with one of u32, s32, u64, s64, f32, f64 and buffer";
  } else if (!(type == "u32"   ? parseScalar<uint32_t>(value, argument.bytes)
               : type == "s32" ? parseScalar<int32_t>(value, argument.bytes)
               : type == "u64" ? parseScalar<uint64_t>(value, argument.bytes)
               : type == "s64" ? parseScalar<int64_t>(value, argument.bytes)
               : type == "f32" ? parseScalar<float>(value, argument.bytes)
                               : parseScalar<double>(value, argument.bytes))) {
    return "`" + value + "` is not a value of type " + type;
  }
  arguments.push_back(std::move(argument));
  return "";
}

struct RunPtxOptions {
  std::string file, kernel, format = "text";
  LaunchConfig config;
  LaunchOptions launch;
  bool noChecks = false;
  std::vector<Argument> arguments;
  std::vector<Buffer> buffers;
  std::vector<std::pair<size_t, std::string>> dumps;
  unsigned timings = 0;
};

std::string parseDump(const std::string &text, RunPtxOptions &options) {
  size_t equals = std::min(text.find('='), text.size());
  uint64_t number = 0;
  if (equals == text.size() || !cli::parseInteger(text.substr(0, equals), number))
    return "expected N=PATH";
  options.dumps.emplace_back(number, text.substr(equals + 1));
  return "";
}

int runPtx(RunPtxOptions &o, const cli::Command &command) {
  auto &[file, kernel, format, config, options, noChecks, arguments, buffers, dumps, timings] = o;
  options.checks = !noChecks;
  for (const auto &dump : dumps)
    if (dump.first >= buffers.size())
      return command.usageError("`--dump " + std::to_string(dump.first) + "=..`: there " +
                                (buffers.empty()
                                     ? "are 0 buffers"
                                     : "are buffers 0 to " + std::to_string(buffers.size() - 1)));
  std::string text;
  if (auto problem = readFile(file, text))
    return refuse(*problem);
  options.print = [](const std::string &out) { fputs(out.c_str(), stdout); };
  int exitCode = 0;
  uint32_t warps = (config.block[0] * config.block[1] * config.block[2] + 31) / 32;
  for (uint32_t size : config.cluster)
    warps *= std::max(1u, size);
  TimingSequence tried{timings, std::min(warps, 512u), 2};
  uint64_t runs = timings ? tried.size() : 1;
  std::vector<Diagnostic> found; ///< by blocks on several threads
  for (uint64_t run = 0; run < runs; ++run) {
    if (timings) {
      options.timing = tried[run].timing;
      options.seed = tried[run].seed;
      options.starvedWarp = tried[run].starvedWarp;
    }
    Device device;
    std::vector<Diagnostic> diagnostics;
    auto module = device.load(text, file, diagnostics);
    if (!module) {
      printFindings(diagnostics, format);
      return 1;
    }
    if (run == 0 && options.threads != 1)
      fputs(render(diagnostics).c_str(), stderr); // warnings
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
      if (!buffer.address)
        return command.usageError("no memory for buffer " + std::to_string(argument.buffer) +
                                  " of the launch");
      if (!buffer.content.empty())
        device.write(buffer.address, buffer.content.data(), buffer.content.size());
      packer.add(buffer.address);
    }
    config.params = packer.bytes;
    Report report = device.launch(*module, kernel, config, options);
    // Which block is found at fault first depends on the host's threads; one block after
    // the other gives the same report in every run.
    if (!report.findings.empty() && options.threads != 1) {
      found = std::move(report.findings);
      options.threads = 1;
      options.print = {};
      --run;
      continue;
    }
    if (report.findings.empty())
      report.findings = std::move(found);
    printFindings(report.findings, format);
    if (!report.ok())
      exitCode = 1;
    for (auto &[index, path] : dumps) {
      std::vector<char> content(buffers[index].size);
      device.read(buffers[index].address, content.data(), content.size());
      std::ofstream(path, std::ios::binary).write(content.data(), std::streamsize(content.size()));
    }
    if (format == "text" && run + 1 >= runs)
      printf("%llu blocks, %llu warp instructions, %llu asynchronous "
             "operations, %.3f s, %u timings, %s\n",
             (unsigned long long)report.stats.blocks, (unsigned long long)report.stats.instructions,
             (unsigned long long)report.stats.asyncOps, report.stats.seconds, unsigned(run + 1),
             exitCode ? "findings above" : "no findings");
    if (exitCode)
      break;
  }
  return exitCode;
}

int parsePtx(const std::vector<std::string> &files, const std::string &format) {
  int exitCode = 0;
  for (const std::string &path : files) {
    std::string text;
    if (auto problem = readFile(path, text))
      return refuse(*problem);
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
    printFindings(diagnostics, format);
    auto problems = std::count_if(diagnostics.begin(), diagnostics.end(), [](const Diagnostic &d) {
      return d.severity == Severity::Error;
    });
    if (format == "text")
      printf("%s: %zu kernels, %zu problems\n", path.c_str(), kernels, size_t(problems));
    exitCode |= problems != 0;
  }
  return exitCode;
}

int coverage(bool markdown, const std::string &format) {
  if (markdown) {
    fputs(ptx::instructionPage(isExecuted).c_str(), stdout);
    return 0;
  }
  bool json = format == "json";
  size_t executed = 0, total = 0;
  std::vector<std::string> missing;
  for (const ptx::InstructionForm &form : ptx::instructionForms()) {
    ++total;
    std::string name = form.name + " " + form.modifierText;
    if (isExecuted(form))
      ++executed;
    else if (json)
      missing.push_back(name);
    else
      printf("not executed: %s\n", name.c_str());
  }
  if (json)
    puts(JsonObject()
             .number("forms", total)
             .number("executed", executed)
             .json("not_executed", jsonArray(missing, jsonString))
             .str()
             .c_str());
  else
    printf("forms=%zu executed=%zu\n", total, executed);
  return 0;
}

} // namespace

void addRunPtx(cli::Tool &tool) {
  auto o = std::make_shared<RunPtxOptions>();
  auto sizes = [](std::array<uint32_t, 3> &to) {
    return [&to](const std::string &text) { return parseSizes(text, to); };
  };
  tool.command("run-ptx", "Launches a kernel of a .ptx file.",
               [o](const cli::Command &command) { return runPtx(*o, command); })
      .argument("FILE.ptx", o->file)
      .argument("KERNEL", o->kernel, cli::Complete::Nothing)
      .values("grid", "X[,Y[,Z]]", "blocks of the grid (1)", sizes(o->config.grid))
      .values("block", "X[,Y[,Z]]", "threads of a block (1)", sizes(o->config.block))
      .values("cluster", "X[,Y[,Z]]", "blocks of a cluster (1)", sizes(o->config.cluster))
      .number("shared", "bytes of dynamic shared memory", o->config.dynamicShared)
      .values(
          "arg", "TYPE=VALUE",
          "the next argument: u32, s32, u64, s64, f32 or f64; or "
          "buffer=BYTES[:zero|:iota32|:file=PATH], a pointer to new memory",
          [o](const std::string &text) { return parseArgument(text, o->arguments, o->buffers); })
      .values("dump", "N=PATH", "after the run, writes buffer N (from 0) to a file",
              [o](const std::string &text) { return parseDump(text, *o); })
      .values("timing", timingForms, "when asynchronous operations complete (eager)",
              [o](const std::string &text) -> std::string {
                return parseTiming(text, o->launch) ? "" : std::string("expected ") + timingForms;
              })
      .number("timings",
              "number of timings: eager, lazy, then random ones; in addition each warp is starved "
              "once",
              o->timings, 0, 1000000000)
      .flag("no-checks", "disables the race checker", o->noChecks)
      .flag("wait-before-use", "reports results that are used without a wait",
            o->launch.waitBeforeUse)
      .number("threads", "threads to run blocks on; 0: all hardware threads", o->launch.threads, 0,
              1024)
      .format(o->format)
      .example("penstock-emu run-ptx kernel.ptx gemm --grid 8,8 --block 192 --shared 131072 "
               "--arg buffer=4096:zero --arg u32=16 --timings 100");
}

void addParse(cli::Tool &tool) {
  struct Options {
    std::vector<std::string> files;
    std::string format = "text";
  };
  auto o = std::make_shared<Options>();
  tool.command("parse", "Parses .ptx files and reports what is not supported.",
               [o](const cli::Command &) { return parsePtx(o->files, o->format); })
      .arguments("FILE.ptx", o->files)
      .format(o->format)
      .example("penstock-emu parse kernel.ptx");
}

void addCoverage(cli::Tool &tool) {
  struct Options {
    bool markdown = false;
    std::string format = "text";
  };
  auto o = std::make_shared<Options>();
  tool.command("coverage", "Lists instructions that are not executed.",
               [o](const cli::Command &) { return coverage(o->markdown, o->format); })
      .flag("markdown", "prints the page docs/ptx-instructions.md", o->markdown)
      .format(o->format, {"text", "json"})
      .example("penstock-emu coverage --markdown");
}

} // namespace penstock::emu
