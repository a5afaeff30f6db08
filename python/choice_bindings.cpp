#include "choice_bindings.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "eval/automatic_choice.hpp"
#include "eval/term_search.hpp"
#include "margrove/errors.hpp"
#include "methods/labelled_rows.hpp"
#include "record_bindings.hpp"
#include "reporter.hpp"
#include "text_argument.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace margrove::python {
namespace {

nb::dict row_of(const CandidateResult& result) {
  std::map<std::string, std::string> options(result.options.begin(), result.options.end());
  nb::dict row;
  row["method"] = result.method;
  row["options"] = options;
  row["verdict"] = std::string(name_of(result.verdict));
  row["rows"] = result.num_rows;
  row["score"] = result.score;
  row["difference"] = result.difference;
  row["standard_error"] = result.standard_error;
  row["trials"] = result.num_trials;
  row["seconds"] = result.seconds;
  row["note"] = result.note;
  return row;
}

nb::dict table_of(const AutomaticChoice& choice) {
  nb::list candidates;
  for (const CandidateResult& each : choice.candidates) candidates.append(row_of(each));
  nb::list left_out;
  for (const LeftOut& each : choice.left_out) {
    left_out.append(nb::make_tuple(each.candidate, each.reason));
  }
  nb::dict table;
  table["metric"] = choice.metric;
  table["candidates"] = candidates;
  table["left_out"] = left_out;
  table["reason"] = reason_of(choice);
  table["stop"] = std::string(to_string(choice.stop));
  table["splits"] = choice.num_splits;
  table["seconds"] = choice.seconds;
  return table;
}

/// Rows without labels, of any kind.
struct GivenRows {
  explicit GivenRows(const Csr& X) {
    const CsrView view = view_of(X);
    num_rows = view.num_rows();
    examples.X =
        CsrMatrix(view.num_columns(), {view.row_pointers().begin(), view.row_pointers().end()},
                  {view.columns().begin(), view.columns().end()},
                  {view.values().begin(), view.values().end()});
  }
  GivenRows(const Records& records, const Selection& selection) : num_rows(records.num_rows()) {
    examples.kind = RowKind::records;
    examples.fields = records.fields();
    examples.fields.documents.assign(records.documents().begin(), records.documents().end());
    examples.selection = selection_of(selection);
    examples.selection.check();
  }
  explicit GivenRows(const nb::object& documents) {
    const TextArgument texts(documents);
    num_rows = texts.views().size();
    examples.kind = RowKind::documents;
    examples.documents.assign(texts.views().begin(), texts.views().end());
  }

