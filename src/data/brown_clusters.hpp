#pragma once
// Classes of words by the words that stand beside them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "margrove/control.hpp"

namespace margrove {

/// The hierarchical classes of Brown et al. (Class-based n-gram models of natural language, 1992):
/// words enter by falling frequency, and whenever there are more than num_clusters classes, those
/// two become one whose union loses the least mutual information of neighbouring words. At last the
/// classes are joined in the same way to a binary tree. Returns for each word the path from the
/// root to its class, a text of 0 and 1, which is empty where there is one class.
///
/// Words of the sentences are numbers by falling frequency. Those >= num_words have no class, and
/// stand beside no word. num_clusters >= 1. Throws OutOfTime where `control`, which may be null,
/// asks to end. O(V C^2) for V words and C classes, and 16 bytes for each word of the sentences.
std::vector<std::string> brown_clusters(std::span<const std::vector<std::uint32_t>> sentences,
                                        std::uint32_t num_words, std::uint32_t num_clusters,
                                        RunControl* control = nullptr);

}  // namespace margrove
