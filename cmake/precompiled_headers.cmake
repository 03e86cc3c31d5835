# What nearly every file includes is read once, for all targets of a kind: headers of the standard library and of others, none of
# our own, so that a change of ours reads nothing again. A file still includes what it uses: lint sees all but tests without these,
# and clang all.
# luminal_compile_as(KIND TARGET...) gives targets the headers and flags of a kind: standard, llvm, command or test.
set(LUMINAL_HEADERS_standard
    <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <numeric> <optional> <set> <span> <string> <string_view>
    <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
set(LUMINAL_HEADERS_llvm ${LUMINAL_HEADERS_standard} <llvm/IR/IRBuilder.h> <llvm/IR/IntrinsicsX86.h> <llvm/IR/Module.h>)
set(LUMINAL_HEADERS_command ${LUMINAL_HEADERS_standard} <CLI/CLI.hpp> <fmt/ostream.h> <fmt/ranges.h> <nlohmann/json.hpp>)
set(LUMINAL_HEADERS_test ${LUMINAL_HEADERS_standard} <filesystem> <fstream> <random> <sstream> <gtest/gtest.h>)
set(LUMINAL_LIBRARIES_llvm LLVM)
set(LUMINAL_LIBRARIES_test GTest::gtest)
# Tests spend their time in the library, which is compiled with all there is; their own files take a quarter longer to compile so.
set(LUMINAL_FLAGS_test $<$<CONFIG:Release>:-O1>)

function(luminal_compile_as KIND)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE ${LUMINAL_FLAGS_${KIND}})
  endforeach()
  # Clang would check the times of all these files, which a cache of compiled files does not keep; another's cache has to be told to
  # take such files at all.
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT LUMINAL_OWN_LAUNCHER)
    return()
  endif()
  set(carrier headers_${KIND})
  if(NOT TARGET ${carrier})
    set(source ${PROJECT_BINARY_DIR}/${carrier}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Has the headers.\n")
    add_library(${carrier} OBJECT ${source})
    target_precompile_headers(${carrier} PRIVATE ${LUMINAL_HEADERS_${KIND}})
    # Flags and definitions have to be those of the files that use it.
    target_link_libraries(${carrier} PRIVATE fmt::fmt ${LUMINAL_LIBRARIES_${KIND}})
    target_compile_options(${carrier} PRIVATE ${LUMINAL_FLAGS_${KIND}})
  endif()
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM ${carrier})
  endforeach()
endfunction()
