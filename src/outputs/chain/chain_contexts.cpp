#include "outputs/chain/chain_contexts.hpp"

#include <algorithm>
#include <limits>

#include "base/simd.hpp"

namespace margrove {
namespace {

constexpr std::size_t kTagLanes = 8;
std::size_t padded(std::size_t K) { return (K + kTagLanes - 1) / kTagLanes * kTagLanes; }

// suffix[a] += max_b weight from_b[b stride + a] + next[b], for eight tags a at a time, so that the
// maximum needs no reduction across lanes. stride is a multiple of 8; suffix has K entries.
MARGROVE_MULTIVERSION
void add_best_next(const double* from_b, const double* next, std::size_t K, std::size_t stride,
                   double weight, double* suffix) {
  for (std::size_t a = 0; a < K; a += kTagLanes) {
    double best[kTagLanes];
    for (std::size_t j = 0; j < kTagLanes; ++j) best[j] = weight * from_b[a + j] + next[0];
    for (std::size_t b = 1; b < K; ++b) {
      const double* row = &from_b[b * stride + a];
      const double rest = next[b];
#pragma omp simd
      for (std::size_t j = 0; j < kTagLanes; ++j) {
        const double value = weight * row[j] + rest;
        best[j] = value > best[j] ? value : best[j];
      }
    }
    const std::size_t size = std::min(kTagLanes, K - a);
    for (std::size_t j = 0; j < size; ++j) suffix[a + j] += best[j];
  }
}

}  // namespace

std::pair<double, std::uint32_t> Contexts::best_next(std::size_t t, std::size_t context,
                                                     const double* rest, double weight) const {
  double best = -std::numeric_limits<double>::infinity();
  std::uint32_t arg = 0;
  for (std::uint32_t c = 0; c < K_; ++c) {
    const double value = weight * transition(t, context, c) + rest[next(t, context, c)];
    if (value > best) {
      best = value;
      arg = c;
    }
  }
  return {best, arg};
}

void Contexts::add_best(std::size_t t, const double* rest, double weight, double* values,
                        std::vector<double>& rest_of_tag) const {
  const double* to = w_.transitions_to.data();
  if (!has_triples_) return add_best_next(to, rest, K_, padded(K_), weight, values);
  if (t == 0) {
    for (std::size_t b = 0; b < K_; ++b) values[b] += best_next(0, b, rest, weight).first;
    return;
  }
  rest_of_tag.resize(K_);
  for (std::size_t b = 0; b < K_; ++b) {
    for (std::size_t c = 0; c < K_; ++c) rest_of_tag[c] = rest[c * K_ + b];
    add_best_next(&to[b * K_ * padded(K_)], rest_of_tag.data(), K_, padded(K_), weight,
                  &values[b * K_]);
  }
}

void transpose_transitions(std::size_t num_tags, ChainWorkspace& workspace) {
  const std::size_t K = num_tags, stride = padded(K);
  const auto& triples = workspace.triples;
  workspace.transitions_to.assign(triples.empty() ? K * stride : K * K * stride, 0.0);
  double* to = workspace.transitions_to.data();
  if (triples.empty()) {
    for (std::size_t a = 0; a < K; ++a) {
      for (std::size_t b = 0; b < K; ++b) to[b * stride + a] = workspace.transitions[a * K + b];
    }
    return;
  }
  for (std::size_t b = 0; b < K; ++b) {
    for (std::size_t c = 0; c < K; ++c, to += stride) {
      const double of_pair = workspace.transitions[b * K + c];
      for (std::size_t a = 0; a < K; ++a) to[a] = of_pair + triples[(a * K + b) * K + c];
    }
  }
}

}  // namespace margrove
