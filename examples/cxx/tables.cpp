// Trains on a CSV whose labels are paths: tries values of C, calibrates, saves, and answers.
// usage: tables FOLDER, with the files that docs/examples/own_data/make_files.py writes
#include <cstdio>
#include <margrove/margrove.hpp>

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const margrove::RecordSelection columns{
      .text = {"title"}, .numeric = {"price"}, .path_levels = {"department", "shelf"}};
  const margrove::TrainingData data{
      .rows = margrove::read_examples(folder + "/products.train.csv", {.columns = columns}),
      .calibration = 0.2};
  const margrove::Tuned tuned = margrove::tune(margrove::NhSvmOptions{}, data,
                                               {.grid = {"C=0.1,1,10"}, .metric = "accuracy"});
  for (const margrove::GridPoint& point : tuned.points) {
    std::printf("C = %s: accuracy %.2f\n", point.values[0].second.c_str(), point.mean);
  }
  tuned.model.compressed().save("products.model");

  const margrove::Model model = margrove::Model::load("products.model");
  const margrove::Examples test = model.read(folder + "/products.test.csv");
  for (const auto& [name, value] : model.evaluate(test, {"accuracy", "micro_f1"})) {
    std::printf("%s %.2f\n", name.c_str(), value);
  }
  const margrove::LabelSets predicted = model.predict(test);
  const std::vector<double> probabilities = model.probabilities(test);
  for (std::size_t i = 0; i < 3; ++i) {
    const margrove::LabelId label = predicted[i][0];
    std::printf("%s, p = %.2f\n", model.labels().name(label).c_str(),
                probabilities[i * model.labels().size() + label]);
  }
  const margrove::Explanation why = model.explain(test, 0, predicted[0][0]);
  for (const auto& node : why.nodes) {
    std::printf("%s: %s\n", model.labels().name(node.label).c_str(),
                model.feature_name(node.strongest[0].feature).c_str());
  }
} catch (const margrove::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
