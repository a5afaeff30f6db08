#pragma once
// Training of the heads and the relations of a dependency parser.

#include <cstdint>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"
#include "outputs/structured.hpp"
#include "outputs/tree/labelled_tree.hpp"

namespace margrove {

/// How a parser gets the relations of arcs.
enum class RelationKind {
  joint,     // arcs and relations are one structured SVM over labelled trees
  separate,  // heads first; relations by a classifier of the arcs of the true trees
  table,     // heads only; the most frequent relation of the arc's parts of speech (RelationTable)
};
template <>
inline constexpr auto kEnumNames<RelationKind> =
    std::array{EnumName{RelationKind::joint, "joint"}, EnumName{RelationKind::separate, "separate"},
               EnumName{RelationKind::table, "table"}};

struct DependencySvmOptions : StructuredOptions {
  int hash_bits = 20;
  RelationKind relations = RelationKind::joint;
  ParserLoss loss = ParserLoss::labelled;

  static auto own_fields() {
    return std::tuple{
        field("hash_bits", &DependencySvmOptions::hash_bits, between(8, 30),
              "features of arcs share a table of 2^hash_bits weights, and those of relations "
              "another one"),
        field("relations", &DependencySvmOptions::relations,
              "joint: the relations of arcs are learned together with the heads; separate: heads "
              "first, then a classifier of the relations of the true arcs; table: the most "
              "frequent relation of the two parts of speech"),
        field("loss", &DependencySvmOptions::loss,
              "task loss with relations joint: the words whose head or relation is wrong "
              "(labelled), or whose head is wrong (heads)"),
    };
  }
};

/// Weights of arcs, 2^hash_bits, and behind them those of relations unless these are a table.
/// start: such weights to start from, or none. Throws what fit_chain() and LabelledModel throw, and
/// InvalidOption for micro-f1 and for a loss that `relations` does not take.
StructuredWeights fit_parser(std::vector<ParserSentence> sentences, std::vector<LabelledTree> trees,
                             std::uint32_t num_relations, const DependencySvmOptions& options,
                             Executor& executor, RunControl& control,
                             std::span<const float> start = {});

/// The heads alone: what fit_parser() does with relations `table`.
StructuredWeights fit_dependency(std::vector<ParserSentence> sentences,
                                 std::vector<DependencyTree> trees,
                                 const DependencySvmOptions& options, Executor& executor,
                                 RunControl& control, std::span<const float> start = {});

}  // namespace margrove
