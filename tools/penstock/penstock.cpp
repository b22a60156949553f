//===- penstock.cpp - Looks at, compiles and runs kernels -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin program over penstock/inspect.h. Kernels come from a shared library
// that registers them, or from a tile program in text form (a file that ends in
// .mlir).
//
//===----------------------------------------------------------------------===//
#include "CheckCommands.h"
#include "CommandLine.h"
#include "penstock/inspect.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace penstock;

namespace {

const std::vector<OptionSpec> compileOptions = {
    {"target", "native|interpreter|sm_90a|sm_100a",
     "what to compile for (native); sm_*: only checked and explained"},
    {"set", "FIELD=VALUE,..", "sets fields of the kernel"},
    {"fix", "SIZE=NUMBER,..", "makes sizes of the signature constants"},
    {"late-completion", nullptr, "lets asynchronous operations complete late"},
    {"print-ir-after", "PASS|all", "prints the program after a pass, to standard error"},
    {"timing", nullptr, "prints how long each pass took, to standard error"},
    {"reproducer", "FILE", "written if the compiler itself fails (penstock-reproducer.mlir)"},
    {"json", nullptr, "prints diagnostics as JSON"},
};

std::vector<OptionSpec> with(std::vector<OptionSpec> more) {
  more.insert(more.end(), compileOptions.begin(), compileOptions.end());
  return more;
}

const CommandSpec commands[] = {
    {"list",
     "Lists the kernels of a library or text, with their signatures and fields.",
     "list LIBRARY|TEXT",
     "penstock list libexample_kernels.so",
     {{"json", nullptr, "prints diagnostics as JSON"}}},
    {"print", "Prints a kernel as a tile program.", "print LIBRARY|TEXT KERNEL [options]",
     "penstock print libexample_kernels.so Matmul --set stages=4", compileOptions},
    {"compile", "Compiles a kernel and writes what it became.",
     "compile LIBRARY|TEXT KERNEL [options]",
     "penstock compile libexample_kernels.so Matmul --emit asm -o matmul.s",
     with({{"emit", "tile|llvm|asm|ptx", "what to write (asm, or ptx for a GPU)"},
           {"output", "FILE", "where to (standard output); also -o FILE"}})},
    {"explain", "Says what became of each pipelined loop of a kernel, and why.",
     "explain LIBRARY|TEXT KERNEL [options]",
     "penstock explain libexample_kernels.so FlashAttention --arch sm_90a",
     with({{"arch", "sm_90a|sm_100a|x86", "whose costs and limits to use (sm_90a)"}})},
    {"trace",
     "Draws the predicted timeline of each pipelined loop, PREFIX-N.svg and PREFIX-N.json, or "
     "with --shape a run on the emulator, PREFIX.svg and PREFIX.json.",
     "trace LIBRARY|TEXT KERNEL [options]",
     "penstock trace libexample_kernels.so FlashAttention --arch sm_90a -o attention",
     with({{"arch", "sm_90a|sm_100a|x86", "whose costs and limits to use (sm_90a)"},
           {"iterations", "NUMBER", "how many iterations to draw (8)"},
           {"shape", "SIZE=NUMBER,..", "draws a run on the emulator with these sizes"},
           {"output", "PREFIX", "start of the file names (the kernel's name); also -o PREFIX"}})},
    {"run", "Runs a kernel on small integers and says how long it took.",
     "run LIBRARY|TEXT KERNEL --shape SIZE=NUMBER,.. [options]",
     "penstock run libexample_kernels.so Matmul --shape M=512,N=512,K=256 --check",
     with({{"shape", "SIZE=NUMBER,..", "sizes of the signature, and scalars by name"},
           {"check", nullptr, "compares the results with the interpreter's"},
           {"tolerance", "NUMBER", "largest difference allowed, relative to 1 + value (1e-2)"},
           {"completion", "eager|latest|random", "when asynchronous operations complete"},
           {"seed", "NUMBER", "seed of the data and of random completion (0)"},
           {"threads", "NUMBER", "threads to run blocks on (all)"},
           {"repeat", "NUMBER", "runs this often and reports the fastest (1)"}})},
    checkCommand(),
    mutateCommand(),
};

class Tool {
public:
  Tool(const CommandSpec &command, CommandLine line) : command(command), line(std::move(line)) {}

