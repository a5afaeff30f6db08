#include "kernel/kernel_ridge.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/out_of_time.hpp"
#include "kernel/blocked_cholesky.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

// The number of columns that are solved together; it must not depend on the number of threads.
constexpr std::size_t kColumnsAtOnce = BlockedCholesky::kBlock;

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

/// The factor of K + strength I.
BlockedCholesky ridge_factor(const SymmetricMatrix& K, double strength, Executor& executor,
                             RunControl& control) {
  BlockedCholesky factor(lower_triangle(K, strength), executor, control);
  require(factor.is_definite(), "kernel ridge: the strength is ", strength,
          ", but must be so large that the kernel matrix plus it is positive definite");
  return factor;
}

/// K A, tile after tile.
Eigen::MatrixXf product(const SymmetricMatrix& K, const Eigen::MatrixXf& A, RunControl& control) {
  using Values =
      Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
  Eigen::MatrixXf result = Eigen::MatrixXf::Zero(A.rows(), A.cols());
  for (std::size_t t = 0; t < K.num_tiles(); ++t) {
    end_if_out_of_time(&control);
    const auto tile = K.tile(t);
    const auto row = static_cast<Eigen::Index>(tile.row);
    const auto column = static_cast<Eigen::Index>(tile.column);
    const auto num_rows = static_cast<Eigen::Index>(tile.num_rows);
    const auto num_columns = static_cast<Eigen::Index>(tile.num_columns);
    const Values values(K.values(t).data(), num_rows, num_columns);
    result.middleRows(row, num_rows).noalias() += values * A.middleRows(column, num_columns);
    if (tile.on_diagonal()) continue;
    result.middleRows(column, num_columns).noalias() +=
        values.transpose() * A.middleRows(row, num_rows);
  }
  return result;
}

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

  void attempt(double strength) {
    if (strength == kMeanOnly) {
      attempt_mean();
      return;
    }
    const BlockedCholesky factor = ridge_factor(K_, strength, executor_, control_);
    // lambda M_ii - 1/n is positive; the bound is against rounding where a fit repeats its targets.
    const Eigen::ArrayXd left =
        (strength * factor.inverse_diagonal(executor_) - 1 / static_cast<double>(num_rows_))
            .max(1e-9);
    for_blocks([&](std::span<const std::size_t> columns, const Eigen::MatrixXf& Y) {
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
    return path.take();  // each column with the best strength that it was solved with
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
    end_if_out_of_time(&control);
    const BlockedCholesky factor = ridge_factor(K, strength, executor, control);
    executor.for_ranges(
        columns.size(), kColumnsAtOnce, [&](std::size_t begin, std::size_t end, int) {
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

RidgeGap ridge_gap(const SymmetricMatrix& K, const RidgeTargets& targets, const KernelRidgeFit& fit,
                   Executor& executor, RunControl& control) {
  require_fitting(K, targets);
  const auto rows_of_columns = targets.rows_of_columns();
  const auto n = static_cast<Eigen::Index>(K.size());
  std::vector<RidgeGap> of_column(targets.num_columns);
  executor.for_ranges(
      of_column.size(), kColumnsAtOnce, [&](std::size_t begin, std::size_t end, int) {
        std::vector<std::size_t> columns(end - begin);
        std::iota(columns.begin(), columns.end(), begin);
        const Eigen::MatrixXf Y = centred_targets(rows_of_columns, fit, K.size(), columns);
        const Eigen::MatrixXf A = Eigen::Map<const Eigen::MatrixXf>(
            fit.coefficients.data() + begin * K.size(), n, std::ssize(columns));
        const Eigen::MatrixXf KA = product(K, A, control);
        for (std::size_t k = 0; k < columns.size(); ++k) {
          const auto column = static_cast<Eigen::Index>(k);
          const Eigen::VectorXd alpha = A.col(column).cast<double>();
          const Eigen::VectorXd scores = KA.col(column).cast<double>();
          const Eigen::VectorXd misses = Y.col(column).cast<double>() - scores;
          const double strength = fit.strengths[columns[k]];
          RidgeGap& gap = of_column[columns[k]];
          gap.primal = misses.squaredNorm() / 2;
          gap.dual = gap.primal;
          if (strength == kMeanOnly) continue;  // the limit of ever stronger regularisation
          gap.primal += strength / 2 * alpha.dot(scores);
          gap.dual = gap.primal - (misses - strength * alpha).squaredNorm() / 2;
        }
      });
  RidgeGap sum;
  for (const RidgeGap& each : of_column) {
    sum.primal += each.primal;
    sum.dual += each.dual;
  }
  return sum;
}

namespace {

/// The number of columns from `first` on in a block.
Eigen::Index block_size(Eigen::Index num_columns, Eigen::Index first) {
  return std::min(BlockedCholesky::kBlock, num_columns - first);
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
  const std::size_t num_blocks = (num_columns_ + kColumnsAtOnce - 1) / kColumnsAtOnce;
  executor.for_each(num_blocks * num_blocks, [&](std::size_t pair, int) {
    end_if_out_of_time(&control);
    const auto first = static_cast<Eigen::Index>(pair / num_blocks * kColumnsAtOnce);
    const auto second = static_cast<Eigen::Index>(pair % num_blocks * kColumnsAtOnce);
    const Eigen::Index height = block_size(m, first), width = block_size(m, second);
    const auto rows = S.middleCols(first, height).transpose();
    auto corner = left.block(first, second, height, width);
    auto right = W.block(first, second, height, width);
    corner.noalias() = rows * S.middleCols(second, width);
    right.noalias() = rows * Y.middleCols(second, width);
    if (first != second) return;
    corner.diagonal().array() += static_cast<float>(strength);
    right.diagonal().array() += static_cast<float>(strength);
  });
  const BlockedCholesky factor(std::move(left), executor, control);
  require(factor.is_definite(), "kernel ridge: sharing is ", strength,
          ", but must be so large that the matrix of the nodes' scores is positive definite");
  executor.for_ranges(num_columns_, kColumnsAtOnce, [&](std::size_t begin, std::size_t end, int) {
    factor.solve_in_place(
        W.middleCols(static_cast<Eigen::Index>(begin), static_cast<Eigen::Index>(end - begin)));
  });
}

void ColumnCombination::apply(KernelRidgeFit& fit, Executor& executor, RunControl& control) const {
  const auto m = static_cast<Eigen::Index>(num_columns_);
  const auto n = static_cast<Eigen::Index>(fit.coefficients.size()) / std::max<Eigen::Index>(m, 1);
  std::vector<float> combined(fit.coefficients.size());
  const Eigen::Map<const Eigen::MatrixXf> coefficients(fit.coefficients.data(), n, m);
  const Eigen::Map<const Eigen::MatrixXf> W(W_.data(), m, m);
  Eigen::Map<Eigen::MatrixXf> result(combined.data(), n, m);
  executor.for_ranges(num_columns_, kColumnsAtOnce, [&](std::size_t begin, std::size_t end, int) {
    const auto to = static_cast<Eigen::Index>(begin);
    const auto width = static_cast<Eigen::Index>(end - begin);
    for (Eigen::Index from = 0; from < m; from += BlockedCholesky::kBlock) {
      end_if_out_of_time(&control);
      const Eigen::Index count = block_size(m, from);
      result.middleCols(to, width).noalias() +=
          coefficients.middleCols(from, count) * W.block(from, to, count, width);
    }
  });
  fit.coefficients = std::move(combined);
}

ScoreThresholds left_out_thresholds(const KernelRidgeFit& fit, const RidgeTargets& targets,
                                    RunControl& control) {
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
    end_if_out_of_time(&control);
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
