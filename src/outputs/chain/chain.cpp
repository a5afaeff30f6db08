#include "outputs/chain/chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/simd.hpp"
#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"
#include "outputs/chain/chain_contexts.hpp"
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

ChainOracle::ChainOracle(ChainWorkspace& workspace, std::uint32_t num_tags,
                         std::span<const std::uint32_t> truth, Criteria criteria,
                         std::uint32_t outside_tag)
    : workspace_(workspace),
      length_(workspace.emissions.size() / num_tags),
      num_tags_(num_tags),
      num_contexts_(Contexts(workspace, num_tags).stride()),
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
  const std::size_t K = num_tags_;
  double sum = w.start[y[0]] + w.end[y[length_ - 1]];
  for (std::size_t t = 0; t < length_; ++t) {
    sum += w.emissions[t * K + y[t]];
    if (t > 0) sum += w.transitions[y[t - 1] * K + y[t]];
    if (t > 1 && !w.triples.empty()) {
      sum += w.triples[(y[t - 2] * K + y[t - 1]) * K + y[t]];
    }
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

namespace {

// A copy of the values of tags (T x K) for each context of the tokens.
void expand(const Contexts& contexts, const std::vector<double>& of_tags, std::size_t num_tags,
            std::vector<double>& values) {
  const std::size_t length = of_tags.size() / num_tags, stride = contexts.stride();
  values.resize(length * stride);
  for (std::size_t t = 0; t < length; ++t) {
    for (std::size_t s = 0; s < contexts.count(t); ++s) {
      values[t * stride + s] = of_tags[t * num_tags + contexts.tag(t, s)];
    }
  }
}

}  // namespace

// suffix[t][context] is the largest value of tokens t, t + 1, ... in a context of t. Decoding
// forward then takes the lowest tag that attains it.
TagSequence ChainOracle::viterbi(double transition_weight) const {
  auto& w = workspace_;
  const Contexts contexts(w, num_tags_);
  const std::size_t T = length_, stride = contexts.stride();
  expand(contexts, w.nodes, num_tags_, w.suffix);
  for (std::size_t t = T - 1; t-- > 0;) {
    end_if_out_of_time(w.control);
    contexts.add_best(t, &w.suffix[(t + 1) * stride], transition_weight, &w.suffix[t * stride],
                      w.rest_of_tag);
  }
  TagSequence y(T);
  const auto first = std::span(w.suffix).first(num_tags_);
  std::size_t context = y[0] =
      static_cast<std::uint32_t>(std::ranges::max_element(first) - first.begin());
  for (std::size_t t = 1; t < T; ++t) {
    y[t] = contexts.best_next(t - 1, context, &w.suffix[t * stride], transition_weight).second;
    context = contexts.next(t - 1, context, y[t]);
  }
  return y;
}

// The same, where pairs of values are compared lexicographically.
TagSequence ChainOracle::viterbi_with_ties(double transition_weight) const {
  auto& w = workspace_;
  const Contexts contexts(w, num_tags_);
  const std::size_t T = length_, stride = contexts.stride();
  expand(contexts, w.nodes, num_tags_, w.suffix);
  expand(contexts, w.ties, num_tags_, w.suffix_ties);
  w.next.assign(T * stride, 0);
  for (std::size_t t = T - 1; t-- > 0;) {
    end_if_out_of_time(w.control);
    for (std::size_t s = 0; s < contexts.count(t); ++s) {
      double best = 0.0, best_ties = 0.0;
      for (std::uint32_t c = 0; c < num_tags_; ++c) {
        const std::size_t rest = (t + 1) * stride + contexts.next(t, s, c);
        const double value = transition_weight * contexts.transition(t, s, c) + w.suffix[rest];
        const double ties = w.suffix_ties[rest];
        if (c == 0 || value > best || (value == best && ties > best_ties)) {
          best = value;
          best_ties = ties;
          w.next[t * stride + s] = c;
        }
      }
      w.suffix[t * stride + s] += best;
      w.suffix_ties[t * stride + s] += best_ties;
    }
  }
  TagSequence y(T);
  for (std::uint32_t k = 1; k < num_tags_; ++k) {
    const double value = w.suffix[k], best = w.suffix[y[0]];
    if (value > best || (value == best && w.suffix_ties[k] > w.suffix_ties[y[0]])) y[0] = k;
  }
  std::size_t context = y[0];
  for (std::size_t t = 1; t < T; ++t) {
    y[t] = w.next[(t - 1) * stride + context];
    context = contexts.next(t - 1, context, y[t]);
  }
  return y;
}

Candidate<TagSequence> ChainOracle::argmax(double w_m, double w_g) const {
  if (w_m == 0.0) {  // ties go to the larger m: the loss outweighs all differences of m
    w_m = 1.0;
    w_g = bound_on_margins();
  }
  const bool with_ties = w_g == 0.0;
  fill_nodes(w_m, w_g, with_ties);
  return evaluate(with_ties ? viterbi_with_ties(w_m) : viterbi(w_m));
}

double ChainOracle::bound_on_margins() const {
  const auto largest = [](const std::vector<double>& scores) {
    double size = 0.0;
    for (const double score : scores) size = std::max(size, std::abs(score));
    return size;
  };
  const auto& w = workspace_;
  const double of_token = largest(w.emissions) + largest(w.transitions) + largest(w.triples) + 1.0;
  return 4.0 * (static_cast<double>(length_) * of_token + largest(w.start) + largest(w.end));
}

TagSequence ChainOracle::decode() const {
  fill_nodes(1.0, 0.0, false);
  return viterbi(1.0);
}

namespace {

// One of the k best suffixes after a given context: its value, its next tag, and the rank of the
// remainder among the suffixes after the context of that tag.
struct Suffix {
  double value, ties;
  std::uint32_t next, rank;
  bool operator<(const Suffix& other) const {
    return value != other.value ? value < other.value : ties < other.ties;
  }
};

/// Merges one list per tag: writes their `limit` best suffixes, best first, and returns their
/// number. heads: the first entry of each list; after(c, rank): the entry of tag c's list, which
/// has length(c) entries.
template <class After, class Length>
std::uint32_t merge(std::vector<Suffix>& heads, std::size_t limit, const After& after,
                    const Length& length, Suffix* out) {
  std::uint32_t count = 0;
  std::size_t open = heads.size();
  for (; count < limit && open > 0; ++count) {
    const auto top = std::max_element(heads.begin(), heads.end());
    out[count] = *top;
    const std::uint32_t rank = top->rank + 1;
    if (rank < length(top->next)) {
      *top = after(top->next, rank);
    } else {
      top->value = top->ties = -std::numeric_limits<double>::infinity();
      --open;
    }
  }
  return count;
}

}  // namespace

// best[(t stride + s) k ...] has the counts[t stride + s] best suffixes from token t on in its
// context s, best first. They are merged from the lists of the tags that may follow; of equal ones
// the lowest tag comes first.
std::vector<Candidate<TagSequence>> ChainOracle::k_best(double w_m, double w_g, int k) const {
  fill_nodes(w_m, w_g, true);
  const auto& w = workspace_;
  const Contexts contexts(w, num_tags_);
  const std::size_t K = num_tags_, T = length_, stride = contexts.stride(),
                    limit = static_cast<std::size_t>(k);
  const double transition_ties = w_m == 0.0 ? 1.0 : 0.0;
  std::vector<Suffix> best(T * stride * limit), heads(K);
  std::vector<std::uint32_t> counts(T * stride, 0);
  for (std::size_t t = T; t-- > 0;) {
    end_if_out_of_time(w.control);
    for (std::size_t s = 0; s < contexts.count(t); ++s) {
      Suffix* out = &best[(t * stride + s) * limit];
      const std::size_t node = t * K + contexts.tag(t, s);
      if (t + 1 == T) {
        out[0] = {w.nodes[node], w.ties[node], 0, 0};
        counts[t * stride + s] = 1;
        continue;
      }
      const auto list = [&](std::uint32_t c) { return (t + 1) * stride + contexts.next(t, s, c); };
      const auto after = [&](std::uint32_t c, std::uint32_t rank) {
        const double transition = contexts.transition(t, s, c);
        const Suffix& rest = best[list(c) * limit + rank];
        return Suffix{w.nodes[node] + w_m * transition + rest.value,
                      w.ties[node] + transition_ties * transition + rest.ties, c, rank};
      };
      for (std::uint32_t c = 0; c < K; ++c) heads[c] = after(c, 0);
      counts[t * stride + s] = merge(
          heads, limit, after, [&](std::uint32_t c) { return counts[list(c)]; }, out);
    }
  }
  const auto whole = [&](std::uint32_t a, std::uint32_t rank) {
    const Suffix& rest = best[a * limit + rank];
    return Suffix{rest.value, rest.ties, a, rank};
  };
  for (std::uint32_t a = 0; a < K; ++a) heads[a] = whole(a, 0);
  std::vector<Suffix> starts(limit);
  starts.resize(merge(
      heads, limit, whole, [&](std::uint32_t a) { return counts[a]; }, starts.data()));
  std::vector<Candidate<TagSequence>> result;
  for (const Suffix& start : starts) {
    TagSequence y(T);
    Suffix at = start;
    std::size_t context = 0;
    for (std::size_t t = 0; t < T; ++t) {
      y[t] = at.next;
      context = t == 0 ? y[t] : contexts.next(t - 1, context, y[t]);
      at = best[(t * stride + context) * limit + at.rank];
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
  return std::span(workspace_.front_suffix).subspan(row * num_contexts_, num_contexts_);
}

// Viterbi with the number of wrong tags beside the context.
std::span<const double> ChainOracle::loss_front(std::uint32_t most) const {
  auto& w = workspace_;
  const Contexts contexts(w, num_tags_);
  const std::size_t T = length_, size = std::min<std::size_t>(most, T) + 1;
  if (w.front.size() >= size) return w.front;
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  fill_nodes(1.0, 0.0, false);
  w.front.assign(size, kNone);
  w.front_suffix.assign(T * size * num_contexts_, kNone);
  std::vector<double> best(num_contexts_);
  for (std::size_t t = T; t-- > 0;) {
    end_if_out_of_time(w.control);
    const auto nodes = std::span(w.nodes).subspan(t * num_tags_, num_tags_);
    for (std::size_t later = 0; later < std::min(T - t, size); ++later) {  // wrong tags behind t
      const std::size_t count = contexts.count(t);
      for (std::size_t s = 0; s < count; ++s) best[s] = nodes[contexts.tag(t, s)];
      if (t + 1 < T) {
        contexts.add_best(t, suffixes_at_loss(t + 1, later).data(), 1.0, best.data(),
                          w.rest_of_tag);
      }
      const bool has_more = later + 1 < size;
      for (std::size_t s = 0; s < count; ++s) {
        if (contexts.tag(t, s) == truth_[t]) {
          suffixes_at_loss(t, later)[s] = best[s];
        } else if (has_more) {
          suffixes_at_loss(t, later + 1)[s] = best[s];
        }
      }
    }
  }
  for (std::size_t g = 0; g < size; ++g) {
    w.front[g] = std::ranges::max(suffixes_at_loss(0, g)) - truth_score_;
  }
  return w.front;
}

Candidate<TagSequence> ChainOracle::at_loss(std::uint32_t g) const {
  const Contexts contexts(workspace_, num_tags_);
  const auto first = suffixes_at_loss(0, g).first(num_tags_);
  TagSequence y(length_);
  std::size_t context = y[0] =
      static_cast<std::uint32_t>(std::ranges::max_element(first) - first.begin());
  for (std::size_t t = 1; t < length_; ++t) {
    if (y[t - 1] != truth_[t - 1]) --g;
    y[t] = contexts.best_next(t - 1, context, suffixes_at_loss(t, g).data(), 1.0).second;
    context = contexts.next(t - 1, context, y[t]);
  }
  return evaluate(y);
}

void score_chain(const CsrView& X, std::size_t begin, std::size_t end, const ChainShape& shape,
                 ScaledWeights w, ChainWorkspace& workspace) {
  const std::size_t K = shape.num_tags;
  workspace.emissions.assign((end - begin) * K, 0.0);
  for (std::size_t t = begin; t < end; ++t) {
    const SparseRow x = X.row(t);
    const auto known = static_cast<std::size_t>(
        std::lower_bound(x.columns.begin(), x.columns.end(), shape.num_features) -
        x.columns.begin());
    add_rows(x.columns.data(), x.values.data(), known, w.values.data(), K, w.scale,
             &workspace.emissions[(t - begin) * K]);
  }
  const auto copy_scaled = [&](std::size_t offset, std::size_t size, std::vector<double>& out) {
    out.resize(size);
    for (std::size_t k = 0; k < size; ++k) {
      out[k] = w.scale * static_cast<double>(w.values[offset + k]);
    }
  };
  copy_scaled(shape.transitions(), K * K, workspace.transitions);
  copy_scaled(shape.start(), K, workspace.start);
  copy_scaled(shape.end(), K, workspace.end);
  copy_scaled(shape.triples(), shape.num_triples(), workspace.triples);
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
                         const ChainShape& shape, ScaledWeights w, ChainWorkspace& workspace,
                         const ChainOffset& offset) {
  score_chain(X, begin, end, shape, w, workspace);
  TagSequence tags;
  best_tags(workspace, shape.num_tags, offset, tags);
  return tags;
}

ChainOracle ChainModel::oracle(std::size_t i, ScaledWeights w, ChainWorkspace& workspace) const {
  score_chain(data_.X, data_.pointers[i], data_.pointers[i + 1], shape_, w, workspace);
  return {workspace, data_.num_tags, data_.tags_of(i), criteria_, data_.outside_tag};
}

// Calls add(index, value) for the terms of phi(x_i, y) - phi(x_i, y_i). An index may occur twice.
template <class Add>
void ChainModel::for_each_change(std::size_t i, const TagSequence& y, const Add& add) const {
  const std::uint64_t K = data_.num_tags;
  const auto truth = data_.tags_of(i);
  const auto move = [&](std::uint64_t now, std::uint64_t before) {
    if (now == before) return;
    add(now, 1.0F);
    add(before, -1.0F);
  };
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (y[t] != truth[t]) {
      const SparseRow x = data_.X.row(data_.pointers[i] + t);
      for (std::size_t j = 0; j < x.size(); ++j) {
        add(x.columns[j] * K + y[t], x.values[j]);
        add(x.columns[j] * K + truth[t], -x.values[j]);
      }
    }
    const auto pair = [&](const auto& tags) {
      return shape_.transitions() + tags[t - 1] * K + tags[t];
    };
    const auto triple = [&](const auto& tags) {
      return shape_.triples() + (tags[t - 2] * K + tags[t - 1]) * K + tags[t];
    };
    if (t > 0) move(pair(y), pair(truth));
    if (t > 1 && shape_.order == 2) move(triple(y), triple(truth));
  }
  move(shape_.start() + y.front(), shape_.start() + truth.front());
  move(shape_.end() + y.back(), shape_.end() + truth.back());
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
