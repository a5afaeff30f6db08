#include "kernel/kernel_ridge.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/out_of_time.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

// The number of columns that are solved together; it must not depend on the number of threads.
constexpr std::size_t kColumnsAtOnce = 128;

/// The lower triangle of K + strength I; the rest is 0.
Eigen::MatrixXf lower_triangle(const SymmetricMatrix& K, double strength) {
  const auto n = static_cast<Eigen::Index>(K.size());
  Eigen::MatrixXf lower = Eigen::MatrixXf::Zero(n, n);
  for (std::size_t t = 0; t < K.num_tiles(); ++t) {
    const auto tile = K.tile(t);
    const auto values = K.values(t);
    for (std::size_t c = 0; c < tile.num_columns; ++c) {
      const std::size_t first = tile.on_diagonal() ? c : 0;
      for (std::size_t r = first; r < tile.num_rows; ++r) {
        lower(static_cast<Eigen::Index>(tile.row + r), static_cast<Eigen::Index>(tile.column + c)) =
            values[r * tile.num_columns + c];
      }
    }
  }
  lower.diagonal().array() += static_cast<float>(strength);
  return lower;
}

/// The targets less their means, of those columns.
Eigen::MatrixXf centred_targets(const std::vector<std::vector<std::uint32_t>>& rows_of_columns,
                                const KernelRidgeFit& fit, std::size_t num_rows,
                                std::span<const std::size_t> columns) {
  Eigen::MatrixXf Y(static_cast<Eigen::Index>(num_rows), std::ssize(columns));
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const auto mean = static_cast<float>(fit.means[columns[k]]);
    Y.col(static_cast<Eigen::Index>(k)).setConstant(-mean);
    for (const std::uint32_t i : rows_of_columns[columns[k]]) {
      Y(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) = 1 - mean;
    }
  }
  return Y;
}

/// The lower triangle of A becomes its Cholesky factor, panel by panel; false if A is not positive
/// definite. Throws OutOfTime.
bool factorise(Eigen::MatrixXf& A, RunControl& control) {
  const Eigen::Index n = A.rows(), width = static_cast<Eigen::Index>(kColumnsAtOnce);
  for (Eigen::Index k = 0; k < n; k += width) {
    end_if_out_of_time(&control);
    const Eigen::Index count = std::min(width, n - k), rest = n - k - count;
    Eigen::Ref<Eigen::MatrixXf> corner = A.block(k, k, count, count);
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXf>> factor(corner);
    if (factor.info() != Eigen::Success) return false;
    auto below = A.block(k + count, k, rest, count);
    corner.triangularView<Eigen::Lower>().adjoint().solveInPlace<Eigen::OnTheRight>(below);
    // The rest less below below^T, a panel at a time.
    for (Eigen::Index c = 0; c < rest; c += width) {
      end_if_out_of_time(&control);
      const Eigen::Index columns = std::min(width, rest - c);
      A.block(k + count + c, k + count + c, rest - c, columns).noalias() -=
          below.bottomRows(rest - c) * below.middleRows(c, columns).transpose();
    }
  }
  return true;
}

/// The Cholesky factor L of K + strength I. Throws OutOfTime.
class RidgeFactor {
 public:
  RidgeFactor(const SymmetricMatrix& K, double strength, RunControl& control)
      : L_(lower_triangle(K, strength)) {
    require(factorise(L_, control), "kernel ridge: the strength is ", strength,
            ", but must be so large that the kernel matrix plus it is positive definite");
  }
  /// Y becomes (K + strength I)^-1 Y.
  void solve_in_place(Eigen::MatrixXf& Y) const {
    L_.triangularView<Eigen::Lower>().solveInPlace(Y);
    L_.triangularView<Eigen::Lower>().transpose().solveInPlace(Y);
  }
  /// The diagonal of (K + strength I)^-1: the squared norms of the columns of L^-1. Throws
  /// OutOfTime.
  Eigen::ArrayXd inverse_diagonal(Executor& executor, RunControl& control) const {
    Eigen::ArrayXd diagonal(L_.rows());
    executor.for_ranges(
        static_cast<std::size_t>(L_.rows()), kColumnsAtOnce,
        [&](std::size_t begin, std::size_t end, int) {
          if (!control.proceed()) return;
          const auto first = static_cast<Eigen::Index>(begin);
          const auto count = static_cast<Eigen::Index>(end - begin);
          const Eigen::Index rest = L_.rows() - first;  // the rows above are 0
          Eigen::MatrixXf columns = Eigen::MatrixXf::Identity(rest, count);
          L_.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>().solveInPlace(columns);
          for (Eigen::Index k = 0; k < count; ++k) {
            diagonal[first + k] = columns.col(k).cast<double>().squaredNorm();
          }
        });
    end_if_out_of_time(&control);
    return diagonal;
  }

