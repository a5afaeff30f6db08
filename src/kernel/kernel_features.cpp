#include "kernel/kernel_features.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

#include "base/number_text.hpp"
#include "base/out_of_time.hpp"
#include "base/random.hpp"
#include "base/simd.hpp"
#include "data/csr_operations.hpp"
#include "kernel/blocked_cholesky.hpp"
#include "kernel/gram.hpp"
#include "margrove/errors.hpp"
#include "numerics/row_kernels.hpp"

namespace margrove {
namespace {

constexpr std::size_t kRowsAtOnce = 1024;  // at most, whose kernel values are in memory
/// Enough for all threads, and for what is done once for rows that are done at once to be little.
constexpr std::size_t kFewestAtOnce = 128;
/// In multiplications, between two reports: about a tenth of a second of one thread.
constexpr double kWorkAtOnce = 3e8;
constexpr double kWorkOfFunction = 20;  // a cosine or a random number
constexpr std::string_view kStage = "kernel features";
/// Added to the diagonal of the landmarks' kernel matrix, which is 1: so much is lost of the
/// kernel, and rounding of its values is enlarged by no more than the inverse root.
constexpr double kJitter = 1e-5;
constexpr double kMoreJitter = 10;  // factor, where rounding leaves the matrix indefinite

// One number of each of kLanes rows.
using Vec = float __attribute__((vector_size(64), may_alias));
using detail::kLanes, detail::Lanes;
static_assert(sizeof(Vec) == sizeof(Lanes));

/// products = L^-1 values for kLanes rows at once: both have the lanes of landmark or feature after
/// each other. Four features share the loads. Sums go in the order of the landmarks.
MARGROVE_MULTIVERSION void multiply(const float* inverse_factor, std::size_t size,
                                    const Lanes* values, Lanes* products) {
  const Vec* const k = reinterpret_cast<const Vec*>(values);
  Vec* const out = reinterpret_cast<Vec*>(products);
  const float* row = inverse_factor;
  for (std::size_t f = 0; f < size; f += 4) {
    const std::size_t count = std::min<std::size_t>(4, size - f);
    const float* rows[4];
    for (std::size_t r = 0; r < 4; ++r) {
      rows[r] = r < count ? row : rows[0];  // a copy that is not kept
      if (r < count) row += f + r + 1;
    }
    Vec sum0 = {}, sum1 = {}, sum2 = {}, sum3 = {};
    for (std::size_t l = 0; l <= f; ++l) {
      const Vec value = k[l];
      sum0 += rows[0][l] * value;
      sum1 += rows[1][l] * value;
      sum2 += rows[2][l] * value;
      sum3 += rows[3][l] * value;
    }
    const Vec sums[4] = {sum0, sum1, sum2, sum3};
    for (std::size_t r = 0; r < count; ++r) {
      Vec sum = sums[r];
      for (std::size_t l = f + 1; l <= f + r; ++l) sum += rows[r][l] * k[l];
      out[f + r] = sum;
    }
  }
}

/// sum += factor * values
MARGROVE_MULTIVERSION void add_multiple(float factor, const float* values, std::size_t size,
                                        float* sum) {
  for (std::size_t f = 0; f < size; ++f) sum[f] += factor * values[f];
}

/// f(begin, end) for blocks of [0, count), where each index takes so much work. Between them the
/// control, which may be null, gets reports, and is asked: throws OutOfTime.
template <class F>
void in_blocks(std::size_t count, double work, Progress::Unit unit, RunControl* control,
               const F& f) {
  const auto at_once = static_cast<std::size_t>(
      std::clamp(kWorkAtOnce / work, double{kFewestAtOnce}, double{kRowsAtOnce}));
  for (std::size_t begin = 0; begin < count; begin += at_once) {
    const Progress progress{.stage = kStage,
                            .done = static_cast<std::int64_t>(begin),
                            .total = static_cast<std::int64_t>(count),
                            .unit = unit};
    if (control != nullptr && !control->proceed(progress)) throw OutOfTime{};
    f(begin, std::min(begin + at_once, count));
  }
}

double nonzeros_of_row(const CsrView& X) {
  return static_cast<double>(X.num_nonzeros()) /
         static_cast<double>(std::max<std::size_t>(X.num_rows(), 1));
}

FittedKernel gaussian(double gamma) {
  FittedKernel kernel;
  kernel.spec.name = "of kernel features";
  kernel.spec.width = 1 / std::sqrt(2 * gamma);
  kernel.spec.width_in_medians = false;
  kernel.spec.scaling = KernelScaling::none;
  return kernel;
}

/// The rows [begin, end) of X in the columns that training had.
CsrMatrix known_columns(const CsrView& X, std::size_t begin, std::size_t end,
                        std::uint32_t num_columns) {
  CsrMatrix rows(num_columns);
  for (std::size_t i = begin; i < end; ++i) {
    const SparseRow x = X.row(i);
    const auto last = std::ranges::lower_bound(x.columns, num_columns);
    const auto size = static_cast<std::size_t>(last - x.columns.begin());
    rows.append_row(x.columns.first(size), x.values.first(size));
  }
  return rows;
}

/// Random training rows, ascending.
std::vector<std::uint32_t> choose_landmarks(std::size_t num_rows, std::size_t size,
                                            std::uint64_t seed) {
  std::vector<std::uint32_t> rows(num_rows);
  std::iota(rows.begin(), rows.end(), 0U);
  if (num_rows <= size) return rows;
  Random random(seed);
  for (std::size_t i = 0; i < size; ++i) std::swap(rows[i], rows[i + random.below(num_rows - i)]);
  rows.resize(size);
  std::ranges::sort(rows);
  return rows;
}

/// The kernel values of the rows, which have as many columns as the landmarks, with all of these.
std::vector<float> values_with_landmarks(const KernelFeatures& features, const CsrView& X,
                                         Executor& executor) {
  if (features.learned) return features.learned->values(X, features.landmarks, executor);
  const FittedKernel kernel = gaussian(features.gamma);
  return std::move(cross_kernels(std::span(&kernel, 1), X, features.landmarks, executor)[0]);
}

/// Of one kernel value of a row.
double work_of_value(const KernelFeatures& features, double nonzeros) {
  const std::size_t num_kernels = features.learned ? features.learned->kernels.size() : 1;
  return (nonzeros + kWorkOfFunction) * static_cast<double>(num_kernels);
}

Eigen::MatrixXd kernel_of_landmarks(const KernelFeatures& features, Executor& executor,
                                    RunControl& control) {
  const CsrMatrix& landmarks = features.landmarks;
  const auto size = static_cast<Eigen::Index>(landmarks.num_rows());
  Eigen::MatrixXd K(size, size);
  const double work =
      static_cast<double>(size) * work_of_value(features, nonzeros_of_row(landmarks));
  in_blocks(landmarks.num_rows(), work, Progress::Unit::rows, &control,
            [&](std::size_t begin, std::size_t end) {
              const std::vector<float> values =
                  values_with_landmarks(features, row_range(landmarks, begin, end), executor);
              const auto count = static_cast<Eigen::Index>(end - begin);
              K.middleCols(static_cast<Eigen::Index>(begin), count) =
                  Eigen::Map<const Eigen::MatrixXf>(values.data(), size, count).cast<double>();
            });
  return K;
}

/// L^-1 of the kernel matrix of the landmarks.
std::vector<float> inverse_factor_of(const KernelFeatures& features, Executor& executor,
                                     RunControl& control) {
  const Eigen::MatrixXd K = kernel_of_landmarks(features, executor, control);
  // That of the Gaussian kernel is 1, up to rounding.
  const double diagonal = features.learned ? K.diagonal().mean() : 1.0;
  require(std::isfinite(diagonal) && diagonal > 0, "kernel features: the mean of K(z, z) is ",
          diagonal, " over the landmarks z, but must be a number > 0");
  for (double jitter = kJitter;; jitter *= kMoreJitter) {
    Eigen::MatrixXd regular = K;
    regular.diagonal().array() += jitter * diagonal;
    const BlockedCholeskyOf<double> factor(std::move(regular), executor, control, kStage);
    if (factor.is_definite()) return factor.lower_inverse(executor);
    require(jitter < 1, "kernel features: ",
            features.learned ? "the learned kernel is not positive semidefinite on the landmarks"
                             : "distances of the rows are too large for numbers");
  }
}

/// values[i * size + f] of the rows, which have as many columns as the landmarks.
void apply_nystroem(const KernelFeatures& features, const CsrView& X, std::span<float> values,
                    Executor& executor, RunControl* control) {
  const std::size_t size = features.size();
  const std::vector<float> K = values_with_landmarks(features, X, executor);
  executor.for_ranges(X.num_rows(), kLanes, [&](std::size_t begin, std::size_t end, int) {
    end_if_out_of_time(control);
    std::vector<Lanes> k(size, Lanes{}), out(size);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t l = 0; l < size; ++l) k[l].at[i - begin] = K[i * size + l];
    }
    multiply(features.inverse_factor.data(), size, k.data(), out.data());
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t f = 0; f < size; ++f) values[i * size + f] = out[f].at[i - begin];
    }
  });
}

