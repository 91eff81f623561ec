# The library, and two variants of it that only tests link.
#
#   tutti             the library for users: shared by default, exports only the names of src/api/libtutti.map.in
#   tutti_internal    the same object files as a static library, for white-box tests that include headers of src/;
#                     they need hidden symbols, which a shared library does not export
#   tutti_interleave  the same sources with TUTTI_INTERLEAVE=1: a hook is called at every shared access

find_package(Threads REQUIRED)
include(CheckCXXSymbolExists)
set(TUTTI_TSAN OFF)
if(TUTTI_SANITIZE MATCHES "thread")
  set(TUTTI_TSAN ON)
endif()
check_cxx_symbol_exists(_LIBCPP_VERSION version TUTTI_LIBCXX)

file(
  GLOB tutti_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/src/base/*.cpp"
  "${PROJECT_SOURCE_DIR}/src/observe/*.cpp"
  "${PROJECT_SOURCE_DIR}/src/memory/*.cpp"
  "${PROJECT_SOURCE_DIR}/src/core/*/*.cpp"
  "${PROJECT_SOURCE_DIR}/src/hardware/*.cpp"
  "${PROJECT_SOURCE_DIR}/src/algorithms/*.cpp"
  "${PROJECT_SOURCE_DIR}/src/policies/*.cpp"
  "${PROJECT_SOURCE_DIR}/src/device/*.cpp"
  "${PROJECT_SOURCE_DIR}/src/api/*.cpp" "${PROJECT_SOURCE_DIR}/src/api/*/*.cpp")

# The preemption layer is part of the library, because the server and the objects that it loads must share one engine.
set(tutti_preempt_sources "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(TUTTI_PREEMPTS ON)
  file(GLOB tutti_preempt_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/preempt/*.cpp")
else()
  set(TUTTI_PREEMPTS OFF)
  message(STATUS "src/preempt/ is left out: it switches contexts by x86-64 instructions")
endif()

# These include kernel/uapi.h.
set(tutti_kernel_sources "${PROJECT_SOURCE_DIR}/src/preempt/kernel_device.cpp"
                         "${PROJECT_SOURCE_DIR}/src/device/device.cpp" "${PROJECT_SOURCE_DIR}/src/device/scheduler.cpp"
                         "${PROJECT_SOURCE_DIR}/src/device/serializer.cpp")
set_source_files_properties(${tutti_kernel_sources} PROPERTIES INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}")

# The compile settings of the engine's own translation units. The units are small, and their internal names differ, so
# sixteen are compiled together; elsewhere, eight are.
function(tutti_engine target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE TUTTI_BUILDING=1 TUTTI_VERSION_STRING="${PROJECT_VERSION}")
  # Begin and commit store many single words; combining two in a vector register takes longer than storing them.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition -fno-tree-slp-vectorize)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  set_target_properties(
    ${target}
    PROPERTIES CXX_EXTENSIONS OFF
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON
               UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# The compile settings of targets that include the public headers.
function(tutti_usage target)
  target_include_directories(
    ${target} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                     "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  # A checking library and its inlined half belong together, so users of the target need the macro, too.
  target_compile_definitions(${target} PUBLIC $<$<BOOL:${TUTTI_CHECK}>:TUTTI_CHECK=1>)
  # Users also need the macro for ThreadSanitizer: the headers annotate a library that is built without it.
  target_compile_definitions(${target} PUBLIC $<$<BOOL:${TUTTI_TSAN}>:TUTTI_TSAN=1>)
  # Users also need the same standard library, because its types are in the interface.
  target_compile_definitions(${target} PUBLIC $<$<BOOL:${TUTTI_LIBCXX}>:TUTTI_LIBCXX=1>)
endfunction()

# tutti_exports(<target> <map>): exports the names of the map from a shared library, each with its version. Hides
# instances of the standard library's templates, which otherwise have default visibility with all compile options.
function(tutti_exports target map)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "SHARED_LIBRARY")
    return()
  endif()
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}.map")
  configure_file("${map}" "${script}" @ONLY)
  # Never unloaded: its thread-local objects and its threads live as long as the process.
  target_link_options(${target} PRIVATE "LINKER:--version-script=${script}" "LINKER:-z,nodelete")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${script}")
endfunction()

tutti_alone("${PROJECT_SOURCE_DIR}/src/api/report/report.cpp")
if(BUILD_SHARED_LIBS)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/api/hooks/jumps.cpp" "${PROJECT_SOURCE_DIR}/src/api/hooks/cancel_type.cpp"
                              PROPERTIES COMPILE_DEFINITIONS TUTTI_IS_SHARED)
endif()
add_library(tutti_objects OBJECT ${tutti_sources} ${tutti_preempt_sources})
tutti_engine(tutti_objects)
tutti_usage(tutti_objects)
target_link_libraries(tutti_objects PRIVATE Threads::Threads)

# Before 1.0 every minor version may break its users, so each has its own soname for the dynamic linker.
set(tutti_soversion ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION VERSION_LESS 1.0)
  set(tutti_soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()

add_library(tutti $<TARGET_OBJECTS:tutti_objects>)
add_library(tutti::tutti ALIAS tutti)
tutti_usage(tutti)
# Not for users of an installation: a project without C++ may use the C interface; tuttiConfig.cmake checks that.
target_compile_features(tutti INTERFACE $<BUILD_INTERFACE:cxx_std_20>)
# Users of an installation may compile procedures with it.
target_compile_options(
  tutti INTERFACE "$<INSTALL_INTERFACE:$<$<COMPILE_LANG_AND_ID:C,GNU,Clang>:${tutti_procedure_options}>>"
                  "$<INSTALL_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:${tutti_procedure_options}>>")
target_link_libraries(tutti PRIVATE Threads::Threads)
tutti_exports(tutti "${PROJECT_SOURCE_DIR}/src/api/libtutti.map.in")
set_target_properties(
  tutti
  PROPERTIES VERSION ${PROJECT_VERSION}
             SOVERSION ${tutti_soversion}
             LINKER_LANGUAGE CXX)

add_library(tutti_internal STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tutti_objects>)
tutti_usage(tutti_internal)
target_include_directories(tutti_internal PUBLIC "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(tutti_internal PUBLIC Threads::Threads)
set_target_properties(tutti_internal PROPERTIES LINKER_LANGUAGE CXX)

add_library(tutti_interleave STATIC EXCLUDE_FROM_ALL ${tutti_sources})
tutti_engine(tutti_interleave)
tutti_usage(tutti_interleave)
target_compile_definitions(tutti_interleave PUBLIC TUTTI_INTERLEAVE=1)
target_include_directories(tutti_interleave PUBLIC "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(tutti_interleave PUBLIC Threads::Threads)
