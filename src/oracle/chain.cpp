#include "margrove/oracle/chain.hpp"

#include <algorithm>
#include <limits>

#include "margrove/base/errors.hpp"
#include "margrove/base/simd.hpp"

namespace margrove {
namespace {

// scores[k] += x w[k]
MARGROVE_MULTIVERSION
void add_scaled(double x, const float* w, double* scores, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) scores[k] += x * static_cast<double>(w[k]);
}

// max_b transitions[b] + suffix[b]; the lowest b that reaches it.
std::uint32_t best_next(const double* transitions, const double* suffix, std::size_t size,
                        double weight, double& best) {
  std::uint32_t arg = 0;
  best = -std::numeric_limits<double>::infinity();
  for (std::size_t b = 0; b < size; ++b) {
    const double value = weight * transitions[b] + suffix[b];
    if (value > best) {
      best = value;
      arg = static_cast<std::uint32_t>(b);
    }
  }
  return arg;
}

// values[b] = weight transitions[b] + suffix[b] and their maximum: two plain loops, so that the
// common case vectorises; the argmax is asked for only on the path.
MARGROVE_MULTIVERSION
double max_next(const double* transitions, const double* suffix, std::size_t size, double weight) {
  double best = -std::numeric_limits<double>::infinity();
#pragma omp simd reduction(max : best)
  for (std::size_t b = 0; b < size; ++b) {
    const double value = weight * transitions[b] + suffix[b];
    best = value > best ? value : best;
  }
  return best;
}

}  // namespace

void check_sequences(const SequenceData& data) {
  const std::size_t tokens = data.X.num_rows();
  require(data.tags.size() == tokens, "sequences: there are ", data.tags.size(), " tags, but ",
          tokens, " tokens; there must be one tag a token");
  require(data.pointers.front() == 0 && data.pointers.back() == tokens,
          "sequences: pointers end at ", data.pointers.back(), ", but must end at ", tokens,
          ", the number of tokens");
  for (std::size_t i = 0; i < data.size(); ++i) {
    require(data.pointers[i] < data.pointers[i + 1], "sequences: sequence ", i,
            " is empty, but must have at least one token");
  }
  for (std::size_t t = 0; t < tokens; ++t) {
    require(data.tags[t] < data.num_tags, "sequences: tags[", t, "] is ", data.tags[t],
            ", but must be < ", data.num_tags);
  }
  require(data.outside_tag < std::max(1U, data.num_tags), "sequences: the outside tag is ",
          data.outside_tag, ", but must be < ", data.num_tags);
}

ChainOracle::ChainOracle(ChainWorkspace& workspace, std::uint32_t num_tags,
                         std::span<const std::uint32_t> truth, Criteria criteria,
                         std::uint32_t outside_tag)
    : workspace_(workspace),
      length_(workspace.emissions.size() / num_tags),
      num_tags_(num_tags),
      truth_(truth),
      criteria_(criteria),
      outside_tag_(outside_tag) {
  if (!truth.empty()) truth_score_ = score(truth);
}

PartCriteria ChainOracle::part(std::size_t t, std::uint32_t k) const {
  return part_criteria(criteria_, k != outside_tag_, truth_[t] != outside_tag_, k == truth_[t]);
}

double ChainOracle::score(std::span<const std::uint32_t> y) const {
  const auto& w = workspace_;
  double sum = w.start[y[0]] + w.end[y[length_ - 1]];
  for (std::size_t t = 0; t < length_; ++t) {
    sum += w.emissions[t * num_tags_ + y[t]];
    if (t > 0) sum += w.transitions[y[t - 1] * num_tags_ + y[t]];
  }
  return sum;
}

Candidate<TagSequence> ChainOracle::evaluate(const TagSequence& y) const {
  PartCriteria sum{0.0, 0.0};
  for (std::size_t t = 0; t < length_; ++t) {
    const PartCriteria p = part(t, y[t]);
    sum.constant += p.constant;
    sum.g += p.g;
  }
  return {y, score(y) - truth_score_ + sum.constant, sum.g, sum.constant};
}

Candidate<TagSequence> ChainOracle::truth() const {
  return evaluate(TagSequence(truth_.begin(), truth_.end()));
}

