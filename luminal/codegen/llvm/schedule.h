// How a kernel is computed, as data: the family of code (tiles of a product, a loop nest, ...) and
// its choices, each a name and an integer. A schedule is one canonical line of text that reads back
// as the same schedule, so it can be stored, compared and replayed. What may be chosen for a kernel
// is a space: axes of values, and a rule for those that do not go together. No LLVM.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace luminal::codegen {

/// One choice. Some names have words for their values ("b=packed"); the value is then the number of
/// the word.
struct Choice {
  std::string name;   ///< of the choice: "mr"
  int64_t value = 0;  ///< what was chosen
  friend auto operator<=>(const Choice&, const Choice&) = default;
};

/// See above.
class Schedule {
 public:
  Schedule() = default;
  /// The order of the choices does not matter; InternalError if a name occurs twice.
  explicit Schedule(std::string family, std::vector<Choice> choices = {});
  /// Reads what to_string wrote, in any order of choices; UserError that says what is wrong.
  static Schedule parse(std::string_view text);

  const std::string& family() const { return family_; }  ///< the template that reads the choices
  /// By name.
  const std::vector<Choice>& choices() const { return choices_; }
  /// The value of a choice, if it is made.
  std::optional<int64_t> find(std::string_view name) const;
  /// The value of a choice; UserError if it is not made.
  int64_t at(std::string_view name) const;
  /// The same with one choice changed or added.
  Schedule with(std::string_view name, int64_t value) const;

  /// "family name=value ...", by name. Nothing has an empty text but a schedule of no family.
  std::string to_string() const;
  /// The same in every process and on every machine.
  uint64_t hash() const;
  friend auto operator<=>(const Schedule&, const Schedule&) = default;

 private:
  std::string family_;
  std::vector<Choice> choices_;
};

/// The text of a value: its word, if it has one.
std::string choice_text(std::string_view name, int64_t value);

/// The values that a choice may take, in a useful order: neighbours are alike.
struct ScheduleAxis {
  std::string name;             ///< of the choice
  std::vector<int64_t> values;  ///< that it may take
  bool operator==(const ScheduleAxis&) const = default;
};

/// The schedules of one family for one kernel. Choices that have no axis stay as `start` has them.
struct ScheduleSpace {
  Schedule start;                  ///< what the family chooses by itself
  std::vector<ScheduleAxis> axes;  ///< of two values or more
  /// Why choices do not go together; nothing if they do. Empty: all do.
  std::function<std::optional<std::string>(const Schedule&)> refusal = {};

  const ScheduleAxis* axis(std::string_view name) const;  ///< null if there is none
  /// Whether a schedule is made of values of the axes that go together.
  bool contains(const Schedule& schedule) const;
  /// All combinations of values, whether they go together or not.
  double size() const;
};

/// The schedules of a space that differ from one of them in one choice: axis by axis, near values
/// first.
std::vector<Schedule> neighbours(const ScheduleSpace& space, const Schedule& schedule);

}  // namespace luminal::codegen

template <>
struct std::hash<luminal::codegen::Schedule> {
  size_t operator()(const luminal::codegen::Schedule& schedule) const noexcept {
    return static_cast<size_t>(schedule.hash());
  }
};