  int run() {
    std::string name = command.name;
    if (line.words.empty() || (name != "list" && line.words.size() < 2))
      return usage("a " + std::string(line.words.empty() ? "library or text" : "kernel") +
                   " is missing");
    if (line.words.size() > (name == "list" ? 1u : 2u))
      return usage("`" + line.words.back() + "` is one word too many");
    if (!load())
      return finish(1);
    if (name == "list")
      return finish(list());
    if (!readOptions())
      return finish(2);
    if (name == "print")
      return finish(print());
    if (name == "explain")
      return finish(explain());
    if (name == "trace")
      return finish(trace());
    return finish(name == "compile" ? compile() : runKernel());
  }

private:
  int usage(const std::string &message) {
    std::fprintf(stderr, "penstock %s: %s\nusage: penstock %s\n", command.name, message.c_str(),
                 command.usage);
    return 2;
  }

  int finish(int code) {
    if (line.has("json"))
      std::cerr << to_json(diagnostics);
    else
      std::cerr << to_text(diagnostics);
    for (const Diagnostic &d : diagnostics)
      if (d.severity == Severity::Error && code == 0)
        code = 1;
    return code;
  }

  bool isText() const {
    const std::string &path = line.words[0];
    return path == "-" || (path.size() > 5 && path.substr(path.size() - 5) == ".mlir");
  }

  bool load() {
    const std::string &path = line.words[0];
    if (!isText()) {
      diagnostics = load_library(path);
      return diagnostics.empty();
    }
    std::ostringstream all;
    if (path == "-") {
      all << std::cin.rdbuf();
    } else {
      std::ifstream in(path, std::ios::binary);
      if (!in) {
        error("`" + path + "` cannot be read");
        return false;
      }
      all << in.rdbuf();
    }
    text = all.str();
    return true;
  }

  void error(const std::string &message) {
    Diagnostic d;
    d.code = 1501;
    d.message = message;
    diagnostics.push_back(std::move(d));
  }

  /// GPUs; kernels for them run on the emulator.
  static bool isArchitecture(const std::string &target) {
    return target == "sm_90a" || target == "sm_100a";
  }

  bool readOptions() {
    std::string target = line.get("target", "native");
    if (target == "interpreter")
      options.target = Target::interpreter();
    else if (isArchitecture(target)) {
      architecture = target;
      options.target = (target == "sm_90a" ? Target::sm_90a() : Target::sm_100a()).emulated();
    } else if (target != "native") {
      error("`" + target + "` is no target; native, interpreter, sm_90a and sm_100a are");
      return false;
    }
    architecture = line.get("arch", architecture);
    auto [begin, end] = line.options.equal_range("set");
    for (auto it = begin; it != end; ++it) {
      auto pairs = parsePairs(it->second);
      if (!pairs) {
        error("`--set " + it->second + "` is not of the form FIELD=VALUE,..");
        return false;
      }
      options.set.insert(options.set.end(), pairs->begin(), pairs->end());
    }
    if (line.has("fix")) {
      auto pairs = parsePairs(line.get("fix"));
      for (const auto &[name, value] : pairs.value_or(decltype(pairs)::value_type())) {
        auto number = parseInteger(value);
        if (!number)
          pairs.reset();
        else
          options.compile.fix.emplace_back(name, *number);
        if (!pairs)
          break;
      }
      if (!pairs) {
        error("`--fix " + line.get("fix") + "` is not of the form SIZE=NUMBER,..");
        return false;
      }
    }
    options.compile.late_completion =
        line.has("late-completion") || line.get("completion", "eager") != "eager";
    options.timing = line.has("timing");
    options.reproducer = line.get("reproducer", "penstock-reproducer.mlir");
    if (std::string after = line.get("print-ir-after"); !after.empty())
      options.after_pass = [after](std::string_view pass, std::string_view program) {
        if (after == "all" || after == pass)
          std::cerr << "// after " << pass << "\n" << program << "\n";
      };
    return true;
  }

  int list() {
    auto kernels =
        isText() ? kernels_of_text(text, line.words[0], diagnostics) : registered_kernels();
    for (const KernelDescription &kernel : kernels) {
      std::printf("%s", kernel.name.c_str());
      if (!kernel.signature.empty())
        std::printf("  %s", kernel.signature.c_str());
      std::printf("  (%s:%u)\n", kernel.place.file.c_str(), kernel.place.line);
      for (const auto &[name, value] : kernel.fields)
        std::printf("    %s = %s\n", name.c_str(), value.c_str());
    }
    return 0;
  }

