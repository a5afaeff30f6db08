#pragma once
// Losses of given scores, for models whose scores come from elsewhere, such as a neural network.
// f_i(y) sums the scores of the parts of y, and m_i(y) = f_i(y) - f_i(y_i):
//
//   structured      max_y psi(m_i(y), g_i(y))
//   log_likelihood  -log p(y_i) = log sum_y exp m_i(y)
//   perturbed       mean over samples of max_y m_i(y) at scores + sigma z, z standard normal
//                   [Berthet2020, Blondel2020]
//
// The gradient in the scores sums the parts of labellings: psi'_m times (y* - y_i) at the maximum
// y*, and 0 where y* = y_i; the expectation of y less y_i; the mean of the maxima less y_i.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/options.hpp"
#include "margrove/structured.hpp"
#include "margrove/surrogates.hpp"
#include "outputs/label_set/label_set_oracle.hpp"
#include "outputs/path/path_loss.hpp"
#include "outputs/tree/dependency_tree.hpp"

namespace margrove {

enum class ScoreTask {
  structured,
  log_likelihood,
  perturbed,
  marginals,  // log sum_y exp f_i(y) in place of the loss and its gradient, the probabilities
  best,       // max_y f_i(y) in place of the loss, and y
};
template <>
inline constexpr auto kEnumNames<ScoreTask> =
    std::array{EnumName{ScoreTask::structured, "structured"},
               EnumName{ScoreTask::log_likelihood, "log-likelihood"},
               EnumName{ScoreTask::perturbed, "perturbed"},
               EnumName{ScoreTask::marginals, "marginals"}, EnumName{ScoreTask::best, "best"}};

struct ScoreLossOptions {
  ScoreTask task = ScoreTask::structured;
  // Of structured losses.
  AnySurrogate surrogate = MarginRescaling{};
  StructuredSearch search = StructuredSearch::automatic;
  int max_bans = 10;       // of convex hull search
  double tolerance = 0.0;  // of convex hull search: the allowed relative error of the maximum
  // Of perturbed losses.
  double sigma = 1.0;
  int samples = 1;
  std::uint64_t seed = 0;  // example i has the stream i of it
};

/// One block of numbers per example. `step` is the distance of the blocks; 0 if all examples have
/// the same scores. The gradient has a block of `size` numbers for each example; all are 0 at
/// first.
template <class Real>
struct ScoreBlocks {
  const Real* scores = nullptr;
  std::size_t step = 0;
  Real* gradient = nullptr;
  std::size_t size = 0;

  std::span<const Real> of(std::size_t i) const { return {scores + i * step, size}; }
  std::span<Real> gradient_of(std::size_t i) const { return {gradient + i * size, size}; }
};

/// The truth, the maximum y* and the loss of each example. The labellings are blocks of `width`
/// numbers. `best` is written by the tasks structured and best, and `truth` not read by marginals
/// and best. `start` has labellings that searches of the task structured begin with, such as the
/// maxima at earlier scores, and -1 as the first number of examples without one; it may be empty.
template <class Real>
struct LossBlocks {
  std::span<const std::int64_t> truth;
  std::span<std::int64_t> best;
  std::span<Real> losses;
  std::size_t width = 1;
  std::span<const std::int64_t> start = {};

  std::size_t size() const { return losses.size(); }
  std::span<const std::int64_t> truth_of(std::size_t i) const {
    return truth.subspan(i * width, width);
  }
  bool has_start(std::size_t i) const { return !start.empty() && start[i * width] != -1; }
  std::span<const std::int64_t> start_of(std::size_t i) const {
    return start.subspan(i * width, width);
  }
  std::span<std::int64_t> best_of(std::size_t i) const { return best.subspan(i * width, width); }
};

/// Chains of up to `width` tokens: emissions (tokens x tags), transitions (tags x tags, a row per
/// earlier tag), start and end (tags each; no scores, if null). A labelling is a tag per token;
/// `best` is left as it is behind the last token. Micro-F1 does not count outside_tag.
template <class Real>
struct ChainScores {
  std::size_t num_tags = 0;
  std::uint32_t outside_tag = 0;
  std::span<const std::int64_t> lengths;  // empty: all have `width` tokens
  ScoreBlocks<Real> emissions, transitions, start, end;
};
/// These throw InvalidInput, naming the example, on lengths, labels and trees that are wrong and on
/// scores that are not finite, and InvalidOption for a surrogate and a search that do not go
/// together and for what the output does not offer. The result does not depend on the number of
/// threads.
template <class Real>
void chain_losses(const ChainScores<Real>& chains, const LossBlocks<Real>& out,
                  const ScoreLossOptions& options, Executor& executor);

/// Trees with one root over up to `width` words; arcs are (width + 1) x (width + 1),
/// head x word, of which column 0 and the diagonal are not used. A labelling is the head of each
/// word; words count from 1, and 0 is the root.
template <class Real>
void tree_losses(TreeShape shape, const ScoreBlocks<Real>& arcs,
                 std::span<const std::int64_t> lengths, const LossBlocks<Real>& out,
                 const ScoreLossOptions& options, Executor& executor);

/// Sets of exactly num_chosen of `width` labels. A labelling is 0 or 1 per label.
template <class Real>
void choice_losses(std::size_t num_chosen, const ScoreBlocks<Real>& labels,
                   const LossBlocks<Real>& out, const ScoreLossOptions& options,
                   Executor& executor);

/// Fields over `width` labels: a score per label and one per pair k < l of labels that are both in
/// the set; the other entries of the matrix of pairs are not used. A labelling is 0 or 1 per label.
template <class Real>
void field_losses(const ScoreBlocks<Real>& labels, const ScoreBlocks<Real>& pairs,
                  const LossBlocks<Real>& out, const ScoreLossOptions& options, Executor& executor);

/// Nodes of a graph, scored by the sum of the scores of the nodes on their paths: all nodes or,
/// unless with_inner, the leaves. A labelling is the number of a node. Multi-class is a graph
/// without edges.
template <class Real>
void path_losses(const LabelGraph& graph, const PathLoss& loss, bool with_inner,
                 const ScoreBlocks<Real>& nodes, const LossBlocks<Real>& out,
                 const ScoreLossOptions& options, Executor& executor);

/// Label sets of a graph that are closed upward, as 0 or 1 per node; in `truth` the leaves suffice.
/// Structured losses round the scores to single precision. Only trees have a log-likelihood.
template <class Real>
void label_set_losses(const LabelGraph& graph, LabelSetLoss loss, const ScoreBlocks<Real>& nodes,
                      const LossBlocks<Real>& out, const ScoreLossOptions& options,
                      Executor& executor);

}  // namespace margrove
