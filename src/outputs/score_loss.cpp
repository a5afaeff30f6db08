#include "outputs/score_loss.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include "outputs/chain/chain.hpp"
#include "outputs/chain/chain_marginals.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "outputs/scored_examples.hpp"
#include "outputs/top_k/top_k.hpp"
#include "outputs/tree/tree_marginals.hpp"

namespace margrove {
namespace {

template <class Real>
struct ScoredChains {
  using Labelling = TagSequence;
  struct Workspace : ChainWorkspace {
    TagSequence truth;
    ChainMarginals sums;
  };
  const ChainScores<Real>& chains;
  const LossBlocks<Real>& out;
  Criteria criteria;
  std::size_t K = chains.num_tags;

  void check(const ScoreLossOptions&) const {}

  void read(std::size_t i, Workspace& w) const {
    const std::size_t length = length_of(chains.lengths, out, i);
    copy_finite(chains.emissions.of(i).first(length * K), "emissions", i, w.emissions);
    copy_finite(chains.transitions.of(i), "transitions", i, w.transitions);
    const auto copy_ends = [&](const ScoreBlocks<Real>& ends, std::string_view what,
                               std::vector<double>& to) {
      if (ends.scores == nullptr) {
        to.assign(K, 0.0);
      } else {
        copy_finite(ends.of(i), what, i, to);
      }
    };
    copy_ends(chains.start, "start", w.start);
    copy_ends(chains.end, "end", w.end);
    prepare(w);
  }
  TagSequence labelling(std::size_t i, std::span<const std::int64_t> given, std::string_view what,
                        const Workspace& w) const {
    return checked_labels<std::uint32_t>(given, w.emissions.size() / K, K, what, i);
  }
  ChainOracle oracle(Workspace& w) const {
    return {w, static_cast<std::uint32_t>(K), w.truth, criteria, chains.outside_tag};
  }
  std::vector<std::vector<double>*> scores(Workspace& w) const {
    std::vector<std::vector<double>*> all{&w.emissions, &w.transitions};
    if (chains.start.scores != nullptr) all.push_back(&w.start);
    if (chains.end.scores != nullptr) all.push_back(&w.end);
    return all;
  }
  void prepare(Workspace& w) const { transpose_transitions(K, w); }
  TagSequence best(Workspace& w) const { return decoder(w).decode(); }
  double score(Workspace& w, const TagSequence& y) const { return decoder(w).score(y); }

  void write(std::size_t i, const TagSequence& y) const {
    std::copy(y.begin(), y.end(), out.best_of(i).begin());
  }
  void add(std::size_t i, const TagSequence& y, Real amount) const {
    const auto emissions = chains.emissions.gradient_of(i);
    const auto transitions = chains.transitions.gradient_of(i);
    for (std::size_t t = 0; t < y.size(); ++t) {
      emissions[t * K + y[t]] += amount;
      if (t > 0) transitions[y[t - 1] * K + y[t]] += amount;
    }
    if (chains.start.gradient) chains.start.gradient_of(i)[y.front()] += amount;
    if (chains.end.gradient) chains.end.gradient_of(i)[y.back()] += amount;
  }
  double add_marginals(std::size_t i, Workspace& w) const {
    sum_over_chain(w, K, w.sums);
    const auto add_all = [](std::span<const double> from, std::span<Real> to) {
      for (std::size_t k = 0; k < from.size(); ++k) to[k] += static_cast<Real>(from[k]);
    };
    const std::span<const double> tags = w.sums.tags;
    add_all(tags, chains.emissions.gradient_of(i));
    add_all(w.sums.transitions, chains.transitions.gradient_of(i));
    if (chains.start.gradient) add_all(tags.first(K), chains.start.gradient_of(i));
    if (chains.end.gradient) add_all(tags.last(K), chains.end.gradient_of(i));
    return w.sums.log_partition;
  }

 private:
  ChainOracle decoder(Workspace& w) const {
    return {w, static_cast<std::uint32_t>(K), {}, criteria, chains.outside_tag};
  }
};

template <class Real>
struct ScoredTrees {
  using Labelling = DependencyTree;
  struct Workspace : DependencyWorkspace {
    std::size_t num_words = 0;
    DependencyTree truth;
    std::vector<double> probabilities;
  };
  TreeShape shape;
  const ScoreBlocks<Real>& arcs;
  std::span<const std::int64_t> lengths;
  const LossBlocks<Real>& out;
  std::size_t stride = out.width + 1;

  void check(const ScoreLossOptions& options) const {
    require_criteria(options.surrogate, Criteria::hamming);
  }

