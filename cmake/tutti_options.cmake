# Options, and the flags for every target of a top-level build.
#
# AUTO parts are built if their dependencies are found. `./dev` requests them with ON, so that a missing package is an
# error instead of a silently smaller build.

# If Tutti is part of another project, that project decides.
if(PROJECT_IS_TOP_LEVEL)
  option(BUILD_SHARED_LIBS "Build libtutti as a shared library" ON)
endif()
option(TUTTI_INSTALL "Make `cmake --install` install Tutti" ${PROJECT_IS_TOP_LEVEL})
option(TUTTI_CHECK "Assert every invariant (defines TUTTI_CHECK=1)" OFF)
option(TUTTI_WERROR "Treat warnings as errors" OFF)
option(TUTTI_EXAMPLES "Build examples/" ON)
set(TUTTI_TESTS AUTO CACHE STRING "Build tests/ (needs GoogleTest and RapidCheck)")
set(TUTTI_TEST_FOLDERS "" CACHE STRING "Folders of tests/ to build, or nothing for all")
set(TUTTI_BENCH AUTO CACHE STRING "Build bench/ (needs Google Benchmark and CLI11)")
set(TUTTI_APPS AUTO CACHE STRING "Build apps/ (needs CLI11 and fmt; apps/swarm also libpng and giflib)")
set(TUTTI_SERVER AUTO CACHE STRING "Build src/server (needs OpenSSL, prometheus-cpp and SQLite) and tools/ (also CLI11, fmt, \
hiredis, nlohmann-json and toml++)")
set(TUTTI_CLUSTER AUTO CACHE STRING "Build src/cluster (needs Asio, cereal and prometheus-cpp)")
set(TUTTI_SANITIZE "" CACHE STRING "Sanitizers for every target, as -fsanitize takes them, or nothing")
set(TUTTI_TIMEOUT_SCALE 1 CACHE STRING "Factor for test timeouts; slow builds set it above 1")
set_property(CACHE TUTTI_TESTS TUTTI_APPS TUTTI_BENCH TUTTI_SERVER TUTTI_CLUSTER PROPERTY STRINGS AUTO ON OFF)
set_property(CACHE TUTTI_SANITIZE PROPERTY STRINGS "" address,undefined address thread undefined)

# tutti_compile_quickly(<source>...): for sources that run once but take long to compile, such as those with CLI11. The
# sources are compiled without optimisation, and without the sanitizer that trebles the time: a quarter to half of the
# time.
function(tutti_compile_quickly)
  set(options -O0)
  if(TUTTI_SANITIZE)
    list(APPEND options -fno-sanitize=undefined)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}")
endfunction()

# tutti_alone(<source>...): excludes these sources from compilation together with others (CMAKE_UNITY_BUILD), because
# other files use the same internal names.
function(tutti_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Programs installed under any prefix find our libraries there, without LD_LIBRARY_PATH. Packagers who do not want this
# set CMAKE_SKIP_INSTALL_RPATH.
include(GNUInstallDirs)
file(RELATIVE_PATH tutti_libraries_from_programs "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
set(CMAKE_INSTALL_RPATH "$ORIGIN/${tutti_libraries_from_programs}" "$ORIGIN")

# Headers are most of what a file compiles, so compiling eight files together takes half the time.
option(CMAKE_UNITY_BUILD "Compile up to eight files of a target at a time" ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
if(TUTTI_WERROR)
  set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
endif()
add_compile_options(-Wall -Wextra -Wconversion)
if(NOT CMAKE_UNITY_BUILD) # in a unity build, names of other files would cause warnings
  add_compile_options(-Wshadow)
endif()

# Processors up to Intel's 10th generation run a jump slowly if it touches the end of a 32-byte line (Intel:
# "Mitigations for Jump Conditional Code Erratum", 2019). Chance decides if a hot loop has such a jump, which cost up to
# a factor of 1.7. Builds that are never measured skip this option: aligning the jumps took clang two thirds of its time
# on a test under sanitizers.
include(CheckCXXCompilerFlag)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(even_jumps -Wa,-mbranches-within-32B-boundaries)
else()
  set(even_jumps -mbranches-within-32B-boundaries)
endif()
check_cxx_compiler_flag(${even_jumps} tutti_even_jumps)
if(tutti_even_jumps AND NOT TUTTI_SANITIZE)
  add_compile_options(${even_jumps})
endif()

# A procedure runs on a small stack. With this option a function touches every page of a large frame, from the top down.
# So a frame that is too large touches the guard pages below the stack and faults, instead of skipping them
# (src/preempt/stack.hpp).
check_cxx_compiler_flag(-fstack-clash-protection tutti_stack_probes)
if(tutti_stack_probes)
  set(tutti_procedure_options -fstack-clash-protection)
endif()

if(TUTTI_SANITIZE)
  add_compile_options(-fsanitize=${TUTTI_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TUTTI_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Not linked into each program. A linked-in runtime would override the operator new that some tests define. The
    # runtime's C++ part is left out of programs written in C, although our library needs it.
    add_link_options(-shared-libsan)
    execute_process(
      COMMAND "${CMAKE_CXX_COMPILER}" -print-resource-dir
      OUTPUT_VARIABLE resources
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND CMAKE_BUILD_RPATH "${resources}/lib/linux")
  endif()
endif()

find_program(TUTTI_CCACHE ccache)
mark_as_advanced(TUTTI_CCACHE)
if(TUTTI_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${TUTTI_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TUTTI_CCACHE}")
endif()

# tutti_wanted(<variable> <AUTO|ON|OFF> <package>...)
#
# Sets <variable> to whether a part is built. ON requires the packages; AUTO checks whether they exist. This is a macro,
# not a function, so that the variables of find_package() reach the caller.
macro(tutti_wanted variable state)
  set(${variable} ON)
  if("${state}" STREQUAL "AUTO")
    foreach(package IN ITEMS ${ARGN})
      find_package(${package} QUIET)
      if(NOT ${package}_FOUND)
        set(${variable} OFF)
        file(RELATIVE_PATH where "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
        message(STATUS "${where}/ is left out: ${package} was not found")
      endif()
    endforeach()
  elseif(${state})
    foreach(package IN ITEMS ${ARGN})
      find_package(${package} REQUIRED)
    endforeach()
  else()
    set(${variable} OFF)
  endif()
endmacro()
