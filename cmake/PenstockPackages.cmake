# Debian packages: library, development files, tools, emulator. `packaging/build-debs` writes
# them; `packaging/check-debs` runs lintian and uses them in a chroot.
set(soname "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(version "${PROJECT_VERSION}-1")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_PACKAGE_CONTACT "Penstock developers <penstock@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # the first line of each description
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_COMPONENTS_ALL library dev tools emulator)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE penstock)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_BINARY_DIR}/lib" "${CMAKE_BINARY_DIR}/lib/cuda-shim")
set(CPACK_STRIP_FILES ON)
# Directories of packages have the mode that Debian's policy demands, for any umask.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME "libpenstock${soname}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "compiler for tile-level kernels, shared library
Penstock compiles kernels over tiles to code for CPUs and for GPUs with
tensor cores, in the process that launches them.
.
This package has the shared library; LLVM is part of it.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libpenstock-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libpenstock${soname} (= ${version})")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "penstock-emu (= ${version})") # has the library of penstock_emu.h
set(CPACK_COMPONENT_DEV_DESCRIPTION "compiler for tile-level kernels, development files
Penstock compiles kernels over tiles to code for CPUs and for GPUs with
tensor cores, in the process that launches them.
.
This package has headers and the files for CMake and pkg-config.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME penstock-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libpenstock${soname} (= ${version})")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "compiler for tile-level kernels, command line
Penstock compiles kernels over tiles to code for CPUs and for GPUs with
tensor cores, in the process that launches them.
.
This package has the tool that prints, checks, tunes and runs kernels.")
set(CPACK_DEBIAN_EMULATOR_PACKAGE_NAME penstock-emu)
set(CPACK_DEBIAN_EMULATOR_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_EMULATOR_PACKAGE_DEPENDS "python3:any")
set(CPACK_COMPONENT_EMULATOR_DESCRIPTION "PTX emulator with a race checker
Runs kernels and CUDA programs without a GPU and reports data races, missing
fences, deadlocks and invalid accesses.
.
This package has the tool, a library for C, and an emulated CUDA driver.")

# Libraries in the loader's path. CPack would also offer the emulated driver to other packages.
function(penstock_loaded_library component name)
  string(TOUPPER ${component} upper)
  set(control "${CMAKE_BINARY_DIR}/packaging/${component}")
  file(WRITE "${control}/shlibs" "${name} ${soname} ${CPACK_DEBIAN_${upper}_PACKAGE_NAME} (>= ${version})\n")
  file(WRITE "${control}/triggers" "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${control}/shlibs;${control}/triggers" PARENT_SCOPE)
endfunction()
penstock_loaded_library(library libpenstock)
penstock_loaded_library(emulator libpenstock_emu)

# Each package has a copyright file and a changelog. Compressed files have no time of their own.
function(penstock_compress from to)
  execute_process(COMMAND gzip -9nc "${from}" OUTPUT_FILE "${to}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()
set(packaging "${PROJECT_SOURCE_DIR}/packaging")
set(compressed "${CMAKE_BINARY_DIR}/packaging")
file(MAKE_DIRECTORY "${compressed}")
penstock_compress("${packaging}/debian/changelog" "${compressed}/changelog.Debian.gz")
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package "${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  install(FILES "${packaging}/debian/copyright" "${compressed}/changelog.Debian.gz"
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  install(FILES "${packaging}/debian/${package}.lintian-overrides"
    DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT ${component} RENAME ${package})
endforeach()
foreach(page penstock:tools penstock-emu:emulator penstock-nvcc:emulator)
  string(REPLACE ":" ";" page ${page})
  list(GET page 0 name)
  list(GET page 1 component)
  penstock_compress("${packaging}/man/${name}.1" "${compressed}/${name}.1.gz")
  install(FILES "${compressed}/${name}.1.gz" DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
endforeach()
include(CPack)
