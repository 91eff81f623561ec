# C-Raft: the target Raft::raft. Debian 12's package has no CMake package.

find_path(Raft_INCLUDE raft.h)
find_library(Raft_LIBRARY raft)
find_file(Raft_DESCRIPTION raft.pc PATH_SUFFIXES lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig lib/pkgconfig)
mark_as_advanced(Raft_INCLUDE Raft_LIBRARY Raft_DESCRIPTION)
if(Raft_DESCRIPTION)
  file(STRINGS "${Raft_DESCRIPTION}" Raft_VERSION REGEX "^Version:")
  string(REGEX REPLACE "^Version: *" "" Raft_VERSION "${Raft_VERSION}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Raft REQUIRED_VARS Raft_LIBRARY Raft_INCLUDE VERSION_VAR Raft_VERSION)
if(Raft_FOUND AND NOT TARGET Raft::raft)
  add_library(Raft::raft UNKNOWN IMPORTED)
  set_target_properties(Raft::raft PROPERTIES IMPORTED_LOCATION "${Raft_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                                  "${Raft_INCLUDE}")
endif()
