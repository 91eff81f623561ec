# Unpacks the runtime's tests, and the header that they include, unless they are there:
#   cmake -DARCHIVE=<tar> -DINTO=<folder> -DBESIDE=<another one, on the same disk> -P unpack.cmake
#
# What is there is whole: it gets its name by a rename, when it is. So a run that is killed leaves nothing that a later
# one trusts, and of two builds that unpack at once the second finds the place taken.
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
