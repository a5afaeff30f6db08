#pragma once
// The scan of joint descent (joint_dual.cpp): all rows against all targets, sixteen targets at a
// time.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/closing_time.hpp"
#include "linear/free_intercept.hpp"
#include "linear/row_costs.hpp"
#include "numerics/row_kernels.hpp"
#include "recursive/joint_duals.hpp"
#include "recursive/leaf_paths.hpp"

namespace margrove::detail {

template <class Loss>
class JointScan {
 public:
  /// Refers to all three.
  JointScan(const AdditiveProblem& problem, const JointDualOptions& options, JointDuals& duals)
      : options_(options), problem_(problem), duals_(duals), X_(duals.rows()) {}

  /// Adds rows that violate their margin to the active lists; returns C sum loss over all rows, or
  /// over some of them where there is no time for all.
  double run(Executor& executor, ClosingTime& closing) {
    const std::size_t num_blocks = (duals_.num_targets() + kLanes - 1) / kLanes;
    std::vector<Scratch> scratch(executor.size());
    return executor.ordered_sum(num_blocks, [&](std::size_t b, int worker) {
      if (!closing.proceed()) return 0.0;
      const std::size_t first = b * kLanes;
      return scan_block(first, std::min(kLanes, duals_.num_targets() - first), scratch[worker]);
    });
  }

 private:
  struct Scratch {
    std::vector<Lanes> weights, scores;
    // By row; bit t: for the t-th target of the block. `unsigned_rows` have no sign there.
    std::vector<std::uint16_t> active, positive, unsigned_rows;
    std::vector<ScoredRow> scored;
  };

  double cost(std::uint32_t row) const { return row_cost(options_.C, problem_.row_weights, row); }

  double scan_block(std::size_t first, std::size_t count, Scratch& scratch) {
    duals_.fill_block(first, count, scratch.weights);
    scratch.active.assign(X_.num_rows(), 0);
    scratch.positive.assign(X_.num_rows(), 0);
    for (std::size_t t = 0; t < count; ++t) {
      for (const ActiveRow& v : duals_.active(first + t)) {
        auto& rows = v.positive ? scratch.positive : scratch.active;
        rows[v.row] = static_cast<std::uint16_t>(rows[v.row] | (1U << t));
      }
    }
    mark_unsigned_rows(first, count, scratch);
    if (duals_.is_free()) return scan_shifted_block(first, count, scratch);
    scratch.scores.resize(kScanRows);
    double loss = 0;
    for (std::size_t begin = 0; begin < X_.num_rows(); begin += kScanRows) {
      const std::size_t end = std::min(X_.num_rows(), begin + kScanRows);
      const CsrView rows(X_.num_columns(), X_.row_pointers().subspan(begin, end - begin + 1),
                         X_.columns(), X_.values());
      score_rows(rows, 0, scratch.weights, scratch.scores);
      for (std::size_t i = begin; i < end; ++i) {
        loss += scan_row(first, count, static_cast<std::uint32_t>(i), scratch.scores[i - begin],
                         scratch);
      }
    }
    return loss;
  }

  void mark_unsigned_rows(std::size_t first, std::size_t count, Scratch& scratch) const {
    scratch.unsigned_rows.assign(X_.num_rows(), 0);
    for (std::size_t t = 0; t < count; ++t) {
      problem_.partial->for_each_without_sign(
          duals_.paths().targets[first + t], [&](std::uint32_t i) {
            scratch.unsigned_rows[i] =
                static_cast<std::uint16_t>(scratch.unsigned_rows[i] | (1U << t));
          });
    }
  }

  /// The loss of one row; adds it to the lists of the targets whose margin it violates.
  double scan_row(std::size_t first, std::size_t count, std::uint32_t i, const Lanes& scores,
                  const Scratch& scratch) {
    const float* s = scores.at;
    const unsigned active = scratch.active[i], positive = scratch.positive[i];
    const unsigned hidden = scratch.unsigned_rows[i];
    double loss = 0;
    for (std::size_t t = 0; t < count; ++t) {
      if ((positive >> t & 1U) != 0) {
        loss += Loss::value(static_cast<double>(s[t]));
      } else if (s[t] > -1.0F && (hidden >> t & 1U) == 0) {
        loss += Loss::value(-static_cast<double>(s[t]));
        if ((active >> t & 1U) != 0) continue;
        duals_.active(first + t).push_back({i, false, 0.0});
      }
    }
    return loss != 0 ? cost(i) * loss : 0.0;
  }

  /// Scans with each free intercept at its best value with all weights fixed.
  double scan_shifted_block(std::size_t first, std::size_t count, Scratch& scratch) {
    scratch.scores.resize(X_.num_rows());
    score_rows(X_, 0, scratch.weights, scratch.scores);
    Lanes shifts{};
    for (std::size_t t = 0; t < count; ++t) {
      scratch.scored.clear();
      for (std::uint32_t i = 0; i < X_.num_rows(); ++i) {
        if (cost(i) <= 0 || (scratch.unsigned_rows[i] >> t & 1U) != 0) continue;
        scratch.scored.push_back(
            {scratch.scores[i].at[t], cost(i), (scratch.positive[i] >> t & 1U) != 0});
      }
      if (scratch.scored.empty()) continue;
      const double best = best_shift(options_.loss, scratch.scored);
      duals_.intercept(first + t) = best;
      shifts.at[t] = static_cast<float>(best);
    }
    add_to_all(shifts, scratch.scores);
    double loss = 0;
    for (std::uint32_t i = 0; i < X_.num_rows(); ++i) {
      loss += scan_row(first, count, i, scratch.scores[i], scratch);
    }
    return loss;
  }

  static constexpr std::size_t kScanRows = 256;  // rows scored before their losses are added up

  const JointDualOptions& options_;
  const AdditiveProblem& problem_;
  JointDuals& duals_;
  CsrView X_;
};

}  // namespace margrove::detail
