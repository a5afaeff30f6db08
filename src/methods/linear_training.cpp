#include "methods/linear_training.hpp"

#include <algorithm>
#include <cmath>

#include "data/cost_matrix_reader.hpp"

namespace margrove {

OccurringLabels occurring_labels(const LabelSets& sets, std::size_t num_labels) {
  constexpr LabelId kAbsent = ~LabelId{0};
  std::vector<LabelId> position(num_labels, kAbsent);
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    for (const LabelId label : sets[i]) position[label] = 0;
  }
  OccurringLabels occurring;
  for (LabelId label = 0; label < num_labels; ++label) {
    if (position[label] == kAbsent) continue;
    position[label] = static_cast<LabelId>(occurring.labels.size());
    occurring.labels.push_back(label);
  }
  occurring.sets = sets.without_rows();
  std::vector<LabelId> set;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    set.clear();
    for (const LabelId label : sets[i]) set.push_back(position[label]);
    occurring.sets.append(set);
  }
  return occurring;
}

double free_intercept_value(const CsrView& X, PointLossKind loss) {
  constexpr double kLogistic = 4;  // Newton's method needs no short steps
  double squares = 0;
  for (const float value : X.values()) squares += double{value} * value;
  const double mean = squares / static_cast<double>(std::max<std::size_t>(X.num_rows(), 1));
  const double norm = mean > 0 ? std::sqrt(mean) : 1.0;
  return static_cast<float>(loss == PointLossKind::logistic ? kLogistic * norm : norm);
}

bool has_one_each(const LabelSets& sets) {
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    if (sets[i].size() != 1) return false;
  }
  return true;
}

FitReport to_report(const OneVsRestFit& fit) {
  FitReport report;
  report.stop = fit.stop;
  for (const BinaryFit& label : fit.labels) report.passes = std::max(report.passes, label.passes);
  report.primal = fit.primal;
  report.dual = fit.dual;
  report.relative_gap = fit.relative_gap();
  return report;
}

void require_defaults(const OptionTable& table, std::initializer_list<std::string_view> others,
                      std::string_view theirs, std::string_view ours) {
  for (const OptionInfo& option : table.list()) {
    if (std::ranges::find(others, option.name) == others.end()) continue;
    require<InvalidOption>(table.get(option.name) == option.default_value, "option ", option.name,
                           " is '", table.get(option.name), "', which is for ", theirs, ", but ",
                           ours);
  }
}

void require_single_labels(const TrainingSet& data, std::string_view method) {
  const LabelSets& sets = *data.labels;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    require(sets[i].size() <= 1, data.source, ": row ", i + 1, " has ", sets[i].size(),
            " labels, '", sets[i].empty() ? "" : data.codec->name(sets[i][0]),
            "' among them, but method ", method, " needs one per row");
  }
}

std::vector<double> leaf_costs(const std::string& path, const LeafSets& leaves,
                               const LabelCodec& codec) {
  if (path.empty()) return {};
  require<InvalidOption>(leaves.sets.single_label(), "option cost_matrix is '", path,
                         "', which is for rows with one label, but some rows have several");
  std::vector<LabelId> labels;
  for (const NodeId leaf : leaves.tree.graph.leaves()) {
    labels.push_back(leaves.tree.label_of_node[leaf]);
  }
  return read_cost_matrix(path, codec).among(labels, codec);
}

}  // namespace margrove
