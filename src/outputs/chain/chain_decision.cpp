#include "outputs/chain/chain_decision.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "model/offset_tuning.hpp"
#include "outputs/chain/sequence_metrics.hpp"

namespace margrove {
namespace {

bool is_tuned(const StructuredOptions& options, const LabelCodec& tags) {
  if (options.decision != DecisionKind::automatic) return options.decision == DecisionKind::offset;
  return have_spans(tags);
}

std::uint32_t outside_tag(const SequenceData& data, const LabelCodec& tags) {
  if (const auto outside = tags.find("O")) return *outside;
  std::vector<std::size_t> counts(data.num_tags, 0);
  for (const std::uint32_t tag : data.tags) ++counts[tag];
  return static_cast<std::uint32_t>(std::max_element(counts.begin(), counts.end()) -
                                    counts.begin());
}

/// Held-out sequences under a model of the others.
class ChainSearch final : public OffsetSearch {
 public:
  struct Shared {
    SequenceData data;
    ChainShape shape;
    std::vector<float> weights;
    std::uint32_t outside_tag;
    TagConstraints constraints;
  };
  explicit ChainSearch(std::shared_ptr<const Shared> shared) : shared_(std::move(shared)) {}

  void start(std::size_t held_out) override {
    const SequenceData& data = shared_->data;
    score_chain(data.X, data.pointers[held_out], data.pointers[held_out + 1], shared_->shape,
                {shared_->weights, 1.0}, workspace_);
    emissions_ = workspace_.emissions;
  }
  OffsetAnswer best(double offset) override {
    const std::uint32_t outside = shared_->outside_tag;
    OffsetAnswer answer;
    workspace_.emissions = emissions_;
    answer.score = best_tags(workspace_, shared_->data.num_tags,
                             {offset, outside, &shared_->constraints}, answer.labels);
    answer.count = static_cast<std::uint32_t>(std::ssize(answer.labels) -
                                              std::ranges::count(answer.labels, outside));
    return answer;
  }

 private:
  std::shared_ptr<const Shared> shared_;
  ChainWorkspace workspace_;
  std::vector<double> emissions_;  // without an offset
};

Overlap right_tags(AnsweredSet truth, AnsweredSet answer) {
  Overlap sizes{.answered = static_cast<double>(answer.size()),
                .wanted = static_cast<double>(truth.size())};
  for (std::size_t t = 0; t < truth.size(); ++t) sizes.common += truth[t] == answer[t] ? 1.0 : 0.0;
  return sizes;
}

Overlap right_spans(AnsweredSet truth, AnsweredSet answer, const LabelCodec& tags) {
  const auto spans = [&](AnsweredSet y) {
    std::vector<std::string_view> names;
    for (const std::uint32_t tag : y) names.push_back(tags.name(tag));
    return spans_of(names);
  };
  const std::vector<Span> expected = spans(truth), found = spans(answer);
  Overlap sizes{.answered = static_cast<double>(found.size()),
                .wanted = static_cast<double>(expected.size())};
  for (const Span& span : found) {
    sizes.common += std::ranges::binary_search(expected, span) ? 1.0 : 0.0;
  }
  return sizes;
}

std::unique_ptr<AnswerMetric> metric_of(DecisionMetric metric, const SequenceData& data,
                                        const LabelCodec& tags) {
  if (metric == DecisionMetric::micro_f1 && are_span_tags(tags.names())) {
    return pooled_f1(
        [&](std::size_t i, AnsweredSet y) { return right_spans(data.tags_of(i), y, tags); }, {});
  }
  return pooled_f1([&](std::size_t i, AnsweredSet y) { return right_tags(data.tags_of(i), y); },
                   {});
}

}  // namespace

bool have_spans(const LabelCodec& tags) {
  return tags.find("O").has_value() && are_span_tags(tags.names());
}

ChainDecision chain_decision(const ChainSvmOptions& options, const SequenceData& data,
                             const LabelCodec& tags, Executor& executor, RunControl& control) {
  check_sequences(data);
  const TagConstraints constraints = tag_constraints(options.constraints, data, tags.names());
  if (!is_tuned(options, tags)) return {.rule = {}, .outside_tag = 0, .constraints = constraints};
  const DecisionMetric metric = options.decision_metric;
  require<InvalidOption>(metric == DecisionMetric::micro_f1 || metric == DecisionMetric::accuracy,
                         "option decision_metric is ", name_of(metric),
                         ", but must be micro-f1 or accuracy where model is ", options.model);
  const std::uint32_t outside = outside_tag(data, tags);
  if (data.size() < 2) return {OffsetDecision{}, outside, constraints};
  LabelSets strata;
  std::vector<std::uint32_t> sizes;
  for (std::size_t i = 0; i < data.size(); ++i) {
    std::vector<std::uint32_t> inside(data.tags_of(i).begin(), data.tags_of(i).end());
    std::erase(inside, outside);
    sizes.push_back(static_cast<std::uint32_t>(inside.size()));
    strata.append(inside);
  }
  const auto fit = [&](const Split& split, RunControl& share) -> MakeSearch {
    StructuredWeights trained = fit_chain(data.select(split.training), options, executor, share);
    const ChainShape shape{data.X.num_columns(), data.num_tags,
                           static_cast<std::uint32_t>(options.order)};
    const auto shared = std::make_shared<const ChainSearch::Shared>(ChainSearch::Shared{
        data.select(split.validation), shape, std::move(trained.weights), outside, constraints});
    return [shared] { return std::make_unique<ChainSearch>(shared); };
  };
  return {OffsetDecision{tuned_offset(decision_options(options), {strata, sizes},
                                      *metric_of(metric, data, tags), fit, executor, control)},
          outside, constraints};
}

MemoryEstimate chain_decision_memory(const StructuredOptions& options, const ColumnCorpus& corpus,
                                     double row_bytes, MemoryEstimate training) {
  if (!is_tuned(options, corpus.tags)) return training;
  const auto outside = corpus.tags.find("O");
  LabelCounts counts{.examples = static_cast<double>(corpus.size())};
  double tokens = 0;
  for (const ColumnSentence& sentence : corpus.sentences) {
    tokens += static_cast<double>(sentence.tags.size());
    for (const LabelId tag : sentence.tags) counts.labels += tag != outside ? 1.0 : 0.0;
  }
  return offset_memory(counts, row_bytes, std::move(training),
                       tokens / std::max(counts.examples, 1.0));
}

}  // namespace margrove
