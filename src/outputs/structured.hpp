#pragma once
// The options of `--method structured` and training of each of its models from data in memory.

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "model/method.hpp"
#include "outputs/chain/chain.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "outputs/label_set/node_sets.hpp"
#include "outputs/tree/dependency_tree.hpp"
#include "structured/structured_training.hpp"

namespace margrove {

struct StructuredOptions : CommonOptions {
  std::string model = "chain";
  AnySurrogate surrogate = MarginRescaling{};
  SearchKind search = SearchKind::automatic;
  std::string inference = "exact";
  StructuredSolver solver = StructuredSolver::automatic;
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
            field("surrogate", &StructuredOptions::surrogate, kSurrogateHelp),
            field("search", &StructuredOptions::search, kSearchHelp),
            field("inference", &StructuredOptions::inference, Choices{{"exact", "relaxed"}},
                  "multilabel-field: train on the most violating label set, or on the maximum of "
                  "the linear relaxation, which may be fractional; the gap is that of the choice"),
            field("solver", &StructuredOptions::solver, kSolverHelp),
            field("tolerance", &StructuredOptions::tolerance, positive,
                  "relative duality gap at which bcfw and cutting planes stop"),
            field("max_passes", &StructuredOptions::max_passes, at_least(1),
                  "passes over the examples, at most; sgd makes all of them"),
            field("max_bans", &StructuredOptions::max_bans, at_least(0), kMaxBansHelp),
            field("pair_scale", &StructuredOptions::pair_scale, positive,
                  "multilabel-field: value of the features of label pairs, of which each label has "
                  "one for each other: smaller ones keep many labels from outweighing the rows"),
            field("min_feature_count", &StructuredOptions::min_feature_count, at_least(1),
                  "chain: features seen less often are left out"),
            field("hash_bits", &StructuredOptions::hash_bits, between(8, 30),
                  "dependency: features share a table of 2^hash_bits weights"),
        });
  }

  StructuredTraining training() const {
    return {.surrogate = surrogate,
            .search = search,
            .solver = solver,
            .C = loss_weight(),
            .tolerance = tolerance,
            .max_passes = max_passes,
            .epochs = max_passes,
            .max_bans = max_bans,
            .seed = seed,
            .minibatch = 1};
  }
};
/// Throws InvalidOption if the options ask for Micro-F1's criteria.
inline void require_hamming(const StructuredOptions& options) {
  require<InvalidOption>(!needs_f1_criteria(options.surrogate), "option surrogate is '",
                         options.surrogate.to_text(), "', which model ", options.model,
                         " does not offer");
}
/// Throws InvalidOption if the options ask for relaxed inference.
inline void require_exact(const StructuredOptions& options) {
  require<InvalidOption>(options.inference == "exact", "option inference is '", options.inference,
                         "', which model ", options.model,
                         " does not offer; multilabel-field does");
}

/// Each throws what train_structured() and the model's own checks throw.
StructuredResult fit_chain(const SequenceData& data, const StructuredOptions& options,
                           Executor& executor, RunControl& control);
StructuredResult fit_field(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                           const StructuredOptions& options, Executor& executor,
                           RunControl& control);
StructuredResult fit_node_sets(const CsrView& X, std::span<const std::vector<NodeId>> leaves,
                               const LabelGraph& graph, const StructuredOptions& options,
                               Executor& executor, RunControl& control);
StructuredResult fit_dependency(std::vector<ParserSentence> sentences,
                                std::vector<DependencyTree> trees, const StructuredOptions& options,
                                Executor& executor, RunControl& control);

}  // namespace margrove
