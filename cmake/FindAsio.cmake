# Asio without Boost (headers only): the target Asio::asio. Debian's package brings no CMake file.

find_path(Asio_INCLUDE asio.hpp)
mark_as_advanced(Asio_INCLUDE)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Asio REQUIRED_VARS Asio_INCLUDE)
if(Asio_FOUND AND NOT TARGET Asio::asio)
  find_package(Threads REQUIRED)
  add_library(Asio::asio INTERFACE IMPORTED)
  set_target_properties(Asio::asio PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Asio_INCLUDE}")
  target_compile_definitions(Asio::asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED)
  target_link_libraries(Asio::asio INTERFACE Threads::Threads)
endif()
