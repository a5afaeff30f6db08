// Label-set inference on a real DAG: time an example, which stage settles it, and the ratio to
// COIN-OR's CBC on the same problems. Scores come from a multi-label NHSVM trained here by averaged
// subgradient steps, so that they look like what training and prediction meet.
//
//   bench_dag_inference FOLDER [passes = 5] [C = 10] [ILP problems of each kind = 20] [rule =
//   maxmin]
//
// FOLDER holds hierarchy.txt, train.svm and test.svm. One thread; processor time.

#include <coin/Cbc_C_Interface.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "margrove/base/random.hpp"
#include "margrove/data/hierarchy_reader.hpp"
#include "margrove/data/svmlight_reader.hpp"
#include "margrove/labels/label_set_inference.hpp"
#include "margrove/labels/node_weights.hpp"

namespace {
using namespace margrove;

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Problem {
  LabelGraph graph;
  std::vector<double> root_alpha;
  Dataset train, test;
  std::vector<std::vector<NodeId>> train_sets;  // A(labels) of training rows
  std::vector<std::vector<NodeId>> train_leaves;
};

Problem load(const std::string& folder, const std::string& rule) {
  Problem p;
  const Hierarchy hierarchy = read_hierarchy(folder + "/hierarchy.txt");
  std::vector<LabelEdge> edges;
  for (const auto& e : hierarchy.edges) edges.push_back({e.parent, e.child});
  const auto num_labels = static_cast<std::uint32_t>(hierarchy.codec.size());
  SvmlightOptions options;
  options.codec = &hierarchy.codec;
  p.train = read_svmlight(folder + "/train.svm", options);
  options.num_features = p.train.X.view().num_columns();
  p.test = read_svmlight(folder + "/test.svm", options);
  std::vector<bool> carries_data(num_labels, false);
  for (std::size_t i = 0; i < p.train.labels.num_rows(); ++i) {
    for (const auto l : p.train.labels[i]) carries_data.at(l) = true;
  }
  const auto spawned = spawn_leaves(LabelGraph::build(num_labels, edges), carries_data);
  p.graph = spawned.graph;
  fmt::print("{} nodes, {} edges, {} leaves ({} spawned)\n", p.graph.num_nodes(),
             p.graph.num_edges(), p.graph.leaves().size(), p.graph.num_nodes() - num_labels);
  for (const double a : node_weights(p.graph, NodeWeightRule::parse(rule)).alpha) {
    p.root_alpha.push_back(std::sqrt(a));
  }
  for (std::size_t i = 0; i < p.train.labels.num_rows(); ++i) {
    std::vector<NodeId> set, leaves;
    for (const auto l : p.train.labels[i]) {
      const NodeId leaf = spawned.leaf_of_label[l];
      leaves.push_back(leaf);
      for (const NodeId n : p.graph.ancestors(leaf)) set.push_back(n);
    }
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    p.train_sets.push_back(set);
    p.train_leaves.push_back(leaves);
  }
  return p;
}

// Rows scaled to unit length with a constant 1 appended.
std::vector<float> dense_row(const CsrView& X, std::size_t i) {
  std::vector<float> x(X.num_columns() + std::size_t{1}, 0.0F);
  double norm = 0;
  const auto row = X.row(i);
  for (const float v : row.values) norm += static_cast<double>(v) * v;
  const auto scale = static_cast<float>(norm > 0 ? 1 / std::sqrt(norm) : 1.0);
  for (std::size_t k = 0; k < row.size(); ++k) x[row.columns[k]] = scale * row.values[k];
  x.back() = 1;
  return x;
}

class Weights {
 public:
  Weights(std::size_t num_nodes, std::size_t dimension)
      : dimension_(dimension), values_(num_nodes * dimension, 0.0F) {}
  double dot(std::size_t n, const std::vector<float>& x) const {
    const float* w = values_.data() + n * dimension_;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t k = 0; k < dimension_; ++k) sum += w[k] * x[k];
    return scale_ * static_cast<double>(sum);
  }
  void add(std::size_t n, double step, const std::vector<float>& x) {
    float* w = values_.data() + n * dimension_;
    const auto s = static_cast<float>(step / scale_);
    for (std::size_t k = 0; k < dimension_; ++k) w[k] += s * x[k];
  }
  void shrink(double factor) { scale_ *= factor; }
  void average_with(const Weights& other, double share) {
    for (std::size_t k = 0; k < values_.size(); ++k) {
      values_[k] +=
          static_cast<float>(share * (other.scale_ * static_cast<double>(other.values_[k]) -
                                      static_cast<double>(values_[k])));
    }
  }

 private:
  std::size_t dimension_;
  std::vector<float> values_;
  double scale_ = 1;
};