  void read(std::size_t i, Workspace& w) const {
    const std::size_t n = w.num_words = length_of(lengths, out, i);
    w.arcs.assign((n + 1) * (n + 1), 0.0);
    const auto given = arcs.of(i);
    for (std::size_t head = 0; head <= n; ++head) {
      for (std::size_t word = 1; word <= n; ++word) {
        if (head == word) continue;
        const auto score = static_cast<double>(given[head * stride + word]);
        require(std::isfinite(score), "arcs of example ", i, ": that from ", head, " to ", word,
                " has score ", score, ", but must be finite");
        w.arcs[head * (n + 1) + word] = score;
      }
    }
  }
  DependencyTree labelling(std::size_t i, std::span<const std::int64_t> given,
                           std::string_view what, const Workspace& w) const {
    DependencyTree tree =
        checked_labels<std::uint32_t>(given, w.num_words, w.num_words + 1, what, i);
    check_tree(tree, i, shape);
    return tree;
  }
  DependencyOracle oracle(Workspace& w) const { return {w, w.num_words, w.truth, shape}; }
  std::array<std::vector<double>*, 1> scores(Workspace& w) const { return {&w.arcs}; }
  void prepare(Workspace&) const {}
  DependencyTree best(Workspace& w) const { return decoder(w).decode(); }
  double score(Workspace& w, const DependencyTree& y) const { return decoder(w).score(y); }

  void write(std::size_t i, const DependencyTree& y) const {
    std::copy(y.begin(), y.end(), out.best_of(i).begin());
  }
  void add(std::size_t i, const DependencyTree& y, Real amount) const {
    for (std::size_t k = 0; k < y.size(); ++k) {
      arcs.gradient_of(i)[y[k] * stride + k + 1] += amount;
    }
  }
  double add_marginals(std::size_t i, Workspace& w) const {
    const std::size_t n = w.num_words;
    const double log_partition = shape == TreeShape::projective
                                     ? projective_marginals(w.arcs, n, w.probabilities)
                                     : spanning_tree_marginals(w.arcs, n, w.probabilities);
    for (std::size_t head = 0; head <= n; ++head) {
      for (std::size_t word = 1; word <= n; ++word) {
        arcs.gradient_of(i)[head * stride + word] +=
            static_cast<Real>(w.probabilities[head * (n + 1) + word]);
      }
    }
    return log_partition;
  }

 private:
  DependencyOracle decoder(Workspace& w) const { return {w, w.num_words, {}, shape}; }
};

template <class Real>
struct ScoredFields {
  using Labelling = LabelVector;
  struct Workspace : FieldWorkspace {
    LabelVector truth;
  };
  const ScoreBlocks<Real>& labels;
  const ScoreBlocks<Real>& pairs;
  const LossBlocks<Real>& out;
  FieldOptions field;
  std::size_t K = out.width;

  void check(const ScoreLossOptions&) const {}

  void read(std::size_t i, Workspace& w) const {
    w.table_m.clear();
    copy_finite(labels.of(i), "labels", i, w.unary);
    w.interactions.assign(K * K, 0.0);
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t l = k + 1; l < K; ++l) {
        const auto score = static_cast<double>(pairs.of(i)[k * K + l]);
        require(std::isfinite(score), "pairs of example ", i, ": that of ", k, " and ", l,
                " has score ", score, ", but must be finite");
        w.interactions[k * K + l] = score;
      }
    }
    prepare(w);
  }
  LabelVector labelling(std::size_t i, std::span<const std::int64_t> given, std::string_view what,
                        const Workspace&) const {
    return checked_labels<std::uint8_t>(given, K, 2, what, i);
  }
  FieldOracle oracle(Workspace& w) const { return {w, w.truth, field}; }
  std::array<std::vector<double>*, 2> scores(Workspace& w) const {
    return {&w.unary, &w.interactions};
  }
  /// The pairs k < l count.
  void prepare(Workspace& w) const {
    w.table_m.clear();
    for (std::size_t k = 0; k < K; ++k) {
      w.interactions[k * K + k] = 0.0;
      for (std::size_t l = k + 1; l < K; ++l) {
        w.interactions[l * K + k] = w.interactions[k * K + l];
      }
    }
  }
  LabelVector best(Workspace& w) const { return FieldOracle(w, {}, field).decode(); }
  double score(Workspace& w, const LabelVector& y) const {
    return FieldOracle(w, {}, field).score(y);
  }

  void write(std::size_t i, const LabelVector& y) const {
    std::copy(y.begin(), y.end(), out.best_of(i).begin());
  }
  void add(std::size_t i, const LabelVector& y, Real amount) const {
    for (std::size_t k = 0; k < K; ++k) {
      if (!y[k]) continue;
      labels.gradient_of(i)[k] += amount;
      for (std::size_t l = k + 1; l < K; ++l) {
        if (y[l]) pairs.gradient_of(i)[k * K + l] += amount;
      }
    }
  }
};

template <class Real>
struct ScoredChoices {
  using Labelling = LabelChoice;
  struct Workspace {
    LabelChoice truth;
    std::vector<double> labels, probabilities;
  };
  std::size_t num_chosen;
  const ScoreBlocks<Real>& labels;
  const LossBlocks<Real>& out;
  Criteria criteria;

