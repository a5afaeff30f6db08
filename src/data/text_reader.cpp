#include "margrove/text_reader.hpp"

#include "data/input_file.hpp"
#include "data/text_scan.hpp"
#include "data/utf8.hpp"

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
    row_labels_.clear();
    if (tab > 0) parse_labels(line, line.text.substr(0, tab));
    const std::string_view text = line.text.substr(tab + 1);
    const std::size_t nul = text.find('\0');
    if (nul != std::string_view::npos) {
      line.fail(text.data() + nul, "the text has a NUL byte, but must be UTF-8 text");
    }
    const std::size_t invalid = find_invalid_utf8(text);
    if (invalid != std::string_view::npos) {
      line.fail(text.data() + invalid, "byte is ", detail::quoted(text.substr(invalid, 1)),
                ", but the text must be valid UTF-8");
    }
    data_.labels.append(row_labels_);
    data_.documents.emplace_back(text);
  }

  std::size_t num_rows() const { return data_.documents.size(); }
  TextDataset finish() { return std::move(data_); }

 private:
  void parse_labels(const Line& line, std::string_view rest) {
    for (;;) {
      const std::size_t comma = rest.find(',');
      const std::string_view name = rest.substr(0, comma);
      if (const auto known = data_.codec.find(name)) {
        row_labels_.push_back(*known);
      } else {
        line.require_label(name);
        if (options_.known_labels_only) {
          line.fail(name.data(), "label is ", detail::quoted(name), ", but must be one of the ",
                    data_.codec.size(), " known labels");
        }
        row_labels_.push_back(data_.codec.add(name));
      }
      if (comma == std::string_view::npos) return;
      rest.remove_prefix(comma + 1);
    }
  }

  const TextOptions& options_;
  TextDataset data_;
  std::vector<LabelId> row_labels_;
};

TextDataset read(LineBlocks blocks, const TextOptions& options, RunControl* control) {
  Parser parser(options);
  std::int64_t line_number = 0;
  while (blocks.next()) {
    detail::for_each_line(blocks.name(), blocks.text(), line_number,
                          [&](const Line& line) { parser.parse_line(line); });
    Progress progress{.stage = "reading", .unit = "rows"};
    progress.done = static_cast<std::int64_t>(parser.num_rows());
    if (control != nullptr && !control->proceed(progress)) return parser.finish();
  }
  require(parser.num_rows() > 0, blocks.name(),
          ": the file has no rows, but must have at least one");
  return parser.finish();
}
}  // namespace

TextDataset read_text(const std::string& path, const TextOptions& options, RunControl* control) {
  return read(LineBlocks(open_file(path), path), options, control);
}

TextDataset parse_text(std::string_view bytes, const std::string& name, const TextOptions& options,
                       RunControl* control) {
  return read(LineBlocks(open_memory(bytes, name), name), options, control);
}

}  // namespace margrove
