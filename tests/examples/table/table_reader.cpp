#include "table/table_reader.hpp"

#include <array>
#include <optional>
#include <vector>

#include "data/float_parser.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {
using detail::Line;

class Parser {
 public:
  explicit Parser(const ReadOptions& options) : options_(options) {
    if (options.codec != nullptr) data_.codec = *options.codec;
  }

  void parse_line(const Line& line) {
    if (line.text.empty()) return;
    const std::size_t tab = std::min(line.text.find('\t'), line.text.size());
    const std::string_view name = line.text.substr(0, tab);
    const LabelId label = detail::label_id(line, name, data_.codec, options_.known_labels_only);
    columns_.clear();
    values_.clear();
    parse_cells(line, line.text.substr(tab));
    data_.X.append_row(columns_, values_);
    data_.labels.append(std::array{label});
  }
  std::size_t num_rows() const { return data_.labels.num_rows(); }
  Dataset finish() {
    data_.X.set_num_columns(width_.value_or(0));
    return std::move(data_);
  }

 private:
  // `rest` begins with the tab before the first cell, or is empty.
  void parse_cells(const Line& line, std::string_view rest) {
    std::uint32_t column = 0;
    for (; !rest.empty(); ++column) {
      const std::size_t end = std::min(rest.find('\t', 1), rest.size());
      const std::string_view cell = rest.substr(1, end - 1);
      const auto [value, fault] = detail::parse_float(cell);
      if (fault != detail::FloatFault::none) {
        line.fail(cell.data(), "the cell is ", detail::quoted(cell), ", but must be a number");
      }
      if (value != 0) {
        columns_.push_back(column);
        values_.push_back(value);
      }
      rest.remove_prefix(end);
    }
    if (!width_) width_ = column;
    if (column != *width_) {
      line.fail(line.end(), "the line has ", column, " numbers, but must have ", *width_,
                " as the first one");
    }
  }

  ReadOptions options_;
  Dataset data_;
  std::optional<std::uint32_t> width_;
  std::vector<FeatureId> columns_;
  std::vector<float> values_;
};

}  // namespace

Dataset read_table(const std::string& path, const ReadOptions& options, RunControl* control) {
  return detail::parse_rows(LineBlocks(open_file(path), path), Parser(options), control);
}

Dataset parse_table(std::string_view bytes, const std::string& name, const ReadOptions& options,
                    RunControl* control) {
  return detail::parse_rows(LineBlocks(open_memory(bytes, name), name), Parser(options), control);
}

Examples table_rows(const std::string& path, const ReadOptions& options, RunControl* control) {
  return read_table(path, options, control);
}

}  // namespace margrove
