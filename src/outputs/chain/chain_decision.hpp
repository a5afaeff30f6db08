#pragma once
// The offset of tags that are not outside: the number that is added to the score of each.

#include "base/memory_estimate.hpp"
#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_codec.hpp"
#include "model/decision.hpp"
#include "outputs/chain/chain.hpp"
#include "outputs/chain/chain_output.hpp"
#include "outputs/chain/column_reader.hpp"

namespace margrove {

struct ChainDecision {
  Decision rule;  // argmax or an offset
  std::uint32_t outside_tag = 0;
};

/// What the options ask for. `automatic` is the offset if the tags stand for spans and one of them
/// is O, otherwise argmax. The outside tag is O or, without one, the most frequent tag. The offset
/// is tuned by tuned_offset() for the F1 of spans or, if the tags are not of spans or the metric is
/// accuracy, for the share of right tags; with fewer than two sequences it is 0. Throws
/// InvalidOption for another metric.
ChainDecision chain_decision(const StructuredOptions& options, const SequenceData& data,
                             const LabelCodec& tags, Executor& executor, RunControl& control);

/// The memory that tuning and the training after it take, if one training takes `training` and the
/// rows of all tokens take row_bytes.
MemoryEstimate chain_decision_memory(const StructuredOptions& options, const ColumnCorpus& corpus,
                                     double row_bytes, MemoryEstimate training);

}  // namespace margrove
