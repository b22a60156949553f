# Untested: written where vcpkg is not available. It is an overlay port of this checkout:
#   vcpkg install penstock --overlay-ports=packaging/vcpkg
set(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../..")
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DPENSTOCK_BUILD_TESTS=OFF -DPENSTOCK_BUILD_BENCHMARKS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME Penstock CONFIG_PATH lib/cmake/Penstock)
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES penstock penstock-emu AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
