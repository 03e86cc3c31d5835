# What the user's own cache and database hold is no matter of tests.
set(LUMINAL_TEST_PROPERTIES ENVIRONMENT LUMINAL_CACHE_DIR=${CMAKE_BINARY_DIR}/test-cache ENVIRONMENT_MODIFICATION
                            LUMINAL_TUNING_DB=unset:)

# luminal_layer(NAME [DEPENDS layer...] [LINKS target...] [PRIVATE target...] [COMPILED_AS kind])
# One folder luminal/NAME = one target luminal_NAME (alias luminal::NAME) = one namespace luminal::NAME. Sources are
# every .cpp beside the headers; files ending in _test.cpp form the test program NAME_test, files ending in _main.cpp are
# left to whoever adds the program. COMPILED_AS says which headers are precompiled (precompiled_headers.cmake). Every layer becomes
# part of luminal::luminal and of the installed package.
function(luminal_layer NAME)
  cmake_parse_arguments(LAYER "" "COMPILED_AS" "DEPENDS;LINKS;PRIVATE" ${ARGN})
  if(NOT LAYER_COMPILED_AS)
    set(LAYER_COMPILED_AS standard)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/luminal/${NAME}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|_main\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  set(target luminal_${NAME})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE ${LAYER_PRIVATE})
    luminal_compile_as(${LAYER_COMPILED_AS} ${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(luminal::${NAME} ALIAS ${target})
  target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                $<INSTALL_INTERFACE:include>)
  target_compile_features(${target} ${scope} cxx_std_20)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${NAME})
  list(TRANSFORM LAYER_DEPENDS PREPEND luminal_)
  target_link_libraries(${target} ${scope} ${LAYER_DEPENDS} ${LAYER_LINKS})
  set_property(GLOBAL APPEND PROPERTY LUMINAL_LAYERS ${target})

  if(BUILD_TESTING AND tests)
    luminal_gtest_program(${NAME}_test TEST_PREFIX ${NAME}/ SOURCES ${tests} LINKS ${target} ${LAYER_PRIVATE})
  endif()
endfunction()

# luminal_gtest_program(NAME TEST_PREFIX prefix SOURCES file... LINKS target...): a gtest program, every case of which is
# a test of its own for ctest.
function(luminal_gtest_program NAME)
  cmake_parse_arguments(PROGRAM "" "TEST_PREFIX" "SOURCES;LINKS" ${ARGN})
  add_executable(${NAME} ${PROGRAM_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${PROGRAM_LINKS} GTest::gtest_main)
  luminal_compile_as(test ${NAME})
  gtest_discover_tests(${NAME} TEST_PREFIX ${PROGRAM_TEST_PREFIX} DISCOVERY_TIMEOUT 300
                       PROPERTIES ${LUMINAL_TEST_PROPERTIES})
endfunction()
