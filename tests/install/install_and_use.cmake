# Installs the build LUMINAL_BUILD into a fresh prefix, then configures, builds and runs the project beside this file against
# it. Run by ctest: cmake -D LUMINAL_BUILD=... -D GENERATOR=... -D CXX=... -P install_and_use.cmake
set(work ${LUMINAL_BUILD}/install_test)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code)
  if(code)
    message(FATAL_ERROR "failed with ${code}: ${ARGN}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${LUMINAL_BUILD} --prefix ${work}/prefix)

file(GLOB_RECURSE headers ${work}/prefix/include/*.h)
if(NOT headers)
  message(FATAL_ERROR "no headers are installed")
endif()
foreach(header ${headers})
  file(STRINGS ${header} lines REGEX "gtest/|^// (For tests|Tests only|Helpers of the tests)")
  if(lines)
    message(FATAL_ERROR "${header} is for tests, but is installed: ${lines}")
  endif()
endforeach()

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/build -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_PREFIX_PATH=${work}/prefix)
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/user)
