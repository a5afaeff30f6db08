#include "outputs/field/pairwise_field.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
constexpr double kNothing = -std::numeric_limits<double>::infinity();
// A weight of 0 is replaced by this share of the other weight, so that it decides ties.
constexpr double kTieWeight = 1e-10;

bool is_lower(const LabelVector& a, const LabelVector& b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin());
  return x != a.end() && *x < *y;
}
}  // namespace

FieldOracle::FieldOracle(FieldWorkspace& workspace, std::span<const std::uint8_t> truth,
                         const FieldOptions& options)
    : workspace_(workspace), truth_(truth), options_(options) {
  const std::size_t K = workspace.unary.size();
  part_m_.per_label.assign(K, 0.0);
  part_g_.per_label.assign(K, 0.0);
  if (truth.empty()) return;
  for (std::size_t k = 0; k < K; ++k) {
    const bool is_in = truth[k] != 0;
    const PartCriteria zero = part_criteria(options.criteria, false, is_in, !is_in);
    const PartCriteria one = part_criteria(options.criteria, true, is_in, is_in);
    part_m_.constant += zero.constant;
    part_g_.constant += zero.g;
    part_m_.per_label[k] = one.constant - zero.constant;
    part_g_.per_label[k] = one.g - zero.g;
  }
  truth_score_ = score(truth);
}

double FieldOracle::score(std::span<const std::uint8_t> y) const {
  const std::size_t K = y.size();
  double sum = workspace_.constant;
  for (std::size_t k = 0; k < K; ++k) {
    if (!y[k]) continue;
    sum += workspace_.unary[k];
    for (std::size_t l = k + 1; l < K; ++l) {
      if (y[l]) sum += workspace_.interactions[k * K + l];
    }
  }
  return sum;
}

Candidate<LabelVector> FieldOracle::evaluate(const LabelVector& y) const {
  double constant = part_m_.constant, g = part_g_.constant;
  for (std::size_t k = 0; k < y.size(); ++k) {
    constant += y[k] * part_m_.per_label[k];
    g += y[k] * part_g_.per_label[k];
  }
  return {y, score(y) - truth_score_ + constant, g, constant};
}

void FieldOracle::neighbours(const LabelVector& y, std::vector<CandidateCriteria>& places) const {
  const auto& w = workspace_;
  const std::size_t K = y.size();
  std::vector<double> gain(w.unary);  // of y_k = 1 against 0
  double value = w.constant - truth_score_, constant = part_m_.constant, g = part_g_.constant;
  for (std::size_t l = 0; l < K; ++l) {
    if (!y[l]) continue;
    value += gain[l];  // beside the labels before l
    constant += part_m_.per_label[l];
    g += part_g_.per_label[l];
    for (std::size_t k = 0; k < K; ++k) gain[k] += w.interactions[l * K + k];
  }
  places.resize(K);
  for (std::size_t k = 0; k < K; ++k) {
    const double sign = y[k] ? -1.0 : 1.0, moved = constant + sign * part_m_.per_label[k];
    places[k] = {value + sign * gain[k] + moved, g + sign * part_g_.per_label[k], moved};
  }
}

LabelVector FieldOracle::neighbour(LabelVector y, std::size_t k) const {
  y[k] ^= 1;
  return y;
}

Candidate<LabelVector> FieldOracle::truth() const {
  return evaluate(LabelVector(truth_.begin(), truth_.end()));
}

// The roof dual of w_m m(y) + w_g g(y) + w_constant.
void FieldOracle::solve(double w_m, double w_g, double w_constant) const {
  auto& w = workspace_;
  const std::size_t K = w.unary.size();
  w.scaled_unary.resize(K);
  w.scaled_interactions.resize(K * K);
  for (std::size_t k = 0; k < K; ++k) {
    w.scaled_unary[k] = w_m * (w.unary[k] + part_m_.per_label[k]) + w_g * part_g_.per_label[k];
  }
  for (std::size_t j = 0; j < K * K; ++j) w.scaled_interactions[j] = w_m * w.interactions[j];
  const double constant =
      w_m * (w.constant - truth_score_ + part_m_.constant) + w_g * part_g_.constant + w_constant;
  w.dual.solve(constant, w.scaled_unary, w.scaled_interactions);
}

// Calls visit(y) for every labelling that may exceed threshold().
template <class Visit>
void FieldOracle::search(Wanted wanted, const Visit& visit,
                         const std::function<double()>& threshold) const {
  const bool complete = branch(workspace_.dual, options_.max_nodes, wanted, threshold,
                               [&](const LabelVector& y, double) { visit(y); });
  is_exact_ = is_exact_ && complete;
}

