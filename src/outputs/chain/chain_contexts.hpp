#pragma once
// Contexts of the tokens of a chain, over which its searches run.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "outputs/chain/chain.hpp"

namespace margrove {

/// What the tags behind a token depend on: its tag, and in second order the tag before it, too.
/// Contexts of token 0 are its tags; those of later tokens in second order are tag K + tag before.
class Contexts {
 public:
  Contexts(const ChainWorkspace& workspace, std::size_t num_tags)
      : w_(workspace), K_(num_tags), has_triples_(!workspace.triples.empty()) {}

  /// Of one token at most; lists by context have so many places for each token.
  std::size_t stride() const { return has_triples_ ? K_ * K_ : K_; }
  std::size_t count(std::size_t t) const { return t > 0 ? stride() : K_; }
  std::uint32_t tag(std::size_t t, std::size_t context) const {
    return static_cast<std::uint32_t>(has_triples_ && t > 0 ? context / K_ : context);
  }
  /// The context of token t + 1 with tag c.
  std::size_t next(std::size_t t, std::size_t context, std::size_t c) const {
    return has_triples_ ? c * K_ + tag(t, context) : c;
  }
  /// The score of tag c at token t + 1.
  double transition(std::size_t t, std::size_t context, std::size_t c) const {
    const std::size_t b = tag(t, context);
    const double of_pair = w_.transitions[b * K_ + c];
    return has_triples_ && t > 0 ? of_pair + w_.triples[(context % K_ * K_ + b) * K_ + c] : of_pair;
  }

  /// max_c weight transition(t, context, c) + rest[next(t, context, c)], and the lowest c.
  std::pair<double, std::uint32_t> best_next(std::size_t t, std::size_t context, const double* rest,
                                             double weight) const;
  /// Adds this maximum to values[context] for each context of token t. `rest_of_tag` is scratch.
  void add_best(std::size_t t, const double* rest, double weight, double* values,
                std::vector<double>& rest_of_tag) const;

 private:
  const ChainWorkspace& w_;
  std::size_t K_;
  bool has_triples_;
};

}  // namespace margrove