 private:
  Eigen::MatrixXf L_;
};

/// Fits at one strength after another, and keeps the best one of each column.
class StrengthPath {
 public:
  StrengthPath(const SymmetricMatrix& K, const RidgeTargets& targets, Executor& executor,
               RunControl& control)
      : K_(K),
        num_rows_(K.size()),
        rows_of_columns_(targets.rows_of_columns()),
        executor_(executor),
        control_(control),
        fit_(mean_fit(targets)),
        errors_(targets.num_columns, std::numeric_limits<double>::infinity()) {
    fit_.left_out.resize(fit_.coefficients.size());
    attempt_mean();
    errors_.assign(errors_.size(), std::numeric_limits<double>::infinity());
  }

  /// Throws OutOfTime; what is better in some columns by then stays.
  void attempt(double strength) {
    if (strength == kMeanOnly) {
      attempt_mean();
      return;
    }
    const RidgeFactor factor(K_, strength, control_);
    // lambda M_ii - 1/n is positive; the bound is against rounding where a fit repeats its targets.
    const Eigen::ArrayXd left = (strength * factor.inverse_diagonal(executor_, control_) -
                                 1 / static_cast<double>(num_rows_))
                                    .max(1e-9);
    for_blocks([&](std::span<const std::size_t> columns, const Eigen::MatrixXf& Y) {
      if (!control_.proceed()) return;
      Eigen::MatrixXf coefficients = Y;
      factor.solve_in_place(coefficients);
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const auto column = coefficients.col(static_cast<Eigen::Index>(k));
        const Eigen::ArrayXd misses = strength * column.cast<double>().array() / left;
        keep_better(columns[k], strength, misses, Y.col(static_cast<Eigen::Index>(k)), column);
      }
    });
  }
  KernelRidgeFit take() { return std::move(fit_); }

 private:
  using Column = Eigen::Ref<const Eigen::VectorXf>;

  /// use(columns, their targets less their means) for all columns.
  template <class Use>
  void for_blocks(const Use& use) {
    executor_.for_ranges(
        rows_of_columns_.size(), kColumnsAtOnce, [&](std::size_t begin, std::size_t end, int) {
          std::vector<std::size_t> columns(end - begin);
          std::iota(columns.begin(), columns.end(), begin);
          use(columns, centred_targets(rows_of_columns_, fit_, num_rows_, columns));
        });
  }
  void attempt_mean() {
    const auto n = static_cast<double>(num_rows_);
    const Eigen::VectorXf zeros = Eigen::VectorXf::Zero(static_cast<Eigen::Index>(num_rows_));
    for_blocks([&](std::span<const std::size_t> columns, const Eigen::MatrixXf& Y) {
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const auto column = Y.col(static_cast<Eigen::Index>(k));
        // The mean of the other rows.
        const Eigen::ArrayXd misses = column.cast<double>().array() * (n / (n - 1));
        keep_better(columns[k], kMeanOnly, misses, column, zeros);
      }
    });
  }
  void keep_better(std::size_t column, double strength, const Eigen::ArrayXd& misses,
                   const Column& targets, const Column& coefficients) {
    const double error = misses.square().sum();
    if (error >= errors_[column]) return;
    errors_[column] = error;
    fit_.strengths[column] = strength;
    const auto begin = static_cast<std::ptrdiff_t>(column * num_rows_);
    std::ranges::copy(coefficients, fit_.coefficients.begin() + begin);
    const Eigen::ArrayXd scores = targets.cast<double>().array() + fit_.means[column] - misses;
    std::ranges::transform(scores, fit_.left_out.begin() + begin,
                           [](double score) { return static_cast<float>(score); });
  }

  const SymmetricMatrix& K_;
  std::size_t num_rows_;
  std::vector<std::vector<std::uint32_t>> rows_of_columns_;
  Executor& executor_;
  RunControl& control_;
  KernelRidgeFit fit_;
  std::vector<double> errors_;  // of left-out scores
};

