#pragma once
// Cutting planes for structured SVMs with a surrogate that is convex in the margin violation.
//
//   n slacks [Tsochantaridis2005]
//     primal  min ||w||^2 / 2 + C sum_i c_i xi_i,  xi_i >= <w, a_c> + b_c for the cuts c of i,
//     dual    max sum_c alpha_c b_c - ||sum_c alpha_c a_c||^2 / 2,
//             alpha >= 0, sum of alpha_c over the cuts c of i <= C c_i;  w = -sum_c alpha_c a_c.
//   1 slack [Joachims2009]
//     one xi for the sum of all examples; a cut is the sum of one cut per example.
//
// The cut at the most violating labelling y under w is the tangent of psi in m: a = psi_m d_iy and
// b = psi - psi_m <w, d_iy>. It equals psi for affine surrogates. The quadratic programmes are
// solved over simplex blocks (structured/simplex_block.hpp).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/out_of_time.hpp"
#include "margrove/control.hpp"
#include "margrove/errors.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"
#include "structured/oracle.hpp"
#include "structured/search.hpp"
#include "structured/simplex_block.hpp"
#include "structured/structured_fit.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

struct CuttingPlaneOptions {
  double C = 1.0;
  double tolerance = 1e-3;  // relative duality gap to stop at, (primal - dual) / primal
  int max_rounds = 500;     // each with one search per example and a quadratic programme
  bool one_slack = false;   // one for all examples, which takes a dense vector per round

  /// No front end shows these options.
  static auto fields() {
    using O = CuttingPlaneOptions;
    return std::tuple{
        field("C", &O::C, positive, {}),
        field("tolerance", &O::tolerance, positive, {}),
        field("max_rounds", &O::max_rounds, at_least(1), {}),
    };
  }
};

/// One solver run. Model, executor and control must outlive it. If a search has a member `slack`
/// (Sarawagi-Gupta), the solver sets it to the example's present slack before each call.
template <StructuredModel Model, Surrogate Psi, class Search>
class CuttingPlane {
 public:
  using Labelling = typename Model::Labelling;

  /// example_weights: factors c_i >= 0 of the examples' losses; empty for all 1.
  CuttingPlane(const Model& model, Psi psi, Search search, const CuttingPlaneOptions& options,
               Executor& executor, RunControl& control,
               std::span<const double> example_weights = {})
      : model_(model),
        psi_(std::move(psi)),
        options_(options),
        executor_(executor),
        control_(control),
        example_weights_(example_weights.begin(), example_weights.end()),
        w_(model.num_weights(), 0.0F),
        blocks_(options.one_slack ? 0 : model.num_examples()),
        slacks_(model.num_examples(), 0.0),
        caches_(model.num_examples()),
        found_(model.num_examples()),
        searches_(static_cast<std::size_t>(executor.size()), search),
        workspaces_(static_cast<std::size_t>(executor.size())) {
    validate(options);
    check_example_weights(example_weights, model.num_examples(), "cutting planes");
    if (example_weights.empty()) example_weights_.assign(model.num_examples(), 1.0);
    shared_.budget = shared_.rest = options.C;
    watch(workspaces_, control);
  }

  /// The first round searches at these weights instead of 0. Throws InvalidInput if their number
  /// differs.
  void start_at(std::span<const float> weights) {
    require(weights.size() == w_.size(), "cutting planes: start of ", weights.size(),
            " weights, but must be ", w_.size());
    w_.assign(weights.begin(), weights.end());
  }

  StructuredFit run() {
    StructuredFit fit;
    fit.dual = 0.0;
    fit.primal = std::numeric_limits<double>::infinity();
    try {
      run_rounds(fit);
    } catch (const OutOfTime&) {  // the weights are those of the rounds before
      if (fit.passes == 0) fit.primal = std::numeric_limits<double>::quiet_NaN();
    }
    if (best_.empty()) best_ = w_;
    fit.oracle_calls = oracle_calls_;
    fit.stop =
        stop_of(fit, options_.tolerance, control_.proceed() ? fit.stop : control_.stop_reason());
    return fit;
  }

