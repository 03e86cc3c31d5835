// Malformed and hostile programs must end with a ProgramError or run to their end, never crash. The
// mutator is deterministic: a failure names its seed and prints the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "luminal/egraph/egraph.h"
#include "scratch.h"

namespace luminal::egraph {
namespace {

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const char* folder : {"corpus", "programs"}) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(LUMINAL_SUITE_DIR) / folder))
      if (entry.path().extension() == ".egg") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
      std::ifstream in(file, std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      texts.push_back(text.str());
    }
  }
  return texts;
}

/// Words a mutation may put in: edges of the language.
const char* const kPieces[] = {"(",         ")",
                               "()",        "\"",
                               "\\",        ";",
                               "_",         ":merge",
                               ":no-merge", ":when",
                               ":subsume",  "9223372036854775807",
                               "-1",        "1e999",
                               "NaN",       "i64",
                               "Unit",      "(run 3)",
                               "(push)",    "(pop)",
                               "(let x 1)", "(datatype",
                               "(rule",     "(rewrite",
                               "(check",    "(fail",
                               "(extract",  "(subsume",
                               "(delete",   "(union",
                               "(vec-of",   "(set-of",
                               "(sort S (", "(relation",
                               "old",       "new",
                               "\xff\xfe",  "\xe2\x80\x83",
                               "$x",        "@y",
                               "(<< 1 63)", "(saturate (run))"};

std::string mutate(std::string text, std::mt19937& random) {
  const int edits = 1 + static_cast<int>(random() % 6);
  for (int i = 0; i < edits && !text.empty(); ++i) {
    const size_t at = random() % text.size();
    const size_t length = std::min<size_t>(random() % 30, text.size() - at);
    switch (random() % 5) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, std::string(" ") + kPieces[random() % std::size(kPieces)] + " ");
        break;
      case 2:
        text.insert(random() % text.size(), text.substr(at, length));
        break;
      case 3:
        text[at] = static_cast<char>(random() % 256);
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

/// Runs a program under a small budget; anything but a result or a ProgramError is a failure.
void run_safely(const std::string& text) {
  EGraph egraph({.threads = 1,
                 .print_costs = false,
                 .record_origins = false,
                 .budget = {.iterations = 12, .rows = 3000, .seconds = 0.2}});
  try {
    egraph.run_program(text);
  } catch (const ProgramError&) {
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << "\nprogram:\n" << text;
  }
}

/// Programs that read or write files stay out: mutations would name arbitrary paths.
bool touches_files(const std::string& text) {
  for (const char* word : {"include", "input", "output", ":file"})
    if (text.find(word) != std::string::npos) return true;
  return false;
}

TEST(Fuzz, MutatedProgramsNeverCrash) {
  const std::vector<std::string> texts = corpus();
  ASSERT_FALSE(texts.empty());
  for (uint32_t seed = 0; seed < 6000; ++seed) {
    std::mt19937 random(seed);
    const std::string text = mutate(texts[random() % texts.size()], random);
    if (touches_files(text)) continue;
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_safely(text);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Fuzz, RandomBytesNeverCrash) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::string text;
    for (uint32_t i = random() % 200; i > 0; --i) text += static_cast<char>(random() % 256);
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_safely(text);
  }
}

TEST(Robustness, DeepTermsAreFineUpToTheLimitAndRefusedBeyond) {
  const auto nested = [](int depth) {
    std::string text = "(datatype N (Z) (S N)) (let $x ";
    for (int i = 0; i < depth; ++i) text += "(S ";
    text += "(Z)";
    return text + std::string(static_cast<size_t>(depth), ')') + ") (extract $x)";
  };
  EGraph egraph;
  EXPECT_NO_THROW(egraph.run_program(nested(3900)));
  EXPECT_THROW(EGraph().run_program(nested(100000)), ProgramError);
}

TEST(Robustness, HugeLiteralsAreIdentifiersFloatsOrErrors) {
  EGraph egraph;
  EXPECT_THROW(egraph.run_program("(check (= x " + std::string(100000, '9') + "))"), ProgramError);
  EXPECT_NO_THROW(egraph.run_program("(let $s \"" + std::string(1000000, 'a') + "\")"));
}

/// What a program says when it fails; empty if it does not.
std::string error_of(const std::string& text) {
  EGraph egraph;
  try {
    egraph.run_program(text);
  } catch (const ProgramError& error) {
    return error.text();
  }
  return "";
}

