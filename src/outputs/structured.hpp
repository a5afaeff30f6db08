#pragma once
// The options of `--method structured` and training of each of its models from data in memory.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "model/method.hpp"
#include "outputs/chain/chain.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "outputs/label_set/node_sets.hpp"
#include "outputs/tree/dependency_tree.hpp"
#include "structured/structured_fit.hpp"

namespace margrove {

struct StructuredOptions : CommonOptions {
  static constexpr std::string_view kMethod = "structured";
  std::string model = "chain";
  std::string surrogate = "margin";
  std::string search = "auto";
  std::string inference = "exact";
  std::string solver = "auto";
  double tolerance = 1e-2;
  int max_passes = 50;
  int max_bans = 10;
  double pair_scale = 1.0;
  int min_feature_count = 1;
  int hash_bits = 20;

  static auto fields() {
    return std::tuple_cat(
        CommonOptions::fields(),
        std::tuple{
            field("model", &StructuredOptions::model,
                  Choices{{"chain", "multilabel-field", "hierarchy", "dependency"}},
                  "what a labelling is: tags of a CoNLL column file, label sets with pairwise "
                  "terms, label sets of a hierarchy, projective trees of a CoNLL-U file"),
            field("surrogate", &StructuredOptions::surrogate, Choices{},
                  "margin, slack, generalised:BETA,A, beta:BETA, log, prob, prob-convex, "
                  "micro-f1"),
            field("search", &StructuredOptions::search,
                  Choices{{"auto", "margin", "sarawagi", "binary", "bisecting", "angular",
                           "convex-hull"}},
                  "how the most violating labelling is found; auto: margin for margin rescaling, "
                  "convex-hull for the others"),
            field("inference", &StructuredOptions::inference, Choices{{"exact", "relaxed"}},
                  "multilabel-field: train on the most violating label set, or on the maximum of "
                  "the linear relaxation, which may be fractional; the gap is that of the choice"),
            field("solver", &StructuredOptions::solver,
                  Choices{{"auto", "bcfw", "sgd", "cutting-plane", "one-slack"}},
                  "auto: bcfw where the surrogate is affine in the margin, otherwise sgd"),
            field("tolerance", &StructuredOptions::tolerance, positive,
                  "relative duality gap at which bcfw and cutting planes stop"),
            field("max_passes", &StructuredOptions::max_passes, at_least(1),
                  "passes over the examples, at most; sgd makes all of them"),
            field("max_bans", &StructuredOptions::max_bans, at_least(0),
                  "rounds in which convex-hull search makes a fractional optimum integral; prob by "
                  "sgd: none"),
            field("pair_scale", &StructuredOptions::pair_scale, positive,
                  "multilabel-field: value of the features of label pairs, of which each label has "
                  "one for each other: smaller ones keep many labels from outweighing the rows"),
            field("min_feature_count", &StructuredOptions::min_feature_count, at_least(1),
                  "chain: features seen less often are left out"),
            field("hash_bits", &StructuredOptions::hash_bits, between(8, 30),
                  "dependency: features share a table of 2^hash_bits weights"),
        });
  }
};

/// Each throws InvalidOption for a surrogate, search and solver that do not go together (bcfw needs
/// a surrogate affine in the margin, cutting planes a convex one), and what the model's own checks
/// throw.
StructuredWeights fit_chain(const SequenceData& data, const StructuredOptions& options,
                            Executor& executor, RunControl& control);
StructuredWeights fit_field(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                            const StructuredOptions& options, Executor& executor,
                            RunControl& control);
StructuredWeights fit_node_sets(const CsrView& X, std::span<const std::vector<NodeId>> leaves,
                                const LabelGraph& graph, const StructuredOptions& options,
                                Executor& executor, RunControl& control);
StructuredWeights fit_dependency(std::vector<ParserSentence> sentences,
                                 std::vector<DependencyTree> trees,
                                 const StructuredOptions& options, Executor& executor,
                                 RunControl& control);

}  // namespace margrove
