# LLVM/MLIR 22.1 as installed by Debian, through its shared libraries or, with
# PENSTOCK_STATIC_LLVM, through its archives; plus one precompiled header that all
# libraries above MLIR share: without it each file spends seconds on parsing the same headers.
if(PENSTOCK_STATIC_LLVM)
  # LLVM's archives name these two as shared libraries, which a package cannot rely on.
  set(ZLIB_USE_STATIC_LIBS ON)
  find_library(PENSTOCK_ZSTD NAMES libzstd.a REQUIRED)
  add_library(zstd::libzstd_shared STATIC IMPORTED)
  set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION "${PENSTOCK_ZSTD}")
endif()
find_package(MLIR 22.1 REQUIRED CONFIG)
if(PENSTOCK_STATIC_LLVM)
  # MLIR's archives name LLVM's shared library. LLVM's name Z3, which nothing that we use needs.
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
    if(libraries)
      list(FILTER libraries EXCLUDE REGEX "^LLVM$|\\$<LINK_ONLY:LLVM>|libz3")
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
    endif()
  endforeach()
endif()
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
if(PENSTOCK_STATIC_LLVM)
  # What our code calls; the archives name what they need themselves.
  llvm_map_components_to_libnames(libraries
    BitReader BitWriter Core ExecutionEngine IRPrinter JITLink MC NVPTX OrcJIT Passes Support Target
    TargetParser X86)
  target_link_libraries(PenstockMLIR INTERFACE
    MLIRAffineToStandard MLIRAnalysis MLIRArithToLLVM MLIRArithTransforms MLIRBuiltinToLLVMIRTranslation
    MLIRBytecodeWriter MLIRControlFlowToLLVM MLIRFuncAllExtensions MLIRFuncToLLVM MLIRLLVMDialect
    MLIRLLVMIRTransforms MLIRLLVMToLLVMIRTranslation MLIRMathToLLVM MLIRMathToLibm MLIRMathTransforms
    MLIRMemRefToLLVM MLIRMemRefTransforms MLIRParser MLIRPass MLIRSCFToControlFlow MLIRSCFUtils
    MLIRTargetLLVMIRExport MLIRTransforms MLIRVectorDialect MLIRVectorToLLVM ${libraries})
else()
  target_link_libraries(PenstockMLIR INTERFACE MLIR LLVM)
endif()

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
