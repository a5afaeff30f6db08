// margrove predict

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "cli/model_arguments.hpp"
#include "cli/verbs.hpp"
#include "data/prediction_lines.hpp"
#include "io/model_file.hpp"
#include "margrove/writers.hpp"
#include "model/linear_predictor.hpp"

namespace margrove::cli {
namespace {

constexpr std::size_t kRowsAtOnce = 8192;  // between two looks at Ctrl-C

/// Throws InvalidInput unless the model gives each row one label.
void require_probabilities(const ModelParts& model) {
  const auto* linear = dynamic_cast<const LinearPredictor*>(model.predictor.get());
  require(linear != nullptr && !linear->parts().decision.several_labels(),
          "probabilities: the model gives label sets, but must give each row one label");
}

/// The labels and all above them, each once, parents before children.
std::vector<LabelId> with_ancestors(const LabelGraph& hierarchy, std::span<const LabelId> labels) {
  std::set<std::pair<std::uint32_t, LabelId>> closed;
  for (const LabelId label : labels) {
    for (const NodeId n : hierarchy.ancestors(label)) closed.insert({hierarchy.depth(n), n});
  }
  std::vector<LabelId> all;
  for (const auto& [depth, n] : closed) all.push_back(n);
  return all;
}

class Predict final : public Command {
 public:
  explicit Predict(CLI::App& app) {
    arguments_.declare(app);
    app.add_option("--output", output_, "file to write instead of stdout")->type_name("FILE");
    app.add_option("--top", top_, "the K best labels of each row, best first, instead of its set")
        ->type_name("K")
        ->check(CLI::PositiveNumber);
    auto* scores = app.add_flag("--scores", scores_, "write label:score, separated by blanks");
    app.add_flag("--probabilities", probabilities_, "write label:probability, separated by blanks")
        ->excludes(scores);
    auto* confidence =
        app.add_option("--min-confidence", min_confidence_,
                       "the most specific label, inner ones included, whose probability is at "
                       "least P, or else the most probable root")
            ->type_name("P")
            ->check(CLI::Range(0.0, 1.0));
    app.add_flag("--paths", paths_, "write all labels above a row's labels too, parents first")
        ->excludes(scores);
    confidence->excludes("--top")->excludes(scores);
  }

  int run() override {
    const ModelParts model = load_model(arguments_.model_path);
    CommandControl control(arguments_.quiet);
    Executor executor(arguments_.threads);
    std::string lines;
    if (const auto* files = dynamic_cast<const FilePredictor*>(model.predictor.get())) {
      lines = files->predict_file(arguments_.examples_path(model), executor, control.run());
    } else {
      predict_rows(model, executor, control, lines);
    }
    control.leave_if_interrupted();
    write_result(output_, lines);
    return kOk;
  }

 private:
  void predict_rows(const ModelParts& model, Executor& executor, CommandControl& control,
                    std::string& lines) const {
    std::optional<HierarchyProbabilities> hierarchy;
    if (probabilities_ || min_confidence_ >= 0) {
      require_probabilities(model);
      hierarchy.emplace(model.hierarchy);
    }
    const CsrMatrix X = preprocess(model.preprocessing, arguments_.read(model, control));
    for (std::size_t begin = 0; begin < X.num_rows(); begin += kRowsAtOnce) {
      const std::size_t end = std::min(begin + kRowsAtOnce, X.num_rows());
      std::vector<std::uint32_t> rows(end - begin);
      std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(begin));
      const CsrMatrix block = select_rows(X, rows);
      if (hierarchy) {
        append_probable(model, *hierarchy, block, lines);
      } else if (top_ > 0) {
        append_top(model, block, executor, lines);
      } else {
        append_sets(model, block, executor, lines);
      }
      Progress progress{.stage = "predict", .unit = "rows"};
      progress.done = static_cast<std::int64_t>(end);
      progress.total = static_cast<std::int64_t>(X.num_rows());
      if (!control.run().proceed(progress)) return;
    }
  }

