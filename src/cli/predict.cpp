// margrove predict

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <set>

#include "base/keep_first.hpp"
#include "cli/label_texts.hpp"
#include "cli/model_arguments.hpp"
#include "cli/row_stream.hpp"
#include "cli/verbs.hpp"
#include "data/csr_operations.hpp"
#include "data/prediction_lines.hpp"
#include "io/model_file.hpp"
#include "margrove/writers.hpp"

namespace margrove::cli {
namespace {

constexpr std::size_t kRowsAtOnce = 8192;  // between two reports of progress

/// The labels and all their ancestors, each once, parents before children.
std::vector<LabelId> with_ancestors(const LabelGraph& hierarchy, std::span<const LabelId> labels) {
  std::set<std::pair<std::uint32_t, LabelId>> closed;
  for (const LabelId label : labels) {
    for (const NodeId n : hierarchy.ancestors(label)) closed.insert({hierarchy.depth(n), n});
  }
  std::vector<LabelId> all;
  for (const auto& [depth, n] : closed) all.push_back(n);
  return all;
}

/// The k labels with the largest scores, at least one, of those that can be predicted.
std::vector<ScoredLabel> most_probable(const RowProbabilities& p, std::size_t k) {
  std::vector<LabelId> ranked(p.scores.size());
  std::iota(ranked.begin(), ranked.end(), LabelId{0});
  keep_first(ranked, std::max<std::size_t>(k, 1), [&](LabelId a, LabelId b) {
    return p.scores[a] > p.scores[b] || (p.scores[a] == p.scores[b] && a < b);
  });
  std::vector<ScoredLabel> best;
  for (const LabelId label : ranked) {
    if (!std::isfinite(p.scores[label])) break;
    best.push_back({label, static_cast<float>(p.labels[label])});
  }
  return best;
}

class Predict final : public Command {
 public:
  explicit Predict(CLI::App& app) {
    arguments_.declare(app);
    app.add_option("--output", output_, "file to write instead of stdout")->type_name("FILE");
    app.add_option("--top", top_,
                   "write the K best labels of each row, best first, instead of its label set")
        ->type_name("K")
        ->check(number_from(1));
    auto* scores = app.add_flag("--scores", scores_, "write label:score, separated by blanks");
    app.add_flag("--probabilities", probabilities_, "write label:probability, separated by blanks")
        ->excludes(scores);
    auto* confidence =
        app.add_option(
               "--min-confidence", min_confidence_,
               "write the most specific label, inner nodes included, with a probability of at "
               "least P, or else the most probable root")
            ->type_name("P")
            ->check(CLI::Range(0.0, 1.0));
    app.add_flag("--paths", paths_, "write the ancestors of a row's labels, too, parents first")
        ->excludes(scores);
    app.add_option(
           "--show", show_,
           "text of a label: its name, its path from a root or its id; default: the path if "
           "the labels are paths, otherwise the id")
        ->type_name("name|path|id")
        ->check(CLI::IsMember({"name", "path", "id"}));
    confidence->excludes("--top")->excludes(scores);
    app.add_option("--on-error", on_error_,
                   "a row that cannot be read: stop ends with an error; skip reports it on stderr "
                   "with its line and writes an empty line for it. The exit code is 0 if some row "
                   "was answered, otherwise 3")
        ->type_name("stop|skip")
        ->capture_default_str()
        ->check(CLI::IsMember({"stop", "skip"}));
    app.footer(
        "If DATA is -, rows are read from standard input, and each line is answered as it comes.");
  }

  int run() override {
    require_result_writable(output_);
    const bool is_stream = arguments_.data_path == "-";
    if (is_stream) require_streamable();
    CommandControl control = arguments_.control();
    const ModelParts model = load_model(arguments_.model_path);
    Executor executor(arguments_.threads);
    std::string lines;
    if (const FilePredictor* files = model.predictor->files()) {
      require<InvalidOption>(show_.empty(), "option show is given, but the examples of method ",
                             model.method, " are not rows");
      require<InvalidOption>(!is_stream && on_error_ == "stop",
                             "rows from standard input and option on_error are not for method ",
                             model.method, ", whose examples are not rows; give a file");
      lines = files->predict_file(arguments_.examples_path(model), executor, control.run());
    } else {
      texts_ = label_texts(model, show_);
      prepare(model);
      if (is_stream) return answer_stream(model, executor, control);
      if (on_error_ == "skip") {
        answer_readable(model, executor, control, lines);
      } else {
        predict_rows(model, executor, control, lines);
      }
    }
    control.start_writing();
    write_result(output_, lines);
    return kOk;
  }

 private:
  void require_streamable() const {
    require<InvalidOption>(arguments_.time_limit_seconds == 0,
                           "option time_limit_seconds is given, but rows from standard input are "
                           "answered as they come");
  }

