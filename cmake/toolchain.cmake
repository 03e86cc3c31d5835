# Compiler flags and the tools that make builds quick: warnings are errors, ccache and mold are used where found.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)
# gcc 12 warns about inlined standard-library code that is correct (GCC bugs 105329, 105651, 107852).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-maybe-uninitialized)
endif()
# The oracle's arithmetic is IEEE: a*b+c is two roundings unless the code says fma.
add_compile_options(-ffp-contract=off)

# The compiler looks for memory to use again from 128 MB on, which takes a tenth of its time; our largest files need 700 MB.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=524288)
endif()

# With paths relative to the checkout, a second checkout finds what the first compiled.
find_program(CCACHE_PROGRAM ccache)
set(LUMINAL_OWN_LAUNCHER ON)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(LUMINAL_OWN_LAUNCHER OFF)
elseif(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                  CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
                                  ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
