//===- CompileCommand.cpp - penstock compile ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BundleFiles.h"
#include "Commands.h"
#include "Diagnostics/Json.h"
#include "RegisterMessages.h"

#include <algorithm>

using namespace penstock;

namespace {

struct CompileSession : Session {
  std::vector<std::string> kernels;
  std::string emit, output;
  bool archive = false;
};

int compile(CompileSession &session, const cli::Command &command) {
  if (session.emit == "bundle") {
    if (session.output == "-")
      return command.usageError("`--emit bundle` needs `--output NAME`: a bundle is several files");
    return compileBundle(session, session.kernels, session.output, session.archive);
  }
  if (session.archive)
    return command.usageError("`--archive` needs `--emit bundle`");
  if (session.kernels.size() > 1)
    return command.usageError("unexpected argument `" + session.kernels[1] +
                              "`: several kernels need `--emit bundle`");
  session.kernel = session.kernels[0];
  bool device = session.target.starts_with("sm_");
  std::vector<std::string> forms = {"tile"};
  if (device)
    forms.push_back("ptx");
  else if (session.target == "native")
    forms.insert(forms.end(), {"llvm", "asm"});
  std::string form = session.emit.empty() ? forms.back() : session.emit;
  if (std::find(forms.begin(), forms.end(), form) == forms.end())
    return command.usageError("`--emit " + form + "`: " + session.target + " has " +
                              (device                       ? "tile and ptx"
                               : session.target == "native" ? "tile, llvm and asm"
                                                            : "tile"));
  if (!session.load())
    return session.finish(1);
  AnyKernel kernel = session.compiled();
  if (!kernel)
    return session.finish(1);
  RegisterCheck registers = session.assemble(kernel);
  std::string result = form == "tile"   ? kernel.tile_program()
                       : form == "llvm" ? kernel.llvm_ir()
                       : form == "ptx"  ? kernel.ptx()
                                        : kernel.assembly();
  JsonObject json;
  json.text("kernel", session.kernel).text("target", session.target).text("form", form);
  if (device)
    json.json("registers", registersJson(registers));
  if (session.output == "-")
    session.result(result, json.text("text", result).str());
  else if (!session.write(session.output, result))
    return session.finish(1);
  else
    session.result("", json.text("file", session.output).str());
  return session.finish(0);
}

} // namespace

void addCompile(cli::Tool &tool) {
  auto session = std::make_shared<CompileSession>();
  cli::Command &command = tool.command(
      "compile",
      "Compiles a kernel and writes its code or IR, or with --emit bundle several as C files.",
      [session](const cli::Command &self) { return compile(*session, self); });
  session->declareCompile(command, session->kernels);
  command.choice("emit", {"tile", "llvm", "asm", "ptx", "bundle"},
                 "output form; default: asm, or ptx for a GPU", session->emit);
  session->output = "-";
  command
      .output("FILE", "output file; - is standard output. With --emit bundle: files without suffix",
              session->output)
      .flag("archive", "with --emit bundle: also compiles it with cc to libNAME.a",
            session->archive)
      .example("penstock compile libexample_kernels.so Matmul --emit asm -o matmul.s");
}
