# An overlay port, which builds the checkout that contains this file:
#   vcpkg install tutti --overlay-ports=<checkout>/packaging/vcpkg
cmake_path(GET CURRENT_PORT_DIR PARENT_PATH SOURCE_PATH)
cmake_path(GET SOURCE_PATH PARENT_PATH SOURCE_PATH)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DTUTTI_TESTS=OFF -DTUTTI_BENCH=OFF -DTUTTI_APPS=OFF -DTUTTI_SERVER=OFF -DTUTTI_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tutti)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
     "${CURRENT_PACKAGES_DIR}/share/gdb")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/tutti")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
