#include "luminal/graph/effects.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "luminal/graph/npy.h"
#include "luminal/support/error.h"
#include "luminal/support/file.h"

namespace luminal::graph {
namespace {

constexpr int64_t kPerMille[] = {500, 900, 990, 999};
constexpr size_t kWorst = 10;

DiffElement compare_element(int64_t position, double ours, double reference) {
  const bool one_nan = std::isnan(ours) != std::isnan(reference);
  double distance = std::fabs(ours - reference);
  if (ours == reference) distance = 0.0;  // infinities
  if (one_nan) distance = INFINITY;
  return {position, ours, reference, distance};
}

/// Worse first; the earlier element if equally bad.
bool is_worse(const DiffElement& a, const DiffElement& b) {
  if (a.distance != b.distance) return a.distance > b.distance;
  return a.position < b.position;
}

void keep_worst(std::vector<DiffElement>& worst, const DiffElement& element) {
  if (!(element.distance > 0.0)) return;
  if (worst.size() == kWorst && !is_worse(element, worst.back())) return;
  worst.insert(std::upper_bound(worst.begin(), worst.end(), element, is_worse), element);
  if (worst.size() > kWorst) worst.pop_back();
}

void summarize(std::vector<double> distances, DiffReport& report) {
  if (distances.empty()) return;
  std::sort(distances.begin(), distances.end());
  double sum = 0.0;
  for (const double distance : distances) sum += distance;
  report.mean_distance = sum / static_cast<double>(distances.size());
  report.max_distance = distances.back();
  for (size_t k = 0; k < std::size(kPerMille); ++k) {
    const auto rank = (kPerMille[k] * static_cast<int64_t>(distances.size()) + 999) / 1000;
    report.percentiles[k] = distances[static_cast<size_t>(rank) - 1];
  }
}

/// bf16 and f8 are saved by their bits.
bool is_saved_by_bits(DType saved, DType dtype) {
  return (dtype == DType::kBF16 && saved == DType::kU16) ||
         (is_float(dtype) && bits(dtype) == 8 && saved == DType::kU8);
}

void write_report(std::ostream& text, const DiffReport& report, const Array& ours) {
  text << fmt::format("  outside the tolerance: {} of {}\n", report.failed, report.size);
  if (report.our_nans + report.reference_nans > 0)
    text << fmt::format("  NaN: {} in ours, {} in the reference, {} on one side only\n",
                        report.our_nans, report.reference_nans, report.unmatched_nans);
  text << fmt::format("  distance: mean {:.6g}, max {:.6g}\n", report.mean_distance,
                      report.max_distance);
  text << "  percentiles:";
  for (size_t k = 0; k < std::size(kPerMille); ++k)
    text << fmt::format("{} {}% {:.6g}", k > 0 ? "," : "", static_cast<double>(kPerMille[k]) / 10,
                        report.percentiles[k]);
  text << "\n";
  if (!report.worst.empty()) text << "  worst elements:\n";
  for (const DiffElement& element : report.worst)
    text << fmt::format("    {}: ours {:.9g}, reference {:.9g}, distance {:.6g}\n",
                        coordinates(element.position, ours.extents()), element.ours,
                        element.reference, element.distance);
}

}  // namespace

std::string coordinates(int64_t position, const Extents& extents) {
  Extents index = extents;
  for (size_t k = extents.size(); k-- > 0;) {
    index[k] = position % extents[k];
    position /= extents[k];
  }
  return to_string(index);
}

void print_glance(std::ostream& text, const std::string& label, const Array& array) {
  constexpr int64_t kShown = 3;
  if (!label.empty()) text << label << ": ";
  text << fmt::format("{}{} =", array.dtype(), to_string(array.extents()));
  const auto show = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) text << ' ' << array.at(i).to_string();
  };
  const int64_t size = array.size();
  if (size <= 3 * kShown) {
    show(0, size);
  } else {
    const int64_t middle = size / 2 - kShown / 2;
    show(0, kShown);
    text << " ...";
    show(middle, middle + kShown);
    text << " ...";
    show(size - kShown, size);
  }
  text << '\n';
}

DiffReport compare(const Array& ours, const Array& reference, double absolute_tolerance,
                   double relative_tolerance) {
  DiffReport report;
  report.size = ours.size();
  report.same_shape = ours.extents() == reference.extents();
  if (!report.same_shape) return report;
  const std::vector<double> our_values = ours.to_vector<double>();
  const std::vector<double> reference_values = reference.to_vector<double>();
  std::vector<double> distances;
  for (size_t i = 0; i < our_values.size(); ++i) {
    const DiffElement element =
        compare_element(static_cast<int64_t>(i), our_values[i], reference_values[i]);
    const bool our_nan = std::isnan(element.ours);
    const bool reference_nan = std::isnan(element.reference);
    report.our_nans += our_nan ? 1 : 0;
    report.reference_nans += reference_nan ? 1 : 0;
    report.unmatched_nans += our_nan != reference_nan ? 1 : 0;
    if (!our_nan && !reference_nan) distances.push_back(element.distance);
    const double allowed = absolute_tolerance + relative_tolerance * std::fabs(element.reference);
    // An infinite reference allows anything by the formula, but only itself is right.
    const bool within = element.distance == 0.0 || (our_nan && reference_nan) ||
                        (std::isfinite(element.distance) && element.distance <= allowed);
    if (!within) ++report.failed;
    keep_worst(report.worst, element);
  }
  summarize(std::move(distances), report);
  return report;
}

Array load_reference(const std::string& file, const Array& ours) {
  const std::string contents = support::read_file(file, "diff");
  const auto* begin = reinterpret_cast<const std::byte*>(contents.data());
  std::vector<std::byte> bytes(begin, begin + contents.size());
  if (contents.starts_with("\x93NUMPY")) {
    Array loaded = parse_npy(bytes, file);
    if (!is_saved_by_bits(loaded.dtype(), ours.dtype())) return loaded;
    return {ours.dtype(), loaded.extents(),
            std::vector<std::byte>(loaded.bytes().begin(), loaded.bytes().end())};
  }
  if (bytes.size() != ours.bytes().size())
    throw UserError(
        "diff", "{} is no .npy file, and as raw data of {}{} it would have {} bytes, not {}", file,
        ours.dtype(), to_string(ours.extents()), ours.bytes().size(), bytes.size());
  return {ours.dtype(), ours.extents(), std::move(bytes)};
}

void print_diff(std::ostream& text, const DiffAttribute& attribute, const Array& ours) {
  const Array reference = load_reference(attribute.file, ours);
  const DiffReport report =
      compare(ours, reference, attribute.absolute_tolerance, attribute.relative_tolerance);
  text << fmt::format("diff {}: {} (atol {:g}, rtol {:g})\n", attribute.file,
                      report.passed() ? "pass" : "FAIL", attribute.absolute_tolerance,
                      attribute.relative_tolerance);
  if (!report.same_shape) {
    text << fmt::format("  shapes differ: ours is {}{}, the reference {}{}\n", ours.dtype(),
                        to_string(ours.extents()), reference.dtype(),
                        to_string(reference.extents()));
    return;
  }
  write_report(text, report, ours);
}

}  // namespace luminal::graph
