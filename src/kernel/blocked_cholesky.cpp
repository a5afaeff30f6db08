#include "kernel/blocked_cholesky.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

#include "base/out_of_time.hpp"

namespace margrove {

template <class Scalar>
void BlockedCholeskyOf<Scalar>::ask(Eigen::Index begin) const {
  const bool proceeds =
      stage_.empty()
          ? control_.proceed()
          : control_.proceed(
                {.stage = stage_, .done = begin, .total = L_.rows(), .unit = Progress::Unit::rows});
  if (!proceeds) throw OutOfTime{};
}

template <class Scalar>
BlockedCholeskyOf<Scalar>::BlockedCholeskyOf(Matrix A, Executor& executor, RunControl& control,
                                             std::string_view stage)
    : L_(std::move(A)), control_(control), stage_(stage) {
  const Eigen::Index n = L_.rows();
  for (Eigen::Index k = 0; k < n && is_definite_; k += kBlock) {
    const Eigen::Index size = end_of(k) - k;
    Eigen::Ref<Matrix> corner = L_.block(k, k, size, size);
    const Eigen::LLT<Eigen::Ref<Matrix>> factor(corner);
    is_definite_ = factor.info() == Eigen::Success;
    const auto rest = static_cast<std::size_t>(n - end_of(k));
    // f(first row, number of rows) of the blocks below the corner.
    const auto for_blocks = [&](const auto& f) {
      executor.for_ranges(rest, kBlock, [&](std::size_t begin, std::size_t end, int) {
        ask(k);
        f(end_of(k) + static_cast<Eigen::Index>(begin), static_cast<Eigen::Index>(end - begin));
      });
    };
    for_blocks([&](Eigen::Index row, Eigen::Index count) {
      auto block = L_.block(row, k, count, size);
      corner.template triangularView<Eigen::Lower>()
          .transpose()
          .template solveInPlace<Eigen::OnTheRight>(block);
    });
    for_blocks([&](Eigen::Index row, Eigen::Index count) {
      L_.block(row, row, n - row, count).noalias() -=
          L_.block(row, k, n - row, size) * L_.block(row, k, count, size).transpose();
    });
  }
}

template <class Scalar>
void BlockedCholeskyOf<Scalar>::solve_lower(Eigen::Ref<Matrix> Y, Eigen::Index skipped) const {
  for (Eigen::Index k = skipped; k < L_.rows(); k = end_of(k)) {
    ask(skipped);
    const Eigen::Index size = end_of(k) - k;
    const Eigen::Index rest = L_.rows() - end_of(k);
    auto own = Y.middleRows(k - skipped, size);
    L_.block(k, k, size, size).template triangularView<Eigen::Lower>().solveInPlace(own);
    Y.bottomRows(rest).noalias() -= L_.block(end_of(k), k, rest, size) * own;
  }
}

template <class Scalar>
void BlockedCholeskyOf<Scalar>::solve_in_place(Eigen::Ref<Matrix> Y) const {
  solve_lower(Y, 0);
  const Eigen::Index num_blocks = (L_.rows() + kBlock - 1) / kBlock;
  for (Eigen::Index block = num_blocks; block-- > 0;) {
    const Eigen::Index k = block * kBlock;
    ask(k);
    const Eigen::Index size = end_of(k) - k;
    const Eigen::Index rest = L_.rows() - end_of(k);
    auto own = Y.middleRows(k, size);
    own.noalias() -= L_.block(end_of(k), k, rest, size).transpose() * Y.bottomRows(rest);
    L_.block(k, k, size, size)
        .template triangularView<Eigen::Lower>()
        .transpose()
        .solveInPlace(own);
  }
}

template <class Scalar>
template <class Visit>
void BlockedCholeskyOf<Scalar>::for_columns_of_inverse(Executor& executor,
                                                       const Visit& visit) const {
  executor.for_ranges(
      static_cast<std::size_t>(L_.rows()), kBlock, [&](std::size_t begin, std::size_t end, int) {
        const auto first = static_cast<Eigen::Index>(begin);
        Matrix columns =
            Matrix::Identity(L_.rows() - first, static_cast<Eigen::Index>(end - begin));
        solve_lower(columns, first);
        visit(first, columns);
      });
}

template <class Scalar>
Eigen::ArrayXd BlockedCholeskyOf<Scalar>::inverse_diagonal(Executor& executor) const {
  Eigen::ArrayXd diagonal(L_.rows());
  for_columns_of_inverse(executor, [&](Eigen::Index first, const Matrix& columns) {
    for (Eigen::Index k = 0; k < columns.cols(); ++k) {
      diagonal[first + k] = columns.col(k).template cast<double>().squaredNorm();
    }
  });
  return diagonal;
}

template <class Scalar>
std::vector<float> BlockedCholeskyOf<Scalar>::lower_inverse(Executor& executor) const {
  const auto n = static_cast<std::size_t>(L_.rows());
  std::vector<float> rows(n * (n + 1) / 2);
  for_columns_of_inverse(executor, [&](Eigen::Index first, const Matrix& columns) {
    for (Eigen::Index r = 0; r < columns.rows(); ++r) {
      const auto i = static_cast<std::size_t>(first + r);
      float* row = rows.data() + i * (i + 1) / 2 + static_cast<std::size_t>(first);
      const Eigen::Index size = std::min(columns.cols(), r + 1);
      for (Eigen::Index c = 0; c < size; ++c) row[c] = static_cast<float>(columns(r, c));
    }
  });
  return rows;
}

template class BlockedCholeskyOf<float>;
template class BlockedCholeskyOf<double>;

}  // namespace margrove
