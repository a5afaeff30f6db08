#include "outputs/score_loss.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "margrove/errors.hpp"
#include "outputs/chain/chain.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "outputs/tree/dependency_tree.hpp"
#include "structured/any_search.hpp"
#include "structured/enumeration.hpp"
#include "structured/structured_training.hpp"

namespace margrove {
namespace {

/// Searches each example. make(i, workspace) is its oracle. write(i, y, change), where the maximum
/// is not the true labelling, adds `change` to the gradient at the parts of y and takes it away at
/// those of the truth; it is called for the true labelling with 0.
template <class Workspace, class Real, class Make, class Write>
void search_examples(const LossBlocks<Real>& out, const ScoreLossOptions& options,
                     Executor& executor, const Make& make, const Write& write) {
  using O = decltype(make(std::size_t{0}, std::declval<Workspace&>()));
  // Any solver but cutting planes, whose slacks one search needs.
  const StructuredSearch kind =
      chosen_search(options.search, options.surrogate, StructuredSolver::sgd, abilities_of<O>());
  const DynamicSurrogate psi(options.surrogate);
  const auto num_workers = static_cast<std::size_t>(executor.size());
  std::vector<Workspace> workspaces(num_workers);
  std::vector<AnySearch> searches(num_workers,
                                  AnySearch::make(kind, options.max_bans, options.tolerance));
  executor.for_each(out.size(), [&](std::size_t i, int worker) {
    const O oracle = make(i, workspaces[static_cast<std::size_t>(worker)]);
    LabelCache<typename O::Labelling> cache;
    const auto found = searches[static_cast<std::size_t>(worker)](oracle, psi, cache);
    const bool is_truth = !(found.value > 0.0);
    out.losses[i] = is_truth ? Real{0} : static_cast<Real>(found.value);
    const double change = is_truth ? 0.0 : psi.derivative_m(found.best.m, found.best.g);
    write(i, is_truth ? oracle.truth().y : found.best.y, static_cast<Real>(change));
  });
}

template <class Real>
void copy_finite(std::span<const Real> scores, std::string_view what, std::size_t i,
                 std::vector<double>& out) {
  out.resize(scores.size());
  for (std::size_t k = 0; k < scores.size(); ++k) {
    out[k] = static_cast<double>(scores[k]);
    require(std::isfinite(out[k]), what, " of example ", i, ": score ", k, " is ", out[k],
            ", but must be finite");
  }
}

template <class Real>
std::size_t length_of(std::span<const std::int64_t> lengths, const LossBlocks<Real>& out,
                      std::size_t i) {
  if (lengths.empty()) return out.width;
  require(lengths[i] >= 1 && static_cast<std::size_t>(lengths[i]) <= out.width,
          "lengths: that of example ", i, " is ", lengths[i], ", but must be in [1, ", out.width,
          "]");
  return static_cast<std::size_t>(lengths[i]);
}

/// The first `length` numbers of a true labelling, which must be in [0, end).
template <class Label>
std::vector<Label> checked_truth(std::span<const std::int64_t> truth, std::size_t length,
                                 std::size_t end, std::size_t i) {
  std::vector<Label> labels(length);
  for (std::size_t t = 0; t < length; ++t) {
    require(truth[t] >= 0 && static_cast<std::size_t>(truth[t]) < end, "truth of example ", i,
            ": number ", t, " is ", truth[t], ", but must be in [0, ", end, ")");
    labels[t] = static_cast<Label>(truth[t]);
  }
  return labels;
}

}  // namespace

template <class Real>
void chain_losses(const ChainScores<Real>& chains, const LossBlocks<Real>& out,
                  const ScoreLossOptions& options, Executor& executor) {
  struct Workspace : ChainWorkspace {
    TagSequence truth;
  };
  const std::size_t K = chains.num_tags;
  const Criteria criteria = criteria_for(options.surrogate);
  const auto make = [&](std::size_t i, Workspace& workspace) {
    const std::size_t length = length_of(chains.lengths, out, i);
    workspace.truth = checked_truth<std::uint32_t>(out.truth_of(i), length, K, i);
    copy_finite(chains.emissions.of(i).first(length * K), "emissions", i, workspace.emissions);
    copy_finite(chains.transitions.of(i), "transitions", i, workspace.transitions);
    const auto copy_ends = [&](const ScoreBlocks<Real>& ends, std::string_view what,
                               std::vector<double>& to) {
      if (ends.scores == nullptr) {
        to.assign(K, 0.0);
      } else {
        copy_finite(ends.of(i), what, i, to);
      }
    };
    copy_ends(chains.start, "start", workspace.start);
    copy_ends(chains.end, "end", workspace.end);
    transpose_transitions(K, workspace);
    return ChainOracle(workspace, static_cast<std::uint32_t>(K), workspace.truth, criteria,
                       chains.outside_tag);
  };
  search_examples<Workspace>(
      out, options, executor, make, [&](std::size_t i, const TagSequence& y, Real change) {
        std::copy(y.begin(), y.end(), out.best_of(i).begin());
        if (change == 0) return;
        const auto add = [&](const auto& tag, Real amount) {  // along the tags tag(0), tag(1), ...
          for (std::size_t t = 0; t < y.size(); ++t) {
            chains.emissions.gradient_of(i)[t * K + tag(t)] += amount;
            if (t > 0) chains.transitions.gradient_of(i)[tag(t - 1) * K + tag(t)] += amount;
          }
          if (chains.start.gradient) chains.start.gradient_of(i)[tag(0)] += amount;
          if (chains.end.gradient) chains.end.gradient_of(i)[tag(y.size() - 1)] += amount;
        };
        add([&](std::size_t t) { return std::size_t{y[t]}; }, change);
        add([&](std::size_t t) { return static_cast<std::size_t>(out.truth_of(i)[t]); }, -change);
      });
}

template <class Real>
void tree_losses(const ScoreBlocks<Real>& arcs, std::span<const std::int64_t> lengths,
                 const LossBlocks<Real>& out, const ScoreLossOptions& options, Executor& executor) {
  struct Workspace : DependencyWorkspace {
    DependencyTree truth;
  };
  require_criteria(options.surrogate, Criteria::hamming);
  const std::size_t stride = out.width + 1;
  const auto make = [&](std::size_t i, Workspace& workspace) {
    const std::size_t n = length_of(lengths, out, i);
    workspace.truth = checked_truth<std::uint32_t>(out.truth_of(i), n, n + 1, i);
    check_tree(workspace.truth, i);
    workspace.arcs.assign((n + 1) * (n + 1), 0.0);
    const auto scores = arcs.of(i);
    for (std::size_t head = 0; head <= n; ++head) {
      for (std::size_t word = 1; word <= n; ++word) {
        if (head == word) continue;
        const auto score = static_cast<double>(scores[head * stride + word]);
        require(std::isfinite(score), "arcs of example ", i, ": that from ", head, " to ", word,
                " has score ", score, ", but must be finite");
        workspace.arcs[head * (n + 1) + word] = score;
      }
    }
    return DependencyOracle(workspace, n, workspace.truth);
  };
  search_examples<Workspace>(out, options, executor, make,
                             [&](std::size_t i, const DependencyTree& y, Real change) {
                               std::copy(y.begin(), y.end(), out.best_of(i).begin());
                               if (change == 0) return;
                               for (std::size_t k = 0; k < y.size(); ++k) {
                                 arcs.gradient_of(i)[y[k] * stride + k + 1] += change;
                                 const auto head = static_cast<std::size_t>(out.truth_of(i)[k]);
                                 arcs.gradient_of(i)[head * stride + k + 1] -= change;
                               }
                             });
}

template <class Real>
void field_losses(const ScoreBlocks<Real>& labels, const ScoreBlocks<Real>& pairs,
                  const LossBlocks<Real>& out, const ScoreLossOptions& options,
                  Executor& executor) {
  struct Workspace : FieldWorkspace {
    LabelVector truth;
    std::vector<double> pairs;
  };
  const std::size_t K = out.width;
  const FieldOptions field{.criteria = criteria_for(options.surrogate)};
  const auto make = [&](std::size_t i, Workspace& workspace) {
    workspace.truth = checked_truth<std::uint8_t>(out.truth_of(i), K, 2, i);
    workspace.table_m.clear();
    copy_finite(labels.of(i), "labels", i, workspace.unary);
    workspace.interactions.assign(K * K, 0.0);
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t l = k + 1; l < K; ++l) {
        const auto score = static_cast<double>(pairs.of(i)[k * K + l]);
        require(std::isfinite(score), "pairs of example ", i, ": that of ", k, " and ", l,
                " has score ", score, ", but must be finite");
        workspace.interactions[k * K + l] = workspace.interactions[l * K + k] = score;
      }
    }
    return FieldOracle(workspace, workspace.truth, field);
  };
  search_examples<Workspace>(
      out, options, executor, make, [&](std::size_t i, const LabelVector& y, Real change) {
        std::copy(y.begin(), y.end(), out.best_of(i).begin());
        if (change == 0) return;
        const auto truth = out.truth_of(i);
        for (std::size_t k = 0; k < K; ++k) {
          const int now = y[k], before = static_cast<int>(truth[k]);
          labels.gradient_of(i)[k] += change * static_cast<Real>(now - before);
          for (std::size_t l = k + 1; l < K; ++l) {
            const int difference = now * y[l] - before * static_cast<int>(truth[l]);
            pairs.gradient_of(i)[k * K + l] += change * static_cast<Real>(difference);
          }
        }
      });
}

