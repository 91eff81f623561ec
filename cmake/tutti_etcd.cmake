# tutti_etcd_messages: the code generated from src/cluster/backend/etcd.proto. The code is compiled with the flags of
# its user, but without our warnings. The target does not exist if gRPC or its compilers are not found.

find_package(Protobuf QUIET)
find_program(TUTTI_GRPC_PLUGIN grpc_cpp_plugin)
mark_as_advanced(TUTTI_GRPC_PLUGIN)
find_package(Threads REQUIRED) # gRPC's package names its target
# gRPC's own package is tried first, because CMake's queries to pkg-config about Abseil's libraries take 16 seconds.
block(PROPAGATE gRPC_FOUND)
  set(CMAKE_MESSAGE_LOG_LEVEL NOTICE) # the package does not pass QUIET on to its dependencies
  find_package(gRPC CONFIG QUIET)
endblock()
set(grpc gRPC::grpc++)
if(NOT gRPC_FOUND)
  set(grpc PkgConfig::tutti_grpc)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(tutti_grpc QUIET IMPORTED_TARGET grpc++)
  endif()
endif()
if(NOT Protobuf_FOUND OR NOT Protobuf_PROTOC_EXECUTABLE OR NOT TUTTI_GRPC_PLUGIN OR NOT TARGET ${grpc})
  return()
endif()
set(from "${PROJECT_SOURCE_DIR}/src/cluster/backend")
set(to "${PROJECT_BINARY_DIR}/src/cluster/backend/messages")
file(MAKE_DIRECTORY "${to}")
add_custom_command(
  OUTPUT "${to}/etcd.pb.cc" "${to}/etcd.pb.h" "${to}/etcd.grpc.pb.cc" "${to}/etcd.grpc.pb.h"
  COMMAND ${Protobuf_PROTOC_EXECUTABLE} "--proto_path=${from}" "--cpp_out=${to}" "--grpc_out=${to}"
          "--plugin=protoc-gen-grpc=${TUTTI_GRPC_PLUGIN}" "${from}/etcd.proto"
  DEPENDS "${from}/etcd.proto"
  COMMENT "Generating the messages of etcd"
  VERBATIM)
add_library(tutti_etcd_messages STATIC "${to}/etcd.pb.cc" "${to}/etcd.grpc.pb.cc")
target_include_directories(tutti_etcd_messages SYSTEM PUBLIC "${to}")
target_compile_options(tutti_etcd_messages PRIVATE -w)
target_link_libraries(tutti_etcd_messages PUBLIC protobuf::libprotobuf-lite ${grpc})
set_target_properties(tutti_etcd_messages PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                     VISIBILITY_INLINES_HIDDEN ON)
