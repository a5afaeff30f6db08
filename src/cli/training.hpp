#pragma once
// The arguments that train and tune share: a method, its options, the data and the run.

#include "cli/annotation_arguments.hpp"
#include "cli/record_arguments.hpp"
#include "cli/tuning_output.hpp"
#include "data/hierarchy_edges.hpp"
#include "margrove/hierarchy_reader.hpp"
#include "model/model.hpp"

namespace margrove::cli {

/// The arguments of labelled rows to train on, and of the file to write: `[options] TRAIN MODEL`.
class DataArguments {
 public:
  struct Data {
    std::optional<Hierarchy> hierarchy;
    Examples raw;
    const Hierarchy* hierarchy_or_null() const { return hierarchy ? &*hierarchy : nullptr; }
  };
  /// The data without the preprocessing; `result`, `result_help`: the argument after `data`.
  void declare_data(CLI::App& app, const std::string& data, const std::string& result,
                    const std::string& result_help);
  /// With the weights of rows.
  void declare_preprocessing(CLI::App& app);
  /// Reads hierarchy and rows; label paths in the rows give the hierarchy. Warns of a hierarchy
  /// that says nothing about the labels; if is_strict, it throws InvalidInput instead. Throws
  /// OutOfTimeLimit.
  Data read(CommandControl& control, bool is_strict);
  /// Whether options give a hierarchy. Throws InvalidOption for those that contradict each other.
  bool has_hierarchy() const;
  /// The same for annotations.
  bool has_annotations();
  /// The points of a grid, whose options are given, too.
  void set_grid(std::vector<OptionValues> grid) { grid_ = std::move(grid); }
  const std::vector<OptionValues>& grid() const { return grid_; }
  /// Throws InvalidOption for options that contradict each other or the grid. Texts with a file of
  /// vectors are records, for which `text` is not set. `num_threads`: of an encoder of vectors.
  PreprocessingOptions preprocessing(int num_threads = 0);
  const std::string& data_path() const { return data_path_; }
  const std::string& result_path() const { return result_path_; }
  /// The files that are read. Throws InvalidOption.
  std::vector<std::string> data_paths();
  /// The named options. All are about rows.
  const std::vector<const CLI::Option*>& named() const { return named_; }
  /// read() reads the other names of labels, too.
  void read_other_names() { read_hierarchy_.other_names = true; }
  /// What rows without a label mean.
  LabelSets::Unlabelled unlabelled() const;

 protected:
  /// `reader` reads files of `format`, whose examples are not rows. Throws InvalidOption if one of
  /// named() is given.
  void refuse_options_of_rows(std::string_view reader, std::string_view format) const;
  /// Throws InvalidOption where names of labels are given and would count by default, but the
  /// options of the method leave them out.
  void require_names_count(const OptionTable& options);
  bool has_kernel_model() { return !kernel_model_options_.parse().kernel_model.empty(); }

 private:
  bool has_vector_file() const { return !views_.vector_file().empty(); }
  /// The columns of the file of rows; nothing if it has none.
  std::optional<RecordSelection> columns() const { return records_.selection(has_vector_file()); }
  /// The model of option kernel_model, which is read once; null: it is not given. Throws
  /// ModelFileError.
  std::shared_ptr<const ModelParts> kernel_model();
  /// Whether the option about rows is on the command line.
  bool is_given(std::string_view name) const;
  /// Whether the file of rows has texts without columns. Throws InvalidOption.
  bool reads_texts();
  /// The rows; `codec` has the labels of the hierarchy, if there is one already.
  Examples read_training_rows(const LabelCodec* codec, CommandControl& control);
  /// What the index of the first column is in files of rows.
  std::optional<std::uint32_t> first_index(RowKind kind);
  /// Why the hierarchy is probably not meant as it was read; empty if nothing is suspicious.
  std::string suspicion(const Data& data, bool is_of_paths) const;
  /// The hierarchy of --hierarchy-from, and the names of the file of names.
  void add_derived(Data& data, CommandControl& control);

  std::string hierarchy_path_, hierarchy_from_, label_names_path_, data_path_, result_path_;
  std::string unknown_labels_ = "error";
  std::string unlabelled_ = "auto";
  HierarchyOptions read_hierarchy_;
  ViewArguments views_;
  RecordArguments records_;
  AnnotationArguments annotations_;
  BoundOptions<PreprocessingOptions> preprocessing_;
  BoundOptions<KernelModelOptions> kernel_model_options_;
  std::shared_ptr<const ModelParts> kernel_model_;
  BoundOptions<RowWeightOptions> weights_;
  std::vector<const CLI::Option*> named_;
  std::vector<OptionValues> grid_;
};

/// The arguments `--method M [options] TRAIN MODEL`.
class TrainingArguments : public DataArguments {
 public:
  /// `result` and `result_help`: the argument after TRAIN.
  void declare(CLI::App& app, const std::vector<std::string>& arguments,
               const std::string& result = "MODEL",
               const std::string& result_help = "file to write");

  const Method& method() const { return *method_; }
  /// note_of_default().
  std::string_view note_of_method() const { return note_of_method_; }
  /// The method with the options that were given and `more`. Throws InvalidOption, also for options
  /// of rows where the method reads other examples.
  std::unique_ptr<MethodRun> start(const OptionValues& more = {});
  OptionValues method_options() const { return method_options_.values(); }
  /// preprocessing() for a run of the method, whose options may refer to columns. Where option
  /// terms is auto, a search on the rows, which is printed, chooses the terms. Throws what
  /// search_terms() throws.
  ChosenTerms choose_terms(MethodRun& run, const Data& data, Executor& executor,
                           CommandControl& control);
  const RunOptions& run_options() { return run_.parse(); }
  /// Whether the examples of a run of the method are not rows, but have a file format of their own.
  bool reads_examples(MethodRun& run) const;
  /// data_paths() and the files of the method's options.
  std::vector<std::string> input_paths();

 private:
  const Method* method_ = nullptr;
  std::string method_name_;
  std::string_view note_of_method_;
  GivenOptions method_options_;
  BoundOptions<RunOptions> run_;
};

}  // namespace margrove::cli
