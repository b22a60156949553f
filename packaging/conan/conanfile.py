"""Recipe of Conan 2. Untested: LLVM 22.1 with MLIR has to be on the system, as Conan has no such package."""

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Penstock(ConanFile):
    name = "penstock"
    version = "0.1.0"
    license = "Apache-2.0 WITH LLVM-exception"
    description = "A C++ library and compiler for tile-level kernels"
    settings = "os", "compiler", "build_type", "arch"
    package_type = "shared-library"

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md", "cmake/*", "docs/*", "examples/*", "include/*",
                        "lib/*", "packaging/*", "tools/*"):
            copy(self, pattern, f"{self.recipe_folder}/../..", self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(PENSTOCK_BUILD_TESTS="OFF", PENSTOCK_BUILD_BENCHMARKS="OFF")
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/Penstock"]
        self.cpp_info.libs = ["penstock"]