void require_fitting(const SymmetricMatrix& K, const RidgeTargets& targets) {
  require(K.size() == targets.ones.num_rows() && K.size() >= 2, "kernel ridge: the matrix has ",
          K.size(), " rows, but must have ", targets.ones.num_rows(),
          " as the targets, and at least 2");
}

}  // namespace

std::vector<std::vector<std::uint32_t>> RidgeTargets::rows_of_columns() const {
  std::vector<std::vector<std::uint32_t>> rows(num_columns);
  for (std::uint32_t i = 0; i < ones.num_rows(); ++i) {
    for (const LabelId column : ones[i]) rows[column].push_back(i);
  }
  return rows;
}

KernelRidgeFit mean_fit(const RidgeTargets& targets) {
  const std::size_t num_rows = targets.ones.num_rows();
  KernelRidgeFit fit;
  fit.strengths.assign(targets.num_columns, kMeanOnly);
  fit.coefficients.assign(num_rows * targets.num_columns, 0.0F);
  for (const auto& rows : targets.rows_of_columns()) {
    fit.means.push_back(static_cast<double>(rows.size()) / static_cast<double>(num_rows));
  }
  return fit;
}

KernelRidgeFit fit_ridge_path(const SymmetricMatrix& K, const RidgeTargets& targets,
                              std::span<const double> strengths, Executor& executor,
                              RunControl& control) {
  require_fitting(K, targets);
  StrengthPath path(K, targets, executor, control);
  try {
    for (const double strength : strengths) {
      end_if_out_of_time(&control);
      path.attempt(strength);
    }
  } catch (const OutOfTime&) {
    return path.take();
  }
  return path.take();
}

KernelRidgeFit fit_ridge(const SymmetricMatrix& K, const RidgeTargets& targets,
                         std::span<const double> strengths, Executor& executor,
                         RunControl& control) {
  require_fitting(K, targets);
  KernelRidgeFit fit = mean_fit(targets);
  const auto rows_of_columns = targets.rows_of_columns();
  std::map<double, std::vector<std::size_t>> columns_of;
  for (std::size_t c = 0; c < strengths.size(); ++c) {
    if (strengths[c] != kMeanOnly) columns_of[strengths[c]].push_back(c);
  }
  for (const auto& group : columns_of) {
    const double strength = group.first;  // clang captures no structured bindings with OpenMP
    const std::vector<std::size_t>& columns = group.second;
    if (!control.proceed()) break;
    const RidgeFactor factor(K, strength, control);
    executor.for_ranges(
        columns.size(), kColumnsAtOnce, [&](std::size_t begin, std::size_t end, int) {
          if (!control.proceed()) return;
          const auto block = std::span(columns).subspan(begin, end - begin);
          Eigen::MatrixXf Y = centred_targets(rows_of_columns, fit, K.size(), block);
          factor.solve_in_place(Y);
          for (std::size_t k = 0; k < block.size(); ++k) {
            fit.strengths[block[k]] = strength;
            std::ranges::copy(
                Y.col(static_cast<Eigen::Index>(k)),
                fit.coefficients.begin() + static_cast<std::ptrdiff_t>(block[k] * K.size()));
          }
        });
  }
  return fit;
}

namespace {

/// use(first column, number of columns) for all columns, on any thread. Throws OutOfTime.
template <class Use>
void for_columns(std::size_t num_columns, Executor& executor, RunControl& control, const Use& use) {
  executor.for_ranges(num_columns, kColumnsAtOnce, [&](std::size_t begin, std::size_t end, int) {
    if (!control.proceed()) return;
    use(static_cast<Eigen::Index>(begin), static_cast<Eigen::Index>(end - begin));
  });
  end_if_out_of_time(&control);
}

}  // namespace

