#pragma once
// A dual start for multi-label fields from one-vs-rest.

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

/// Dual variables of margin rescaling with Hamming loss that are optimal but for the field's
/// interactions, one mixture per row. Without these the dual is one-vs-rest hinge, where a_ik in
/// [0, C] stands for the wrong value of label k: the pairs' remaining parts are K - 1 more
/// intercepts a label. Row i's a_ik become the marginals of nested label sets, the j-th with the j
/// labels of largest a_ik wrong; of all mixtures with these marginals the nested ones move each
/// interaction least. Options: C and how one-vs-rest is solved; hinge. Throws what
/// train_one_vs_rest() does.
std::vector<Mixture<LabelVector>> field_start(const CsrView& X, const LabelSets& labels,
                                              std::uint32_t num_labels, double pair_scale,
                                              const OneVsRestOptions& options, Executor& executor,
                                              RunControl& control);

}  // namespace margrove
