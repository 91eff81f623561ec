# Unpacks the runtime's tests and the header that they include, unless they exist already:
#   cmake -DARCHIVE=<tar> -DINTO=<folder> -DBESIDE=<another one, on the same disk> -P unpack.cmake
#
# The target folder is always complete: a rename gives it its name at the end. A killed run therefore leaves nothing
# that a later one would trust. Of two builds that unpack at the same time, the second finds the folder already there.
if(EXISTS "${INTO}")
  return()
endif()
file(REMOVE_RECURSE "${BESIDE}")
file(MAKE_DIRECTORY "${BESIDE}")
execute_process(COMMAND tar --extract --file=${ARCHIVE} --directory=${BESIDE} --strip-components=1 --wildcards
                        "*/libitm/testsuite/*" "*/libitm/libitm.h" COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${BESIDE}" "${INTO}" RESULT result)
if(NOT EXISTS "${INTO}")
  message(FATAL_ERROR "${INTO}: ${result}")
endif()
file(REMOVE_RECURSE "${BESIDE}")
