# LLVM 19 as the target LLVM: its shared library and, as system headers, its include path.
# Debian keeps each version in a folder of its own.
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19)
target_include_directories(LLVM SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