ColumnCombination::ColumnCombination(const KernelRidgeFit& fit, const RidgeTargets& targets,
                                     double strength, Executor& executor, RunControl& control)
    : num_columns_(targets.num_columns), W_(num_columns_ * num_columns_) {
  const auto n = static_cast<Eigen::Index>(targets.ones.num_rows());
  const auto m = static_cast<Eigen::Index>(num_columns_);
  Eigen::MatrixXf S = Eigen::Map<const Eigen::MatrixXf>(fit.left_out.data(), n, m);
  for (Eigen::Index c = 0; c < m; ++c) {
    S.col(c).array() -= static_cast<float>(fit.means[static_cast<std::size_t>(c)]);
  }
  std::vector<std::size_t> columns(num_columns_);
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  const Eigen::MatrixXf Y =
      centred_targets(targets.rows_of_columns(), fit, targets.ones.num_rows(), columns);
  // (S^T S + strength I) W = S^T Y + strength I
  Eigen::MatrixXf left(m, m);
  Eigen::Map<Eigen::MatrixXf> W(W_.data(), m, m);
  for_columns(num_columns_, executor, control, [&](Eigen::Index first, Eigen::Index count) {
    left.block(first, first, m - first, count).noalias() =
        S.rightCols(m - first).transpose() * S.middleCols(first, count);
    W.middleCols(first, count).noalias() = S.transpose() * Y.middleCols(first, count);
  });
  left.diagonal().array() += static_cast<float>(strength);
  W.diagonal().array() += static_cast<float>(strength);
  factorise(left, control);
  for_columns(num_columns_, executor, control, [&](Eigen::Index first, Eigen::Index count) {
    auto block = W.middleCols(first, count);
    left.triangularView<Eigen::Lower>().solveInPlace(block);
    left.triangularView<Eigen::Lower>().transpose().solveInPlace(block);
  });
}

void ColumnCombination::apply(KernelRidgeFit& fit, Executor& executor, RunControl& control) const {
  const auto m = static_cast<Eigen::Index>(num_columns_);
  const auto n = static_cast<Eigen::Index>(fit.coefficients.size()) / std::max<Eigen::Index>(m, 1);
  const Eigen::Map<const Eigen::MatrixXf> coefficients(fit.coefficients.data(), n, m);
  const Eigen::Map<const Eigen::MatrixXf> W(W_.data(), m, m);
  std::vector<float> combined(fit.coefficients.size());
  Eigen::Map<Eigen::MatrixXf> out(combined.data(), n, m);
  for_columns(num_columns_, executor, control, [&](Eigen::Index first, Eigen::Index count) {
    out.middleCols(first, count).noalias() = coefficients * W.middleCols(first, count);
  });
  fit.coefficients = std::move(combined);
}

ScoreThresholds left_out_thresholds(const KernelRidgeFit& fit, const RidgeTargets& targets) {
  const std::size_t num_rows = targets.ones.num_rows();
  const auto score = [&](std::size_t column, std::size_t row) {
    return static_cast<double>(fit.left_out[column * num_rows + row]);
  };
  const auto rows_of = targets.rows_of_columns();
  std::vector<double> of_positives;
  for (std::size_t c = 0; c < rows_of.size(); ++c) {
    for (const std::uint32_t i : rows_of[c]) of_positives.push_back(score(c, i));
  }
  ScoreThresholds thresholds(std::move(of_positives));
  for (std::size_t c = 0; c < rows_of.size(); ++c) {
    auto next = rows_of[c].begin();
    for (std::uint32_t i = 0; i < num_rows; ++i) {
      if (next != rows_of[c].end() && *next == i) {
        ++next;
      } else {
        thresholds.add_negative(thresholds.highest_reached(score(c, i)));
      }
    }
  }
  return thresholds;
}

void average_with(SymmetricMatrix& K, std::span<const SymmetricMatrix* const> others) {
  const auto share = 1.0F / static_cast<float>(others.size() + 1);
  for (std::size_t t = 0; t < K.num_tiles(); ++t) {
    const auto out = K.values(t);
    for (float& value : out) value *= share;
    for (const SymmetricMatrix* other : others) {
      const auto values = other->values(t);
      for (std::size_t k = 0; k < out.size(); ++k) out[k] += share * values[k];
    }
  }
}

}  // namespace margrove
