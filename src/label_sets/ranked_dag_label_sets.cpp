#include "label_sets/ranked_dag_label_sets.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace margrove {

RankedDagLabelSets::RankedDagLabelSets(const LabelSetInference& inference,
                                       std::span<const NodeId> leaves, const NodeLists& above,
                                       std::span<const double> scores,
                                       LabelSetInference::Workspace& workspace)
    : inference_(inference),
      leaves_(leaves),
      above_(above),
      scores_(scores),
      workspace_(workspace),
      rewards_(scores.begin(), scores.end()) {
  for (const double score : scores) largest_difference_ += std::abs(score);
  add(0, {});
}

bool RankedDagLabelSets::next(std::vector<NodeId>& nodes) {
  if (last_) split(*last_);
  last_.reset();
  if (parts_.empty()) return false;
  std::pop_heap(parts_.begin(), parts_.end(), comes_later);
  last_ = std::move(parts_.back());
  parts_.pop_back();
  nodes = last_->best;
  return true;
}

void RankedDagLabelSets::split(const Part& part) {
  std::vector<char> fixed(leaves_.size(), 0);
  for (std::size_t l = 0; l < leaves_.size(); ++l) {
    fixed[l] = std::binary_search(part.best.begin(), part.best.end(), leaves_[l]) ? 1 : 0;
  }
  rewards_.assign(scores_.begin(), scores_.end());
  for (std::size_t l = 0; l < part.num_fixed; ++l) fix(l, fixed[l] != 0);
  for (std::size_t l = part.num_fixed; l < leaves_.size(); ++l) {
    const char kept = fixed[l];
    fixed[l] = kept != 0 ? 0 : 1;
    fix(l, fixed[l] != 0);
    add(l + 1, fixed);
    fixed[l] = kept;
    fix(l, kept != 0);
  }
}

// A leaf comes with the missing nodes above it, so that a reward that is larger than all they can
// cost takes it into every best label set. A cost that is larger than the difference of any two
// label sets keeps it out, unless only the empty set is left.
void RankedDagLabelSets::fix(std::size_t leaf, bool is_in) {
  const NodeId l = leaves_[leaf];
  double sum = 1.0;
  if (is_in) {
    for (const NodeId n : above_[l]) sum += std::max(0.0, -scores_[n]);
  } else {
    sum += largest_difference_;
  }
  rewards_[l] = scores_[l] + (is_in ? sum : -sum);
}

void RankedDagLabelSets::add(std::size_t num_fixed, std::span<const char> fixed) {
  Part part{0.0, num_fixed, {}};
  inference_.best(rewards_, workspace_, part.best);
  for (std::size_t l = 0; l < num_fixed; ++l) {
    const bool is_in = std::binary_search(part.best.begin(), part.best.end(), leaves_[l]);
    if (is_in != (fixed[l] != 0)) return;  // only the empty set has these leaves
  }
  for (const NodeId n : part.best) part.score += scores_[n];
  parts_.push_back(std::move(part));
  std::push_heap(parts_.begin(), parts_.end(), comes_later);
}

}  // namespace margrove
