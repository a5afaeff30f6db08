#pragma once
// What train and tune share: a method by name, its options, the data, the run.

#include "cli/record_arguments.hpp"
#include "margrove/hierarchy_reader.hpp"
#include "model/model.hpp"

namespace margrove::cli {

/// The arguments `--method M [options] TRAIN MODEL`.
class TrainingArguments {
 public:
  void declare(CLI::App& app, const std::vector<std::string>& arguments);

  struct Data {
    std::optional<Hierarchy> hierarchy;
    RawRows raw;
    const Hierarchy* hierarchy_or_null() const { return hierarchy ? &*hierarchy : nullptr; }
  };
  /// Reads hierarchy and rows; the hierarchy of paths is that of the rows. Throws
  /// InterruptedByUser.
  Data read(CommandControl& control);

  const Method& method() const { return *method_; }
  /// The method with the options that were given and `more`. Throws InvalidOption.
  std::unique_ptr<MethodRun> start(const OptionValues& more = {}) const;
  OptionValues method_options() const { return method_options_.values(); }
  PreprocessingOptions preprocessing();
  /// The same for a run of the method, whose options may speak of the columns.
  PreprocessingOptions preprocessing_for(MethodRun& run) {
    return margrove::preprocessing_for(method(), run.options(), preprocessing());
  }
  const RunOptions& run_options() { return run_.parse(); }
  const std::string& data_path() const { return data_path_; }
  /// Of methods with a file format of their own. Throws InvalidOption if views are given.
  const std::string& examples_path() const;
  const std::string& model_path() const { return model_path_; }

 private:
  const Method* method_ = nullptr;
  bool has_hierarchy() const;

  std::string method_name_, hierarchy_path_, hierarchy_from_, data_path_, model_path_;
  bool part_of_ = false;
  ViewArguments views_;
  RecordArguments records_;
  GivenOptions method_options_;
  BoundOptions<PreprocessingOptions> preprocessing_;
  BoundOptions<RunOptions> run_;
};

/// Shows and checks the estimate of memory, trains, and shows the warnings. Throws
/// InterruptedByUser; a time limit gives the model so far.
ModelParts train_with_reports(const Method& method, MethodRun& method_run, const RunOptions& run,
                              const TrainingSet& data, const Preprocessing& preprocessing,
                              Executor& executor, CommandControl& control);

/// Writes the model to its file and a summary to stdout. `earlier`: seconds of the command before
/// the training of this model.
void save_and_print(const ModelParts& model, const std::string& path, CommandControl& control,
                    double earlier = 0);

}  // namespace margrove::cli
