#include "outputs/tree/tree_marginals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/log_number.hpp"

namespace margrove {
namespace {

/// The logarithm of the smallest normal double.
constexpr double kUnderflow = -708.0;

/// The largest score of an arc to each word [1, n] from the heads [first_head, n].
std::vector<double> best_scores(std::span<const double> arcs, std::size_t n,
                                std::size_t first_head) {
  std::vector<double> best(n + 1, -std::numeric_limits<double>::infinity());
  for (std::size_t head = first_head; head <= n; ++head) {
    for (std::size_t word = 1; word <= n; ++word) {
      if (head != word) best[word] = std::max(best[word], arcs[head * (n + 1) + word]);
    }
  }
  return best;
}

// Eisner's algorithm with sums of products in place of maxima of sums. With weights of arcs exp of
// their scores, less a number for each word that cancels in the end:
//   inner[s, t]  = sum_r right[s, r] left[r + 1, t]     words between s and t attached to one of
//   them to_left[s, t] = inner[s, t] weight(t -> s), to_right[s, t] = inner[s, t] weight(s -> t)
//   left[s, t]   = sum_r left[s, r] to_left[r, t]       trees over s..t with head t
//   right[s, t]  = sum_r to_right[s, r] right[r, t]     trees over s..t with head s
//   Z            = sum_r weight(0 -> r) left[1, r] right[r, n]
// Matrices whose columns are read have a transposed copy, by_end. The derivatives d_ of
// Z, divided by Z, follow in the reverse order.
template <class Number>
class ProjectiveSums {
 public:
  ProjectiveSums(std::span<const double> arcs, std::size_t n)
      : n_(n), stride_(n + 1), shift_(best_scores(arcs, n, 0)), weights_(stride_ * stride_) {
    for (std::size_t head = 0; head <= n; ++head) {
      for (std::size_t word = 1; word <= n; ++word) {
        if (head == word) continue;
        weights_[at(head, word)] = exp_as<Number>(arcs[at(head, word)] - shift_[word]);
      }
    }
    for (auto* each :
         {&left_, &left_by_end_, &right_, &right_by_end_, &to_left_by_end_, &to_right_, &inner_}) {
      each->assign(stride_ * stride_, Number{});
    }
    for (std::size_t s = 1; s <= n; ++s) {
      left_[at(s, s)] = left_by_end_[at(s, s)] = right_[at(s, s)] = right_by_end_[at(s, s)] =
          exp_as<Number>(0.0);
    }
    for (std::size_t length = 1; length < n; ++length) {
      for (std::size_t s = 1; s + length <= n; ++s) sum_inside(s, s + length);
    }
    for (std::size_t r = 1; r <= n; ++r) total_ += of_root(r);
  }

  /// log Z less the numbers of the words.
  double log_total() const { return log_of(total_); }
  double log_partition() const {
    double sum = log_total();
    for (std::size_t word = 1; word <= n_; ++word) sum += shift_[word];
    return sum;
  }

  void write_probabilities(std::vector<double>& probabilities) {
    probabilities.assign(stride_ * stride_, 0.0);
    for (auto* each : {&d_left_, &d_left_by_end_, &d_right_, &d_right_by_end_, &d_to_left_by_end_,
                       &d_to_right_}) {
      each->assign(stride_ * stride_, Number{});
    }
    for (std::size_t r = 1; r <= n_; ++r) {
      probabilities[r] = to_double(of_root(r) / total_);
      d_left_[at(1, r)] += weights_[r] * right_[at(r, n_)] / total_;
      d_right_[at(r, n_)] += weights_[r] * left_[at(1, r)] / total_;
    }
    for (std::size_t length = n_ - 1; length > 0; --length) {
      for (std::size_t s = 1; s + length <= n_; ++s) sum_outside(s, s + length, probabilities);
    }
  }

 private:
  std::size_t at(std::size_t s, std::size_t t) const { return s * stride_ + t; }
  Number of_root(std::size_t r) const { return weights_[r] * left_[at(1, r)] * right_[at(r, n_)]; }

  void sum_inside(std::size_t s, std::size_t t) {
    const std::size_t size = t - s;
    const Number inner = dot(&right_[at(s, s)], &left_by_end_[at(t, s + 1)], size);
    inner_[at(s, t)] = inner;
    to_left_by_end_[at(t, s)] = inner * weights_[at(t, s)];
    to_right_[at(s, t)] = inner * weights_[at(s, t)];
    left_[at(s, t)] = left_by_end_[at(t, s)] =
        dot(&left_[at(s, s)], &to_left_by_end_[at(t, s)], size);
    right_[at(s, t)] = right_by_end_[at(t, s)] =
        dot(&to_right_[at(s, s + 1)], &right_by_end_[at(t, s + 1)], size);
  }

