#include "data/label_graph_reader.hpp"

#include <algorithm>
#include <unordered_map>

#include "data/text_scan.hpp"

namespace margrove {
namespace {
using detail::Line;

class LabelGraphParser {
 public:
  explicit LabelGraphParser(const LabelCodec& codec) : codec_(codec) {}

  void parse_line(const Line& line) {
    const auto at = detail::two_fields(line, "label label");
    if (!at) return;
    const auto [first_name, second_name] = *at;
    const LabelId first = detail::known_label(line, first_name, codec_);
    const LabelId second = detail::known_label(line, second_name, codec_);
    if (first == second) {
      line.fail(second_name.data(), "label ", detail::quoted(second_name),
                " is paired with itself, but must be with another one");
    }
    const auto [low, high] = std::minmax(first, second);
    const auto [earlier, is_new] =
        pair_lines_.emplace((std::uint64_t{low} << 32U) | high, line.number);
    if (!is_new) {
      line.fail(first_name.data(), "pair ", detail::quoted(first_name), " ",
                detail::quoted(second_name), " is on line ", earlier->second,
                " already, but must occur once");
    }
    pairs_.push_back({first, second});
  }

  std::vector<LabelPair> finish(const std::string& name) {
    require(!pairs_.empty(), name,
            ": the file has no pair, but must have at least one line 'label label'");
    return std::move(pairs_);
  }

 private:
  const LabelCodec& codec_;
  std::vector<LabelPair> pairs_;
  std::unordered_map<std::uint64_t, std::int64_t> pair_lines_;
};

std::vector<LabelPair> read(LineBlocks blocks, const LabelCodec& codec) {
  LabelGraphParser parser(codec);
  detail::for_each_line(blocks, [&](const Line& line) { parser.parse_line(line); });
  return parser.finish(blocks.name());
}

}  // namespace

std::vector<LabelPair> read_label_graph(const std::string& path, const LabelCodec& codec) {
  return read(LineBlocks(open_file(path), path), codec);
}

std::vector<LabelPair> parse_label_graph(std::string_view bytes, const std::string& name,
                                         const LabelCodec& codec) {
  return read(LineBlocks(open_memory(bytes, name), name), codec);
}

}  // namespace margrove
