#include "margrove/text_reader.hpp"

#include "data/text_scan.hpp"

namespace margrove {
namespace {
using detail::Line;

class Parser {
 public:
  explicit Parser(const TextOptions& options) : options_(options) {
    if (options.codec != nullptr) data_.codec = *options.codec;
  }

  void parse_line(const Line& line) {
    if (line.text.empty()) return;
    const std::size_t tab = line.text.find('\t');
    if (tab == std::string_view::npos) {
      line.fail(line.end(), "the line has no tab, but must be label[,label]<TAB>text");
    }
    const std::string_view names = line.text.substr(0, tab), text = line.text.substr(tab + 1);
    row_labels_.clear();
    if (!names.empty()) {
      detail::parse_labels(line, names, data_.codec, options_.known_labels_only, row_labels_);
    }
    detail::require_text(line, text, "text");
    data_.labels.append(row_labels_);
    data_.documents.emplace_back(text);
  }

  std::size_t num_rows() const { return data_.documents.size(); }
  TextDataset finish() { return std::move(data_); }

 private:
  const TextOptions& options_;
  TextDataset data_;
  std::vector<LabelId> row_labels_;
};
}  // namespace

TextDataset read_text(const std::string& path, const TextOptions& options, RunControl* control) {
  return detail::parse_rows(LineBlocks(open_file(path), path), Parser(options), control);
}

TextDataset parse_text(std::string_view bytes, const std::string& name, const TextOptions& options,
                       RunControl* control) {
  return detail::parse_rows(LineBlocks(open_memory(bytes, name), name), Parser(options), control);
}

}  // namespace margrove
