# Writes SOURCE, which defines code_version() as a hash of FILES; run by luminal_code_version.
set(hashes "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 version "${hashes}")
string(SUBSTRING ${version} 0 16 version)
file(WRITE ${SOURCE} "#include \"luminal/codegen/llvm/code_version.h\"

namespace luminal::codegen {
std::string_view code_version() { return \"${version}\"; }
}  // namespace luminal::codegen
")
