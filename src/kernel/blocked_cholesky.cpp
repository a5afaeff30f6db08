#include "kernel/blocked_cholesky.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

#include "base/out_of_time.hpp"

namespace margrove {

BlockedCholesky::BlockedCholesky(Eigen::MatrixXf A, Executor& executor, RunControl& control)
    : L_(std::move(A)), control_(control) {
  const Eigen::Index n = L_.rows();
  for (Eigen::Index k = 0; k < n && is_definite_; k += kBlock) {
    const Eigen::Index size = end_of(k) - k;
    Eigen::Ref<Eigen::MatrixXf> corner = L_.block(k, k, size, size);
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXf>> factor(corner);
    is_definite_ = factor.info() == Eigen::Success;
    const auto rest = static_cast<std::size_t>(n - end_of(k));
    // f(first row, number of rows) of the blocks below the corner.
    const auto for_blocks = [&](const auto& f) {
      executor.for_ranges(rest, kBlock, [&](std::size_t begin, std::size_t end, int) {
        end_if_out_of_time(&control_);
        f(end_of(k) + static_cast<Eigen::Index>(begin), static_cast<Eigen::Index>(end - begin));
      });
    };
    for_blocks([&](Eigen::Index row, Eigen::Index count) {
      auto block = L_.block(row, k, count, size);
      corner.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(block);
    });
    for_blocks([&](Eigen::Index row, Eigen::Index count) {
      L_.block(row, row, n - row, count).noalias() -=
          L_.block(row, k, n - row, size) * L_.block(row, k, count, size).transpose();
    });
  }
}

void BlockedCholesky::solve_lower(Eigen::Ref<Eigen::MatrixXf> Y, Eigen::Index skipped) const {
  for (Eigen::Index k = skipped; k < L_.rows(); k = end_of(k)) {
    end_if_out_of_time(&control_);
    const Eigen::Index size = end_of(k) - k;
    const Eigen::Index rest = L_.rows() - end_of(k);
    auto own = Y.middleRows(k - skipped, size);
    L_.block(k, k, size, size).triangularView<Eigen::Lower>().solveInPlace(own);
    Y.bottomRows(rest).noalias() -= L_.block(end_of(k), k, rest, size) * own;
  }
}

void BlockedCholesky::solve_in_place(Eigen::Ref<Eigen::MatrixXf> Y) const {
  solve_lower(Y, 0);
  const Eigen::Index num_blocks = (L_.rows() + kBlock - 1) / kBlock;
  for (Eigen::Index block = num_blocks; block-- > 0;) {
    end_if_out_of_time(&control_);
    const Eigen::Index k = block * kBlock;
    const Eigen::Index size = end_of(k) - k;
    const Eigen::Index rest = L_.rows() - end_of(k);
    auto own = Y.middleRows(k, size);
    own.noalias() -= L_.block(end_of(k), k, rest, size).transpose() * Y.bottomRows(rest);
    L_.block(k, k, size, size).triangularView<Eigen::Lower>().transpose().solveInPlace(own);
  }
}

Eigen::ArrayXd BlockedCholesky::inverse_diagonal(Executor& executor) const {
  Eigen::ArrayXd diagonal(L_.rows());
  executor.for_ranges(
      static_cast<std::size_t>(L_.rows()), kBlock, [&](std::size_t begin, std::size_t end, int) {
        const auto first = static_cast<Eigen::Index>(begin);
        const auto count = static_cast<Eigen::Index>(end - begin);
        // The rows above are 0.
        Eigen::MatrixXf columns = Eigen::MatrixXf::Identity(L_.rows() - first, count);
        solve_lower(columns, first);
        for (Eigen::Index k = 0; k < count; ++k) {
          diagonal[first + k] = columns.col(k).cast<double>().squaredNorm();
        }
      });
  return diagonal;
}

}  // namespace margrove
