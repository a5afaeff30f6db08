#pragma once
// Answers to rows as users ask for them: the label set, the best labels, scores or probabilities,
// ancestors. `margrove predict` writes them as lines, `margrove serve` as JSON. The options of both
// are declared here, also those of explanations.

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "margrove/options.hpp"
#include "model/model.hpp"

namespace margrove {

struct AnswerOptions {
  int top = 0;  // not given: the label set
  bool scores = false, probabilities = false, paths = false;
  double min_confidence = -1;  // not given
  std::string show;            // label_texts()
  static auto fields() {
    using O = AnswerOptions;
    return std::tuple{
        field("top", &O::top, at_least(1),
              "give so many labels of each row, the best ones, best first, instead of its label "
              "set"),
        field("scores", &O::scores, "give the score of each label, too"),
        field(
            "probabilities", &O::probabilities,
            "give the probability of each label, too; models of any method have them if trained "
            "with option calibration, those of flat-lr and hr-lr, and label sets of kernel-ridge, "
            "also without"),
        field("min_confidence", &O::min_confidence, between(0, 1),
              "give the most specific label, or of label sets all lowest labels, inner nodes "
              "included, with at least this probability; none where no root has it"),
        field("paths", &O::paths, "give the ancestors of a row's labels, too, parents first"),
        field("show", &O::show, detail::Choices{{"name", "path", "id"}},
              "text of a label: its name, its path from a root or its id; default: the path if the "
              "labels are paths, otherwise the id"),
    };
  }
  /// Pairs of options of which one alone may be given.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kExclusions{{
      {"scores", "probabilities"},
      {"scores", "paths"},
      {"probabilities", "paths"},
      {"scores", "min_confidence"},
      {"top", "min_confidence"},
  }};
  bool needs_probabilities() const { return probabilities || min_confidence >= 0; }
  /// Throws InvalidOption for options that exclude each other, and for any option where the
  /// examples are not rows; InvalidInput if the model has no answers of this kind.
  void check(const ModelParts& model) const;
};

struct ExplainOptions {
  std::string label;
  int features = 5;
  /// `num_features`: the range of the option features.
  static auto fields(const Range& num_features = at_least(0)) {
    using O = ExplainOptions;
    return std::tuple{
        field("label", &O::label, detail::Choices{},
              "explain this label's score instead of the prediction"),
        field("features", &O::features, num_features,
              "number of features to give per node, of kernels per source, or of other heads and "
              "relations per word of a sentence"),
    };
  }
};

/// The answer to one row.
struct Answer {
  std::vector<LabelId> labels;
  std::vector<double> numbers;  // the score or probability of each label; empty if not asked for
};

/// Throws InvalidOption naming the option label if row 0 of X has no score of the label.
void require_explainable(const ModelParts& model, const CsrView& X, LabelId label);
/// Throws InvalidOption if a label is asked for, which no model of sentences explains.
void require_no_label(const ModelParts& model, const ExplainOptions& options);

/// One answer per row of X, which is preprocessed, for options that check() accepts. `hierarchy`,
/// that of the model, is needed with min_confidence and may be null otherwise. The same bits for
/// any executor.
std::vector<Answer> answer_rows(const ModelParts& model, const HierarchyProbabilities* hierarchy,
                                const AnswerOptions& options, const CsrView& X, Executor& executor);

}  // namespace margrove