  AnyKernel compiled() {
    return isText() ? compile_text(text, line.words[0], line.words[1], options, diagnostics)
                    : compile_registered(line.words[1], options, diagnostics);
  }

  int print() {
    std::string program;
    if (isText()) {
      options.target = Target::interpreter(); // needs no code
      AnyKernel kernel = compiled();
      if (kernel)
        program = kernel.tile_program();
    } else {
      program = print_registered(line.words[1], options, diagnostics);
    }
    std::fwrite(program.data(), 1, program.size(), stdout);
    return program.empty();
  }

  int explain() {
    std::string result = explanation();
    std::fwrite(result.data(), 1, result.size(), stdout);
    return 0;
  }

  std::string explanation() {
    return isText() ? explain_text(text, line.words[0], line.words[1], architecture, diagnostics)
                    : explain_registered(line.words[1], architecture, options, diagnostics);
  }

  int traceRun() {
    auto shape = parseShape(line.get("shape"));
    if (!shape || isText() || (architecture != "sm_90a" && architecture != "sm_100a")) {
      error("`--shape SIZE=NUMBER,..` draws a kernel of a library, for sm_90a or sm_100a");
      return 2;
    }
    RunPicture picture =
        draw_run(line.words[1], architecture == "sm_90a" ? Target::sm_90a() : Target::sm_100a(),
                 *shape, options.set);
    diagnostics.insert(diagnostics.end(), picture.diagnostics.begin(), picture.diagnostics.end());
    if (picture.svg.empty())
      return 1;
    std::string prefix = line.get("output", line.words[1]);
    if (!write(prefix + ".svg", picture.svg) || !write(prefix + ".json", picture.trace))
      return 1;
    std::printf("%s.svg, %s.json\n", prefix.c_str(), prefix.c_str());
    return 0;
  }

  int trace() {
    if (line.has("shape"))
      return traceRun();
    auto iterations = parseInteger(line.get("iterations", "8"));
    if (!iterations || *iterations < 1 || *iterations > 1000) {
      error("`--iterations` takes a number from 1 to 1000");
      return 2;
    }
    const std::string &arch = architecture;
    int count = static_cast<int>(*iterations);
    auto traces = isText()
                      ? trace_text(text, line.words[0], line.words[1], arch, count, diagnostics)
                      : trace_registered(line.words[1], arch, count, options, diagnostics);
    std::string prefix = line.get("output", line.words[1]);
    for (size_t i = 0; i < traces.size(); ++i) {
      std::string name = prefix + "-" + std::to_string(i);
      if (!write(name + ".svg", traces[i].svg) || !write(name + ".json", traces[i].trace))
        return 1;
      std::printf("loop %s: %s.svg, %s.json\n", traces[i].loop.c_str(), name.c_str(), name.c_str());
    }
    return 0;
  }

  bool write(const std::string &file, const std::string &content) {
    std::ofstream out(file, std::ios::binary);
    out << content;
    if (out.flush())
      return true;
    error("`" + file + "` cannot be written");
    return false;
  }

  int compile() {
    bool device = isArchitecture(line.get("target", "native"));
    std::string form = line.get("emit", device ? "ptx" : "asm");
    if (form != "tile" && (device ? form != "ptx" : form != "llvm" && form != "asm")) {
      error("`--emit " + form + "` is none of " +
            (device ? "tile and ptx" : "tile, llvm and asm, which this target has"));
      return 2;
    }
    AnyKernel kernel = compiled();
    if (!kernel)
      return 1;
    std::string result = form == "tile"   ? kernel.tile_program()
                         : form == "llvm" ? kernel.llvm_ir()
                         : form == "ptx"  ? kernel.ptx()
                                          : kernel.assembly();
    std::string file = line.get("output", "-");
    if (file == "-") {
      std::fwrite(result.data(), 1, result.size(), stdout);
      return 0;
    }
    return !write(file, result);
  }

