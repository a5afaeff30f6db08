#include "ordinal/ordinal_output.hpp"

#include "ordinal/grade_reader.hpp"
#include "ordinal/ordinal_model.hpp"
#include "ordinal/ordinal_predictor.hpp"
#include "structured/train_structured.hpp"

namespace margrove {
namespace {

struct OrdinalSvmOptions : StructuredOptions {
  int num_grades = 0;

  static auto own_fields() {
    return std::tuple{
        field("num_grades", &OrdinalSvmOptions::num_grades, between(0, 1000),
              "grades that there are at least, should the training data lack the highest ones"),
    };
  }
};

GradedRows read(const ExampleSource& source, const OrdinalSvmOptions& options,
                RunControl* control) {
  return read_grades(source, {.num_grades = static_cast<std::uint32_t>(options.num_grades)},
                     control);
}

TrainResult train(const OrdinalSvmOptions& options, const GradedRows& rows, const TrainingSet&,
                  Executor& executor, RunControl& control) {
  require_hamming(options);
  StructuredWeights fit =
      train_structured(OrdinalModel(rows), options.training(), executor, control);
  TrainResult result;
  result.report = to_report(fit.fit);
  result.predictor = std::make_unique<OrdinalPredictor>(
      rows.X.num_columns(), static_cast<std::uint32_t>(rows.names.size()), std::move(fit.weights));
  return result;
}

MemoryEstimate memory(const OrdinalSvmOptions& options, const GradedRows& rows) {
  MemoryEstimate memory;
  memory.add("weights",
             solver_bytes(static_cast<double>(OrdinalModel(rows).num_weights()), options.solver));
  return memory;
}

}  // namespace

OutputType ordinal_output() {
  const OutputType type{
      .name = "ordinal",
      .plural = "grades",
      .summary = "grades on a line",
      .form = ExampleForm::file,
      .file_format = "grade",
      .kind = "ordinal",
      .load = OrdinalPredictor::load,
  };
  return of_files(type, FileTraining<OrdinalSvmOptions, GradedRows>{read, train, memory});
}

}  // namespace margrove
