//===- BundleFiles.cpp - penstock compile --emit bundle -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BundleFiles.h"
#include "Bundle/Bundle.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "penstock/assemble.h"

#include <algorithm>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>

using namespace penstock;

extern char **environ;

namespace {

/// "Matmul:block_m=64,M<=128"
struct KernelSpec {
  std::string name, fields;
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<BundleBound> bounds;
};

bool parseItem(const std::string &item, KernelSpec &to) {
  if (size_t at = item.find_first_of("<>"); at != std::string::npos) {
    int64_t value = 0;
    if (at == 0 || item.compare(at + 1, 1, "=") != 0 ||
        !cli::parseInteger(item.substr(at + 2), value) || value < 0)
      return false;
    BundleBound bound;
    bound.size = item.substr(0, at);
    (item[at] == '<' ? bound.most : bound.least) = value;
    to.bounds.push_back(std::move(bound));
    return true;
  }
  to.fields += (to.fields.empty() ? "" : ",") + item;
  return cli::parsePairs(item, to.set);
}

bool parseSpec(const std::string &text, KernelSpec &to) {
  size_t colon = text.find(':');
  to.name = text.substr(0, colon);
  for (size_t begin = colon; begin < text.size();) {
    size_t end = std::min(text.find(',', begin + 1), text.size());
    if (!parseItem(text.substr(begin + 1, end - begin - 1), to))
      return false;
    begin = end;
  }
  return !to.name.empty();
}

class BundleWriter {
public:
  BundleWriter(Session &session, const std::string &output) : session(session), output(output) {
    bundle.name = output.substr(output.rfind('/') + 1);
  }

  bool add(const KernelSpec &spec) {
    InspectOptions base = session.options;
    session.kernel = spec.name;
    session.options.set.insert(session.options.set.end(), spec.set.begin(), spec.set.end());
    bool ok = true;
    for (const std::string &target : targetsOf())
      ok = ok && addFor(spec, target);
    session.options = base;
    return ok && exitCodeOf(session.diagnostics, 0) == 0;
  }

  bool write() {
    auto files = writeBundle(bundle, session.diagnostics);
    return files && session.write(output + ".h", files->header) &&
           session.write(output + ".c", files->source) &&
           session.write(output + ".json", files->json);
  }

  bool writeArchive() {
    const char *stated = getenv("CC");
    std::string compiler = stated && *stated ? stated : "cc", object = output + ".o",
                archive = output.substr(0, output.rfind('/') + 1) + "lib" + bundle.name + ".a";
    // Members of an earlier archive would stay in it.
    remove(archive.c_str());
    bool ok = run({compiler, "-std=c11", "-O2", "-fPIC", "-c", output + ".c", "-o", object}) &&
              run({"ar", "rcs", archive, object});
    remove(object.c_str());
    return ok;
  }

  /// Lines about the contents, for the user.
  std::string text;

private:
  std::vector<std::string> targetsOf() {
    if (session.target != "native")
      return {session.target};
    std::string required = requiredArchitecture(session);
    if (required.empty())
      return {"sm_90a", "sm_100a"};
    return {required};
  }

  bool addFor(const KernelSpec &spec, const std::string &target) {
    std::optional<Target> gpu = find_gpu(target);
    if (!gpu) {
      session.error(ToolUsage,
                    "bundles contain kernels for GPUs; `--target " + target + "` is not a GPU");
      return false;
    }
    session.options.target = *gpu;
    AnyKernel kernel = session.compiled();
    if (!kernel)
      return false;
    auto artifact = readArtifact(kernel.artifact(), session.diagnostics);
    if (!artifact || !addMachineCode(*artifact, *gpu))
      return false;
    text += spec.name + (spec.fields.empty() ? "" : " with " + spec.fields) + ", " + target + ": " +
            std::to_string(artifact->variants.size()) +
            (artifact->variants.size() == 1 ? " variant\n" : " variants\n");
    auto found = std::ranges::find(bundle.kernels, spec.name, &BundledKernel::name);
    if (found == bundle.kernels.end())
      found = bundle.kernels.insert(found, {spec.name, {}});
    found->configurations.push_back({std::move(*artifact), spec.bounds, spec.fields});
    return true;
  }

  bool addMachineCode(Artifact &artifact, Target gpu) {
    if (find_assembler().empty()) {
      if (text.find("ptxas") == std::string::npos)
        text += "ptxas is not installed: the bundle contains PTX only, which drivers compile\n";
      return true;
    }
    for (size_t i = 0; i < artifact.variants.size(); ++i) {
      Assembled code = assemble(artifact.variants[i].ptx, gpu, {.allow_slow_code = true});
      if (code.cubin.empty()) {
        session.diagnostics.insert(session.diagnostics.end(), code.diagnostics.begin(),
                                   code.diagnostics.end());
        return false;
      }
      artifact.cubins.push_back(
          {unsigned(i), artifact.variants[i].architecture, "ptxas", std::move(code.cubin)});
    }
    return true;
  }

  bool run(const std::vector<std::string> &words) {
    std::vector<char *> pointers;
    for (const std::string &word : words)
      pointers.push_back(const_cast<char *>(word.c_str()));
    pointers.push_back(nullptr);
    pid_t child = 0;
    int status = 0;
    int failed = posix_spawnp(&child, pointers[0], nullptr, nullptr, pointers.data(), environ);
    while (!failed && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!failed && WIFEXITED(status) && WEXITSTATUS(status) == 0)
      return true;
    session.error(ToolFile, "`" + words[0] + "` failed" +
                                (failed ? std::string(": ") + strerror(failed) : std::string()));
    session.diagnostics.back().helps.push_back(
        "--archive needs a C11 compiler, $CC or cc, and ar; without it, compile the .c file");
    return false;
  }

  Session &session;
  std::string output;
  Bundle bundle;
};

} // namespace

int compileBundle(Session &session, const std::vector<std::string> &kernels,
                  const std::string &output, bool archive) {
  std::vector<KernelSpec> specs;
  for (const std::string &text : kernels)
    if (!parseSpec(text, specs.emplace_back())) {
      session.error(ToolUsage,
                    "`" + text + "`: expected KERNEL or KERNEL:FIELD=VALUE,..,SIZE<=NUMBER,..");
      return session.finish(cli::usageExit);
    }
  if (!session.load())
    return session.finish(1);
  BundleWriter writer(session, output);
  for (const KernelSpec &spec : specs)
    if (!writer.add(spec))
      return session.finish(1);
  if (!writer.write() || (archive && !writer.writeArchive()))
    return session.finish(1);
  session.result(writer.text, JsonObject().text("bundle", output).str());
  return session.finish(0);
}
