#include "kernel/svm_dual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/simd.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr double kHighestValue = std::numeric_limits<double>::infinity();
constexpr double kSmallestCurvature = 1e-12;  // for pairs whose rows of K coincide
constexpr std::int64_t kIterationsPerControl = 4096;
// Progress is judged once per so many iterations. Training ends after kQuietWindows without any:
// where neither the violation nor the gap falls by kLeastFall, and the dual rises so slowly that
// the gap would take more than the iterations that are allowed.
constexpr std::int64_t kWindow = 1 << 18;
constexpr int kQuietWindows = 3;
constexpr double kLeastFall = 0.01;

struct Extremes {
  double lowest_up;     // min G over the variables that may rise
  double highest_down;  // max G over the variables that may fall
};

// G += step (K_i - K_j), and the extremes of the new G. `up` is 0 where u may rise and +infinity
// elsewhere, `down` is 0 where u may fall and -infinity elsewhere.
MARGROVE_MULTIVERSION
Extremes move_gradient(double* G, const float* K_i, const float* K_j, double step, const double* up,
                       const double* down, std::size_t n) {
  double lowest = kHighestValue;
  double highest = -kHighestValue;
#pragma omp simd reduction(min : lowest) reduction(max : highest)
  for (std::size_t t = 0; t < n; ++t) {
    const double g = G[t] + step * (static_cast<double>(K_i[t]) - static_cast<double>(K_j[t]));
    G[t] = g;
    const double rising = g + up[t];
    const double falling = g + down[t];
    lowest = rising < lowest ? rising : lowest;
    highest = falling > highest ? falling : highest;
  }
  return {lowest, highest};
}

MARGROVE_MULTIVERSION
Extremes extremes(const double* G, const double* up, const double* down, std::size_t n) {
  double lowest = kHighestValue;
  double highest = -kHighestValue;
#pragma omp simd reduction(min : lowest) reduction(max : highest)
  for (std::size_t t = 0; t < n; ++t) {
    const double rising = G[t] + up[t];
    const double falling = G[t] + down[t];
    lowest = rising < lowest ? rising : lowest;
    highest = falling > highest ? falling : highest;
  }
  return {lowest, highest};
}

// gain_t = (G_t - G_i)^2 / (K_ii + K_tt - 2 K_it) where u_t may fall and G_t > G_i, else 0: twice
// the decrease of the objective by the best unclipped step of the pair (i, t). Returns the maximum.
MARGROVE_MULTIVERSION
double pair_gains(double* gain, const double* G, const double* down, const float* K_i,
                  const float* diagonal, double G_i, double K_ii, std::size_t n) {
  double best = 0;
#pragma omp simd reduction(max : best)
  for (std::size_t t = 0; t < n; ++t) {
    const double curvature =
        K_ii + static_cast<double>(diagonal[t]) - 2.0 * static_cast<double>(K_i[t]);
    const double slope = G[t] + down[t] - G_i;  // -infinity where u_t may not fall
    const double rise = slope > 0 ? slope : 0;
    const double value =
        rise * rise / (curvature > kSmallestCurvature ? curvature : kSmallestCurvature);
    gain[t] = value;
    best = value > best ? value : best;
  }
  return best;
}

MARGROVE_MULTIVERSION
void add_scaled(double* G, const float* row, double factor, std::size_t n) {
#pragma omp simd
  for (std::size_t t = 0; t < n; ++t) G[t] += factor * static_cast<double>(row[t]);
}

/// Says when iterations no longer lead anywhere, as with C = 1e300 on rows that no hyperplane
/// separates, whose optimum is C times the distance that one iteration comes nearer to it.
class ProgressWatch {
 public:
  explicit ProgressWatch(std::int64_t max_iterations)
      : most_windows_(static_cast<double>(max_iterations) / kWindow) {}

