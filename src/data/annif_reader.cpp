#include "data/annif_reader.hpp"

#include "data/document_rows.hpp"
#include "data/row_parts.hpp"

namespace margrove {
namespace {
using detail::Line;

/// `text<TAB><URI> <URI> ...`
struct TextThenSubjects {
  static std::optional<std::string_view> parse(const Line& line, const TextOptions& options,
                                               LabelCodec& codec, std::vector<LabelId>& labels) {
    if (detail::trimmed(line.text).empty()) return std::nullopt;
    const std::size_t tab = line.text.rfind('\t');
    if (tab == std::string_view::npos) return line.text;
    std::string_view list = detail::trimmed(line.text.substr(tab + 1));
    for (; !list.empty(); list = detail::trimmed(list)) {
      const std::size_t end = list.find('>');
      if (!list.starts_with('<') || end == std::string_view::npos) {
        line.fail(list.data(), "subject is ", detail::quoted(list),
                  ", but must be a URI in angle brackets");
      }
      labels.push_back(
          detail::label_id(line, list.substr(1, end - 1), codec, options.known_labels_only));
      list.remove_prefix(end + 1);
    }
    return line.text.substr(0, tab);
  }
};
using AnnifParser = detail::DocumentParser<TextThenSubjects>;

}  // namespace

bool starts_like_annif(std::string_view start) {
  while (!start.empty()) {
    const std::size_t newline = start.find('\n');
    const std::string_view line = start.substr(0, newline);
    start.remove_prefix(newline == std::string_view::npos ? start.size() : newline + 1);
    const std::size_t tab = line.rfind('\t');
    if (tab == std::string_view::npos) continue;
    const std::string_view subjects = detail::trimmed(line.substr(tab + 1));
    if (subjects.empty() || subjects == "\r") continue;
    return subjects.starts_with('<') && subjects.find("://") != std::string_view::npos &&
           subjects.find('>') != std::string_view::npos;
  }
  return false;
}

TextDataset read_annif(const std::string& path, const TextOptions& options, RunControl* control) {
  return detail::parse_rows(LineBlocks(open_file(path), path), AnnifParser(options), control);
}

TextDataset parse_annif(std::string_view bytes, const std::string& name, const TextOptions& options,
                        RunControl* control) {
  return detail::parse_rows(LineBlocks(open_memory(bytes, name), name), AnnifParser(options),
                            control);
}

ReadRows annif_part(const FilePart& part, const std::string& name, const ReadOptions& options) {
  return detail::part_rows(part, name, AnnifParser({options.codec, options.known_labels_only}));
}

}  // namespace margrove
