#include "outputs/field/field_start.hpp"

#include <algorithm>
#include <cmath>

#include "data/csr_operations.hpp"

namespace margrove {
namespace {

struct WrongLabel {
  LabelId label;
  double dual;  // a_ik
};

// The mixture of nested sets around `truth` whose marginals are the duals.
Mixture<LabelVector> nested_sets(LabelVector truth, std::vector<WrongLabel>& wrong) {
  std::stable_sort(wrong.begin(), wrong.end(),
                   [](const WrongLabel& a, const WrongLabel& b) { return a.dual > b.dual; });
  Mixture<LabelVector> mixture;
  for (std::size_t j = 0; j < wrong.size(); ++j) {
    truth[wrong[j].label] ^= 1;
    const double weight = wrong[j].dual - (j + 1 < wrong.size() ? wrong[j + 1].dual : 0.0);
    if (weight <= 0.0) continue;
    mixture.labellings.push_back(truth);
    mixture.weights.push_back(weight);
  }
  return mixture;
}

}  // namespace

std::vector<Mixture<LabelVector>> field_start(const CsrView& X, const LabelSets& labels,
                                              std::uint32_t num_labels, double pair_scale,
                                              const OneVsRestOptions& options, Executor& executor,
                                              RunControl& control) {
  // The indicator of a value of (y_k, y_l) is (1 +- s_k +- s_l +- s_k s_l) / 4 with signs s = 2 y
  // - 1. Without the product, the K - 1 pairs of label k are as many intercepts.
  const double intercept = pair_scale * std::sqrt(static_cast<double>(num_labels) - 1.0);
  const CsrMatrix with_pairs = with_intercept(X, intercept);
  OneVsRestExtras extras;
  extras.keep_duals = true;
  const OneVsRestFit fit =
      train_one_vs_rest(with_pairs, labels, num_labels, options, executor, control, extras);
  std::vector<std::vector<WrongLabel>> wrong(X.num_rows());
  for (LabelId k = 0; k < num_labels; ++k) {
    for (std::size_t j = 0; j < fit.duals[k].rows.size(); ++j) {
      wrong[fit.duals[k].rows[j]].push_back({k, fit.duals[k].values[j]});
    }
  }
  std::vector<Mixture<LabelVector>> start(X.num_rows());
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    LabelVector truth(num_labels, 0);
    for (const LabelId l : labels[i]) truth[l] = 1;
    start[i] = nested_sets(std::move(truth), wrong[i]);
  }
  return start;
}

}  // namespace margrove