  /// To be called once per window, with the values at its end.
  bool is_stalled(double violation, double primal, double dual) {
    const double gap = (primal - dual) / primal;
    const double rise = dual - dual_;
    least_primal_ = std::min(least_primal_, primal);
    const double least_gap = least_primal_ - dual;  // below zero only by rounding
    const bool is_hopeless = !(least_gap >= 0 && least_gap <= rise * most_windows_);
    const bool falls =
        violation < (1 - kLeastFall) * least_violation_ || gap < (1 - kLeastFall) * least_gap_;
    least_violation_ = std::min(least_violation_, violation);
    least_gap_ = std::min(least_gap_, gap);
    dual_ = dual;
    num_quiet_ = falls || !is_hopeless ? 0 : num_quiet_ + 1;
    return num_quiet_ >= kQuietWindows;
  }

 private:
  double most_windows_;
  double least_violation_ = kHighestValue, least_gap_ = kHighestValue,
         least_primal_ = kHighestValue;
  double dual_ = 0;
  int num_quiet_ = 0;
};

/// The dual of one SVM. Arrays hold the active variables only; `original_` says which.
class Smo {
 public:
  Smo(std::span<const float> K, std::span<const std::int8_t> y, const SvmOptions& options,
      std::span<const double> start)
      : K_full_(K), y_(y), options_(options), n_(y.size()), u_full_(start.begin(), start.end()) {
    u_full_.resize(n_, 0.0);
    activate_all();
  }

  SvmSolution solve(RunControl& control) {
    SvmSolution solution;
    const auto shrink_interval = static_cast<std::int64_t>(std::min<std::size_t>(n_, 1000));
    std::int64_t until_shrink = shrink_interval;
    std::int64_t until_control = 1;  // many classifiers may begin after the time limit
    ProgressWatch watch(options_.max_iterations);
    Extremes now = active_extremes();
    for (;;) {
      if (now.highest_down - now.lowest_up <= options_.tolerance) {
        if (original_.size() == n_) break;
        activate_all();  // converged on the active variables; now all are checked
        until_shrink = shrink_interval;
        now = active_extremes();
        continue;
      }
      if (solution.iterations >= options_.max_iterations) {
        solution.stop = Stop::pass_limit;
        break;
      }
      if (--until_control <= 0) {
        until_control = kIterationsPerControl;
        if (!control.proceed()) {
          solution.stop = control.stop_reason();
          break;
        }
      }
      if (solution.iterations > 0 && solution.iterations % kWindow == 0 && is_stalled(watch)) {
        solution.stop = Stop::stalled;
        break;
      }
      now = step(now.lowest_up);
      ++solution.iterations;
      if (options_.shrinking && --until_shrink <= 0) {
        until_shrink = shrink_interval;
        if (shrink(now)) now = active_extremes();
      }
    }
    if (original_.size() < n_) activate_all();
    finish(solution);
    return solution;
  }

 private:
  const float* row(std::size_t t) const { return K_ + t * stride_; }
  Extremes active_extremes() const {
    return extremes(G_.data(), up_.data(), down_.data(), original_.size());
  }
  double upper(std::size_t original) const { return y_[original] > 0 ? options_.C : 0.0; }
  double lower(std::size_t original) const { return y_[original] > 0 ? 0.0 : -options_.C; }

  /// One pair: the lowest G among those that may rise, and its best partner. Returns the extremes
  /// after the move.
  Extremes step(double lowest_up) {
    const std::size_t n = original_.size();
    std::size_t i = 0;
    while (G_[i] + up_[i] != lowest_up) ++i;
    const double K_ii = diagonal_[i];
    const double best = pair_gains(gain_.data(), G_.data(), down_.data(), row(i), diagonal_.data(),
                                   lowest_up, K_ii, n);
    std::size_t j = 0;
    while (gain_[j] != best) ++j;
    const double curvature = std::max(kSmallestCurvature, K_ii + static_cast<double>(diagonal_[j]) -
                                                              2.0 * static_cast<double>(row(i)[j]));
    const double room_i = upper(original_[i]) - u_[i];
    const double room_j = u_[j] - lower(original_[j]);
    const double wanted = (G_[j] - G_[i]) / curvature;
    const double move = std::min({wanted, room_i, room_j});
    // Variables are set to a bound exactly, so that the masks do not count them as free.
    u_[i] = move == room_i ? upper(original_[i]) : u_[i] + move;
    u_[j] = move == room_j ? lower(original_[j]) : u_[j] - move;
    set_masks(i);
    set_masks(j);
    return move_gradient(G_.data(), row(i), row(j), move, up_.data(), down_.data(), n);
  }

