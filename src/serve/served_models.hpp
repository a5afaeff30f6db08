#pragma once
// The models of a server. They are replaced while requests run: a request keeps the model with
// which it began.

#include <array>
#include <atomic>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/model_facts.hpp"
#include "model/label_texts.hpp"
#include "model/model.hpp"
#include "model/sentence_predictor.hpp"

namespace margrove::serve {

/// A loaded model with what all its answers share. Immutable, safe to use from many threads.
class ServedModel {
 public:
  /// Throws ModelFileError as load_model(), and InvalidInput for a model whose examples are
  /// neither rows nor sentences.
  ServedModel(std::string name, const std::string& path);
  /// A model that is loaded already.
  ServedModel(std::string name, ModelParts parts);

  const std::string& name() const { return name_; }
  /// When the file was last written, in seconds since 1970; nothing without a file.
  std::optional<std::time_t> modification_time() const { return modification_time_; }
  const ModelParts& parts() const { return parts_; }
  /// Null if the examples are rows.
  const SentencePredictor* sentences() const { return parts_.predictor->sentences(); }
  /// Null if the model has no probabilities.
  const HierarchyProbabilities* hierarchy() const { return hierarchy_ ? &*hierarchy_ : nullptr; }
  /// The texts of all labels, made by the first call for this `show` (label_texts()).
  const LabelTexts& texts(std::string_view show) const;
  /// model_facts(), made by the first call: some count all weights.
  const std::vector<Fact>& facts() const;

 private:
  std::string name_;
  std::optional<std::time_t> modification_time_;
  ModelParts parts_;
  std::optional<HierarchyProbabilities> hierarchy_;
  struct Shown {
    std::once_flag once;
    LabelTexts texts;
  };
  mutable std::array<Shown, 3> shown_;  // id, name, path
  mutable std::once_flag facts_once_;
  mutable std::vector<Fact> facts_;
};

struct ModelFile {
  std::string name;
  std::string path;
};
/// `NAME=FILE`, or `FILE`, whose name is the file's without its last extension. A name consists of
/// letters, digits, '.', '-' and '_'; where the part before '=' does not, all is the file. Throws
/// InvalidOption for an empty file.
ModelFile parse_model_file(const std::string& text);

/// The outcome of loading a model again.
struct Reloaded {
  std::string name;
  std::string error;  // why the old model stays; empty: the new one is in use
};

class ServedModels {
 public:
  /// Loads all models. The first one is the default. Throws InvalidOption if a name repeats, and as
  /// ServedModel.
  explicit ServedModels(const std::vector<ModelFile>& files);
  /// Of models that are loaded already and have no file: reload() keeps them.
  explicit ServedModels(std::vector<std::shared_ptr<const ServedModel>> models);

  /// The model of this name, or the default one for an empty name; null if there is none.
  std::shared_ptr<const ServedModel> find(std::string_view name) const;
  std::vector<std::string> names() const;
  /// Loads all models again, or the one of this name, which must exist. One call at a time works,
  /// others wait. A model whose file cannot be loaded stays as it is.
  std::vector<Reloaded> reload(std::string_view name = {});

 private:
  struct Slot {
    ModelFile file;
    std::atomic<std::shared_ptr<const ServedModel>> model;
  };
  std::vector<std::unique_ptr<Slot>> slots_;
  std::mutex reloading_;
};

}  // namespace margrove::serve
