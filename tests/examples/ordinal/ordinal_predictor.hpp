#pragma once
// Prediction, evaluation and storage of ordinal models.

#include <memory>
#include <string>
#include <vector>

#include "model/predictor.hpp"
#include "ordinal/grade_reader.hpp"

namespace margrove {

/// predict_file: one grade per line. evaluate_file: the mean of |y - y_i| and the share of y = y_i.
class OrdinalPredictor final : public FilePredictor {
 public:
  OrdinalPredictor(std::uint32_t num_features, std::uint32_t num_grades,
                   std::vector<float> weights);

  std::string_view kind() const override { return "ordinal"; }
  void save(TensorMap& out) const override;
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);
  std::vector<Fact> facts() const override;
  std::string predict_file(const ExampleSource& source, Executor& executor,
                           RunControl& control) const override;
  FileEvaluation evaluate_file(const ExampleSource& source, Executor& executor,
                               RunControl& control) const override;

 private:
  GradedRows read(const ExampleSource& source, bool has_grades, RunControl& control) const;
  std::vector<std::uint32_t> decode(const GradedRows& rows, Executor& executor,
                                    RunControl& control) const;

  std::uint32_t num_features_, num_grades_;
  std::vector<float> weights_;
};

}  // namespace margrove
