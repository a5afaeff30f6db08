#include "data/prediction_reader.hpp"

#include <vector>

#include "base/number_text.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {

/// Labels that may have blanks and commas have tabs between them. A line that is a known label is
/// this one.
void parse_line(const detail::Line& line, LabelCodec& codec, std::vector<LabelId>& set) {
  if (const auto known = codec.find(line.text)) return set.push_back(*known);
  std::string_view rest = line.text;
  if (rest.find('\t') == std::string_view::npos) {
    return detail::parse_labels(line, rest, codec, false, set);
  }
  for (;;) {
    const std::size_t tab = rest.find('\t');
    const std::string_view name = rest.substr(0, tab);
    line.require_name(name);
    const std::size_t colon = name.rfind(':');
    const bool has_score = !codec.find(name) && colon != std::string_view::npos &&
                           read_number<double>(name.substr(colon + 1)).has_value();
    if (has_score) {
      line.fail(name.data(), "label is ", detail::quoted(name), ", but must have no score");
    }
    set.push_back(codec.add(name));
    if (tab == std::string_view::npos) return;
    rest.remove_prefix(tab + 1);
  }
}

LabelSets read(LineBlocks blocks, LabelCodec& codec) {
  LabelSets sets;
  std::vector<LabelId> set;
  detail::for_each_line(blocks, [&](const detail::Line& line) {
    set.clear();
    if (!line.text.empty()) parse_line(line, codec, set);
    sets.append(set);
  });
  require(sets.num_rows() > 0, blocks.name(), ": the file has no rows, but must have at least one");
  return sets;
}

}  // namespace

LabelSets read_predictions(const std::string& path, LabelCodec& codec) {
  return read(LineBlocks(open_file(path), path), codec);
}

LabelSets parse_predictions(std::string_view bytes, const std::string& name, LabelCodec& codec) {
  return read(LineBlocks(open_memory(bytes, name), name), codec);
}

}  // namespace margrove
