#include "kernel/landmark_ridge.hpp"

#include <algorithm>
#include <map>

#include "base/out_of_time.hpp"
#include "data/csr_operations.hpp"
#include "kernel/blocked_cholesky.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr std::size_t kLandmarkRows = 256;    // whose kernel values are in memory
constexpr std::size_t kProductColumns = 128;  // columns of C^T C that are updated together
// Rounding of the landmarks' kernel matrix, whose diagonal is 1, must not make it indefinite.
constexpr double kLandmarkJitter = 1e-5;

using DoubleCholesky = BlockedCholeskyOf<double>;

/// The mean of the kernels of these rows with the landmarks: a column for each row.
Eigen::MatrixXd kernel_columns(std::span<const FittedKernel> kernels, const CsrView& rows,
                               const CsrMatrix& landmarks, Executor& executor) {
  const auto m = static_cast<Eigen::Index>(landmarks.num_rows());
  const auto n = static_cast<Eigen::Index>(rows.num_rows());
  Eigen::MatrixXd mean = Eigen::MatrixXd::Zero(m, n);
  for (const std::vector<float>& values : cross_kernels(kernels, rows, landmarks, executor)) {
    mean += Eigen::Map<const Eigen::MatrixXf>(values.data(), m, n).cast<double>();
  }
  return mean / static_cast<double>(kernels.size());
}

/// What the rows give the normal equations.
class NormalEquations {
 public:
  NormalEquations(std::span<const FittedKernel> kernels, const CsrView& X,
                  const CsrMatrix& landmarks, const RidgeTargets& targets, Executor& executor,
                  RunControl& control)
      : products_(Eigen::MatrixXd::Zero(index(landmarks.num_rows()), index(landmarks.num_rows()))),
        regulariser_(kernel_columns(kernels, landmarks, landmarks, executor)),
        right_sides_(Eigen::MatrixXd::Zero(products_.rows(), targets.num_columns)),
        means_(Eigen::VectorXd::Zero(products_.rows())),
        counts_(Eigen::VectorXd::Zero(targets.num_columns)),
        num_rows_(static_cast<double>(X.num_rows())) {
    regulariser_.diagonal().array() += kLandmarkJitter;
    // Values less the landmarks' mean are about as small as those less the rows' mean, so that
    // nothing is lost where the latter is taken off at the end.
    const Eigen::VectorXd centre = regulariser_.rowwise().mean();
    for (std::size_t begin = 0; begin < X.num_rows(); begin += kLandmarkRows) {
      end_if_out_of_time(&control);
      const std::size_t end = std::min(begin + kLandmarkRows, X.num_rows());
      Eigen::MatrixXd C = kernel_columns(kernels, row_range(X, begin, end), landmarks, executor);
      C.colwise() -= centre;
      means_ += C.rowwise().sum();
      add_products(C, executor);
      for (std::size_t i = begin; i < end; ++i) {
        for (const LabelId column : targets.ones[i]) {
          right_sides_.col(column) += C.col(index(i - begin));
          counts_[column] += 1;
        }
      }
    }
    means_ /= num_rows_;
    products_.selfadjointView<Eigen::Lower>().rankUpdate(means_, -num_rows_);
    right_sides_ -= means_ * counts_.transpose();
    means_ += centre;
  }

  /// The lower triangle of C^T C + strength (K_zz + jitter I).
  Eigen::MatrixXd system(double strength) const { return products_ + strength * regulariser_; }
  Eigen::MatrixXd right_sides(std::span<const std::size_t> columns) const {
    Eigen::MatrixXd of_columns(right_sides_.rows(), std::ssize(columns));
    for (std::size_t k = 0; k < columns.size(); ++k) {
      of_columns.col(index(k)) = right_sides_.col(index(columns[k]));
    }
    return of_columns;
  }
  const Eigen::VectorXd& means() const { return means_; }
  /// ||y - y_m||^2 of a column.
  double squared_target(std::size_t column) const {
    const double count = counts_[index(column)];
    return count - count * count / num_rows_;
  }

 private:
  static Eigen::Index index(std::size_t place) { return static_cast<Eigen::Index>(place); }

  /// Blocks of columns of the lower triangle are independent.
  void add_products(const Eigen::MatrixXd& C, Executor& executor) {
    const auto m = static_cast<std::size_t>(C.rows());
    executor.for_ranges(m, kProductColumns, [&](std::size_t begin, std::size_t end, int) {
      const Eigen::Index below = index(m - begin), width = index(end - begin);
      products_.block(index(begin), index(begin), below, width).noalias() +=
          C.bottomRows(below) * C.middleRows(index(begin), width).transpose();
    });
  }

  Eigen::MatrixXd products_;  // C^T C; the lower triangle
  Eigen::MatrixXd regulariser_;
  Eigen::MatrixXd right_sides_;  // C^T y
  Eigen::VectorXd means_;        // of the rows' kernel values
  Eigen::VectorXd counts_;       // of ones of each column
  double num_rows_;
};