  void prepare(const ModelParts& model) {
    if (!probabilities_ && min_confidence_ < 0) return;
    require(model.rows().gives_one_label(),
            "probabilities: the model gives label sets, but must give each row one label");
    hierarchy_.emplace(model.hierarchy);
  }

  RowStream::Answer answer_of(const ModelParts& model, Executor& executor) const {
    require<InvalidOption>(model.views.empty() && arguments_.views.files().empty(),
                           "rows of several views are read from whole files only; leave --on-error "
                           "skip out, and give a file instead of -");
    return [this, &model, &executor](const CsrView& X, std::string& lines) {
      append_answers(model, X, executor, lines);
    };
  }

  int answer_stream(const ModelParts& model, Executor& executor, CommandControl& control) const {
    std::string all;
    if (output_.empty()) control.start_stream();
    RowStream(model, on_error_ == "skip")
        .answer_all(LineBlocks(open_standard_input(), "standard input"), answer_of(model, executor),
                    [&](const std::string& lines) {
                      if (!output_.empty()) {
                        all += lines;
                        return true;
                      }
                      std::cout << lines << std::flush;
                      return static_cast<bool>(std::cout);
                    });
    if (!output_.empty()) write_result(output_, all);
    return kOk;
  }

  /// The rows of a file, but for those with errors.
  void answer_readable(const ModelParts& model, Executor& executor, CommandControl& control,
                       std::string& all) const {
    const std::string& path = arguments_.data_path;
    std::int64_t num_bytes = 0;
    RowStream(model, /*skips_errors=*/true)
        .answer_all(LineBlocks(open_file(path), path), answer_of(model, executor),
                    [&](const std::string& lines) {
                      all += lines;
                      num_bytes += static_cast<std::int64_t>(lines.size());
                      return control.run().proceed(
                          {.stage = "predict", .done = num_bytes, .unit = "bytes of answers"});
                    });
  }

  void append_answers(const ModelParts& model, const CsrView& X, Executor& executor,
                      std::string& lines) const {
    if (hierarchy_) {
      append_probable(model, *hierarchy_, X, executor, lines);
    } else if (top_ > 0) {
      append_top(model, X, executor, lines);
    } else {
      append_sets(model, X, executor, lines);
    }
  }

  void predict_rows(const ModelParts& model, Executor& executor, CommandControl& control,
                    std::string& lines) const {
    const CsrMatrix X = preprocess(model, arguments_.read(model, control, /*needs_labels=*/false));
    for (std::size_t begin = 0; begin < X.num_rows(); begin += kRowsAtOnce) {
      const std::size_t end = std::min(begin + kRowsAtOnce, X.num_rows());
      append_answers(model, row_range(X, begin, end), executor, lines);
      control.run().proceed({.stage = "predict",
                             .done = static_cast<std::int64_t>(end),
                             .total = static_cast<std::int64_t>(X.num_rows()),
                             .unit = "rows"});
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

  /// Appends labels with their probabilities, or chosen by them.
  void append_probable(const ModelParts& model, const HierarchyProbabilities& hierarchy,
                       const CsrView& X, Executor& executor, std::string& lines) const {
    std::vector<std::vector<ScoredLabel>> chosen(X.num_rows());
    for_probabilities(
        model.rows(), model.temperature(), min_confidence_ >= 0 ? &hierarchy : nullptr, X, executor,
        [&](std::size_t i, const RowProbabilities& p) {
          chosen[i] = min_confidence_ >= 0 ? most_specific(hierarchy, p)
                                           : most_probable(p, static_cast<std::size_t>(top_));
        });
    for (const std::vector<ScoredLabel>& scored : chosen) {
      std::vector<LabelId> labels;
      for (const ScoredLabel& each : scored) labels.push_back(each.label);
      append_line(lines, labels, scored, model);
    }
  }

  std::vector<ScoredLabel> most_specific(const HierarchyProbabilities& hierarchy,
                                         const RowProbabilities& p) const {
    const LabelId label = hierarchy.confident(p.labels, p.nodes, min_confidence_);
    return {{label, static_cast<float>(p.nodes[label])}};
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
      append_scored_labels(lines, scored, texts_.names, texts_.between_scores);
    } else if (paths_) {
      append_labels(lines, with_ancestors(model.hierarchy, labels), texts_.names, texts_.between);
    } else {
      append_labels(lines, labels, texts_.names, texts_.between);
    }
    lines += '\n';
  }

  ModelArguments arguments_;
  std::string output_;
  int top_ = 0;
  double min_confidence_ = -1;  // not given
  std::string show_;
  std::string on_error_ = "stop";
  LabelTexts texts_;
  std::optional<HierarchyProbabilities> hierarchy_;  // where probabilities are asked for
  bool scores_ = false, probabilities_ = false, paths_ = false;
};

}  // namespace

Verb predict_verb() {
  return make_verb<Predict>("predict", "write the labels of rows, one line per row");
}

}  // namespace margrove::cli
