#include "methods/name_matching.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "data/csr_operations.hpp"
#include "data/label_words.hpp"
#include "data/record_features.hpp"
#include "data/text_views.hpp"
#include "margrove/errors.hpp"
#include "margrove/linear_estimators.hpp"
#include "model/answer_metrics.hpp"

namespace margrove {

namespace detail {

MatchNames MatchNames::parse(std::string_view text) {
  if (text == kAutomatic) return {};
  if (text != "true" && text != "false") {
    fail_choice("match_names", text, {std::string(kAutomatic), "true", "false"});
  }
  return text == "true";
}

std::string MatchNames::to_text() const {
  if (!value) return std::string(kAutomatic);
  return *value ? "true" : "false";
}

}  // namespace detail

std::vector<std::string> names_of_labels(const TrainingSet& data) {
  if (data.texts == nullptr) return {};
  return names_of_labels(*data.codec, data.label_names, data.other_names,
                         data.records != nullptr ? &data.records->selection : nullptr);
}

std::string obstacle_of_names(std::span<const std::string> names, const TrainingSet& data,
                              double bias) {
  if (data.kernel_features != nullptr) {
    return "option match_names is given, but the columns are kernel features (option "
           "kernel_features), not terms";
  }
  if (data.texts == nullptr) {
    return "option match_names is given, but rows are not texts (option text, or a text column)";
  }
  if (std::ranges::all_of(names, &std::string::empty)) {
    return "option match_names is given, but the labels have no names, and less than half of them "
           "are words; give a hierarchy file in SKOS or OBO, or names of labels (--label-names "
           "FILE, in Python Hierarchy.with_names)";
  }
  if (bias == 0) {
    return "option match_names is given, but bias is 0, so that labels without rows have no score "
           "of their own";
  }
  return {};
}

std::vector<LabelId> named_labels(std::span<const std::string> names, const TrainingSet& data,
                                  double bias) {
  const std::string obstacle = obstacle_of_names(names, data, bias);
  require<InvalidOption>(obstacle.empty(), obstacle);
  std::vector<LabelId> named;
  for (LabelId label = 0; label < names.size(); ++label) {
    if (!names[label].empty()) named.push_back(label);
  }
  return named;
}

WeightMatrix name_vectors(std::span<const std::string> names, const TrainingSet& data,
                          std::span<const LabelId> labels) {
  std::vector<std::string> texts;
  for (const LabelId label : labels) texts.push_back(names[label]);
  // Records have further columns between the terms and the vectors of texts.
  CsrMatrix rows = data.records == nullptr ? weigh_texts(*data.texts, views_of(texts))
                                           : weigh_terms(*data.texts, views_of(texts), nullptr);
  return WeightMatrix::sparse(transpose(rows));
}

NamedLabels::NamedLabels(const TrainingSet& data, std::span<const LabelId> occurring, double bias) {
  const std::vector<std::string> names = names_of_labels(data);
  std::ranges::set_union(named_labels(names, data, bias), occurring, std::back_inserter(labels_));
  for (const LabelId label : occurring) {
    const auto at = std::ranges::lower_bound(labels_, label);
    places_.push_back(static_cast<std::uint32_t>(at - labels_.begin()));
  }
  names_ = name_vectors(names, data, labels_);
}

WeightMatrix NamedLabels::with_names(const WeightMatrix& occurring,
                                     const std::vector<bool>& has_rows, const NameMatch& match,
                                     double bias) const {
  const std::uint32_t num_features = occurring.num_features();
  const auto num_labels = static_cast<std::uint32_t>(labels_.size());
  CsrMatrix joined(num_labels);
  WeightSums row(num_labels);
  for (FeatureId feature = 0; feature < num_features; ++feature) {
    occurring.for_each_of(feature, [&](std::uint32_t n, float weight) {
      if (has_rows[places_[n]]) row.add(places_[n], weight);
    });
    names_.for_each_of(
        feature, [&](std::uint32_t n, float weight) { row.add(n, match.weight * double{weight}); });
    const bool is_intercept = feature + 1 == num_features;
    for (std::uint32_t n = 0; is_intercept && n < num_labels; ++n) {
      if (!has_rows[n]) row.add(n, match.unseen / bias);
    }
    row.append_to(joined);
  }
  return WeightMatrix::sparse(std::move(joined));
}

// The fit -----------------------------------------------------------------------------------------

namespace {

// theta: the factors a of the score, w a of the similarity and c a of labels without rows.
constexpr std::size_t kNumFactors = 3;
constexpr std::size_t kScore = 0, kMatch = 1, kUnseen = 2;
constexpr double kNameRidge = 1e-6;  // where rows do not decide, as c if no label is without rows
constexpr int kMaxNameSteps = 100;
constexpr double kLeastShare = 0.1;  // of the scores' factor that they have without names
constexpr std::size_t kNameRowsPerBlock = 64;
using Factors = std::array<double, kNumFactors>;

}  // namespace

/// Of rows: weights, losses, and the first and second derivatives of the loss.
struct HeldOutMatches::Sums {
  double weight = 0, loss = 0;
  Factors gradient{};
  std::array<Factors, kNumFactors> hessian{};

