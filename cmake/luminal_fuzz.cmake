# luminal_fuzz(): a file tests/LAYER_fuzz/NAME_fuzz.cpp is the libFuzzer program LAYER_NAME_fuzz and the test fuzz/LAYER_NAME, a short
# run from the committed corpus, of so many inputs that it is the same on every machine. The preset `fuzz` turns it on; it needs clang. The target
# fuzz_programs builds them all.
if(LUMINAL_FUZZ)
  enable_testing()  # here, because a function would keep it to itself
endif()

function(luminal_fuzz)
  if(NOT LUMINAL_FUZZ)
    return()
  endif()
  add_custom_target(fuzz_programs)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_fuzz/*_fuzz.cpp)
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(layer ${folder} NAME)
    string(REGEX REPLACE "_fuzz$" "" layer ${layer})
    get_filename_component(name ${source} NAME_WE)
    set(program ${layer}_${name})
    string(REGEX REPLACE "_fuzz$" "" test ${program})
    add_executable(${program} ${source})
    target_link_libraries(${program} PRIVATE luminal::${layer})
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz_programs ${program})
    # Named one by one, the seeds are only read: libFuzzer would write what it finds into a folder.
    file(GLOB seeds CONFIGURE_DEPENDS ${folder}/corpus/*)
    list(JOIN seeds "," seeds)
    set(seed_list ${PROJECT_BINARY_DIR}/${test}_seeds.txt)
    file(WRITE ${seed_list} "${seeds}")
    add_test(NAME fuzz/${test}
             COMMAND ${program} -seed=1 -runs=6000 -timeout=120 -rss_limit_mb=4096
                     -max_len=2048 -verbosity=0 -dict=${folder}/dictionary.txt
                     -artifact_prefix=${PROJECT_BINARY_DIR}/${test}- -seed_inputs=@${seed_list})
    set_tests_properties(fuzz/${test} PROPERTIES TIMEOUT 900)
  endforeach()
endfunction()
