# tutti_enable_language_tm(<target> [LIBC <ON or OFF>]): lets the target's sources use __transaction_atomic and
# synchronized blocks, and runs the target on Tutti's runtime. With LIBC ON, its blocks may call the C library
# (docs/libc.md).
function(tutti_enable_language_tm target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LIBC" "")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tutti_enable_language_tm(${target}): not understood: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET tutti::language)
    message(FATAL_ERROR "tutti_enable_language_tm(${target}): this Tutti was built without libitm.so.1; it needs "
                        "x86-64 and a shared library")
  endif()
  foreach(lang IN ITEMS C CXX)
    # Without a compiler ID, the project does not use the language, whatever compiler the command line names.
    if(CMAKE_${lang}_COMPILER_ID AND NOT CMAKE_${lang}_COMPILER_ID STREQUAL "GNU")
      message(FATAL_ERROR "tutti_enable_language_tm(${target}): only GCC compiles atomic blocks, and "
                          "CMAKE_${lang}_COMPILER is ${CMAKE_${lang}_COMPILER}")
    endif()
  endforeach()
  # The second and the third option avoid internal errors of GCC 12. A block may return twice to its begin, as setjmp
  # does, so GCC would warn of every variable around it. Checked memory functions of the C library have no transactional
  # clones. The counters of --coverage and -fprofile-generate are unsafe as atomics. The functions that -fprofile-values
  # calls are unsafe.
  target_compile_options(
    ${target} PRIVATE -fgnu-tm -fno-isolate-erroneous-paths-dereference -fno-tree-builtin-call-dce -Wno-clobbered
                      -fprofile-update=single -fno-profile-values -U_FORTIFY_SOURCE)
  # GCC 12 splits parts off functions, and the parts have no clones. Link-time optimization loses the table of clones.
  target_compile_options(${target} PRIVATE -fno-partial-inlining -fno-lto)
  target_link_libraries(${target} PRIVATE tutti::language)
  if(arg_LIBC)
    if(NOT TARGET tutti::libc)
      message(FATAL_ERROR "tutti_enable_language_tm(${target} LIBC ON): this Tutti was built without libtutti-c.so; it "
                          "needs glibc")
    endif()
    get_property(headers GLOBAL PROPERTY tutti_wrapper_headers)
    target_include_directories(${target} SYSTEM PRIVATE "${headers}")
    # This header declares the functions that GCC itself calls in C++, so it comes first.
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${headers}/tutti-runtime.h>")
    target_link_libraries(${target} PRIVATE tutti::libc)
  endif()
endfunction()
