#include "luminal/codegen/llvm/schedule.h"

#include <gtest/gtest.h>

#include <unordered_set>

#include "luminal/support/error.h"

namespace luminal::codegen {
namespace {

/// The message of the UserError that reading a text ends in.
std::string error_of(std::string_view text) {
  try {
    Schedule::parse(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Schedule, TextReadsBackAsTheSameSchedule) {
  const Schedule schedule("gemm", {{"mr", 8}, {"b", 1}, {"kc", 0}, {"offset", -3}});
  EXPECT_EQ(schedule.to_string(), "gemm b=packed kc=0 mr=8 offset=-3");
  EXPECT_EQ(Schedule::parse(schedule.to_string()), schedule);
  EXPECT_EQ(Schedule::parse("  gemm mr=8   kc=0 offset=-3 b=packed "), schedule);
  EXPECT_EQ(Schedule::parse("nest"), Schedule("nest"));
}

TEST(Schedule, BadTextIsRefusedWithAReason) {
  EXPECT_EQ(error_of(" "), "schedule: there is nothing to read; write 'family name=value'");
  EXPECT_EQ(error_of("Gemm mr=8"),
            "schedule: 'Gemm' is no family; write 'family name=value', such as 'nest unroll=2'");
  EXPECT_EQ(error_of("gemm mr"), "schedule: 'mr' is no choice; write name=value");
  EXPECT_EQ(error_of("gemm =8"), "schedule: '=8' is no choice; write name=value");
  EXPECT_EQ(error_of("gemm mr="), "schedule: '' is no value of 'mr'; it takes an integer");
  EXPECT_EQ(error_of("gemm mr=8x"), "schedule: '8x' is no value of 'mr'; it takes an integer");
  EXPECT_EQ(error_of("gemm mr=99999999999999999999"),
            "schedule: '99999999999999999999' is no value of 'mr'; it takes an integer");
  EXPECT_EQ(error_of("gemm b=1"),
            "schedule: '1' is no value of 'b'; it is one of prepacked, packed, in-place");
  EXPECT_EQ(error_of("gemm mr=8 kc=0 mr=8"),
            "schedule: 'mr' is given twice in 'gemm mr=8 kc=0 mr=8'");
}

TEST(Schedule, ComparesAndHashesByWhatIsChosen) {
  const Schedule schedule("nest", {{"unroll", 2}, {"lanes", 0}});
  EXPECT_EQ(schedule, Schedule("nest", {{"lanes", 0}, {"unroll", 2}}));
  EXPECT_EQ(schedule.hash(), Schedule("nest", {{"lanes", 0}, {"unroll", 2}}).hash());
  std::unordered_set<Schedule> all{schedule, schedule.with("unroll", 4), schedule.with("more", 1),
                                   Schedule("gemm", schedule.choices()), schedule};
  EXPECT_EQ(all.size(), 4U);
  EXPECT_EQ(schedule.with("unroll", 4).at("unroll"), 4);
  EXPECT_EQ(schedule.find("kc"), std::nullopt);
  EXPECT_THROW(schedule.at("kc"), UserError);
  EXPECT_THROW(Schedule("nest", {{"unroll", 2}, {"unroll", 4}}), InternalError);
}

ScheduleSpace small_space() {
  ScheduleSpace space;
  space.start = Schedule("nest", {{"block", 1}, {"lanes", 0}, {"unroll", 2}});
  space.axes = {{"unroll", {1, 2, 4, 8}}, {"lanes", {0, 8}}};
  space.refusal = [](const Schedule& schedule) -> std::optional<std::string> {
    if (schedule.at("lanes") * schedule.at("unroll") > 16) return "too wide";
    return std::nullopt;
  };
  return space;
}

TEST(ScheduleSpace, ContainsWhatItsAxesAllowAndGoesTogether) {
  const ScheduleSpace space = small_space();
  EXPECT_EQ(space.size(), 8.0);
  EXPECT_TRUE(space.contains(space.start));
  EXPECT_TRUE(space.contains(space.start.with("lanes", 8)));
  EXPECT_FALSE(space.contains(space.start.with("lanes", 8).with("unroll", 4)));
  EXPECT_FALSE(space.contains(space.start.with("unroll", 3)));
  EXPECT_FALSE(space.contains(space.start.with("block", 2)));  // has no axis
  EXPECT_FALSE(space.contains(space.start.with("more", 0)));
  EXPECT_FALSE(space.contains(Schedule("gemm", space.start.choices())));
}

TEST(ScheduleSpace, NeighboursDifferInOneChoiceNearOnesFirst) {
  const ScheduleSpace space = small_space();
  std::vector<std::string> texts;
  for (const Schedule& next : neighbours(space, space.start)) texts.push_back(next.to_string());
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "nest block=1 lanes=0 unroll=1", "nest block=1 lanes=0 unroll=4",
                       "nest block=1 lanes=0 unroll=8", "nest block=1 lanes=8 unroll=2"}));
  EXPECT_EQ(neighbours(space, space.start.with("unroll", 8)).size(), 3U);
}

}  // namespace
}  // namespace luminal::codegen
