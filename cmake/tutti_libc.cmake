# libtutti-c.so: the C library inside transactions (src/libc). Blocks of the language use it by its transactional
# clones, blocks of the library by tutti/libc/functions.hpp.
#
#   tutti_c     the library, in a folder of its own beside libitm.so.1, with the headers by which GCC finds its clones
#
# Without libitm.so.1 (under a sanitizer) it still serves blocks of the library.

set(tutti_libc OFF)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" OR NOT BUILD_SHARED_LIBS)
  return()
endif()
check_cxx_symbol_exists(__GLIBC__ "features.h" TUTTI_GLIBC)
if(NOT TUTTI_GLIBC)
  message(STATUS "libtutti-c.so is left out: it is written for glibc")
  return()
endif()
set(tutti_libc ON)

file(GLOB tutti_libc_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/libc/*.cpp")
foreach(file IN ITEMS clones failing scanning)
  tutti_alone("${PROJECT_SOURCE_DIR}/src/libc/${file}.cpp")
endforeach()
add_library(tutti_c SHARED ${tutti_libc_sources})
add_library(tutti::libc ALIAS tutti_c)
tutti_engine(tutti_c)
tutti_usage(tutti_c)
target_link_libraries(tutti_c PRIVATE Threads::Threads PUBLIC tutti)
target_compile_options(tutti_c PRIVATE -fno-builtin -U_FORTIFY_SOURCE)
target_link_options(tutti_c PRIVATE "LINKER:-z,nodelete")
set_target_properties(
  tutti_c
  PROPERTIES OUTPUT_NAME tutti-c
             VERSION ${PROJECT_VERSION}
             SOVERSION ${tutti_soversion}
             EXPORT_NAME libc
             LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/language"
             INSTALL_RPATH "$ORIGIN/..")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/language/include")
set_property(GLOBAL PROPERTY tutti_wrapper_headers "${PROJECT_BINARY_DIR}/language/include")
# Symbolic links, so that a change of a header takes effect at once.
file(GLOB tutti_wrapper_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/libc/headers/*")
foreach(header IN LISTS tutti_wrapper_headers)
  cmake_path(GET header FILENAME name)
  file(CREATE_LINK "${header}" "${PROJECT_BINARY_DIR}/language/include/${name}" SYMBOLIC)
endforeach()
if(TUTTI_INSTALL)
  install(
    TARGETS tutti_c
    EXPORT tuttiTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/tutti")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/libc/headers/" DESTINATION "${CMAKE_INSTALL_LIBDIR}/tutti/include")
elseif(NOT PROJECT_IS_TOP_LEVEL)
  set_target_properties(tutti_c PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
