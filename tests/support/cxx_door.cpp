// What the C++ library answers, for tests/python/test_doors.py: only public headers are used.
//
//   cxx_door train KIND ROWS MODEL [OTHER]      KIND: numbers, texts, records, views, kernel or
//                                               sentences
//   cxx_door ACTION MODEL ROWS [OTHER]          predict, probabilities or explain, as JSON
//
// OTHER is the file of the view "other". An error of the library is printed as {"error": "..."}.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "margrove/margrove.hpp"

namespace {

using Json = nlohmann::json;
using namespace margrove;

using ViewFiles = std::vector<ExampleOptions::ViewFile>;

/// Of a file of columns, between tabs.
std::vector<Sentence> sentences_in(const std::string& path) {
  std::ifstream file(path);
  std::vector<Sentence> sentences(1);
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) {
      sentences.emplace_back();
      continue;
    }
    Token& token = sentences.back().emplace_back(1);
    for (const char c : line) {
      if (c == '\t') {
        token.emplace_back();
      } else {
        token.back() += c;
      }
    }
  }
  sentences.pop_back();
  return sentences;
}

Model trained(const std::string& kind, const std::string& rows, const ViewFiles& views) {
  if (kind == "sentences") return train_sentences(sentences_in(rows));
  if (kind == "numbers") return train(FlatLrOptions{}, {.rows = read_examples(rows)});
  if (kind == "texts") return train(FlatLrOptions{}, {.rows = read_text(rows)});
  if (kind == "kernel") {
    const std::string network =
        R"({"kernels": {"kernel": {"type": "given", "columns": "1-6"}}, "shape": "one-layer"})";
    return train(SpnMklOptions{.network = network}, {.rows = read_examples(rows)});
  }
  if (kind == "views") {
    return train(SpnMklOptions{},
                 {.rows = read_examples(rows, {.views = views}), .calibration = 0.5});
  }
  if (kind == "vectors") {
    const RecordSelection columns{.text = {"title"}, .vectors = {"e"}, .label = "label"};
    return train(FlatLrOptions{}, {.rows = read_examples(rows, {.columns = columns})});
  }
  const RecordSelection columns{
      .text = {"title"}, .numeric = {"price"}, .categorical = {"colour"}, .label = "label"};
  return train(FlatLrOptions{}, {.rows = read_examples(rows, {.columns = columns})});
}

/// As the program prints them: a line for each token and an empty one after each sentence.
Json tags(const Model& model, const std::string& path) {
  Json all = Json::array();
  std::vector<Sentence> sentences = sentences_in(path);
  for (Sentence& sentence : sentences) {
    for (Token& token : sentence) token.pop_back();  // the tag
  }
  for (const Sentence& answer : model.predict_sentences(sentences)) {
    for (const Token& token : answer) all.push_back(token);
    all.push_back(Json::array());
  }
  return all;
}

Json labels(const Model& model, const Rows& rows) {
  Json all = Json::array();
  const LabelSets predicted = model.predict(rows);
  for (std::size_t i = 0; i < predicted.num_rows(); ++i) {
    Json names = Json::array();
    for (const LabelId label : predicted[i]) names.push_back(model.labels().name(label));
    all.push_back(names);
  }
  return all;
}

/// Of the best label of each row.
Json probabilities(const Model& model, const Rows& rows) {
  Json best = Json::array();
  const std::vector<double> all = model.probabilities(rows);
  const auto num_labels = static_cast<std::ptrdiff_t>(model.labels().size());
  for (auto row = all.begin(); row != all.end(); row += num_labels) {
    best.push_back(*std::max_element(row, row + num_labels));
  }
  return best;
}

Json explanation(const Model& model, const Rows& rows) {
  const Explanation explained = model.explain(rows, 0, model.predict(rows)[0][0]);
  return {model.labels().name(explained.label), explained.score};
}

void run(const std::vector<std::string>& arguments) {
  const std::string& verb = arguments.at(0);
  ViewFiles views;
  const std::size_t num_fixed = verb == "train" ? 4 : 3;
  if (arguments.size() > num_fixed) views.push_back({"other", arguments[num_fixed]});
  if (verb == "train") {
    trained(arguments.at(1), arguments.at(2), views).save(arguments.at(3));
    return;
  }
  const Model model = Model::load(arguments.at(1));
  if (model.method() == "structured") {
    std::cout << tags(model, arguments.at(2)) << "\n";
    return;
  }
  const Examples rows = model.read(arguments.at(2), views);
  const auto answer = verb == "predict"         ? labels
                      : verb == "probabilities" ? probabilities
                                                : explanation;
  std::cout << answer(model, rows) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
  } catch (const Error& error) {
    std::cout << Json{{"error", error.what()}} << "\n";
  }
}
