// margrove predict

#include <fmt/format.h>

#include <numeric>

#include "margrove/data/writers.hpp"
#include "margrove/io/model_file.hpp"
#include "model_arguments.hpp"
#include "verbs.hpp"

namespace margrove::cli {
namespace {

constexpr std::size_t kRowsAtOnce = 8192;  // between two looks at Ctrl-C

class Predict final : public Command {
 public:
  explicit Predict(CLI::App& app) {
    arguments_.declare(app);
    app.add_option("--output", output_, "file to write instead of stdout")->type_name("FILE");
    app.add_option("--top", top_, "the K best labels of each row, best first, instead of its set")
        ->type_name("K")
        ->check(CLI::PositiveNumber);
    app.add_flag("--scores", scores_, "write label:score, separated by blanks");
  }

  int run() override {
    const Model model = load_model(arguments_.model_path);
    CommandControl control(arguments_.quiet);
    Executor executor(arguments_.threads);
    std::string lines;
    if (const auto* files = dynamic_cast<const FilePredictor*>(model.predictor.get())) {
      lines = files->predict_file(arguments_.data_path, executor, control.run());
    } else {
      predict_rows(model, executor, control, lines);
    }
    control.leave_if_interrupted();
    write_result(output_, lines);
    return kOk;
  }

 private:
  void predict_rows(const Model& model, Executor& executor, CommandControl& control,
                    std::string& lines) const {
    const CsrMatrix X =
        preprocess(model.preprocessing, read_for(model, arguments_.data_path, control));
    for (std::size_t begin = 0; begin < X.num_rows(); begin += kRowsAtOnce) {
      const std::size_t end = std::min(begin + kRowsAtOnce, X.num_rows());
      std::vector<std::uint32_t> rows(end - begin);
      std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(begin));
      const CsrMatrix block = select_rows(X, rows);
      if (top_ > 0) {
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

  void append_top(const Model& model, const CsrView& X, Executor& executor,
                  std::string& lines) const {
    const RankedLabels top = model.rows().top(X, static_cast<std::size_t>(top_), executor);
    for (std::size_t i = 0; i < X.num_rows(); ++i) {
      std::vector<ScoredLabel> ranked;
      std::vector<LabelId> labels;
      for (std::size_t k = top.pointers[i]; k < top.pointers[i + 1]; ++k) {
        ranked.push_back({top.labels[k], top.scores[k]});
        labels.push_back(top.labels[k]);
      }
      append_line(lines, labels, ranked, model.labels);
    }
  }

  void append_sets(const Model& model, const CsrView& X, Executor& executor,
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
      append_line(lines, sets[i], scored, model.labels);
    }
  }

  void append_line(std::string& lines, std::span<const LabelId> labels,
                   std::span<const ScoredLabel> scored, const LabelCodec& codec) const {
    if (scores_) {
      append_scored_labels(lines, scored, codec);
    } else {
      append_labels(lines, labels, codec);
    }
    lines += '\n';
  }

  ModelArguments arguments_;
  std::string output_;
  int top_ = 0;
  bool scores_ = false;
};

}  // namespace

Verb predict_verb() {
  return {"predict", "write the labels of rows, a line each",
          [](CLI::App& app, const std::vector<std::string>&) -> std::unique_ptr<Command> {
            return std::make_unique<Predict>(app);
          }};
}

}  // namespace margrove::cli
