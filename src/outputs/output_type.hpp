#pragma once
// The types of output that `--method structured` can train. A type is one folder of src/outputs
// (model, oracle, reader, writer, predictor, metric) and one line of src/outputs/registry.cpp.
// docs/adding_an_output.md shows a complete one.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "margrove/errors.hpp"
#include "margrove/options.hpp"
#include "outputs/structured.hpp"

namespace margrove {

/// The examples that a type learns from.
enum class ExampleForm {
  rows,           // rows of a matrix with label sets
  tagged_tokens,  // sentences of a CoNLL column file with one tag per token
  file,           // examples in a file format of the type's own
};
template <>
inline constexpr auto kEnumNames<ExampleForm> = std::array{
    EnumName{ExampleForm::rows, "rows"}, EnumName{ExampleForm::tagged_tokens, "tagged-tokens"},
    EnumName{ExampleForm::file, "file"}};

/// A type of output with its own options, ready to be trained.
class OutputRun {
 public:
  virtual ~OutputRun() = default;
  /// The options of this type only; the table refers to this object.
  virtual OptionTable own_options() = 0;
  // Below, `options` are those that all types share.
  /// Null if the examples are rows. Throws what the type's reader throws, which asks the control,
  /// unless that is null.
  virtual std::unique_ptr<StructuredExamples> read(const StructuredOptions& options,
                                                   const ExampleSource& source,
                                                   RunControl* control) const = 0;
  /// See MethodRun.
  virtual MemoryEstimate memory(const StructuredOptions& options,
                                const TrainingSet& data) const = 0;
  virtual TrainResult train(const StructuredOptions& options, const TrainingSet& data,
                            Executor& executor, RunControl& control) const = 0;
};

/// A type of output: its names, its predictor and its training. Cheap to copy.
struct OutputType {
  std::string name;     // of --model: "chain"
  std::string plural;   // of its predictions: "sequences"
  std::string summary;  // of its labellings: "tags of a CoNLL column file"
  ExampleForm form = ExampleForm::rows;
  std::string file_format{};  // of the examples: "CoNLL-U"; empty for rows
  std::string kind;           // of the predictor that it trains
  std::unique_ptr<Predictor> (*load)(const TensorMap& tensors, std::uint32_t num_labels) = nullptr;
  bool takes_offset = false;       // whether its training uses --decision
  bool takes_start = false;        // whether its training uses StructuredOptions::start
  bool empty_sets = false;         // of rows: see Method::empty_sets
  bool keeps_checkpoints = false;  // whether its training uses data.continuation.checkpoint
  /// Makes a run with default options; of_rows() or of_files() sets it.
  std::function<std::unique_ptr<OutputRun>()> start = nullptr;
};

/// Training on rows. Options: StructuredOptions or derived from it.
template <class Options>
struct RowTraining {
  TrainResult (*train)(const Options& options, const TrainingSet& data, Executor& executor,
                       RunControl& control);
  MemoryEstimate (*memory)(const Options& options, const TrainingSet& data);
};

/// Reading of and training on a file. Corpus is the result of reading; it has size(), the number of
/// examples, and labels(), a LabelCodec.
template <class Options, class Corpus>
struct FileTraining {
  /// Gives the control, which may be null, to row_blocks(), and thereby throws OutOfTimeLimit.
  Corpus (*read)(const ExampleSource& source, const Options& options, RunControl* control);
  /// data.source names the file in messages.
  TrainResult (*train)(const Options& options, const Corpus& corpus, const TrainingSet& data,
                       Executor& executor, RunControl& control);
  MemoryEstimate (*memory)(const Options& options, const Corpus& corpus);
};

namespace detail {

/// Holds the options that only one type has and adds the shared ones to them.
template <class Options>
class TypedOutputRun : public OutputRun {
 public:
  OptionTable own_options() override { return OptionTable(options_, Options::own_fields()); }

 protected:
  Options with(const StructuredOptions& shared) const {
    Options all = options_;
    static_cast<StructuredOptions&>(all) = shared;
    return all;
  }

 private:
  Options options_;
};

template <class Options>
class RowOutputRun final : public TypedOutputRun<Options> {
 public:
  explicit RowOutputRun(RowTraining<Options> training) : training_(training) {}
  std::unique_ptr<StructuredExamples> read(const StructuredOptions&, const ExampleSource&,
                                           RunControl*) const override {
    return nullptr;
  }
  MemoryEstimate memory(const StructuredOptions& options, const TrainingSet& data) const override {
    check(options, data);
    return training_.memory(this->with(options), data);
  }
  TrainResult train(const StructuredOptions& options, const TrainingSet& data, Executor& executor,
                    RunControl& control) const override {
    check(options, data);
    return training_.train(this->with(options), data, executor, control);
  }

 private:
  static void check(const StructuredOptions& options, const TrainingSet& data) {
    require<InvalidOption>(data.labels != nullptr, "option model is '", options.model,
                           "', which is trained on rows with labels");
  }

  RowTraining<Options> training_;
};

template <class Options, class Corpus>
class FileOutputRun final : public TypedOutputRun<Options> {
 public:
  explicit FileOutputRun(FileTraining<Options, Corpus> training) : training_(training) {}
  std::unique_ptr<StructuredExamples> read(const StructuredOptions& options,
                                           const ExampleSource& source,
                                           RunControl* control) const override {
    return std::make_unique<StructuredExamples>(
        training_.read(source, this->with(options), control));
  }
  MemoryEstimate memory(const StructuredOptions& options, const TrainingSet& data) const override {
    return training_.memory(this->with(options), corpus_of(options, data));
  }
  TrainResult train(const StructuredOptions& options, const TrainingSet& data, Executor& executor,
                    RunControl& control) const override {
    return training_.train(this->with(options), corpus_of(options, data), data, executor, control);
  }

 private:
  static const Corpus& corpus_of(const StructuredOptions& options, const TrainingSet& data) {
    const Corpus* corpus = data.examples != nullptr ? data.examples->get_if<Corpus>() : nullptr;
    require<InvalidOption>(corpus != nullptr, "option model is '", options.model,
                           "', which is trained on examples of its own file format, not on rows");
    return *corpus;
  }

  FileTraining<Options, Corpus> training_;
};

}  // namespace detail

/// `type` with `start` set, for a type that learns from rows or from a file.
template <class Options>
OutputType of_rows(OutputType type, RowTraining<Options> training) {
  type.start = [training] { return std::make_unique<detail::RowOutputRun<Options>>(training); };
  return type;
}

template <class Options, class Corpus>
OutputType of_files(OutputType type, FileTraining<Options, Corpus> training) {
  type.start = [training] {
    return std::make_unique<detail::FileOutputRun<Options, Corpus>>(training);
  };
  return type;
}

}  // namespace margrove
