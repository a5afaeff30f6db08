#include "margrove/model.hpp"

#include <algorithm>
#include <utility>

#include "io/model_file.hpp"
#include "methods/training.hpp"
#include "model/calibration.hpp"
#include "model/model.hpp"

namespace margrove {
namespace {

constexpr std::size_t kRowsPerTask = 64;

/// The caller's rows after preprocessing, if there is any.
class PreparedInput {
 public:
  PreparedInput(const ModelParts& model, const Rows& rows) {
    const auto* documents = std::get_if<std::span<const std::string>>(&rows.get());
    const RowKind given = documents != nullptr ? RowKind::documents : RowKind::numbers;
    require(given == row_kind(model), "the rows are ", kind_name(given), ", but the model takes ",
            kind_name(row_kind(model)));
    const Preprocessing& preprocessing = model.preprocessing;
    if (documents != nullptr) {
      own_ = preprocessing.apply(*documents);
      view_ = own_;
    } else {
      view_ = std::get<CsrView>(rows.get());
      if (preprocessing.keeps_rows()) return;
      own_ = preprocessing.apply(view_);
      view_ = own_;
    }
  }
  PreparedInput(const PreparedInput&) = delete;
  PreparedInput& operator=(const PreparedInput&) = delete;
  const CsrView& matrix() const { return view_; }

 private:
  CsrMatrix own_;
  CsrView view_;
};

void require_one_label(const ModelParts& parts) {
  require(parts.rows().gives_one_label(),
          "probabilities: the model gives label sets, but must give each row one label");
}

/// The part of each row's probabilities that `part` names, row after row.
std::vector<double> probability_rows(const ModelParts& parts, const Rows& rows, Executor& executor,
                                     const HierarchyProbabilities* hierarchy,
                                     std::span<const double> RowProbabilities::*part) {
  require_one_label(parts);
  const PreparedInput input(parts, rows);
  const std::size_t num_labels = parts.labels.size();
  std::vector<double> all(input.matrix().num_rows() * num_labels);
  for_probabilities(parts.rows(), parts.temperature(), hierarchy, input.matrix(), executor,
                    [&](std::size_t i, const RowProbabilities& p) {
                      const std::span<const double> row = p.*part;
                      std::copy(row.begin(), row.end(),
                                all.begin() + static_cast<std::ptrdiff_t>(i * num_labels));
                    });
  return all;
}

}  // namespace

Model::Model(std::unique_ptr<const ModelParts> parts) : parts_(std::move(parts)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::load(const std::string& path) {
  return Model(std::make_unique<ModelParts>(load_model(path)));
}
void Model::save(const std::string& path) const { save_model(*parts_, path); }

const std::string& Model::method() const { return parts_->method; }
const std::vector<std::pair<std::string, std::string>>& Model::options() const {
  return parts_->options;
}
const LabelCodec& Model::labels() const { return parts_->labels; }
const LabelGraph& Model::hierarchy() const { return parts_->hierarchy; }
const FitReport& Model::report() const { return parts_->report; }
std::vector<Fact> Model::facts() const { return parts_->predictor->facts(); }

LabelSets Model::predict(const Rows& rows, Executor& executor) const {
  const RowPredictor& predictor = parts_->rows();
  return predictor.predict(PreparedInput(*parts_, rows).matrix(), executor);
}

RankedLabels Model::top(const Rows& rows, std::size_t k, Executor& executor) const {
  const RowPredictor& predictor = parts_->rows();
  return predictor.top(PreparedInput(*parts_, rows).matrix(), k, executor);
}

std::vector<float> Model::scores(const Rows& rows, Executor& executor) const {
  const RowPredictor& predictor = parts_->rows();
  const PreparedInput input(*parts_, rows);
  const std::size_t num_labels = predictor.num_labels(), num_rows = input.matrix().num_rows();
  std::vector<float> all(num_rows * num_labels);
  executor.for_ranges(num_rows, kRowsPerTask, [&](std::size_t begin, std::size_t end, int) {
    predictor.scores(input.matrix(), begin, end,
                     std::span(all).subspan(begin * num_labels, (end - begin) * num_labels));
  });
  return all;
}

std::vector<double> Model::probabilities(const Rows& rows, Executor& executor) const {
  return probability_rows(*parts_, rows, executor, nullptr, &RowProbabilities::labels);
}

std::vector<double> Model::node_probabilities(const Rows& rows, Executor& executor) const {
  const HierarchyProbabilities hierarchy(parts_->hierarchy);
  return probability_rows(*parts_, rows, executor, &hierarchy, &RowProbabilities::nodes);
}

Explanation Model::explain(const Rows& rows, std::size_t i, LabelId label,
                           std::size_t num_strongest) const {
  const PreparedInput input(*parts_, rows);
  require(i < input.matrix().num_rows(), "explain: row is ", i, ", but must be below ",
          input.matrix().num_rows());
  return parts_->explain(input.matrix().row(i), label, num_strongest);
}

Metrics Model::evaluate(const LabelSets& truth, const LabelSets& predicted) const {
  return compute_metrics(truth, predicted, parts_->hierarchy, parts_->in_training());
}

std::string Model::predict_file(const std::string& path, Executor& executor,
                                RunControl* control) const {
  const FilePredictor* files = parts_->predictor->files();
  require(files != nullptr, "the model is of method ", parts_->method,
          ", but must be one of files");
  RunControl unlimited;
  return files->predict_file(path, executor, control != nullptr ? *control : unlimited);
}

}  // namespace margrove
