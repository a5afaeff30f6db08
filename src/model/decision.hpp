#pragma once
// Decisions: the label set of a row from its label scores. A kind of decision is a DecisionRule. It
// needs a struct in this file, an alternative of Decision::Rule and, if it is an option, a line in
// the table of src/methods/decision_tuning.cpp that says how it is tuned.

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/tensors.hpp"
#include "margrove/dataset.hpp"
#include "model/label_set_decoder.hpp"
#include "model/predictor.hpp"

namespace margrove {

/// The input of a decision.
struct RowScores {
  std::span<const float> labels;          // -infinity: never chosen; empty for rules of nodes
  std::span<const float> nodes = {};      // U_n.x, for rules of nodes, of predictors that have them
  LabelSetDecoder* label_sets = nullptr;  // finds the best label set at the node scores
};

/// choose() writes the chosen labels, ascending; ties go to the lowest label. It is called from
/// several threads at once. kSeveral: a row may get several labels. kUsesNodeScores: the decision
/// uses the scores of nodes, not of labels. save() and load() use names that begin with `prefix`
/// and a dot; load() throws ModelFileError.
template <class R>
concept DecisionRule =
    requires(const R rule, const RowScores& scores, std::vector<LabelId>& labels, TensorMap& out,
             const TensorMap& in, const std::string& prefix, std::uint32_t num_labels) {
      { R::kName } -> std::convertible_to<std::string_view>;
      { R::kSeveral } -> std::convertible_to<bool>;
      { R::kUsesNodeScores } -> std::convertible_to<bool>;
      { rule.choose(scores, labels) } -> std::same_as<void>;
      { rule.facts() } -> std::same_as<std::vector<Fact>>;
      { rule.save(out, prefix) } -> std::same_as<void>;
      { R::load(in, prefix, num_labels) } -> std::same_as<R>;
    };

/// The best label.
struct ArgmaxDecision {
  static constexpr std::string_view kName = "argmax";
  static constexpr bool kSeveral = false;
  static constexpr bool kUsesNodeScores = false;
  void choose(const RowScores& scores, std::vector<LabelId>& labels) const;
  std::vector<Fact> facts() const { return {}; }
  void save(TensorMap&, const std::string&) const {}
  static ArgmaxDecision load(const TensorMap&, const std::string&, std::uint32_t) { return {}; }
};

/// Every label whose score exceeds its threshold.
struct ThresholdDecision {
  static constexpr std::string_view kName = "threshold";
  static constexpr bool kSeveral = true;
  static constexpr bool kUsesNodeScores = false;
  std::vector<float> thresholds;  // one per label, or one for all
  bool at_least_one = false;      // the best label in any case

  void choose(const RowScores& scores, std::vector<LabelId>& labels) const;
  std::vector<Fact> facts() const;
  void save(TensorMap& out, const std::string& prefix) const;
  static ThresholdDecision load(const TensorMap& tensors, const std::string& prefix,
                                std::uint32_t num_labels);
};

/// The same number of labels for every row: the best ones.
struct RcutDecision {
  static constexpr std::string_view kName = "rcut";
  static constexpr bool kSeveral = true;
  static constexpr bool kUsesNodeScores = false;
  std::uint32_t count = 1;

  void choose(const RowScores& scores, std::vector<LabelId>& labels) const;
  std::vector<Fact> facts() const;
  void save(TensorMap& out, const std::string& prefix) const;
  static RcutDecision load(const TensorMap& tensors, const std::string& prefix,
                           std::uint32_t num_labels);
};

/// Every label whose score exceeds the row's own threshold, a linear function of its best scores in
/// descending order: intercept + sum_r coefficients[r] s_(r). If a row has fewer scores, its lowest
/// one takes the place of the missing ones.
struct InstanceDecision {
  static constexpr std::string_view kName = "instance";
  static constexpr bool kSeveral = true;
  static constexpr bool kUsesNodeScores = false;
  std::vector<double> coefficients;
  double intercept = 0;
  bool at_least_one = false;  // the best label in any case

  /// `descending` are the row's best scores, at least one.
  double threshold(std::span<const float> descending) const;
  void choose(const RowScores& scores, std::vector<LabelId>& labels) const;
  std::vector<Fact> facts() const;
  void save(TensorMap& out, const std::string& prefix) const;
  static InstanceDecision load(const TensorMap& tensors, const std::string& prefix,
                               std::uint32_t num_labels);
};

/// The leaves of the best label set of a hierarchy, whose loss the training on label sets bounds.
struct LabelSetDecision {
  static constexpr std::string_view kName = "label-set";
  static constexpr bool kSeveral = true;
  static constexpr bool kUsesNodeScores = true;
  /// Throws InvalidInput if there is no search.
  void choose(const RowScores& scores, std::vector<LabelId>& labels) const;
  std::vector<Fact> facts() const { return {}; }
  void save(TensorMap&, const std::string&) const {}
  static LabelSetDecision load(const TensorMap&, const std::string&, std::uint32_t) { return {}; }
};

/// The best labelling after `offset` is added to the score of each of its labels: leaves of a
/// hierarchy, labels of a field, tags of a chain other than O. choose() is for label sets of
/// hierarchies; the predictors of fields and chains take the offset instead.
struct OffsetDecision {
  static constexpr std::string_view kName = "offset";
  static constexpr bool kSeveral = true;
  static constexpr bool kUsesNodeScores = true;
  double offset = 0;

  /// Throws InvalidInput if there is no search.
  void choose(const RowScores& scores, std::vector<LabelId>& labels) const;
  std::vector<Fact> facts() const;
  void save(TensorMap& out, const std::string& prefix) const;
  static OffsetDecision load(const TensorMap& tensors, const std::string& prefix,
                             std::uint32_t num_labels);
};

/// A decision of any kind; by default the best label.
struct Decision {
  using Rule = std::variant<ArgmaxDecision, ThresholdDecision, RcutDecision, InstanceDecision,
                            LabelSetDecision, OffsetDecision>;
  Rule rule;

  Decision() = default;
  template <DecisionRule R>
  Decision(R chosen) : rule(std::move(chosen)) {}  // NOLINT(google-explicit-constructor): is one

  std::string_view name() const;
  bool several_labels() const;
  bool uses_node_scores() const;
  /// The number that is added to the score of each label of a labelling; 0 for other rules than
  /// `offset`.
  double offset() const;
  void choose(const RowScores& scores, std::vector<LabelId>& labels) const;
  /// The name of the decision, then the facts of its rule.
  std::vector<Fact> facts() const;
  void save(TensorMap& out, const std::string& prefix) const;
  static Decision load(const TensorMap& tensors, const std::string& prefix,
                       std::uint32_t num_labels);
};

}  // namespace margrove
