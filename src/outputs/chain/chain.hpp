#pragma once
// Linear chains: f(x, y) = sum_t <w_{y_t}, x_t> + sum_t A[y_{t-1}, y_t] + start[y_1] + end[y_T],
// and in a chain of second order sum_t B[y_{t-2}, y_{t-1}, y_t], too. Features belong to tokens;
// the weights of transitions, A and B, do not depend on x. Every call is a Viterbi pass, O(T
// K^(o+1)) for T tokens, K tags and order o.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/out_of_time.hpp"
#include "margrove/csr_matrix.hpp"
#include "structured/criteria.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// Sequences of tokens with features and tags.
struct SequenceData {
  std::vector<std::size_t> pointers{0};  // sequence i has tokens [pointers[i], pointers[i + 1])
  CsrMatrix X;                           // one row per token
  std::vector<std::uint32_t> tags;       // one per token, < num_tags
  std::uint32_t num_tags = 0;
  std::uint32_t outside_tag = 0;  // the tag that Micro-F1 does not count

  std::size_t size() const { return pointers.size() - 1; }
  /// The given sequences.
  SequenceData select(std::span<const std::uint32_t> sequences) const;
  std::size_t length(std::size_t i) const { return pointers[i + 1] - pointers[i]; }
  std::span<const std::uint32_t> tags_of(std::size_t i) const {
    return std::span(tags).subspan(pointers[i], length(i));
  }
};

/// Throws InvalidInput, naming the first sequence or token at fault, on an empty sequence, a tag
/// out of range, and sizes that do not match.
void check_sequences(const SequenceData& data);

using TagSequence = std::vector<std::uint32_t>;

/// Where the weights of a chain are: of feature f for the K tags from f K on, then A by rows, start
/// and end, and in second order B, whose entry [a, b, c] is at (a K + b) K + c.
struct ChainShape {
  std::size_t num_features;
  std::uint32_t num_tags;
  std::uint32_t order = 1;  // 1 or 2

  std::size_t transitions() const { return num_features * num_tags; }
  std::size_t start() const { return transitions() + std::size_t{num_tags} * num_tags; }
  std::size_t end() const { return start() + num_tags; }
  std::size_t triples() const { return end() + num_tags; }
  std::size_t num_triples() const {
    return order == 2 ? std::size_t{num_tags} * num_tags * num_tags : 0;
  }
  std::size_t num_weights() const { return triples() + num_triples(); }
};

/// The buffers of one thread.
struct ChainWorkspace {
  RunControl* control = nullptr;    // ends searches with OutOfTime
  std::vector<double> emissions;    // T x K
  std::vector<double> transitions;  // K x K, a row per earlier tag
  std::vector<double> triples;      // of three tags in a row, K x K x K; empty in first order
  // Transposed: to a later tag from each earlier one, padded with zeros to a multiple of 8. In
  // second order with the triples, a K x K matrix for each tag in the middle.
  std::vector<double> transitions_to;
  std::vector<double> start, end;   // K
  std::vector<double> nodes, ties;  // T x K
  std::vector<double> suffix, suffix_ties, rest_of_tag;
  std::vector<double> front, front_suffix;  // see ChainOracle::loss_front()
  std::vector<std::uint32_t> next;
};

/// Fills workspace.transitions_to from workspace.transitions and workspace.triples.
void transpose_transitions(std::size_t num_tags, ChainWorkspace& workspace);

class ChainOracle {
 public:
  using Labelling = TagSequence;

  /// Refers to its arguments. If `truth` is empty, only decode() may be called.
  ChainOracle(ChainWorkspace& workspace, std::uint32_t num_tags,
              std::span<const std::uint32_t> truth, Criteria criteria, std::uint32_t outside_tag);

