#pragma once
// The preprocessing of rows, which training fits and models keep.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/out_of_time.hpp"
#include "data/examples.hpp"
#include "kernel/kernel_features.hpp"
#include "margrove/dataset.hpp"
#include "margrove/errors.hpp"
#include "margrove/executor.hpp"
#include "margrove/text_reader.hpp"
#include "margrove/tfidf.hpp"
#include "model/method.hpp"
#include "model/model.hpp"
#include "model/training_set.hpp"

namespace margrove {

/// The kind of rows that a model takes.
inline RowKind row_kind(const ModelParts& model) {
  return row_kind(model.records ? &*model.records : nullptr, model.preprocessing);
}
/// Options to read labelled rows for the model; they refer to it.
ReadOptions read_options(const ModelParts& model);
/// The weights of rows in training, beside those that are given with the rows.
struct RowWeightOptions {
  std::string class_weight = "none";
  static auto fields() {
    return std::tuple{field(
        "class_weight", &RowWeightOptions::class_weight, detail::Choices{},
        "factor of the loss of each row by its label: none; balanced: n / (k n_l) for n_l of n "
        "rows with label l of k labels; or a file of lines label<TAB>weight, where labels that it "
        "lacks have weight 1. For rows with one label; kernel methods and structured take none")};
  }
};

/// The model whose learned kernel kernel features have.
struct KernelModelOptions {
  std::string kernel_model = {};
  static auto fields() {
    return std::tuple{field(
        "kernel_model", &KernelModelOptions::kernel_model, detail::Choices{},
        "kernel_features nystroem: a model of average-mkl, lp-mkl, simple-mkl or spn-mkl whose "
        "learned kernel takes the place of the Gaussian one, or a model with such features; rows "
        "get its preprocessing, and no other")};
  }
};

/// The preprocessing of rows before training; `text` is that of documents, and set for them. At
/// most one of text, tfidf, normalize and a scale other than automatic and none may be set. With
/// one of the first three, automatic is none.
struct PreprocessingOptions : TfidfOptions {
  bool text = false;
  bool tfidf = false;
  bool normalize = false;
  std::string stop_words_choice = {};  // a language or a file: its words are added to stop_words
  ColumnScale scale = ColumnScale::automatic;
  KernelFeatures::Choice kernel_features = {};
  double kernel_gamma = 0;
  /// Of the learned kernel, and of the preprocessing of the rows; null: none. Not an option, as it
  /// is loaded by who has its file (KernelModelOptions).
  std::shared_ptr<const ModelParts> kernel_model = {};
  std::string kernel_model_name = {};  // its file, for messages
  std::uint64_t seed = 0;  // of kernel features; not an option: that of the method's run
  /// Of an encoder that option vectors names; 0: all. Not an option: those of the run.
  int encoder_threads = 0;
  /// Whether columns that no row uses may be left out, where they are most of them.
  bool selects_columns = true;    // not an option: a matter of the method (preprocessing_for)
  RowWeightOptions weights = {};  // options of their own, because the model does not keep them
  static auto fields() {
    const std::tuple kinds{
        field("text", &PreprocessingOptions::text,
              "rows are lines label<TAB>text; their terms become tf-idf features"),
        field("tfidf", &PreprocessingOptions::tfidf,
              "rows hold counts, which become tf-idf features"),
        field("normalize", &PreprocessingOptions::normalize, "scale rows to unit L2 norm")};
    const std::tuple others{
        field("stop_words", &PreprocessingOptions::stop_words_choice, detail::Choices{},
              "text: words that are left out: those of a language, such as english, or of a file"),
        field(
            "scale", &PreprocessingOptions::scale,
            "columns of numbers: standard (mean 0, deviation 1), max-abs, robust (median, "
            "quartiles), common (mean 0, one divisor); sparse rows are divided only. auto: dense "
            "rows get standard, or common where no column is large or all are of one scale; sparse "
            "counts whose rows differ in length become unit rows"),
        field(
            "kernel_features", &PreprocessingOptions::kernel_features,
            "after all else, rows become N features whose inner products approximate the Gaussian "
            "kernel exp(-gamma ||x - z||^2), for methods that are linear: nystroem:N (of N random "
            "training rows), fourier:N (random Fourier features), or none"),
        field("kernel_gamma", &PreprocessingOptions::kernel_gamma, non_negative,
              "kernel_features: gamma; 0: 1 / (2 d^2) for the median distance d of training rows"),
    };
    return std::tuple_cat(kinds, TfidfOptions::fields(), others);
  }
};
/// `options` for a method: where an option of the method that speaks of the columns
/// (Method::column_options) is not at its default, columns keep their numbers, and the scale is
/// none instead of automatic.
/// Throws InvalidOption for kernel features or a kernel model with a method that takes none.
PreprocessingOptions preprocessing_for(const Method& method, const OptionTable& table,
                                       PreprocessingOptions options);
/// Throws InvalidOption for options that are not for the kernel model, if there is one, such as a
/// preprocessing beside it, and InvalidInput naming the model if it has no kernel of any rows.
void require_kernel_model(const PreprocessingOptions& options);
/// Throws InvalidOption if kernel features are given, by this option, to a method that takes none.
void require_kernel_features(const Method& method, bool are_given,
                             std::string_view option = "kernel_features");
/// The features of records that the kernel model takes, with the labels and paths of the selection.
/// Throws InvalidInput, which begins with `source`, if the model takes no records or those of other
/// columns; `name`: what it calls the model.
RecordFeatures record_features_of(const ModelParts& kernel_model, const std::string& name,
                                  RecordSelection selection, const std::string& source);

/// The rows as the model's predictor takes them. Throws InvalidInput if they are not of
/// row_kind(model), and OutOfTimeLimit where `control` asks to end; messages begin with `source`,
/// if there is one. The executor is for kernel features.
CsrMatrix preprocess(const ModelParts& model, const Rows& rows, const std::string& source = {},
                     RunControl* control = nullptr, Executor& executor = Executor::serial());
inline CsrMatrix preprocess(const ModelParts& model, const Examples& examples,
                            RunControl* control = nullptr,
                            Executor& executor = Executor::serial()) {
  return preprocess(model, Rows(examples), examples.source, control, executor);
}
/// The same without kernel features, which are the last step.
CsrMatrix preprocess_columns(const ModelParts& model, const Rows& rows,
                             const std::string& source = {}, RunControl* control = nullptr);
/// As preprocess(). Rows of numbers that need no change are not copied: they must outlive the
/// object.
class FeatureRows {
 public:
  FeatureRows(const ModelParts& model, const Rows& rows, Executor& executor = Executor::serial());
  FeatureRows(const FeatureRows&) = delete;
  FeatureRows& operator=(const FeatureRows&) = delete;
  const CsrView& matrix() const { return view_; }

