# luminal_code_version(TARGET FUNCTION HEADER FOLDER...): gives TARGET the function FUNCTION (with its namespace), which HEADER
# declares: a hash of every source in the folders. What is kept on disk is keyed by it, so whoever changes how it is made never
# meets what was made before.
function(luminal_code_version TARGET FUNCTION HEADER)
  set(files "")
  foreach(folder IN LISTS ARGN)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${folder}/*.h ${folder}/*.cpp)
    list(APPEND files ${found})
  endforeach()
  list(FILTER files EXCLUDE REGEX "_test\\.cpp$|_for_tests\\.h$")
  string(REGEX MATCH "[a-z_]+$" name ${FUNCTION})
  set(source ${PROJECT_BINARY_DIR}/versions/${name}.cpp)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DSOURCE=${source} -DFUNCTION=${FUNCTION} -DHEADER=${HEADER} -P
            ${PROJECT_SOURCE_DIR}/cmake/write_code_version.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/write_code_version.cmake
    VERBATIM)
  target_sources(${TARGET} PRIVATE ${source})
endfunction()