  void set_masks(std::size_t t) {
    up_[t] = u_[t] < upper(original_[t]) ? 0.0 : kHighestValue;
    down_[t] = u_[t] > lower(original_[t]) ? 0.0 : -kHighestValue;
  }

  /// Judges the present u by all variables, and changes nothing.
  bool is_stalled(ProgressWatch& watch) const {
    Smo all(K_full_, y_, options_, full_solution());
    SvmSolution solution;
    all.finish(solution);
    const Extremes now = all.active_extremes();
    return watch.is_stalled(now.highest_down - now.lowest_up, solution.primal, solution.dual);
  }

  std::vector<double> full_solution() const {
    std::vector<double> u = u_full_;
    for (std::size_t t = 0; t < original_.size(); ++t) u[original_[t]] = u_[t];
    return u;
  }

  /// Makes all variables active; G = Ku - y is computed from the rows of the support vectors.
  void activate_all() {
    u_full_ = full_solution();
    original_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) original_[i] = i;
    u_ = u_full_;
    K_ = K_full_.data();
    stride_ = n_;
    K_active_ = {};
    G_.assign(n_, 0.0);
    for (std::size_t i = 0; i < n_; ++i) G_[i] = -static_cast<double>(y_[i]);
    for (std::size_t i = 0; i < n_; ++i) {
      if (u_[i] != 0) add_scaled(G_.data(), row(i), u_[i], n_);
    }
    diagonal_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) diagonal_[i] = row(i)[i];
    up_.resize(n_);
    down_.resize(n_);
    gain_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) set_masks(i);
  }

  /// Removes the variables that are at a bound and cannot move in any pair, if copying the rest of
  /// K is worthwhile. Returns whether it did.
  bool shrink(const Extremes& now) {
    std::vector<std::size_t> kept;
    for (std::size_t t = 0; t < original_.size(); ++t) {
      const bool only_falls = up_[t] != 0 && G_[t] < now.lowest_up;
      const bool only_rises = down_[t] != 0 && G_[t] > now.highest_down;
      if (!only_falls && !only_rises) kept.push_back(t);
    }
    if (kept.size() < 2 || 10 * kept.size() > 7 * original_.size()) return false;
    std::vector<float> smaller(kept.size() * kept.size());
    for (std::size_t a = 0; a < kept.size(); ++a) {
      const float* from = row(kept[a]);
      float* to = smaller.data() + a * kept.size();
      for (std::size_t b = 0; b < kept.size(); ++b) to[b] = from[kept[b]];
    }
    for (std::size_t t = 0; t < original_.size(); ++t) u_full_[original_[t]] = u_[t];
    const auto keep = [&](auto& values) {
      for (std::size_t a = 0; a < kept.size(); ++a) values[a] = values[kept[a]];
      values.resize(kept.size());
    };
    keep(original_);
    keep(u_);
    keep(G_);
    keep(diagonal_);
    keep(up_);
    keep(down_);
    keep(gain_);
    K_active_ = std::move(smaller);
    K_ = K_active_.data();
    stride_ = kept.size();
    return true;
  }

  /// Not the least of no values: infinity, or the largest number where a compiler begins a
  /// reduction with that.
  static bool is_value(double extreme) {
    return std::fabs(extreme) < std::numeric_limits<double>::max();
  }

  void finish(SvmSolution& solution) const {
    const Extremes now = active_extremes();
    double free_sum = 0;
    std::size_t num_free = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      solution.sum_alpha += static_cast<double>(y_[i]) * u_[i];
      solution.squared_norm += u_[i] * (G_[i] + static_cast<double>(y_[i]));
      if (up_[i] == 0 && down_[i] == 0) {
        free_sum += G_[i];
        ++num_free;
      }
    }
    if (num_free > 0) {
      solution.bias = -free_sum / static_cast<double>(num_free);
    } else if (is_value(now.lowest_up) && is_value(now.highest_down)) {
      solution.bias = -(now.lowest_up + now.highest_down) / 2;
    } else {  // one class only
      solution.bias = static_cast<double>(y_[0]);
    }
    double loss = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const auto y = static_cast<double>(y_[i]);
      loss += std::max(0.0, 1.0 - y * (G_[i] + y + solution.bias));
    }
    solution.dual = solution.sum_alpha - solution.squared_norm / 2;
    solution.primal = solution.squared_norm / 2 + options_.C * loss;
    solution.u = u_;
  }

  std::span<const float> K_full_;
  std::span<const std::int8_t> y_;
  const SvmOptions& options_;
  std::size_t n_;
  std::vector<double> u_full_;

  std::vector<std::size_t> original_;
  std::vector<double> u_, G_, up_, down_, gain_;
  std::vector<float> diagonal_;
  std::vector<float> K_active_;
  const float* K_ = nullptr;
  std::size_t stride_ = 0;
};

}  // namespace

