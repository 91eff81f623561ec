# One step of the consumer tests; the variables come from CMakeLists.txt in this folder.

cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Configures, builds and runs one of the projects here.
function(build_project folder)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${folder} -B ${WORK} -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC}
      -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Release ${ARGN})
  run(${CMAKE_COMMAND} --build ${WORK})
  run(${WORK}/transfer)
endfunction()

# Compiles and runs one source file with what pkg-config says, as a Makefile would.
function(compile_by_pkg_config source)
  set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} --modversion tutti OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT version STREQUAL VERSION)
    message(FATAL_ERROR "tutti.pc says version ${version}, the project ${VERSION}")
  endif()
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs tutti OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  file(MAKE_DIRECTORY ${WORK})
  run(${ARGN} ${CMAKE_CURRENT_LIST_DIR}/${source} -o ${WORK}/transfer ${flags})
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${PREFIX}/${LIBDIR} ${WORK}/transfer)
endfunction()

file(REMOVE_RECURSE ${WORK})
if(STEP STREQUAL "install")
  file(REMOVE_RECURSE ${PREFIX})
  # A DESTDIR of whoever runs the tests would put everything somewhere else.
  unset(ENV{DESTDIR})
  run(${CMAKE_COMMAND} --install ${TUTTI_BUILD} --prefix ${PREFIX})
elseif(STEP STREQUAL "find_package_cpp")
  build_project(cpp -DCMAKE_PREFIX_PATH=${PREFIX} -DWANTED=${VERSION})
elseif(STEP STREQUAL "find_package_c")
  build_project(c -DCMAKE_PREFIX_PATH=${PREFIX} -DWANTED=${VERSION})
elseif(STEP STREQUAL "pkg_config_cpp")
  compile_by_pkg_config(cpp/transfer.cpp ${CXX} -std=c++20 -O2 -Wall -Wextra -Werror)
elseif(STEP STREQUAL "pkg_config_c")
  compile_by_pkg_config(c/transfer.c ${CC} -std=c11 -O2 -Wall -Wextra -Werror)
elseif(STEP STREQUAL "subdirectory")
  build_project(subdirectory -DTUTTI_SOURCE=${TUTTI_SOURCE})
else()
  message(FATAL_ERROR "there is no step '${STEP}'")
endif()