void ChainOracle::fill_nodes(double w_m, double w_g, bool with_ties) const {
  auto& w = workspace_;
  const std::size_t K = num_tags_;
  w.nodes.resize(length_ * K);
  if (with_ties) w.ties.resize(length_ * K);
  for (std::size_t t = 0; t < length_; ++t) {
    const double* emissions = &w.emissions[t * K];
    double* nodes = &w.nodes[t * K];
    if (truth_.empty()) {
      for (std::size_t k = 0; k < K; ++k) nodes[k] = w_m * emissions[k];
    } else if (criteria_ == Criteria::hamming) {
      for (std::size_t k = 0; k < K; ++k) nodes[k] = w_m * emissions[k] + w_g;
      nodes[truth_[t]] -= w_g;
    } else {
      for (std::uint32_t k = 0; k < K; ++k) {
        const PartCriteria p = part(t, k);
        nodes[k] = w_m * (emissions[k] + p.constant) + w_g * p.g;
      }
    }
    const bool first = t == 0, last = t + 1 == length_;
    for (std::size_t k = 0; k < K && (first || last); ++k) {
      nodes[k] += w_m * ((first ? w.start[k] : 0.0) + (last ? w.end[k] : 0.0));
    }
    for (std::uint32_t k = 0; k < K && with_ties; ++k) {
      const PartCriteria p = part(t, k);
      const double m =
          emissions[k] + p.constant + (first ? w.start[k] : 0.0) + (last ? w.end[k] : 0.0);
      w.ties[t * K + k] = w_m == 0.0 ? m : p.g;
    }
  }
}

// suffix[t][k]: the best that tokens t.. can reach with y_t = k; decoding forward then takes the
// lowest tag that reaches it.
TagSequence ChainOracle::viterbi(double transition_weight, double transition_ties,
                                 bool with_ties) const {
  auto& w = workspace_;
  const std::size_t K = num_tags_, T = length_;
  w.suffix = w.nodes;
  TagSequence y(T);
  if (!with_ties) {
    for (std::size_t t = T - 1; t-- > 0;) {
      for (std::size_t a = 0; a < K; ++a) {
        w.suffix[t * K + a] +=
            max_next(&w.transitions[a * K], &w.suffix[(t + 1) * K], K, transition_weight);
      }
    }
    y[0] = static_cast<std::uint32_t>(
        std::max_element(w.suffix.begin(), w.suffix.begin() + static_cast<std::ptrdiff_t>(K)) -
        w.suffix.begin());
    double ignored;
    for (std::size_t t = 1; t < T; ++t) {
      y[t] =
          best_next(&w.transitions[y[t - 1] * K], &w.suffix[t * K], K, transition_weight, ignored);
    }
    return y;
  }
  // Two values compared one after the other.
  w.suffix_ties = w.ties;
  w.next.assign(T * K, 0);
  for (std::size_t t = T - 1; t-- > 0;) {
    for (std::size_t a = 0; a < K; ++a) {
      double best = 0.0, best_ties = 0.0;
      for (std::size_t b = 0; b < K; ++b) {
        const double transition = w.transitions[a * K + b];
        const double value = transition_weight * transition + w.suffix[(t + 1) * K + b];
        const double ties = transition_ties * transition + w.suffix_ties[(t + 1) * K + b];
        if (b == 0 || value > best || (value == best && ties > best_ties)) {
          best = value;
          best_ties = ties;
          w.next[t * K + a] = static_cast<std::uint32_t>(b);
        }
      }
      w.suffix[t * K + a] += best;
      w.suffix_ties[t * K + a] += best_ties;
    }
  }
  for (std::uint32_t k = 1; k < K; ++k) {
    const double value = w.suffix[k], best = w.suffix[y[0]];
    if (value > best || (value == best && w.suffix_ties[k] > w.suffix_ties[y[0]])) y[0] = k;
  }
  for (std::size_t t = 1; t < T; ++t) y[t] = w.next[(t - 1) * K + y[t - 1]];
  return y;
}

Candidate<TagSequence> ChainOracle::argmax(double w_m, double w_g) const {
  const bool with_ties = w_m == 0.0 || w_g == 0.0;
  fill_nodes(w_m, w_g, with_ties);
  return evaluate(viterbi(w_m, w_m == 0.0 ? 1.0 : 0.0, with_ties));
}

TagSequence ChainOracle::decode() const {
  fill_nodes(1.0, 0.0, false);
  return viterbi(1.0, 0.0, false);
}

std::vector<Candidate<TagSequence>> ChainOracle::k_best(double w_m, double w_g, int k) const {
  struct Item {
    double value, ties;
    std::uint32_t next, rank;
  };
  fill_nodes(w_m, w_g, true);
  const auto& w = workspace_;
  const std::size_t K = num_tags_, T = length_, limit = static_cast<std::size_t>(k);
  const double transition_ties = w_m == 0.0 ? 1.0 : 0.0;
  const auto better = [](const Item& a, const Item& b) {
    return a.value != b.value ? a.value > b.value : a.ties > b.ties;
  };
  const auto keep_best = [&](std::vector<Item>& items) {
    std::stable_sort(items.begin(), items.end(), better);
    if (items.size() > limit) items.resize(limit);
  };
  std::vector<std::vector<Item>> best(T * K);  // of the suffix from (t, tag)
  for (std::size_t t = T; t-- > 0;) {
    for (std::size_t a = 0; a < K; ++a) {
      auto& items = best[t * K + a];
      const double node = w.nodes[t * K + a], ties = w.ties[t * K + a];
      if (t + 1 == T) {
        items.push_back({node, ties, 0, 0});
        continue;
      }
      for (std::uint32_t b = 0; b < K; ++b) {
        const double transition = w.transitions[a * K + b];
        const auto& after = best[(t + 1) * K + b];
        for (std::uint32_t r = 0; r < after.size(); ++r) {
          items.push_back({node + w_m * transition + after[r].value,
                           ties + transition_ties * transition + after[r].ties, b, r});
        }
      }
      keep_best(items);
    }
  }
  std::vector<Item> starts;
  for (std::uint32_t a = 0; a < K; ++a) {
    for (std::uint32_t r = 0; r < best[a].size(); ++r) {
      starts.push_back({best[a][r].value, best[a][r].ties, a, r});
    }
  }
  keep_best(starts);
  std::vector<Candidate<TagSequence>> result;
  for (const Item& start : starts) {
    TagSequence y(T);
    Item item = start;
    for (std::size_t t = 0; t < T; ++t) {
      y[t] = item.next;
      item = best[t * K + y[t]][item.rank];
    }
    result.push_back(evaluate(y));
  }
  return result;
}