template <class Real>
void path_losses(const LabelGraph& graph, const PathLoss& loss, const ScoreBlocks<Real>& nodes,
                 const LossBlocks<Real>& out, const ScoreLossOptions& options, Executor& executor) {
  struct Workspace {
    std::vector<double> scores, losses;
  };
  require_criteria(options.surrogate, Criteria::hamming);
  const auto leaves = graph.leaves();
  const NodeLists above = ancestor_sets(graph, leaves);
  const auto make = [&](std::size_t i, Workspace& workspace) {
    const std::int64_t label = out.truth_of(i)[0];
    const auto place = std::lower_bound(leaves.begin(), leaves.end(), label);
    require(place != leaves.end() && *place == label, "truth of example ", i, " is ", label,
            ", but must be the number of a ", graph.num_edges() == 0 ? "class" : "leaf",
            graph.num_edges() == 0 ? concat(", 0 to ", leaves.size() - 1) : "");
    copy_finite(nodes.of(i), "scores", i, workspace.scores);
    workspace.losses.resize(leaves.size());
    loss.from(*place, workspace.losses);
    const auto truth = static_cast<std::size_t>(place - leaves.begin());
    std::vector<Candidate<NodeId>> all;
    all.reserve(leaves.size());
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      double score = 0.0;
      for (const NodeId n : above[leaves[k]]) score += workspace.scores[n];
      all.push_back({leaves[k], score, workspace.losses[k]});
    }
    const double of_truth = all[truth].m;
    for (auto& leaf : all) leaf.m -= of_truth;
    return EnumerationOracle<NodeId>(std::move(all), truth);
  };
  search_examples<Workspace>(
      out, options, executor, make, [&](std::size_t i, NodeId y, Real change) {
        out.best_of(i)[0] = y;
        if (change == 0) return;
        for (const NodeId n : above[y]) nodes.gradient_of(i)[n] += change;
        for (const NodeId n : above[static_cast<NodeId>(out.truth_of(i)[0])]) {
          nodes.gradient_of(i)[n] -= change;
        }
      });
}

