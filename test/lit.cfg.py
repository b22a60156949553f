# One configuration for all folders with .ll, .mlir and .test files.
import os
import lit.formats

config.name = "Penstock"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".ll", ".mlir", ".test"]
config.excludes = ["consumer", "docs", "quickstart", "diagnostics", "Inputs"]
config.environment["PATH"] = os.pathsep.join(config.tools + [os.environ["PATH"]])
# lit does not pass on the environment of ctest.
config.environment["PENSTOCK_CACHE_DIR"] = os.path.join(config.test_exec_root, "lit-cache")
if config.exact_solver:
    config.available_features.add("exact-solver")
config.substitutions.append(("%lib", config.build_lib))
config.substitutions.append(("%source", config.test_source_root))
