// margrove auto

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iostream>

#include "base/atomic_file.hpp"
#include "cli/training.hpp"
#include "cli/training_reports.hpp"
#include "cli/verbs.hpp"
#include "eval/automatic_choice.hpp"

namespace margrove::cli {
namespace {

/// The run of a search: with a time limit by default.
struct SearchRunOptions : RunOptions {
  SearchRunOptions() { time_limit_seconds = 600; }
  RunControl::Time time = RunControl::Time::wall;
  static auto fields() {
    return std::tuple_cat(
        std::tuple{field("time_limit_seconds", &RunOptions::time_limit_seconds, non_negative,
                         "time for the search and the training on all rows; 0: no limit")},
        std::tuple{
            field("time", &SearchRunOptions::time,
                  "what the seconds of the limit are. cpu: of the processor, of all threads "
                  "together, so that a busy machine chooses the same as an idle one"),
            field("threads", &RunOptions::threads, at_least(0),
                  "number of threads; 0: one per core. The result does not depend on it unless "
                  "the time limit ends the search"),
            field("memory_limit", &RunOptions::memory_limit, non_negative,
                  "leave out what would take more than this many GB (10^9 bytes) by its estimate; "
                  "0: 90 % of what is free"),
            field("strict", &RunOptions::strict,
                  "write no model where training ends with a warning"),
            field("quiet", &RunOptions::quiet, "print no progress on stderr"),
        });
  }
};

std::string signed_difference(const CandidateResult& result) {
  if (std::isnan(result.difference)) return "";
  if (result.difference == 0) return "0";
  return fmt::format("{:+.4f} ± {:.4f}", result.difference, result.standard_error);
}

std::string_view words(const CandidateResult& result) {
  switch (result.verdict) {
    case Verdict::chosen:
      return "chosen";
    case Verdict::tied:
      return "within one standard error";
    case Verdict::worse:
      return "";
    case Verdict::dropped:
      return "dropped in an earlier stage";
    case Verdict::cut:
      return "not finished in its time";
    case Verdict::not_tried:
      return "not tried";
    case Verdict::failed:
      return "failed";
  }
  return "";
}

void print_table(const AutomaticChoice& choice) {
  std::size_t width = 9;
  for (const CandidateResult& each : choice.candidates) {
    width = std::max(width, each.name().size());
  }
  const std::size_t score_width = std::max<std::size_t>(choice.metric.size(), 6);
  std::cout << fmt::format("{:<{}}  {:>7}  {:>{}}  {:<17}  {:>8}\n", "candidate", width, "rows",
                           choice.metric, score_width, "difference", "seconds");
  for (const CandidateResult& each : choice.candidates) {
    const std::string score = std::isnan(each.score) ? "" : fmt::format("{:.4f}", each.score);
    const std::string rows = each.num_rows == 0 ? "" : std::to_string(each.num_rows);
    std::string line =
        fmt::format("{:<{}}  {:>7}  {:>{}}  {:<17}  {:>8.1f}  {}", each.name(), width, rows, score,
                    score_width, signed_difference(each), each.seconds, words(each));
    line.erase(line.find_last_not_of(' ') + 1);
    print_text(line + "\n");
    if (!each.note.empty()) print_text(fmt::format("  {}\n", each.note));
  }
  for (const LeftOut& each : choice.left_out) {
    print_text(fmt::format("left out: {}: {}\n", each.candidate, each.reason));
  }
}

/// The text as one word of a POSIX shell.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "%+,-./:=@_";
  const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

/// " --name value" of the given ones among the options, as a shell reads them.
std::string given_options(const std::vector<const CLI::Option*>& options) {
  std::string text;
  for (const CLI::Option* option : options) {
    for (const std::string& value : option->results()) {
      const bool is_flag = option->get_expected_max() == 0;
      text += concat(" ", option->get_name());
      if (!is_flag) text += concat(" ", shell_word(value));
      if (is_flag && value != "true") text += concat("=", value);
    }
  }
  return text;
}

class Auto final : public Command {
 public:
  explicit Auto(CLI::App& app) {
    arguments_.declare_data(app, "DATA", "MODEL", "file to write");
    arguments_.declare_preprocessing(app);
    choice_.declare(app, "Choice");
    run_.declare(app, "Run");
    app.footer(
        "Trains a few methods with a few options on a part of the rows, measures them on "
        "the others, and trains the best one on all rows. The table says how each did: the "
        "training rows, the metric on held-out rows, the difference from the best with its "
        "standard error, and the seconds of all its trials. Of those within one standard "
        "error the simplest is chosen.");
  }

