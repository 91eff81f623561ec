# Fails if a shared library exports a name outside of its interface:
#   cmake -DNM=<nm> -DLIBRARY=<file> -P exports.cmake
#
# An internal name (of the folders of src/) may only have the version TUTTI_PRIVATE; a name without a version, or of
# another namespace, is not allowed. Jumps and pthread_setcanceltype replace the C library's functions, so they have no
# version.

execute_process(COMMAND ${NM} --dynamic --defined-only --with-symbol-versions --format=posix ${LIBRARY}
                OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
set(wrong "")
set(inner "5tutti(3api|4base|4core|6memory|7observe|7preempt|8policies|10algorithms)")
foreach(symbol IN LISTS symbols)
  string(REGEX MATCH "^([^ @]+)(@@?([^ ]+))? ([A-Za-z])" ignored "${symbol}")
  set(name "${CMAKE_MATCH_1}")
  set(version "${CMAKE_MATCH_3}")
  if(CMAKE_MATCH_4 STREQUAL "A")
    continue() # the name of a version
  endif()
  if(version STREQUAL "" AND LIBRARY MATCHES "/libtutti[.]so" AND name MATCHES "^(_?longjmp|siglongjmp|__longjmp_chk|pthread_setcanceltype)$")
    continue()
  endif()
  if(version STREQUAL "TUTTI_PRIVATE")
    set(fits "^_ZN?K?${inner}")
  elseif(version MATCHES "^TUTTI_((SERVER|CLUSTER)_)?[0-9.]+$" AND NOT name MATCHES "^_ZN?K?${inner}")
    set(fits "^(tutti_|_ZN?K?5tutti|_ZT[ISV]N5tutti)")
  else()
    set(fits "^$")
  endif()
  if(NOT name MATCHES "${fits}")
    string(APPEND wrong "  ${name} of version '${version}'\n")
  endif()
endforeach()
if(wrong)
  message(FATAL_ERROR "${LIBRARY} exports names that are not of its interface:\n${wrong}")
endif()
