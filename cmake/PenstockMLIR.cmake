# LLVM/MLIR 22.1 as installed by Debian, through its shared libraries, plus one
# precompiled header that all libraries above MLIR share: without it each file
# spends seconds on parsing the same headers.
find_package(MLIR 22.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(PenstockMLIR INTERFACE)
target_include_directories(PenstockMLIR SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
# Table generation takes its include path from the directory.
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS})
target_include_directories(PenstockMLIR INTERFACE "${PROJECT_BINARY_DIR}/lib")
target_compile_definitions(PenstockMLIR INTERFACE ${LLVM_DEFINITIONS_LIST})
target_link_libraries(PenstockMLIR INTERFACE MLIR LLVM)

add_library(PenstockPCH STATIC "${PENSTOCK_PCH_SOURCE}")
target_link_libraries(PenstockPCH PUBLIC PenstockMLIR)
target_precompile_headers(PenstockPCH PRIVATE "${PROJECT_SOURCE_DIR}/cmake/MLIRHeaders.h")

# penstock_mlir_library(Name SOURCES a.cpp ... [LINK lib ...] [DEPENDS target ...])
function(penstock_mlir_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  penstock_library(${name} SOURCES ${ARG_SOURCES} LINK ${ARG_LINK} PenstockMLIR PCH PenstockPCH)
  if(ARG_DEPENDS)
    add_dependencies(Penstock${name} ${ARG_DEPENDS})
  endif()
endfunction()

function(penstock_use_pch target)
  # One header serves libraries and programs alike, so all are built as PIC.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM PenstockPCH)
endfunction()
