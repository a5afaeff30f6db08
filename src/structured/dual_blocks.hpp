#pragma once
// The dual variables of a structured SVM, one block per example, and the weights that follow from
// them: w(a) = - sum_iy a_iy s_iy d_iy (structured/bcfw.hpp has the problem and the symbols).

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "margrove/errors.hpp"
#include "structured/active_set.hpp"
#include "structured/oracle.hpp"
#include "structured/simplex_block.hpp"
#include "structured/structured_fit.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

/// The blocks are solved one at a time over their active sets; the weights and the dual objective
/// are kept up to date. The model must outlive them.
template <StructuredModel Model, AffineSurrogate Psi>
class DualBlocks {
 public:
  using Labelling = typename Model::Labelling;
  using Set = ActiveSet<Labelling>;
  static constexpr bool kImplicit = ImplicitDifferences<Model>;
  static constexpr bool kBounded = BoundedModel<Model>;

  /// Starts with all dual variables 0. example_weights: C_i = C * weight, >= 0; empty for all 1.
  /// has_average: whether average() will be called. Throws InvalidInput on a wrong weight.
  DualBlocks(const Model& model, Psi psi, double C, std::span<const double> example_weights,
             bool has_average, std::size_t num_workers)
      : model_(model),
        psi_(std::move(psi)),
        has_average_(has_average),
        budgets_(model.num_examples(), C),
        sets_(model.num_examples()),
        w_(model.num_weights(), 0.0F),
        workspaces_(num_workers) {
    if constexpr (kBounded) bounds_.resize(model.num_bounds(), 0.0F);
    check_example_weights(example_weights, budgets_.size(), "bcfw");
    for (std::size_t i = 0; i < example_weights.size(); ++i) budgets_[i] *= example_weights[i];
    total_budget_ = std::accumulate(budgets_.begin(), budgets_.end(), 0.0);
  }

  /// Oracles that take long end when the control asks to.
  void watch_oracles(RunControl& control) { watch(workspaces_, control); }

  const Model& model() const { return model_; }
  const Psi& psi() const { return psi_; }
  std::size_t size() const { return sets_.size(); }
  double budget(std::size_t i) const { return budgets_[i]; }  // C_i
  double total_budget() const { return total_budget_; }
  /// The dual objective, tracked step by step.
  double dual() const { return dual_; }
  /// w(a)
  const std::vector<float>& weights() const { return w_; }
  std::vector<float>& weights() { return w_; }
  const std::vector<Set>& sets() const { return sets_; }
  std::vector<Set>& sets() { return sets_; }  // call rebuild_weights() after a change

  /// Example i's oracle under `weights`, which may be weights() or others.
  OracleOf<Model> oracle(std::size_t i, std::span<const float> weights, int worker) {
    typename Model::Workspace& workspace = workspaces_[static_cast<std::size_t>(worker)];
    if constexpr (kBounded) {
      const bool are_bounded = weights.data() == w_.data();
      return model_.oracle(i, {weights, 1.0}, are_bounded ? bounds_ : std::span<const float>{},
                           workspace);
    } else {
      return model_.oracle(i, {weights, 1.0}, workspace);
    }
  }

  /// Adds the labelling to the active set with weight 0, unless it is in the set or is the true
  /// one.
  void admit(std::size_t i, const Candidate<Labelling>& candidate) {
    if (candidate.y == model_.truth(i) || sets_[i].contains(candidate.y)) return;
    const double slope = psi_.slope(candidate.g);
    add(i, candidate.y, slope, slope * candidate.constant + psi_.offset(candidate.g));
  }
  /// Adds a labelling that the active set does not have, with weight 0.
  void add(std::size_t i, Labelling y, double slope, double offset) {
    Set& set = sets_[i];
    set.labellings.push_back(std::move(y));
    set.duals.push_back(0.0);
    set.slopes.push_back(slope);
    set.offsets.push_back(offset);
    set.idle.push_back(0);
    if constexpr (!kImplicit) {
      set.differences.emplace_back();
      model_.difference(i, set.labellings.back(), set.differences.back());
      sort_indices(set.differences.back());
      for (const SparseVector& other : set.differences) {
        set.products.push_back(dot(set.differences.back(), other));
      }
    }
  }

