# hiredis, the C client of Redis: the target Hiredis::hiredis. Debian 12's own CMake package of it does not configure.

find_path(Hiredis_INCLUDE hiredis/hiredis.h)
find_library(Hiredis_LIBRARY hiredis)
mark_as_advanced(Hiredis_INCLUDE Hiredis_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hiredis REQUIRED_VARS Hiredis_LIBRARY Hiredis_INCLUDE)
if(Hiredis_FOUND AND NOT TARGET Hiredis::hiredis)
  add_library(Hiredis::hiredis UNKNOWN IMPORTED)
  set_target_properties(Hiredis::hiredis PROPERTIES IMPORTED_LOCATION "${Hiredis_LIBRARY}"
                                                    INTERFACE_INCLUDE_DIRECTORIES "${Hiredis_INCLUDE}")
endif()
