#include <algorithm>

#include "base/time_share.hpp"
#include "margrove/errors.hpp"
#include "outputs/tree/parser_training.hpp"
#include "outputs/tree/relation_classifier.hpp"
#include "structured/train_structured.hpp"

namespace margrove {
namespace {

/// sgd ends earlier than elsewhere: passes over trees take the longest, and later ones lower the
/// objective, but do not make answers better (docs/results/sequences-and-parsing.md).
StructuredTraining tree_training(const DependencySvmOptions& options) {
  constexpr double kTimesTolerance = 10;
  StructuredTraining training = options.training();
  training.settled = kTimesTolerance * options.tolerance;
  return training;
}

std::vector<DependencyTree> heads_of(const std::vector<LabelledTree>& trees) {
  std::vector<DependencyTree> heads;
  for (const LabelledTree& tree : trees) heads.push_back(tree.heads);
  return heads;
}

/// The two problems have no weights in common, so that together they are one problem whose
/// objective is the sum.
StructuredFit sum_of(const StructuredFit& a, const StructuredFit& b, double tolerance) {
  StructuredFit sum;
  sum.primal = a.primal + b.primal;
  sum.dual = a.dual + b.dual;
  const double gap = sum.primal - sum.dual;  // NaN after solvers without a gap
  sum.relative_gap = sum.primal > 0 ? gap / sum.primal : gap;
  sum.certified = a.certified && b.certified;
  sum.passes = std::max(a.passes, b.passes);
  sum.oracle_calls = a.oracle_calls + b.oracle_calls;
  sum.stop = stop_of(sum, tolerance, std::max(a.stop, b.stop));
  return sum;
}

/// Heads first, then the relations of the true arcs, for which a time limit leaves a quarter.
StructuredWeights fit_separately(std::vector<ParserSentence> sentences,
                                 const std::vector<LabelledTree>& trees,
                                 std::uint32_t num_relations, const DependencySvmOptions& options,
                                 Executor& executor, RunControl& control,
                                 std::span<const float> start) {
  constexpr double kShareOfHeads = 0.75;
  RunControl share = time_share(control, kShareOfHeads * control.seconds_left());
  StructuredWeights heads = fit_dependency(sentences, heads_of(trees), options, executor, share,
                                           start.first(start.size() / 2));
  const RelationModel model(sentences, trees, {options.hash_bits, num_relations});
  StructuredInputs<RelationModel> inputs;
  inputs.start = start.last(start.size() / 2);
  const StructuredWeights relations =
      train_structured(model, tree_training(options), executor, control, inputs);
  heads.weights.insert(heads.weights.end(), relations.weights.begin(), relations.weights.end());
  heads.fit = sum_of(heads.fit, relations.fit, options.tolerance);
  return heads;
}

}  // namespace

StructuredWeights fit_dependency(std::vector<ParserSentence> sentences,
                                 std::vector<DependencyTree> trees,
                                 const DependencySvmOptions& options, Executor& executor,
                                 RunControl& control, std::span<const float> start) {
  require_hamming(options);
  const DependencyModel model(std::move(sentences), std::move(trees), options.hash_bits);
  StructuredInputs<DependencyModel> inputs;
  inputs.start = start;
  return train_structured(model, tree_training(options), executor, control, inputs);
}

StructuredWeights fit_parser(std::vector<ParserSentence> sentences, std::vector<LabelledTree> trees,
                             std::uint32_t num_relations, const DependencySvmOptions& options,
                             Executor& executor, RunControl& control,
                             std::span<const float> start) {
  require_hamming(options);
  require<InvalidOption>(
      options.relations == RelationKind::joint || options.loss == ParserLoss::labelled,
      "option loss is ", name_of(options.loss), ", but relations is ", name_of(options.relations),
      ", where heads and relations have losses of their own; use relations joint");
  switch (options.relations) {
    case RelationKind::table:
      return fit_dependency(std::move(sentences), heads_of(trees), options, executor, control,
                            start);
    case RelationKind::separate:
      return fit_separately(std::move(sentences), trees, num_relations, options, executor, control,
                            start);
    case RelationKind::joint:
      break;
  }
  const LabelledModel model(std::move(sentences), std::move(trees), options.hash_bits,
                            num_relations, options.loss);
  StructuredInputs<LabelledModel> inputs;
  inputs.start = start;
  return train_structured(model, tree_training(options), executor, control, inputs);
}

}  // namespace margrove