// Takes the persistent labels, sets the others by the sign of their gain, and then flips single
// labels while that raises the value.
LabelVector FieldOracle::rounded() const {
  const auto& w = workspace_;
  const std::size_t K = w.unary.size();
  LabelVector y(K);
  for (std::size_t k = 0; k < K; ++k) {
    const auto fixed = w.dual.persistent()[k];
    y[k] = fixed >= 0 ? static_cast<std::uint8_t>(fixed) : (w.scaled_unary[k] > 0.0 ? 1 : 0);
  }
  std::vector<double> gain(w.scaled_unary);  // of y_k = 1 against 0
  for (std::size_t l = 0; l < K; ++l) {
    if (!y[l]) continue;
    for (std::size_t k = 0; k < K; ++k) gain[k] += w.scaled_interactions[l * K + k];
  }
  for (std::size_t step = 0; step < 10 * K; ++step) {
    std::size_t flip = K;
    double best = 1e-12;
    for (std::size_t k = 0; k < K; ++k) {
      const double change = y[k] ? -gain[k] : gain[k];
      if (change > best) {
        best = change;
        flip = k;
      }
    }
    if (flip == K) break;
    y[flip] ^= 1;
    const double sign = y[flip] ? 1.0 : -1.0;
    for (std::size_t l = 0; l < K; ++l) {
      if (l != flip) gain[l] += sign * w.scaled_interactions[flip * K + l];
    }
  }
  return y;
}

std::vector<Candidate<LabelVector>> FieldOracle::k_best(double w_m, double w_g, int k) const {
  if (w_m == 0.0) w_m = kTieWeight * w_g;
  if (w_g == 0.0) w_g = kTieWeight * w_m;
  solve(w_m, w_g);
  std::vector<std::pair<double, Candidate<LabelVector>>> best;
  const auto limit = static_cast<std::size_t>(k);
  const auto visit = [&](const LabelVector& y) {
    auto c = evaluate(y);
    const double value = w_m * c.m + w_g * c.g;
    auto at = std::find_if(best.begin(), best.end(), [&](const auto& other) {
      return value > other.first || (value == other.first && is_lower(y, other.second.y));
    });
    if (std::any_of(best.begin(), best.end(), [&](const auto& o) { return o.second.y == y; })) {
      return;
    }
    best.insert(at, {value, std::move(c)});
    if (best.size() > limit) best.pop_back();
  };
  visit(rounded());
  search(limit == 1 ? Wanted::one_best : Wanted::all, visit,
         [&] { return best.size() < limit ? kNothing : best.back().first; });
  std::vector<Candidate<LabelVector>> result;
  for (auto& [value, candidate] : best) result.push_back(std::move(candidate));
  return result;
}

Candidate<LabelVector> FieldOracle::argmax(double w_m, double w_g) const {
  return std::move(k_best(w_m, w_g, 1).front());
}

LabelVector FieldOracle::decode() const { return k_best(1.0, 0.0, 1).front().y; }

std::optional<Candidate<LabelVector>> FieldOracle::argmax_without(
    double w_m, double w_g, std::span<const LabelVector> banned) const {
  for (auto& y : k_best(w_m, w_g, static_cast<int>(banned.size()) + 1)) {
    if (std::find(banned.begin(), banned.end(), y.y) == banned.end()) return y;
  }
  return std::nullopt;
}

// m and g of every label set; those of S with a label k above all of S follow from those of S.
void FieldOracle::tabulate() const {
  auto& w = workspace_;
  const std::size_t K = w.unary.size(), size = std::size_t{1} << K;
  w.table_m.resize(size);
  w.table_g.resize(size);
  w.table_m[0] = w.constant - truth_score_ + part_m_.constant;
  w.table_g[0] = part_g_.constant;
  std::vector<double> pairs(size / 2 + 1);
  for (std::size_t k = 0; k < K; ++k) {
    const std::size_t half = std::size_t{1} << k;
    const double unary = w.unary[k] + part_m_.per_label[k];
    pairs[0] = 0.0;
    for (std::size_t set = 0; set < half; ++set) {
      if (set > 0) {
        const auto lowest = static_cast<std::size_t>(std::countr_zero(set));
        pairs[set] = pairs[set & (set - 1)] + w.interactions[k * K + lowest];
      }
      w.table_m[half + set] = w.table_m[set] + unary + pairs[set];
      w.table_g[half + set] = w.table_g[set] + part_g_.per_label[k];
    }
  }
}

