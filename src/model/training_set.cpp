#include "model/training_set.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "base/work_meter.hpp"
#include "data/natural_order.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

LabelCodec codec_in_order(const LabelCodec& codec, WorkMeter& meter) {
  LabelCodec ordered;
  for (const LabelId id : natural_order(codec, meter)) {
    meter.add();
    ordered.add(codec.name(id));
  }
  for (const auto& [other, label] : codec.alternatives()) {
    meter.add();
    ordered.add_alternative(other, *ordered.find(codec.name(label)));
  }
  return ordered;
}

LabelGraph graph_of(const Hierarchy& hierarchy, const LabelCodec& codec, WorkMeter& meter) {
  std::vector<LabelEdge> edges;
  edges.reserve(hierarchy.edges.size());
  for (const auto& [parent, child] : hierarchy.edges) {
    meter.add(2);
    edges.push_back(
        {*codec.find(hierarchy.codec.name(parent)), *codec.find(hierarchy.codec.name(child))});
  }
  return LabelGraph::build(static_cast<std::uint32_t>(codec.size()), edges);
}

/// Texts of the nodes in the order of a codec; none if all are empty.
std::vector<std::string> in_order(const std::vector<std::string>& texts, const Hierarchy& hierarchy,
                                  const LabelCodec& codec, WorkMeter& meter) {
  std::vector<std::string> ordered;
  const auto has_text = [](const std::string& text) { return !text.empty(); };
  if (!std::ranges::any_of(texts, has_text)) return ordered;
  for (const std::string& id : codec.names()) {
    meter.add();
    ordered.push_back(texts[*hierarchy.codec.find(id)]);
  }
  return ordered;
}

/// A word mixed into a hash.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  std::uint64_t state = hash + word;
  return splitmix64(state);
}

std::uint64_t hash_of(const SparseRow& x, std::span<const LabelId> labels) {
  std::uint64_t hash = labels.size();
  for (const LabelId label : labels) hash = mixed(hash, label);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const auto value = std::bit_cast<std::uint32_t>(x.values[k] + 0.0F);  // -0 is 0
    hash = mixed(hash, (std::uint64_t{x.columns[k]} << 32U) | value);
  }
  return hash;
}

/// Rows with their labels, by hash and then by content.
class RowOrder {
 public:
  RowOrder(const CsrView& X, const LabelSets& labels, WorkMeter& meter)
      : X_(X), labels_(labels), hashes_(X.num_rows()) {
    for (std::size_t i = 0; i < hashes_.size(); ++i) {
      meter.add(X.row(i).size() + labels[i].size());
      hashes_[i] = hash_of(X.row(i), labels[i]);
    }
  }
  bool operator()(std::uint32_t a, std::uint32_t b) const {
    if (hashes_[a] != hashes_[b]) return hashes_[a] < hashes_[b];
    const SparseRow x = X_.row(a), y = X_.row(b);
    if (const auto order = compare(labels_[a], labels_[b]); order != 0) return order < 0;
    if (const auto order = compare(x.columns, y.columns); order != 0) return order < 0;
    return compare(x.values, y.values) < 0;
  }

 private:
  template <class Range>
  static int compare(const Range& a, const Range& b) {
    if (std::ranges::lexicographical_compare(a, b)) return -1;
    return std::ranges::lexicographical_compare(b, a) ? 1 : 0;
  }
  const CsrView& X_;
  const LabelSets& labels_;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace

std::optional<MergedRows> merge_equal_rows(const CsrView& X, const LabelSets& labels,
                                           std::span<const double> row_weights,
                                           RunControl* control) {
  require(labels.num_rows() == X.num_rows(), "merge_equal_rows: there are ", labels.num_rows(),
          " label sets, but must be ", X.num_rows());
  require(row_weights.empty() || row_weights.size() == X.num_rows(), "row weights: there are ",
          row_weights.size(), ", but must be ", X.num_rows());
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < X.num_rows(); ++i) {
    if (!row_weights.empty()) {
      require(row_weights[i] >= 0 && std::isfinite(row_weights[i]), "row weights: that of row ", i,
              " is ", row_weights[i], ", but must be a number >= 0");
    }
    if (row_weights.empty() || row_weights[i] > 0) order.push_back(i);
  }
  require(!order.empty() || X.num_rows() == 0, "row weights: all are 0, but one must be > 0");
  WorkMeter meter(control);
  const RowOrder less(X, labels, meter);
  sort_metered(order, less, meter);
  MergedRows merged;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const double weight = row_weights.empty() ? 1.0 : row_weights[order[k]];
    if (k > 0 && !less(order[k - 1], order[k])) {
      merged.row_weights.back() += weight;
    } else {
      merged.rows.push_back(order[k]);
      merged.row_weights.push_back(weight);
    }
  }
  if (row_weights.empty() && merged.rows.size() == X.num_rows()) return std::nullopt;
  return merged;
}

const Preprocessing* texts_of(const std::optional<RecordFeatures>& records,
                              const Preprocessing& preprocessing) {
  const Preprocessing& terms = records ? records->text : preprocessing;
  return terms.kind == Preprocessing::Kind::text_tfidf ? &terms : nullptr;
}

void require_no_row_weights(const TrainingSet& data, std::string_view method) {
  require<InvalidOption>(data.row_weights.empty(), "option class_weight (or sample_weight) gives ",
                         "the rows weights, but method ", method,
                         " takes none; leave it out, or take a linear method such as flat-svm");
}

LabelledRows label_rows(const LabelSets& labels, const LabelCodec& codec,
                        const Hierarchy* hierarchy, const std::string& source,
                        RunControl* control) {
  WorkMeter meter(control);
  LabelledRows rows;
  rows.has_hierarchy = hierarchy != nullptr && !hierarchy->is_flat;
  rows.codec = codec_in_order(hierarchy != nullptr ? hierarchy->codec : codec, meter);
  rows.hierarchy = hierarchy != nullptr
                       ? graph_of(*hierarchy, rows.codec, meter)
                       : LabelGraph::flat(static_cast<std::uint32_t>(rows.codec.size()));
  if (hierarchy != nullptr) {
    rows.names = in_order(hierarchy->names, *hierarchy, rows.codec, meter);
    rows.other_names = in_order(hierarchy->other_names, *hierarchy, rows.codec, meter);
  }
  std::vector<std::optional<LabelId>> renamed(codec.size());
  for (LabelId id = 0; id < codec.size(); ++id) {
    meter.add();
    renamed[id] = rows.codec.find(codec.name(id));
  }
  rows.labels = labels.without_rows();
  std::vector<LabelId> set;
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    set.clear();
    meter.add(1 + labels[i].size());
    for (const LabelId label : labels[i]) {
      require(renamed[label].has_value(), source, ": row ", i + 1, ": label is '",
              codec.name(label), "', but must be a node of ",
              hierarchy != nullptr ? hierarchy->source : "the hierarchy");
      set.push_back(*renamed[label]);
    }
    rows.labels.append(set);
  }
  return rows;
}

TranslatedLabels translate_labels(const LabelSets& labels, const LabelCodec& codec,
                                  const LabelCodec& target) {
  TranslatedLabels translated;
  translated.labels = labels.without_rows();
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
