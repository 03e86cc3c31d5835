#include "luminal/support/env.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "luminal/support/error.h"

namespace luminal::support {
namespace {

Environment with(std::map<std::string, std::string, std::less<>> variables) {
  return Environment([&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

std::string refusal(std::map<std::string, std::string, std::less<>> variables) {
  try {
    with(std::move(variables));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Environment, UnsetVariablesHaveTheirDefaults) {
  const Environment env = with({});
  EXPECT_EQ(env.text(EnvVar::kLog), "warn");
  EXPECT_EQ(env.integer(EnvVar::kThreads), 0);
  EXPECT_TRUE(env.flag(EnvVar::kCache));
  EXPECT_EQ(env.text(EnvVar::kCacheDir), "");
  EXPECT_EQ(env.text(EnvVar::kProgress), "auto");
  EXPECT_FALSE(env.is_set(EnvVar::kLog));
}

TEST(Environment, EmptyMeansUnset) {
  const Environment env = with({{"LUMINAL_THREADS", ""}, {"LUMINAL_LOG", ""}});
  EXPECT_EQ(env.integer(EnvVar::kThreads), 0);
  EXPECT_FALSE(env.is_set(EnvVar::kThreads));
  EXPECT_EQ(env.text(EnvVar::kLog), "warn");
}

TEST(Environment, GivenValuesAreTyped) {
  const Environment env = with({{"LUMINAL_THREADS", "12"},
                                {"LUMINAL_LOG", "trace"},
                                {"LUMINAL_CACHE", "no"},
                                {"LUMINAL_CACHE_DIR", "/tmp/a folder"}});
  EXPECT_EQ(env.integer(EnvVar::kThreads), 12);
  EXPECT_EQ(env.text(EnvVar::kLog), "trace");
  EXPECT_FALSE(env.flag(EnvVar::kCache));
  EXPECT_EQ(env.text(EnvVar::kCacheDir), "/tmp/a folder");
  EXPECT_TRUE(env.is_set(EnvVar::kThreads));
}

TEST(Environment, BadIntegersNameVariableValueAndBounds) {
  EXPECT_EQ(refusal({{"LUMINAL_THREADS", "many"}}),
            "environment: LUMINAL_THREADS is \"many\"; it must be a whole number from 0 to 4096");
  const char* bad_numbers[] = {"-1", "4097", "3.5", "4 ", " 4", "0x10", "99999999999999999999",
                               "+2"};
  for (const char* bad : bad_numbers)
    EXPECT_NE(refusal({{"LUMINAL_THREADS", bad}}).find("it must be a whole number"),
              std::string::npos)
        << bad;
}

TEST(Environment, BadChoicesNameTheAllowedOnes) {
  EXPECT_EQ(refusal({{"LUMINAL_LOG", "loud"}}),
            "environment: LUMINAL_LOG is \"loud\"; it must be one of trace, debug, info, warn, "
            "error, off");
  for (const char* bad : {"warn|error", "war", "warning", "|"})
    EXPECT_NE(refusal({{"LUMINAL_LOG", bad}}), "no error") << bad;
}

TEST(Environment, BadFlagsNameTheAllowedOnes) {
  EXPECT_EQ(refusal({{"LUMINAL_CACHE", "maybe"}}),
            "environment: LUMINAL_CACHE is \"maybe\"; it must be on, off, 1, 0, true, false, yes "
            "or no");
}

TEST(Environment, CacheDirFollowsTheDesktopStandard) {
  EXPECT_EQ(with({{"HOME", "/home/ada"}}).cache_dir(), "/home/ada/.cache/luminal");
  EXPECT_EQ(with({{"HOME", "/home/ada"}, {"XDG_CACHE_HOME", "/xdg"}}).cache_dir(), "/xdg/luminal");
  EXPECT_EQ(with({{"HOME", "/home/ada"}, {"XDG_CACHE_HOME", "relative"}}).cache_dir(),
            "/home/ada/.cache/luminal");
  EXPECT_EQ(with({{"HOME", "/home/ada"}, {"LUMINAL_CACHE_DIR", "/mine"}}).cache_dir(), "/mine");
}

TEST(Environment, NoCacheDirWhenOffOrHomeless) {
  EXPECT_EQ(with({}).cache_dir(), "");
  EXPECT_EQ(with({{"LUMINAL_CACHE_DIR", "/mine"}, {"LUMINAL_CACHE", "off"}}).cache_dir(), "");
}

TEST(Environment, ReadingAsTheWrongKindIsABugOfOurs) {
  const Environment env = with({});
  EXPECT_THROW(env.integer(EnvVar::kLog), InternalError);
  EXPECT_THROW(env.text(EnvVar::kThreads), InternalError);
  EXPECT_THROW(env.flag(EnvVar::kThreads), InternalError);
}

TEST(Environment, TheProcessIsReadOnce) {
  ASSERT_EQ(setenv("LUMINAL_CACHE_DIR", "first", 1), 0);
  const std::string before = environment().text(EnvVar::kCacheDir);
  ASSERT_EQ(setenv("LUMINAL_CACHE_DIR", "second", 1), 0);
  EXPECT_EQ(environment().text(EnvVar::kCacheDir), before);
  unsetenv("LUMINAL_CACHE_DIR");
}

TEST(Environment, TableTextHasOneRowPerVariable) {
  const std::string text = environment_table_text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<std::ptrdiff_t>(kEnvironmentTable.size()) + 2);
  EXPECT_NE(text.find("| `LUMINAL_PROGRESS` | `auto` | one of auto, on, off | progress bars"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| `LUMINAL_CACHE_DIR` | unset | any text |"), std::string::npos) << text;
}

}  // namespace
}  // namespace luminal::support
