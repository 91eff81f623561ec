# C-Raft: the target Raft::raft. Debian 12's package has no CMake package.

find_path(Raft_INCLUDE raft.h)
find_library(Raft_LIBRARY raft)
mark_as_advanced(Raft_INCLUDE Raft_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Raft REQUIRED_VARS Raft_LIBRARY Raft_INCLUDE)
if(Raft_FOUND AND NOT TARGET Raft::raft)
  add_library(Raft::raft UNKNOWN IMPORTED)
  set_target_properties(Raft::raft PROPERTIES IMPORTED_LOCATION "${Raft_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                                  "${Raft_INCLUDE}")
endif()
