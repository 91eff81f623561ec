# One step of the consumer tests; the variables come from CMakeLists.txt in this folder.

cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Writes the first C++ listing of a project document to a file.
function(write_listing document file)
  file(READ ${TUTTI_SOURCE}/${document} text)
  if(NOT text MATCHES "```cpp\n([^`]*)```")
    message(FATAL_ERROR "${document} has no listing")
  endif()
  file(WRITE ${file} "${CMAKE_MATCH_1}")
endfunction()

# Configures and builds one of the projects here.
function(build folder)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${folder} -B ${WORK} -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC}
      -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Release ${ARGN})
  # The number that ctest uses: ninja's default is one more than the processors.
  run(${CMAKE_COMMAND} --build ${WORK} --parallel 2)
endfunction()

# Also runs the program.
function(build_project folder)
  build(${folder} ${ARGN})
  run(${WORK}/transfer)
endfunction()

# Returns pkg-config's flags of the package as a list.
function(ask_pkg_config package result)
  set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} --modversion ${package} OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT version STREQUAL VERSION)
    message(FATAL_ERROR "${package}.pc says version ${version}, the project ${VERSION}")
  endif()
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs ${package} OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  # A procedure compiled without the probes may skip the pages below its stack.
  if(NOT "-fstack-clash-protection" IN_LIST flags)
    message(FATAL_ERROR "${package}.pc does not ask for probes of large frames: ${flags}")
  endif()
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()

# Compiles one source file with these flags as a Makefile would, and runs it.
function(compile_by_pkg_config package source)
  ask_pkg_config(${package} flags)
  file(MAKE_DIRECTORY ${WORK})
  run(${ARGN} ${CMAKE_CURRENT_LIST_DIR}/${source} -o ${WORK}/transfer ${flags})
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${PREFIX}/${LIBDIR} ${WORK}/transfer)
endfunction()

# Compiles restarts/ by ${CC} and ${CXX} with ${SANITIZER}, or without one if it is empty, and runs the program. If a
# sanitizer cannot run any program here, the test says so, and ctest counts it as skipped.
function(restart_under_sanitizer)
  set(flags -O1 -g -Wall -Wextra -Werror -I${PREFIX}/include)
  file(MAKE_DIRECTORY ${WORK})
  if(SANITIZER)
    list(APPEND flags -fsanitize=${SANITIZER})
    file(WRITE ${WORK}/empty.cpp "int main() {}\n")
    execute_process(COMMAND ${CXX} ${flags} ${WORK}/empty.cpp -o ${WORK}/empty RESULT_VARIABLE built)
    if(built EQUAL 0)
      execute_process(COMMAND ${WORK}/empty RESULT_VARIABLE ran)
    endif()
    if(NOT built EQUAL 0 OR NOT ran EQUAL 0)
      message(STATUS "not available: ${CXX} -fsanitize=${SANITIZER} builds and runs no empty program here")
      return()
    endif()
  endif()
  run(${CC} -std=c11 ${flags} -c ${CMAKE_CURRENT_LIST_DIR}/restarts/in_c.c -o ${WORK}/in_c.o)
  run(${CXX} -std=c++20 ${flags} ${CMAKE_CURRENT_LIST_DIR}/restarts/restarts.cpp ${WORK}/in_c.o -o ${WORK}/restarts
      -L${PREFIX}/${LIBDIR} -ltutti)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${PREFIX}/${LIBDIR} ${WORK}/restarts)
endfunction()

