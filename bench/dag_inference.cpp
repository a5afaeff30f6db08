// Label-set inference on a real DAG: the time per example, the stage that ends it, the ratio to the
// time of COIN-OR's CBC on the same problems, and time and error of searches with goals. The scores
// are those of a trained model, as in prediction and training.
//
//   bench_dag_inference FOLDER MODEL [test rows = 300] [training rows = 300] [ILPs of each = 20]
//
// FOLDER holds train.svm and test.svm; MODEL is a multi-label nhsvm or hsvm trained on train.svm.
// Prediction uses the test rows and the hierarchy above the leaves that may be predicted,
// loss-augmented inference the training rows and the whole hierarchy. One thread; processor time.

#include <coin/Cbc_C_Interface.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "cpu_time.hpp"
#include "io/model_file.hpp"
#include "label_sets/label_set_inference.hpp"
#include "methods/training.hpp"
#include "model/linear_predictor.hpp"

namespace {
using namespace margrove;
using margrove::bench::cpu_seconds;

constexpr const char* kStages[] = {"tree", "reduction", "closure", "branch-and-bound", "ilp"};

struct Problem {
  LabelGraph graph;
  std::vector<NodeId> node;           // of the model
  std::vector<NodeId> leaf_of_label;  // training rows: of the model
};

Problem whole_hierarchy(const LinearPredictor& model) {
  Problem p;
  p.graph = model.parts().graph;
  for (NodeId n = 0; n < p.graph.num_nodes(); ++n) p.node.push_back(n);
  p.leaf_of_label.resize(model.num_labels());
  for (const NodeId n : model.parts().candidates) {
    p.leaf_of_label[model.parts().label_of_node[n]] = n;
  }
  return p;
}

Problem above_candidates(const LinearPredictor& model) {
  const LabelGraph& graph = model.parts().graph;
  std::vector<NodeId> number(graph.num_nodes(), 0);
  for (const NodeId leaf : model.parts().candidates) {
    for (const NodeId n : graph.ancestors(leaf)) number[n] = 1;
  }
  Problem p;
  std::vector<LabelEdge> edges;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (number[n] == 0) continue;
    number[n] = static_cast<NodeId>(p.node.size());
    p.node.push_back(n);
  }
  for (const NodeId n : p.node) {
    for (const NodeId parent : graph.parents(n)) edges.push_back({number[parent], number[n]});
  }
  p.graph = LabelGraph::build(static_cast<std::uint32_t>(p.node.size()), edges);
  return p;
}