/// The random numbers of the columns that some row has.
class FourierDirections {
 public:
  FourierDirections(const KernelFeatures& features, const CsrView& X, Executor& executor,
                    RunControl* control)
      : size_(features.num_fourier), used_(X.columns().begin(), X.columns().end()), phases_(size_) {
    std::ranges::sort(used_);
    used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
    std::erase_if(used_, [&](FeatureId j) { return j >= features.num_columns(); });
    Random random(features.seed, 0);
    for (float& phase : phases_) {
      phase = static_cast<float>(2 * std::numbers::pi * random.uniform());
    }
    directions_.resize(used_.size() * size_);
    const double deviation = std::sqrt(2 * features.gamma);
    const double work = kWorkOfFunction * static_cast<double>(size_);
    in_blocks(used_.size(), work, Progress::Unit::steps, control,
              [&](std::size_t begin, std::size_t end) {
                executor.for_each(end - begin, [&](std::size_t offset, int) {
                  const std::size_t k = begin + offset;
                  Random of_column(features.seed, std::uint64_t{used_[k]} + 1);
                  for (std::size_t f = 0; f < size_; ++f) {
                    directions_[k * size_ + f] = static_cast<float>(deviation * of_column.normal());
                  }
                });
              });
  }

  /// x must be a row of X in the columns that training had.
  void apply(const SparseRow& x, std::span<float> out) const {
    std::ranges::copy(phases_, out.begin());
    auto place = used_.begin();
    for (std::size_t k = 0; k < x.size(); ++k) {
      place = std::lower_bound(place, used_.end(), x.columns[k]);
      const auto number = static_cast<std::size_t>(place - used_.begin());
      add_multiple(x.values[k], directions_.data() + number * size_, size_, out.data());
    }
    const auto scale = static_cast<float>(std::sqrt(2 / static_cast<double>(size_)));
    for (float& value : out) value = scale * std::cos(value);
  }

