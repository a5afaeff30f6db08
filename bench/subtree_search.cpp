// Compares training of single-label paths by the search that skips subtrees and by the search that
// scores all nodes: processor seconds to the same gap, and the share of the tree that is scored.
//
//   bench_subtree_search MODEL TRAIN [C = 1] [tolerance = 3e-2] [largest part ...]
//
// MODEL is a single-label nhsvm on a tree and gives hierarchy, node weights, bias and
// preprocessing; TRAIN its training rows. One thread.

#include <fmt/core.h>

#include <cstdlib>
#include <vector>

#include "cpu_time.hpp"
#include "data/csr_operations.hpp"
#include "io/model_file.hpp"
#include "margrove/csr_matrix.hpp"
#include "methods/training.hpp"
#include "model/linear_predictor.hpp"
#include "outputs/path/bounded_path_oracle.hpp"
#include "structured/bcfw.hpp"
#include "structured/search.hpp"

namespace {
using namespace margrove;
using margrove::bench::cpu_seconds;

// Returns the weights.
template <class Model>
std::vector<float> train(const Model& model, const BcfwOptions& options, const char* name) {
  Executor executor(1);
  RunControl control;
  const double begin = cpu_seconds();
  Bcfw run(model, MarginRescaling{}, MarginSearch{}, options, executor, control);
  const StructuredFit fit = run.run();
  fmt::print("{}: {:.1f} s, {} passes, primal {:.6g}, gap {:.2e}\n", name, cpu_seconds() - begin,
             fit.passes, fit.primal, fit.relative_gap);
  return run.take_weights();
}

void print_share(const BoundedPathModel& model, std::span<const float> w) {
  std::vector<float> bounds(model.num_bounds());
  model.bound_weights(w, bounds);
  BoundedPathModel::Workspace workspace;
  double scored = 0;
  for (std::size_t i = 0; i < model.num_examples(); ++i) {
    const auto oracle = model.oracle(i, {w, 1.0}, bounds, workspace);
    oracle.argmax(1, 1);
    scored += static_cast<double>(oracle.num_scored());
  }
  fmt::print("  {} parts, {:.1f} % of them scored at these weights; bounds take {:.0f} MB\n",
             model.num_parts(),
             100 * scored / static_cast<double>(model.num_parts() * model.num_examples()),
             1e-6 * static_cast<double>(bounds.size() * sizeof(float)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr,
               "usage: bench_subtree_search MODEL TRAIN [C] [tolerance] [largest part ...]\n");
    return 2;
  }
  const ModelParts model = load_model(argv[1]);
  const auto* predictor = dynamic_cast<const LinearPredictor*>(model.predictor.get());
  if (predictor == nullptr || !predictor->parts().graph.is_tree()) {
    fmt::print(stderr, "bench_subtree_search: the model is no linear one on a tree\n");
    return 2;
  }
  const LinearPredictor::Parts& parts = predictor->parts();
  Examples raw = read_rows(argv[2], RowKind::numbers, {.codec = &model.labels});
  const CsrMatrix X = with_intercept(preprocess(model, raw), parts.bias);
  std::vector<NodeId> leaf_of_label(predictor->num_labels(), 0), leaf_of_row;
  for (const NodeId n : parts.candidates) leaf_of_label[parts.label_of_node[n]] = n;
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    leaf_of_row.push_back(leaf_of_label[raw.labels[i].front()]);
  }
  BcfwOptions options{.C = argc > 3 ? std::atof(argv[3]) : 1.0,
                      .tolerance = argc > 4 ? std::atof(argv[4]) : 3e-2,
                      .cached_passes = 1,
                      .minibatch = 1};
  const PathModel plain(X, leaf_of_row, parts.graph, parts.alpha, TaskLoss::normalized);
  fmt::print("{} rows, {:.1f} nonzeros each, {} nodes\n", X.num_rows(),
             static_cast<double>(X.num_nonzeros()) / static_cast<double>(X.num_rows()),
             parts.graph.num_nodes());
  train(plain, options, "all nodes");
  std::vector<std::uint32_t> sizes;
  for (int k = 5; k < argc; ++k) sizes.push_back(static_cast<std::uint32_t>(std::atoi(argv[k])));
  if (sizes.empty()) sizes.push_back(BoundedPathModel::kPartNodes);
  for (const std::uint32_t size : sizes) {
    const BoundedPathModel bounded(X, leaf_of_row, parts.graph, parts.alpha, TaskLoss::normalized,
                                   size);
    const std::vector<float> w =
        train(bounded, options, fmt::format("parts of {} nodes", size).c_str());
    print_share(bounded, w);
  }
  return 0;
}
