# The installed package: headers, the shared library, the tools and a CMake
# configuration that needs no LLVM.
include(CMakePackageConfigHelpers)

install(TARGETS penstock EXPORT PenstockTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/penstock"
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT PenstockTargets NAMESPACE Penstock::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Penstock)
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/PenstockConfig.cmake.in"
  "${CMAKE_BINARY_DIR}/PenstockConfig.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Penstock)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/PenstockConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_BINARY_DIR}/PenstockConfig.cmake"
  "${CMAKE_BINARY_DIR}/PenstockConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/PenstockKernels.cmake"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Penstock)
