# penstock_add_kernels(name a.cpp ...): a shared library of registered kernels
# that the `penstock` tool can load.
function(penstock_add_kernels name)
  add_library(${name} SHARED ${ARGN})
  target_link_libraries(${name} PUBLIC Penstock::penstock)
endfunction()
