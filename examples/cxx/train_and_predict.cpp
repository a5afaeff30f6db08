// Trains an NHSVM on documents whose labels form a hierarchy, saves it, and predicts.
// usage: train_and_predict FOLDER, with hierarchy.txt, train.txt and test.txt as in
// docs/examples/animals
#include <cstdio>
#include <margrove/margrove.hpp>

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const margrove::Model trained =
      margrove::train(margrove::NhSvmOptions{.C = 10, .tolerance = 1e-4},
                      {.rows = margrove::read_text(folder + "/train.txt"),
                       .hierarchy = margrove::read_hierarchy(folder + "/hierarchy.txt")});
  std::printf("%s, gap below 1e-4: %s\n", trained.method().c_str(),
              trained.report().relative_gap < 1e-4 ? "yes" : "no");
  trained.save("animals.model");

  const margrove::Model model = margrove::Model::load("animals.model");
  const auto test = margrove::read_text(folder + "/test.txt", {.codec = &model.labels()});
  const margrove::LabelSets predicted = model.predict(test);
  const std::vector<double> probabilities = model.node_probabilities(test);
  const margrove::LabelId bird = model.labels().find("bird").value();
  for (std::size_t i = 0; i < predicted.num_rows(); ++i) {
    std::printf("%s, p(bird) = %.2f: %s\n", model.labels().name(predicted[i][0]).c_str(),
                probabilities[i * model.labels().size() + bird], test.documents[i].c_str());
  }
  std::printf("accuracy %.2f\n", model.evaluate(test.labels, predicted).accuracy);
} catch (const margrove::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