/// Solves the columns of one strength; what the solution lacks to the optimum is
/// r^T A^-1 r / 2 for the residual r of A b = C^T y.
void solve(const NormalEquations& equations, double strength, std::span<const std::size_t> columns,
           LandmarkRidgeFit& result, std::vector<RidgeGap>& gaps, Executor& executor,
           RunControl& control) {
  const Eigen::MatrixXd system = equations.system(strength);
  const DoubleCholesky factor(system, executor, control);
  require(factor.is_definite(), "kernel ridge: the strength is ", strength,
          ", but must be so large that the system of the landmarks is positive definite");
  executor.for_ranges(
      columns.size(), DoubleCholesky::kBlock, [&](std::size_t begin, std::size_t end, int) {
        const auto block = columns.subspan(begin, end - begin);
        const Eigen::MatrixXd right = equations.right_sides(block);
        Eigen::MatrixXd b = right;
        factor.solve_in_place(b);
        const Eigen::MatrixXf rounded = b.cast<float>();
        b = rounded.cast<double>();
        const Eigen::MatrixXd products = system.selfadjointView<Eigen::Lower>() * b;
        const Eigen::MatrixXd residuals = right - products;
        Eigen::MatrixXd errors = residuals;
        factor.solve_in_place(errors);
        for (std::size_t k = 0; k < block.size(); ++k) {
          const auto column = static_cast<Eigen::Index>(k);
          RidgeGap& gap = gaps[block[k]];
          gap.primal = 0.5 * equations.squared_target(block[k]) -
                       b.col(column).dot(right.col(column)) +
                       0.5 * b.col(column).dot(products.col(column));
          gap.dual = gap.primal - 0.5 * errors.col(column).dot(residuals.col(column));
          result.fit.strengths[block[k]] = strength;
          std::ranges::copy(rounded.col(column),
                            result.fit.coefficients.begin() +
                                static_cast<std::ptrdiff_t>(block[k]) * rounded.rows());
        }
      });
}

}  // namespace

LandmarkRidgeFit fit_landmark_ridge(std::span<const FittedKernel> kernels, const CsrView& X,
                                    const CsrMatrix& landmarks, const RidgeTargets& targets,
                                    std::span<const double> strengths, Executor& executor,
                                    RunControl& control) {
  require(X.num_rows() == targets.ones.num_rows() && landmarks.num_rows() > 0,
          "kernel ridge: ", X.num_rows(), " rows and ", landmarks.num_rows(),
          " landmarks, but must be ", targets.ones.num_rows(),
          " rows as the targets, and at least one landmark");
  const NormalEquations equations(kernels, X, landmarks, targets, executor, control);
  LandmarkRidgeFit result{mean_fit(targets), {}, {}};
  result.fit.coefficients.assign(landmarks.num_rows() * targets.num_columns, 0.0F);
  result.column_means.assign(equations.means().begin(), equations.means().end());
  std::vector<RidgeGap> gaps(targets.num_columns);
  std::map<double, std::vector<std::size_t>> columns_of;
  for (std::size_t c = 0; c < strengths.size(); ++c) {
    if (strengths[c] != kMeanOnly) {
      columns_of[strengths[c]].push_back(c);
    } else {
      gaps[c].primal = gaps[c].dual = 0.5 * equations.squared_target(c);
    }
  }
  for (const auto& [strength, columns] : columns_of) {
    end_if_out_of_time(&control);
    solve(equations, strength, columns, result, gaps, executor, control);
  }
  for (const RidgeGap& gap : gaps) {
    result.gap.primal += gap.primal;
    result.gap.dual += gap.dual;
  }
  return result;
}

MemoryEstimate landmark_ridge_memory(std::size_t num_kernels, const CsrView& X,
                                     std::size_t num_landmarks, std::size_t num_columns,
                                     int num_threads) {
  const auto m = static_cast<double>(num_landmarks), columns = static_cast<double>(num_columns);
  const double at_once = std::min<double>(static_cast<double>(X.num_rows()), kLandmarkRows);
  const double of_block = std::min<double>(columns, DoubleCholesky::kBlock) * m;
  MemoryEstimate memory;
  // C^T C, the regulariser, the system and its factor; the landmarks' kernels come before the last
  // two.
  memory.add("matrices of the landmarks",
             std::max(32.0, 16.0 + 4.0 * static_cast<double>(num_kernels) + 8.0) * m * m);
  memory.add("kernel values of rows",
             (16.0 + 4.0 * static_cast<double>(num_kernels)) * at_once * m);
  memory.add("right sides and coefficients", 8.0 * m * columns + 4.0 * m * columns);
  memory.add("blocks of columns", 44.0 * of_block * num_threads);
  return memory;
}

}  // namespace margrove
