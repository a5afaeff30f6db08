#include "data/prediction_reader.hpp"

#include <algorithm>
#include <vector>

#include "data/input_file.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {

LabelSets read(LineBlocks blocks, LabelCodec& codec) {
  LabelSets sets;
  std::vector<LabelId> set;
  std::int64_t line_number = 0;
  while (blocks.next()) {
    detail::for_each_line(blocks.name(), blocks.text(), line_number, [&](const detail::Line& line) {
      set.clear();
      for (std::size_t begin = 0; begin <= line.text.size() && !line.text.empty();) {
        const std::size_t end = std::min(line.text.find(',', begin), line.text.size());
        const std::string_view name = line.text.substr(begin, end - begin);
        const auto known = codec.find(name);
        if (!known) line.require_label(name);
        set.push_back(known ? *known : codec.add(name));
        begin = end + 1;
      }
      sets.append(set);
    });
  }
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
