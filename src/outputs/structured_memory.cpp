#include "outputs/structured_memory.hpp"

#include <algorithm>

namespace margrove {
namespace {

/// The solver's sums, their average and the model.
constexpr double kWeightBytes = 12;

double rows_bytes(const CsrView& X) {
  return 8.0 * static_cast<double>(X.num_nonzeros() + static_cast<std::int64_t>(X.num_rows())) +
         40.0 * static_cast<double>(X.num_rows());
}

double num_weights(const CsrView& X, std::size_t num_outputs) {
  return (X.num_columns() + 1.0) * static_cast<double>(num_outputs);
}

}  // namespace

MemoryEstimate chain_memory(std::size_t num_tokens, std::size_t num_texts, std::size_t num_tags) {
  const auto tokens = static_cast<double>(num_tokens);
  const auto tags = static_cast<double>(num_tags);
  constexpr double kTemplates = 27;  // of a token: token_features()
  // A text at each of five places, and its affixes and shape; few texts share all of these.
  const double features = std::min(kTemplates * tokens, 7 * static_cast<double>(num_texts) + 3000);
  MemoryEstimate memory;
  memory.add("names of features", 170 * features);
  memory.add("features of tokens", 1.5 * 8 * kTemplates * tokens);
  memory.add("weights", kWeightBytes * (features * tags + tags * tags));
  // Two wrong labellings of a sentence, each wrong at half of its tokens.
  memory.add("dual variables", 24 * kTemplates * tokens);
  return memory;
}

MemoryEstimate field_memory(const CsrView& X, std::size_t num_labels) {
  const auto rows = static_cast<double>(X.num_rows());
  const auto labels = static_cast<double>(num_labels);
  const double labellings = std::min(60.0, 1.2 * labels);  // of a row, with products of any two
  MemoryEstimate memory;
  memory.add("rows of the solver", rows_bytes(X));
  memory.add("weights", kWeightBytes * (2 * num_weights(X, num_labels) + 2 * labels * labels));
  memory.add("dual variables",
             rows * (labellings * (labels + 100) + 4 * labellings * labellings + 500));
  return memory;
}

MemoryEstimate node_set_memory(const CsrView& X, std::size_t num_nodes) {
  const auto rows = static_cast<double>(X.num_rows());
  constexpr double kLabellings = 4;
  MemoryEstimate memory;
  memory.add("rows of the solver", rows_bytes(X));
  memory.add("weights", 8 * num_weights(X, num_nodes));
  memory.add("dual variables",
             rows * (kLabellings * (6 * static_cast<double>(num_nodes) + 150) + 500));
  return memory;
}

MemoryEstimate dependency_memory(std::size_t num_words, int hash_bits) {
  constexpr double kArcBytes = 900;  // of a word's wrong arcs in the dual variables
  MemoryEstimate memory;
  memory.add("weights", kWeightBytes * static_cast<double>(std::size_t{1} << hash_bits));
  memory.add("dual variables", kArcBytes * static_cast<double>(num_words));
  memory.add("hashed words", 64 * static_cast<double>(num_words));
  return memory;
}

}  // namespace margrove