# Compiles sanitized/scheduler.cpp and the README's program with ThreadSanitizer, which must not report anything. The
# library is not instrumented, and its headers have annotations for this case.
function(run_under_thread_sanitizer)
  file(MAKE_DIRECTORY ${WORK})
  file(READ ${TUTTI_SOURCE}/README.md readme)
  if(NOT readme MATCHES "```cpp\n([^`]*int main[^`]*)```")
    message(FATAL_ERROR "README.md has no program")
  endif()
  file(WRITE ${WORK}/bank.cpp "${CMAKE_MATCH_1}")
  foreach(program IN ITEMS ${WORK}/bank.cpp ${CMAKE_CURRENT_LIST_DIR}/sanitized/scheduler.cpp)
    run(${CXX} -std=c++20 -O1 -g -fsanitize=thread -I${PREFIX}/include ${program} -o ${WORK}/program -L${PREFIX}/${LIBDIR}
        -ltutti)
    run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${PREFIX}/${LIBDIR} TSAN_OPTIONS=exitcode=66 ${WORK}/program)
  endforeach()
  # ThreadSanitizer finds a race of the program itself.
  run(${CXX} -std=c++20 -O1 -g -fsanitize=thread -I${PREFIX}/include ${CMAKE_CURRENT_LIST_DIR}/sanitized/racy.cpp -o
      ${WORK}/program -L${PREFIX}/${LIBDIR} -ltutti)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${PREFIX}/${LIBDIR} TSAN_OPTIONS=exitcode=66
                          ${WORK}/program RESULT_VARIABLE status)
  if(NOT status EQUAL 66)
    message(FATAL_ERROR "ThreadSanitizer does not find a race beside transactions: status ${status}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
if(STEP STREQUAL "install")
  file(REMOVE_RECURSE ${PREFIX})
  # A DESTDIR in the environment of the tests would install everything elsewhere.
  unset(ENV{DESTDIR})
  run(${CMAKE_COMMAND} --install ${TUTTI_BUILD} --prefix ${PREFIX})
  # Programs find the libraries beside them.
  unset(ENV{LD_LIBRARY_PATH})
  if(EXISTS ${PREFIX}/bin/tutti)
    run(${PREFIX}/bin/tutti --version)
  endif()
elseif(STEP STREQUAL "find_package_cpp")
  build_project(cpp -DCMAKE_PREFIX_PATH=${PREFIX} -DWANTED=${VERSION})
elseif(STEP STREQUAL "find_package_c")
  build_project(c -DCMAKE_PREFIX_PATH=${PREFIX} -DWANTED=${VERSION})
elseif(STEP STREQUAL "find_package_language")
  build_project(language -DCMAKE_PREFIX_PATH=${PREFIX} -DWANTED=${VERSION})
  run(${WORK}/record)
elseif(STEP STREQUAL "find_package_server")
  build_project(server -DCMAKE_PREFIX_PATH=${PREFIX} -DWANTED=${VERSION})
elseif(STEP STREQUAL "find_package_cluster")
  write_listing(docs/cluster.md ${WORK}/bank.cpp)
  build(cluster -DCMAKE_PREFIX_PATH=${PREFIX} -DWANTED=${VERSION} -DBANK=${WORK}/bank.cpp)
  run(${CMAKE_CURRENT_LIST_DIR}/cluster/bank.sh ${WORK}/transfer)
elseif(STEP STREQUAL "pkg_config_cluster")
  write_listing(docs/server-cluster.md ${WORK}/bank.cpp)
  ask_pkg_config(tutti-cluster flags)
  run(${CXX} -std=c++20 -shared -fPIC ${WORK}/bank.cpp ${flags} -o ${WORK}/bank.so)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${PREFIX}/${LIBDIR} TUTTI_CLUSTER_NODE_NUMBER=0 ${PREFIX}/bin/tutti serve
      ${WORK}/bank.so --check --cluster ${TUTTI_SOURCE}/docs/nodes.toml)
elseif(STEP STREQUAL "pkg_config_cpp")
  compile_by_pkg_config(tutti cpp/transfer.cpp ${CXX} -std=c++20 -O2 -Wall -Wextra -Werror)
elseif(STEP STREQUAL "pkg_config_c")
  compile_by_pkg_config(tutti c/transfer.c ${CC} -std=c11 -O2 -Wall -Wextra -Werror)
elseif(STEP STREQUAL "pkg_config_server")
  compile_by_pkg_config(tutti-server server/transfer.cpp ${CXX} -std=c++20 -O2 -Wall -Wextra -Werror)
elseif(STEP MATCHES "^annotated")
  run_under_thread_sanitizer()
elseif(STEP MATCHES "^restarts_")
  restart_under_sanitizer()
elseif(STEP STREQUAL "tutti_cc")
  # Through a symbolic link, as in distributions, and without LD_LIBRARY_PATH: the program finds the library itself.
  file(MAKE_DIRECTORY ${WORK})
  file(CREATE_LINK ${PREFIX}/bin/tutti-cc ${WORK}/tutti-cc SYMBOLIC)
  set(ENV{TUTTI_CC} ${CC})
  run(${WORK}/tutti-cc -O2 ${CMAKE_CURRENT_LIST_DIR}/language/transfer.c -o ${WORK}/transfer)
  run(${WORK}/transfer)
elseif(STEP STREQUAL "subdirectory")
  # This compiles the whole library; optimisation and separate files would only take time.
  build_project(subdirectory -DTUTTI_SOURCE=${TUTTI_SOURCE} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON)
  # The other project's installation must contain neither Tutti's files nor libitm.so.1, because it did not ask for
  # them.
  file(REMOVE_RECURSE ${WORK}/prefix)
  run(${CMAKE_COMMAND} --install ${WORK} --prefix ${WORK}/prefix)
  file(GLOB_RECURSE foreign RELATIVE ${WORK}/prefix ${WORK}/prefix/*)
  if(NOT foreign STREQUAL "bin/transfer")
    message(FATAL_ERROR "the project that has Tutti as a subdirectory installs: ${foreign}")
  endif()
  file(GLOB_RECURSE foreign ${WORK}/libitm.so*)
  if(foreign)
    message(FATAL_ERROR "nobody asked for ${foreign}")
  endif()
else()
  message(FATAL_ERROR "there is no step '${STEP}'")
endif()