  void check(const ScoreLossOptions&) const {
    require(num_chosen >= 1 && num_chosen <= out.width, "k is ", num_chosen,
            ", but must be between 1 and the number of labels, ", out.width);
  }

  void read(std::size_t i, Workspace& w) const { copy_finite(labels.of(i), "labels", i, w.labels); }
  LabelChoice labelling(std::size_t i, std::span<const std::int64_t> given, std::string_view what,
                        const Workspace&) const {
    LabelChoice choice = checked_labels<std::uint8_t>(given, out.width, 2, what, i);
    const auto size = std::count(choice.begin(), choice.end(), 1);
    require(static_cast<std::size_t>(size) == num_chosen, what, " of example ", i, " has ", size,
            " labels, but must have ", num_chosen);
    return choice;
  }
  EnumerationOracle<LabelChoice> oracle(Workspace& w) const {
    return choice_oracle(w.labels, w.truth, criteria);
  }
  std::array<std::vector<double>*, 1> scores(Workspace& w) const { return {&w.labels}; }
  void prepare(Workspace&) const {}
  LabelChoice best(Workspace& w) const { return best_choice(w.labels, num_chosen); }
  double score(Workspace& w, const LabelChoice& y) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < y.size(); ++k) sum += y[k] ? w.labels[k] : 0.0;
    return sum;
  }

  void write(std::size_t i, const LabelChoice& y) const {
    std::copy(y.begin(), y.end(), out.best_of(i).begin());
  }
  void add(std::size_t i, const LabelChoice& y, Real amount) const {
    for (std::size_t k = 0; k < y.size(); ++k) {
      if (y[k]) labels.gradient_of(i)[k] += amount;
    }
  }
  double add_marginals(std::size_t i, Workspace& w) const {
    const double log_partition = choice_marginals(w.labels, num_chosen, w.probabilities);
    for (std::size_t k = 0; k < w.labels.size(); ++k) {
      labels.gradient_of(i)[k] += static_cast<Real>(w.probabilities[k]);
    }
    return log_partition;
  }
};

}  // namespace

template <class Real>
void chain_losses(const ChainScores<Real>& chains, const LossBlocks<Real>& out,
                  const ScoreLossOptions& options, Executor& executor) {
  run_examples(ScoredChains<Real>{chains, out, criteria_for(options.surrogate)}, out, options,
               executor);
}

template <class Real>
void tree_losses(TreeShape shape, const ScoreBlocks<Real>& arcs,
                 std::span<const std::int64_t> lengths, const LossBlocks<Real>& out,
                 const ScoreLossOptions& options, Executor& executor) {
  run_examples(ScoredTrees<Real>{shape, arcs, lengths, out}, out, options, executor);
}

template <class Real>
void field_losses(const ScoreBlocks<Real>& labels, const ScoreBlocks<Real>& pairs,
                  const LossBlocks<Real>& out, const ScoreLossOptions& options,
                  Executor& executor) {
  const FieldOptions field{.criteria = criteria_for(options.surrogate)};
  run_examples(ScoredFields<Real>{labels, pairs, out, field}, out, options, executor);
}

template <class Real>
void choice_losses(std::size_t num_chosen, const ScoreBlocks<Real>& labels,
                   const LossBlocks<Real>& out, const ScoreLossOptions& options,
                   Executor& executor) {
  run_examples(ScoredChoices<Real>{num_chosen, labels, out, criteria_for(options.surrogate)}, out,
               options, executor);
}

template void chain_losses(const ChainScores<float>&, const LossBlocks<float>&,
                           const ScoreLossOptions&, Executor&);
template void chain_losses(const ChainScores<double>&, const LossBlocks<double>&,
                           const ScoreLossOptions&, Executor&);
template void tree_losses(TreeShape, const ScoreBlocks<float>&, std::span<const std::int64_t>,
                          const LossBlocks<float>&, const ScoreLossOptions&, Executor&);
template void tree_losses(TreeShape, const ScoreBlocks<double>&, std::span<const std::int64_t>,
                          const LossBlocks<double>&, const ScoreLossOptions&, Executor&);
template void field_losses(const ScoreBlocks<float>&, const ScoreBlocks<float>&,
                           const LossBlocks<float>&, const ScoreLossOptions&, Executor&);
template void field_losses(const ScoreBlocks<double>&, const ScoreBlocks<double>&,
                           const LossBlocks<double>&, const ScoreLossOptions&, Executor&);
template void choice_losses(std::size_t, const ScoreBlocks<float>&, const LossBlocks<float>&,
                            const ScoreLossOptions&, Executor&);
template void choice_losses(std::size_t, const ScoreBlocks<double>&, const LossBlocks<double>&,
                            const ScoreLossOptions&, Executor&);

}  // namespace margrove
