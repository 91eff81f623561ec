# Fails unless Tutti's library exports exactly the symbols, with their versions, that the system's library exports:
#   cmake -DNM=<nm> -DOURS=<file> -DSTOCK=<file> -P symbols.cmake

function(exported library result)
  execute_process(COMMAND ${NM} --dynamic --defined-only --with-symbol-versions --format=posix ${library}
                  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n ]+@@?LIBITM_[0-9.]+" symbols "${symbols}")
  list(SORT symbols)
  set(${result} "${symbols}" PARENT_SCOPE)
endfunction()

exported(${STOCK} stock)
exported(${OURS} ours)
list(LENGTH stock count)
if(count LESS 170)
  message(FATAL_ERROR "${STOCK} exports only ${count} symbols: is it the right file?")
endif()
set(missing ${stock})
list(REMOVE_ITEM missing ${ours})
set(foreign ${ours})
list(REMOVE_ITEM foreign ${stock})
if(missing OR foreign)
  message(FATAL_ERROR "missing: ${missing}\nnot in the system's library: ${foreign}")
endif()
message(STATUS "${count} symbols, with their versions")
