#include "data/class_weight_reader.hpp"

#include <cmath>
#include <cstdint>

#include "base/number_text.hpp"
#include "data/input_file.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {
using detail::Line;
using detail::quoted;

double parse_weight(const Line& line, std::string_view text) {
  const auto weight = read_number<double>(text);
  if (!weight || !std::isfinite(*weight) || *weight < 0) {
    line.fail(text.data(), "weight is ", quoted(text), ", but must be a number >= 0");
  }
  return *weight;
}

std::vector<double> read(LineBlocks blocks, const LabelCodec& codec) {
  std::vector<double> weights(codec.size(), 1.0);
  std::vector<std::int64_t> line_of_label(codec.size(), 0);  // 0: none
  bool is_empty = true;
  detail::for_each_line(blocks, [&](const Line& line) {
    const auto fields = detail::two_fields(line, "label<TAB>weight");
    if (!fields) return;
    const auto [name, text] = *fields;
    const LabelId label = detail::known_label(line, name, codec);
    if (line_of_label[label] > 0) {
      line.fail(name.data(), "label ", quoted(name), " has a weight already, on line ",
                line_of_label[label]);
    }
    line_of_label[label] = line.number;
    weights[label] = parse_weight(line, text);
    is_empty = false;
  });
  require(!is_empty, blocks.name(),
          ": the file has no weight, but must have at least one line label<TAB>weight");
  return weights;
}

}  // namespace

std::vector<double> read_class_weights(const std::string& path, const LabelCodec& codec) {
  return read(LineBlocks(open_file(path), path), codec);
}

std::vector<double> parse_class_weights(std::string_view bytes, const std::string& name,
                                        const LabelCodec& codec) {
  return read(LineBlocks(open_memory(bytes, name), name), codec);
}

}  // namespace margrove
