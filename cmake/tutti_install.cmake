# The files that `cmake --install` installs, and their places: the library, its headers, the CMake package, tutti.pc,
# the documents and the man pages. Optional parts install themselves and their man pages: libitm.so.1, the wrappers, the
# server, the command.

include(CMakePackageConfigHelpers)

set(tutti_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tutti")

install(
  TARGETS tutti
  EXPORT tuttiTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/include/"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING
  PATTERN "*.hpp"
  PATTERN "*.h"
  PATTERN "tutti/server" EXCLUDE
  PATTERN "tutti/cluster" EXCLUDE)
install(EXPORT tuttiTargets NAMESPACE tutti:: DESTINATION "${tutti_package_dir}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/tuttiConfig.cmake.in" "${PROJECT_BINARY_DIR}/tuttiConfig.cmake"
  INSTALL_DESTINATION "${tutti_package_dir}")
# Before 1.0 every minor version may break its users.
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/tuttiConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tuttiConfig.cmake" "${PROJECT_BINARY_DIR}/tuttiConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/tutti_enable_language_tm.cmake" DESTINATION "${tutti_package_dir}")

# A shared library loads its dependencies itself. A static library needs them in tutti.pc.
set(tutti_pc_cflags "")
if(tutti_procedure_options)
  string(APPEND tutti_pc_cflags " ${tutti_procedure_options}")
endif()
if(TUTTI_CHECK)
  string(APPEND tutti_pc_cflags " -DTUTTI_CHECK=1")
endif()
set(tutti_pc_libs_private "-lstdc++ ${CMAKE_THREAD_LIBS_INIT}")
if(TUTTI_LIBCXX)
  string(APPEND tutti_pc_cflags " -DTUTTI_LIBCXX=1")
  set(tutti_pc_libs_private "-lc++ ${CMAKE_THREAD_LIBS_INIT}")
endif()
if(BUILD_SHARED_LIBS)
  set(tutti_pc_libs "")
else()
  set(tutti_pc_libs " ${tutti_pc_libs_private}")
  set(tutti_pc_libs_private "")
endif()
# The prefix is relative to the file, because `cmake --install --prefix` may move the whole installation.
file(RELATIVE_PATH tutti_pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" tutti_pc_prefix "${tutti_pc_prefix}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/tutti.pc.in" "${PROJECT_BINARY_DIR}/tutti.pc.install" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tutti.pc.install" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        RENAME tutti.pc)

# Headers refer to the documents, and the documents to the licence.
file(GLOB tutti_documents CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/*.md" "${PROJECT_SOURCE_DIR}/docs/*.supp")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" ${tutti_documents} DESTINATION "${CMAKE_INSTALL_DOCDIR}")

foreach(section IN ITEMS 3 7)
  file(GLOB tutti_man_pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/man/*.${section}")
  install(FILES ${tutti_man_pages} DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}")
endforeach()

# gdb loads a script that is named after the library, from the data folder of a gdb under the same prefix.
if(BUILD_SHARED_LIBS)
  install(FILES "${PROJECT_SOURCE_DIR}/tools/gdb/tutti.py" DESTINATION "${CMAKE_INSTALL_DATADIR}/tutti/gdb")
  install(
    FILES "${PROJECT_SOURCE_DIR}/tools/gdb/tutti.py"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR}"
    RENAME "libtutti.so.${PROJECT_VERSION}-gdb.py")
endif()
