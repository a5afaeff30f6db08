#include "cli/training_reports.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/out_of_time.hpp"
#include "data/utf8.hpp"
#include "io/checkpoint_file.hpp"
#include "io/model_facts.hpp"
#include "io/model_file.hpp"

namespace margrove::cli {
namespace {

/// Throws InvalidInput naming the first row that is probably an error of the file.
void require_unsuspicious(const TrainingSet& data, const Preprocessing& preprocessing) {
  constexpr float kHuge = 1e10F;  // larger than any measurement in a sensible unit
  for (std::size_t i = 0; i < data.X.num_rows(); ++i) {
    const SparseRow row = data.X.row(i);
    require(row.size() > 0, data.source, ": row ", i + 1, " has no features; without --strict it ",
            "trains as a row of zeros");
    const bool is_labelled =
        data.labels->unlabelled() == LabelSets::Unlabelled::keep || !(*data.labels)[i].empty();
    require(is_labelled, data.source, ": row ", i + 1, " has no label; without ",
            "--strict it is left out");
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (std::abs(row.values[k]) <= kHuge) continue;
      const std::string name = column_name(row.columns[k], data, preprocessing);
      throw InvalidInput(concat(data.source, ": row ", i + 1, ": ", name, " is ", row.values[k],
                                ", which is beyond ", kHuge,
                                "; without --strict it is taken as it is"));
    }
  }
}

}  // namespace

Plan plan_with_reports(const Method& method, MethodRun& method_run, const RunOptions& run,
                       const TrainingSet& data, const Preprocessing& preprocessing,
                       Executor& executor, CommandControl& control) {
  if (run.strict && data.examples == nullptr) require_unsuspicious(data, preprocessing);
  const Plan plan = plan_training(method, method_run, data, executor, control.run());
  if (run.progress_form() == ProgressForm::json) {
    nlohmann::ordered_json line{{"stage", "plan"}};
    if (data.examples != nullptr) {
      line["examples"] = data.examples->size();
    } else {
      line["rows"] = data.X.num_rows();
      line["features"] = data.X.num_columns();
      line["labels"] = data.codec->size();
    }
    line["memory_bytes"] = plan.memory.total();
    print_error(line.dump() + "\n");
  } else if (!run.quiet) {
    const double gigabytes = static_cast<double>(plan.memory.total()) / 1e9;
    const std::string what = data.examples != nullptr
                                 ? fmt::format("{} examples", data.examples->size())
                                 : fmt::format("{} rows, {} features, {} labels", data.X.num_rows(),
                                               data.X.num_columns(), data.codec->size());
    print_error(fmt::format("{}; training takes about {:.2f} GB\n", what, gigabytes));
  }
  require_trainable(plan, method_run, data, run.memory_limit);
  return plan;
}

void warn_or_refuse(const std::string& message, bool is_strict) {
  require(!is_strict, message, " (a warning without --strict); nothing was written");
  warn(message);
}

void print_warnings(const ModelParts& model, const RunOptions& run) {
  for (const std::string& message : model.report.warnings) warn_or_refuse(message, run.strict);
}

namespace {

/// Throws Interrupted where an interruption came before the end of the first pass.
ModelParts train_until_interrupted(const Method& method, MethodRun& method_run, const Plan& plan,
                                   const TrainingSet& data, const Preprocessing& preprocessing,
                                   bool is_strict, Executor& executor, CommandControl& control) {
  constexpr std::string_view kNothing =
      ": interrupted before the end of the first pass; nothing was written";
  constexpr std::string_view kNothingStrict =
      ": interrupted, and with --strict an unfinished model is not written";
  control.await_interruption();
  try {
    ModelParts model =
        train_model(method, method_run, plan, data, preprocessing, executor, control.run());
    if (model.report.stop != Stop::interrupted) return model;
    require<Interrupted>(model.report.passes > 0, data.source, kNothing);
    require<Interrupted>(!is_strict, data.source, kNothingStrict);
    model.report.warnings.push_back(
        "an interruption ended training; the model has the best weights so far");
    return model;
  } catch (const OutOfTimeLimit& error) {
    const bool has_checkpoint = data.continuation.checkpoint != nullptr;
    require<Interrupted>(!control.is_interrupted() || !has_checkpoint, error.what());
    require<Interrupted>(!control.is_interrupted(), data.source, kNothing);
    throw;
  }
}

}  // namespace

ModelParts train_with_reports(const Method& method, MethodRun& method_run, const RunOptions& run,
                              const TrainingSet& data, const Preprocessing& preprocessing,
                              Executor& executor, CommandControl& control) {
  Plan plan = plan_with_reports(method, method_run, run, data, preprocessing, executor, control);
  if (data.continuation.checkpoint != nullptr) use_checkpoint(method, data, plan);
  ModelParts model = train_until_interrupted(method, method_run, plan, data, preprocessing,
                                             run.strict, executor, control);
  control.end_progress();
  print_warnings(model, run);
  return model;
}

/// Of a model file: train names the command that makes it smaller.
constexpr std::uintmax_t kManyBytes = 50'000'000;

void save_and_print(const ModelParts& model, const std::string& path, CommandControl& control,
                    double earlier) {
  control.start_writing();
  save_model(model, path);
  std::cout << fmt::format("method\t{}\n", model.method);
  const FitReport& report = model.report;
  std::cout << fmt::format("stop\t{}\npasses\t{}\n", to_string(report.stop), report.passes);
  if (has_rounds_of_passes(report)) std::cout << fmt::format("rounds\t{}\n", report.curve.size());
  const auto print_if_known = [](std::string_view name, double value) {
    if (std::isfinite(value)) std::cout << fmt::format("{}\t{}\n", name, value);
  };
  print_if_known("objective", report.primal);
  print_if_known("dual", report.dual);
  print_if_known("relative_gap", report.relative_gap);
  print_if_known("name_weight", report.name_weight);
  print_if_known("unseen_score", report.unseen_score);
  std::cout << fmt::format("seconds\t{:.2f}\n", control.run().seconds() - earlier);
  if (!std::filesystem::is_regular_file(path)) return;
  const std::uintmax_t bytes = std::filesystem::file_size(path);
  std::cout << fmt::format("model_bytes\t{}\n", bytes);
  if (bytes >= kManyBytes && model.predictor->is_compressible()) {
    std::cout << fmt::format("hint\t`margrove compress --output SMALLER {}` makes it smaller\n",
                             printable(path));
  }
}

}  // namespace margrove::cli
