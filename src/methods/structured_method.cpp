// --method structured: bi-criteria structured SVMs (Thesis, chapters 2 to 5) of any type of output.

#include "methods/structured_method.hpp"

#include "methods/methods.hpp"
#include "outputs/registry.hpp"

namespace margrove {
namespace {

std::string joined(std::span<const OutputType> types, std::string OutputType::*text) {
  std::vector<std::string> texts;
  for (const OutputType& type : types) texts.push_back(type.*text);
  return detail::join(texts, ", ");
}

std::vector<std::string> own_options(const OutputType& type) {
  std::vector<std::string> names;
  for (const OptionInfo& info : type.start()->own_options().list()) names.push_back(info.name);
  return names;
}

/// The position of the type that option model names. Throws InvalidOption if an option of another
/// type is set.
std::size_t chosen_type(std::span<const OutputType> types, const OptionTable& options) {
  const std::string model = options.get("model");
  std::size_t chosen = 0;
  for (std::size_t t = 0; t < types.size(); ++t) {
    if (types[t].name == model) {
      chosen = t;
      continue;
    }
    for (const std::string& name : own_options(types[t])) {
      require<InvalidOption>(!options.is_given(name), "option ", name, " is given, but model ",
                             model, " does not have it; ", types[t].name, " does");
    }
  }
  return chosen;
}

/// Has the options that all types share, followed by those of each type.
class StructuredRun final : public MethodRun {
 public:
  explicit StructuredRun(std::span<const OutputType> types)
      : types_(types), table_(shared_table()) {
    for (const OutputType& type : types) {
      runs_.push_back(type.start());
      table_.append(runs_.back()->own_options(), type.name + ": ");
    }
  }

  OptionTable& options() override { return table_; }
  Plan plan(const TrainingSet& data, Executor&, RunControl&) const override {
    table_.validate();
    require<InvalidOption>(shared_.decision != DecisionKind::offset ||
                               types_[chosen_type(types_, table_)].takes_offset,
                           "option decision is offset, which model ", shared_.model,
                           " does not offer");
    require<InvalidOption>(shared_.bias == StructuredOptions{}.bias || takes_rows(),
                           "option bias is ", shared_.bias,
                           ", which serves rows of features only; model ", shared_.model,
                           " has a constant feature of its own");
    require<InvalidOption>(
        shared_.intercept_penalty == StructuredOptions{}.intercept_penalty || takes_rows(),
        "option intercept_penalty is ", shared_.intercept_penalty,
        ", which serves rows of features only; model ", shared_.model,
        " has a constant feature of its own");
    require<InvalidOption>(data.start == nullptr || types_[chosen_type(types_, table_)].takes_start,
                           "option start is given, but model ", shared_.model,
                           " does not offer it; chain, multilabel-field and dependency do");
    StructuredOptions options = shared_;
    options.start = data.start;
    options.bias = intercept_value(shared_);
    options.intercept_penalty = 1;
    require_no_row_weights(data, "structured");
    Plan plan;
    plan.memory = chosen()->memory(options, data);
    plan.train = [run = chosen(), options, data](Executor& executor, RunControl& control) {
      return run->train(options, data, executor, control);
    };
    plan.keeps_checkpoints = types_[chosen_type(types_, table_)].keeps_checkpoints &&
                             writes_checkpoints(options.training());
    return plan;
  }
  std::unique_ptr<StructuredExamples> read(const ExampleSource& source, RunControl* control) const {
    return chosen()->read(shared_, source, control);
  }

 private:
  bool takes_rows() const { return types_[chosen_type(types_, table_)].form == ExampleForm::rows; }
  std::shared_ptr<const OutputRun> chosen() const { return runs_[chosen_type(types_, table_)]; }

  OptionTable shared_table() {
    detail::Choices models;
    for (const OutputType& type : types_) models.values.push_back(type.name);
    const std::string help = "type of output: " + joined(types_, &OutputType::summary);
    return {shared_, StructuredOptions::fields(models, help)};
  }

  std::span<const OutputType> types_;
  StructuredOptions shared_;
  std::vector<std::shared_ptr<OutputRun>> runs_;  // one per type
  OptionTable table_;                             // refers to shared_ and runs_
};

std::unique_ptr<StructuredExamples> read_examples(std::span<const OutputType> types,
                                                  const std::vector<ExampleSource>& sources,
                                                  const OptionTable& options, RunControl* control) {
  if (types[chosen_type(types, options)].form == ExampleForm::rows) return nullptr;
  require<InvalidOption>(sources.size() == 1, "method structured reads one file, but ",
                         sources.size(), " are given");
  StructuredRun run(types);
  for (const OptionInfo& info : options.list()) {
    if (options.is_given(info.name)) run.options().set(info.name, options.get(info.name));
  }
  return run.read(sources.front(), control);
}

}  // namespace

Method structured_method(std::span<const OutputType> types) {
  Method method;
  method.name = "structured";
  method.summary =
      "structured SVM with a surrogate of margin and loss: " + joined(types, &OutputType::plural);
  method.takes_start = true;
  method.row_weights = false;
  method.kernel_features = false;
  for (const OutputType& type : types) {
    if (type.form != ExampleForm::rows) continue;
    method.empty_sets |= type.empty_sets;
    if (!type.empty_sets) method.no_empty_sets_with.emplace_back("model", type.name);
  }
  method.start = [types] { return std::make_unique<StructuredRun>(types); };
  method.read_examples = [types](const std::vector<ExampleSource>& sources,
                                 const OptionTable& options, RunControl* control) {
    return read_examples(types, sources, options, control);
  };
  return method;
}

std::string structured_file_format(const OptionTable& options) {
  return output_types()[chosen_type(output_types(), options)].file_format;
}

Method structured() { return structured_method(output_types()); }

}  // namespace margrove