  int run() override {
    const AutomaticOptions& options = choice_.parse();
    const SearchRunOptions& run = run_.parse();
    arguments_.has_hierarchy();                  // reports options that contradict each other
    require_writable(arguments_.result_path());  // not empty
    require_result_writable(arguments_.result_path(), arguments_.data_paths());
    CommandControl control(run.quiet, run.time_limit_seconds, CommandControl::AtLimit::best_so_far,
                           run.time);
    control.run().limit_memory(1e9 * run.memory_limit);
    Executor executor(run.threads);
    arguments_.read_other_names();  // candidates compare texts with them
    DataArguments::Data data = arguments_.read(control, run.strict);
    const PreprocessingOptions given =
        with_searched_terms(arguments_.preprocessing(run.threads), data.raw);
    const auto search = search_terms(data.raw, data.hierarchy_or_null(), given, options.metric,
                                     executor, control.run());
    const ChosenTerms terms = print_terms(search, given, control);
    control.await_interruption();
    AutomaticChoice choice =
        choose_automatically(data.raw, data.hierarchy_or_null(), terms.preprocessing, options,
                             run.memory_limit, executor, control.run());
    control.end_progress();
    if (!choice.model) report_nothing(choice);
    print_table(choice);
    print_reason(choice, options, search ? &terms.preprocessing : nullptr);
    std::cout << fmt::format("seconds_search\t{:.2f}\n", choice.seconds);
    std::cout.flush();
    const ModelParts model =
        train_chosen(choice, std::move(data.raw), data.hierarchy_or_null(), terms.preprocessing,
                     options, run.memory_limit, executor, control.run());
    control.end_progress();
    print_warnings(model, run);
    save_and_print(model, arguments_.result_path(), control, choice.seconds);
    return control.exit_code();
  }

 private:
  [[noreturn]] static void report_nothing(const AutomaticChoice& choice) {
    require<Interrupted>(choice.stop != Stop::interrupted,
                         "interrupted before any candidate was measured; nothing was written");
    print_table(choice);
    require<OutOfTimeLimit>(choice.stop == Stop::converged,
                            "auto: the time limit ended the search before any candidate was "
                            "measured; nothing was written");
    throw InvalidInput("auto: no candidate could be trained; the table has the reasons");
  }

  /// The options as a search for terms chose them, or null where there was none.
  std::string data_options(const PreprocessingOptions* terms) const {
    if (terms == nullptr) return given_options(arguments_.named());
    std::vector<const CLI::Option*> others = arguments_.named();
    std::erase_if(others, [](const CLI::Option* each) { return each->get_name() == "--terms"; });
    return fmt::format("{} --word-ngrams {} --char-ngrams {}", given_options(others),
                       terms->word_ngrams.to_text(), terms->char_ngrams.to_text());
  }

  void print_reason(const AutomaticChoice& choice, const AutomaticOptions& options,
                    const PreprocessingOptions* terms) const {
    std::cout << fmt::format(
        "\nmeasured on {} of {} rows\n",
        choice.num_splits == 1 ? "a held-out part" : fmt::format("{} folds", choice.num_splits),
        choice.num_rows);
    std::cout << "reason: " << reason_of(choice) << "\n";
    if (choice.stop == Stop::time_limit) {
      std::cout << "the time limit ended the search early: with more time, or on a faster machine, "
                   "the choice may differ\n";
    }
    if (choice.stop == Stop::interrupted) std::cout << "the search was interrupted\n";
    const CandidateResult& chosen = choice.chosen();
    OptionValues values = chosen.options;
    const bool has_seed = find_method(chosen.method).start()->options().has("seed");
    if (options.seed != 0 && has_seed) values.emplace_back("seed", concat(options.seed));
    print_text(fmt::format("the same by: margrove train --method {}{} {} {}\n",
                           named_with_options(chosen.method, values), data_options(terms),
                           shell_word(arguments_.data_path()),
                           shell_word(arguments_.result_path())));
  }

  DataArguments arguments_;
  BoundOptions<AutomaticOptions> choice_;
  BoundOptions<SearchRunOptions> run_;
};

}  // namespace

Verb auto_verb() {
  return make_verb<Auto>("auto", "choose method and options on the data, and train: begin here");
}

}  // namespace margrove::cli
