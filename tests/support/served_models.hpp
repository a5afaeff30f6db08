#pragma once
// A service with three small models: of numbers, of texts and of named columns.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "methods/training.hpp"
#include "model/method.hpp"
#include "serve/service.hpp"
#include "small_models.hpp"
#include "word_terms.hpp"

namespace margrove::testing {

/// The small tree with probabilities of temperature 1.
inline ModelParts calibrated_small_model() {
  ModelParts model = small_model();
  model.calibration = Calibration{};
  return model;
}

/// The small tree over the words sea, fur and leaf.
inline ModelParts small_text_model() {
  ModelParts model = calibrated_small_model();
  const std::vector<std::string> documents{"fur leaf", "sea", "leaf fur", "fur"};
  model.preprocessing = Preprocessing::fit_text(documents, of_words());
  return model;
}

/// The small tree over the numeric columns size and weight, which never lack, and colour, of one
/// value.
inline ModelParts small_record_model() {
  ModelParts model = calibrated_small_model();
  RecordFields fields;
  fields.numeric = {{1, 2}, {3, 4}};
  CategoricalField colour;
  colour.ids = {colour.values.add("red"), CategoricalField::kMissing};
  fields.categorical.push_back(std::move(colour));
  RecordSelection selection;
  selection.numeric = {"size", "weight"};
  selection.categorical = {"colour"};
  selection.label = "kind";
  model.records = RecordFeatures::fit(fields, std::move(selection), {});
  return model;
}

/// Trained on sentences, whose tokens have 40 tags, or on trees.
inline ModelParts small_sentence_model(const std::string& model) {
  std::vector<Sentence> sentences;
  for (int k = 0; k < 40; ++k) {
    const std::string name = concat("t", k);
    sentences.push_back(model == "chain" ? Sentence{{"a", name}, {name, "t0"}}
                                         : Sentence{{"a", "2", name}, {name, "0", "root"}});
  }
  const Method& method = find_method("structured");
  const auto run = method.start();
  set_options(run->options(), {{"model", model}, {"max_passes", "2"}});
  RunControl control;
  return train_examples(method, *run, {sentences, "sentences", 0}, nullptr, 0, Executor::serial(),
                        control);
}

class SmallService {
 public:
  SmallService()
      : models_({std::make_shared<const serve::ServedModel>("numbers", calibrated_small_model()),
                 std::make_shared<const serve::ServedModel>("texts", small_text_model()),
                 std::make_shared<const serve::ServedModel>("records", small_record_model()),
                 std::make_shared<const serve::ServedModel>("tags", small_sentence_model("chain")),
                 std::make_shared<const serve::ServedModel>("trees",
                                                            small_sentence_model("dependency"))}),
        service_(
            models_, metrics_, "1.2.3", [] { return serve::Gauges{.connections = 4}; },
            [this](const std::string& line) { log_ += line + "\n"; }) {}

  const serve::Service& service() const { return service_; }
  const std::string& log() const { return log_; }
  serve::Response post(std::string_view path, std::string_view body,
                       std::string_view query = {}) const {
    return service_.answer({"POST", path, query, "application/json", body}, serve::Deadline::max());
  }
  serve::Response post_form(std::string_view path, std::string_view form,
                            std::string_view query = {}) const {
    return service_.answer({"POST", path, query, "application/x-www-form-urlencoded", form},
                           serve::Deadline::max());
  }
  serve::Response get(std::string_view path, std::string_view query = {}) const {
    return service_.answer({"GET", path, query, {}, {}}, serve::Deadline::max());
  }

 private:
  serve::ServedModels models_;
  serve::Metrics metrics_;
  std::string log_;
  serve::Service service_;
};

}  // namespace margrove::testing
