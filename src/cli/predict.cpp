// margrove predict

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/answer_writer.hpp"
#include "cli/model_arguments.hpp"
#include "cli/row_stream.hpp"
#include "cli/sentence_answers.hpp"
#include "cli/verbs.hpp"
#include "data/csr_operations.hpp"
#include "data/sentence_lines.hpp"
#include "margrove/writers.hpp"
#include "methods/model_rows.hpp"
#include "model/answers.hpp"
#include "model/finite_scores.hpp"
#include "model/sentence_predictor.hpp"

namespace margrove::cli {
namespace {

constexpr std::size_t kRowsAtOnce = 8192;  // between two reports of progress

const std::map<std::string, AnswerForm> kForms{
    {"lines", AnswerForm::lines}, {"csv", AnswerForm::csv}, {"jsonl", AnswerForm::jsonl}};

class Predict final : public Command {
 public:
  explicit Predict(CLI::App& app) {
    arguments_.declare(app);
    app.add_option("--output", output_, "file to write instead of stdout")->type_name("FILE");
    const std::size_t first_of_rows = app.get_options().size();
    answers_.declare(app, "Options");
    app.add_option("--output-format", form_,
                   "rows: lines of labels, with scores or probabilities label:number separated by "
                   "blanks; csv, with a header and with top a column for each of the best labels; "
                   "jsonl, an object on each line")
        ->type_name("lines|csv|jsonl")
        ->capture_default_str()
        ->check(CLI::IsMember({"lines", "csv", "jsonl"}));
    of_rows_ = named_options(app, first_of_rows);
    app.add_option(
           "--on-error", on_error_,
           "a row or sentence that cannot be read: stop ends with an error; skip reports it "
           "on stderr with its line and writes an empty line for it (csv: empty cells; jsonl: "
           "null). The exit code is 0 if "
           "some row was answered, otherwise 3")
        ->type_name("stop|skip")
        ->capture_default_str()
        ->check(CLI::IsMember({"stop", "skip"}));
    app.add_flag("--with-input", with_input_,
                 "models of sentences: write the lines of DATA with the answers: tags as a further "
                 "column, heads and relations in their columns of CoNLL-U");
    app.footer(
        "If DATA is -, rows are read from standard input, and each line is answered as it comes; "
        "each sentence, for models of sentences, when the blank line after it comes.");
  }