  int runKernel() {
    AnyKernel kernel = compiled();
    if (!kernel)
      return 1;
    auto shape = line.has("shape") ? parseShape(line.get("shape")) : std::optional(Shape());
    auto seed = parseInteger(line.get("seed", "0"));
    auto threads = parseInteger(line.get("threads", "0"));
    auto repeat = parseInteger(line.get("repeat", "1"));
    std::string completion = line.get("completion", "eager");
    if (!shape || !seed || !threads || !repeat || *repeat < 1 ||
        (completion != "eager" && completion != "latest" && completion != "random")) {
      error("a value of --shape, --seed, --threads, --repeat or --completion cannot be read");
      return 2;
    }
    LaunchOptions launch;
    launch.seed = static_cast<uint64_t>(*seed);
    launch.threads = static_cast<int>(*threads);
    launch.completion = completion == "latest"   ? Completion::Latest
                        : completion == "random" ? Completion::Random
                                                 : Completion::Eager;
    MadeArguments arguments =
        make_arguments(kernel.arguments(), *shape, Data::Exact, static_cast<uint64_t>(*seed));
    diagnostics = arguments.diagnostics;
    if (!diagnostics.empty())
      return 2;
    double best = INFINITY;
    for (int64_t i = 0; i < *repeat; ++i) {
      auto start = std::chrono::steady_clock::now();
      diagnostics = kernel.launch(arguments.arguments, launch);
      std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      best = std::min(best, time.count());
      if (!diagnostics.empty())
        return 1;
    }
    std::printf("%s  %.3f ms\n", line.words[1].c_str(), best * 1e3);
    return line.has("check") ? check(kernel, *shape, static_cast<uint64_t>(*seed)) : 0;
  }

  int check(const AnyKernel &kernel, const Shape &shape, uint64_t seed) {
    InspectOptions reference = options;
    reference.target = Target::interpreter();
    std::swap(options, reference);
    AnyKernel judge = compiled();
    std::swap(options, reference);
    if (!judge)
      return 1;
    MadeArguments ours = make_arguments(kernel.arguments(), shape, Data::Exact, seed);
    MadeArguments theirs = make_arguments(kernel.arguments(), shape, Data::Exact, seed);
    diagnostics = kernel.launch(ours.arguments);
    if (diagnostics.empty())
      diagnostics = judge.launch(theirs.arguments);
    if (!diagnostics.empty())
      return 1;
    double worst = 0, tolerance = std::strtod(line.get("tolerance", "1e-2").c_str(), nullptr);
    for (size_t i = 0; i < ours.arguments.size(); ++i) {
      const detail::Argument &a = ours.arguments[i], &b = theirs.arguments[i];
      size_t elements = a.tensor ? 1 : 0;
      for (int64_t size : a.sizes)
        elements *= static_cast<size_t>(size);
      for (size_t e = 0; e < elements; ++e) {
        double x = element_at(a, e), y = element_at(b, e);
        if (x == y || (std::isnan(x) && std::isnan(y)))
          continue;
        double difference = std::fabs(x - y) / (1 + std::fabs(y));
        worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
      }
    }
    std::printf("largest difference from the interpreter  %g  (allowed %g)\n", worst, tolerance);
    if (worst > tolerance)
      error("the results differ from the interpreter's");
    return worst > tolerance;
  }

  const CommandSpec &command;
  CommandLine line;
  InspectOptions options;
  std::string text;
  std::string architecture = "sm_90a"; ///< of explain and trace
  std::vector<Diagnostic> diagnostics;
};

int help(FILE *out) {
  std::fprintf(out, "penstock: looks at, compiles and runs tile kernels\n\n");
  for (const CommandSpec &command : commands)
    std::fprintf(out, "  %-9s%s\n", command.name, command.summary);
  std::fprintf(out, "\n`penstock COMMAND --help` shows a command's options and an example.\n");
  return out == stdout ? 0 : 2;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    return help(stderr);
  std::string name = argv[1];
  if (name == "--help" || name == "help")
    return help(stdout);
  for (const CommandSpec &command : commands) {
    if (name != command.name)
      continue;
    CommandLine line = parseCommandLine(command, argc - 2, argv + 2);
    if (line.has("help")) {
      std::fputs(helpOf(command).c_str(), stdout);
      return 0;
    }
    if (!line.error.empty()) {
      std::fprintf(stderr, "penstock %s: %s\n`penstock %s --help` lists the options.\n",
                   command.name, line.error.c_str(), command.name);
      return 2;
    }
    if (name == checkCommand().name)
      return runCheck(line);
    if (name == mutateCommand().name)
      return runMutate(line);
    return Tool(command, std::move(line)).run();
  }
  std::fprintf(stderr, "penstock: there is no command `%s`\n", name.c_str());
  return help(stderr);
}
