// margrove compress

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <tuple>

#include "base/atomic_file.hpp"
#include "cli/model_arguments.hpp"
#include "cli/verbs.hpp"
#include "eval/evaluation.hpp"
#include "eval/metric_choice.hpp"
#include "eval/set_metrics.hpp"
#include "io/model_file.hpp"
#include "model/weight_compression.hpp"

namespace margrove::cli {
namespace {

/// The shares that are tried where none is given, until one loses too much.
constexpr std::array<double, 12> kShares{1,    0.7,  0.5,  0.35, 0.25, 0.18,
                                         0.12, 0.08, 0.05, 0.03, 0.02, 0.01};

struct Measured {
  double metric = 0;
  LabelSets answers;
  std::vector<double> f1;  // of each row's answer
  std::uint64_t bytes = 0;
};

/// Of each row. The metrics of label_ratios() are in a fixed order.
std::vector<double> f1_of_rows(const EvaluatedRows& rows) {
  return std::move(label_ratios(rows.truth, rows.predicted, rows.in_training)[2].part);
}

/// What a smaller model changes in the answers.
struct Change {
  double equal_answers = 0;   // share of the rows
  double standard_error = 0;  // of the mean difference of the rows' F1, for one label accuracy
};

Change change_between(const Measured& before, const Measured& after) {
  const std::size_t n = before.f1.size();
  if (n == 0) return {.equal_answers = 1};
  std::size_t equal = 0;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (std::ranges::equal(before.answers[i], after.answers[i])) ++equal;
    const double difference = after.f1[i] - before.f1[i];
    sum += difference;
    squares += difference * difference;
  }
  const auto rows = static_cast<double>(n);
  const double variance = std::max(0.0, squares / rows - (sum / rows) * (sum / rows));
  return {static_cast<double>(equal) / rows, std::sqrt(variance / rows)};
}

struct CompressOptions {
  double keep = 0;
  WeightPrecision precision = WeightPrecision::int8;
  std::string metric;
  double most_loss = 0.002;
  static auto fields() {
    return std::tuple{
        field("keep", &CompressOptions::keep, between(0, 1),
              "share of the weights that is kept, the largest ones; 0: with rows the smallest one "
              "that loses at most most_loss with a standard error to spare, without rows all"),
        field("precision", &CompressOptions::precision,
              "how a weight is stored: in 4 bytes, in 2, or in 1 as a multiple of its feature's "
              "step"),
        field("metric", &CompressOptions::metric, detail::Choices{},
              "metric of evaluate that is measured on the rows; empty: accuracy, or micro_f1 if "
              "the model gives label sets"),
        field("most_loss", &CompressOptions::most_loss, at_least(0),
              "how far the metric may fall on the rows"),
    };
  }
};

class Compress final : public Command {
 public:
  explicit Compress(CLI::App& app) {
    arguments_.declare(app, /*needs_data=*/false);
    app.get_option("DATA")->description(
        "labelled rows that the model was not trained on: they show the loss, and choose the "
        "share");
    app.add_option("--output", output_, "file to write")->required()->type_name("FILE");
    given_.declare(app, "Compression");
  }

  int run() override {
    options_ = given_.parse();
    const bool has_rows = !arguments_.data_path.empty();
    require<InvalidOption>(has_rows || options_.metric.empty(),
                           "option metric is given, but no rows to measure it on");
    require_writable(output_);                                     // not empty
    require_result_writable(output_, {&arguments_.data_path, 1});  // a model may be replaced
    CommandControl control = arguments_.control();
    ModelParts model = load_model(arguments_.model_path);
    if (has_rows) options_.keep = measured_share(model, control);
    compress(model, compression_of(options_.keep));
    control.start_writing();
    save_model(model, output_);
    return kOk;
  }