SvmSolution solve_svm_dual(std::span<const float> K, std::span<const std::int8_t> y,
                           const SvmOptions& options, RunControl& control,
                           std::span<const double> start) {
  validate(options);
  require(!y.empty(), "svm: the number of examples is 0, but must be > 0");
  require(K.size() == y.size() * y.size(), "svm: K has ", K.size(), " entries, but must have ",
          y.size(), " x ", y.size());
  require(start.empty() || start.size() == y.size(), "svm: start has ", start.size(),
          " values, but must have ", y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    require(y[i] == 1 || y[i] == -1, "svm: y[", i, "] is ", static_cast<int>(y[i]),
            ", but must be 1 or -1");
  }
  double sum = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double alpha = static_cast<double>(y[i]) * start[i];
    require(alpha >= 0 && alpha <= options.C, "svm: start[", i, "] is ", start[i],
            ", but must lie between 0 and y C = ", static_cast<double>(y[i]) * options.C);
    sum += start[i];
  }
  require(std::abs(sum) <= 1e-6 * options.C * static_cast<double>(y.size()), "svm: start sums to ",
          sum, ", but must sum to 0");
  return Smo(K, y, options, start).solve(control);
}

std::vector<SvmSolution> solve_one_vs_rest(std::span<const float> K,
                                           std::span<const std::uint32_t> class_of,
                                           std::uint32_t num_classes, const SvmOptions& options,
                                           Executor& executor, RunControl& control,
                                           std::span<const SvmSolution> starts) {
  require(num_classes >= 2, "svm: the number of classes is ", num_classes, ", but must be >= 2");
  for (std::size_t i = 0; i < class_of.size(); ++i) {
    require(class_of[i] < num_classes, "svm: class_of[", i, "] is ", class_of[i],
            ", but must be < ", num_classes);
  }
  const std::size_t num_classifiers = num_classes == 2 ? 1 : num_classes;
  require(starts.empty() || starts.size() == num_classifiers, "svm: ", starts.size(),
          " starts, but must be ", num_classifiers);
  std::vector<SvmSolution> solutions(num_classifiers);
  executor.for_each(num_classifiers, [&](std::size_t classifier, int) {
    const std::size_t positive_class = num_classes == 2 ? 1 : classifier;
    std::vector<std::int8_t> y(class_of.size());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = class_of[i] == positive_class ? 1 : -1;
    solutions[classifier] = solve_svm_dual(
        K, y, options, control,
        starts.empty() ? std::span<const double>() : std::span<const double>(starts[classifier].u));
  });
  return solutions;
}

}  // namespace margrove
