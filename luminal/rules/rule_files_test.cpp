#include "luminal/rules/rule_files.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "luminal/support/error.h"

namespace luminal::rules {
namespace {

TEST(RuleFiles, AreFoundByTheNameOfTheirFile) {
  EXPECT_NE(rule_file("index_expressions.egg").find("(datatype Index"), std::string_view::npos);
}

TEST(RuleFiles, AnUnknownNameIsAnInternalError) {
  try {
    rule_file("nothing.egg");
    FAIL() << "no error";
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "no rule file nothing.egg is built into the library");
  }
}

TEST(RuleFiles, EveryRuleHasANameOfItsOwn) {
  for (const RuleFile& file : rule_files()) {
    SCOPED_TRACE(std::string(file.name));
    std::set<std::string> names;
    size_t rules = 0;
    for (const std::string_view head : {"\n(rule ", "\n(rewrite ", "\n(birewrite "}) {
      for (size_t at = file.text.find(head); at != std::string_view::npos;
           at = file.text.find(head, at + 1)) {
        ++rules;
        const size_t name = file.text.find(":name \"", at) + 7;
        ASSERT_NE(name, std::string_view::npos + 7);
        names.emplace(file.text.substr(name, file.text.find('"', name) - name));
      }
    }
    EXPECT_GT(rules, 0u);
    EXPECT_EQ(names.size(), rules);
  }
}

}  // namespace
}  // namespace luminal::rules
