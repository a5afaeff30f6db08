#pragma once
// How much memory training of each structured model takes beside its examples.

#include <cstddef>

#include "base/memory_estimate.hpp"
#include "margrove/csr_matrix.hpp"

namespace margrove {

/// Sequences: so many tokens with so many distinct texts (cells of the columns) in all.
MemoryEstimate chain_memory(std::size_t num_tokens, std::size_t num_texts, std::size_t num_tags);
/// Pairwise label sets of the rows of X.
MemoryEstimate field_memory(const CsrView& X, std::size_t num_labels);
/// Label sets of a hierarchy.
MemoryEstimate node_set_memory(const CsrView& X, std::size_t num_nodes);
/// Dependency trees, with features in a table of 2^hash_bits weights.
MemoryEstimate dependency_memory(std::size_t num_words, int hash_bits);

}  // namespace margrove