 private:
  std::size_t size_;
  std::vector<FeatureId> used_;  // ascending
  std::vector<float> phases_;
  std::vector<float> directions_;
};

void apply_fourier(const FourierDirections& directions, std::size_t size, const CsrView& X,
                   std::span<float> values, Executor& executor, RunControl* control) {
  executor.for_ranges(X.num_rows(), kLanes, [&](std::size_t begin, std::size_t end, int) {
    end_if_out_of_time(control);
    for (std::size_t i = begin; i < end; ++i) {
      directions.apply(X.row(i), values.subspan(i * size, size));
    }
  });
}

}  // namespace

KernelFeatures::Choice KernelFeatures::Choice::parse(std::string_view text) {
  if (text == "none") return {};
  for (const auto& each : kEnumNames<Kind>) {
    if (!text.starts_with(each.name) || text.substr(each.name.size(), 1) != ":") continue;
    const auto size = read_number<std::uint32_t>(text.substr(each.name.size() + 1));
    require<InvalidOption>(size && *size >= 1 && *size <= kMost, "option kernel_features is '",
                           text, "', but the number of features must be from 1 to ", kMost);
    return {each.value, *size};
  }
  throw InvalidOption(concat("option kernel_features is '", text,
                             "', but must be none, nystroem:N or fourier:N, for N features"));
}

std::string KernelFeatures::Choice::to_text() const {
  return is_none() ? "none" : concat(name_of(kind), ":", size);
}

KernelFeatures KernelFeatures::fit(const CsrView& X, const Choice& choice, double gamma,
                                   std::uint64_t seed, Executor& executor, RunControl* control) {
  require(X.num_rows() > 0, "kernel features: the number of rows is 0, but must be > 0");
  KernelFeatures features;
  features.kind = choice.kind;
  const double distance = gamma > 0 ? 0.0 : median_distance(KernelType::gaussian, X, control);
  features.gamma = gamma > 0 ? gamma : 1 / (2 * distance * distance);
  if (choice.kind == Kind::fourier) {
    features.seed = seed;
    features.num_fourier = choice.size;
    features.landmarks.set_num_columns(X.num_columns());
    features.check();
    return features;
  }
  RunControl unlimited;
  features.landmarks = select_rows(X, choose_landmarks(X.num_rows(), choice.size, seed));
  features.landmarks.set_num_columns(X.num_columns());
  features.inverse_factor =
      inverse_factor_of(features, executor, control != nullptr ? *control : unlimited);
  return features;
}

