#pragma once
// Structured losses of given scores, for models whose scores come from elsewhere, such as a neural
// network:
//
//   loss_i = max_y psi(m_i(y), g_i(y)),   m_i(y) = f_i(y) - f_i(y_i),
//
// where f_i sums the scores of the parts of y. The gradient in the scores is psi'_m times (parts of
// y* - parts of y_i) at the maximum y*, and 0 where y* = y_i.

#include <cstddef>
#include <cstdint>
#include <span>

#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/structured.hpp"
#include "margrove/surrogates.hpp"
#include "outputs/label_set/label_set_oracle.hpp"
#include "outputs/path/path_loss.hpp"

namespace margrove {

struct ScoreLossOptions {
  AnySurrogate surrogate = MarginRescaling{};
  StructuredSearch search = StructuredSearch::automatic;
  int max_bans = 10;       // of convex hull search
  double tolerance = 0.0;  // of convex hull search: the allowed relative error of the maximum
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
/// numbers.
template <class Real>
struct LossBlocks {
  std::span<const std::int64_t> truth;
  std::span<std::int64_t> best;
  std::span<Real> losses;
  std::size_t width = 1;

  std::size_t size() const { return losses.size(); }
  std::span<const std::int64_t> truth_of(std::size_t i) const {
    return truth.subspan(i * width, width);
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
/// together or that the output does not offer. The result does not depend on the number of threads.
template <class Real>
void chain_losses(const ChainScores<Real>& chains, const LossBlocks<Real>& out,
                  const ScoreLossOptions& options, Executor& executor);

/// Projective trees with one root over up to `width` words; arcs are (width + 1) x (width + 1),
/// head x word, of which column 0 and the diagonal are not used. A labelling is the head of each
/// word; words count from 1, and 0 is the root.
template <class Real>
void tree_losses(const ScoreBlocks<Real>& arcs, std::span<const std::int64_t> lengths,
                 const LossBlocks<Real>& out, const ScoreLossOptions& options, Executor& executor);

/// Fields over `width` labels: a score per label and one per pair k < l of labels that are both in
/// the set; the other entries of the matrix of pairs are not used. A labelling is 0 or 1 per label.
template <class Real>
void field_losses(const ScoreBlocks<Real>& labels, const ScoreBlocks<Real>& pairs,
                  const LossBlocks<Real>& out, const ScoreLossOptions& options, Executor& executor);

/// Leaves of a graph, scored by the sum of the scores of the nodes on their paths. A labelling is
/// the number of a leaf. Multi-class is a graph without edges.
template <class Real>
void path_losses(const LabelGraph& graph, const PathLoss& loss, const ScoreBlocks<Real>& nodes,
                 const LossBlocks<Real>& out, const ScoreLossOptions& options, Executor& executor);

/// Label sets of a graph that are closed upward, as 0 or 1 per node; in `truth` the leaves suffice.
/// The scores are rounded to single precision.
template <class Real>
void label_set_losses(const LabelGraph& graph, LabelSetLoss loss, const ScoreBlocks<Real>& nodes,
                      const LossBlocks<Real>& out, const ScoreLossOptions& options,
                      Executor& executor);

}  // namespace margrove
