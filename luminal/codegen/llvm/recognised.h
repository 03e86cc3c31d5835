// What those who look for a form of body give: what they saw, or in words why it is not that. Like
// a std::optional whose absence has a reason.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace luminal::codegen {

/// Why something is not done, for people; reads on after "not ... because".
struct Refusal {
  std::string why;  ///< in words
};

/// See above.
template <typename Seen>
class Recognised {
 public:
  /// Something was seen.
  Recognised(Seen seen) : seen_(std::move(seen)) {}
  /// Nothing was.
  Recognised(Refusal refusal) : refusal_(std::move(refusal)) {}

  /// Whether something was seen.
  explicit operator bool() const { return seen_.has_value(); }
  /// The same.
  bool has_value() const { return seen_.has_value(); }
  Seen& operator*() { return *seen_; }                ///< what was seen
  const Seen& operator*() const { return *seen_; }    ///< what was seen
  Seen* operator->() { return &*seen_; }              ///< what was seen
  const Seen* operator->() const { return &*seen_; }  ///< what was seen
  /// Empty if something was seen.
  const std::string& why() const { return refusal_.why; }
  /// For those who hand on the reason.
  const Refusal& refusal() const { return refusal_; }

 private:
  std::optional<Seen> seen_;
  Refusal refusal_;
};

}  // namespace luminal::codegen
