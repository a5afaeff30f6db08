#include "margrove/text_reader.hpp"

#include "data/document_rows.hpp"
#include "data/row_parts.hpp"

namespace margrove {
namespace {
using detail::Line;

/// `label[,label]<TAB>text`
struct LabelsThenText {
  static std::optional<std::string_view> parse(const Line& line, const TextOptions& options,
                                               LabelCodec& codec, std::vector<LabelId>& labels) {
    if (line.text.empty()) return std::nullopt;
    const std::size_t tab = line.text.find('\t');
    if (tab == std::string_view::npos) {
      line.fail(line.end(), "the line has no tab, but must be label[,label]<TAB>text",
                detail::hint_for_json(line.text));
    }
    const std::string_view names = line.text.substr(0, tab);
    if (!names.empty()) {
      detail::parse_labels(line, names, codec, options.known_labels_only, labels);
    }
    return line.text.substr(tab + 1);
  }
};
using LabelledTextParser = detail::DocumentParser<LabelsThenText>;
}  // namespace

TextDataset read_text(const std::string& path, const TextOptions& options, RunControl* control) {
  return detail::parse_rows(detail::row_blocks(open_file(path), path, control),
                            LabelledTextParser(options), control);
}

TextDataset parse_text(std::string_view bytes, const std::string& name, const TextOptions& options,
                       RunControl* control) {
  return detail::parse_rows(detail::row_blocks(open_memory(bytes, name), name, control),
                            LabelledTextParser(options), control);
}

Examples text_part(const FilePart& part, const std::string& name, const ReadOptions& options) {
  return detail::part_rows(part, name,
                           LabelledTextParser({options.codec, options.known_labels_only}));
}

}  // namespace margrove