std::span<const double> FieldOracle::loss_front() const {
  auto& w = workspace_;
  if (w.table_m.empty()) tabulate();
  w.front.assign(w.unary.size() + 1, kNothing);
  for (std::size_t set = 0; set < w.table_m.size(); ++set) {
    double& best = w.front[static_cast<std::size_t>(w.table_g[set])];
    best = std::max(best, w.table_m[set]);
  }
  return w.front;
}

Candidate<LabelVector> FieldOracle::at_loss(std::uint32_t g) const {
  const auto& w = workspace_;
  std::size_t set = 0;
  while (w.table_g[set] != g || w.table_m[set] != w.front[g]) ++set;
  return evaluate(listed(set));
}

LabelVector FieldOracle::listed(std::size_t set) const {
  LabelVector y(workspace_.unary.size());
  for (std::size_t k = 0; k < y.size(); ++k) y[k] = (set >> k) & 1U;
  return y;
}

std::optional<Candidate<LabelVector>> FieldOracle::constrained_by_table(
    double w_m, double w_g, const SlopeBounds& bounds) const {
  const auto& w = workspace_;
  if (w.table_m.empty()) tabulate();
  double best = bounds.floor;
  std::size_t best_set = w.table_m.size();
  for (std::size_t set = 0; set < w.table_m.size(); ++set) {
    const double value = w_m * w.table_m[set] + w_g * w.table_g[set];
    if (value <= best || !bounds.contain(1.0 + w.table_m[set], w.table_g[set])) continue;
    best = value;
    best_set = set;
  }
  if (best_set == w.table_m.size()) return std::nullopt;
  return evaluate(listed(best_set));
}

// Maximises w_m m + w_g g subject to a = g - lower h >= 0 and b = upper h - g >= 0, h = 1 + m. With
// a multiplier mu >= 0 for the constraint that the unconstrained optimum violates, the Lagrangian
// w_m m + w_g g + mu a (or mu b) is again a weighted sum of m and g. mu is chosen so that its
// maximum is about smallest; branch and bound then visits all labellings that it does not rule out.
std::optional<Candidate<LabelVector>> FieldOracle::constrained_argmax(
    double w_m, double w_g, const SlopeBounds& bounds) const {
  if (workspace_.unary.size() <= options_.max_tabulated) {
    return constrained_by_table(w_m, w_g, bounds);
  }
  const bool has_upper = std::isfinite(bounds.upper);
  std::optional<Candidate<LabelVector>> best;
  double best_value = bounds.floor;
  const auto visit = [&](const LabelVector& y) {
    auto c = evaluate(y);
    const double value = w_m * c.m + w_g * c.g;
    if (!bounds.contain(1.0 + c.m, c.g)) return;
    if (value > best_value || (value == best_value && best && is_lower(y, best->y))) {
      best_value = value;
      best = std::move(c);
    }
  };
  // Weights of the Lagrangian. side: 0 no constraint, +1 the lower bound, -1 the upper bound.
  struct Weights {
    double m, g, constant;
  };
  const auto weights = [&](int side, double mu) {
    if (side > 0) return Weights{w_m - mu * bounds.lower, w_g + mu, -mu * bounds.lower};
    if (side < 0) return Weights{w_m + mu * bounds.upper, w_g - mu, mu * bounds.upper};
    return Weights{w_m, w_g, 0.0};
  };
  const auto slack = [&](const Candidate<LabelVector>& c, int side) {
    const double h = 1.0 + c.m;
    return side > 0 ? c.g - bounds.lower * h : bounds.upper * h - c.g;
  };
  const auto ask = [&](int side, double mu) {
    const Weights v = weights(side, mu);
    solve(v.m, v.g, v.constant);
    auto y = rounded();
    visit(y);
    return evaluate(y);
  };
  const auto free = ask(0, 0.0);
  int side = 0;
  if (slack(free, 1) < 0.0) side = 1;
  if (has_upper && slack(free, -1) < 0.0) side = -1;
  double best_mu = 0.0, best_bound = workspace_.dual.bound();
  if (side != 0) {
    // The maximum is convex in mu. If its maximiser meets the constraint, mu is too large.
    const double unit = (w_m + w_g) / (1.0 + (side > 0 ? bounds.lower : bounds.upper));
    double low = 0.0, high = unit;
    bool bracketed = false;
    for (int step = 0; step < 24; ++step) {
      const double mu = bracketed ? 0.5 * (low + high) : high;
      const auto c = ask(side, mu);
      if (workspace_.dual.bound() < best_bound) {
        best_bound = workspace_.dual.bound();
        best_mu = mu;
      }
      if (best_bound <= best_value) return best;
      if (slack(c, side) < 0.0) {
        low = mu;
        if (!bracketed) high *= 4.0;
      } else {
        high = mu;
        bracketed = true;
      }
      if (bracketed && high - low < 1e-3 * high) break;
    }
  }
  const Weights v = weights(side, best_mu);
  solve(v.m, v.g, v.constant);
  search(Wanted::all, visit, [&] { return best_value; });
  return best;
}