  void append_top(const ModelParts& model, const CsrView& X, Executor& executor,
                  std::string& lines) const {
    const RankedLabels top = model.rows().top(X, static_cast<std::size_t>(top_), executor);
    for (std::size_t i = 0; i < X.num_rows(); ++i) {
      std::vector<ScoredLabel> ranked;
      std::vector<LabelId> labels;
      for (std::size_t k = top.pointers[i]; k < top.pointers[i + 1]; ++k) {
        ranked.push_back({top.labels[k], top.scores[k]});
        labels.push_back(top.labels[k]);
      }
      append_line(lines, labels, ranked, model);
    }
  }

  /// Labels chosen by their probabilities, or with them.
  void append_probable(const ModelParts& model, const HierarchyProbabilities& hierarchy,
                       const CsrView& X, std::string& lines) const {
    std::vector<double> label_probabilities(model.labels.size()),
        node_probabilities(model.labels.size());
    std::vector<float> scores(model.labels.size());
    std::vector<LabelId> ranked(model.labels.size());
    for (std::size_t i = 0; i < X.num_rows(); ++i) {
      model.rows().scores(X, i, i + 1, scores);
      softmax(scores, model.calibration ? model.calibration->temperature : 1.0,
              label_probabilities);
      std::vector<LabelId> labels;
      if (min_confidence_ >= 0) {
        hierarchy.node_probabilities(label_probabilities, node_probabilities);
        labels = {hierarchy.confident(label_probabilities, node_probabilities, min_confidence_)};
      } else {
        const auto k = std::min<std::size_t>(std::max(top_, 1), ranked.size());
        std::iota(ranked.begin(), ranked.end(), LabelId{0});
        std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(k),
                          ranked.end(), [&](LabelId a, LabelId b) {
                            return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
                          });
        for (std::size_t r = 0; r < k && std::isfinite(scores[ranked[r]]); ++r) {
          labels.push_back(ranked[r]);
        }
        node_probabilities = label_probabilities;
      }
      std::vector<ScoredLabel> scored;
      for (const LabelId label : labels) {
        scored.push_back({label, static_cast<float>(node_probabilities[label])});
      }
      append_line(lines, labels, scored, model);
    }
  }

  void append_sets(const ModelParts& model, const CsrView& X, Executor& executor,
                   std::string& lines) const {
    const RowPredictor& predictor = model.rows();
    const LabelSets sets = predictor.predict(X, executor);
    std::vector<float> scores(scores_ ? predictor.num_labels() : 0);
    for (std::size_t i = 0; i < X.num_rows(); ++i) {
      std::vector<ScoredLabel> scored;
      if (scores_) {
        predictor.scores(X, i, i + 1, scores);
        for (const LabelId label : sets[i]) scored.push_back({label, scores[label]});
      }
      append_line(lines, sets[i], scored, model);
    }
  }

  void append_line(std::string& lines, std::span<const LabelId> labels,
                   std::span<const ScoredLabel> scored, const ModelParts& model) const {
    if (scores_ || probabilities_) {
      append_scored_labels(lines, scored, model.labels);
    } else if (paths_) {
      append_labels(lines, with_ancestors(model.hierarchy, labels), model.labels);
    } else {
      append_labels(lines, labels, model.labels);
    }
    lines += '\n';
  }

  ModelArguments arguments_;
  std::string output_;
  int top_ = 0;
  double min_confidence_ = -1;  // not asked for
  bool scores_ = false, probabilities_ = false, paths_ = false;
};

}  // namespace

Verb predict_verb() {
  return {"predict", "write the labels of rows, a line each",
          [](CLI::App& app, const std::vector<std::string>&) -> std::unique_ptr<Command> {
            return std::make_unique<Predict>(app);
          }};
}

}  // namespace margrove::cli