/// `first`, then forty steps that each combine the last value with itself.
std::string doubled(const std::string& first, const std::string& step) {
  std::string text = first;
  for (int i = 1; i <= 40; ++i) {
    std::string line = step;
    for (size_t at = line.find('#'); at != std::string::npos; at = line.find('#'))
      line.replace(at, 1, "$v" + std::to_string(i - 1));
    text += "(let $v" + std::to_string(i) + " " + line + ")\n";
  }
  return text;
}

void expect_error(const std::string& text, const std::string& part) {
  const std::string error = error_of(text);
  EXPECT_NE(error.find(part), std::string::npos) << "error: " << error;
}

TEST(Robustness, ValuesThatDoubleWithoutEndHaveNoValueBeyondALimit) {
  const std::pair<const char*, const char*> programs[] = {
      {"(let $v0 \"ab\")", "(+ # #)"},
      {"(let $v0 \"ab\")", "(replace # \"a\" \"aaaa\")"},
      {"(let $v0 \"ab\")", "(replace # \"\" \"ab\")"},
      {"(let $v0 (bigint 7))", "(* # #)"},
      {"(let $v0 (bigrat (bigint 7) (bigint 3)))", "(* # #)"},
      {"(sort V (Vec i64)) (let $v0 (vec-of 1 2))", "(vec-append # #)"}};
  for (const auto& [first, step] : programs) {
    SCOPED_TRACE(step);
    expect_error(doubled(first, step), "it has no value for its arguments");
  }
}

TEST(Robustness, PushingWithoutEndIsRefused) {
  expect_error("(push 9223372036854775807)", "pushed deeper than 1000 levels");
  EXPECT_EQ(error_of("(relation r (i64)) (push 1000) (r 1) (pop 1000) (fail (check (r 1)))"), "");
}

TEST(Robustness, RulesetsThatShareMembersAreEnteredOnce) {
  std::string text = "(ruleset r0) (relation n (i64)) (rule ((n 0)) ((n 1)) :ruleset r0)";
  for (int i = 1; i <= 60; ++i) {
    const std::string below = " r" + std::to_string(i - 1);
    text += "(unstable-combined-ruleset r" + std::to_string(i) + below + below + ")";
  }
  EXPECT_EQ(error_of(text + "(n 0) (run r60 1) (check (n 1))"), "");
}

TEST(Robustness, CyclicIncludesEndWithAnError) {
  const auto path = test::scratch_folder() / "cyclic_include.egg";
  std::ofstream(path) << "(include \"" << path.string() << "\")";
  EGraph egraph;
  try {
    egraph.run_program("(include \"" + path.string() + "\")");
    FAIL();
  } catch (const ProgramError& error) {
    EXPECT_NE(error.text().find("includes itself"), std::string::npos);
  }
  std::filesystem::remove(path);
}

TEST(Files, InputIncludeAndOutputRoundTrip) {
  const auto folder = test::scratch_folder() / "files";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string base = folder.string();
  std::ofstream(folder / "edges.tsv") << "1\t2\n 2 \t 3 \n\n";
  std::ofstream(folder / "ages.tsv") << "ann\t31\nbob\t-4\n";
  std::ofstream(folder / "more.egg") << "(edge 3 4)";
  EGraph egraph;
  EXPECT_EQ(egraph.run_program("(relation edge (i64 i64)) (input edge \"" + base +
                               "/edges.tsv\") (include \"" + base +
                               "/more.egg\") (check (edge 2 3) (edge 3 4)) (print-size edge)"),
            "3\n");
  egraph.run_program("(function age (String) i64 :no-merge) (input age \"" + base +
                     "/ages.tsv\") (check (= (age \"bob\") -4))");
  egraph.run_program("(output \"" + base + "/out.txt\" (+ 1 2) \"x\") (output \"" + base +
                     "/out.txt\" true) (print-function age :file \"" + base +
                     "/age.csv\" :mode csv)");
  std::ifstream out(folder / "out.txt"), csv(folder / "age.csv");
  std::ostringstream text, table;
  text << out.rdbuf();
  table << csv.rdbuf();
  EXPECT_EQ(text.str(), "3\n\"x\"\ntrue\n");
  EXPECT_NE(table.str().find("31"), std::string::npos);
  std::ofstream(folder / "bad.tsv") << "cat\t5\ndog\n";
  EXPECT_EQ(egraph.run_program("(fail (input age \"" + base +
                               "/bad.tsv\")) (set (age \"eve\") 1) (print-size age)"),
            "3\n");  // nothing of a bad file is read, not even later
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace luminal::egraph
