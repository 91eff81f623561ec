# libzmq: the target ZeroMQ::zmq. Debian 12's package has no CMake package.

find_path(ZeroMQ_INCLUDE zmq.h)
find_library(ZeroMQ_LIBRARY zmq)
mark_as_advanced(ZeroMQ_INCLUDE ZeroMQ_LIBRARY)
if(ZeroMQ_INCLUDE)
  file(STRINGS "${ZeroMQ_INCLUDE}/zmq.h" parts REGEX "^#define ZMQ_VERSION_(MAJOR|MINOR|PATCH) ")
  list(TRANSFORM parts REPLACE "^.* " "")
  list(JOIN parts "." ZeroMQ_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZeroMQ REQUIRED_VARS ZeroMQ_LIBRARY ZeroMQ_INCLUDE VERSION_VAR ZeroMQ_VERSION)
if(ZeroMQ_FOUND AND NOT TARGET ZeroMQ::zmq)
  add_library(ZeroMQ::zmq UNKNOWN IMPORTED)
  set_target_properties(ZeroMQ::zmq PROPERTIES IMPORTED_LOCATION "${ZeroMQ_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                                     "${ZeroMQ_INCLUDE}")
endif()