KernelFeatures KernelFeatures::fit(const CsrView& X, LearnedKernel learned,
                                   std::uint32_t num_columns, std::uint32_t size,
                                   std::uint64_t seed, Executor& executor, RunControl* control) {
  require(X.num_rows() > 0, "kernel features: the number of rows is 0, but must be > 0");
  learned.require_values_of_any_rows();
  require(!learned.paths.empty(), "kernel features: all weights of the learned kernel are 0");
  learned.check_rows(X);
  KernelFeatures features;
  features.gamma = 0;
  features.learned = std::move(learned);
  const std::vector<std::uint32_t> rows = choose_landmarks(X.num_rows(), size, seed);
  features.landmarks = known_columns(select_rows(X, rows), 0, rows.size(), num_columns);
  RunControl unlimited;
  features.inverse_factor =
      inverse_factor_of(features, executor, control != nullptr ? *control : unlimited);
  return features;
}

CsrMatrix KernelFeatures::apply(const CsrView& X, Executor& executor, RunControl* control) const {
  const std::size_t num_rows = X.num_rows(), num_features = size();
  std::vector<float> values(num_rows * num_features);
  std::optional<FourierDirections> directions;
  if (kind == Kind::fourier) directions.emplace(*this, X, executor, control);
  if (learned) learned->check_rows(X);  // all, so that errors have the number of the row
  const auto factor = kind == Kind::nystroem ? static_cast<double>(num_features) / 2 : 0.0;
  const double work =
      static_cast<double>(num_features) * (work_of_value(*this, nonzeros_of_row(X)) + factor);
  in_blocks(num_rows, work, Progress::Unit::rows, control, [&](std::size_t begin, std::size_t end) {
    const CsrMatrix rows = known_columns(X, begin, end, num_columns());
    const auto out = std::span(values).subspan(begin * num_features, (end - begin) * num_features);
    if (kind == Kind::nystroem) {
      apply_nystroem(*this, rows, out, executor, control);
    } else {
      apply_fourier(*directions, num_features, rows, out, executor, control);
    }
  });
  std::vector<std::int64_t> pointers(num_rows + 1);
  for (std::size_t i = 0; i <= num_rows; ++i) {
    pointers[i] = static_cast<std::int64_t>(i * num_features);
  }
  std::vector<FeatureId> columns(values.size());
  for (std::size_t k = 0; k < columns.size(); ++k) {
    columns[k] = static_cast<FeatureId>(k % num_features);
  }
  return {size(), std::move(pointers), std::move(columns), std::move(values)};
}

std::uint32_t KernelFeatures::size() const {
  return kind == Kind::fourier ? num_fourier : static_cast<std::uint32_t>(landmarks.num_rows());
}

void KernelFeatures::check() const {
  const std::size_t m = size();
  require(m >= 1 && m <= kMost, "kernel features: there are ", m, ", but must be from 1 to ",
          kMost);
  if (learned) {
    require(kind == Kind::nystroem && !learned->paths.empty(),
            "kernel features: a learned kernel needs landmarks and weights");
    learned->require_values_of_any_rows();
  } else {
    require(gamma > 0 && std::isfinite(gamma), "kernel features: gamma is ", gamma,
            ", but must be > 0");
  }
  const std::size_t expected = kind == Kind::nystroem ? m * (m + 1) / 2 : 0;
  require(inverse_factor.size() == expected, "kernel features: the matrix has ",
          inverse_factor.size(), " numbers, but must have ", expected);
  require(std::ranges::all_of(inverse_factor, [](float x) { return std::isfinite(x); }),
          "kernel features: the matrix has numbers that are not finite");
}

MemoryEstimate kernel_features_memory(const KernelFeatures::Choice& choice, const CsrView& X,
                                      const CombinedKernel* learned, int num_threads) {
  const auto rows = static_cast<double>(X.num_rows());
  const bool has_landmarks = choice.kind == KernelFeatures::Kind::nystroem;
  const double size = has_landmarks ? std::min<double>(choice.size, rows) : choice.size;
  const double at_once = std::min<double>(rows, kRowsAtOnce);
  MemoryEstimate memory;
  memory.add("kernel features", 8 * rows * (size + 1));
  if (has_landmarks) {
    const double nonzeros = nonzeros_of_row(X) * (size + at_once);
    // The matrix, the one that is factored, its inverse, and values and rows that are made at once.
    memory.add("landmarks", (8 + 8 + 2) * size * size + 4 * at_once * size);
    memory.add("rows of landmarks", 16 * nonzeros);
    if (learned != nullptr) {
      memory.add(learned->values_memory(static_cast<std::size_t>(at_once),
                                        static_cast<std::size_t>(size), nonzeros, X, num_threads));
    }
  } else {
    const auto columns = std::min<double>(X.num_columns(), static_cast<double>(X.num_nonzeros()));
    memory.add("random directions", 4 * size * columns);
    memory.add("columns in use", 4 * static_cast<double>(X.num_nonzeros()));
  }
  return memory;
}

}  // namespace margrove