template <class Real>
void label_set_losses(const LabelGraph& graph, LabelSetLoss loss, const ScoreBlocks<Real>& nodes,
                      const LossBlocks<Real>& out, const ScoreLossOptions& options,
                      Executor& executor) {
  struct Workspace : LabelSetModel::Workspace {
    std::vector<float> columns;
  };
  // A model with one feature, which is 1, has the scores for its weights.
  CsrMatrix ones(1);
  LabelSets truth;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto in_set = checked_truth<char>(out.truth_of(i), out.width, 2, i);
    std::vector<char> is_implied(out.width, 0);
    std::vector<NodeId> leaves;
    for (const NodeId leaf : graph.leaves()) {
      if (!in_set[leaf]) continue;
      leaves.push_back(leaf);
      for (const NodeId n : graph.ancestors(leaf)) is_implied[n] = 1;
    }
    require(!leaves.empty(), "truth of example ", i, " has no leaf, but must have at least one");
    for (std::size_t n = 0; n < out.width; ++n) {
      require(!in_set[n] || is_implied[n], "truth of example ", i, " has node ", n,
              ", but no leaf below it");
    }
    truth.append(leaves);
    const FeatureId feature{0};
    const float one = 1.0F;
    ones.append_row({&feature, 1}, {&one, 1});
  }
  const std::vector<double> alpha(graph.num_nodes(), 1.0);
  const LabelSetModel model(ones, truth, graph, alpha, true,
                            {.loss = loss, .criteria = criteria_for(options.surrogate)});
  const auto make = [&](std::size_t i, Workspace& workspace) {
    workspace.columns.assign(model.num_weights(), 0.0F);
    const auto scores = nodes.of(i);
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      const auto score = static_cast<float>(scores[n]);
      require(std::isfinite(score), "scores of example ", i, ": score ", n, " is ", score,
              ", but must be finite");
      const std::uint32_t column = model.scorer().column(n);
      if (column != NodeScorer::kNoColumn) workspace.columns[column] = score;
    }
    return model.oracle(i, {workspace.columns, 1.0}, workspace);
  };
  search_examples<Workspace>(out, options, executor, make,
                             [&](std::size_t i, const NodeShares& y, Real change) {
                               for (const NodeId n : y.nodes) {
                                 out.best_of(i)[n] = 1;
                                 nodes.gradient_of(i)[n] += change;
                               }
                               for (const NodeId n : model.truth(i).nodes)
                                 nodes.gradient_of(i)[n] -= change;
                             });
}

