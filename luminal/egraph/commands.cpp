// The commands that print, read and write.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "luminal/egraph/egraph.h"
#include "luminal/egraph/parser.h"
#include "luminal/egraph/report.h"

namespace luminal::egraph {
namespace {

/// Deeper includes are taken for a cycle through differently spelled paths.
constexpr size_t kMaxIncludes = 64;

std::string read_file(const Span& span, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const int failure = !in ? errno : std::filesystem::is_directory(path) ? EISDIR : 0;
  if (failure != 0) throw run_error(span, "IO error: {}: {}", path, std::strerror(failure));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const Span& span, const std::string& path, const std::string& text,
                std::ios::openmode mode = std::ios::trunc) {
  std::ofstream out(path, std::ios::out | mode);
  if (out) out << text << std::flush;  // a full disk shows here
  if (!out) throw run_error(span, "IO error: {}: {}", path, std::strerror(errno));
}

ProgramError no_extraction(const Span& span) {
  return run_error(span,
                   "extraction failure: \"Unable to find any valid extraction (likely due to "
                   "subsume or delete)\"");
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  for (;;) {
    const size_t at = line.find(separator);
    cells.push_back(trim(line.substr(0, at)));
    if (at == std::string_view::npos) return cells;
    line.remove_prefix(at + 1);
  }
}

Value parse_cell(const Span& span, Database& db, SortId sort, std::string_view cell) {
  ValueStore& values = *db.values;
  if (sort == kStringSort) return values.from_string(cell);
  if (sort == kI64Sort) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
    if (error == std::errc() && end == cell.data() + cell.size()) return values.from_i64(number);
  }
  if (sort == kF64Sort) {
    char* end = nullptr;
    const std::string text(cell);
    const double number = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0') return values.from_f64(number);
  }
  throw run_error(span, "cannot read {:?} as a value of sort {}", cell, db.sorts.name(sort));
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted_text = "\"";
  for (char c : text) quoted_text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted_text + "\"";
}

}  // namespace

std::string EGraph::extracted_text(const Span& span, const Expr& expr) {
  SortId sort = kNone;
  const Value value = evaluate(expr, &sort);
  Extractor& extract = extractor();
  const auto best = extract.best(sort, value);
  if (!best) throw no_extraction(span);
  return extract.terms().text(best->term);
}

void EGraph::execute_extract(const Span& span, const ExtractCommand& command) {
  uint64_t count = 0;
  if (command.variants) {
    SortId count_sort = kNone;
    const Value number = evaluate(*command.variants, &count_sort);
    if (count_sort != kI64Sort)
      throw type_error(command.variants->span,
                       " Expect expression {} to have type i64, but get type {}",
                       to_text(*command.variants), db_.sorts.name(count_sort));
    const int64_t wanted = db_.values->i64(number);
    if (wanted < 0) throw run_error(span, "Cannot extract negative number of variants");
    count = static_cast<uint64_t>(wanted);
  }
  SortId sort = kNone;
  const Value value = evaluate(command.expr, &sort);
  Extractor& extract = extractor();
  std::vector<Extracted> found;
  if (count == 0) {
    if (const auto best = extract.best(sort, value)) found.push_back(*best);
  } else {
    found = extract.variants(sort, value, count);
  }
  if (found.empty()) throw no_extraction(span);
  const auto show = [&](const Extracted& one) {
    if (options_.print_costs) return fmt::format("(extraction-costs {})", one.cost);
    return extract.terms().text(one.term);
  };
  if (count == 0) {
    output_ += show(found[0]) + "\n";
    return;
  }
  output_ += "(\n";
  for (const Extracted& one : found) output_ += "   " + show(one) + "\n";
  output_ += ")\n";
}

void EGraph::execute_print_size(const Span& span, const PrintSizeCommand& print) {
  if (!print.function.empty()) {
    const FunctionId function = require_function(span, print.function);
    output_ += std::to_string(db_.functions[function].table.num_live()) + "\n";
    return;
  }
  std::vector<const Function*> shown;
  for (const Function& function : db_.functions)
    if (!function.hidden) shown.push_back(&function);
  std::sort(shown.begin(), shown.end(),
            [](const Function* a, const Function* b) { return a->name < b->name; });
  std::string text;
  for (const Function* function : shown) {
    text += text.empty() ? "(" : "\n ";
    text += fmt::format("({} {})", function->name, function->table.num_live());
  }
  output_ += (text.empty() ? "()" : text + ")") + "\n";
}

