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

void append_words(const FieldShares& y, std::vector<std::uint32_t>& words) {
  words.push_back(static_cast<std::uint32_t>(y.labels.size()));
  for (const auto* shares : {&y.labels, &y.pairs}) {
    for (const float share : *shares) words.push_back(std::bit_cast<std::uint32_t>(share));
  }
}

bool read_words(std::span<const std::uint32_t> words, FieldShares& y) {
  if (words.empty() || words[0] > words.size() - 1) return false;
  const std::size_t size = words[0];
  y.labels.clear();
  y.pairs.clear();
  for (std::size_t k = 1; k < words.size(); ++k) {
    (k <= size ? y.labels : y.pairs).push_back(std::bit_cast<float>(words[k]));
  }
  return true;
}

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

// m and g of every label set. Those of S together with a label k that is larger than all of S
// follow from those of S.
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

std::span<const double> FieldOracle::loss_front(std::uint32_t) const {
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

// max w_m m + w_g g with a = g - lower h >= 0 and b = upper h - g >= 0, h = 1 + m. For a multiplier
// mu >= 0 of the bound that the unconstrained optimum violates, the Lagrangian w_m m + w_g g + mu a
// (or b) is again a weighted sum of m and g. mu approximately minimises its maximum. Branch and
// bound visits all labellings that its value does not exclude.
class FieldOracle::ConstrainedSearch {
 public:
  ConstrainedSearch(const FieldOracle& oracle, double w_m, double w_g, const SlopeBounds& bounds)
      : oracle_(oracle), w_m_(w_m), w_g_(w_g), bounds_(bounds), best_value_(bounds.floor) {}

  std::optional<Candidate<LabelVector>> run() {
    const auto free = ask(kNone, 0.0);
    double bound = oracle_.workspace_.dual.bound(), mu = 0.0;
    Side side = kNone;
    if (slack(free, kLower) < 0.0) side = kLower;
    if (std::isfinite(bounds_.upper) && slack(free, kUpper) < 0.0) side = kUpper;
    if (side != kNone) {
      mu = best_multiplier(side, bound);
      if (bound <= best_value_) return best_;
    }
    solve(side, mu);
    oracle_.search(
        Wanted::all, [this](const LabelVector& y) { visit(y); }, [this] { return best_value_; });
    return best_;
  }

 private:
  enum Side { kNone, kLower, kUpper };  // which bound the Lagrangian has

  void visit(const LabelVector& y) {
    auto c = oracle_.evaluate(y);
    const double value = w_m_ * c.m + w_g_ * c.g;
    if (!bounds_.contain(1.0 + c.m, c.g)) return;
    if (value > best_value_ || (value == best_value_ && best_ && is_lower(y, best_->y))) {
      best_value_ = value;
      best_ = std::move(c);
    }
  }
  void solve(Side side, double mu) const {
    if (side == kLower) {
      oracle_.solve(w_m_ - mu * bounds_.lower, w_g_ + mu, -mu * bounds_.lower);
    } else if (side == kUpper) {
      oracle_.solve(w_m_ + mu * bounds_.upper, w_g_ - mu, mu * bounds_.upper);
    } else {
      oracle_.solve(w_m_, w_g_);
    }
  }
  double slack(const Candidate<LabelVector>& c, Side side) const {
    const double h = 1.0 + c.m;
    return side == kLower ? c.g - bounds_.lower * h : bounds_.upper * h - c.g;
  }
  Candidate<LabelVector> ask(Side side, double mu) {
    solve(side, mu);
    const LabelVector y = oracle_.rounded();
    visit(y);
    return oracle_.evaluate(y);
  }
  /// `bound` becomes the smallest bound found. The bound is convex in mu. If the maximiser
  /// satisfies the constraint, mu is too large.
  double best_multiplier(Side side, double& bound) {
    double best_mu = 0.0, low = 0.0;
    double high = (w_m_ + w_g_) / (1.0 + (side == kLower ? bounds_.lower : bounds_.upper));
    bool bracketed = false;
    for (int step = 0; step < 24 && !(bracketed && high - low < 1e-3 * high); ++step) {
      const double mu = bracketed ? 0.5 * (low + high) : high;
      const auto c = ask(side, mu);
      if (oracle_.workspace_.dual.bound() < bound) {
        bound = oracle_.workspace_.dual.bound();
        best_mu = mu;
      }
      if (bound <= best_value_) break;
      if (slack(c, side) < 0.0) {
        low = mu;
        if (!bracketed) high *= 4.0;
      } else {
        high = mu;
        bracketed = true;
      }
    }
    return best_mu;
  }

  const FieldOracle& oracle_;
  double w_m_, w_g_;
  const SlopeBounds& bounds_;
  double best_value_;
  std::optional<Candidate<LabelVector>> best_;
};

std::optional<Candidate<LabelVector>> FieldOracle::constrained_argmax(
    double w_m, double w_g, const SlopeBounds& bounds) const {
  if (workspace_.unary.size() <= options_.max_tabulated) {
    return constrained_by_table(w_m, w_g, bounds);
  }
  return ConstrainedSearch(*this, w_m, w_g, bounds).run();
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

}  // namespace margrove