  /// Computes <w, d_iy> of the labellings in the active set, which mixture_value(), best_value()
  /// and solve() use. The second form evaluates them by an oracle of the present weights.
  void load_margins(std::size_t i) {
    const Set& set = sets_[i];
    margins_.resize(set.size());
    if constexpr (kImplicit) {
      model_.margins(i, set.labellings, {w_, 1.0}, workspaces_[0], margins_);
    } else {
      for (std::size_t k = 0; k < set.size(); ++k) {
        margins_[k] = dot({w_, 1.0}, set.differences[k]);
      }
    }
  }
  template <EvaluatingOracle O>
  void load_margins(std::size_t i, const O& oracle) {
    margins_.clear();
    for (const Labelling& y : sets_[i].labellings) {
      const auto criteria = oracle.evaluate(y);
      margins_.push_back(criteria.m - criteria.constant);
    }
  }
  double mixture_value(std::size_t i) const { return sets_[i].mixture_value(margins_); }
  double best_value(std::size_t i) const { return sets_[i].best_value(margins_); }
  /// Solves block i over its active set by pairwise steps, or takes one Frank-Wolfe step, and
  /// updates the weights. Returns the gap that the block had before.
  double solve(std::size_t i, bool pairwise) {
    Set& set = sets_[i];
    if (set.size() == 0) return 0.0;
    load_block(i);
    const double gap = block_.gap();
    if (gap > 0) {
      load_products(i);
      dual_ += pairwise ? pairwise_steps(block_, kBlockTolerance, 10 * static_cast<int>(set.size()))
                        : frank_wolfe_step(block_);
      for (std::size_t k = 0; k < set.size(); ++k) {
        margins_[k] = -set.slopes[k] * (block_.duals[k] - set.duals[k]);  // now the coefficients
      }
      move_weights(i, margins_);
      set.duals = block_.duals;
    }
    set.drop_idle();
    return gap;
  }

  /// sum_y a_iy psi_iy / C_i at the weights of the oracle. The budget must be > 0.
  template <EvaluatingOracle O>
  double mixture_value_at(std::size_t i, const O& oracle) const {
    const Set& set = sets_[i];
    double sum = 0.0;
    for (std::size_t k = 0; k < set.size(); ++k) {
      if (!(set.duals[k] > 0)) continue;
      const auto criteria = oracle.evaluate(set.labellings[k]);
      sum += set.duals[k] * psi_.value(criteria.m, criteria.g);
    }
    return sum / budgets_[i];
  }