  /// The weights with the smallest primal so far.
  const std::vector<float>& weights() const { return best_; }

 private:
  struct Cut {
    SparseVector a;  // sorted
    double b;
  };
  struct Block {
    std::vector<Cut> cuts;
    SimplexBlock qp;
  };
  static constexpr int kMaxSweeps = 2000;  // over the blocks of one quadratic programme
  /// The multiplications after which the quadratic programme of 1 slack ends, about 0.05 s. The
  /// next round's programme continues from there. Where C times the squared norm of a row is about
  /// 1e12, it would take seconds on dozens of rows without this limit.
  static constexpr double kMaxShared = 1e8;
  /// Training ends after this many consecutive rounds whose quadratic programme used up its sweeps
  /// without a larger dual: where columns have very different scales, the rounding of the weights
  /// can be larger than all steps.
  static constexpr int kMaxStuckRounds = 3;

  void run_rounds(StructuredFit& fit) {
    bool was_solved_well = false;
    int stuck_rounds = 0;
    while (fit.passes < options_.max_rounds) {
      const double primal = search_all();
      ++fit.passes;
      if (primal < fit.primal) {
        fit.primal = primal;
        fit.certified = is_exact_;
        best_ = w_;
      }
      fit.relative_gap = fit.primal > 0 ? (fit.primal - fit.dual) / fit.primal : 0.0;
      Progress progress;
      progress.stage = "cutting-plane";
      progress.done = fit.passes;
      progress.total = options_.max_rounds;
      progress.unit = "rounds";
      progress.objective = fit.primal;
      progress.relative_gap = fit.relative_gap;
      if (fit.relative_gap <= options_.tolerance || !control_.proceed(progress)) break;
      // If there are no new cuts, the programme may have been solved too roughly, and it is solved
      // accurately once. If there are still none, the searches do not find the labellings that
      // would close the gap.
      const bool is_new = add_cuts();
      if (fit.passes == 1) set_weights();  // of the dual variables, which are 0, after a start
      if (!is_new && was_solved_well) {
        fit.stop = Stop::stalled;
        break;
      }
      const bool is_stuck =
          !solve(is_new ? 0.1 * (fit.primal - fit.dual) : 1e-2 * options_.tolerance * fit.primal);
      was_solved_well = !is_new;
      set_weights();
      const double before = std::exchange(fit.dual, dual());
      const bool has_risen = fit.dual - before > 1e-6 * (fit.primal - before);
      stuck_rounds = is_stuck && !has_risen ? stuck_rounds + 1 : 0;
      if (stuck_rounds == kMaxStuckRounds) {
        fit.stop = Stop::stalled;
        break;
      }
    }
  }