  Examples examples;
  std::size_t num_rows = 0;
};

/// Rows with labels, as choose() and search_terms() take them. Throws InvalidInput for labels of
/// another number of rows.
Examples labelled(const GivenRows& rows, const Sets& labels, const Names& names,
                  const std::string& unlabelled) {
  Examples raw = rows.examples;
  raw.source = "X";
  raw.labels = sets_of(labels);
  raw.labels.set_unlabelled(parse_enum<LabelSets::Unlabelled>("unlabelled", unlabelled));
  raw.codec = LabelCodec(names);
  require(raw.labels.num_rows() == rows.num_rows, "y: it has ", raw.labels.num_rows(),
          " rows, but must have ", rows.num_rows, " as X");
  return raw;
}

/// The model of all rows, and the table of the candidates. Options of terms are for texts.
nb::tuple choose(const GivenRows& rows, const Sets& labels, const std::vector<std::string>& names,
                 const std::optional<Edges>& hierarchy, const std::string& metric,
                 std::uint64_t seed, const std::string& scale, int threads,
                 std::optional<double> time_limit_seconds, std::optional<double> memory_limit,
                 nb::object callback, const TextOptions& text_options, const Names& stop_words,
                 const Names& node_names, const Names& other_names, const std::string& unlabelled,
                 const std::string& time) {
  Reporter reporter(std::move(callback));
  PreprocessingOptions preprocessing;
  static_cast<TfidfOptions&>(preprocessing) = tfidf_options_of(text_options, stop_words);
  preprocessing.scale = parse_enum<ColumnScale>("scale", scale);
  const AutomaticOptions options{.metric = metric, .seed = seed};
  std::optional<AutomaticChoice> choice;
  std::optional<ModelParts> model;
  {
    const nb::gil_scoped_release released;
    Examples raw = labelled(rows, labels, names, unlabelled);
    std::optional<Hierarchy> graph;
    if (hierarchy) {
      graph = hierarchy_of(*hierarchy);
      graph->names = node_names;
      graph->other_names = other_names;
    }
    const Hierarchy* given = graph ? &*graph : nullptr;
    Executor executor(threads);
    RunControl control(std::ref(reporter),
                       time_limit_seconds.value_or(std::numeric_limits<double>::infinity()),
                       RunControl::clock_of(parse_enum<RunControl::Time>("time", time)));
    choice = choose_automatically(raw, given, preprocessing, options, memory_limit.value_or(0),
                                  executor, control);
    if (choice->model) {
      model = train_chosen(*choice, std::move(raw), given, preprocessing, options,
                           memory_limit.value_or(0), executor, control);
    }
  }
  reporter.rethrow();
  require<OutOfTimeLimit>(model || choice->stop != Stop::time_limit,
                          "the time limit ended the search before any candidate was measured");
  require(model.has_value(), "no candidate could be trained: ",
          choice->candidates.empty() ? std::string() : choice->candidates.front().note);
  return nb::make_tuple(std::move(*model), table_of(*choice));
}

/// The options of terms with those chosen; for each candidate its n-grams of words and characters,
/// its score and whether it is chosen; and the seconds. With no method, the search is that of an
/// automatic choice.
nb::tuple search_terms(const GivenRows& rows, const Sets& labels,
                       const std::vector<std::string>& names, const std::optional<Edges>& hierarchy,
                       const std::string& method, const std::map<std::string, std::string>& options,
                       const std::string& metric, const std::optional<Vector<double>>& row_weights,
                       const std::string& scale, int threads,
                       std::optional<double> time_limit_seconds, nb::object callback,
                       const TextOptions& text_options, const Names& stop_words,
                       const std::string& unlabelled, const std::string& time) {
  Reporter reporter(std::move(callback));
  PreprocessingOptions given;
  static_cast<TfidfOptions&>(given) = tfidf_options_of(text_options, stop_words);
  given.terms = TextTerms::Choice::automatic;
  given.scale = parse_enum<ColumnScale>("scale", scale);
  std::optional<TermSearch> search;
  double seconds = 0;
  {
    const nb::gil_scoped_release released;
    const Examples raw = labelled(rows, labels, names, unlabelled);
    const std::optional<Hierarchy> graph =
        hierarchy ? std::optional(hierarchy_of(*hierarchy)) : std::nullopt;
    const Hierarchy* known = graph ? &*graph : nullptr;
    Executor executor(threads);
    RunControl control(std::ref(reporter),
                       time_limit_seconds.value_or(std::numeric_limits<double>::infinity()),
                       RunControl::clock_of(parse_enum<RunControl::Time>("time", time)));
    search = reporter.train([&] {
      if (method.empty()) {
        return margrove::search_terms(raw, known, given, metric, executor, control);
      }
      return margrove::search_terms(find_method(method),
                                    OptionValues(options.begin(), options.end()), raw, known, given,
                                    row_weights ? span_of(*row_weights) : std::span<const double>{},
                                    metric, executor, control);
    });
    seconds = control.seconds();
  }
  reporter.rethrow();
  nb::list measured;
  const TuningResult& result = search.value().measured;
  for (std::size_t p = 0; p < result.points.size(); ++p) {
    const OptionValues& values = result.points[p].values;
    measured.append(nb::make_tuple(values[0].second, values[1].second, result.points[p].mean,
                                   p == result.best));
  }
  TfidfOptions chosen = search->preprocessing;
  return nb::make_tuple(option_values(OptionTable(chosen)), measured, seconds);
}

}  // namespace

void bind_choice(nb::module_& m) {
  nb::class_<GivenRows>(m, "Rows")
      .def(nb::init<const Records&, const Selection&>(), "records"_a, "selection"_a)
      .def(nb::init<const Csr&>(), "X"_a.noconvert())
      .def(nb::init<const nb::object&>(), "documents"_a);
  m.def("choose", &choose, "rows"_a, "labels"_a.noconvert(), "names"_a,
        "hierarchy"_a.noconvert().none(), "metric"_a, "seed"_a, "scale"_a, "threads"_a,
        "time_limit_seconds"_a.none(), "memory_limit"_a.none(), "callback"_a.none(),
        "text_options"_a = TextOptions{}, "stop_words"_a = Names{}, "node_names"_a = Names{},
        "other_names"_a = Names{}, "unlabelled"_a = "auto", "time"_a = "wall");
  m.def(
      "searches_by_default",
      [](const TextOptions& text_options, std::size_t num_texts) {
        return searches_by_default(tfidf_options_of(text_options, {}), num_texts);
      },
      "text_options"_a, "num_texts"_a);
  m.def("search_terms", &search_terms, "rows"_a, "labels"_a.noconvert(), "names"_a,
        "hierarchy"_a.noconvert().none(), "method"_a, "options"_a, "metric"_a,
        "row_weights"_a.noconvert().none(), "scale"_a, "threads"_a, "time_limit_seconds"_a.none(),
        "callback"_a.none(), "text_options"_a, "stop_words"_a, "unlabelled"_a, "time"_a);
}

}  // namespace margrove::python