  int run() override {
    options_ = answers_.parse();
    require_result_writable(output_, arguments_.input_paths());
    const bool is_stream = arguments_.data_path == kStandardInput;
    if (is_stream) require_streamable();
    CommandControl control = arguments_.control();
    const ModelParts model = arguments_.load();
    Executor executor(arguments_.threads);
    std::string lines;
    const FilePredictor* files = model.predictor->files();
    if (files != nullptr) {
      refuse_options_of_rows(of_rows_, model);
      require<InvalidOption>(!with_input_ || (!is_stream && on_error_ == "stop"),
                             "option with_input is given, but sentences from standard input, and "
                             "those with option on_error, are answered alone; give a file");
    } else {
      require<InvalidOption>(!with_input_,
                             "option with_input is given, but the examples of method ",
                             model.method, " are rows, not sentences");
      prepare(model);
      lines = writer_->header();
    }
    if (is_stream) return answer_stream(stream_of(model, executor, control), control, lines);
    if (on_error_ == "skip") {
      answer_readable(stream_of(model, executor, control), control, lines);
    } else if (files != nullptr) {
      const std::string& path = arguments_.examples_path(model);
      lines = files->predict_file(path, executor, control.run());
      if (with_input_) lines = with_answers(path, sentences_of(model), lines);
    } else {
      predict_rows(model, executor, control, lines);
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
    options_.check(model);
    if (options_.min_confidence >= 0) hierarchy_.emplace(model.hierarchy);
    writer_.emplace(kForms.at(form_), options_, model);
  }

  /// How the rows or sentences of a source are split and answered.
  struct Stream {
    std::function<RowParts(LineBlocks blocks)> split;
    RowStream::Answer answer;
    std::string unit;
    std::string of_skipped;  // the answer to what cannot be read
  };

  Stream stream_of(const ModelParts& model, Executor& executor, CommandControl& control) const {
    if (model.predictor->files() != nullptr) {
      const SentencePredictor* sentences = model.predictor->sentences();
      require<InvalidOption>(sentences != nullptr,
                             "rows from standard input and option on_error are not for method ",
                             model.method, ", whose examples are not rows; give a file");
      arguments_.require_no_views(model);
      return sentence_stream(*sentences, executor, control);
    }
    require<InvalidOption>(model.views.empty() && arguments_.views.files().empty(),
                           "rows of several views are read from whole files only; leave --on-error "
                           "skip out, and give a file instead of -");
    arguments_.require_no_vector_file(model);
    ReadOptions options = file_options(model);
    options.labels_optional = true;
    const auto split = [&model, options](LineBlocks blocks) {
      return RowParts(std::move(blocks), row_kind(model), options);
    };
    const auto answer = [this, &model, &executor](const RowParts& parts, const FilePart& part,
                                                  std::string& lines) {
      const Examples raw = parts.read(part);
      if (raw.num_rows() == 0) return raw.num_rows();
      // Where the part has several rows, RowStream answers each alone to find the place.
      naming_rows([&](std::size_t) { return concat(parts.name(), ":", part.lines_before + 1); },
                  [&] {
                    append_answers(model, preprocess(model, raw, nullptr, executor), executor,
                                   lines);
                  });
      return raw.num_rows();
    };
    return {split, answer, "row", writer_->skipped()};
  }

  static Stream sentence_stream(const SentencePredictor& predictor, Executor& executor,
                                CommandControl& control) {
    const auto split = [](LineBlocks blocks) {
      return RowParts(std::move(blocks), detail::sentence_format());
    };
    const auto answer = [&](const RowParts& parts, const FilePart& part, std::string& lines) {
      return predictor.predict_part(part, parts.name(), executor, control.run(), lines);
    };
    return {split, answer, "sentence", "\n"};
  }

  int answer_stream(const Stream& stream, CommandControl& control,
                    const std::string& header) const {
    std::string all = header;
    if (output_.empty()) {
      control.start_stream();
      std::cout << header << std::flush;
    }
    RowStream(on_error_ == "skip", stream.unit, stream.of_skipped)
        .answer_all(stream.split(LineBlocks(open_standard_input(), "standard input")),
                    stream.answer, [&](const std::string& lines) {
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
  void answer_readable(const Stream& stream, CommandControl& control, std::string& all) const {
    const std::string& path = arguments_.data_path;
    std::int64_t num_bytes = 0;
    RowStream(/*skips_errors=*/true, stream.unit, stream.of_skipped)
        .answer_all(stream.split(LineBlocks(open_file(path), path)), stream.answer,
                    [&](const std::string& lines) {
                      all += lines;
                      num_bytes += static_cast<std::int64_t>(lines.size());
                      return control.run().proceed(
                          {.stage = "predict", .done = num_bytes, .unit = Progress::Unit::bytes});
                    });
  }

  void append_answers(const ModelParts& model, const CsrView& X, Executor& executor,
                      std::string& lines) const {
    const HierarchyProbabilities* hierarchy = hierarchy_ ? &*hierarchy_ : nullptr;
    for (const Answer& answer : answer_rows(model, hierarchy, options_, X, executor)) {
      writer_->append(answer, lines);
    }
  }

  void predict_rows(const ModelParts& model, Executor& executor, CommandControl& control,
                    std::string& lines) const {
    const Examples raw = arguments_.read(model, control, /*needs_labels=*/false);
    const CsrMatrix X = preprocess(model, raw, nullptr, executor);
    for (std::size_t begin = 0; begin < X.num_rows(); begin += kRowsAtOnce) {
      const std::size_t end = std::min(begin + kRowsAtOnce, X.num_rows());
      naming_rows([&](std::size_t row) { return concat(raw.source, ": row ", begin + row + 1); },
                  [&] { append_answers(model, row_range(X, begin, end), executor, lines); });
      control.run().proceed({.stage = "predict",
                             .done = static_cast<std::int64_t>(end),
                             .total = static_cast<std::int64_t>(X.num_rows()),
                             .unit = Progress::Unit::rows});
    }
  }

  ModelArguments arguments_;
  std::string output_;
  BoundOptions<AnswerOptions> answers_;
  AnswerOptions options_;                    // those of answers_
  std::vector<const CLI::Option*> of_rows_;  // that other examples do not have
  bool with_input_ = false;
  std::string on_error_ = "stop";
  std::string form_ = "lines";
  std::optional<AnswerWriter> writer_;               // of rows
  std::optional<HierarchyProbabilities> hierarchy_;  // where probabilities are asked for
};

}  // namespace

Verb predict_verb() {
  return make_verb<Predict>("predict", "write the labels of rows, one line per row");
}

}  // namespace margrove::cli