  // Fills found_; returns the primal objective at w_.
  double search_all() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) slacks_[i] = slack_of(blocks_[i]);
    const double loss = executor_.ordered_sum(found_.size(), [&](std::size_t i, int worker) {
      end_if_out_of_time(&control_);
      Search& search = searches_[worker];
      if constexpr (requires { search.slack; }) search.slack = slacks_[i];
      found_[i] = search(model_.oracle(i, {w_, 1.0}, workspaces_[worker]), psi_, caches_[i]);
      return example_weights_[i] * found_[i].value;
    });
    is_exact_ = true;
    for (const auto& found : found_) {
      oracle_calls_ += found.oracle_calls;
      is_exact_ = is_exact_ && found.upper_bound <= found.value * (1 + 1e-9);
    }
    return 0.5 * squared_norm({w_, 1.0}) + options_.C * loss;
  }

  double slack_of(const Block& block) const {
    double slack = 0.0;
    for (const Cut& cut : block.cuts) slack = std::max(slack, dot({w_, 1.0}, cut.a) + cut.b);
    return slack;
  }

  // The cut of example i at the labelling found.
  Cut tangent(std::size_t i) const {
    const auto& best = found_[i].best;
    const double slope = psi_.derivative_m(best.m, best.g);
    Cut cut{{}, found_[i].value - slope * (best.m - best.constant)};
    model_.difference(i, best.y, cut.a);
    sort_indices(cut.a);
    for (float& value : cut.a.values)
      value = static_cast<float>(slope * static_cast<double>(value));
    return cut;
  }

  bool add_cuts() { return options_.one_slack ? add_shared_cut() : add_example_cuts(); }

  bool add_example_cuts() {
    bool any = false;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      end_if_out_of_time(&control_);
      if (!(example_weights_[i] > 0.0)) continue;
      if (!(found_[i].value > slacks_[i] + 1e-9 * (1.0 + slacks_[i]))) continue;
      any = true;
      Block& block = blocks_[i];
      if (block.cuts.empty()) {
        block.qp.budget = block.qp.rest = options_.C * example_weights_[i];
      }
      drop_unused(block);
      block.cuts.push_back(tangent(i));
      block.qp.duals.push_back(0.0);
      add_products(block);
    }
    return any;
  }

  // Adds the row and the column of the last cut to Q.
  static void add_products(Block& block) {
    const std::size_t size = block.cuts.size(), before = size - 1;
    std::vector<double> Q(size * size);
    for (std::size_t j = 0; j < before; ++j) {
      std::copy_n(&block.qp.Q[j * before], before, &Q[j * size]);
    }
    for (std::size_t j = 0; j < size; ++j) {
      Q[j * size + before] = Q[before * size + j] = dot(block.cuts[j].a, block.cuts[before].a);
    }
    block.qp.Q = std::move(Q);
  }

  // Drops the cuts without weight once an example has many.
  void drop_unused(Block& block) {
    constexpr std::size_t kMany = 20;
    const std::size_t size = block.cuts.size();
    if (size < kMany) return;
    std::vector<std::size_t> kept;
    for (std::size_t k = 0; k < size; ++k) {
      if (block.qp.duals[k] > 0.0) kept.push_back(k);
    }
    // In place: kept[j] >= j.
    for (std::size_t j = 0; j < kept.size(); ++j) {
      if (kept[j] != j) block.cuts[j] = std::move(block.cuts[kept[j]]);
      block.qp.duals[j] = block.qp.duals[kept[j]];
      for (std::size_t k = 0; k < kept.size(); ++k) {
        block.qp.Q[j * kept.size() + k] = block.qp.Q[kept[j] * size + kept[k]];
      }
    }
    block.cuts.resize(kept.size());
    block.qp.duals.resize(kept.size());
    block.qp.Q.resize(kept.size() * kept.size());
  }

  bool add_shared_cut() {
    std::vector<float> a(w_.size(), 0.0F);
    double b = 0.0;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      end_if_out_of_time(&control_);
      const double weight = example_weights_[i];
      if (!(weight * found_[i].value > 0.0)) continue;
      const Cut cut = tangent(i);
      add_scaled(weight, cut.a, a);
      b += weight * cut.b;
    }
    const double value = product(w_, a) + b;
    double slack = 0.0;
    for (std::size_t k = 0; k < shared_cuts_.size(); ++k) {
      slack = std::max(slack, product(w_, shared_cuts_[k]) + shared_offsets_[k]);
    }
    if (!(value > slack + 1e-9 * (1.0 + slack))) return false;
    const std::size_t size = shared_cuts_.size();
    std::vector<double> Q((size + 1) * (size + 1));
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = 0; k < size; ++k) Q[j * (size + 1) + k] = shared_.Q[j * size + k];
      Q[j * (size + 1) + size] = Q[size * (size + 1) + j] = product(a, shared_cuts_[j]);
    }
    Q.back() = product(a, a);
    shared_.Q = std::move(Q);
    shared_.duals.push_back(0.0);
    shared_cuts_.push_back(std::move(a));
    shared_offsets_.push_back(b);
    return true;
  }

  static double product(std::span<const float> a, std::span<const float> b) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t k = 0; k < a.size(); ++k) {
      sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
    }
    return sum;
  }

  // Raises the dual over the cuts until it can rise by at most `gap`; false if that takes too long.
  bool solve(double gap) {
    if (!options_.one_slack) return solve_blocks(gap);
    solve_shared(gap);
    return true;
  }

  bool solve_blocks(double gap) {
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      double left = 0.0;
      for (Block& block : blocks_) {
        if (!control_.proceed()) return true;
        if (!block.cuts.empty()) left += solve_block(block);
      }
      if (left <= gap) return true;
    }
    return false;
  }

  // Returns the gap that the block had before.
  double solve_block(Block& block) {
    SimplexBlock& qp = block.qp;
    const std::size_t size = block.cuts.size();
    qp.values.resize(size);
    for (std::size_t k = 0; k < size; ++k) {
      qp.values[k] = dot({w_, 1.0}, block.cuts[k].a) + block.cuts[k].b;
    }
    const double gap = qp.gap();
    if (gap <= 0.0) return 0.0;
    const std::vector<double> before = qp.duals;
    pairwise_steps(qp, 0.05, 10 * static_cast<int>(size));
    for (std::size_t k = 0; k < size; ++k) {
      if (qp.duals[k] != before[k]) add_scaled(before[k] - qp.duals[k], block.cuts[k].a, w_);
    }
    return gap;
  }

  void solve_shared(double gap) {
    const std::size_t size = shared_.size();
    shared_.values = shared_offsets_;
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = 0; k < size; ++k) {
        shared_.values[j] -= shared_.Q[j * size + k] * shared_.duals[k];
      }
    }
    const int steps = 100 * static_cast<int>(size);
    double done = 0;
    while (done < kMaxShared && shared_.gap() > gap && control_.proceed()) {
      pairwise_steps(shared_, 1e-6, steps);
      done += 2.0 * steps * static_cast<double>(size);
    }
  }

  // w = -sum_c alpha_c a_c in float64: the steps of a programme leave errors in float32 weights, of
  // which the dual must be free.
  void set_weights() {
    exact_.assign(w_.size(), 0.0);
    for (std::size_t k = 0; k < shared_cuts_.size(); ++k) {
      if (shared_.duals[k] == 0.0) continue;
      for (std::size_t j = 0; j < exact_.size(); ++j) {
        exact_[j] -= shared_.duals[k] * static_cast<double>(shared_cuts_[k][j]);
      }
    }
    for (const Block& block : blocks_) {
      for (std::size_t k = 0; k < block.cuts.size(); ++k) {
        const SparseVector& a = block.cuts[k].a;
        for (std::size_t m = 0; m < a.indices.size(); ++m) {
          exact_[a.indices[m]] -= block.qp.duals[k] * static_cast<double>(a.values[m]);
        }
      }
    }
    for (std::size_t j = 0; j < exact_.size(); ++j) w_[j] = static_cast<float>(exact_[j]);
  }

  double dual() const {
    double sum = 0.0;
    for (const double each : exact_) sum -= 0.5 * each * each;
    for (std::size_t k = 0; k < shared_offsets_.size(); ++k) {
      sum += shared_offsets_[k] * shared_.duals[k];
    }
    for (const Block& block : blocks_) {
      for (std::size_t k = 0; k < block.cuts.size(); ++k) {
        sum += block.cuts[k].b * block.qp.duals[k];
      }
    }
    return sum;
  }

  const Model& model_;
  Psi psi_;
  CuttingPlaneOptions options_;
  Executor& executor_;
  RunControl& control_;

  std::vector<double> example_weights_;
  std::vector<float> w_, best_;
  std::vector<double> exact_;  // w, of which w_ has the rounded values
  std::vector<Block> blocks_;  // one per example with n slacks; empty with 1 slack
  std::vector<double> slacks_;
  SimplexBlock shared_;  // of all examples, with 1 slack
  std::vector<std::vector<float>> shared_cuts_;
  std::vector<double> shared_offsets_;
  std::int64_t oracle_calls_ = 0;
  bool is_exact_ = false;  // whether every search of the last round was

  std::vector<LabelCache<Labelling>> caches_;
  std::vector<SearchResult<Labelling>> found_;
  std::vector<Search> searches_;
  std::vector<typename Model::Workspace> workspaces_;
};

}  // namespace margrove
