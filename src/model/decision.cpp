#include "margrove/model/decision.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace margrove {

std::string_view to_string(Decision::Kind kind) {
  return kind == Decision::Kind::argmax ? "argmax" : "threshold";
}

void Decision::choose(std::span<const float> scores, std::vector<LabelId>& labels) const {
  labels.clear();
  const auto best =
      static_cast<LabelId>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  const bool has_best = !scores.empty() && std::isfinite(scores[best]);
  if (kind == Kind::argmax) {
    if (has_best) labels.push_back(best);
    return;
  }
  for (LabelId l = 0; l < scores.size(); ++l) {
    const float threshold = thresholds[thresholds.size() == 1 ? 0 : l];
    if (scores[l] > threshold || (at_least_one && has_best && l == best)) labels.push_back(l);
  }
}

void Decision::save(TensorMap& out, const std::string& prefix) const {
  out.put_text(prefix + ".decision", std::string(to_string(kind)));
  if (kind == Kind::argmax) return;
  out.put_text(prefix + ".at_least_one", at_least_one ? "true" : "false");
  out.put<float>(prefix + ".thresholds", thresholds);
}

Decision Decision::load(const TensorMap& tensors, const std::string& prefix,
                        std::uint32_t num_labels) {
  const std::string& kind = tensors.text(prefix + ".decision");
  if (kind == to_string(Kind::argmax)) return {};
  tensors.check(kind == to_string(Kind::threshold), "metadata ", prefix, ".decision is '", kind,
                "', but must be argmax or threshold");
  Decision decision;
  decision.kind = Kind::threshold;
  const std::string& at_least_one = tensors.text(prefix + ".at_least_one");
  tensors.check(at_least_one == "true" || at_least_one == "false", "metadata ", prefix,
                ".at_least_one is '", at_least_one, "', but must be true or false");
  decision.at_least_one = at_least_one == "true";
  decision.thresholds = tensors.get<float>(prefix + ".thresholds");
  tensors.check(decision.thresholds.size() == 1 || decision.thresholds.size() == num_labels,
                "tensor ", prefix, ".thresholds has ", decision.thresholds.size(),
                " entries, but must have 1 or ", num_labels);
  for (const float t : decision.thresholds) {
    tensors.check(!std::isnan(t), "tensor ", prefix, ".thresholds must hold numbers");
  }
  return decision;
}

TunedThreshold tune_threshold(const RankedLabels& ranked, const LabelSets& truth,
                              bool at_least_one) {
  struct Entry {
    float score;
    bool correct;
  };
  std::vector<Entry> entries;
  std::int64_t chosen = 0, hits = 0;
  for (std::size_t i = 0; i + 1 < ranked.pointers.size(); ++i) {
    for (std::size_t k = ranked.pointers[i]; k < ranked.pointers[i + 1]; ++k) {
      const auto set = truth[i];
      const bool correct = std::binary_search(set.begin(), set.end(), ranked.labels[k]);
      if (at_least_one && k == ranked.pointers[i]) {
        ++chosen;
        hits += correct;
      } else {
        entries.push_back({ranked.scores[k], correct});
      }
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.score > b.score; });

  const auto micro_f1 = [&] {
    const auto both = static_cast<double>(chosen + truth.num_labels_total());
    return both > 0 ? 2.0 * static_cast<double>(hits) / both : 0.0;
  };
  // Above every score to begin with; then the scores are let in one group of equals at a time.
  TunedThreshold best{entries.empty() ? 0.0F : entries.front().score, micro_f1()};
  for (std::size_t k = 0; k < entries.size();) {
    const float score = entries[k].score;
    for (; k < entries.size() && entries[k].score == score; ++k) {
      ++chosen;
      hits += entries[k].correct;
    }
    if (micro_f1() <= best.micro_f1) continue;
    const float next = k < entries.size()
                           ? entries[k].score
                           : std::nextafter(score, -std::numeric_limits<float>::max());
    best = {std::midpoint(next, score), micro_f1()};
    if (!(score > best.threshold)) best.threshold = next;  // the midpoint was rounded up
  }
  return best;
}

}  // namespace margrove