std::optional<Candidate<TagSequence>> ChainOracle::argmax_without(
    double w_m, double w_g, std::span<const TagSequence> banned) const {
  for (auto& y : k_best(w_m, w_g, static_cast<int>(banned.size()) + 1)) {
    if (std::find(banned.begin(), banned.end(), y.y) == banned.end()) return y;
  }
  return std::nullopt;
}

void score_chain(const CsrView& X, std::size_t begin, std::size_t end, std::size_t num_features,
                 std::uint32_t num_tags, ScaledWeights w, ChainWorkspace& workspace) {
  const std::size_t K = num_tags;
  workspace.emissions.assign((end - begin) * K, 0.0);
  for (std::size_t t = begin; t < end; ++t) {
    const SparseRow x = X.row(t);
    double* scores = &workspace.emissions[(t - begin) * K];
    for (std::size_t j = 0; j < x.size() && x.columns[j] < num_features; ++j) {
      add_scaled(static_cast<double>(x.values[j]) * w.scale, &w.values[x.columns[j] * K], scores,
                 K);
    }
  }
  const auto copy_scaled = [&](std::size_t offset, std::size_t size, std::vector<double>& out) {
    out.resize(size);
    for (std::size_t k = 0; k < size; ++k) {
      out[k] = w.scale * static_cast<double>(w.values[offset + k]);
    }
  };
  const std::size_t offset = num_features * K;
  copy_scaled(offset, K * K, workspace.transitions);
  copy_scaled(offset + K * K, K, workspace.start);
  copy_scaled(offset + K * K + K, K, workspace.end);
}

TagSequence decode_chain(const CsrView& X, std::size_t begin, std::size_t end,
                         std::size_t num_features, std::uint32_t num_tags, ScaledWeights w,
                         ChainWorkspace& workspace) {
  score_chain(X, begin, end, num_features, num_tags, w, workspace);
  return ChainOracle(workspace, num_tags, {}, Criteria::hamming, 0).decode();
}

ChainOracle ChainModel::oracle(std::size_t i, ScaledWeights w, ChainWorkspace& workspace) const {
  score_chain(data_.X, data_.pointers[i], data_.pointers[i + 1], data_.X.num_columns(),
              data_.num_tags, w, workspace);
  return {workspace, data_.num_tags, data_.tags_of(i), criteria_, data_.outside_tag};
}

void ChainModel::difference(std::size_t i, const TagSequence& y, SparseVector& difference) const {
  const std::uint64_t K = data_.num_tags;
  const std::uint64_t offset = data_.X.num_columns() * K;
  const auto truth = data_.tags_of(i);
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (y[t] != truth[t]) {
      const SparseRow x = data_.X.row(data_.pointers[i] + t);
      for (std::size_t j = 0; j < x.size(); ++j) {
        difference.add(x.columns[j] * K + y[t], x.values[j]);
        difference.add(x.columns[j] * K + truth[t], -x.values[j]);
      }
    }
    if (t > 0 && (y[t] != truth[t] || y[t - 1] != truth[t - 1])) {
      difference.add(offset + y[t - 1] * K + y[t], 1.0F);
      difference.add(offset + truth[t - 1] * K + truth[t], -1.0F);
    }
  }
  if (y.front() != truth.front()) {
    difference.add(offset + K * K + y.front(), 1.0F);
    difference.add(offset + K * K + truth.front(), -1.0F);
  }
  if (y.back() != truth.back()) {
    difference.add(offset + K * K + K + y.back(), 1.0F);
    difference.add(offset + K * K + K + truth.back(), -1.0F);
  }
  merge_repeated(difference);
}

TagSequence ChainModel::truth(std::size_t i) const {
  const auto tags = data_.tags_of(i);
  return {tags.begin(), tags.end()};
}

}  // namespace margrove
