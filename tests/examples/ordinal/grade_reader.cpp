#include "ordinal/grade_reader.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "data/float_parser.hpp"
#include "data/sentence_lines.hpp"

namespace margrove {
namespace {
using detail::Line;
using detail::quoted;

constexpr std::uint32_t kMaxGrades = 1000;

std::uint32_t parse_grade(const Line& line, std::string_view cell) {
  std::uint32_t grade = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), grade);
  if (error != std::errc{} || end != cell.data() + cell.size() || grade >= kMaxGrades) {
    line.fail(cell.data(), "grade is ", quoted(cell), ", but must be a whole number below ",
              kMaxGrades);
  }
  return grade;
}

void parse_line(const Line& line, const GradeFileOptions& options, GradedRows& rows) {
  std::vector<std::string_view> cells;
  detail::split_at_blanks(line.text, cells);
  if (cells.empty()) return;
  if (options.has_grades) rows.grades.push_back(parse_grade(line, cells.front()));
  std::vector<float> values;
  for (const std::string_view cell : std::span(cells).subspan(1)) {
    const auto [value, fault] = detail::parse_float(cell);
    if (fault != detail::FloatFault::none) {
      line.fail(cell.data(), "feature is ", quoted(cell), ", but must be a number");
    }
    values.push_back(value);
  }
  if (rows.size() > 0 && values.size() != rows.X.num_columns()) {
    line.fail(line.end(), "the line has ", values.size(), " features, but must have ",
              rows.X.num_columns(), " like the first");
  }
  std::vector<FeatureId> columns(values.size());
  std::iota(columns.begin(), columns.end(), FeatureId{0});
  rows.X.append_row(columns, values);
}

}  // namespace

GradedRows read_grades(const ExampleSource& source, const GradeFileOptions& options,
                       RunControl* control) {
  GradedRows rows;
  LineBlocks blocks = detail::row_blocks(source.open(), source.name(), control);
  detail::for_each_line(blocks, [&](const Line& line) { parse_line(line, options, rows); });
  require(rows.size() > 0, source.name(), ": there is no example, but must be one");
  std::uint32_t num_grades = options.num_grades;
  for (const std::uint32_t grade : rows.grades) num_grades = std::max(num_grades, grade + 1);
  for (std::uint32_t k = 0; k < num_grades; ++k) rows.names.add(concat(k));
  return rows;
}

}  // namespace margrove
