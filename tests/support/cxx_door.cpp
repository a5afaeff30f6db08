// What the C++ library answers, for tests/python/test_doors.py: only public headers are used.
//
//   cxx_door train numbers|texts ROWS MODEL     trains flat-lr with its defaults
//   cxx_door answer numbers|texts MODEL ROWS    one JSON object: labels, probabilities, explanation
//
// An error of the library is printed as {"error": "..."}.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "margrove/margrove.hpp"

namespace {

using Json = nlohmann::json;
using namespace margrove;

Json answers(const Model& model, const Rows& rows) {
  Json answer;
  const LabelSets predicted = model.predict(rows);
  const std::vector<double> probabilities = model.probabilities(rows);
  const std::size_t num_labels = model.labels().size();
  for (std::size_t i = 0; i < predicted.num_rows(); ++i) {
    Json names = Json::array();
    for (const LabelId label : predicted[i]) names.push_back(model.labels().name(label));
    answer["labels"].push_back(names);
    const auto row = probabilities.begin() + static_cast<std::ptrdiff_t>(i * num_labels);
    answer["probabilities"].push_back(
        *std::max_element(row, row + static_cast<std::ptrdiff_t>(num_labels)));
  }
  const Explanation explanation = model.explain(rows, 0, predicted[0][0]);
  answer["explanation"] = {{"label", model.labels().name(explanation.label)},
                           {"score", explanation.score}};
  return answer;
}

void run(const std::vector<std::string>& arguments) {
  const std::string &verb = arguments.at(0), &kind = arguments.at(1);
  if (verb == "train") {
    const std::string &rows = arguments.at(2), &path = arguments.at(3);
    TrainingData data;
    if (kind == "texts") {
      data.rows = read_text(rows);
    } else {
      data.rows = read_svmlight(rows);
    }
    train(FlatLrOptions{}, std::move(data)).save(path);
    return;
  }
  const Model model = Model::load(arguments.at(2));
  const LabelCodec& labels = model.labels();
  Json answer;
  if (kind == "texts") {
    answer = answers(model, read_text(arguments.at(3), {.codec = &labels}));
  } else {
    answer = answers(model, read_svmlight(arguments.at(3), {.codec = &labels}));
  }
  std::cout << answer << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
  } catch (const Error& error) {
    std::cout << Json{{"error", error.what()}} << "\n";
  }
}
