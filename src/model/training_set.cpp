#include "margrove/model/training_set.hpp"

#include <optional>

#include "margrove/base/errors.hpp"

namespace margrove {
namespace {

LabelCodec codec_in_order(const LabelCodec& codec) {
  std::vector<std::string> names;
  names.reserve(codec.size());
  for (const LabelId id : natural_order(codec)) names.push_back(codec.name(id));
  return LabelCodec(names);
}

LabelGraph graph_of(const Hierarchy& hierarchy, const LabelCodec& codec) {
  std::vector<LabelEdge> edges;
  edges.reserve(hierarchy.edges.size());
  for (const auto& [parent, child] : hierarchy.edges) {
    edges.push_back(
        {*codec.find(hierarchy.codec.name(parent)), *codec.find(hierarchy.codec.name(child))});
  }
  return LabelGraph::build(static_cast<std::uint32_t>(codec.size()), edges);
}

}  // namespace

LabelledRows label_rows(const LabelSets& labels, const LabelCodec& codec,
                        const Hierarchy* hierarchy, const std::string& source) {
  LabelledRows rows;
  rows.has_hierarchy = hierarchy != nullptr;
  rows.codec = codec_in_order(hierarchy != nullptr ? hierarchy->codec : codec);
  rows.hierarchy = hierarchy != nullptr
                       ? graph_of(*hierarchy, rows.codec)
                       : LabelGraph::flat(static_cast<std::uint32_t>(rows.codec.size()));
  std::vector<std::optional<LabelId>> renamed(codec.size());
  for (LabelId id = 0; id < codec.size(); ++id) renamed[id] = rows.codec.find(codec.name(id));
  std::vector<LabelId> set;
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    set.clear();
    for (const LabelId label : labels[i]) {
      require(renamed[label].has_value(), source, ": row ", i + 1, ": label is '",
              codec.name(label), "', but must be a node of the hierarchy ",
              hierarchy != nullptr ? hierarchy->source : "");
      set.push_back(*renamed[label]);
    }
    rows.labels.append(set);
  }
  return rows;
}

TranslatedLabels translate_labels(const LabelSets& labels, const LabelCodec& codec,
                                  const LabelCodec& target) {
  TranslatedLabels translated;
  constexpr LabelId kUnseen = ~LabelId{0};
  std::vector<LabelId> renamed(codec.size(), kUnseen);
  auto next_unknown = static_cast<LabelId>(target.size());
  std::vector<LabelId> set;
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    set.clear();
    bool has_unknown = false;
    for (const LabelId label : labels[i]) {
      LabelId& id = renamed[label];
      if (id == kUnseen) {
        const auto known = target.find(codec.name(label));
        id = known ? *known : next_unknown++;
      }
      has_unknown |= id >= target.size();
      set.push_back(id);
    }
    translated.num_rows_with_unknown += has_unknown;
    translated.labels.append(set);
  }
  translated.num_unknown_labels = next_unknown - target.size();
  return translated;
}

}  // namespace margrove
