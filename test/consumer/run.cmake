# Builds a project outside of the tree against an installed copy of the package
# and runs it. -DPROJECT= -DINSTALL= -DWORK= -DBUILD= -DCXX=
if(NOT EXISTS "${INSTALL}/include/penstock/penstock.h")
  message(FATAL_ERROR "the package is not installed in ${INSTALL}")
endif()
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
# The sources are copied away, so that nothing of the tree is found by accident.
get_filename_component(parent "${PROJECT}" DIRECTORY)
get_filename_component(name "${PROJECT}" NAME)
file(COPY "${parent}/" DESTINATION "${WORK}/src")
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGV} failed with ${code}:\n${out}\n${err}")
  endif()
endfunction()
run("${CMAKE_COMMAND}" -S "${WORK}/src/${name}" -B "${WORK}/build" -G Ninja
    -DCMAKE_PREFIX_PATH=${INSTALL} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_CXX_FLAGS=-Wall\ -Wextra\ -Werror -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
file(READ "${WORK}/build/compile_commands.json" commands)
if(commands MATCHES "llvm")
  message(FATAL_ERROR "LLVM is on the include path of a consumer:\n${commands}")
endif()
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${WORK}/build/consumer")
if(EXISTS "${WORK}/build/libconsumer_kernels.so")
  run("${INSTALL}/bin/penstock" run "${WORK}/build/libconsumer_kernels.so" Scale
      --shape n=1000,factor=2 --check)
endif()
message(STATUS "${name} with ${CXX}: ok")