// Solves the problem stated in label_set_inference.hpp by CBC. Returns the optimum and adds the
// time.
double solve_by_cbc(const LabelGraph& graph, const std::vector<double>& scores, double& seconds) {
  std::vector<std::vector<std::pair<int, double>>> columns(graph.num_nodes());
  std::vector<double> lower, upper;
  const auto add_row = [&](double low, double high) {
    lower.push_back(low);
    upper.push_back(high);
    return static_cast<int>(lower.size()) - 1;
  };
  const int leaf_row = add_row(1, 1e30);
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (graph.is_leaf(n)) {
      columns[n].push_back({leaf_row, 1});
      continue;
    }
    const int need = add_row(0, 1e30);
    columns[n].push_back({need, -1});
    for (const NodeId c : graph.children(n)) {
      columns[c].push_back({need, 1});
      const int order = add_row(-1e30, 0);
      columns[c].push_back({order, 1});
      columns[n].push_back({order, -1});
    }
  }
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> rows;
  std::vector<double> values;
  for (const auto& column : columns) {
    for (const auto& [row, value] : column) {
      rows.push_back(row);
      values.push_back(value);
    }
    starts.push_back(static_cast<CoinBigIndex>(rows.size()));
  }
  const std::vector<double> zeros(columns.size(), 0.0), ones(columns.size(), 1.0);
  Cbc_Model* model = Cbc_newModel();
  Cbc_setLogLevel(model, 0);
  Cbc_loadProblem(model, static_cast<int>(columns.size()), static_cast<int>(lower.size()),
                  starts.data(), rows.data(), values.data(), zeros.data(), ones.data(),
                  scores.data(), lower.data(), upper.data());
  Cbc_setObjSense(model, -1);
  for (std::size_t j = 0; j < columns.size(); ++j) Cbc_setInteger(model, static_cast<int>(j));
  Cbc_setParameter(model, "log", "0");
  Cbc_setParameter(model, "increment", "1e-9");
  Cbc_setParameter(model, "ratioGap", "0");
  Cbc_setParameter(model, "allowableGap", "0");
  const double start = cpu_seconds();
  Cbc_solve(model);
  seconds = cpu_seconds() - start;
  double value = std::nan("");
  if (Cbc_isProvenOptimal(model)) {
    value = 0;
    const double* z = Cbc_getColSolution(model);
    for (std::size_t n = 0; n < scores.size(); ++n) value += z[n] * scores[n];
  }
  Cbc_deleteModel(model);
  return value;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void measure(const Problem& p, const LinearPredictor& model, const Examples& rows, bool augmented,
             std::size_t num_rows, std::size_t num_ilp) {
  const LabelSetInference inference(p.graph);
  const CsrView X = rows.X;
  LabelSetInference::Workspace workspace;
  LinearPredictor::Scratch scratch;
  std::vector<double> scores(p.node.size()), times, ilp_times, our_times;
  std::vector<NodeId> nodes;
  std::array<std::size_t, std::size(kStages)> settled{};
  std::int64_t most_branches = 0;
  double num_nodes = 0, worst_difference = 0;
  struct Goal {
    const char* name;
    SearchGoal goal;
    std::vector<double> times{};
    double missed = 0, open = 0;  // sums: best less answer, bound less best
  };
  std::vector<Goal> goals{{"heuristic", SearchGoal::heuristic()},
                          {"gap 0.1", {.gap = 0.1}},
                          {"gap 0.01", {.gap = 0.01}}};
  num_rows = std::min(num_rows, X.num_rows());
  if (num_rows == 0) return;
  const std::size_t step = X.num_rows() / num_rows;
  for (std::size_t k = 0; k < num_rows; ++k) {
    const std::size_t i = k * step;
    const auto of_model = model.node_scores(X, i, scratch);
    for (std::size_t n = 0; n < scores.size(); ++n) scores[n] = double(of_model[p.node[n]]);
    if (augmented) {
      for (const NodeId l : p.graph.leaves()) scores[l] += 1;
      for (const LabelId label : rows.labels[i]) scores[p.leaf_of_label[label]] -= 2;
    }
    if (k == 0) inference.best(scores, workspace, nodes);  // warms the workspace
    const double start = cpu_seconds();
    const auto result = inference.best(scores, workspace, nodes);
    times.push_back(cpu_seconds() - start);
    ++settled[static_cast<std::size_t>(result.stage)];
    most_branches = std::max(most_branches, result.num_branches);
    num_nodes += static_cast<double>(nodes.size());
    for (Goal& goal : goals) {
      const double begin = cpu_seconds();
      const auto found = inference.best(scores, workspace, nodes, goal.goal);
      goal.times.push_back(cpu_seconds() - begin);
      goal.missed += result.score - found.score;
      goal.open += found.bound - result.score;
    }
    if (k * num_ilp / num_rows < ilp_times.size() || ilp_times.size() == num_ilp) continue;
    double seconds = 0;
    const double value = solve_by_cbc(p.graph, scores, seconds);
    ilp_times.push_back(seconds);
    our_times.push_back(times.back());
    worst_difference = std::max(worst_difference, std::fabs(value - result.score));
  }
  const auto count = static_cast<double>(times.size());
  double total = 0;
  for (const double t : times) total += t;
  fmt::print("{}: {} nodes, {} edges, {} leaves; {} rows, {:.1f} nodes chosen on average\n",
             augmented ? "loss-augmented (train)" : "prediction (test)", p.graph.num_nodes(),
             p.graph.num_edges(), p.graph.leaves().size(), times.size(), num_nodes / count);
  fmt::print(
      "  ms an example: median {:.3f}  mean {:.3f}  95% {:.3f}  99% {:.3f}  max {:.3f}; most "
      "branches {}\n",
      1e3 * quantile(times, 0.5), 1e3 * total / count, 1e3 * quantile(times, 0.95),
      1e3 * quantile(times, 0.99), 1e3 * quantile(times, 1), most_branches);
  for (std::size_t s = 0; s < settled.size(); ++s) {
    if (settled[s] == 0) continue;
    fmt::print("  {}: {:.1f} %\n", kStages[s], 100 * static_cast<double>(settled[s]) / count);
  }
  for (const Goal& goal : goals) {
    const double sum = std::accumulate(goal.times.begin(), goal.times.end(), 0.0);
    fmt::print(
        "  {}: median {:.3f}  mean {:.3f}  max {:.3f} ms; {:.4f} below the best on average, bound "
        "{:.4f} above it\n",
        goal.name, 1e3 * quantile(goal.times, 0.5), 1e3 * sum / count,
        1e3 * quantile(goal.times, 1), goal.missed / count, goal.open / count);
  }
  if (ilp_times.empty()) return;
  double ours = 0, cbc = 0;
  for (const double t : our_times) ours += t;
  for (const double t : ilp_times) cbc += t;
  fmt::print(
      "  CBC on {} of them: median {:.1f} ms, mean {:.1f} ms; ratio of medians {:.0f}, of "
      "sums {:.0f}; largest difference of optima {:.1e}\n",
      ilp_times.size(), 1e3 * quantile(ilp_times, 0.5),
      1e3 * cbc / static_cast<double>(ilp_times.size()),
      quantile(ilp_times, 0.5) / quantile(our_times, 0.5), cbc / ours, worst_difference);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(
        stderr,
        "usage: bench_dag_inference FOLDER MODEL [test rows] [training rows] [ILP problems]\n");
    return 2;
  }
  const std::string folder = argv[1];
  const auto number = [&](int k, int other) {
    return static_cast<std::size_t>(argc > k ? std::atoi(argv[k]) : other);
  };
  const ModelParts model = load_model(argv[2]);
  const auto* predictor = dynamic_cast<const LinearPredictor*>(model.predictor.get());
  if (predictor == nullptr) {
    fmt::print(stderr, "bench_dag_inference: the model is no linear one\n");
    return 2;
  }
  const auto rows = [&](const char* file) {
    Examples raw = read_rows(folder + file, RowKind::numbers, {.codec = &model.labels});
    raw.X = preprocess(model, raw);
    return raw;
  };
  measure(above_candidates(*predictor), *predictor, rows("/test.svm"), false, number(3, 300),
          number(5, 20));
  measure(whole_hierarchy(*predictor), *predictor, rows("/train.svm"), true, number(4, 300),
          number(5, 20));
  return 0;
}