  void sum_outside(std::size_t s, std::size_t t, std::vector<double>& probabilities) {
    const std::size_t size = t - s;
    const Number d_left = d_left_[at(s, t)] + d_left_by_end_[at(t, s)];
    add_multiple(&d_left_[at(s, s)], d_left, &to_left_by_end_[at(t, s)], size);
    add_multiple(&d_to_left_by_end_[at(t, s)], d_left, &left_[at(s, s)], size);
    const Number d_right = d_right_[at(s, t)] + d_right_by_end_[at(t, s)];
    add_multiple(&d_to_right_[at(s, s + 1)], d_right, &right_by_end_[at(t, s + 1)], size);
    add_multiple(&d_right_by_end_[at(t, s + 1)], d_right, &to_right_[at(s, s + 1)], size);
    const Number of_left = d_to_left_by_end_[at(t, s)] * weights_[at(t, s)];
    const Number of_right = d_to_right_[at(s, t)] * weights_[at(s, t)];
    probabilities[at(t, s)] = to_double(of_left * inner_[at(s, t)]);
    probabilities[at(s, t)] = to_double(of_right * inner_[at(s, t)]);
    const Number d_inner = of_left + of_right;
    add_multiple(&d_right_[at(s, s)], d_inner, &left_by_end_[at(t, s + 1)], size);
    add_multiple(&d_left_by_end_[at(t, s + 1)], d_inner, &right_[at(s, s)], size);
  }

  std::size_t n_, stride_;
  std::vector<double> shift_;
  std::vector<Number> weights_, left_, left_by_end_, right_, right_by_end_, to_left_by_end_,
      to_right_, inner_;
  std::vector<Number> d_left_, d_left_by_end_, d_right_, d_right_by_end_, d_to_left_by_end_,
      d_to_right_;
  Number total_{};
};

// Words as the states of a Markov chain that step to their heads with rates p(word, head): tau(r),
// the sum over the trees with root r of the products of the rates, is the stationary distribution
// up to a factor (Markov chain tree theorem), and Z = sum_r exp(arc(0, r)) tau(r). Words are
// eliminated from the last to the first, where
//   p(i, j) += p(i, k) p(k, j) / out(k),   out(k) = sum_{j < k} p(k, j),   i, j < k,
//   tau(first) = prod_k out(k),   tau(k) = sum_{i < k} tau(i) p(i, k) / out(k).
template <class Number>
class SpanningSums {
 public:
  SpanningSums(std::span<const double> arcs, std::size_t n)
      : n_(n), rates_(n * n), steps_(n * n), out_(n), log_tau_(n, 0.0), of_root_(n) {
    const std::vector<double> shift = best_scores(arcs, n, 1);  // cancels in the end
    for (std::size_t i = 0; i < n; ++i) {
      const double own = n == 1 ? 0.0 : shift[i + 1];
      shifts_ += own;
      of_root_[i] = arcs[i + 1] - own;
      for (std::size_t j = 0; j < n; ++j) {
        if (i != j) rates_[i * n + j] = exp_as<Number>(arcs[(j + 1) * (n + 1) + i + 1] - own);
      }
    }
    const double shift_of_root = *std::max_element(of_root_.begin(), of_root_.end());
    shifts_ += shift_of_root;
    for (std::size_t k = n; k-- > 0;) eliminate(k);
    for (std::size_t k = 1; k < n; ++k) log_tau_[0] += log_of(out_[k]);
    std::vector<double> terms;
    for (std::size_t k = 1; k < n; ++k) {
      terms.clear();
      for (std::size_t i = 0; i < k; ++i) terms.push_back(log_tau_[i] + log_of(rate(i, k)));
      log_tau_[k] = log_sum_exp(terms) - log_of(out_[k]);
    }
    for (std::size_t k = 0; k < n; ++k) of_root_[k] += log_tau_[k] - shift_of_root;
    log_total_ = log_sum_exp(of_root_);
  }

  /// log Z less the numbers of the words and of the root.
  double log_total() const { return log_total_; }
  double log_partition() const { return log_total_ + shifts_; }
  double smallest_log_out() const {
    double smallest = 0.0;
    for (std::size_t k = 1; k < n_; ++k) smallest = std::min(smallest, log_of(out_[k]));
    return smallest;
  }

