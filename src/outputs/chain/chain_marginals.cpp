#include "outputs/chain/chain_marginals.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/simd.hpp"
#include "numerics/log_number.hpp"

namespace margrove {
namespace {

// A sum of products below this may have lost summands to underflow.
constexpr double kSmallestSum = 1e-280;
constexpr double kLargestExponent = 500.0;

// y += A^T x
MARGROVE_MULTIVERSION
void add_transposed_product(const double* A, const double* x, std::size_t K, double* y) {
  for (std::size_t a = 0; a < K; ++a) {
    for (std::size_t b = 0; b < K; ++b) y[b] += x[a] * A[a * K + b];
  }
}
// G += x y^T
MARGROVE_MULTIVERSION
void add_outer_product(const double* x, const double* y, std::size_t K, double* G) {
  for (std::size_t a = 0; a < K; ++a) {
    for (std::size_t b = 0; b < K; ++b) G[a * K + b] += x[a] * y[b];
  }
}

/// out[k] = exp(x[k] - largest x); returns the largest.
double scaled_exp(std::span<const double> x, std::vector<double>& out) {
  const double largest = *std::max_element(x.begin(), x.end());
  out.resize(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) out[k] = std::exp(x[k] - largest);
  return largest;
}

class ForwardBackward {
 public:
  ForwardBackward(const ChainWorkspace& scores, std::size_t num_tags, ChainMarginals& marginals)
      : scores_(scores),
        K_(num_tags),
        T_(scores.emissions.size() / num_tags),
        out_(marginals),
        terms_(num_tags) {}

  void run() {
    largest_transition_ = scaled_exp(scores_.transitions, out_.exp_transitions);
    // forward[t, k]: the sum over tags 0..t that end in k. backward[t, k]: over t.. that begin in
    // k.
    out_.forward.resize(T_ * K_);
    out_.backward.resize(T_ * K_);
    for (std::size_t t = 0; t < T_; ++t) step_forward(t);
    for (std::size_t t = T_; t-- > 0;) step_backward(t);
    for (std::size_t k = 0; k < K_; ++k) terms_[k] = forward(T_ - 1)[k] + scores_.end[k];
    out_.log_partition = log_sum_exp(terms_);
    out_.tags.resize(T_ * K_);
    for (std::size_t t = 0; t < T_; ++t) {
      for (std::size_t k = 0; k < K_; ++k) {
        out_.tags[t * K_ + k] =
            std::exp(forward(t)[k] + backward(t)[k] - emission(t, k) - out_.log_partition);
      }
    }
    count_transitions();
  }

 private:
  double emission(std::size_t t, std::size_t k) const { return scores_.emissions[t * K_ + k]; }
  double transition(std::size_t a, std::size_t b) const { return scores_.transitions[a * K_ + b]; }
  std::span<const double> forward(std::size_t t) const {
    return std::span(out_.forward).subspan(t * K_, K_);
  }
  std::span<const double> backward(std::size_t t) const {
    return std::span(out_.backward).subspan(t * K_, K_);
  }

  void step_forward(std::size_t t) {
    double* to = &out_.forward[t * K_];
    if (t == 0) {
      for (std::size_t k = 0; k < K_; ++k) to[k] = scores_.start[k] + emission(0, k);
      return;
    }
    const double largest = scaled_exp(forward(t - 1), out_.from) + largest_transition_;
    out_.sums.assign(K_, 0.0);
    add_transposed_product(out_.exp_transitions.data(), out_.from.data(), K_, out_.sums.data());
    for (std::size_t b = 0; b < K_; ++b) {
      double sum = largest + std::log(out_.sums[b]);
      if (out_.sums[b] < kSmallestSum) {
        for (std::size_t a = 0; a < K_; ++a) terms_[a] = forward(t - 1)[a] + transition(a, b);
        sum = log_sum_exp(terms_);
      }
      to[b] = emission(t, b) + sum;
    }
  }

  void step_backward(std::size_t t) {
    double* from = &out_.backward[t * K_];
    if (t + 1 == T_) {
      for (std::size_t k = 0; k < K_; ++k) from[k] = emission(t, k) + scores_.end[k];
      return;
    }
    const double largest = scaled_exp(backward(t + 1), out_.to) + largest_transition_;
    for (std::size_t a = 0; a < K_; ++a) {
      const double product = dot(&out_.exp_transitions[a * K_], out_.to.data(), K_);
      double sum = largest + std::log(product);
      if (product < kSmallestSum) {
        for (std::size_t b = 0; b < K_; ++b) terms_[b] = transition(a, b) + backward(t + 1)[b];
        sum = log_sum_exp(terms_);
      }
      from[a] = emission(t, a) + sum;
    }
  }

  // p(a, b at t) = exp(forward[t - 1, a] + transition(a, b) + backward[t, b]) / Z
  void count_transitions() {
    out_.transitions.assign(K_ * K_, 0.0);
    std::vector<double>& products = out_.sums;  // of exp forward and exp backward
    products.assign(K_ * K_, 0.0);
    std::vector<std::size_t> by_logarithms;
    out_.to.resize(K_);
    for (std::size_t t = 1; t < T_; ++t) {
      const double largest =
          scaled_exp(forward(t - 1), out_.from) + largest_transition_ - out_.log_partition;
      const auto behind = backward(t);
      if (largest + *std::max_element(behind.begin(), behind.end()) > kLargestExponent) {
        by_logarithms.push_back(t);
        continue;
      }
      for (std::size_t b = 0; b < K_; ++b) out_.to[b] = std::exp(largest + behind[b]);
      add_outer_product(out_.from.data(), out_.to.data(), K_, products.data());
    }
    for (std::size_t a = 0; a < K_; ++a) {
      for (std::size_t b = 0; b < K_; ++b) {
        double& count = out_.transitions[a * K_ + b];
        count = products[a * K_ + b] * out_.exp_transitions[a * K_ + b];
        for (const std::size_t t : by_logarithms) {
          count +=
              std::exp(forward(t - 1)[a] + transition(a, b) + backward(t)[b] - out_.log_partition);
        }
      }
    }
  }

  const ChainWorkspace& scores_;
  std::size_t K_, T_;
  ChainMarginals& out_;
  std::vector<double> terms_;
  double largest_transition_ = 0.0;
};

}  // namespace

void sum_over_chain(const ChainWorkspace& scores, std::size_t num_tags, ChainMarginals& marginals) {
  ForwardBackward(scores, num_tags, marginals).run();
}

}  // namespace margrove
