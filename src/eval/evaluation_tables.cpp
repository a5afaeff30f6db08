#include "eval/evaluation_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "data/csv_cell.hpp"
#include "eval/label_frequency.hpp"
#include "eval/set_metrics.hpp"
#include "eval/sibling_confusion.hpp"
#include "hierarchy/closed_sets.hpp"
#include "margrove/metrics.hpp"

namespace margrove {
std::string per_label_csv(const EvaluatedRows& rows, const PrecisionRecall* node_scores) {
  std::string csv = "label,support,predicted,precision,recall,f1,training_rows,ap\n";
  for (const LabelScore& score : label_scores(rows.truth, rows.predicted, rows.in_training)) {
    const bool has_ap = node_scores != nullptr && node_scores->support[score.label] > 0;
    csv +=
        fmt::format("{},{},{},{:.6g},{:.6g},{:.6g},{},{}\n",
                    csv_cell(rows.labels.name(score.label)), score.support, score.predicted,
                    score.precision(), score.recall(), score.f1(), rows.training_rows[score.label],
                    has_ap ? fmt::format("{:.6g}", node_scores->of_node[score.label]) : "");
  }
  return csv;
}

std::string per_level_csv(const EvaluatedRows& rows) {
  std::string csv = "level,rows,accuracy,support,predicted,precision,recall,f1\n";
  const auto levels = level_scores(closed_sets(rows.hierarchy, rows.truth),
                                   closed_sets(rows.hierarchy, rows.predicted), rows.hierarchy);
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const LevelScore& level = levels[k];
    const LabelScore nodes{0, level.support, level.predicted, level.true_positives};
    const double accuracy =
        level.rows == 0 ? 0.0
                        : static_cast<double>(level.right_rows) / static_cast<double>(level.rows);
    csv +=
        fmt::format("{},{},{:.6g},{},{},{:.6g},{:.6g},{:.6g}\n", k + 1, level.rows, accuracy,
                    level.support, level.predicted, nodes.precision(), nodes.recall(), nodes.f1());
  }
  return csv;
}

std::string per_frequency_csv(const EvaluatedRows& rows) {
  std::string csv = "training_rows,labels,support,predicted,precision,recall,f1,macro_f1\n";
  for (const FrequencyBand& band :
       scores_by_frequency(rows.truth, rows.predicted, rows.training_rows)) {
    csv += fmt::format("{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g}\n", band.name(), band.num_labels,
                       band.total.support, band.total.predicted, band.total.precision(),
                       band.total.recall(), band.total.f1(), band.macro_f1);
  }
  return csv;
}

std::string confusion_csv(const EvaluatedRows& rows) {
  const SiblingConfusion confused = sibling_confusion(rows.hierarchy, rows.truth, rows.predicted);
  std::vector<std::pair<std::pair<NodeId, NodeId>, std::int64_t>> pairs(confused.begin(),
                                                                        confused.end());
  std::ranges::stable_sort(pairs, std::greater<>{}, [](const auto& pair) { return pair.second; });
  std::string csv = "true,predicted,count\n";
  for (const auto& [pair, count] : pairs) {
    csv += fmt::format("{},{},{}\n", csv_cell(rows.labels.name(pair.first)),
                       csv_cell(rows.labels.name(pair.second)), count);
  }
  return csv;
}

}  // namespace margrove
