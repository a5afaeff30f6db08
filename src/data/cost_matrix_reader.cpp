#include "data/cost_matrix_reader.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/number_text.hpp"
#include "data/input_file.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {
using detail::Line;
using detail::quoted;

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

std::vector<std::string_view> cells_of(const Line& line) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0; begin <= line.text.size();) {
    const std::size_t end = std::min(line.text.find(',', begin), line.text.size());
    cells.push_back(line.text.substr(begin, end - begin));
    begin = end + 1;
  }
  return cells;
}

class CostMatrixParser {
 public:
  explicit CostMatrixParser(const LabelCodec& codec)
      : codec_(codec), column_of_label_(codec.size(), kNone), line_of_label_(codec.size(), 0) {}

  void parse_line(const Line& line) {
    if (line.text.empty()) return;
    const std::vector<std::string_view> cells = cells_of(line);
    is_first_ ? parse_names(line, cells) : parse_costs(line, cells);
    is_first_ = false;
  }

  CostMatrix finish(const std::string& name) {
    require(!is_first_, name,
            ": the file has no lines, but must have a header and a line per label");
    for (std::size_t k = 0; k < matrix_.labels.size(); ++k) {
      require(line_of_label_[matrix_.labels[k]] > 0, name, ": label ",
              detail::quoted(codec_.name(matrix_.labels[k])), " has a column, but no row");
    }
    matrix_.source = name;
    return std::move(matrix_);
  }

 private:
  LabelId known(const Line& line, std::string_view name) const {
    const auto id = codec_.find(name);
    if (!id) {
      line.fail(name.data(), "label is ", quoted(name), ", but must be one of the ", codec_.size(),
                " known labels");
    }
    return *id;
  }

  void parse_names(const Line& line, const std::vector<std::string_view>& cells) {
    for (std::size_t k = 1; k < cells.size(); ++k) {
      const LabelId label = known(line, cells[k]);
      if (column_of_label_[label] != kNone) {
        line.fail(cells[k].data(), "label ", quoted(cells[k]),
                  " has a column already, but must have one");
      }
      column_of_label_[label] = matrix_.labels.size();
      matrix_.labels.push_back(label);
    }
    if (matrix_.labels.empty()) {
      line.fail(line.end(), "the line names no label, but must name the columns");
    }
    matrix_.costs.assign(matrix_.labels.size() * matrix_.labels.size(), 0.0);
  }

  void parse_costs(const Line& line, const std::vector<std::string_view>& cells) {
    const std::size_t size = matrix_.labels.size();
    const LabelId truth = known(line, cells[0]);
    if (line_of_label_[truth] > 0) {
      line.fail(cells[0].data(), "label ", quoted(cells[0]), " has a row already, on line ",
                line_of_label_[truth]);
    }
    if (column_of_label_[truth] == kNone) {
      line.fail(cells[0].data(), "label ", quoted(cells[0]), " has a row, but no column");
    }
    line_of_label_[truth] = line.number;
    if (cells.size() != size + 1) {
      line.fail(cells.size() > size + 1 ? cells[size + 1].data() : line.end(), "the line has ",
                cells.size() - 1, " costs, but must have one per column, ", size);
    }
    const std::size_t row = column_of_label_[truth];
    for (std::size_t k = 0; k < size; ++k) {
      matrix_.costs[row * size + k] = parse_cost(line, cells[k + 1], k == row);
    }
  }

  static double parse_cost(const Line& line, std::string_view cell, bool is_own) {
    const auto cost = read_number<double>(cell);
    if (!cost || !std::isfinite(*cost) || *cost < 0) {
      line.fail(cell.data(), "cost is ", quoted(cell), ", but must be a number >= 0");
    }
    if (is_own && *cost != 0) {
      line.fail(cell.data(), "cost of the true label is ", *cost, ", but must be 0");
    }
    return *cost;
  }

  const LabelCodec& codec_;
  CostMatrix matrix_;
  bool is_first_ = true;
  std::vector<std::size_t> column_of_label_;  // kNone: none
  std::vector<std::int64_t> line_of_label_;   // 0: none
};

CostMatrix read_costs(LineBlocks blocks, const LabelCodec& codec) {
  CostMatrixParser parser(codec);
  detail::for_each_line(blocks, [&](const Line& line) { parser.parse_line(line); });
  return parser.finish(blocks.name());
}

}  // namespace

CostMatrix read_cost_matrix(const std::string& path, const LabelCodec& codec) {
  return read_costs(LineBlocks(open_file(path), path), codec);
}

CostMatrix parse_cost_matrix(std::string_view bytes, const std::string& name,
                             const LabelCodec& codec) {
  return read_costs(LineBlocks(open_memory(bytes, name), name), codec);
}

std::vector<double> CostMatrix::among(std::span<const LabelId> wanted,
                                      const LabelCodec& codec) const {
  std::vector<std::size_t> place(codec.size(), kNone);
  for (std::size_t k = 0; k < labels.size(); ++k) place[labels[k]] = k;
  for (const LabelId label : wanted) {
    require(place[label] != kNone, source, ": label ", detail::quoted(codec.name(label)),
            " has no row and no column, but must have both: it is a possible answer");
  }
  std::vector<double> chosen;
  chosen.reserve(wanted.size() * wanted.size());
  for (const LabelId truth : wanted) {
    for (const LabelId label : wanted) {
      chosen.push_back(costs[place[truth] * labels.size() + place[label]]);
    }
  }
  return chosen;
}

}  // namespace margrove
