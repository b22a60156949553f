# The installed package: headers, the shared library, the tools, documentation, and
# configurations for CMake and pkg-config that need no LLVM.
include(CMakePackageConfigHelpers)

install(TARGETS penstock EXPORT PenstockTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)
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

# Relative to its own folder, so that the package can be moved.
file(RELATIVE_PATH PENSTOCK_PC_PREFIX
  "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/penstock.pc.in" "${CMAKE_BINARY_DIR}/penstock.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/penstock.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME doc)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md"
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")

# `cpack` in a build of the preset `package` writes Debian packages.
if(PENSTOCK_STATIC_LLVM)
  include(PenstockPackages)
endif()
