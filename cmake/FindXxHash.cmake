# xxHash, header only: the target XxHash::xxhash. Debian's package brings no CMake file.

find_path(XxHash_INCLUDE xxhash.h)
mark_as_advanced(XxHash_INCLUDE)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XxHash REQUIRED_VARS XxHash_INCLUDE)
if(XxHash_FOUND AND NOT TARGET XxHash::xxhash)
  add_library(XxHash::xxhash INTERFACE IMPORTED)
  set_target_properties(XxHash::xxhash PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${XxHash_INCLUDE}")
endif()
