#include "data/prediction_reader.hpp"

#include <vector>

#include "data/text_scan.hpp"

namespace margrove {
namespace {

LabelSets read(LineBlocks blocks, LabelCodec& codec) {
  LabelSets sets;
  std::vector<LabelId> set;
  detail::for_each_line(blocks, [&](const detail::Line& line) {
    set.clear();
    if (!line.text.empty()) detail::parse_labels(line, line.text, codec, false, set);
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
