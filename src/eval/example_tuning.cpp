#include "eval/example_tuning.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/out_of_time.hpp"
#include "data/text_scan.hpp"
#include "eval/named_metrics.hpp"
#include "model/predictor.hpp"

namespace margrove {
namespace {

double value_of(const std::vector<NamedValue>& values, std::string& metric) {
  if (metric.empty()) {
    const bool are_trees = std::ranges::find(values, "las", &NamedValue::name) != values.end();
    metric = are_trees ? "las" : values.front().name;
  }
  return value_named(values, metric).value;
}

/// The sentences of a file: its blocks of lines between blank lines, each with its line ends.
std::vector<std::string> lines_of_sentences(const ExampleSource& source, RunControl* control) {
  std::vector<std::string> sentences;
  bool goes_on = false;  // the last sentence
  LineBlocks blocks = detail::row_blocks(source.open(), source.name(), control);
  while (blocks.next()) {
    for (std::string_view rest = blocks.text(); !rest.empty();) {
      const std::string_view line = detail::take_to('\n', rest);
      const bool is_blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
      if (!is_blank && !goes_on) sentences.emplace_back();
      if (!is_blank) sentences.back() += concat(line, "\n");
      goes_on = !is_blank;
    }
  }
  return sentences;
}

TuningResult measure_points(const Method& method, const OptionValues& fixed,
                            std::span<const OptionValues> grid, const SentenceSet& sentences,
                            std::span<const Split> splits, std::string& metric, Executor& executor,
                            RunControl& control) {
  TuningResult result;
  std::int64_t done = 0;
  for (const OptionValues& point : grid) {
    result.points.push_back(
        {point, std::vector<double>(splits.size(), std::numeric_limits<double>::quiet_NaN()), 0});
  }
  const auto report = [&] {
    return control.proceed({.stage = "tune",
                            .done = done,
                            .total = static_cast<std::int64_t>(grid.size() * splits.size()),
                            .unit = Progress::Unit::runs});
  };
  for (std::size_t s = 0; s < splits.size(); ++s) {
    const SentenceSet::Chosen training = sentences.choose(splits[s].training);
    const SentenceSet::Chosen validation = sentences.choose(splits[s].validation);
    for (GridPoint& point : result.points) {
      if (!report()) break;
      OptionValues values = fixed;
      values.insert(values.end(), point.values.begin(), point.values.end());
      const auto run = method.start();
      set_options(run->options(), values);
      const auto examples = method.read_examples({training.source()}, run->options(), nullptr);
      TrainingSet data;
      data.examples = examples.get();
      data.source = "tune";
      RunControl inner(control, [&](const Progress&) { return report(); });
      try {
        const ModelParts model = train_model(method, *run, data, {}, executor, inner);
        if (inner.stop_reason() != Stop::converged) break;
        const FilePredictor& predictor = *model.predictor->files();
        point.scores[s] =
            value_of(predictor.evaluate_file(validation.source(), executor, inner).values, metric);
      } catch (const OutOfTimeLimit&) {
        break;  // result.stop says it
      }
      ++done;
    }
  }
  result.stop = control.stop_reason();
  choose_best(result, metric);
  return result;
}

}  // namespace

SentenceSet::SentenceSet(const ExampleSource& source, RunControl* control)
    : in_memory_(source.sentences()) {
  if (!in_memory_) lines_ = lines_of_sentences(source, control);
}

SentenceSet::Chosen SentenceSet::choose(std::span<const std::uint32_t> rows) const {
  Chosen chosen;
  if (in_memory_) chosen.in_memory_.emplace();
  for (const std::uint32_t i : rows) {
    if (in_memory_) {
      chosen.in_memory_->push_back((*in_memory_)[i]);
    } else {
      chosen.text_ += concat(lines_[i], "\n");
    }
  }
  return chosen;
}

ExampleSource SentenceSet::Chosen::source() const {
  return in_memory_ ? ExampleSource(*in_memory_, "tune", 0) : ExampleSource(text_, "tune");
}

TuningResult search_sentences(const Method& method, const OptionValues& fixed,
                              const SentenceSet& sentences, const TuneOptions& options,
                              std::string& metric, Executor& executor, RunControl& control) {
  const std::vector<OptionValues> grid = grid_of(options, method, method.start()->options());
  LabelSets same;  // no strata
  for (std::size_t i = 0; i < sentences.size(); ++i) same.append(std::array{LabelId{0}});
  const std::vector<Split> splits = make_splits(same, options);
  metric = options.metric;
  return search(grid, options.grid.empty(), metric, [&](std::span<const OptionValues> points) {
    TuningResult measured =
        measure_points(method, fixed, points, sentences, splits, metric, executor, control);
    require_finished(measured, splits.size());
    return measured;
  });
}

}  // namespace margrove
