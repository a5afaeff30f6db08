#pragma once
// The synthetic hierarchical data of [NHSVM, section 8.1].

#include <cstdint>
#include <tuple>

#include "margrove/dataset.hpp"
#include "margrove/options.hpp"

namespace margrove {

/// The options of all kinds of generated data.
template <class Options>
auto generated_row_fields() {
  return std::tuple{
      field("num_rows", &Options::num_rows, at_least(1), "number of rows"),
      field("first_row", &Options::first_row, at_least(0),
            "number of the first row; test rows may follow the training rows"),
      field("num_features", &Options::num_features, at_least(1), "number of columns"),
      field("seed", &Options::seed, at_least(0), "seed of the random numbers"),
  };
}

struct GeneratorOptions {
  std::int64_t num_rows = 8000;
  /// Rows before these are skipped: the same seed with another first_row gives further rows of the
  /// same problem, for testing.
  std::int64_t first_row = 0;
  int num_features = 1000;
  /// Splits on the longest path from the root to a leaf; 0 stands for 3 (balanced) or 10
  /// (unbalanced).
  int depth = 0;
  std::uint64_t seed = 0;
  static auto fields() {
    return std::tuple_cat(
        generated_row_fields<GeneratorOptions>(),
        std::tuple{
            field("depth", &GeneratorOptions::depth, between(0, 20),
                  "splits above the deepest leaf; 0: 3 for balanced, 10 for unbalanced data"),
        });
  }
};

struct GeneratedData {
  Dataset data;
  Hierarchy hierarchy;
};

/// A complete binary tree of 2^(depth+1) - 1 nodes, numbered 1 (the root), 2, 3, ... by level.
/// Every node has a weight vector and every row is a point of the standard normal distribution; a
/// row's label is the leaf whose path has the largest sum of products with the row.
GeneratedData generate_balanced(const GeneratorOptions& options = {});

/// A tree that grows in one direction only: split k, a random hyperplane through the origin, has
/// leaf k on its positive side and split k + 1 on the other; the last one has two leaves, so that
/// there are depth + 1. Rows are uniform on the unit sphere. Nodes are split0, ..., leaf0, ....
GeneratedData generate_unbalanced(const GeneratorOptions& options = {});

}  // namespace margrove
