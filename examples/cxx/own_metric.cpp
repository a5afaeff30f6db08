// A metric of your own: how many edges lie between the label that was predicted and the right one?
// usage: own_metric FOLDER, with hierarchy.txt, train.txt and test.txt as in docs/examples/animals
#include <algorithm>
#include <cstdio>
#include <margrove/margrove.hpp>

/// In a tree: the nodes above one of the two labels but not above both.
int edges_between(const margrove::LabelGraph& tree, margrove::LabelId a, margrove::LabelId b) {
  const std::vector<margrove::NodeId> above_a = tree.ancestors(a), above_b = tree.ancestors(b);
  std::vector<margrove::NodeId> one;
  std::ranges::set_symmetric_difference(above_a, above_b, std::back_inserter(one));
  return int(one.size());
}

double mean_edges(const margrove::Model& model, const margrove::LabelSets& truth,
                  const margrove::LabelSets& predicted) {
  double sum = 0;
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    sum += edges_between(model.hierarchy(), truth[i][0], predicted[i][0]);
  }
  return sum / double(truth.num_rows());
}

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const margrove::TrainingData data{
      .rows = margrove::read_text(folder + "/train.txt"),
      .hierarchy = margrove::read_hierarchy(folder + "/hierarchy.txt")};
  for (const margrove::Estimator& estimator :
       {margrove::Estimator(margrove::FlatSvmOptions{}),
        margrove::Estimator(margrove::NhSvmOptions{.C = 10}),
        margrove::Estimator(margrove::HrLrOptions{.C = 10})}) {
    const margrove::Model model = margrove::train(estimator, data);
    const auto test = margrove::read_text(folder + "/test.txt", {.codec = &model.labels()});
    const margrove::LabelSets predicted = model.predict(test);
    std::printf("%-8s accuracy %.2f, edges to the truth %.2f\n", model.method().c_str(),
                model.evaluate(test.labels, predicted).accuracy,
                mean_edges(model, test.labels, predicted));
  }
} catch (const margrove::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
