#include "luminal/search/schedule_hints.h"

#include <gtest/gtest.h>

#include "luminal/codegen/llvm/schedule.h"
#include "luminal/support/error.h"

namespace luminal::search {
namespace {

const ScheduleHint kProduct{"matmul", {1, 2}, "S0=8", "cpu a, 2 threads", "gemm mr=8", 1.25};
const ScheduleHint kSoftmax{"softmax", {3, 4}, "", "cpu a, 2 threads", "nest lanes=8", 1.5};

std::string message_of(std::string_view text) {
  try {
    parse_hints(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(ScheduleHints, TextIsReadAsItWasWrittenInWhateverOrder) {
  const std::string text = to_text({kSoftmax, kProduct});
  EXPECT_EQ(text, to_text({kProduct, kSoftmax}));
  EXPECT_EQ(parse_hints(text), (std::vector<ScheduleHint>{kProduct, kSoftmax}));
  EXPECT_TRUE(parse_hints(to_text({})).empty());
  ScheduleHint odd = kProduct;
  odd.label = "two\tlines\n";
  EXPECT_EQ(parse_hints(to_text({odd}))[0].label, "two lines ");
}

TEST(ScheduleHints, OtherTextIsRefusedWithItsLine) {
  EXPECT_EQ(message_of("x"),
            "schedule hints: the text does not begin with 'luminal schedule hints 1'");
  const std::string begin = "luminal schedule hints 1\n# comment\n\n";
  EXPECT_EQ(message_of(begin), "");
  EXPECT_EQ(message_of(begin + "1.5\tabc"), "schedule hints: line 4: 2 fields instead of 6");
  EXPECT_EQ(message_of(begin + "fast\t0\t\td\ts\tl"), "schedule hints: line 4: 'fast' is no gain");
  EXPECT_EQ(message_of(begin + "1.5\txyz\t\td\ts\tl"),
            "schedule hints: line 4: 'xyz' is no hash of a kernel");
  const std::string hash = support::to_hex(support::Hash128{1, 2});
  EXPECT_EQ(message_of(begin + "1.5\t" + hash + "\t\td\t\tl"),
            "schedule hints: line 4: there is no schedule");
}

TEST(ScheduleHints, OnlyWhatIsQuickerThanTheDefaultIsExported) {
  TuningDatabase database = TuningDatabase::in_memory();
  const auto add = [&](uint64_t kernel, const std::string& compiler, double standard, double other,
                       int64_t when) {
    const TuningKey key{{kernel, 0}, "", "cpu a, 2 threads", compiler};
    database.add_kernel(key.kernel, "text", "label");
    database.note_work(key, "standard", "");
    database.record({key, "standard", Timing{standard, 0.01, 10}, when});
    database.record({key, "other", Timing{other, 0.01, 10}, when});
    database.record({key, "wrong", Rejected{Rejected::Why::kCrash, ""}, when});
  };
  add(1, "v1", 100, 80, 1);
  add(2, "v1", 100, 98, 1);   // too little
  add(3, "v1", 100, 130, 1);  // the default is best
  add(4, "v1", 100, 50, 1);   // it was, before
  add(4, "v2", 100, 110, 2);
  const TuningKey unknown{{5, 0}, "", "cpu a, 2 threads", "v1"};
  database.record({unknown, "some", Timing{1, 0.01, 10}, 1});  // nobody knows the default
  EXPECT_EQ(hints_of(database),
            (std::vector<ScheduleHint>{{"label", {1, 0}, "", "cpu a, 2 threads", "other", 1.25}}));
}

TEST(ScheduleHints, ThoseOfTheDeviceComeFirst) {
  ScheduleHint elsewhere = kProduct;
  elsewhere.device = "cpu b, 8 threads";
  elsewhere.schedule = "gemm mr=4";
  const std::vector<ScheduleHint> hints = {elsewhere, kSoftmax, kProduct};
  const TuningKey key{{1, 2}, "S0=8", "cpu a, 2 threads", "any version"};
  EXPECT_EQ(hinted_schedules(hints, key), (std::vector<std::string>{"gemm mr=8", "gemm mr=4"}));
  TuningKey other = key;
  other.shapes = "S0=9";
  EXPECT_TRUE(hinted_schedules(hints, other).empty());
}

TEST(ScheduleHints, WhatIsShippedCanBeReadAndNamesSchedules) {
  ASSERT_FALSE(shipped_hints().empty());
  for (const ScheduleHint& hint : shipped_hints()) {
    EXPECT_NO_THROW(codegen::Schedule::parse(hint.schedule)) << hint.schedule;
    EXPECT_GE(hint.gain, 1.03) << hint.label;
    EXPECT_TRUE(hint.device.starts_with("cpu ")) << hint.device;
  }
}

TEST(NearSchedules, AreThoseOfNearValuesTheNearestFirst) {
  TuningDatabase database = TuningDatabase::in_memory();
  const auto key = [](const std::string& shapes) {
    return TuningKey{{1, 2}, shapes, "cpu a", "v1"};
  };
  const auto add = [&](const TuningKey& at, const std::string& schedule, double us) {
    database.record({at, schedule, Timing{us, 0.1, 9}, 1});
  };
  add(key("S0=512 S1=8"), "good", 10);
  add(key("S0=512 S1=8"), "worse", 20);
  add(key("S0=400 S1=8"), "near", 10);
  add(key("S0=1200 S1=8"), "far", 10);
  add(key("S0=512 S1=64"), "far, too", 10);
  add(key("S0=512"), "of other dims", 10);
  add(key("S0=500 S1=8"), "its own", 10);
  TuningKey other = key("S0=505 S1=8");
  other.device = "cpu b";
  add(other, "of another machine", 1);
  database.record({key("S0=501 S1=8"), "wrong", Rejected{Rejected::Why::kWrongResult, ""}, 1});
  EXPECT_EQ(near_schedules(database, key("S0=500 S1=8")),
            (std::vector<std::string>{"good", "near"}));
  EXPECT_EQ(near_schedules(database, key("S0=1024 S1=8")),
            (std::vector<std::string>{"far", "good"}));
  EXPECT_TRUE(near_schedules(database, key("")).empty());
}

}  // namespace
}  // namespace luminal::search
