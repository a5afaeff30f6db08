// What the C++ library answers, for tests/python/test_doors.py: only public headers are used.
//
//   cxx_door train KIND ROWS MODEL [OTHER]      KIND: numbers, texts, records, vectors, views,
//                                               kernel, kernel-features, sentences or trees
//   cxx_door ACTION MODEL ROWS [OTHER]          predict, probabilities or explain, as JSON
//
// OTHER is the file of the view "other". An error of the library is printed as {"error": "..."}.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
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

/// The words of a CoNLL-U file: form, lemma and part of speech; then head and relation.
std::vector<Sentence> trees_in(const std::string& path) {
  std::vector<Sentence> sentences = sentences_in(path);
  for (Sentence& sentence : sentences) {
    for (Token& word : sentence) word = {word[1], word[2], word[3], word[6], word[7]};
  }
  return sentences;
}

Model trained(const std::string& kind, const std::string& rows, const ViewFiles& views) {
  if (kind == "sentences") return train_sentences(sentences_in(rows));
  if (kind == "trees") return train_sentences(trees_in(rows), {{"model", "dependency"}});
  if (kind == "numbers") return train(FlatLrOptions{}, {.rows = read_examples(rows)});
  if (kind == "kernel-features") {
    return train(
        FlatLrOptions{},
        {.rows = read_examples(rows), .kernel_features = "nystroem:4", .kernel_gamma = 0.5});
  }
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

/// A line as an array: [] for an empty one.
Json line_of(const Token& columns) {
  std::string line;
  for (const std::string& column : columns) line += (line.empty() ? "" : "\t") + column;
  return line.empty() ? Json::array() : Json::array({line});
}

/// As the program prints them: a line for each token and an empty one after each sentence; of an
/// explanation the lines.
Json of_sentences(const Model& model, const std::string& verb, const std::string& path) {
  const bool are_trees = std::ranges::count(model.options(), std::pair<std::string, std::string>(
                                                                 "model", "dependency")) > 0;
  std::vector<Sentence> sentences = are_trees ? trees_in(path) : sentences_in(path);
  for (Sentence& sentence : sentences) {
    for (Token& token : sentence) token.resize(token.size() - (are_trees ? 2 : 1));
  }
  Json all = Json::array();
  if (verb == "explain") {
    std::istringstream lines(model.explain_sentence(sentences.at(0)));
    for (std::string line; std::getline(lines, line);) all.push_back(line);
    return all;
  }
  for (const Sentence& answer : model.predict_sentences(sentences)) {
    for (const Token& token : answer) all.push_back(line_of(token));
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

/// Of the labels of each row.
Json probabilities(const Model& model, const Rows& rows) {
  Json all = Json::array();
  const std::vector<double> of_all_labels = model.probabilities(rows);
  const std::size_t num_labels = model.labels().size();
  const LabelSets predicted = model.predict(rows);
  for (std::size_t i = 0; i < predicted.num_rows(); ++i) {
    Json row = Json::array();
    for (const LabelId label : predicted[i]) row.push_back(of_all_labels[i * num_labels + label]);
    all.push_back(row);
  }
  return all;
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
    std::cout << of_sentences(model, verb, arguments.at(2)) << "\n";
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
