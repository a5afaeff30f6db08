#pragma once
// Random sentences, and all their trees.

#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "model_checks.hpp"
#include "outputs/tree/labelled_tree.hpp"

namespace margrove::testing {

// By definition: one root, every word reaches it, and all words between a word and its head are
// below that head.
inline bool is_projective_tree(const DependencyTree& heads) {
  const std::size_t n = heads.size();
  const auto below = [&](std::size_t word, std::size_t ancestor) {
    for (std::size_t steps = 0; steps <= n && word != ancestor; ++steps) {
      if (word == 0) return false;
      word = heads[word - 1];
    }
    return word == ancestor;
  };
  std::size_t roots = 0;
  for (std::size_t k = 1; k <= n; ++k) {
    if (heads[k - 1] == k || !below(k, 0)) return false;
    roots += heads[k - 1] == 0;
    const std::size_t head = heads[k - 1];
    for (std::size_t j = std::min(k, head) + 1; j < std::max(k, head); ++j) {
      if (!below(j, head)) return false;
    }
  }
  return roots == 1;
}

inline std::vector<DependencyTree> all_trees(std::size_t n) {
  std::vector<DependencyTree> trees;
  for (auto& heads : all_vectors<std::uint32_t>(n, static_cast<std::uint32_t>(n) + 1)) {
    if (is_projective_tree(heads)) trees.push_back(heads);
  }
  return trees;
}

inline ParserSentence random_sentence(Random& random, std::size_t n) {
  ParserSentence s;
  for (std::size_t k = 0; k < n; ++k) {
    s.forms.push_back(hash_text(std::to_string(random.below(5))));
    s.tags.push_back(hash_text(std::to_string(random.below(3))));
    s.fine_tags.push_back(hash_text(std::to_string(random.below(4))));
    s.lemmas.push_back(hash_text(std::to_string(random.below(5))));
    s.morphology.push_back(hash_text(std::to_string(random.below(3))));
    s.endings.push_back(hash_text(std::to_string(random.below(4))));
  }
  return s;
}

/// All relations of all trees.
inline std::vector<LabelledTree> all_labelled_trees(std::size_t n, std::uint32_t num_relations) {
  std::vector<LabelledTree> labelled;
  for (const DependencyTree& heads : all_trees(n)) {
    for (auto& relations : all_vectors<std::uint32_t>(n, num_relations)) {
      labelled.push_back({heads, std::move(relations)});
    }
  }
  return labelled;
}

}  // namespace margrove::testing
