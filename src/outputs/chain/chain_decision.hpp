#pragma once
// The offset of chains: a number that is added to the score of every tag except the outside tag.

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
  TagConstraints constraints = {};  // under which the offset was tuned
};

/// Whether the tags stand for spans, and one of them, O, for none.
bool have_spans(const LabelCodec& tags);

/// The decision that the options name. `automatic` is the offset if the tags stand for spans and
/// one of them is O, otherwise argmax. The outside tag is O or, if there is none, the most frequent
/// tag. tuned_offset() tunes the offset for the F1 of spans. It tunes for the share of right tags
/// if the tags do not stand for spans or the metric is accuracy, under the constraints. With fewer
/// than two sequences the offset is 0. Throws InvalidOption for another metric.
ChainDecision chain_decision(const ChainSvmOptions& options, const SequenceData& data,
                             const LabelCodec& tags, Executor& executor, RunControl& control);

/// The memory that tuning and the training after it take, if one training takes `training` and the
/// rows of all tokens take row_bytes.
MemoryEstimate chain_decision_memory(const StructuredOptions& options, const ColumnCorpus& corpus,
                                     double row_bytes, MemoryEstimate training);

}  // namespace margrove