  Candidate<TagSequence> argmax(double w_m, double w_g) const;
  Candidate<TagSequence> truth() const;
  Candidate<TagSequence> evaluate(const TagSequence& y) const;
  /// O(T K^(o+1) k).
  std::vector<Candidate<TagSequence>> k_best(double w_m, double w_g, int k) const;
  /// Computes the |banned| + 1 best labellings.
  std::optional<Candidate<TagSequence>> argmax_without(double w_m, double w_g,
                                                       std::span<const TagSequence> banned) const;
  /// With Hamming loss. O(T K^(o+1) most).
  bool has_loss_front() const { return criteria_ == Criteria::hamming; }
  /// Up to this number of doubles, T^2 K^o.
  static constexpr std::size_t kMaxCheapFront = std::size_t{1} << 20U;
  bool has_cheap_front() const {
    return has_loss_front() && length_ * length_ * num_contexts_ <= kMaxCheapFront;
  }
  std::span<const double> loss_front(std::uint32_t most) const;
  Candidate<TagSequence> at_loss(std::uint32_t g) const;
  /// argmax f(x, y).
  TagSequence decode() const;
  /// f(x, y).
  double score(std::span<const std::uint32_t> y) const;

 private:
  // The share of tag k at token t in the two criteria, without the score.
  PartCriteria part(std::size_t t, std::uint32_t k) const;
  // Fills the summands of the objective in `nodes` and, if with_ties, those that decide between
  // equal values in `ties`.
  void fill_nodes(double w_m, double w_g, bool with_ties) const;
  // More than the difference of m between any two labellings.
  double bound_on_margins() const;
  TagSequence viterbi(double transition_weight) const;
  TagSequence viterbi_with_ties(double transition_weight) const;
  // The best values of the suffixes from token t on that have g wrong tags, one for each context.
  std::span<double> suffixes_at_loss(std::size_t t, std::size_t g) const;

  ChainWorkspace& workspace_;
  std::size_t length_;
  std::uint32_t num_tags_;
  std::size_t num_contexts_;  // of a token but the first: K^o
  std::span<const std::uint32_t> truth_;
  Criteria criteria_;
  std::uint32_t outside_tag_;
  double truth_score_ = 0.0;
};

class ChainModel {
 public:
  using Labelling = TagSequence;
  using Workspace = ChainWorkspace;

  /// Refers to `data`, which check_sequences() must accept.
  ChainModel(const SequenceData& data, Criteria criteria, std::uint32_t order = 1)
      : data_(data), shape_{data.X.num_columns(), data.num_tags, order}, criteria_(criteria) {}

  std::size_t num_examples() const { return data_.size(); }
  std::size_t num_weights() const { return shape_.num_weights(); }
  ChainOracle oracle(std::size_t i, ScaledWeights w, ChainWorkspace& workspace) const;
  void difference(std::size_t i, const TagSequence& y, SparseVector& difference) const;
  /// w += factor * difference.
  void add_difference(std::size_t i, const TagSequence& y, double factor, std::span<float> w) const;
  TagSequence truth(std::size_t i) const;
  Criteria criteria() const { return criteria_; }

 private:
  template <class Add>
  void for_each_change(std::size_t i, const TagSequence& y, const Add& add) const;

  const SequenceData& data_;
  ChainShape shape_;
  Criteria criteria_;
};

/// Writes the scores of tokens [begin, end) of X into the workspace. Columns beyond the features of
/// the shape are skipped.
void score_chain(const CsrView& X, std::size_t begin, std::size_t end, const ChainShape& shape,
                 ScaledWeights w, ChainWorkspace& workspace);

class TagConstraints;

/// How tags are chosen: a number is added to the scores of all tags except the outside tag, and
/// some transitions may be forbidden.
struct ChainOffset {
  double amount = 0;
  std::uint32_t outside_tag = 0;
  const TagConstraints* constraints = nullptr;
};
/// Applies the offset and the constraints to the scores in the workspace and writes the best tags.
/// Returns their score without the offsets.
double best_tags(ChainWorkspace& workspace, std::uint32_t num_tags, const ChainOffset& offset,
                 TagSequence& tags);
/// The best tags of tokens [begin, end) of X, scored as by score_chain().
TagSequence decode_chain(const CsrView& X, std::size_t begin, std::size_t end,
                         const ChainShape& shape, ScaledWeights w, ChainWorkspace& workspace,
                         const ChainOffset& offset = {});

}  // namespace margrove
