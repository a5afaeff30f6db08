#include "score_loss_bindings.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/options.hpp"
#include "outputs/score_loss.hpp"
#include "surrogate_argument.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace margrove::python {
namespace {

// margrove/losses.py makes all arrays and checks their shapes.

template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
/// (scores, gradient): the scores have one block or one per example, the gradient one per example.
template <class Real>
using Blocks = std::tuple<Array<const Real>, Array<Real>>;
/// (truth, best, losses, start)
template <class Real>
using Losses = std::tuple<Array<const std::int64_t>, Array<std::int64_t>, Array<Real>,
                          std::optional<Array<const std::int64_t>>>;
using Lengths = std::optional<Array<const std::int64_t>>;
/// (task, threads, surrogate, search, max_bans, tolerance, sigma, samples, seed)
using Settings =
    std::tuple<std::string, int, nb::object, std::string, int, double, double, int, std::uint64_t>;

template <class Real>
ScoreBlocks<Real> blocks_of(const Blocks<Real>& python) {
  const auto& [scores, gradient] = python;
  const std::size_t examples = gradient.shape(0);
  const std::size_t size = examples == 0 ? 0 : gradient.size() / examples;
  return {scores.data(), scores.size() == size ? 0 : size, gradient.data(), size};
}
template <class Real>
ScoreBlocks<Real> blocks_of(const std::optional<Blocks<Real>>& python) {
  return python ? blocks_of(*python) : ScoreBlocks<Real>{};
}

std::span<const std::int64_t> span_of(const std::optional<Array<const std::int64_t>>& numbers) {
  if (!numbers) return {};
  return {numbers->data(), numbers->size()};
}

template <class Real>
LossBlocks<Real> losses_of(const Losses<Real>& python) {
  const auto& [truth, best, losses, start] = python;
  return {{truth.data(), truth.size()},
          {best.data(), best.size()},
          {losses.data(), losses.size()},
          truth.ndim() == 2 ? truth.shape(1) : 1,
          span_of(start)};
}

LabelGraph graph_of(std::uint32_t num_nodes, const Matrix<std::uint32_t>& rows) {
  std::vector<LabelEdge> edges;
  for (std::size_t e = 0; e < rows.shape(0); ++e) edges.push_back({rows(e, 0), rows(e, 1)});
  return LabelGraph::build(num_nodes, edges);
}

ScoreLossOptions options_of(const Settings& settings) {
  const auto& [task, threads, surrogate, search, max_bans, tolerance, sigma, samples, seed] =
      settings;
  require<InvalidOption>(max_bans >= 0, "option max_bans is ", max_bans, ", but must be >= 0");
  require<InvalidOption>(tolerance >= 0 && tolerance < 1, "option tolerance is ", tolerance,
                         ", but must be in [0, 1)");
  require<InvalidOption>(sigma > 0 && std::isfinite(sigma), "option sigma is ", sigma,
                         ", but must be finite and > 0");
  require<InvalidOption>(samples >= 1, "option samples is ", samples, ", but must be >= 1");
  return {.task = parse_enum<ScoreTask>("task", task),
          .surrogate = surrogate_of(surrogate),
          .search = parse_enum<StructuredSearch>("search", search),
          .max_bans = max_bans,
          .tolerance = tolerance,
          .sigma = sigma,
          .samples = samples,
          .seed = seed};
}

/// Calls run(options, executor) without the GIL.
template <class Run>
void with_settings(const Settings& settings, const Run& run) {
  const ScoreLossOptions options = options_of(settings);
  const nb::gil_scoped_release released;
  Executor executor(std::get<1>(settings));
  run(options, executor);
}

template <class Real>
void chains(const Settings& settings, const Losses<Real>& losses, const Lengths& lengths,
            std::uint32_t outside_tag, const Blocks<Real>& emissions,
            const Blocks<Real>& transitions, const std::optional<Blocks<Real>>& start,
            const std::optional<Blocks<Real>>& end) {
  const ChainScores<Real> scores{.num_tags = std::get<1>(emissions).shape(2),
                                 .outside_tag = outside_tag,
                                 .lengths = span_of(lengths),
                                 .emissions = blocks_of(emissions),
                                 .transitions = blocks_of(transitions),
                                 .start = blocks_of(start),
                                 .end = blocks_of(end)};
  with_settings(settings, [&](const ScoreLossOptions& options, Executor& executor) {
    chain_losses(scores, losses_of(losses), options, executor);
  });
}

template <class Real>
void trees(const Settings& settings, const Losses<Real>& losses, const Lengths& lengths,
           bool projective, const Blocks<Real>& arcs) {
  const TreeShape shape = projective ? TreeShape::projective : TreeShape::any;
  with_settings(settings, [&](const ScoreLossOptions& options, Executor& executor) {
    tree_losses(shape, blocks_of(arcs), span_of(lengths), losses_of(losses), options, executor);
  });
}

template <class Real>
void fields(const Settings& settings, const Losses<Real>& losses, const Blocks<Real>& labels,
            const Blocks<Real>& pairs) {
  with_settings(settings, [&](const ScoreLossOptions& options, Executor& executor) {
    field_losses(blocks_of(labels), blocks_of(pairs), losses_of(losses), options, executor);
  });
}

template <class Real>
void choices(const Settings& settings, const Losses<Real>& losses, std::size_t num_chosen,
             const Blocks<Real>& labels) {
  with_settings(settings, [&](const ScoreLossOptions& options, Executor& executor) {
    choice_losses(num_chosen, blocks_of(labels), losses_of(losses), options, executor);
  });
}

template <class Real>
void paths(const Settings& settings, const Losses<Real>& losses, const Blocks<Real>& nodes,
           const Matrix<std::uint32_t>& edges, const std::string& loss, bool with_inner,
           const std::optional<Matrix<double>>& costs) {
  with_settings(settings, [&](const ScoreLossOptions& options, Executor& executor) {
    const auto scores = blocks_of(nodes);
    const LabelGraph graph = graph_of(static_cast<std::uint32_t>(scores.size), edges);
    LeafLoss leaf_loss(parse_enum<TaskLoss>("loss", loss));
    if (costs) leaf_loss.costs = {costs->data(), costs->size()};
    const std::vector<double> alpha(graph.num_nodes(), 1.0);
    path_losses(graph, PathLoss(leaf_loss, graph, alpha), with_inner, scores, losses_of(losses),
                options, executor);
  });
}

template <class Real>
void label_sets(const Settings& settings, const Losses<Real>& losses, const Blocks<Real>& nodes,
                const Matrix<std::uint32_t>& edges, bool counts_nodes) {
  with_settings(settings, [&](const ScoreLossOptions& options, Executor& executor) {
    const auto scores = blocks_of(nodes);
    const LabelGraph graph = graph_of(static_cast<std::uint32_t>(scores.size), edges);
    label_set_losses(graph, counts_nodes ? LabelSetLoss::nodes : LabelSetLoss::leaves, scores,
                     losses_of(losses), options, executor);
  });
}

template <class Real>
void bind(nb::module_& m) {
  m.def("chain_losses", &chains<Real>, "settings"_a, "losses"_a.noconvert(),
        "lengths"_a.noconvert().none(), "outside_tag"_a, "emissions"_a.noconvert(),
        "transitions"_a.noconvert(), "start"_a.noconvert().none(), "end"_a.noconvert().none());
  m.def("tree_losses", &trees<Real>, "settings"_a, "losses"_a.noconvert(),
        "lengths"_a.noconvert().none(), "projective"_a, "arcs"_a.noconvert());
  m.def("choice_losses", &choices<Real>, "settings"_a, "losses"_a.noconvert(), "num_chosen"_a,
        "labels"_a.noconvert());
  m.def("field_losses", &fields<Real>, "settings"_a, "losses"_a.noconvert(), "labels"_a.noconvert(),
        "pairs"_a.noconvert());
  m.def("path_losses", &paths<Real>, "settings"_a, "losses"_a.noconvert(), "nodes"_a.noconvert(),
        "edges"_a.noconvert(), "loss"_a, "with_inner"_a, "costs"_a.noconvert().none());
  m.def("label_set_losses", &label_sets<Real>, "settings"_a, "losses"_a.noconvert(),
        "nodes"_a.noconvert(), "edges"_a.noconvert(), "counts_nodes"_a);
}

}  // namespace

void bind_score_losses(nb::module_& m) {
  m.def(
      "check_loss_settings",
      [](const Settings& settings) {
        with_settings(settings, [](const ScoreLossOptions&, Executor&) {});
      },
      "settings"_a);
  bind<float>(m);
  bind<double>(m);
}

}  // namespace margrove::python
