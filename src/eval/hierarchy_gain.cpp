#include "eval/hierarchy_gain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "eval/paired_tests.hpp"
#include "eval/set_metrics.hpp"
#include "margrove/errors.hpp"
#include "margrove/metrics.hpp"

namespace margrove {
namespace {

constexpr double kSignificant = 0.05;

const RowRatio& named(const std::vector<RowRatio>& ratios, std::string_view name) {
  return *std::ranges::find(ratios, name, &RowRatio::name);
}

PairedTest sign_test_of_rows(const std::vector<double>& first, const std::vector<double>& second) {
  std::int64_t first_better = 0, second_better = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    first_better += first[i] > second[i];
    second_better += second[i] > first[i];
  }
  return sign_test(first_better, second_better);
}

std::vector<HierarchyGain::Band> by_frequency(const LabelSets& truth, const LabelSets& with,
                                              const LabelSets& flat,
                                              std::span<const std::uint32_t> training_rows) {
  const auto of_with = scores_by_frequency(truth, with, training_rows);
  const auto of_flat = scores_by_frequency(truth, flat, training_rows);
  const auto tests = sign_tests_by_frequency(truth, with, flat, training_rows);
  std::vector<HierarchyGain::Band> bands;
  for (std::size_t b = 0; b < tests.size(); ++b)
    bands.push_back({of_with[b], of_flat[b], tests[b]});
  return bands;
}

Gain gain_of(const PairedTest& labels, const PairedTest& nodes, double change_of_nodes) {
  if (labels.p_value < kSignificant) {
    return labels.first_better > labels.second_better ? Gain::helps : Gain::harms;
  }
  if (nodes.p_value < kSignificant && change_of_nodes != 0) {
    return change_of_nodes > 0 ? Gain::nearer : Gain::further;
  }
  return Gain::not_shown;
}

std::string sentence(const HierarchyGain& gain) {
  const auto& [labels, nodes] = std::pair(gain.labels, gain.nodes);
  const std::string of_labels =
      fmt::format("{} rows are labelled better with it and {} without (sign test, p = {:.2g})",
                  labels.first_better, labels.second_better, labels.p_value);
  const std::string of_nodes = fmt::format(
      "hierarchical F1 is {:.4f} with it and {:.4f} without (Wilcoxon test over rows, "
      "p = {:.2g})",
      gain.values[1].with, gain.values[1].flat, nodes.p_value);
  switch (gain.gain) {
    case Gain::helps:
      return fmt::format("Yes, the hierarchy helps: {}.", of_labels);
    case Gain::harms:
      return fmt::format("No, the hierarchy harms: {}.", of_labels);
    case Gain::nearer:
      return fmt::format(
          "In part: the labels are right about as often, {}, but wrong ones lie nearer to the "
          "truth, {}.",
          of_labels, of_nodes);
    case Gain::further:
      return fmt::format(
          "No: the labels are right about as often, {}, but wrong ones lie further from the truth, "
          "{}.",
          of_labels, of_nodes);
    case Gain::not_shown:
      break;
  }
  return fmt::format("That the hierarchy helps is not shown: {}; {}.", of_labels, of_nodes);
}

}  // namespace

std::string_view to_string(Gain gain) {
  switch (gain) {
    case Gain::helps:
      return "helps";
    case Gain::harms:
      return "harms";
    case Gain::nearer:
      return "nearer";
    case Gain::further:
      return "further";
    case Gain::not_shown:
      break;
  }
  return "not_shown";
}

HierarchyGain hierarchy_gain(const LabelSets& truth, const LabelSets& with, const LabelSets& flat,
                             const LabelGraph& hierarchy,
                             std::span<const std::uint32_t> training_rows) {
  std::vector<bool> in_training;
  for (const std::uint32_t rows : training_rows) in_training.push_back(rows > 0);
  const Metrics of_with = compute_metrics(truth, with, hierarchy, in_training);
  const Metrics of_flat = compute_metrics(truth, flat, hierarchy, in_training);
  const auto labels_with = label_ratios(truth, with, in_training);
  const auto labels_flat = label_ratios(truth, flat, in_training);
  const auto nodes_with = hierarchy_ratios(truth, with, hierarchy);
  const auto nodes_flat = hierarchy_ratios(truth, flat, hierarchy);

  HierarchyGain gain;
  gain.values = {{"micro_f1", of_with.micro_f1, of_flat.micro_f1},
                 {"hierarchical_f1", of_with.hierarchical_f1, of_flat.hierarchical_f1},
                 {"tree_distance", named(nodes_with, "tree_distance").value(),
                  named(nodes_flat, "tree_distance").value()}};
  gain.by_frequency = by_frequency(truth, with, flat, training_rows);
  gain.labels = sign_test_of_rows(named(labels_with, "instance_f1").part,
                                  named(labels_flat, "instance_f1").part);
  const RowRatio& f1_with = named(nodes_with, "hierarchical_f1_instance");
  const RowRatio& f1_flat = named(nodes_flat, "hierarchical_f1_instance");
  gain.nodes = wilcoxon_signed_rank(f1_with.part, f1_flat.part);
  gain.gain = gain_of(gain.labels, gain.nodes, f1_with.value() - f1_flat.value());
  gain.answer = sentence(gain);
  return gain;
}

}  // namespace margrove
