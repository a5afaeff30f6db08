#pragma once
// Solves the linear relaxation of a core by maximum closures where these suffice.

#include <cstdint>
#include <span>
#include <vector>

#include "label_sets/label_set_core.hpp"
#include "numerics/max_closure.hpp"

namespace margrove::detail {

/// A Lagrangian bound on the linear relaxation. The constraint that a node needs a child is
/// dropped, which leaves a maximum closure. The multiplier shift_k of the dropped constraint lowers
/// the weight of k and raises those of its children; dual ascent on the flow raises the
/// multipliers.
class ClosureRelaxation {
 public:
  /// Returns true if a label set attains the bound; it is then an optimum of the relaxation, too.
  /// The core must outlive the calls of selected() and uses_reserve().
  bool settle(const LabelSetCore& core);
  /// The value of the best label set found.
  double value() const { return best_value_; }
  /// No point of the relaxation is worth more.
  double bound() const { return bound_; }
  bool selected(std::uint32_t k) const { return best_[k] != 0; }
  /// Whether node k is selected and completed by its reserve.
  bool uses_reserve(std::uint32_t k) const {
    return best_[k] && !core_->grounded[k] && !has_selected_child(best_, k);
  }

 private:
  void start(const LabelSetCore& core);
  void penalise();
  void take_closure();
  void tighten(double& value);
  double raise_shift(std::uint32_t k, double amount);
  double absorb(std::uint32_t c, double amount);
  void complete_by_weights();
  void complete_by_reduced_costs();
  void ground(std::uint32_t k, std::span<const double> worth);
  void keep_if_best();
  void add_with_ancestors(std::uint32_t k);
  bool has_selected_child(std::span<const char> z, std::uint32_t k) const;

  const LabelSetCore* core_ = nullptr;
  double best_value_ = 0, bound_ = 0, tolerance_ = 0;
  std::vector<char> best_, z_, active_, positive_below_;
  std::vector<double> penalised_, shift_, saved_shift_, reduced_;
  std::vector<double> down_;  // value of a node and the best path below it
  std::vector<std::uint32_t> stack_;
  MaxClosure closure_;
};

}  // namespace margrove::detail
