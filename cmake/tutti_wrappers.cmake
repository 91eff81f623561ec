# tutti-cc and tutti-c++, which compile and link for libitm.so.1 and libtutti-c.so, in the build folder and installed.

if(NOT tutti_language)
  return()
endif()

# tutti_wrapper(<name> <CC or CXX> <compiler>): makes a wrapper that finds the library relative to itself, because an
# installation may have another prefix than the configured one.
function(tutti_wrapper name lang compiler)
  set(libc no)
  if(tutti_libc)
    set(libc yes)
  endif()
  set(template "${PROJECT_SOURCE_DIR}/src/itm/tutti-cc.in")
  set(libraries ".")
  configure_file("${template}" "${PROJECT_BINARY_DIR}/language/${name}" @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE
                 OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  file(RELATIVE_PATH libraries "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}/tutti")
  configure_file("${template}" "${PROJECT_BINARY_DIR}/language/installed/${name}" @ONLY)
  if(TUTTI_INSTALL)
    install(PROGRAMS "${PROJECT_BINARY_DIR}/language/installed/${name}" DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endfunction()
tutti_wrapper(tutti-cc CC gcc)
tutti_wrapper(tutti-c++ CXX g++)

# Both wrappers use this script to read GCC's dump of structures.
configure_file("${PROJECT_SOURCE_DIR}/src/itm/aggregates.awk" "${PROJECT_BINARY_DIR}/language/aggregates.awk" COPYONLY)
if(TUTTI_INSTALL)
  install(FILES "${PROJECT_SOURCE_DIR}/src/itm/aggregates.awk" DESTINATION "${CMAKE_INSTALL_LIBDIR}/tutti")
endif()