Candidate<FieldShares> FieldOracle::relaxed_argmax(double w_m, double w_g) const {
  if (w_m == 0.0) w_m = kTieWeight * w_g;
  if (w_g == 0.0) w_g = kTieWeight * w_m;
  solve(w_m, w_g);
  const auto& w = workspace_;
  const std::size_t K = w.unary.size();
  FieldShares y;
  y.labels.resize(K);
  y.pairs.reserve(K * (K - 1) / 2);
  for (std::size_t k = 0; k < K; ++k) {
    const auto fixed = w.dual.persistent()[k];
    y.labels[k] = fixed < 0 ? 0.5F : static_cast<float>(fixed);
  }
  for (std::size_t k = 0; k < K; ++k) {
    for (std::size_t l = k + 1; l < K; ++l) {
      const float a = y.labels[k], b = y.labels[l];
      const bool attracts = w.scaled_interactions[k * K + l] > 0.0;
      y.pairs.push_back(attracts ? std::min(a, b) : std::max(0.0F, a + b - 1.0F));
    }
  }
  return evaluate(y);
}

Candidate<FieldShares> FieldOracle::evaluate(const FieldShares& y) const {
  const auto& w = workspace_;
  const std::size_t K = w.unary.size();
  double constant = part_m_.constant, g = part_g_.constant, score = w.constant;
  for (std::size_t k = 0, pair = 0; k < K; ++k) {
    const auto y_k = static_cast<double>(y.labels[k]);
    constant += y_k * part_m_.per_label[k];
    g += y_k * part_g_.per_label[k];
    score += y_k * w.unary[k];
    for (std::size_t l = k + 1; l < K; ++l, ++pair) {
      score += static_cast<double>(y.pairs[pair]) * w.interactions[k * K + l];
    }
  }
  return {y, score - truth_score_ + constant, g, constant};
}

FieldModel::FieldModel(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                       FieldOptions options)
    : X_(X),
      num_labels_(num_labels),
      options_(options),
      squared_norms_(margrove::squared_norms(X)) {
  require(labels.num_rows() == X.num_rows(), "field model: there are ", labels.num_rows(),
          " label sets, but ", X.num_rows(), " rows; there must be one per row");
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    LabelVector y(num_labels, 0);
    for (const LabelId l : labels[i]) {
      require(l < num_labels, "field model: a label of row ", i, " is ", l, ", but must be < ",
              num_labels);
      y[l] = 1;
    }
    truth_.push_back(std::move(y));
  }
}

void score_field(const SparseRow& x, std::size_t num_features, std::uint32_t num_labels,
                 ScaledWeights w, FieldWorkspace& workspace, double pair_scale) {
  const std::size_t K = num_labels;
  workspace.table_m.clear();
  workspace.unary.assign(K, 0.0);
  for (std::size_t j = 0; j < x.size() && x.columns[j] < num_features; ++j) {
    const double value = w.scale * static_cast<double>(x.values[j]);
    const auto weights = w.values.subspan(x.columns[j] * K, K);
    for (std::size_t k = 0; k < K; ++k) {
      workspace.unary[k] += value * static_cast<double>(weights[k]);
    }
  }
  // theta(a, b) = t00 + a (t10 - t00) + b (t01 - t00) + a b (t11 - t10 - t01 + t00)
  workspace.interactions.assign(K * K, 0.0);
  workspace.constant = 0.0;
  const double scale = w.scale * pair_scale;
  std::size_t at = num_features * K;
  for (std::size_t k = 0; k < K; ++k) {
    for (std::size_t l = k + 1; l < K; ++l, at += 4) {
      const double t00 = scale * static_cast<double>(w.values[at]);
      const double t01 = scale * static_cast<double>(w.values[at + 1]);
      const double t10 = scale * static_cast<double>(w.values[at + 2]);
      const double t11 = scale * static_cast<double>(w.values[at + 3]);
      workspace.constant += t00;
      workspace.unary[k] += t10 - t00;
      workspace.unary[l] += t01 - t00;
      workspace.interactions[k * K + l] = workspace.interactions[l * K + k] = t11 - t10 - t01 + t00;
    }
  }
}

FieldOracle FieldModel::oracle(std::size_t i, ScaledWeights w, FieldWorkspace& workspace) const {
  score_field(X_.row(i), X_.num_columns(), num_labels_, w, workspace, options_.pair_scale);
  return {workspace, truth_[i], options_};
}