 private:
  /// What a model loses shows only on rows with labels that it knows.
  void require_known_labels(const ModelParts& model, const EvaluatedRows& rows) const {
    std::size_t known = 0;
    for (std::size_t i = 0; i < rows.truth.num_rows(); ++i) {
      for (const LabelId label : rows.truth[i]) {
        if (label < model.labels.size() && model.training_rows[label] > 0) ++known;
      }
    }
    require(known > 0, arguments_.data_path, ": no row has a label that the model knows");
  }

  WeightCompression compression_of(double keep) const {
    return {.keep = keep > 0 ? keep : 1, .precision = options_.precision};
  }

  /// `rows` have been predicted by the model.
  Measured measured(const ModelParts& model, const EvaluatedRows& rows, std::uint64_t bytes,
                    Executor& executor) const {
    const EvaluationOptions options{.metrics = {{options_.metric}}};
    const double value = evaluate_rows(model, rows, options, executor).metrics.front().value;
    return {value, rows.predicted, f1_of_rows(rows), bytes};
  }

  /// Prints what the shares lose, and returns the one to keep.
  double measured_share(const ModelParts& model, CommandControl& control) {
    Executor executor(arguments_.threads);
    std::string& metric = options_.metric;
    require<InvalidOption>(metric != "all", "option metric is 'all', but must be one metric");
    if (metric.empty()) metric = model.rows().gives_one_label() ? "accuracy" : "micro_f1";
    // Models differ only in what they predict.
    Examples raw = arguments_.read(model, control, /*needs_labels=*/true);
    leave_out_unlabelled(model, raw);
    // The weights that the rows need are in memory until this model is gone.
    std::optional<ModelParts> whole = load_model(arguments_.model_path);
    EvaluatedRows rows = evaluated_rows(*whole, raw, nullptr, nullptr, executor);
    require_known_labels(model, rows);
    const Measured before =
        measured(*whole, rows, std::filesystem::file_size(arguments_.model_path), executor);
    whole.reset();
    control.end_progress();
    std::cout << fmt::format("{:<8} {:>10} {:>12} {:>10} {:>14}\n", "keep", "MB", metric, "+-",
                             "equal answers");
    const auto print = [](const std::string& keep, const Measured& line, const Change& change) {
      std::cout << fmt::format("{:<8} {:>10.2f} {:>12.4f} {:>10.4f} {:>14.4f}\n", keep,
                               static_cast<double>(line.bytes) / 1e6, line.metric,
                               change.standard_error, change.equal_answers);
      std::cout.flush();
    };
    print("model", before, {.equal_answers = 1});
    /// The loss, and with one standard error to spare.
    struct Loss {
      double measured, likely;
    };
    const auto loss_of = [&](double keep) {
      ModelParts smaller = model;
      compress(smaller, compression_of(keep));
      rows.predicted = smaller.rows().predict(rows.X, executor);
      const Measured line = measured(smaller, rows, model_file_size(smaller), executor);
      const Change change = change_between(before, line);
      print(fmt::format("{}", keep), line, change);
      const double gained = line.metric - before.metric;
      const double loss = is_loss(metric) ? gained : -gained;
      return Loss{loss, loss + change.standard_error};
    };
    if (options_.keep > 0) {
      loss_of(options_.keep);
      return options_.keep;
    }
    double smallest = 0;
    for (const double keep : kShares) {
      const Loss loss = loss_of(keep);
      if ((keep < 1 ? loss.likely : loss.measured) > options_.most_loss) break;
      smallest = keep;
    }
    require(smallest > 0, "already precision ", name_of(options_.precision), " loses more than ",
            options_.most_loss, " of ", metric, ", and nothing was written");
    return smallest;
  }

  ModelArguments arguments_;
  std::string output_;
  BoundOptions<CompressOptions> given_;
  CompressOptions options_;
};

}  // namespace

Verb compress_verb() {
  return make_verb<Compress>("compress", "a smaller model: fewer weights, in fewer bytes");
}

}  // namespace margrove::cli
