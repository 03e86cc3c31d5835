# Programs that stand on the library: commands, cross-layer suites, examples, the README's example and benchmarks. Each is found
# by its place, so that adding one adds a file and nothing here.

# luminal_command(NAME SOURCE file LINKS target... [OUTPUT name]): a program for users, installed with the package. OUTPUT is what
# it is called where that is no name for a target.
function(luminal_command NAME)
  cmake_parse_arguments(COMMAND "" "SOURCE;OUTPUT" "LINKS" ${ARGN})
  add_executable(${NAME} ${COMMAND_SOURCE})
  if(COMMAND_OUTPUT)
    set_target_properties(${NAME} PROPERTIES OUTPUT_NAME ${COMMAND_OUTPUT})
  endif()
  target_link_libraries(${NAME} PRIVATE ${COMMAND_LINKS})
  install(TARGETS ${NAME})
endfunction()

# luminal_suites(): a folder tests/SUITE with .cpp files is the gtest program SUITE_suite. It finds its data files under
# LUMINAL_SUITE_DIR, a string literal. A folder with a CMakeLists.txt is a project of its own (tests/install) and is left out, and
# so is tests/LAYER_fuzz, which luminal_fuzz builds. What several suites use lies in tests/support, a library of theirs.
function(luminal_suites)
  if(NOT BUILD_TESTING)
    return()
  endif()
  file(GLOB shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
  add_library(suite_support STATIC ${shared})
  target_include_directories(suite_support PUBLIC ${PROJECT_SOURCE_DIR}/tests/support)
  target_link_libraries(suite_support PUBLIC luminal::luminal)
  target_compile_definitions(suite_support PRIVATE LUMINAL_ROOT_DIR="${PROJECT_SOURCE_DIR}")
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/tests/*)
  list(REMOVE_ITEM folders ${PROJECT_SOURCE_DIR}/tests/support)
  foreach(folder IN LISTS folders)
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
    if(NOT sources OR EXISTS ${folder}/CMakeLists.txt OR folder MATCHES "_fuzz$")
      continue()
    endif()
    get_filename_component(suite ${folder} NAME)
    luminal_gtest_program(${suite}_suite TEST_PREFIX ${suite}/ SOURCES ${sources} LINKS suite_support)
    target_compile_definitions(${suite}_suite PRIVATE LUMINAL_SUITE_DIR="${folder}")
  endforeach()
endfunction()

# luminal_examples(): examples/NN_NAME.cpp is the program NAME, and a test that it runs to a good end.
function(luminal_examples)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cpp)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "^[0-9]+_" "" name ${name})
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE luminal::luminal)
    if(BUILD_TESTING)
      add_test(NAME examples/${name} COMMAND ${name})
    endif()
  endforeach()
endfunction()

# luminal_readme_example(): the C++ block of README.md is compiled as it stands there, and what the program prints is
# compared with the output block below it.
function(luminal_readme_example)
  if(NOT BUILD_TESTING)
    return()
  endif()
  set(script ${PROJECT_SOURCE_DIR}/tools/readme_example.py)
  set(readme ${PROJECT_SOURCE_DIR}/README.md)
  set(source ${PROJECT_BINARY_DIR}/readme_example.cpp)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${Python3_EXECUTABLE} ${script} extract ${readme} ${source}
    DEPENDS ${readme} ${script}
    VERBATIM)
  add_executable(readme_example ${source})
  target_link_libraries(readme_example PRIVATE luminal::luminal)
  add_test(NAME readme/example COMMAND ${Python3_EXECUTABLE} ${script} compare ${readme}
                                       $<TARGET_FILE:readme_example>)
endfunction()

# luminal_egglog_examples(): the egglog blocks of README.md and docs/egraph.md run in luminal-egg and print what stands below them.
function(luminal_egglog_examples)
  if(NOT BUILD_TESTING)
    return()
  endif()
  set(script ${PROJECT_SOURCE_DIR}/tools/readme_example.py)
  foreach(document README.md docs/egraph.md)
    add_test(NAME luminal-egg/${document} COMMAND ${Python3_EXECUTABLE} ${script} egglog ${PROJECT_SOURCE_DIR}/${document}
                                                  $<TARGET_FILE:luminal-egg>)
  endforeach()
  # A run that would not end, ends with a reason.
  add_test(NAME luminal-egg/budget COMMAND luminal-egg --max-iterations 9 ${PROJECT_SOURCE_DIR}/tests/egraph/endless.egg)
  set_tests_properties(luminal-egg/budget PROPERTIES PASS_REGULAR_EXPRESSION "a run ended early: iteration budget used up")
  add_test(NAME luminal-egg/bad_option COMMAND luminal-egg --max-rows none)
  set_tests_properties(luminal-egg/bad_option PROPERTIES PASS_REGULAR_EXPRESSION "--max-rows takes a number of at least 1, got 'none'")
  add_test(NAME luminal-egg/help COMMAND luminal-egg --help)
  set_tests_properties(luminal-egg/help PROPERTIES PASS_REGULAR_EXPRESSION "usage: luminal-egg .*--costs.*--stats.*-j N.*--max-seconds")
endfunction()

# luminal_benchmarks(): a folder benchmarks/SUITE with .cpp files is the program SUITE_bench (`./run bench SUITE`); what suites share
# lies beside the folders.
function(luminal_benchmarks)
  find_package(benchmark REQUIRED)
  file(GLOB shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/benchmarks/*.cpp)
  add_library(benchmark_suite STATIC ${shared})
  target_link_libraries(benchmark_suite PUBLIC luminal::luminal benchmark::benchmark_main LLVM)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/benchmarks/*)
  foreach(folder IN LISTS folders)
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
    if(sources)
      get_filename_component(suite ${folder} NAME)
      add_executable(${suite}_bench ${sources})
      target_link_libraries(${suite}_bench PRIVATE benchmark_suite)
    endif()
  endforeach()
endfunction()
