# Compiler settings shared by every target, and the helpers that declare our
# libraries and tests, so that a folder's CMakeLists.txt only lists its files.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported()
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithAsserts CACHE STRING "" FORCE)
endif()
# Our asserts stay on in the builds that tests use; they guard our own
# invariants, never a user's input.
set(CMAKE_CXX_FLAGS_RELWITHASSERTS "-O2 -gline-tables-only")
set(CMAKE_C_FLAGS_RELWITHASSERTS "-O2 -gline-tables-only")

if(PENSTOCK_STATIC_LLVM)
  # So that the linker can drop functions that nothing uses.
  add_compile_options(-ffunction-sections -fdata-sections)
  # Packages are equal byte for byte wherever they are built: no path of the machine is in them.
  # The last option that matches applies.
  add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/="
                      "-ffile-prefix-map=${CMAKE_BINARY_DIR}/=build/")
endif()

option(PENSTOCK_WERROR "Treat warnings as errors" OFF)
add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(PENSTOCK_WERROR)
  add_compile_options(-Werror)
endif()

find_program(PENSTOCK_LLD NAMES ld.lld-22 ld.lld)
if(PENSTOCK_LLD AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_link_options(-fuse-ld=lld)
endif()
find_program(PENSTOCK_CCACHE ccache)
if(PENSTOCK_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${PENSTOCK_CCACHE})
endif()

if(PENSTOCK_SANITIZE)
  add_compile_options(-fsanitize=${PENSTOCK_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -fno-sanitize=vptr,function)
  add_link_options(-fsanitize=${PENSTOCK_SANITIZE} -fno-sanitize=vptr,function)
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # ccache cannot reuse a precompiled header that carries its own time stamp.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
# What is precompiled lives in a library without code of its own.
set(PENSTOCK_PCH_SOURCE "${CMAKE_BINARY_DIR}/pch.cpp")
file(CONFIGURE OUTPUT "${PENSTOCK_PCH_SOURCE}" CONTENT "// See CMakeLists.txt.\n")
set(PENSTOCK_STANDARD_HEADERS "${PROJECT_SOURCE_DIR}/cmake/StandardHeaders.h")
add_library(PenstockStandardPCH STATIC "${PENSTOCK_PCH_SOURCE}")
target_precompile_headers(PenstockStandardPCH PRIVATE "${PENSTOCK_STANDARD_HEADERS}")

# penstock_library(Name SOURCES a.cpp ... [LINK other ...] [PCH target])
# An internal library. Its headers lie beside its sources and are included as
# "Name/Header.h". PCH owns the precompiled header, by default the standard library's.
function(penstock_library name)
  cmake_parse_arguments(ARG "" "PCH" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_PCH)
    set(ARG_PCH PenstockStandardPCH)
  endif()
  add_library(Penstock${name} STATIC ${ARG_SOURCES})
  target_include_directories(Penstock${name} PUBLIC
    "${PROJECT_SOURCE_DIR}/lib" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(Penstock${name} PUBLIC ${ARG_LINK})
  target_precompile_headers(Penstock${name} REUSE_FROM ${ARG_PCH})
endfunction()

# What most tests include, compiled once for all of them.
if(PENSTOCK_BUILD_TESTS)
  find_package(GTest REQUIRED)
  add_library(PenstockTestPCH STATIC "${PENSTOCK_PCH_SOURCE}")
  target_link_libraries(PenstockTestPCH PUBLIC GTest::gmock GTest::gtest)
  target_compile_options(PenstockTestPCH PRIVATE -O0 -fPIE)
  target_precompile_headers(PenstockTestPCH PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endif()

# penstock_unittest(Name SOURCES a.cpp ... [LINK lib ...] [LABEL label] [HEADER h]
#                   [OPTIMIZED] [ENVIRONMENT name=value])
# A GoogleTest binary whose cases ctest knows one by one. Only tests that compute much
# themselves are worth optimizing, and only where many files include HEADER is a
# precompiled header of their own.
function(penstock_unittest name)
  cmake_parse_arguments(ARG "OPTIMIZED" "LABEL;HEADER;ENVIRONMENT" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest GTest::gtest_main)
  list(LENGTH ARG_SOURCES files)
  if(NOT ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if(NOT ARG_OPTIMIZED AND NOT ARG_HEADER)
    target_precompile_headers(${name} REUSE_FROM PenstockTestPCH)
  elseif(files GREATER 2)
    target_precompile_headers(${name} PRIVATE <gmock/gmock.h> <gtest/gtest.h> ${ARG_HEADER})
  endif()
  gtest_discover_tests(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 600
                       ENVIRONMENT "${ARG_ENVIRONMENT}" DISCOVERY_TIMEOUT 60)
endfunction()
