#include "outputs/chain/chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/simd.hpp"
#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"
#include "outputs/chain/tag_constraints.hpp"

namespace margrove {
namespace {

// scores[k] += scale sum_j values[j] w[columns[j] K + k]
MARGROVE_MULTIVERSION
void add_rows(const FeatureId* columns, const float* values, std::size_t size, const float* w,
              std::size_t K, double scale, double* scores) {
  constexpr std::size_t kAhead = 8;
  for (std::size_t j = 0; j < size; ++j) {
    if (j + kAhead < size) __builtin_prefetch(&w[columns[j + kAhead] * K]);
    const double x = static_cast<double>(values[j]) * scale;
    const float* row = &w[columns[j] * K];
    for (std::size_t k = 0; k < K; ++k) scores[k] += x * static_cast<double>(row[k]);
  }
}

// best = max_b weight transitions[b] + suffix[b]; returns the lowest b that attains it.
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

constexpr std::size_t kTagLanes = 8;
std::size_t padded(std::size_t K) { return (K + kTagLanes - 1) / kTagLanes * kTagLanes; }

// suffix[a] += max_b weight from_b[b stride + a] + next[b], for eight tags a at a time, so that the
// maximum needs no reduction across lanes. stride is a multiple of 8; suffix has K entries.
MARGROVE_MULTIVERSION
void add_best_next(const double* from_b, const double* next, std::size_t K, std::size_t stride,
                   double weight, double* suffix) {
  for (std::size_t a = 0; a < K; a += kTagLanes) {
    double best[kTagLanes];
    for (std::size_t j = 0; j < kTagLanes; ++j) best[j] = weight * from_b[a + j] + next[0];
    for (std::size_t b = 1; b < K; ++b) {
      const double* row = &from_b[b * stride + a];
      const double rest = next[b];
#pragma omp simd
      for (std::size_t j = 0; j < kTagLanes; ++j) {
        const double value = weight * row[j] + rest;
        best[j] = value > best[j] ? value : best[j];
      }
    }
    const std::size_t size = std::min(kTagLanes, K - a);
    for (std::size_t j = 0; j < size; ++j) suffix[a + j] += best[j];
  }
}

}  // namespace

SequenceData SequenceData::select(std::span<const std::uint32_t> sequences) const {
  SequenceData part;
  part.num_tags = num_tags;
  part.outside_tag = outside_tag;
  std::vector<std::uint32_t> tokens;
  for (const std::uint32_t i : sequences) {
    for (std::size_t t = pointers[i]; t < pointers[i + 1]; ++t) {
      tokens.push_back(static_cast<std::uint32_t>(t));
      part.tags.push_back(tags[t]);
    }
    part.pointers.push_back(tokens.size());
  }
  part.X = select_rows(X, tokens);
  return part;
}

void check_sequences(const SequenceData& data) {
  const std::size_t tokens = data.X.num_rows();
  require(data.tags.size() == tokens, "sequences: there are ", data.tags.size(), " tags, but ",
          tokens, " tokens; there must be one tag per token");
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

void transpose_transitions(std::size_t num_tags, ChainWorkspace& workspace) {
  const std::size_t stride = padded(num_tags);
  workspace.transitions_to.assign(num_tags * stride, 0.0);
  for (std::size_t a = 0; a < num_tags; ++a) {
    for (std::size_t b = 0; b < num_tags; ++b) {
      workspace.transitions_to[b * stride + a] = workspace.transitions[a * num_tags + b];
    }
  }
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
  workspace.front.clear();
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

// suffix[t][k] is the largest value of tokens t, t + 1, ... with y_t = k. Decoding forward then
// takes the lowest tag that attains it.
TagSequence ChainOracle::viterbi(double transition_weight, double transition_ties,
                                 bool with_ties) const {
  auto& w = workspace_;
  const std::size_t K = num_tags_, T = length_;
  w.suffix = w.nodes;
  TagSequence y(T);
  if (!with_ties) {
    for (std::size_t t = T - 1; t-- > 0;) {
      end_if_out_of_time(w.control);
      add_best_next(w.transitions_to.data(), &w.suffix[(t + 1) * K], K, padded(K),
                    transition_weight, &w.suffix[t * K]);
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
  // With ties: pairs of values are compared lexicographically.
  w.suffix_ties = w.ties;
  w.next.assign(T * K, 0);
  for (std::size_t t = T - 1; t-- > 0;) {
    end_if_out_of_time(w.control);
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
  if (w_m == 0.0) {  // ties go to the larger m: the loss outweighs all differences of m
    w_m = 1.0;
    w_g = bound_on_margins();
  }
  const bool with_ties = w_g == 0.0;
  fill_nodes(w_m, w_g, with_ties);
  return evaluate(viterbi(w_m, 0.0, with_ties));
}

double ChainOracle::bound_on_margins() const {
  const auto largest = [](const std::vector<double>& scores) {
    double size = 0.0;
    for (const double score : scores) size = std::max(size, std::abs(score));
    return size;
  };
  const auto& w = workspace_;
  const double of_token = largest(w.emissions) + largest(w.transitions) + 1.0;
  return 4.0 * (static_cast<double>(length_) * of_token + largest(w.start) + largest(w.end));
}

TagSequence ChainOracle::decode() const {
  fill_nodes(1.0, 0.0, false);
  return viterbi(1.0, 0.0, false);
}

namespace {

// One of the k best suffixes that start at a given token and tag: its value, its next tag, and the
// rank of the remainder among the suffixes that start there.
struct Suffix {
  double value, ties;
  std::uint32_t next, rank;
  bool operator<(const Suffix& other) const {
    return value != other.value ? value < other.value : ties < other.ties;
  }
};

/// Merges one list per tag: writes their `limit` best suffixes, best first, and returns their
/// number. heads: the first entry of each list; after(b, rank): the entry of tag b's list; lengths:
/// of the lists.
template <class After>
std::uint32_t merge(std::vector<Suffix>& heads, std::size_t limit, const After& after,
                    const std::uint32_t* lengths, Suffix* out) {
  std::uint32_t count = 0;
  std::size_t open = heads.size();
  for (; count < limit && open > 0; ++count) {
    const auto top = std::max_element(heads.begin(), heads.end());
    out[count] = *top;
    const std::uint32_t rank = top->rank + 1;
    if (rank < lengths[top->next]) {
      *top = after(top->next, rank);
    } else {
      top->value = top->ties = -std::numeric_limits<double>::infinity();
      --open;
    }
  }
  return count;
}

}  // namespace

// best[(t K + a) k ...] has the counts[t K + a] best suffixes from token t with tag a on, best
// first. They are merged from the lists of the tags that may follow; of equal ones the lowest tag
// comes first.
std::vector<Candidate<TagSequence>> ChainOracle::k_best(double w_m, double w_g, int k) const {
  fill_nodes(w_m, w_g, true);
  const auto& w = workspace_;
  const std::size_t K = num_tags_, T = length_, limit = static_cast<std::size_t>(k);
  const double transition_ties = w_m == 0.0 ? 1.0 : 0.0;
  std::vector<Suffix> best(T * K * limit), heads(K);
  std::vector<std::uint32_t> counts(T * K, 0);
  for (std::size_t t = T; t-- > 0;) {
    end_if_out_of_time(w.control);
    for (std::size_t a = 0; a < K; ++a) {
      Suffix* out = &best[(t * K + a) * limit];
      const double node = w.nodes[t * K + a], ties = w.ties[t * K + a];
      if (t + 1 == T) {
        out[0] = {node, ties, 0, 0};
        counts[t * K + a] = 1;
        continue;
      }
      const auto after = [&](std::uint32_t b, std::uint32_t rank) {
        const double transition = w.transitions[a * K + b];
        const Suffix& rest = best[((t + 1) * K + b) * limit + rank];
        return Suffix{node + w_m * transition + rest.value,
                      ties + transition_ties * transition + rest.ties, b, rank};
      };
      for (std::uint32_t b = 0; b < K; ++b) heads[b] = after(b, 0);
      counts[t * K + a] = merge(heads, limit, after, &counts[(t + 1) * K], out);
    }
  }
  const auto whole = [&](std::uint32_t a, std::uint32_t rank) {
    const Suffix& rest = best[a * limit + rank];
    return Suffix{rest.value, rest.ties, a, rank};
  };
  for (std::uint32_t a = 0; a < K; ++a) heads[a] = whole(a, 0);
  std::vector<Suffix> starts(limit);
  starts.resize(merge(heads, limit, whole, counts.data(), starts.data()));
  std::vector<Candidate<TagSequence>> result;
  for (const Suffix& start : starts) {
    TagSequence y(T);
    Suffix at = start;
    for (std::size_t t = 0; t < T; ++t) {
      y[t] = at.next;
      at = best[(t * K + y[t]) * limit + at.rank];
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

std::span<double> ChainOracle::suffixes_at_loss(std::size_t t, std::size_t g) const {
  const std::size_t row = t * workspace_.front.size() + g;
  return std::span(workspace_.front_suffix).subspan(row * num_tags_, num_tags_);
}

// Viterbi with the number of wrong tags beside the tag.
std::span<const double> ChainOracle::loss_front(std::uint32_t most) const {
  auto& w = workspace_;
  const std::size_t K = num_tags_, T = length_, size = std::min<std::size_t>(most, T) + 1;
  if (w.front.size() >= size) return w.front;
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  fill_nodes(1.0, 0.0, false);
  w.front.assign(size, kNone);
  w.front_suffix.assign(T * size * K, kNone);
  std::vector<double> best(K);
  for (std::size_t t = T; t-- > 0;) {
    end_if_out_of_time(w.control);
    const auto nodes = std::span(w.nodes).subspan(t * K, K);
    for (std::size_t later = 0; later < std::min(T - t, size); ++later) {  // wrong tags behind t
      std::ranges::copy(nodes, best.begin());
      if (t + 1 < T) {
        add_best_next(w.transitions_to.data(), suffixes_at_loss(t + 1, later).data(), K, padded(K),
                      1.0, best.data());
      }
      const std::uint32_t right = truth_[t];
      suffixes_at_loss(t, later)[right] = best[right];
      if (later + 1 == size) break;
      const std::span<double> wrong = suffixes_at_loss(t, later + 1);
      for (std::size_t a = 0; a < K; ++a) {
        if (a != right) wrong[a] = best[a];
      }
    }
  }
  for (std::size_t g = 0; g < size; ++g) {
    w.front[g] = std::ranges::max(suffixes_at_loss(0, g)) - truth_score_;
  }
  return w.front;
}

Candidate<TagSequence> ChainOracle::at_loss(std::uint32_t g) const {
  const auto first = suffixes_at_loss(0, g);
  TagSequence y(length_);
  y[0] = static_cast<std::uint32_t>(std::ranges::max_element(first) - first.begin());
  for (std::size_t t = 1; t < length_; ++t) {
    if (y[t - 1] != truth_[t - 1]) --g;
    double ignored;
    y[t] = best_next(&workspace_.transitions[y[t - 1] * num_tags_], suffixes_at_loss(t, g).data(),
                     num_tags_, 1.0, ignored);
  }
  return evaluate(y);
}

void score_chain(const CsrView& X, std::size_t begin, std::size_t end, std::size_t num_features,
                 std::uint32_t num_tags, ScaledWeights w, ChainWorkspace& workspace) {
  const std::size_t K = num_tags;
  workspace.emissions.assign((end - begin) * K, 0.0);
  for (std::size_t t = begin; t < end; ++t) {
    const SparseRow x = X.row(t);
    const auto known = static_cast<std::size_t>(
        std::lower_bound(x.columns.begin(), x.columns.end(), num_features) - x.columns.begin());
    add_rows(x.columns.data(), x.values.data(), known, w.values.data(), K, w.scale,
             &workspace.emissions[(t - begin) * K]);
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
  transpose_transitions(K, workspace);
}

double best_tags(ChainWorkspace& workspace, std::uint32_t num_tags, const ChainOffset& offset,
                 TagSequence& tags) {
  if (offset.amount != 0.0) {
    for (std::size_t k = 0; k < workspace.emissions.size(); ++k) {
      if (k % num_tags != offset.outside_tag) workspace.emissions[k] += offset.amount;
    }
  }
  if (offset.constraints != nullptr) offset.constraints->apply(workspace);
  const ChainOracle oracle(workspace, num_tags, {}, Criteria::hamming, 0);
  tags = oracle.decode();
  const auto inside = std::ssize(tags) - std::count(tags.begin(), tags.end(), offset.outside_tag);
  return oracle.score(tags) - offset.amount * static_cast<double>(inside);
}

TagSequence decode_chain(const CsrView& X, std::size_t begin, std::size_t end,
                         std::size_t num_features, std::uint32_t num_tags, ScaledWeights w,
                         ChainWorkspace& workspace, const ChainOffset& offset) {
  score_chain(X, begin, end, num_features, num_tags, w, workspace);
  TagSequence tags;
  best_tags(workspace, num_tags, offset, tags);
  return tags;
}

ChainOracle ChainModel::oracle(std::size_t i, ScaledWeights w, ChainWorkspace& workspace) const {
  score_chain(data_.X, data_.pointers[i], data_.pointers[i + 1], data_.X.num_columns(),
              data_.num_tags, w, workspace);
  return {workspace, data_.num_tags, data_.tags_of(i), criteria_, data_.outside_tag};
}

// Calls add(index, value) for the terms of phi(x_i, y) - phi(x_i, y_i). An index may occur twice.
template <class Add>
void ChainModel::for_each_change(std::size_t i, const TagSequence& y, const Add& add) const {
  const std::uint64_t K = data_.num_tags;
  const std::uint64_t offset = data_.X.num_columns() * K;
  const auto truth = data_.tags_of(i);
  const auto move = [&](std::uint64_t from, std::uint32_t now, std::uint32_t before) {
    if (now == before) return;
    add(from + now, 1.0F);
    add(from + before, -1.0F);
  };
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (y[t] != truth[t]) {
      const SparseRow x = data_.X.row(data_.pointers[i] + t);
      for (std::size_t j = 0; j < x.size(); ++j) {
        add(x.columns[j] * K + y[t], x.values[j]);
        add(x.columns[j] * K + truth[t], -x.values[j]);
      }
    }
    if (t > 0 && (y[t] != truth[t] || y[t - 1] != truth[t - 1])) {
      add(offset + y[t - 1] * K + y[t], 1.0F);
      add(offset + truth[t - 1] * K + truth[t], -1.0F);
    }
  }
  move(offset + K * K, y.front(), truth.front());
  move(offset + K * K + K, y.back(), truth.back());
}

void ChainModel::difference(std::size_t i, const TagSequence& y, SparseVector& difference) const {
  for_each_change(i, y, [&](std::uint64_t index, float value) { difference.add(index, value); });
  merge_repeated(difference);
}

void ChainModel::add_difference(std::size_t i, const TagSequence& y, double factor,
                                std::span<float> w) const {
  for_each_change(i, y, [&](std::uint64_t index, float value) {
    w[index] += static_cast<float>(factor * static_cast<double>(value));
  });
}

TagSequence ChainModel::truth(std::size_t i) const {
  const auto tags = data_.tags_of(i);
  return {tags.begin(), tags.end()};
}

}  // namespace margrove