  /// d_x is the derivative of log Z in log x. That in the rates is first one in the rates of an
  /// elimination, and in the end one in those of the input: the probabilities.
  void write_probabilities(std::vector<double>& probabilities) {
    probabilities.assign((n_ + 1) * (n_ + 1), 0.0);
    d_rates_.assign(n_ * n_, 0.0);
    d_steps_.assign(n_ * n_, 0.0);
    std::vector<double> d_out(n_, 0.0), d_tau(n_);
    for (std::size_t k = 0; k < n_; ++k) {
      d_tau[k] = probabilities[k + 1] = std::exp(of_root_[k] - log_total_);
    }
    for (std::size_t k = n_; k-- > 1;) {
      for (std::size_t i = 0; i < k && d_tau[k] > 0.0; ++i) {
        const double part =
            d_tau[k] * std::exp(log_tau_[i] + log_of(rate(i, k)) - log_of(out_[k]) - log_tau_[k]);
        d_tau[i] += part;
        d_rates_[i * n_ + k] += part;
      }
      d_out[k] = 1.0 - d_tau[k];  // 1: tau of the first word has the factor out(k)
    }
    for (std::size_t k = 0; k < n_; ++k) {
      for (std::size_t j = 0; j < k; ++j) d_out[k] -= d_steps_[j * n_ + k];
      for (std::size_t j = 0; j < k; ++j) {
        d_rates_[k * n_ + j] += d_steps_[j * n_ + k] + d_out[k] * to_double(steps_[j * n_ + k]);
      }
      for (std::size_t j = 0; j < k; ++j) {
        pass_back(k, j);
        pass_back(j, k);
      }
    }
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        if (i == j) continue;
        probabilities[(j + 1) * (n_ + 1) + i + 1] = std::clamp(d_rates_[i * n_ + j], 0.0, 1.0);
      }
    }
  }

 private:
  Number rate(std::size_t i, std::size_t j) const { return rates_[i * n_ + j]; }

  // The rates between k and the words before it, when those behind it are eliminated.
  void eliminate(std::size_t k) {
    const std::size_t size = n_ - k - 1;
    const auto add_detours = [&](std::size_t i, std::size_t j) {
      if (size == 0) return;
      rates_[i * n_ + j] += dot(&rates_[i * n_ + k + 1], &steps_[j * n_ + k + 1], size);
    };
    for (std::size_t j = 0; j < k; ++j) {
      add_detours(k, j);
      add_detours(j, k);
      out_[k] += rate(k, j);
    }
    for (std::size_t j = 0; j < k; ++j) steps_[j * n_ + k] = rate(k, j) / out_[k];
  }

  // Passes the derivative in rate(i, j) on to its summands.
  void pass_back(std::size_t i, std::size_t j) {
    double& d_rate = d_rates_[i * n_ + j];
    if (!(d_rate > 0.0)) return;
    const Number factor = exp_as<Number>(std::log(d_rate)) / rate(i, j);
    double detours = 0.0;
    for (std::size_t l = std::max(i, j) + 1; l < n_; ++l) {
      const double part = to_double(factor * (rate(i, l) * steps_[j * n_ + l]));
      d_rates_[i * n_ + l] += part;
      d_steps_[j * n_ + l] += part;
      detours += part;
    }
    d_rate -= detours;
  }

  std::size_t n_;
  std::vector<Number> rates_, steps_, out_;  // steps_[j, k] = rate(k, j) / out(k), j < k
  std::vector<double> log_tau_, of_root_, d_rates_, d_steps_;
  double shifts_ = 0.0, log_total_ = 0.0;
};

}  // namespace

// In double precision each weight is at most 1 and summands below exp(kUnderflow) are lost. There
// are fewer than exp(2 n) projective trees and fewer than n^n others, which bounds the loss
// relative to Z, and with it that of the probabilities.
double projective_marginals(std::span<const double> arcs, std::size_t num_words,
                            std::vector<double>& probabilities) {
  const auto n = static_cast<double>(num_words);
  if (2 * n < -kUnderflow) {
    ProjectiveSums<double> sums(arcs, num_words);
    if (sums.log_total() > kUnderflow + 2 * n + 3 * std::log(n) + 50) {
      sums.write_probabilities(probabilities);
      return sums.log_partition();
    }
  }
  ProjectiveSums<LogNumber> sums(arcs, num_words);
  sums.write_probabilities(probabilities);
  return sums.log_partition();
}

double spanning_tree_marginals(std::span<const double> arcs, std::size_t num_words,
                               std::vector<double>& probabilities) {
  const auto n = static_cast<double>(num_words);
  SpanningSums<double> sums(arcs, num_words);
  if (std::isfinite(sums.log_total()) && sums.log_total() > kUnderflow + n * std::log(n) + 50 &&
      sums.smallest_log_out() > kUnderflow / 2) {
    sums.write_probabilities(probabilities);
    return sums.log_partition();
  }
  SpanningSums<LogNumber> slow(arcs, num_words);
  slow.write_probabilities(probabilities);
  return slow.log_partition();
}

}  // namespace margrove
