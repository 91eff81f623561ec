# libxcrypt, which hashes passwords: the target Crypt::crypt. Since 4.3 it can tell whether a hash is still considered
# safe.

find_path(Crypt_INCLUDE crypt.h)
find_library(Crypt_LIBRARY crypt)
mark_as_advanced(Crypt_INCLUDE Crypt_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Crypt REQUIRED_VARS Crypt_LIBRARY Crypt_INCLUDE)
if(Crypt_FOUND AND NOT TARGET Crypt::crypt)
  add_library(Crypt::crypt UNKNOWN IMPORTED)
  set_target_properties(Crypt::crypt PROPERTIES IMPORTED_LOCATION "${Crypt_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${Crypt_INCLUDE}")
endif()
