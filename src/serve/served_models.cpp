#include "serve/served_models.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include "io/model_file.hpp"
#include "margrove/errors.hpp"
#include "model/log_odds.hpp"

namespace margrove::serve {
namespace {

bool is_name(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace

ServedModel::ServedModel(std::string name, const std::string& path)
    : ServedModel(std::move(name), load_model(path, ReadWeights::now)) {
  struct ::stat file {};
  if (::stat(path.c_str(), &file) == 0) modification_time_ = file.st_mtime;
}

ServedModel::ServedModel(std::string name, ModelParts parts)
    : name_(std::move(name)), parts_(std::move(parts)) {
  if (parts_.predictor->sentences() != nullptr) return;
  if (gives_probabilities(parts_)) hierarchy_.emplace(parts_.hierarchy);
}

const LabelTexts& ServedModel::texts(std::string_view show) const {
  Shown& shown = shown_[show == "name" ? 1 : show == "path" ? 2 : 0];
  std::call_once(shown.once, [&] { shown.texts = label_texts(parts_, show); });
  return shown.texts;
}

const std::vector<Fact>& ServedModel::facts() const {
  std::call_once(facts_once_, [&] { facts_ = model_facts(parts_); });
  return facts_;
}

ModelFile parse_model_file(const std::string& text) {
  const std::size_t equals = text.find('=');
  const bool has_name = equals != std::string::npos && is_name(text.substr(0, equals));
  ModelFile file;
  file.path = has_name ? text.substr(equals + 1) : text;
  file.name = has_name ? text.substr(0, equals) : std::filesystem::path(text).stem().string();
  require<InvalidOption>(!file.path.empty(), "model is '", text,
                         "', but must be FILE or NAME=FILE");
  require<InvalidOption>(is_name(file.name), "model '", text, "' would have the name '", file.name,
                         "', but a name has letters, digits, '.', '-' and '_' only; give it as "
                         "NAME=FILE");
  return file;
}

ServedModels::ServedModels(const std::vector<ModelFile>& files) {
  for (const ModelFile& file : files) {
    require<InvalidOption>(find(file.name) == nullptr || slots_.empty(), "model name '", file.name,
                           "' is given twice; give one of them as NAME=FILE");
    auto slot = std::make_unique<Slot>();
    slot->file = file;
    slot->model.store(std::make_shared<const ServedModel>(file.name, file.path));
    slots_.push_back(std::move(slot));
  }
}

ServedModels::ServedModels(std::vector<std::shared_ptr<const ServedModel>> models) {
  for (auto& model : models) {
    auto slot = std::make_unique<Slot>();
    slot->file.name = model->name();
    slot->model.store(std::move(model));
    slots_.push_back(std::move(slot));
  }
}

std::shared_ptr<const ServedModel> ServedModels::find(std::string_view name) const {
  for (const auto& slot : slots_) {
    if (name.empty() || slot->file.name == name) return slot->model.load();
  }
  return nullptr;
}

std::vector<std::string> ServedModels::names() const {
  std::vector<std::string> all;
  for (const auto& slot : slots_) all.push_back(slot->file.name);
  return all;
}

std::vector<Reloaded> ServedModels::reload(std::string_view name) {
  const std::lock_guard lock(reloading_);
  std::vector<Reloaded> outcomes;
  for (const auto& slot : slots_) {
    if (!name.empty() && slot->file.name != name) continue;
    outcomes.push_back({slot->file.name, {}});
    try {
      slot->model.store(std::make_shared<const ServedModel>(slot->file.name, slot->file.path));
    } catch (const std::exception& error) {
      outcomes.back().error = error.what();
    }
  }
  return outcomes;
}

}  // namespace margrove::serve
