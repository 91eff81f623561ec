# The lists that tests and sources share.
#
#   TUTTI_ALGORITHMS  the names of src/algorithms/list.def, the default first

set(tutti_algorithm_list "${PROJECT_SOURCE_DIR}/src/algorithms/list.def")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${tutti_algorithm_list}")
file(STRINGS "${tutti_algorithm_list}" TUTTI_ALGORITHMS REGEX "^TUTTI_ALGORITHM\\(")
list(TRANSFORM TUTTI_ALGORITHMS REPLACE "^[^\"]*\"([^\"]+)\".*$" "\\1")
