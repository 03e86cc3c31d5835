# Writes SOURCE, which defines FUNCTION (declared in HEADER) as a hash of FILES; run by luminal_code_version.
set(hashes "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 version "${hashes}")
string(SUBSTRING ${version} 0 16 version)
file(WRITE ${SOURCE} "#include \"${HEADER}\"

std::string_view ${FUNCTION}() { return \"${version}\"; }
")
