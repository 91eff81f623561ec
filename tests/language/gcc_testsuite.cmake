# GCC's own tests of its runtime, from Debian's source package. They are unpacked into the build folder when the tests
# run, compiled by this build's compiler, and run on Tutti's library.

file(GLOB archives "/usr/src/gcc-12/gcc-*.tar.xz")
if(NOT archives)
  message(STATUS "GCC's tests of language-level transactions are left out: the package gcc-12-source is not installed")
  return()
endif()
list(GET archives 0 archive)
# The presets' build folders are beside each other and share one copy, named after the version.
cmake_path(GET PROJECT_BINARY_DIR PARENT_PATH around)
if(NOT around STREQUAL "${PROJECT_SOURCE_DIR}/build")
  set(around "${CMAKE_CURRENT_BINARY_DIR}")
endif()
cmake_path(GET archive FILENAME version)
set(unpacked "${around}/${version}.tests")

tutti_command_test(NAME language.gcc.unpack
                   COMMAND ${CMAKE_COMMAND} -DARCHIVE=${archive} -DINTO=${unpacked}
                           -DBESIDE=${CMAKE_CURRENT_BINARY_DIR}/unpacking -P
                           ${CMAKE_CURRENT_SOURCE_DIR}/unpack.cmake
                   LABELS full TIMEOUT 300)
set_tests_properties(language.gcc.unpack PROPERTIES FIXTURES_SETUP gcc_testsuite)

# language_gcc_test(<folder>/<file> [<compiler flag>...])
function(language_gcc_test file)
  cmake_path(GET file FILENAME name)
  set(compiler ${CMAKE_C_COMPILER})
  if(file MATCHES "\\.C$")
    set(compiler ${CMAKE_CXX_COMPILER})
  endif()
  tutti_command_test(NAME language.gcc.${name}
                     COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/compile_and_run.sh ${unpacked}/libitm ${file}
                             ${runtime_folder} ${compiler} ${ARGN}
                     LABELS full TIMEOUT 120)
  set_tests_properties(language.gcc.${name} PROPERTIES FIXTURES_REQUIRED gcc_testsuite)
endfunction()

foreach(name IN ITEMS alloc-1 cancel clone-1 dropref memcpy-1 memset-1 notx priv-1 reentrant simple-1 simple-2 stackundo
                      txrelease)
  language_gcc_test(libitm.c/${name}.c -O2)
endforeach()
# From -O2 on, GCC 12 turns the loop inside this block into a fill without barriers.
language_gcc_test(libitm.c/dropref-2.c -O1)
foreach(name IN ITEMS dropref eh-1 eh-2 eh-3 eh-4 eh-5 libstdc++-safeexc newdelete)
  language_gcc_test(libitm.c++/${name}.C -O2)
endforeach()
language_gcc_test(libitm.c++/libstdc++-pr91488.C -O1)
# Only compiled: its purpose is to show that the compiler can.
language_gcc_test(libitm.c++/throwdown.C -O2 -c)
# GCC 12 does not compile static_ctor.C: it considers the guard of a static an unsafe function.
