#include "data/label_graph_reader.hpp"

#include <algorithm>
#include <unordered_map>

#include "data/input_file.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {
using detail::Line;

class Parser {
 public:
  explicit Parser(const LabelCodec& codec) : codec_(codec) {}

  void parse_line(const Line& line) {
    const auto [at, count] = detail::split_fields(line);
    if (count == 0) return;
    if (count == 1) line.fail(line.end(), "the line has one field, but must be 'label label'");
    if (count > 2) {
      line.fail(at[2].data(), "the line has a third field ", detail::quoted(at[2]),
                ", but must be 'label label'");
    }
    const LabelId first = known(line, at[0]), second = known(line, at[1]);
    if (first == second) {
      line.fail(at[1].data(), "label ", detail::quoted(at[1]),
                " is paired with itself, but must be with another one");
    }
    const auto [low, high] = std::minmax(first, second);
    const auto [earlier, is_new] =
        pair_lines_.emplace((std::uint64_t{low} << 32U) | high, line.number);
    if (!is_new) {
      line.fail(at[0].data(), "pair ", detail::quoted(at[0]), " ", detail::quoted(at[1]),
                " is on line ", earlier->second, " already, but must occur once");
    }
    pairs_.push_back({first, second});
  }

  std::vector<LabelPair> finish(const std::string& name) {
    require(!pairs_.empty(), name,
            ": the file has no pair, but must have at least one line 'label label'");
    return std::move(pairs_);
  }

 private:
  LabelId known(const Line& line, std::string_view name) const {
    const auto id = codec_.find(name);
    if (!id) {
      line.fail(name.data(), "label is ", detail::quoted(name), ", but must be one of the ",
                codec_.size(), " known labels");
    }
    return *id;
  }

  const LabelCodec& codec_;
  std::vector<LabelPair> pairs_;
  std::unordered_map<std::uint64_t, std::int64_t> pair_lines_;
};

std::vector<LabelPair> read(LineBlocks blocks, const LabelCodec& codec) {
  Parser parser(codec);
  std::int64_t line_number = 0;
  while (blocks.next()) {
    detail::for_each_line(blocks.name(), blocks.text(), line_number,
                          [&](const Line& line) { parser.parse_line(line); });
  }
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
