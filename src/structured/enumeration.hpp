#pragma once
// An oracle that lists every labelling. Others are tested against it, and it is the fastest exact
// one where labellings are few.

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "structured/oracle.hpp"

namespace margrove {

/// Compares two labellings as the contract of Oracle orders them: by value, then by its rules for
/// ties at a zero weight. Returns < 0 if a comes first, and 0 if the order of the list decides.
inline int compare_for_argmax(double w_m, double w_g, double a_m, double a_g, double b_m,
                              double b_g) {
  const double a = w_m * a_m + w_g * a_g, b = w_m * b_m + w_g * b_g;
  if (a != b) return a > b ? -1 : 1;
  const double first = w_m == 0 ? a_m - b_m : 0.0;
  const double second = w_g == 0 ? a_g - b_g : 0.0;
  const double tie = first != 0 ? first : second;
  return tie > 0 ? -1 : tie < 0 ? 1 : 0;
}

/// Calls cost O(labellings); k_best sorts, argmax_without also multiplies by the number of bans.
template <class Y>
class EnumerationOracle {
 public:
  using Labelling = Y;

  /// `labellings` in ascending order of y; truth is an index into it.
  EnumerationOracle(std::vector<Candidate<Y>> labellings, std::size_t truth)
      : labellings_(std::move(labellings)), truth_(truth) {}

  Candidate<Y> argmax(double w_m, double w_g) const {
    return *best_of(w_m, w_g, [](const Candidate<Y>&) { return true; });
  }
  Candidate<Y> truth() const { return labellings_[truth_]; }
  Candidate<Y> evaluate(const Y& y) const {
    return *std::find_if(labellings_.begin(), labellings_.end(),
                         [&](const Candidate<Y>& c) { return c.y == y; });
  }
  template <class Psi>
  std::pair<Candidate<Y>, double> maximise(const Psi& psi) const {
    std::pair<Candidate<Y>, double> best{truth(), 0.0};
    for (std::size_t k = 0; k < labellings_.size(); ++k) {
      if (k == truth_) continue;
      const double value = psi.value(labellings_[k].m, labellings_[k].g);
      if (value > best.second) best = {labellings_[k], value};
    }
    return best;
  }
  std::vector<Candidate<Y>> k_best(double w_m, double w_g, int k) const {
    std::vector<Candidate<Y>> sorted = labellings_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const Candidate<Y>& a, const Candidate<Y>& b) {
                       return compare_for_argmax(w_m, w_g, a.m, a.g, b.m, b.g) < 0;
                     });
    sorted.resize(std::min(sorted.size(), static_cast<std::size_t>(k)), labellings_.front());
    return sorted;
  }
  std::optional<Candidate<Y>> argmax_without(double w_m, double w_g,
                                             std::span<const Y> banned) const {
    return best_of(w_m, w_g, [&](const Candidate<Y>& c) {
      return std::find(banned.begin(), banned.end(), c.y) == banned.end();
    });
  }
  std::optional<Candidate<Y>> constrained_argmax(double w_m, double w_g,
                                                 const SlopeBounds& bounds) const {
    return best_of(w_m, w_g, [&](const Candidate<Y>& c) { return bounds.contain(1.0 + c.m, c.g); });
  }

  std::span<const Candidate<Y>> labellings() const { return labellings_; }

 private:
  template <class Admit>
  std::optional<Candidate<Y>> best_of(double w_m, double w_g, const Admit& admit) const {
    const Candidate<Y>* best = nullptr;
    for (const auto& c : labellings_) {
      if (!admit(c)) continue;
      if (!best || compare_for_argmax(w_m, w_g, c.m, c.g, best->m, best->g) < 0) best = &c;
    }
    return best ? std::optional(*best) : std::nullopt;
  }

  std::vector<Candidate<Y>> labellings_;
  std::size_t truth_;
};

}  // namespace margrove
