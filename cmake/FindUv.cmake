# libuv: the target Uv::uv, whatever name its own CMake package has given it.

find_path(Uv_INCLUDE uv.h)
find_library(Uv_LIBRARY uv)
mark_as_advanced(Uv_INCLUDE Uv_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Uv REQUIRED_VARS Uv_LIBRARY Uv_INCLUDE)
if(Uv_FOUND AND NOT TARGET Uv::uv)
  add_library(Uv::uv UNKNOWN IMPORTED)
  set_target_properties(Uv::uv PROPERTIES IMPORTED_LOCATION "${Uv_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                                  "${Uv_INCLUDE}")
endif()
