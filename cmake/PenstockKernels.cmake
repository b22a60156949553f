# penstock_add_kernels(name a.cpp ...): a shared library of registered kernels
# that the `penstock` tool can load.
function(penstock_add_kernels name)
  add_library(${name} SHARED ${ARGN})
  target_link_libraries(${name} PUBLIC Penstock::penstock)
  # Kernels of one name in two libraries would share C++ symbols otherwise.
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()