void score(const Problem& p, const Weights& w, const std::vector<float>& x,
           std::vector<double>& scores) {
  scores.resize(p.graph.num_nodes());
  for (NodeId n = 0; n < p.graph.num_nodes(); ++n) scores[n] = p.root_alpha[n] * w.dot(n, x);
}
void augment(const Problem& p, std::size_t i, std::vector<double>& scores) {
  for (const NodeId l : p.graph.leaves()) scores[l] += 1;
  for (const NodeId l : p.train_leaves[i]) scores[l] -= 2;
}

Weights train(const Problem& p, const LabelSetInference& inference, int passes, double C) {
  const CsrView X = p.train.X.view();
  const auto num_rows = X.num_rows();
  Weights w(p.graph.num_nodes(), X.num_columns() + std::size_t{1}), average = w;
  const double lambda = 1 / (C * static_cast<double>(num_rows));
  LabelSetInference::Workspace workspace;
  std::vector<double> scores;
  std::vector<NodeId> nodes;
  std::int64_t t = 0, averaged = 0;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i < num_rows; ++i) {
      const double step =
          1 / (lambda * static_cast<double>(++t + static_cast<std::int64_t>(num_rows)));
      const auto x = dense_row(X, i);
      score(p, w, x, scores);
      augment(p, i, scores);
      inference.best(scores, workspace, nodes);
      w.shrink(1 - step * lambda);
      for (const NodeId n : nodes) w.add(n, -step * p.root_alpha[n], x);
      for (const NodeId n : p.train_sets[i]) w.add(n, step * p.root_alpha[n], x);
      if (pass > 0 && i % 100 == 99) average.average_with(w, 1 / static_cast<double>(++averaged));
    }
  }
  return average;
}

// The problem as it stands in the header, to CBC; returns its optimum and adds its time.
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

void measure(const Problem& p, const LabelSetInference& inference, const Weights& w, bool augmented,
             std::size_t num_ilp) {
  const CsrView X = augmented ? p.train.X.view() : p.test.X.view();
  LabelSetInference::Workspace workspace;
  std::vector<double> scores, times, ilp_times, our_times;
  std::vector<NodeId> nodes;
  std::array<std::size_t, kNumInferenceStages> settled{};
  std::int64_t most_branches = 0;
  double num_nodes = 0, worst_difference = 0;
  const std::size_t every =
      std::max<std::size_t>(1, X.num_rows() / std::max<std::size_t>(1, num_ilp));
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    score(p, w, dense_row(X, i), scores);
    if (augmented) augment(p, i, scores);
    if (i == 0) inference.best(scores, workspace, nodes);  // warms the workspace
    const double start = cpu_seconds();
    const auto result = inference.best(scores, workspace, nodes);
    times.push_back(cpu_seconds() - start);
    ++settled[static_cast<std::size_t>(result.stage)];
    most_branches = std::max(most_branches, result.num_branches);
    num_nodes += static_cast<double>(nodes.size());
    if (num_ilp > 0 && i % every == 0 && ilp_times.size() < num_ilp) {
      double seconds = 0;
      const double value = solve_by_cbc(p.graph, scores, seconds);
      ilp_times.push_back(seconds);
      our_times.push_back(times.back());
      worst_difference = std::max(worst_difference, std::fabs(value - result.score));
    }
  }
  const auto rows = static_cast<double>(times.size());
  double total = 0;
  for (const double t : times) total += t;
  fmt::print("{}: {} examples, {:.1f} nodes chosen on average\n",
             augmented ? "loss-augmented (train)" : "prediction (test)", times.size(),
             num_nodes / rows);
  fmt::print(
      "  ms an example: median {:.3f}  mean {:.3f}  95% {:.3f}  max {:.3f}; most branches {}\n",
      1e3 * quantile(times, 0.5), 1e3 * total / rows, 1e3 * quantile(times, 0.95),
      1e3 * quantile(times, 1), most_branches);
  for (std::size_t s = 0; s < kNumInferenceStages; ++s) {
    if (settled[s] == 0) continue;
    fmt::print("  {}: {:.1f} %\n", to_string(static_cast<InferenceStage>(s)),
               100 * static_cast<double>(settled[s]) / rows);
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
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_dag_inference FOLDER [passes] [C] [ILP problems] [rule]\n");
    return 2;
  }
  const int passes = argc > 2 ? std::atoi(argv[2]) : 5;
  const double C = argc > 3 ? std::atof(argv[3]) : 10;
  const auto num_ilp = static_cast<std::size_t>(argc > 4 ? std::atoi(argv[4]) : 20);
  const Problem problem = load(argv[1], argc > 5 ? argv[5] : "maxmin");
  const LabelSetInference inference(problem.graph);
  const double start = cpu_seconds();
  const Weights w = train(problem, inference, passes, C);
  fmt::print("trained {} passes at C = {} in {:.1f} s\n", passes, C, cpu_seconds() - start);
  measure(problem, inference, w, false, num_ilp);
  measure(problem, inference, w, true, num_ilp);
  return 0;
}