  void add(const Sums& other, double factor = 1) {
    weight += factor * other.weight;
    loss += factor * other.loss;
    for (std::size_t i = 0; i < kNumFactors; ++i) {
      gradient[i] += factor * other.gradient[i];
      for (std::size_t j = 0; j < kNumFactors; ++j) {
        hessian[i][j] += factor * other.hessian[i][j];
      }
    }
  }
};

HeldOutMatches::HeldOutMatches(const NamedLabels& labels, const LabelSets& sets,
                               std::span<const double> row_weights)
    : labels_(labels), sets_(sets), row_weights_(row_weights) {
  const std::size_t cells = sets.num_rows() * labels.labels().size();
  step_ = std::max<std::size_t>(1, (cells + kMostCells - 1) / kMostCells);
}

double HeldOutMatches::num_bytes(std::size_t num_rows, std::size_t num_labels) {
  const double cells = static_cast<double>(num_rows) * static_cast<double>(num_labels);
  return 2 * sizeof(float) * std::min(cells, static_cast<double>(kMostCells + num_labels));
}

void HeldOutMatches::add(const CsrView& X, std::span<const std::uint32_t> held_out,
                         const WeightMatrix& weights, std::vector<bool> has_rows,
                         Executor& executor) {
  const std::size_t first = rows_.size(), num_labels = labels_.labels().size();
  for (const std::uint32_t row : held_out) {
    const bool counts = row_weights_.empty() || row_weights_[row] > 0;
    if (row % step_ == 0 && counts && !sets_[row].empty()) {
      rows_.push_back({row, has_rows_.size()});
    }
  }
  scores_.resize(rows_.size() * num_labels);
  matches_.resize(rows_.size() * num_labels);
  executor.for_each(rows_.size() - first, [&](std::size_t k, int /*worker*/) {
    const SparseRow x = X.row(rows_[first + k].row);
    std::vector<float> occurring(weights.num_nodes());
    weights.scores(x, occurring);
    const std::size_t begin = (first + k) * num_labels;
    labels_.names().scores(x, std::span(matches_).subspan(begin, num_labels));
    for (std::size_t n = 0; n < occurring.size(); ++n) {
      const std::size_t place = labels_.place_of_occurring(n);
      if (has_rows[place]) scores_[begin + place] = occurring[n];
    }
  });
  has_rows_.push_back(std::move(has_rows));
}

HeldOutMatches::Sums HeldOutMatches::sums_of_row(const Row& row, std::size_t k,
                                                 const std::vector<double>& theta) const {
  const std::size_t num_labels = labels_.labels().size(), begin = k * num_labels;
  const std::vector<bool>& has_rows = has_rows_[row.fold];
  const auto factors_of = [&](std::size_t n) {
    return Factors{double{scores_[begin + n]}, double{matches_[begin + n]},
                   has_rows[n] ? 0.0 : 1.0};
  };
  const auto score_of = [&](const Factors& f) {
    return theta[kScore] * f[kScore] + theta[kMatch] * f[kMatch] + theta[kUnseen] * f[kUnseen];
  };
  double highest = -std::numeric_limits<double>::infinity();
  for (std::size_t n = 0; n < num_labels; ++n) {
    highest = std::max(highest, score_of(factors_of(n)));
  }
  double total = 0;
  Sums sums;
  Factors mean{};
  for (std::size_t n = 0; n < num_labels; ++n) {
    const Factors f = factors_of(n);
    const double share = std::exp(score_of(f) - highest);
    total += share;
    for (std::size_t i = 0; i < kNumFactors; ++i) {
      mean[i] += share * f[i];
      for (std::size_t j = 0; j <= i; ++j) sums.hessian[i][j] += share * f[i] * f[j];
    }
  }
  for (std::size_t i = 0; i < kNumFactors; ++i) mean[i] /= total;
  for (std::size_t i = 0; i < kNumFactors; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      sums.hessian[i][j] = sums.hessian[j][i] = sums.hessian[i][j] / total - mean[i] * mean[j];
    }
  }
  sums.weight = 1;
  sums.loss = highest + std::log(total);
  sums.gradient = mean;
  const auto truth = sets_[row.row];
  for (const LabelId position : truth) {
    const Factors f = factors_of(labels_.place_of_occurring(position));
    const double share = 1 / static_cast<double>(truth.size());
    sums.loss -= share * score_of(f);
    for (std::size_t i = 0; i < kNumFactors; ++i) sums.gradient[i] -= share * f[i];
  }
  return sums;
}

