#include "data/label_names_reader.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "data/csv_scanner.hpp"
#include "data/hierarchy_edges.hpp"
#include "data/text_scan.hpp"
#include "data/utf8.hpp"

namespace margrove {
namespace {

struct Cell {
  std::string_view text;
  TextPlace place;
};

/// Cells of lines become names of labels.
class NamesBuilder {
 public:
  explicit NamesBuilder(std::string source) { names_.source = std::move(source); }

  /// The cells of a line, at least one; `form` is that of lines in messages.
  void add(const std::vector<Cell>& cells, std::string_view form) {
    const Cell first = trimmed(cells.front());
    const std::string_view label = detail::without_brackets(first.text);
    if (const std::string fault = detail::name_fault(label); !fault.empty()) {
      fail(first.place, "label ", fault);
    }
    std::optional<LabelId> id;  // once there is a name
    for (std::size_t k = 1; k < cells.size(); ++k) {
      const Cell cell = trimmed(cells[k]);
      if (cell.text.empty()) continue;
      std::string name = name_in(cell);
      if (!id) id = id_of(label, first.place.line);
      if (names_.names[*id].empty()) {
        names_.names[*id] = std::move(name);
      } else {
        add_line(names_.other_names[*id], name);
      }
    }
    if (!id)
      fail(first.place, "label ", detail::quoted(label), " has no name, but the line must be ",
           form);
  }

  LabelNames finish(std::string_view form) {
    require(names_.labels.size() > 0, names_.source,
            ": the file has no name, but must have at least one line ", form);
    return std::move(names_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(TextPlace place, const Parts&... parts) const {
    throw InvalidInput(concat(names_.source, ":", place.line, ":", place.column, ": ", parts...));
  }

  static Cell trimmed(Cell cell) {
    const std::string_view text = detail::trimmed(cell.text);
    if (!text.empty()) cell.place.column += text.data() - cell.text.data();
    return {text, cell.place};
  }

  /// On one line: names are written and kept as lines.
  std::string name_in(const Cell& cell) const {
    if (cell.text.find('\0') != std::string_view::npos ||
        find_invalid_utf8(cell.text) != std::string_view::npos) {
      fail(cell.place, "name is ", detail::quoted(cell.text), ", but must be UTF-8 text");
    }
    std::string name(cell.text);
    std::ranges::replace_if(
        name, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    return name;
  }

  LabelId id_of(std::string_view label, std::int64_t line) {
    const LabelId id = names_.labels.add(label);
    if (id == names_.names.size()) {
      names_.names.emplace_back();
      names_.other_names.emplace_back();
      names_.lines.push_back(line);
    }
    return id;
  }

  LabelNames names_;
};

LabelNames read_lines(LineBlocks blocks) {
  constexpr std::string_view kForm = "label<TAB>name";
  NamesBuilder builder(blocks.name());
  std::vector<Cell> cells;
  detail::for_each_line(blocks, [&](const detail::Line& line) {
    if (line.text.starts_with('#') || detail::trimmed(line.text).empty()) return;
    cells.clear();
    for (std::size_t at = 0; at <= line.text.size();) {
      const std::size_t end = std::min(line.text.find('\t', at), line.text.size());
      cells.push_back(
          {line.text.substr(at, end - at), {line.number, static_cast<std::int64_t>(at) + 1}});
      at = end + 1;
    }
    builder.add(cells, kForm);
  });
  return builder.finish(kForm);
}

LabelNames read_cells(LineBlocks blocks) {
  constexpr std::string_view kForm = "label,name";
  NamesBuilder builder(blocks.name());
  CsvScanner scanner(std::move(blocks));
  std::vector<Cell> cells;
  for (bool may_be_header = true; scanner.next(); may_be_header = false) {
    cells.clear();
    for (const CsvCell& cell : scanner.cells()) cells.push_back({scanner.text(cell), cell.place});
    const bool is_header =
        may_be_header && cells.size() > 1 && cells[0].text == "label" && cells[1].text == "name";
    if (!is_header) builder.add(cells, kForm);
  }
  return builder.finish(kForm);
}

LabelNames read(LineBlocks blocks) {
  const std::string name = blocks.name();
  return read_in_time(name, [&] {
    return name_uncompressed(name).ends_with(".csv") ? read_cells(std::move(blocks))
                                                     : read_lines(std::move(blocks));
  });
}

}  // namespace

LabelNames read_label_names(const std::string& path, RunControl* control) {
  return read(LineBlocks(open_file(path), path, control));
}

LabelNames parse_label_names(std::string_view bytes, const std::string& name) {
  return read(LineBlocks(open_memory(bytes, name), name));
}

UnknownNames use_label_names(Hierarchy& hierarchy, const LabelNames& names, bool drops_unknown) {
  hierarchy.names.resize(hierarchy.codec.size());
  hierarchy.other_names.resize(hierarchy.codec.size());
  std::vector<bool> has_own(hierarchy.codec.size(), false);  // those that it had are replaced
  UnknownNames unknown;
  for (LabelId label = 0; label < names.labels.size(); ++label) {
    const auto node = hierarchy.codec.find(names.labels.name(label));
    if (!node) {
      require(drops_unknown, names.source, ":", names.lines[label], ": label is ",
              detail::quoted(names.labels.name(label)), ", but must be a node of ",
              hierarchy.source, "; --unknown-labels drop leaves out the others");
      if (unknown.count++ == 0) unknown.example = names.labels.name(label);
    } else if (has_own[*node]) {
      add_line(hierarchy.other_names[*node], names.names[label]);
      if (!names.other_names[label].empty()) {
        add_line(hierarchy.other_names[*node], names.other_names[label]);
      }
    } else {
      has_own[*node] = true;
      hierarchy.names[*node] = names.names[label];
      hierarchy.other_names[*node] = names.other_names[label];
    }
  }
  require(unknown.count < names.labels.size(), names.source, ": none of its ", unknown.count,
          " labels is a node of ", hierarchy.source, "; one of them is ",
          detail::quoted(unknown.example));
  return unknown;
}

void require_known_names(const LabelCodec& codec, const LabelNames& names,
                         const std::string& source) {
  const bool any_is_known = std::ranges::any_of(
      names.labels.names(), [&](const std::string& name) { return codec.find(name).has_value(); });
  require(any_is_known, names.source, ": none of its ", names.labels.size(),
          " labels is a label of ", source, "; one of them is ",
          detail::quoted(names.labels.name(0)));
}

Hierarchy flat_labels(const LabelCodec& codec, const LabelNames& names) {
  Hierarchy labels;
  labels.codec = codec;
  labels.is_flat = true;
  for (const std::string& name : names.labels.names()) labels.codec.add(name);
  use_label_names(labels, names, false);
  return labels;
}

}  // namespace margrove