void FieldModel::difference(std::size_t i, const LabelVector& y, SparseVector& difference) const {
  const std::uint64_t K = num_labels_;
  const LabelVector& truth = truth_[i];
  const SparseRow x = X_.row(i);
  for (std::size_t k = 0; k < K; ++k) {
    if (y[k] == truth[k]) continue;
    const float sign = y[k] ? 1.0F : -1.0F;
    for (std::size_t j = 0; j < x.size(); ++j) {
      difference.add(x.columns[j] * K + k, sign * x.values[j]);
    }
  }
  const auto pair = static_cast<float>(options_.pair_scale);
  std::uint64_t at = X_.num_columns() * K;
  for (std::size_t k = 0; k < K; ++k) {
    for (std::size_t l = k + 1; l < K; ++l, at += 4) {
      const auto now = static_cast<std::uint64_t>(2 * y[k] + y[l]);
      const auto before = static_cast<std::uint64_t>(2 * truth[k] + truth[l]);
      if (now == before) continue;
      difference.add(at + now, pair);
      difference.add(at + before, -pair);
    }
  }
}

void FieldModel::margins(std::size_t i, std::span<const LabelVector> labellings, ScaledWeights w,
                         FieldWorkspace& workspace, std::span<double> margins) const {
  const FieldOracle scores = oracle(i, w, workspace);
  for (std::size_t k = 0; k < labellings.size(); ++k) {
    const auto place = scores.evaluate(labellings[k]);
    margins[k] = place.m - place.constant;
  }
}

// <phi(x, y), phi(x, z)> = ||x||^2 |y n z| + pair_scale^2 times the number of pairs of labels with
// the same two values in y and z.
void FieldModel::difference_products(std::size_t i, std::span<const LabelVector> labellings,
                                     std::span<double> products) const {
  const std::size_t size = labellings.size();
  const double of_pair = options_.pair_scale * options_.pair_scale;
  const auto product = [&](const LabelVector& y, const LabelVector& z) {
    std::size_t both = 0, same = 0;
    for (std::size_t k = 0; k < num_labels_; ++k) {
      both += y[k] & z[k];
      same += y[k] == z[k];
    }
    return squared_norms_[i] * static_cast<double>(both) +
           0.5 * of_pair * static_cast<double>(same) * (static_cast<double>(same) - 1.0);
  };
  const LabelVector& truth = truth_[i];
  const double of_truth = product(truth, truth);
  std::vector<double> with_truth;
  for (const LabelVector& y : labellings) with_truth.push_back(product(y, truth));
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k <= j; ++k) {
      products[j * size + k] = products[k * size + j] =
          product(labellings[j], labellings[k]) - with_truth[j] - with_truth[k] + of_truth;
    }
  }
}

void FieldModel::add_differences(std::size_t i, std::span<const LabelVector> labellings,
                                 std::span<const double> coefficients, FieldWorkspace& workspace,
                                 std::span<float> w) const {
  const std::size_t K = num_labels_, first_pair = X_.num_columns() * K;
  const LabelVector& truth = truth_[i];
  const auto of_pair = [&](std::size_t k, std::size_t l) {  // k < l
    return first_pair + 4 * (k * K - k * (k + 1) / 2 + l - k - 1);
  };
  std::vector<double>& total = workspace.unary;
  total.assign(K, 0.0);
  std::vector<std::size_t> changed;
  for (std::size_t j = 0; j < labellings.size(); ++j) {
    if (coefficients[j] == 0.0) continue;
    const LabelVector& y = labellings[j];
    const auto c = static_cast<float>(options_.pair_scale * coefficients[j]);
    for (std::size_t k = 0; k < K; ++k) {
      if (y[k] == truth[k]) continue;
      total[k] += y[k] ? coefficients[j] : -coefficients[j];
      for (std::size_t l = 0; l < K; ++l) {
        if (l == k || (l < k && y[l] != truth[l])) continue;  // such a pair was handled at l
        const std::size_t low = std::min(k, l), high = std::max(k, l), at = of_pair(low, high);
        w[at + 2 * y[low] + y[high]] += c;
        w[at + 2 * truth[low] + truth[high]] -= c;
      }
    }
  }
  for (std::size_t k = 0; k < K; ++k) {
    if (total[k] != 0.0) changed.push_back(k);
  }
  const SparseRow x = X_.row(i);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double value = static_cast<double>(x.values[j]);
    float* weights = &w[x.columns[j] * K];
    for (const std::size_t k : changed) weights[k] += static_cast<float>(value * total[k]);
  }
}

}  // namespace margrove