 private:
  CsrMatrix own_;
  CsrView view_;
};

/// The data that a TrainingSet refers to.
struct PreparedRows {
  std::optional<RecordFeatures> records;
  Preprocessing preprocessing;
  std::optional<KernelFeatures> kernel_features;
  CsrMatrix X;
  LabelledRows labelled;
  std::vector<double> row_weights;
  std::vector<View> views;
  std::string source;
  std::vector<std::string> warnings;  // TrainingSet::warnings
  /// Valid while this object stays where it is.
  TrainingSet training_set() const;
};
/// Fits and applies the preprocessing and numbers the labels. Weights of classes are factors of
/// row_weights (empty: all 1); rows with weights are those of merge_equal_rows(), so that weights
/// stand for repetitions. Throws what label_rows() throws, InvalidOption if options of terms are
/// given, but rows are neither texts nor counts, InvalidInput for wrong weights, and OutOfTimeLimit
/// where `control` asks to end; InvalidInput where kernel features would take more memory than
/// `control` allows or than is free. The result does not depend on the executor, which is for
/// kernel features.
PreparedRows prepare_rows(Examples raw, const Hierarchy* hierarchy,
                          const PreprocessingOptions& options, std::vector<double> row_weights = {},
                          RunControl* control = nullptr, Executor& executor = Executor::serial());

/// The kernel features that the options ask for, of preprocessed rows; apply() then takes no more
/// memory than is checked here. Throws as prepare_rows(), and OutOfTime.
std::optional<KernelFeatures> fit_kernel_features(const CsrView& X,
                                                  const PreprocessingOptions& options,
                                                  const std::string& source, Executor& executor,
                                                  RunControl* control);

}  // namespace margrove
