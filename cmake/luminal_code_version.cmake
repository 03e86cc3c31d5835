# luminal_code_version(TARGET FOLDER): gives TARGET the function luminal::codegen::code_version(), a hash of every source in FOLDER.
# Code kept on disk is keyed by it, so whoever changes what is written for a kernel never meets what was written before.
function(luminal_code_version TARGET FOLDER)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${FOLDER}/*.h ${FOLDER}/*.cpp)
  list(FILTER files EXCLUDE REGEX "_test\\.cpp$|_for_tests\\.h$")
  set(source ${PROJECT_BINARY_DIR}/codegen/code_version.cpp)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DSOURCE=${source} -P ${PROJECT_SOURCE_DIR}/cmake/write_code_version.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/write_code_version.cmake
    VERBATIM)
  target_sources(${TARGET} PRIVATE ${source})
endfunction()
