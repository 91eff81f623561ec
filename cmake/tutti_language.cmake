# libitm.so.1: language-level transactions, in place of GCC's own runtime. The library is in a separate folder, so that
# only programs that ask for the library find it. The library links libtutti.so, whose engine it shares with the library
# form.
#
#   tutti_itm  the library; not built where its assembly or its kind of link do not exist

include(tutti_enable_language_tm)
set(tutti_language OFF)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  message(STATUS "libitm.so.1 is left out: its begin is written for x86-64")
elseif(NOT BUILD_SHARED_LIBS)
  message(STATUS "libitm.so.1 is left out: it needs a shared libtutti")
elseif(TUTTI_SANITIZE)
  message(STATUS "libitm.so.1 is left out: programs compiled without a sanitizer cannot load one that needs it")
else()
  set(tutti_language ON)
endif()
if(NOT tutti_language)
  return()
endif()

enable_language(ASM)
file(GLOB tutti_itm_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/itm/*.cpp" "${PROJECT_SOURCE_DIR}/src/itm/*.S")
set(tutti_itm_map "${PROJECT_SOURCE_DIR}/src/itm/libitm.map")

tutti_alone("${PROJECT_SOURCE_DIR}/src/itm/queries.cpp")
add_library(tutti_itm SHARED ${tutti_itm_sources})
tutti_engine(tutti_itm)
tutti_usage(tutti_itm)
target_link_libraries(tutti_itm PRIVATE tutti Threads::Threads ${CMAKE_DL_LIBS})
# Never unloaded: its fork handlers and its part of the report are called until the process ends.
target_link_options(tutti_itm PRIVATE "LINKER:--version-script=${tutti_itm_map}" "LINKER:-z,defs,-z,nodelete")
set_target_properties(
  tutti_itm
  PROPERTIES OUTPUT_NAME itm
             VERSION 1.0.0
             SOVERSION 1
             LINK_DEPENDS "${tutti_itm_map}"
             LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/language"
             INSTALL_RPATH "$ORIGIN/..")
set_target_properties(tutti_itm PROPERTIES EXPORT_NAME language)
add_library(tutti::language ALIAS tutti_itm)
if(TUTTI_INSTALL)
  install(
    TARGETS tutti_itm
    EXPORT tuttiTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/tutti")
  install(FILES "${PROJECT_SOURCE_DIR}/docs/man/tutti-cc.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
elseif(NOT PROJECT_IS_TOP_LEVEL)
  set_target_properties(tutti_itm PROPERTIES EXCLUDE_FROM_ALL ON) # built only if a target links tutti::language
endif()