void EGraph::execute_print_function(const Span& span, const PrintFunctionCommand& print) {
  const FunctionId id = require_function(span, print.function);
  const Function& function = db_.functions[id];
  Extractor& extract = extractor();
  const auto text_of = [&](SortId sort, Value value) {
    const auto best = extract.best(sort, value);
    return best ? extract.terms().text(best->term)
                : fmt::format("{}-{}", db_.sorts.name(sort), value);
  };
  std::string text = print.csv ? "" : "(\n";
  uint64_t printed = 0;
  for (uint32_t row = 0; row < function.table.end_row(); ++row) {
    if (!function.table.live(row) || printed++ >= print.limit.value_or(UINT64_MAX)) continue;
    const Value* cells = function.table.row(row);
    std::string line = print.csv ? csv_cell(function.name) : "   (" + function.name;
    for (size_t c = 0; c < function.inputs.size(); ++c) {
      const std::string cell = text_of(function.inputs[c], cells[c]);
      line += print.csv ? "," + csv_cell(cell) : " " + cell;
    }
    if (!print.csv) line += ")";
    if (function.output != kUnitSort) {
      const std::string cell = text_of(function.output, function.table.value(row));
      line += print.csv ? "," + csv_cell(cell) : " -> " + cell;
    }
    text += line + "\n";
  }
  if (!print.csv) text += ")\n";
  if (print.file.empty()) {
    output_ += text;
    return;
  }
  write_file(span, print.file, text);
}

void EGraph::execute_print_stats(const Span& span, const PrintStatsCommand& print) {
  if (print.file.empty()) {
    output_ += profile_text(db_);
  } else {
    write_file(span, print.file, profile_json(db_));
  }
}

void EGraph::execute_include(const Span& span, const IncludeCommand& include) {
  const bool open =
      std::find(open_files_.begin(), open_files_.end(), include.file) != open_files_.end();
  if (open || open_files_.size() >= kMaxIncludes)
    throw run_error(span, "{} includes itself, directly or through another file", include.file);
  const SourceFile* file = sources_.add(include.file, read_file(span, include.file));
  open_files_.push_back(include.file);
  try {
    for (Command& command : parse_program(*file)) execute(std::move(command));
  } catch (...) {
    open_files_.pop_back();
    throw;
  }
  open_files_.pop_back();
}

void EGraph::execute_input(const Span& span, const InputCommand& input) {
  const FunctionId id = require_function(span, input.function);
  for (size_t i = 0; i < db_.functions[id].inputs.size(); ++i) {
    const SortId sort = db_.functions[id].inputs[i];
    if (sort != kI64Sort && sort != kF64Sort && sort != kStringSort)
      throw type_error(span, "input reads i64, f64 and String keys, not {}", db_.sorts.name(sort));
  }
  const std::string text = read_file(span, input.file);
  const Function& function = db_.functions[id];
  const bool with_value = function.is_function() && function.output != kUnitSort;
  const size_t width = function.inputs.size() + (with_value ? 1 : 0);
  std::vector<Value> values;  // of all rows, since a file that cannot be read must write none
  for (std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    const auto cells = split(line, '\t');
    if (cells.size() != width)
      throw run_error(span, "{} has a line of {} cells, table {} takes {}: {}", input.file,
                      cells.size(), input.function, width, line);
    for (size_t c = 0; c < cells.size(); ++c)
      values.push_back(
          parse_cell(span, db_, function.column_sort(static_cast<uint32_t>(c)), cells[c]));
    if (function.is_function() && !with_value) values.push_back(kUnitValue);
  }
  const size_t step = function.is_function() ? function.inputs.size() + 1 : width;
  for (size_t first = 0; first < values.size(); first += step) {
    const std::span<const Value> row(values.data() + first, step);
    if (function.is_function()) {
      engine_.stage_row(id, row, false);
    } else {
      engine_.stage_constructor(id, row);
    }
  }
  engine_.flush();
}

void EGraph::execute_output(const Span& span, const OutputCommand& command) {
  std::string text;
  for (const Expr& expr : command.exprs) text += extracted_text(span, expr) + "\n";
  write_file(span, command.file, text, std::ios::app);
}

}  // namespace luminal::egraph