template void chain_losses(const ChainScores<float>&, const LossBlocks<float>&,
                           const ScoreLossOptions&, Executor&);
template void chain_losses(const ChainScores<double>&, const LossBlocks<double>&,
                           const ScoreLossOptions&, Executor&);
template void tree_losses(const ScoreBlocks<float>&, std::span<const std::int64_t>,
                          const LossBlocks<float>&, const ScoreLossOptions&, Executor&);
template void tree_losses(const ScoreBlocks<double>&, std::span<const std::int64_t>,
                          const LossBlocks<double>&, const ScoreLossOptions&, Executor&);
template void field_losses(const ScoreBlocks<float>&, const ScoreBlocks<float>&,
                           const LossBlocks<float>&, const ScoreLossOptions&, Executor&);
template void field_losses(const ScoreBlocks<double>&, const ScoreBlocks<double>&,
                           const LossBlocks<double>&, const ScoreLossOptions&, Executor&);
template void path_losses(const LabelGraph&, const PathLoss&, const ScoreBlocks<float>&,
                          const LossBlocks<float>&, const ScoreLossOptions&, Executor&);
template void path_losses(const LabelGraph&, const PathLoss&, const ScoreBlocks<double>&,
                          const LossBlocks<double>&, const ScoreLossOptions&, Executor&);
template void label_set_losses(const LabelGraph&, LabelSetLoss, const ScoreBlocks<float>&,
                               const LossBlocks<float>&, const ScoreLossOptions&, Executor&);
template void label_set_losses(const LabelGraph&, LabelSetLoss, const ScoreBlocks<double>&,
                               const LossBlocks<double>&, const ScoreLossOptions&, Executor&);

}  // namespace margrove
