#pragma once
// A starting point for the dual of multi-label fields, from one-vs-rest.

#include <cstdint>
#include <vector>

#include "linear/one_vs_rest.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "structured/structured_fit.hpp"

namespace margrove {

/// Dual variables of margin rescaling with Hamming loss, one mixture per row. They would be optimal
/// if the field had no interactions. It would then be one-vs-rest with hinge loss: a_ik in [0, C]
/// is the dual variable of a wrong value of label k, and the pairs only add K - 1 intercepts per
/// label. The mixture of row i consists of nested label sets: in the j-th, the j labels with the
/// largest a_ik are wrong. Its marginals are the a_ik, and of all mixtures with these marginals it
/// changes each interaction least. options: C and how one-vs-rest is solved; the loss is the hinge.
/// Throws what train_one_vs_rest() throws.
std::vector<Mixture<LabelVector>> field_start(const CsrView& X, const LabelSets& labels,
                                              std::uint32_t num_labels, double pair_scale,
                                              const OneVsRestOptions& options, Executor& executor,
                                              RunControl& control);

}  // namespace margrove
