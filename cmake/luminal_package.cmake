# luminal_package(): the umbrella target luminal::luminal over every layer declared so far, and its installation, so that
# another project writes find_package(luminal) and links luminal::luminal.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

function(luminal_package)
  get_property(layers GLOBAL PROPERTY LUMINAL_LAYERS)
  add_library(luminal INTERFACE)
  add_library(luminal::luminal ALIAS luminal)
  target_link_libraries(luminal INTERFACE ${layers})

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/luminal)
  install(TARGETS luminal ${layers} EXPORT luminalTargets)
  install(EXPORT luminalTargets NAMESPACE luminal:: DESTINATION ${package_dir})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/luminal DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.h"
          # What only tests include stays here: it needs GoogleTest, or is of no use without them.
          PATTERN "test_*.h" EXCLUDE PATTERN "*_for_tests.h" EXCLUDE
          PATTERN "interpreter_harness.h" EXCLUDE PATTERN "view_reference.h" EXCLUDE)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/luminalConfig.cmake.in
                                ${PROJECT_BINARY_DIR}/luminalConfig.cmake
                                INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/luminalConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/luminalConfig.cmake
                ${PROJECT_BINARY_DIR}/luminalConfigVersion.cmake
          DESTINATION ${package_dir})

  if(BUILD_TESTING AND LUMINAL_INSTALL_TEST)
    add_test(NAME install/find_package
             COMMAND ${CMAKE_COMMAND} -D LUMINAL_BUILD=${PROJECT_BINARY_DIR}
                     -D GENERATOR=${CMAKE_GENERATOR} -D CXX=${CMAKE_CXX_COMPILER}
                     -P ${PROJECT_SOURCE_DIR}/tests/install/install_and_use.cmake)
  endif()
endfunction()