  /// Recomputes w = w(a) and the dual objective there, without the rounding errors that many small
  /// steps leave.
  void rebuild_weights() {
    std::fill(w_.begin(), w_.end(), 0.0F);
    dual_ = 0.0;
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      const Set& set = sets_[i];
      margins_.resize(set.size());
      for (std::size_t k = 0; k < set.size(); ++k) {
        margins_[k] = -set.slopes[k] * set.duals[k];
        dual_ += set.offsets[k] * set.duals[k];
      }
      if (set.size() > 0) add_differences(i, margins_, w_);
    }
    dual_ -= 0.5 * squared_norm({w_, 1.0});
    if constexpr (kBounded) model_.bound_weights(w_, bounds_);
  }

  /// Lets the weights of a GrowingModel lie where they are fast to read, if they are more than
  /// `growth` times as many as after the last time.
  void sort_weights(double growth) {
    if constexpr (GrowingModel<Model>) {
      const std::vector<std::uint32_t> order = model_.places().sort(growth);
      if (order.empty()) return;
      model_.places().follow(order, w_);
      if (has_average_) model_.places().follow(order, late_);
    }
  }

  /// The weighted average of the iterates, 2 / (T (T + 1)) sum_t t w_t = w_T - 2 u / (T (T + 1))
  /// with u = sum_t t (t - 1) / 2 (w_t - w_{t-1}).
  void average(std::vector<float>& average) {
    late_.resize(w_.size(), 0.0F);
    average.resize(w_.size());
    const double factor = steps_ > 0 ? 2.0 / (steps_ * (steps_ + 1)) : 0.0;
    for (std::size_t k = 0; k < w_.size(); ++k) {
      average[k] =
          static_cast<float>(static_cast<double>(w_[k]) - factor * static_cast<double>(late_[k]));
    }
  }

 private:
  // A block counts as solved when its largest violation is at most this share of the initial one.
  static constexpr double kBlockTolerance = 0.05;

  void load_block(std::size_t i) {
    const Set& set = sets_[i];
    block_.budget = budgets_[i];
    block_.duals = set.duals;
    block_.rest =
        std::max(0.0, block_.budget - std::accumulate(set.duals.begin(), set.duals.end(), 0.0));
    block_.values.resize(set.size());
    for (std::size_t k = 0; k < set.size(); ++k) {
      block_.values[k] = set.slopes[k] * margins_[k] + set.offsets[k];
    }
  }

  void load_products(std::size_t i) {
    Set& set = sets_[i];
    const std::size_t size = set.size();
    block_.Q.resize(size * size);
    if constexpr (kImplicit) {
      const std::size_t known = set.num_products_known();
      if constexpr (AppendedProducts<Model>) {
        model_.append_products(i, set.labellings, known, workspaces_[0], set.products);
      } else if (known < size) {
        model_.difference_products(i, set.labellings, block_.Q);
        set.products.clear();
        for (std::size_t j = 0; j < size; ++j) {
          for (std::size_t k = 0; k <= j; ++k) set.products.push_back(block_.Q[j * size + k]);
        }
      }
    }
    for (std::size_t j = 0, at = 0; j < size; ++j) {
      for (std::size_t k = 0; k <= j; ++k) {
        block_.Q[j * size + k] = block_.Q[k * size + j] = set.products[at++];
      }
    }
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = 0; k < size; ++k)
        block_.Q[j * size + k] *= set.slopes[j] * set.slopes[k];
    }
  }

  // w += sum_k coefficients[k] d_ik. Overwrites the coefficients if there is an average.
  void move_weights(std::size_t i, std::span<double> coefficients) {
    if constexpr (kBounded) {
      model_.add_differences(i, sets_[i].labellings, coefficients, workspaces_[0], w_, bounds_);
    } else {
      add_differences(i, coefficients, w_);
    }
    if (!has_average_) return;
    ++steps_;
    for (double& each : coefficients) each *= 0.5 * steps_ * (steps_ - 1);
    late_.resize(w_.size(), 0.0F);
    add_differences(i, coefficients, late_);
  }

  void add_differences(std::size_t i, std::span<const double> coefficients, std::vector<float>& w) {
    const Set& set = sets_[i];
    if constexpr (kImplicit) {
      model_.add_differences(i, set.labellings, coefficients, workspaces_[0], w);
    } else {
      for (std::size_t k = 0; k < set.size(); ++k) {
        if (coefficients[k] != 0) add_scaled(coefficients[k], set.differences[k], w);
      }
    }
  }

  const Model& model_;
  Psi psi_;
  bool has_average_;
  std::vector<double> budgets_;
  double total_budget_ = 0.0;
  std::vector<Set> sets_;
  std::vector<float> w_, late_;  // late_ is u in average()
  std::vector<float> bounds_;    // of a BoundedModel, for w_
  double steps_ = 0.0;
  double dual_ = 0.0;
  std::vector<typename Model::Workspace> workspaces_;  // one per worker
  SimplexBlock block_;
  std::vector<double> margins_;
};

}  // namespace margrove
