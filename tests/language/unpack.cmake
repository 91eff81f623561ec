# Unpacks the runtime's tests, and the header that they include, unless they are there:
#   cmake -DARCHIVE=<tar> -DINTO=<folder> -P unpack.cmake
if(EXISTS "${INTO}/libitm/libitm.h")
  return()
endif()
file(MAKE_DIRECTORY "${INTO}")
execute_process(COMMAND tar --extract --file=${ARCHIVE} --directory=${INTO} --strip-components=1 --wildcards
                        "*/libitm/testsuite/*" "*/libitm/libitm.h" COMMAND_ERROR_IS_FATAL ANY)
