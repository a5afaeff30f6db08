#include "data/annif_reader.hpp"

#include <algorithm>
#include <filesystem>

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
    if (tab == std::string_view::npos) {
      const std::string_view hint = detail::hint_for_json(line.text);
      if (!hint.empty()) {
        line.fail(line.text.data(), "the line has no tab, but must be text<TAB><URI> <URI>", hint);
      }
      return line.text;
    }
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

/// A folder of documents NAME.txt with subjects in NAME.tsv (`<URI><TAB>name`) or NAME.key (a name
/// per line).
class Folder {
 public:
  Folder(const std::string& path, const TextOptions& options) : path_(path), options_(options) {
    if (options.codec != nullptr) data_.codec = *options.codec;
  }

  TextDataset read(RunControl* control) {
    namespace fs = std::filesystem;
    std::vector<fs::path> documents;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
      if (entry.path().extension() == ".txt") documents.push_back(entry.path());
    }
    require(!documents.empty(), path_,
            ": the folder has no documents NAME.txt, but must have at least one");
    std::sort(documents.begin(), documents.end());
    for (const fs::path& document : documents) {
      add_document(document.string(), control);
      add_subjects(document, control);
      if (!detail::report_rows(data_.documents.size(), control)) break;
    }
    return std::move(data_);
  }

 private:
  void add_document(const std::string& path, RunControl* control) {
    std::string text;
    LineBlocks blocks = detail::row_blocks(open_file(path), path, control);
    detail::for_each_line(blocks, [&](const Line& line) {
      detail::require_text(line);
      if (!text.empty()) text += '\n';
      text += line.text;
    });
    data_.documents.push_back(std::move(text));
  }

  void add_subjects(std::filesystem::path document, RunControl* control) {
    std::vector<LabelId> labels;
    for (const std::string_view extension : {".tsv", ".key"}) {
      const std::string path = document.replace_extension(extension).string();
      if (!std::filesystem::exists(path)) continue;
      LineBlocks blocks = detail::row_blocks(open_file(path), path, control);
      detail::for_each_line(blocks, [&](const Line& line) {
        const std::string_view subject =
            detail::without_brackets(detail::trimmed(line.text.substr(0, line.text.find('\t'))));
        if (detail::trimmed(line.text).empty()) return;
        labels.push_back(detail::label_id(line, subject, data_.codec, options_.known_labels_only));
      });
      break;
    }
    data_.labels.append(labels);
  }

  const std::string& path_;
  const TextOptions& options_;
  TextDataset data_;
};

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
  if (std::filesystem::is_directory(path)) return Folder(path, options).read(control);
  return detail::parse_rows(detail::row_blocks(open_file(path), path, control),
                            AnnifParser(options), control);
}

TextDataset parse_annif(std::string_view bytes, const std::string& name, const TextOptions& options,
                        RunControl* control) {
  return detail::parse_rows(detail::row_blocks(open_memory(bytes, name), name, control),
                            AnnifParser(options), control);
}

Examples annif_part(const FilePart& part, const std::string& name, const ReadOptions& options) {
  return detail::part_rows(part, name, AnnifParser({options.codec, options.known_labels_only}));
}

}  // namespace margrove