/// The mean over the rows, and the ridge.
HeldOutMatches::Sums HeldOutMatches::sums(const std::vector<double>& theta,
                                          Executor& executor) const {
  const std::size_t num_blocks = (rows_.size() + kNameRowsPerBlock - 1) / kNameRowsPerBlock;
  std::vector<Sums> of_block(num_blocks);
  executor.for_ranges(
      rows_.size(), kNameRowsPerBlock, [&](std::size_t begin, std::size_t end, int /*worker*/) {
        for (std::size_t k = begin; k < end; ++k) {
          of_block[begin / kNameRowsPerBlock].add(sums_of_row(rows_[k], k, theta),
                                                  weight_of(row_weights_, rows_[k].row));
        }
      });
  Sums all, mean;
  for (const Sums& block : of_block) all.add(block);
  mean.add(all, 1 / all.weight);
  for (std::size_t i = 0; i < kNumFactors; ++i) {
    mean.loss += 0.5 * kNameRidge * theta[i] * theta[i];
    mean.gradient[i] += kNameRidge * theta[i];
    mean.hessian[i][i] += kNameRidge;
  }
  return mean;
}

namespace {

/// The solution d of H d = g by elimination, where d is 0 in the `fixed` coordinate, if there is
/// one; H is positive definite.
Factors newton_direction(std::array<Factors, kNumFactors> H, Factors g, std::size_t fixed) {
  if (fixed < kNumFactors) {
    for (std::size_t i = 0; i < kNumFactors; ++i) H[i][fixed] = H[fixed][i] = 0;
    H[fixed][fixed] = 1;
    g[fixed] = 0;
  }
  for (std::size_t k = 0; k < kNumFactors; ++k) {
    for (std::size_t i = k + 1; i < kNumFactors; ++i) {
      const double factor = H[i][k] / H[k][k];
      for (std::size_t j = k; j < kNumFactors; ++j) H[i][j] -= factor * H[k][j];
      g[i] -= factor * g[k];
    }
  }
  for (std::size_t k = kNumFactors; k-- > 0;) {
    for (std::size_t j = k + 1; j < kNumFactors; ++j) g[k] -= H[k][j] * g[j];
    g[k] /= H[k][k];
  }
  return g;
}

}  // namespace

/// Newton's method; steps are halved until the loss falls.
std::vector<double> HeldOutMatches::maximum(std::vector<double> theta, Fixed fixed,
                                            Executor& executor, RunControl& control) const {
  constexpr double kSmallStep = 1e-10;  // of the loss
  const std::size_t coordinate = fixed == Fixed::score   ? kScore
                                 : fixed == Fixed::match ? kMatch
                                                         : kNumFactors;
  Sums now = sums(theta, executor);
  for (int step = 0; step < kMaxNameSteps && control.proceed(); ++step) {
    const Factors direction = newton_direction(now.hessian, now.gradient, coordinate);
    double slope = 0;
    for (std::size_t i = 0; i < kNumFactors; ++i) slope += direction[i] * now.gradient[i];
    if (slope <= kSmallStep * std::max(now.loss, kSmallStep)) break;
    bool has_fallen = false;
    for (double length = 1; length > kSmallStep && !has_fallen && control.proceed(); length /= 2) {
      std::vector<double> next = theta;
      for (std::size_t i = 0; i < kNumFactors; ++i) next[i] -= length * direction[i];
      Sums there = sums(next, executor);
      has_fallen = there.loss < now.loss;
      if (!has_fallen) continue;
      theta = std::move(next);
      now = there;
    }
    if (!has_fallen) break;
  }
  return theta;
}

NameMatch HeldOutMatches::fit(Executor& executor, RunControl& control) const {
  if (rows_.empty()) return {};
  const std::vector<double> zero(kNumFactors, 0.0);
  std::vector<double> theta = maximum(zero, Fixed::none, executor, control);
  if (theta[kScore] <= 0) {
    // Names say all, as they may of a few rows; the scores, which are the unit of the weight, stay.
    std::vector<double> alone = maximum(zero, Fixed::match, executor, control);
    if (alone[kScore] <= 0) return {};
    alone[kScore] *= kLeastShare;
    theta = maximum(std::move(alone), Fixed::score, executor, control);
  }
  if (theta[kMatch] <= 0) return {};
  return {theta[kMatch] / theta[kScore], theta[kUnseen] / theta[kScore]};
}

}  // namespace margrove
