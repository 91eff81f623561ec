# Fails when the shared library exports a name that is not Tutti's: cmake -DNM=<nm> -DLIBRARY=<file> -P exports.cmake
#
# Instances of the standard library's templates are let through: libstdc++ gives its namespace default visibility.

execute_process(COMMAND ${NM} --dynamic --defined-only --format=posix ${LIBRARY} OUTPUT_VARIABLE symbols
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
set(foreign "")
foreach(symbol IN LISTS symbols)
  string(REGEX MATCH "^([^ ]+) ([A-Za-z])" ignored "${symbol}")
  set(name "${CMAKE_MATCH_1}")
  set(kind "${CMAKE_MATCH_2}")
  set(weak_template FALSE)
  if(name MATCHES "^_Z" AND kind MATCHES "^[WVu]$")
    set(weak_template TRUE)
  endif()
  if(NOT name MATCHES "^tutti_" AND NOT name MATCHES "^_Z.*5tutti" AND NOT weak_template)
    string(APPEND foreign "  ${name}\n")
  endif()
endforeach()
if(foreign)
  message(FATAL_ERROR "${LIBRARY} exports names that are not Tutti's:\n${foreign}")
endif()
